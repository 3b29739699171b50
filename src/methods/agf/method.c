/* method.c: the tables of agf and kde. */
#include "methods/agf/agf.h"

static const limn_param agf_params[] = {
    {.key = "W",
     .help = "what the kernel's weights add up to: about how many rows count; auto: chosen by "
             "leaving rows out",
     .type = LIMN_PARAM_REAL,
     .default_value = "5",
     .min = AGF_SMALLEST,
     .max = AGF_MOST_W,
     .can_be_auto = 1},
    {.key = "k",
     .help = "nearest rows that the sums are taken over; auto: 20 W",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 1e9,
     .can_be_auto = 1},
    LM_PARAM_CLASS_WEIGHT,
};

static const limn_param kde_params[] = {
    {.key = "bandwidth",
     .help = "standard deviation of the kernel, in units of the scaled features; auto: chosen by "
             "leaving rows out",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = AGF_SMALLEST,
     .max = 1e15,
     .can_be_auto = 1},
    LM_PARAM_CLASS_WEIGHT,
};

extern const lm_method lm_method_agf, lm_method_kde;

const lm_method lm_method_agf = {
    .info =
        {
            .name = "agf",
            .summary = "adaptive Gaussian filter: kernel sums whose bandwidth adapts to the query",
            .paper = "Mills 2011; Mills 2017, Sec. 2.1",
            .default_scale = LIMN_SCALE_ZSCORE,
            .params = agf_params,
            .param_count = LM_COUNT(agf_params),
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS | LIMN_CAN_DENSITY | LIMN_CAN_WEIGHT,
    .train = agf_train,
    .destroy = agf_destroy,
    .save = agf_save,
    .load = agf_load,
    .scratch = agf_scratch,
    .predict = agf_predict,
    .proba = agf_proba,
    .values = agf_values,
    .stats = agf_stats,
    .field = agf_field,
};

const lm_method lm_method_kde = {
    .info =
        {
            .name = "kde",
            .summary = "kernel density estimation with one Gaussian bandwidth",
            .paper = "Rosenblatt 1956; Parzen 1962; Silverman 1986",
            .default_scale = LIMN_SCALE_ZSCORE,
            .params = kde_params,
            .param_count = LM_COUNT(kde_params),
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_DENSITY | LIMN_CAN_WEIGHT,
    .train = agf_train,
    .destroy = agf_destroy,
    .save = agf_save,
    .load = agf_load,
    .scratch = agf_scratch,
    .predict = agf_predict,
    .proba = agf_proba,
    .values = agf_values,
    .stats = agf_stats,
    .field = agf_field,
};
