/* accelerate.h: a faster model drawn from one that exists. Part of limn.h, which includes it. */
#ifndef LIMN_ACCELERATE_H
#define LIMN_ACCELERATE_H

#include <limn/limn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the loss of an entry is. */
typedef enum limn_judge {
    LIMN_JUDGE_ACCURACY,  /* the accuracy of the model given, less the entry's */
    LIMN_JUDGE_AGREEMENT, /* the share of rows that the entry answers otherwise than the model */
    LIMN_JUDGE_VALUES     /* regress: 1 - R^2 of the entry's answers against the model's */
} limn_judge;

typedef struct limn_accelerate_options {
    size_t size;
    /* The loss that is allowed; below 0, the default: 0.005 of accuracy together with 0.01 of the
     * uncertainty coefficient (twice as much of it as of accuracy), 0.02 by agreement (0.005 on
     * rows that an svm was trained on), 0.005 by values. */
    double max_loss;
    /* Above 0: the least loss within this mean time per query instead; any loss, unless max_loss is
     * given too. Never a model that is slower than the one given. */
    double budget_us;
    double time_limit; /* seconds of the whole race; 150 */
    /* Rows that judge, read with match = the model; all of data is then fitted to. NULL: 40 % of
     * data judge. */
    const limn_data *test;
} limn_accelerate_options;

LIMN_API void limn_accelerate_options_init(limn_accelerate_options *options);

typedef struct limn_race limn_race;

/* Draws faster models from a model and races them: every method that can be taught, with the
 * parameters that it offers. data: rows read with match = model, with or without labels; NULL: the
 * support vectors of an svm, and points around them. LIMN_E_UNSUPPORTED for models that cannot
 * teach (search, density, outlier; those that reject rows). model must outlive the race. Free with
 * limn_race_free. */
LIMN_API limn_status limn_accelerate(limn_context *context, const limn_model *model,
                                     const limn_data *data, const limn_accelerate_options *options,
                                     limn_race **out);
LIMN_API void limn_race_free(limn_race *race);

typedef struct limn_race_info {
    size_t size;
    limn_judge judge;
    double max_loss, max_uc_loss; /* infinite with a budget alone; max_uc_loss: of
                                   * LIMN_JUDGE_ACCURACY, else NaN */
    double budget_us;             /* 0: none */
    size_t entries;               /* the first one is the model itself */
    size_t chosen;                /* entries: none is within the budget */
    size_t fitted, judged;        /* rows */
    int sampled;                  /* there was no data */
    size_t vectors, found;        /* support vectors, and those among the rows that judge (without
                                   * options.test: among all rows) */
    int familiar;                 /* so many of these rows are vectors that the svm must have been
                                   * trained on rows of them */
    double libsvm_us_mean, libsvm_us_p50, libsvm_us_p99; /* NaN unless the model is an svm */
} limn_race_info;

LIMN_API void limn_race_info_init(limn_race_info *info);
LIMN_API void limn_race_describe(const limn_race *race, limn_race_info *out);

typedef enum limn_entry_state {
    LIMN_ENTRY_RACED,
    LIMN_ENTRY_NOT_TRIED,  /* the time limit came first */
    LIMN_ENTRY_FAILED,     /* why says it */
    LIMN_ENTRY_UNSUPPORTED /* the method draws nothing from such a model; why says it */
} limn_entry_state;

/* Figures that do not apply are NaN. */
typedef struct limn_entry {
    size_t size;
    const char *method;
    const char *params; /* "key=value key=value"; "": those of the model given */
    limn_entry_state state;
    const char *why;       /* of LIMN_ENTRY_FAILED and _UNSUPPORTED; else NULL */
    int within_loss, fits; /* fits: within the budget too */
    double seconds;        /* of training */
    double latency_us_mean, latency_us_p50, latency_us_p99;
    double speedup_libsvm, speedup_exact; /* by mean latency, measured in turn */
    double accuracy, uncertainty_coefficient;
    double agreement; /* with the model given; regress: R^2 against its answers */
    double r2;        /* regress, with targets */
    double loss;
    size_t bytes;
} limn_entry;

LIMN_API void limn_entry_init(limn_entry *entry);
/* 0 past the end. */
LIMN_API int limn_race_entry(const limn_race *race, size_t index, limn_entry *out);
/* The model of the entry that was chosen (the model given, if it won), valid as long as the race;
 * NULL: none was. */
LIMN_API const limn_model *limn_race_model(const limn_race *race);

#ifdef __cplusplus
}
#endif
#endif
