/* build.h: from the fits of the classes to the model's arrays. */
#ifndef LIMN_METHODS_HULL_BUILD_H
#define LIMN_METHODS_HULL_BUILD_H

#include "methods/hull/fit.h"

/* The rows of each class: start has classes + 1 entries. */
typedef struct hull_groups {
    uint32_t *row;
    size_t *start;
} hull_groups;

limn_status hull_pack_samples(limn_context *ctx, const lm_train_set *set, const hull_groups *groups,
                              hull_model *m);
/* Everything except the samples; the options are final. */
limn_status hull_build_flat(limn_context *ctx, const lm_train_set *set, const hull_fit *fits,
                            hull_model *m);
limn_status hull_build_curved(limn_context *ctx, const hull_fit *fits, hull_model *m);
limn_status hull_build_convex(limn_context *ctx, const hull_fit *fits, hull_model *m);
/* head.c: the axes of flat sets, if they are worthwhile. */
size_t hull_head_axes(const hull_model *m, const uint32_t *start);
limn_status hull_build_head(limn_context *ctx, const lm_train_set *set, hull_model *m);

#endif
