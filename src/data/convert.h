/* convert.h: converts one data file into another. */
#ifndef LIMN_DATA_CONVERT_H
#define LIMN_DATA_CONVERT_H

#include "base/base.h"

/* limn_convert after its structs are completed and from is known not to be a model. Fills info. */
limn_status lm_convert(limn_context *ctx, const char *from, const limn_read_options *reading,
                       const char *to, const limn_write_options *writing, limn_convert_info *info);

#endif
