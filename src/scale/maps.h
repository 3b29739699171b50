/* maps.h: the candidates for the map of a learned scaling. */
#ifndef LIMN_SCALE_MAPS_H
#define LIMN_SCALE_MAPS_H

#include "scale/evidence.h"
#include "scale/map.h"

enum { LM_MAP_SOFT, LM_MAP_D1F, LM_MAP_D2F, LM_MAP_D4F, LM_MAPS };

/* maps[i] is fitted to the rows named, as the scaler (which has no map) scales them, if wanted has
 * bit 1 << i; NULL if not, or if the rows say nothing. All are to be freed, after a failure too. */
limn_status lm_maps_fit(limn_context *ctx, const struct lm_scaler *scaler,
                        const lm_scaler_rows *rows, lm_row_list fit, unsigned wanted,
                        lm_map *maps[LM_MAPS]);

#endif
