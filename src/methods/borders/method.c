/* method.c: the table of borders. */
#include "methods/borders/borders.h"

static const limn_param params[] = {
    {.key = "borders",
     .help = "border vectors per pair of classes; auto: as many as rows held out call for",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 1e6,
     .can_be_auto = 1},
    {.key = "sampling",
     .help = "where borders are looked for: near points on which the teacher disagrees "
             "(adaptive), or on lines between random rows of the two classes (random)",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "adaptive",
     .choices = "adaptive|random"},
    {.key = "pool",
     .help = "points per pair of classes that the teacher is asked about, to learn from (and a "
             "fifth as many to judge by); auto: by the number of rows and of pairs, up to 80000",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 1e7,
     .can_be_auto = 1},
    {.key = "form",
     .help = "what decides a pair: borders, one plane, or cells with a plane each; auto: the best "
             "on points around rows held out (with sampling=random: borders)",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "auto",
     .choices = "auto|borders|plane|cells"},
    {.key = "multi",
     .help = "three or more classes: ask all pairs (ovo), or one pair less than there are classes, "
             "each of which rules out a class (dag); auto: dag if rows held out do not suffer",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "auto",
     .choices = "auto|ovo|dag"},
    {.key = "threshold",
     .help = "two classes: the border is where P(first) - P(second) has this value",
     .type = LIMN_PARAM_REAL,
     .default_value = "0",
     .min = -0.999,
     .max = 0.999},
    {.key = "calibrate",
     .help = "draw the border where the teacher's probabilities are equal, not where its decision "
             "value is 0",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "no",
     .choices = "no|yes"},
};

extern const lm_method lm_method_borders;

const lm_method lm_method_borders = {
    .info =
        {
            .name = "borders",
            .summary = "the class borders of a slower model, drawn as points with normals",
            .paper = "Mills 2017",
            .default_scale = LIMN_SCALE_ZSCORE,
            .params = params,
            .param_count = LM_COUNT(params),
            .default_teacher = "svm",
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_BE_TAUGHT,
    .brief = "borders=10 pool=300",
    .train = bd_train,
    .destroy = bd_destroy,
    .unshare = bd_unshare,
    .save = bd_save,
    .load = bd_load,
    .scratch = bd_scratch,
    .predict = bd_predict,
    .vote = bd_vote,
    .proba = bd_proba,
    .score_count = bd_score_count,
    .scores = bd_scores,
    .stats = bd_stats,
    .touched = bd_touched,
    .candidate = bd_candidate,
};
