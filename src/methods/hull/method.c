/* method.c: the tables of the five methods. They share every function; the name of the method, to
 * which the parameters belong, says which set is meant. */
#include "methods/hull/hull.h"

#define PAPER "Cevikalp, Triggs and Polikar 2008"

#define PARAM_DIM                                                                                  \
    {                                                                                              \
        .key = "dim",                                                                              \
        .help = "directions of each class's hull; auto: all if there are few rows for the number " \
                "of features (with a kernel: those that cut keeps), else one number for all "      \
                "classes, chosen by leaving rows out; gap: up to the largest drop in the "         \
                "singular values",                                                                 \
        .type = LIMN_PARAM_INT, .default_value = "auto", .min = 0, .max = 1e6,                     \
        .choices = "full|gap", .can_be_auto = 1                                                    \
    }

#define PARAM_CUT                                                                              \
    {                                                                                          \
        .key = "cut",                                                                          \
        .help = "drop directions whose singular value is at most this share of the largest; "  \
                "auto: 0.03 with a kernel and dim=auto, else 1e-6",                            \
        .type = LIMN_PARAM_REAL, .default_value = "auto", .min = 0, .max = 1, .can_be_auto = 1 \
    }

#define PARAM_NU                                                                               \
    {                                                                                          \
        .key = "nu",                                                                           \
        .help = "share of a class's rows that may lie outside its sphere; 0: the hard sphere", \
        .type = LIMN_PARAM_REAL, .default_value = "0.1", .min = 0, .max = 1                    \
    }

#define PARAM_NEIGHBORS(number)                                                               \
    {                                                                                         \
        .key = "neighbors",                                                                   \
        .help = "build sets from this many rows of each class, the nearest to the query; 0: " \
                "from all rows",                                                              \
        .type = LIMN_PARAM_INT, .default_value = number, .min = 0, .max = 1000                \
    }

#define PARAM_REJECT                                                                             \
    {                                                                                            \
        .key = "reject",                                                                         \
        .help = "answer unknown for rows farther from every set than all but this share of the " \
                "training rows, each left out in turn; 0: never",                                \
        .type = LIMN_PARAM_REAL, .default_value = "0", .min = 0, .max = 0.5                      \
    }

#define PARAM_PRUNE                                                                                \
    {                                                                                              \
        .key = "prune", .help = "skip classes that are certainly farther; changes only the speed", \
        .type = LIMN_PARAM_CHOICE, .default_value = "yes", .choices = "yes|no"                     \
    }

/* The kernel, which every method has. */
#define PARAMS_KERNEL                                                                              \
    {.key = "kernel",                                                                              \
     .help = "kernel of the feature space; except with linear, features are scaled (zscore) "      \
             "unless --scale says otherwise",                                                      \
     .type = LIMN_PARAM_CHOICE,                                                                    \
     .default_value = "linear",                                                                    \
     .choices = "linear|rbf|poly|sigmoid"},                                                        \
        {.key = "gamma",                                                                           \
         .help = "gamma of every kernel but linear; auto: 1 / the median squared distance of two " \
                 "rows",                                                                           \
         .type = LIMN_PARAM_REAL,                                                                  \
         .default_value = "auto",                                                                  \
         .min = 0,                                                                                 \
         .max = 1e15,                                                                              \
         .above_min = 1,                                                                           \
         .can_be_auto = 1},                                                                        \
        {.key = "degree",                                                                          \
         .help = "degree of kernel=poly",                                                          \
         .type = LIMN_PARAM_INT,                                                                   \
         .default_value = "3",                                                                     \
         .min = 1,                                                                                 \
         .max = 100},                                                                              \
    {                                                                                              \
        .key = "coef0", .help = "constant term of kernel=poly and kernel=sigmoid",                 \
        .type = LIMN_PARAM_REAL, .default_value = "0", .min = -1e15, .max = 1e15                   \
    }

/* clang-format off */
static const limn_param nah_params[] = {
    PARAM_DIM, PARAM_CUT, PARAM_NEIGHBORS("0"), PARAMS_KERNEL, PARAM_REJECT, PARAM_PRUNE};
static const limn_param nhd_params[] = {
    PARAM_DIM, PARAM_CUT, PARAM_NU, PARAM_NEIGHBORS("0"), PARAMS_KERNEL, PARAM_REJECT, PARAM_PRUNE};
static const limn_param nch_params[] = {
    PARAM_NEIGHBORS("0"), PARAMS_KERNEL, PARAM_REJECT, PARAM_PRUNE};
static const limn_param nsc_params[] = {
    PARAM_NU, PARAM_NEIGHBORS("0"), PARAMS_KERNEL, PARAM_REJECT};
static const limn_param nrh_params[] = {
    {.key = "rho",
     .help = "strength of the ridge, as a share of the mean squared singular value; auto: chosen "
             "by leaving rows out",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 1e-6,
     .max = 1e6,
     .can_be_auto = 1},
    PARAM_NEIGHBORS("20"), PARAMS_KERNEL, PARAM_REJECT};
/* clang-format on */

#define HULL_METHOD(method, text, table, quick)                       \
    extern const lm_method lm_method_##method;                        \
    const lm_method lm_method_##method = {                            \
        .info = {.name = #method,                                     \
                 .summary = text,                                     \
                 .paper = PAPER,                                      \
                 .default_scale = LIMN_SCALE_AUTO,                    \
                 .params = table,                                     \
                 .param_count = LM_COUNT(table)},                     \
        .can = LIMN_CAN_CLASSIFY | LIMN_CAN_KERNEL | LIMN_CAN_REJECT, \
        .brief = quick,                                               \
        .scaling = hull_scaling,                                      \
        .train = hull_train,                                          \
        .destroy = hull_destroy,                                      \
        .save = hull_save,                                            \
        .load = hull_load,                                            \
        .scratch = hull_scratch,                                      \
        .predict = hull_predict,                                      \
        .proba = hull_proba,                                          \
        .class_scores = true,                                         \
        .score_count = hull_score_count,                              \
        .scores = hull_scores,                                        \
        .stats = hull_stats,                                          \
        .touched = hull_touched,                                      \
        .lacks = hull_lacks,                                          \
    }

HULL_METHOD(nah, "nearest affine hull of the rows of a class", nah_params, "dim=2");
HULL_METHOD(nhd, "nearest hyperdisk: an affine hull within a sphere around its rows", nhd_params,
            "dim=2");
HULL_METHOD(nch, "nearest convex hull of the rows of a class", nch_params, NULL);
HULL_METHOD(nsc, "nearest centre of a sphere around the rows of a class", nsc_params, NULL);
HULL_METHOD(nrh, "nearest ridge hull: an affine hull that penalises far points; local by default",
            nrh_params, "rho=1");
