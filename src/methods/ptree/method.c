/* method.c: the tables of perceptron trees and of the perceptrons that are never split. They share
 * every function; the name of the method, to which the parameters belong, says which is meant. */
#include "methods/ptree/ptree.h"

#define PARAM_BUDGET(text, number, least)                                               \
    {                                                                                   \
        .key = "budget", .help = text, .type = LIMN_PARAM_INT, .default_value = number, \
        .min = least, .max = 1e6                                                        \
    }

#define PARAM_AVERAGE(text)                                                                 \
    {                                                                                       \
        .key = "average", .help = text, .type = LIMN_PARAM_CHOICE, .default_value = "auto", \
        .choices = "auto|yes|no"                                                            \
    }

#define PARAM_EPOCHS(text)                                                                        \
    {                                                                                             \
        .key = "epochs", .help = text, .type = LIMN_PARAM_INT, .default_value = "auto", .min = 1, \
        .max = 1000, .can_be_auto = 1                                                             \
    }

#define PARAMS_ALL                                                                               \
    {.key = "order",                                                                             \
     .help = "order of the training rows; auto: shuffled, in each pass anew; limn learn takes "  \
             "rows as they come",                                                                \
     .type = LIMN_PARAM_CHOICE,                                                                  \
     .default_value = "auto",                                                                    \
     .choices = "auto|shuffle|file"},                                                            \
        {.key = "kernel",                                                                        \
         .help = "how rows are compared; chi2 and intersection are for numbers that are 0 or "   \
                 "more, to which features are scaled",                                           \
         .type = LIMN_PARAM_CHOICE,                                                              \
         .default_value = "rbf",                                                                 \
         .choices = "rbf|poly|linear|chi2|intersection"},                                        \
        {.key = "gamma",                                                                         \
         .help = "gamma of kernels rbf, poly and chi2; auto: the one with the fewest errors on " \
                 "rows before they are learned",                                                 \
         .type = LIMN_PARAM_REAL,                                                                \
         .default_value = "auto",                                                                \
         .min = 0,                                                                               \
         .max = 1e15,                                                                            \
         .above_min = 1,                                                                         \
         .can_be_auto = 1},                                                                      \
        {.key = "degree",                                                                        \
         .help = "degree of kernel=poly",                                                        \
         .type = LIMN_PARAM_INT,                                                                 \
         .default_value = "3",                                                                   \
         .min = 1,                                                                               \
         .max = 100},                                                                            \
    {                                                                                            \
        .key = "coef0", .help = "constant term of kernel=poly", .type = LIMN_PARAM_REAL,         \
        .default_value = "0", .min = -1e15, .max = 1e15                                          \
    }

#define EPOCHS_SINGLE "passes over the training rows; auto: 1"
#define AVERAGE_SINGLE "answer with the mean of the coefficients over all rows; auto: no"

/* clang-format off */
static const limn_param tree_params[] = {
    {.key = "style",
     .help = "with averaging, refitting and projection, or as in the paper; changes what auto means "
             "below",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "tree",
     .choices = "tree|paper"},
    PARAM_BUDGET("vectors per leaf: the most kernels that a query pays", "100", 2),
    {.key = "kept",
     .help = "vectors that each side keeps of a leaf that is split; auto: half of the budget",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 1e6,
     .can_be_auto = 1},
    {.key = "split",
     .help = "which rows go left: wpq (a plane found together with the vectors that each side "
             "keeps), zpq (the same, by nearest rows), rndw (a random plane), pca (across the "
             "direction of most variance), bal, ent (by the kernel of one vector)",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "wpq",
     .choices = "wpq|zpq|rndw|pca|bal|ent"},
    {.key = "select",
     .help = "which vectors a side keeps: opts (those that change its outputs least), inds (those "
             "on its side), rnds (random ones)",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "opts",
     .choices = "opts|inds|rnds"},
    {.key = "reservoir",
     .help = "rows that a leaf remembers for its split, 0: all; auto: 1000, or all for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 0,
     .max = 1e9,
     .can_be_auto = 1},
    {.key = "depth",
     .help = "most tests above a leaf; auto: 4, or 64 for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 0,
     .max = PT_DEPTH_MOST,
     .can_be_auto = 1},
    {.key = "patience",
     .help = "rows per vector of the budget that come to a leaf before it is split; until then it "
             "projects, so project=0 leaves it no choice; auto: 10, or 0 for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 0,
     .max = 1e6,
     .can_be_auto = 1},
    PARAM_AVERAGE("answer with the mean of the coefficients over the rows of a leaf, where that "
                  "errs less; auto: yes, or no for style=paper"),
    {.key = "refit",
     .help = "ridge with which the coefficients of new leaves are fitted to the old outputs, 0: "
             "not at all; auto: 1e-4, or 0 for style=paper",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1e6,
     .can_be_auto = 1},
    {.key = "project",
     .help = "a mistake becomes no vector if the leaf's vectors leave at most this share of it "
             "over, 0: always; auto: 0.1, or 0 for style=paper",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1,
     .can_be_auto = 1},
    {.key = "finish",
     .help = "after the last pass, fit the coefficients of each leaf to all training rows that come "
             "to it, if there are ten rows per vector and the fit is no worse; auto: yes, or no for "
             "style=paper",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "auto",
     .choices = "auto|yes|no"},
    {.key = "margin",
     .help = "rows that are right by no more than this share of K(x, x) change a leaf too; auto: "
             "0.1, or 0 for style=paper",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1e6,
     .can_be_auto = 1},
    PARAM_EPOCHS("passes over the training rows; auto: 3, or 1 for style=paper"), PARAMS_ALL};

static const limn_param perceptron_params[] = {PARAM_AVERAGE(AVERAGE_SINGLE),
                                               PARAM_EPOCHS(EPOCHS_SINGLE), PARAMS_ALL};
static const limn_param stoptron_params[] = {
    PARAM_BUDGET("most vectors; then learning stops", "100", 2), PARAM_AVERAGE(AVERAGE_SINGLE),
    PARAM_EPOCHS(EPOCHS_SINGLE), PARAMS_ALL};
static const limn_param forgetron_params[] = {
    PARAM_BUDGET("most vectors; then the oldest one makes room", "100", 2),
    PARAM_EPOCHS(EPOCHS_SINGLE), PARAMS_ALL};
static const limn_param projectron_params[] = {
    {.key = "eta",
     .help = "a mistake becomes no vector if those that are there leave at most this share of it "
             "over",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.1",
     .min = 0,
     .max = 1,
     .above_min = 1},
    {.key = "plus",
     .help = "1: rows that are right by less than 1 are projected too, where that pays "
             "(projectron++)",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 1},
    PARAM_BUDGET("most vectors, 0: no limit; then every mistake is projected", "0", 0),
    PARAM_AVERAGE(AVERAGE_SINGLE), PARAM_EPOCHS(EPOCHS_SINGLE), PARAMS_ALL};
/* clang-format on */

#define ONLINE "order=file epochs=1 gamma=0.25"
static const lm_online online = {.params = ONLINE, .learn = pt_learn, .widen = pt_widen};
static const lm_online online_tree = {
    .params = ONLINE " finish=no", .learn = pt_learn, .widen = pt_widen};

#define PERCEPTRON(method, text, source, table, bits, quick)          \
    extern const lm_method lm_method_##method;                        \
    const lm_method lm_method_##method = {                            \
        .info = {.name = #method,                                     \
                 .summary = text,                                     \
                 .paper = source,                                     \
                 .default_scale = LIMN_SCALE_ZSCORE,                  \
                 .params = table,                                     \
                 .param_count = LM_COUNT(table)},                     \
        .can = LIMN_CAN_CLASSIFY | LIMN_CAN_KERNEL | (bits),          \
        .brief = quick,                                               \
        .scaling = pt_scaling,                                        \
        .check = pt_check,                                            \
        .train = pt_train,                                            \
        .destroy = pt_destroy,                                        \
        .unshare = (bits)&LIMN_CAN_BE_TAUGHT ? pt_unshare : NULL,     \
        .save = pt_save,                                              \
        .load = pt_load,                                              \
        .scratch = pt_scratch,                                        \
        .predict = pt_predict,                                        \
        .proba = pt_proba,                                            \
        .score_count = pt_score_count,                                \
        .scores = pt_scores,                                          \
        .stats = pt_stats,                                            \
        .touched = pt_touched,                                        \
        .candidate = (bits)&LIMN_CAN_BE_TAUGHT ? pt_candidate : NULL, \
        .online = (bits)&LIMN_CAN_BE_TAUGHT ? &online_tree : &online, \
    }

PERCEPTRON(ptree, "perceptron tree: tests that lead to small kernel perceptrons; learns online",
           "Ukkonen and Arias 2010", tree_params, LIMN_CAN_BE_TAUGHT, "gamma=0.25 budget=10");
PERCEPTRON(perceptron, "kernel perceptron: every mistake becomes a vector; learns online",
           "Freund and Schapire 1999", perceptron_params, 0, "gamma=0.25");
PERCEPTRON(stoptron, "kernel perceptron that stops when it has its vectors; learns online",
           "Orabona, Keshet and Caputo 2009", stoptron_params, 0, "gamma=0.25 budget=10");
PERCEPTRON(forgetron, "kernel perceptron that forgets its oldest vector; learns online",
           "Dekel, Shalev-Shwartz and Singer 2008", forgetron_params, 0, "gamma=0.25 budget=10");
PERCEPTRON(projectron, "kernel perceptron that projects mistakes onto its vectors; learns online",
           "Orabona, Keshet and Caputo 2009", projectron_params, 0, "gamma=0.25");
