/* convert.h: one data file into another. */
#ifndef LIMN_DATA_CONVERT_H
#define LIMN_DATA_CONVERT_H

#include "base/base.h"

/* limn_convert once its structs are whole and from is known to be no model. Fills info. */
limn_status lm_convert(limn_context *ctx, const char *from, const limn_read_options *reading,
                       const char *to, const limn_write_options *writing, limn_convert_info *info);

#endif
