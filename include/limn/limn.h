/* limn.h: classification that answers in microseconds.
 *
 * The whole public interface, roughly in the order of use:
 *
 *   context   -> allocator, log, progress, seed, threads and the last error message
 *   data      -> a table read from a file or copied from memory
 *   model     -> trained from data, saved to a file, opened from one
 *   predictor -> a model together with the scratch memory of one caller; answers queries
 *   learning  -> an online model learns more rows
 *   evaluate  -> accuracy and latency of a model on data
 *   accelerate -> a faster model drawn from one that exists (accelerate.h, included below)
 *   methods   -> the methods and their parameters
 *
 * Rules that hold everywhere:
 *
 *   - Functions that can fail return a limn_status and on failure leave their outputs NULL or
 *     untouched; limn_error() gives the message. The library never prints, exits or aborts.
 *   - A context belongs to one thread at a time. A model is immutable while predicting and may be
 *     shared by any number of threads, each with its own context and predictor. Only what is listed
 *     under "learning online" changes a model; nobody else may use it during such a call.
 *   - Data and models may outlive the context that made them, but not its memory functions.
 *     Predictors, readers and outputs use their context until they are freed, and a predictor also
 *     uses its model.
 *   - Text is UTF-8, sizes are size_t, features are float, classes are numbered from 0.
 *   - Structs that the caller provides begin with their own size, which their _init function sets,
 *     so that later versions can add fields at the end. A struct that was not initialised gives
 *     LIMN_E_USAGE; a function that cannot fail leaves it untouched.
 */
#ifndef LIMN_LIMN_H
#define LIMN_LIMN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIMN_VERSION_MAJOR 0
#define LIMN_VERSION_MINOR 2
#define LIMN_VERSION_PATCH 0

#if defined(__GNUC__)
#define LIMN_API __attribute__((visibility("default")))
#else
#define LIMN_API
#endif

/* The version of the library, such as "0.2.0". */
LIMN_API const char *limn_version(void);

/* ---- status ------------------------------------------------------------------------------- */

/* One list for codes and their strings: X(name, value, string). Values never change. */
#define LIMN_STATUS_LIST(X)                                  \
    X(LIMN_OK, 0, "done")                                    \
    X(LIMN_E_MEMORY, 1, "out of memory")                     \
    X(LIMN_E_USAGE, 2, "usage error")                        \
    X(LIMN_E_DATA, 3, "bad data")                            \
    X(LIMN_E_MODEL, 4, "bad model file")                     \
    X(LIMN_E_IO, 5, "input or output failed")                \
    X(LIMN_E_UNSUPPORTED, 6, "not supported by this method") \
    X(LIMN_E_CANCELLED, 7, "cancelled")

typedef enum limn_status {
#define LIMN_STATUS_ENUM(name, value, string) name = value,
    LIMN_STATUS_LIST(LIMN_STATUS_ENUM)
#undef LIMN_STATUS_ENUM
} limn_status;

/* "out of memory" and so on; never NULL. */
LIMN_API const char *limn_status_string(limn_status status);

/* ---- context ------------------------------------------------------------------------------ */

typedef struct limn_context limn_context;

/* Memory functions that behave like malloc, realloc and free. They may be called from several
 * threads at once when the context has more than one thread. */
typedef struct limn_allocator {
    void *(*allocate)(void *user, size_t size);
    void *(*resize)(void *user, void *block, size_t size);
    void (*release)(void *user, void *block);
    void *user;
} limn_allocator;

typedef enum limn_log_level { LIMN_LOG_INFO, LIMN_LOG_WARNING } limn_log_level;

/* The progress of a long operation. */
typedef struct limn_progress {
    const char *stage;   /* "reading", "training", ... */
    uint64_t rows;       /* rows done */
    uint64_t rows_total; /* 0 = not known */
    double fraction;     /* 0..1, or -1 when not known */
    const char *detail;  /* what has been reached so far, such as "99.2 % agreement"; or NULL */
} limn_progress;

/* The distance between two rows of n features, 0 for equal rows; it need not be symmetric or
 * satisfy the triangle inequality. Called from several threads at once; NaN counts as very far. */
typedef double limn_distance(void *user, const float *a, const float *b, size_t n);

typedef struct limn_context_options {
    size_t size;              /* of this struct, set by _init; the same for all structs below */
    limn_allocator allocator; /* all NULL: malloc */
    void (*log)(void *user, limn_log_level level, const char *sentence); /* NULL: silent */
    int (*progress)(void *user, const limn_progress *progress); /* NULL: none; non-zero cancels */
    void *user;                                                 /* passed to all of these */
    /* For methods with metric=caller. Models trained or opened with this context use it, and user,
     * for as long as they exist. NULL: none. */
    limn_distance *metric;
    uint64_t seed;         /* default 1 */
    int threads;           /* for training and evaluating; 0: all cores */
    uint64_t memory_limit; /* refuse data larger than this, in bytes; 0: the memory available */
} limn_context_options;

/* Fills in the defaults. */
LIMN_API void limn_context_options_init(limn_context_options *options);
/* options may be NULL. Fails with LIMN_E_USAGE, the only failure without a message, when they were
 * not initialised or the environment variable LIMN_ISA names an instruction set that this machine
 * lacks. */
LIMN_API limn_status limn_context_new(const limn_context_options *options, limn_context **out);
LIMN_API void limn_context_free(limn_context *context);
/* The message of the last failure in this context; "" if there was none. */
LIMN_API const char *limn_error(const limn_context *context);
/* The instruction set in use: "baseline", "avx2", "avx512" or "neon". */
LIMN_API const char *limn_isa(void);

/* ---- data --------------------------------------------------------------------------------- */

typedef enum limn_task {
    LIMN_CLASSIFY,
    LIMN_REGRESS,
    LIMN_SEARCH,
    LIMN_OUTLIER,
    LIMN_DENSITY /* the log of the probability density: limn_predict_values */
} limn_task;
typedef enum limn_format {
    LIMN_FORMAT_AUTO, /* reading: detected from the content; writing: from the name */
    LIMN_FORMAT_CSV,
    LIMN_FORMAT_LIBSVM,
    LIMN_FORMAT_NPY,
    LIMN_FORMAT_IDX,
    LIMN_FORMAT_ARFF
} limn_format;
typedef enum limn_header { LIMN_HEADER_AUTO, LIMN_HEADER_YES, LIMN_HEADER_NO } limn_header;
/* Cells that are empty, NA, NaN or ?. */
typedef enum limn_missing {
    LIMN_MISSING_ERROR,
    LIMN_MISSING_MEDIAN /* the column's median; for categories, the most frequent one */
} limn_missing;
/* A category that the model has not seen. */
typedef enum limn_unknown { LIMN_UNKNOWN_ERROR, LIMN_UNKNOWN_ZERO } limn_unknown;

/* How a subset is drawn. EQUAL: the same share of each class. POWER: the smallest class stays
 * whole, and the larger a class is, the smaller its share; the order of the sizes is kept. If too
 * many rows remain even with as many of each class, the classes share the rows equally. At least
 * one row of each class remains in any case. */
typedef enum limn_subsample { LIMN_SUBSAMPLE_EQUAL, LIMN_SUBSAMPLE_POWER } limn_subsample;

typedef struct limn_data limn_data;
typedef struct limn_model limn_model;

typedef struct limn_read_options {
    size_t size;
    limn_format format;
    limn_header header;
    char delimiter;          /* of CSV; 0: detected from the content */
    limn_task task;          /* what the label column means; classify and regress need one */
    const char *label;       /* NAME, 1-based INDEX, "first" or "last"; NULL: the default rule */
    int no_label;            /* every column is a feature */
    int skip_label;          /* the label is located as usual but not read; it may be invalid */
    const char *label_file;  /* of NPY and IDX; NULL: the file's companion, if it exists */
    const char *weights;     /* NAME or INDEX of a column of sample weights; NULL: none */
    const char *categorical; /* "NAME,INDEX,...": columns whose numbers are categories; or NULL */
    limn_missing missing;    /* when training; the model stores what replaces a missing cell */
    limn_unknown unknown; /* with match: ZERO treats a category new to match as none of its own */
} limn_read_options;

LIMN_API void limn_read_options_init(limn_read_options *options);

/* Reads a whole file ("-": standard input; gzip is recognised). With match, columns and labels are
 * matched to those of the model, as limn predict does; labels that the model does not know are
 * numbered after its own. match may be NULL. */
LIMN_API limn_status limn_data_read(limn_context *context, const char *path,
                                    const limn_read_options *options, const limn_model *match,
                                    limn_data **out);
/* Copies n rows of d floats, row by row. y: one number per row, a class (LIMN_CLASSIFY; equal
 * numbers are one class) or a target (LIMN_REGRESS); NULL: no labels. */
LIMN_API limn_status limn_data_from_values(limn_context *context, limn_task task, const float *x,
                                           size_t n, size_t d, const double *y, limn_data **out);
/* The same for classes with text labels. */
LIMN_API limn_status limn_data_from_labels(limn_context *context, const float *x, size_t n,
                                           size_t d, const char *const *labels, limn_data **out);
/* A stratified random subset: this fraction of the rows of each class (0 < fraction <= 1). */
LIMN_API limn_status limn_data_subsample(limn_context *context, const limn_data *data,
                                         double fraction, limn_data **out);
/* The same by a rule. Data without classes is one class. */
LIMN_API limn_status limn_data_subsample_by(limn_context *context, const limn_data *data,
                                            double fraction, limn_subsample rule, limn_data **out);
/* Numbers the classes of data as model does; those that model does not know come after its own. */
LIMN_API limn_status limn_data_match(limn_context *context, limn_data *data,
                                     const limn_model *model);
/* Sample weights for training, one per row: finite, 0 or more (0 leaves the row out). */
LIMN_API limn_status limn_data_set_weights(limn_context *context, limn_data *data,
                                           const double *weights);
LIMN_API void limn_data_free(limn_data *data);

LIMN_API size_t limn_data_rows(const limn_data *data);
LIMN_API size_t limn_data_features(const limn_data *data);
/* Floats per row as it was read: its features, then what the matched model needs to know of other
 * features (imported models: the sum of their squares). For limn_predict_rows. */
LIMN_API size_t limn_data_width(const limn_data *data);
LIMN_API const float *limn_data_values(const limn_data *data);    /* rows x width */
LIMN_API const int32_t *limn_data_classes(const limn_data *data); /* one class per row, or NULL */
LIMN_API const double *limn_data_targets(const limn_data *data);  /* one target per row, or NULL */
LIMN_API const double *limn_data_weights(const limn_data *data);  /* one weight per row, or NULL */
LIMN_API size_t limn_data_class_count(const limn_data *data);
LIMN_API const char *limn_data_class_name(const limn_data *data, size_t index);

/* Reads a file piece by piece, in constant memory. */
typedef struct limn_reader limn_reader;

typedef struct limn_rows {
    size_t size;
    size_t n;               /* 0 at the end */
    size_t width;           /* floats per row, see limn_data_width */
    const float *x;         /* n x width, valid until the next call */
    const int32_t *classes; /* or NULL when the file has no labels */
    const double *targets;  /* or NULL */
    const double *weights;  /* or NULL */
} limn_rows;

LIMN_API void limn_rows_init(limn_rows *rows);

LIMN_API limn_status limn_reader_open(limn_context *context, const char *path,
                                      const limn_read_options *options, const limn_model *match,
                                      limn_reader **out);
/* At most max_rows rows: the complete lines that have arrived; waits only for the first one. */
LIMN_API limn_status limn_reader_next(limn_reader *reader, size_t max_rows, limn_rows *rows);
/* The classes found so far: with match, those that the model had when the reader was opened, then
 * new ones in the order of their first rows. A name (NULL past the end) is valid as long as the
 * reader. */
LIMN_API size_t limn_reader_class_count(const limn_reader *reader);
LIMN_API const char *limn_reader_class_name(const limn_reader *reader, size_t index);
/* The fraction of the file that has been read, 0..1; -1 when its size is not known. */
LIMN_API double limn_reader_fraction(const limn_reader *reader);
LIMN_API void limn_reader_free(limn_reader *reader);

/* ---- converting and making data ----------------------------------------------------------- */

typedef struct limn_write_options {
    size_t size;
    limn_format format;     /* AUTO: from the extension; ".gz" after it compresses */
    char delimiter;         /* of CSV; 0: a comma, or a tab for .tsv */
    const char *label_file; /* of NPY and IDX; NULL: the file's companion */
} limn_write_options;

LIMN_API void limn_write_options_init(limn_write_options *options);

typedef struct limn_convert_info {
    size_t size;
    uint64_t rows;
    size_t features;
    limn_format from, to;
} limn_convert_info;

LIMN_API void limn_convert_info_init(limn_convert_info *info);

/* Reads one file and writes another, in constant memory when the input is a file that can be read
 * twice. Options and info may be NULL. */
LIMN_API limn_status limn_convert(limn_context *context, const char *from,
                                  const limn_read_options *reading, const char *to,
                                  const limn_write_options *writing, limn_convert_info *info);
/* "csv", "libsvm", ...; NULL for a value outside the enumeration. */
LIMN_API const char *limn_format_name(limn_format format);

/* ---- methods ------------------------------------------------------------------------------ */

typedef enum limn_scale {
    LIMN_SCALE_AUTO, /* the method's own default; of a method's default: chosen by evidence */
    LIMN_SCALE_NONE,
    LIMN_SCALE_MINMAX,
    LIMN_SCALE_ZSCORE,
    LIMN_SCALE_RANK,    /* the share of the training rows that are smaller, 0 to 1 */
    LIMN_SCALE_GAUSS,   /* the normal quantile of that share */
    LIMN_SCALE_LEARNED, /* a linear map, learned from the labels, of columns scaled by evidence */
    LIMN_SCALE_RANGES   /* of a file of other software: limn_model_open_ranges, not for training */
} limn_scale;

/* "none", "minmax", ...; NULL for a value outside the enumeration. */
LIMN_API const char *limn_scale_name(limn_scale scale);
LIMN_API const char *limn_task_name(limn_task task);

enum { /* capabilities, as bits */
       LIMN_CAN_CLASSIFY = 1 << 0,
       LIMN_CAN_REGRESS = 1 << 1,
       LIMN_CAN_SEARCH = 1 << 2,
       LIMN_CAN_PROBA = 1 << 3,
       LIMN_CAN_SCORES = 1 << 4,
       LIMN_CAN_LEARN = 1 << 5,
       LIMN_CAN_FORGET = 1 << 6,
       LIMN_CAN_KERNEL = 1 << 7,
       LIMN_CAN_IMPORT = 1 << 8,
       LIMN_CAN_OUTLIER = 1 << 9,
       LIMN_CAN_DENSITY = 1 << 10,
       LIMN_CAN_WEIGHT = 1 << 11,   /* uses sample weights and class_weight */
       LIMN_CAN_REJECT = 1 << 12,   /* may answer "unknown" */
       LIMN_CAN_BE_TAUGHT = 1 << 13 /* drawn from another model: limn_train_options.teacher */
};

/* "classify", "regress", ...; NULL unless bit is a single capability. */
LIMN_API const char *limn_capability_name(unsigned bit);

typedef enum limn_param_type {
    LIMN_PARAM_INT,
    LIMN_PARAM_REAL,
    LIMN_PARAM_CHOICE,
    LIMN_PARAM_TEXT /* choices says what is allowed */
} limn_param_type;

typedef struct limn_param {
    const char *key;
    const char *help;
    limn_param_type type;
    const char *default_value;
    double min, max;     /* INT and REAL, inclusive */
    const char *choices; /* CHOICE: "l2|l1|cosine"; TEXT: what is allowed, in words; INT and
                          * REAL: words allowed besides numbers, "full|gap", or NULL */
    int can_be_auto;     /* "auto" is allowed: chosen from the data */
    int above_min;       /* REAL: min itself is not allowed */
} limn_param;

typedef struct limn_method_info {
    const char *name;
    const char *summary;      /* one line */
    const char *paper;        /* publication that describes it */
    limn_scale default_scale; /* LIMN_SCALE_AUTO: chosen by evidence */
    const limn_param *params;
    size_t param_count;
    const char *default_teacher; /* the method that teaches unless another teacher is given, or NULL
                                  */
} limn_method_info;

LIMN_API size_t limn_method_count(void);
LIMN_API const limn_method_info *limn_method_at(size_t index);       /* NULL past the end */
LIMN_API const limn_method_info *limn_method_find(const char *name); /* NULL if unknown */
LIMN_API unsigned limn_method_capabilities(const char *name);        /* 0 if unknown */

/* ---- synthetic data ----------------------------------------------------------------------- */

typedef struct limn_synth_info {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* publication that describes it */
    limn_task task;      /* LIMN_CLASSIFY or LIMN_REGRESS */
    const limn_param *params;
    size_t param_count;
} limn_synth_info;

LIMN_API size_t limn_synth_count(void);
LIMN_API const limn_synth_info *limn_synth_at(size_t index);       /* NULL past the end */
LIMN_API const limn_synth_info *limn_synth_find(const char *name); /* NULL if unknown */

typedef struct limn_synth_options {
    size_t size;
    const char *name;
    uint64_t rows;
    const char *const *params; /* "key=value", param_count of them */
    size_t param_count;
} limn_synth_options;

LIMN_API void limn_synth_options_init(limn_synth_options *options);

/* Writes the data set to path ("-": standard output), using the seed of the context. writing may be
 * NULL. */
LIMN_API limn_status limn_synth(limn_context *context, const limn_synth_options *options,
                                const char *path, const limn_write_options *writing);

/* ---- models ------------------------------------------------------------------------------- */

/* A teacher written by the caller: gives its answers for n rows of limn_data_features floats each.
 * For LIMN_CLASSIFY, answers holds n x classes probabilities; for LIMN_REGRESS and LIMN_DENSITY, n
 * values as limn_predict_values gives them. Called from the thread that called limn_train; any
 * status but LIMN_OK ends the training with that status. */
typedef limn_status limn_teach(void *user, const float *x, size_t n, double *answers);

typedef struct limn_train_options {
    size_t size;
    const char *method;        /* "knn", ... */
    const char *const *params; /* "key=value", param_count of them */
    size_t param_count;
    limn_scale scale;
    /* For methods with LIMN_CAN_BE_TAUGHT, at most one of these three: teacher, a model whose
     * columns, classes and scaling the new one takes over (read data with match = teacher);
     * teacher_method, which is trained on data first; teach, a function. */
    const limn_model *teacher;
    const char *teacher_method;
    const char *const *teacher_params; /* of teacher_method */
    size_t teacher_param_count;
    limn_teach *teach;
    void *teach_user;
} limn_train_options;

LIMN_API void limn_train_options_init(limn_train_options *options);

/* Finds errors that do not depend on the data: an unknown method, a method that cannot do the task,
 * an invalid parameter. */
LIMN_API limn_status limn_train_check(limn_context *context, const limn_train_options *options,
                                      limn_task task);
/* data may be freed afterwards. */
LIMN_API limn_status limn_train(limn_context *context, const limn_data *data,
                                const limn_train_options *options, limn_model **out);
/* Writes to a temporary file, syncs and renames it: path is either the complete new model or
 * untouched. */
LIMN_API limn_status limn_model_save(limn_context *context, const limn_model *model,
                                     const char *path);
/* Maps the file and checks every byte of it. A LIBSVM text model is detected from its content and
 * read as well; it then gives LIBSVM's answers. */
LIMN_API limn_status limn_model_open(limn_context *context, const char *path, limn_model **out);
/* The same for a LIBSVM text model whose data was scaled before training: queries are then rows as
 * they were before that, and a regression model answers in the units of the original target. ranges
 * is the range file of svm-scale, or the scale file that write.svm of R's e1071 wrote; "X,Y": two
 * files of e1071, of the features and of the target. NULL: no scaling. LIMN_E_USAGE if path is a
 * limn model. */
LIMN_API limn_status limn_model_open_ranges(limn_context *context, const char *path,
                                            const char *ranges, limn_model **out);
LIMN_API void limn_model_free(limn_model *model);

typedef enum limn_kind {
    LIMN_KIND_DATA,   /* neither of these: presumably rows */
    LIMN_KIND_MODEL,  /* a limn model */
    LIMN_KIND_FOREIGN /* a text model of other software that limn_model_open reads */
} limn_kind;

/* Detects the kind of a file from its first bytes. LIMN_KIND_DATA for "-" and anything else that is
 * not a regular file, since those bytes could not be read again. Fails if it cannot be read. */
LIMN_API limn_status limn_file_kind(limn_context *context, const char *path, limn_kind *kind);
/* Writes the model as LIBSVM text (svm models only). If the model scales its features, a range file
 * for svm-scale is written beside it, path + ".range"; path cannot be "-" then. */
LIMN_API limn_status limn_model_export(limn_context *context, const limn_model *model,
                                       const char *path);

typedef struct limn_model_info {
    size_t size;
    const char *method;
    limn_task task;
    limn_scale scale;
    size_t columns;       /* feature columns of the files it reads */
    size_t features;      /* of a query: one per column of numbers, one per category of text */
    size_t used_features; /* those of them that the method uses */
    size_t classes;       /* of LIMN_CLASSIFY; 2 (-1 and 1) for LIMN_OUTLIER; else 0 */
    size_t scores;        /* decision values per row; 0: none */
    uint64_t rows;        /* trained on and learned; 0: unknown (imported) */
    uint64_t learned;     /* those of them learned after training */
    uint64_t seed;
    unsigned capabilities; /* of this model: those of its method that apply to its task */
    size_t param_count;
    size_t stat_count;
    size_t bytes;           /* of the file; if not saved yet, of the file that saving would write */
    const char *written_by; /* version of limn that trained it */
    /* Per query, mean over training rows; limn_evaluate gives the mean over the rows evaluated. */
    double touched_vectors, touched_bytes;
    const char
        *teacher;      /* the method that was trained first to teach this one, in words; or NULL */
    int scaled_target; /* LIMN_SCALE_RANGES: the answers are unscaled, too */
} limn_model_info;

LIMN_API void limn_model_info_init(limn_model_info *info);

LIMN_API void limn_model_describe(const limn_model *model, limn_model_info *out);
LIMN_API const char *limn_model_class_name(const limn_model *model, size_t index);
LIMN_API const char *limn_model_feature_name(const limn_model *model, size_t index); /* or NULL */
LIMN_API const char *limn_model_label_name(const limn_model *model);                 /* or NULL */

/* How the model scales features, and why. */
typedef struct limn_scaling {
    size_t size;
    limn_scale kind; /* as in limn_model_info */
    limn_scale base; /* of the columns: what LIMN_SCALE_LEARNED maps; else kind */
    /* Chosen by the evidence of that many rows in so many trials; 0: not chosen. */
    uint64_t rows;
    size_t trials;
    /* The same for the map. */
    uint64_t map_rows;
    size_t map_trials;
    size_t axes;     /* features after the map; 0: there is none */
    double variance; /* the share of the variance that they keep */
} limn_scaling;

LIMN_API void limn_scaling_init(limn_scaling *scaling);
LIMN_API void limn_model_scaling(const limn_model *model, limn_scaling *out);

/* One candidate, in the order in which they were tried. Each was compared with the one in force at
 * that time; the last one taken is the choice. Counts are of answers, three per row: that of the
 * nearest row and those of the nearest five and nine. */
typedef struct limn_scaling_trial {
    size_t size;
    const char *name; /* a scaling; of the map: "identity", "soft", "d1f", "d2f", "d4f" */
    uint64_t wrong;   /* another class, or a target that is far off */
    uint64_t mends;   /* right, where that of the one in force is wrong */
    uint64_t breaks;  /* the reverse */
    int taken;        /* it came into force */
} limn_scaling_trial;

LIMN_API void limn_scaling_trial_init(limn_scaling_trial *trial);
/* of_map: of the map, not of the columns' scaling. 0 past the end. */
LIMN_API int limn_model_scaling_trial(const limn_model *model, int of_map, size_t index,
                                      limn_scaling_trial *out);
/* The features by their share in the squared distances after the map, the largest first (index 0);
 * 0 past the end and without a map. */
LIMN_API int limn_model_heavy_feature(const limn_model *model, size_t index, size_t *feature,
                                      double *share);

/* The two classes that a decision value compares (above 0 favours first). Returns 0 if it compares
 * none (the single value of an outlier or regression model) or past the end. */
LIMN_API int limn_model_score_pair(const limn_model *model, size_t index, size_t *first,
                                   size_t *second);

/* The class that a decision value is the distance from. Returns 0 if it is not a distance. */
LIMN_API int limn_model_score_class(const limn_model *model, size_t index, size_t *of);

/* A feature column of the files that the model reads; a text column has several features. */
typedef struct limn_column_info {
    size_t size;
    const char *name;     /* or NULL */
    size_t first_feature; /* index into the model's features */
    size_t categories;    /* 0: a column of numbers */
    int has_fill;         /* missing cells are filled */
    double fill;          /* with this number, or the category of this index */
} limn_column_info;

LIMN_API void limn_column_info_init(limn_column_info *info);

/* 0 past the end. */
LIMN_API int limn_model_column(const limn_model *model, size_t index, limn_column_info *out);
LIMN_API const char *limn_model_category(const limn_model *model, size_t column, size_t index);
/* The parameters used, including defaults. Returns NULL past the end. */
LIMN_API const char *limn_model_param(const limn_model *model, size_t index, const char **key);
/* Statistics of the method: "vectors", "depth", ... Returns NULL past the end. */
LIMN_API const char *limn_model_stat(const limn_model *model, size_t index, double *value);

/* The label of a rejected row in files. Data may use it as a label too. */
#define LIMN_UNKNOWN "unknown"

/* ---- predicting --------------------------------------------------------------------------- */

typedef struct limn_predictor limn_predictor;

typedef struct limn_predictor_options {
    size_t size;
    int threads;      /* for calls with many rows; default 1; 0: as many as the context has */
    size_t neighbors; /* the largest k of any limn_search call; default 0 */
    int vote; /* classes by pairwise votes (LIBSVM's rule), for methods that have both rules */
} limn_predictor_options;

LIMN_API void limn_predictor_options_init(limn_predictor_options *options);
/* Allocates all memory that queries need. options may be NULL. */
LIMN_API limn_status limn_predictor_new(limn_context *context, const limn_model *model,
                                        const limn_predictor_options *options,
                                        limn_predictor **out);
/* Call it after the model has learned: allocates more memory if queries now need it. On failure the
 * predictor can be freed or renewed again. */
LIMN_API limn_status limn_predictor_renew(limn_predictor *predictor);
LIMN_API void limn_predictor_free(limn_predictor *predictor);

/* n rows of limn_model_info.features floats each. None of these functions allocates, locks or
 * prints (except for what the system does to start and join threads, if more than one is used). NaN
 * and infinity give LIMN_E_DATA and a message in the predictor's context that names row and column.
 */
/* Classes; -1 where the model rejects the row as unknown (hulls with reject). */
LIMN_API limn_status limn_predict(limn_predictor *predictor, const float *x, size_t n,
                                  int32_t *classes);
LIMN_API limn_status limn_predict_proba(limn_predictor *predictor, const float *x, size_t n,
                                        double *proba); /* n x classes */
/* LIMN_REGRESS: the predicted targets. LIMN_DENSITY: the natural log of the probability density at
 * each row, per unit of the features as they are given, whatever the scaling; -infinity where the
 * density is 0. Features that scaling drops because they are constant (limn_model_info.features
 * without used_features) do not count: the density is that of the other features. */
LIMN_API limn_status limn_predict_values(limn_predictor *predictor, const float *x, size_t n,
                                         double *values);
/* Decision values, n x limn_model_info.scores; a density model has none. */
LIMN_API limn_status limn_predict_scores(limn_predictor *predictor, const float *x, size_t n,
                                         double *scores);
/* The kinds of answer, one for each of the calls above. */
typedef enum limn_answer {
    LIMN_ANSWER_CLASSES, /* int32_t, 1 per row: limn_predict */
    LIMN_ANSWER_PROBA,   /* double, limn_model_info.classes per row: limn_predict_proba */
    LIMN_ANSWER_VALUES,  /* double, 1 per row (regress, density): limn_predict_values */
    LIMN_ANSWER_SCORES   /* double, limn_model_info.scores per row: limn_predict_scores */
} limn_answer;

/* Any of these answers for rows read with match = the model: width floats each (limn_rows.width,
 * limn_data_width). The type of out depends on the kind of answer. */
LIMN_API limn_status limn_predict_rows(limn_predictor *predictor, limn_answer answer,
                                       const float *x, size_t n, size_t width, void *out);
/* The k nearest training rows of each query, nearest first (ties: lower row first). rows and
 * distances are n x k; with fewer than k training rows the rest is -1 and infinity. */
LIMN_API limn_status limn_search(limn_predictor *predictor, const float *x, size_t n, size_t k,
                                 int64_t *rows, double *distances);

/* ---- learning online ---------------------------------------------------------------------- */

/* For models of methods with LIMN_CAN_LEARN; others give LIMN_E_UNSUPPORTED. These calls change the
 * model, so no other thread may use it meanwhile. Predictors made before such a change return
 * LIMN_E_USAGE until limn_predictor_renew. After any failure (out of memory, cancelled) the model
 * is still valid: it can predict, learn and be saved. Scaling and columns stay as they were at
 * training.
 */

/* Rows in the order of their arrival. Ids number all rows that the model has seen, from 0, training
 * rows first: the first row of a lesson has the id limn_model_info.rows. */
typedef struct limn_lesson {
    size_t size;
    size_t n;
    const float *x;         /* n x limn_model_info.features, as limn_predict takes them */
    const int32_t *classes; /* LIMN_CLASSIFY: 0 .. limn_model_info.classes - 1 */
    const double *targets;  /* LIMN_REGRESS */
    /* Out, or NULL: the model's answer for each row before it learned it (so the error over a
     * stream is measured on rows not yet seen); -1 or NaN while the model is empty. */
    int32_t *answered_classes;
    double *answered_values;
} limn_lesson;

LIMN_API void limn_lesson_init(limn_lesson *lesson);

/* Learns the rows one by one: many rows in one call or one row per call give the same model.
 * *learned (may be NULL) is the number of rows learned, on failure too: none when the rows are bad
 * (LIMN_E_DATA: not finite, a class that the model does not have), else those before the failure.
 */
LIMN_API limn_status limn_learn(limn_context *context, limn_model *model, const limn_lesson *lesson,
                                size_t *learned);
/* The number of the class with this name, which is added if the model does not have it. */
LIMN_API limn_status limn_model_add_class(limn_context *context, limn_model *model,
                                          const char *name, int32_t *index);
/* Removes the rows with these ids from the model: they no longer affect its answers. Ids that it
 * does not hold (never stored, or already forgotten) are not an error; *forgotten (may be NULL)
 * counts those that it held. LIMN_E_UNSUPPORTED without LIMN_CAN_FORGET. */
LIMN_API limn_status limn_forget(limn_context *context, limn_model *model, const uint64_t *ids,
                                 size_t count, uint64_t *forgotten);
/* Rebuilds what still depends on forgotten rows, so that no trace of them is left in the model or
 * in the file it is saved to. LIMN_E_UNSUPPORTED without LIMN_CAN_FORGET. */
LIMN_API limn_status limn_compact(limn_context *context, limn_model *model);

/* How far a model has got in the data it learns from; stored in its file, so that learning can
 * continue where it stopped. The library only stores it; limn learn sets it. */
typedef struct limn_mark {
    uint64_t rows;  /* read so far */
    uint64_t bytes; /* covered by hash, from the start of the file as stored; 0: a stream */
    uint64_t hash;  /* XXH3, 64 bits */
} limn_mark;

enum { LIMN_MARK_BYTES = 65536 };

/* A mark at row 0 of a file, with the hash of its first most bytes (at most LIMN_MARK_BYTES), or of
 * the whole file if it is shorter. bytes is 0 for "-" and anything else but a regular file. */
LIMN_API limn_status limn_mark_file(limn_context *context, const char *path, uint64_t most,
                                    limn_mark *out);
/* Returns 0 if the model has none. */
LIMN_API int limn_model_mark(const limn_model *model, limn_mark *out);
/* NULL removes the mark. Predictors stay valid. */
LIMN_API void limn_model_set_mark(limn_model *model, const limn_mark *mark);

/* ---- evaluating --------------------------------------------------------------------------- */

typedef struct limn_eval_options {
    size_t size;
    int measure_speed;      /* 1: latency and throughput too */
    double latency_seconds; /* time given to the latency measurement; 2 */
    int threads;            /* of the batch measurement; default 1; 0: as many as the context has */
    size_t neighbors;       /* of a search model: recall among this many; default 10 */
} limn_eval_options;

LIMN_API void limn_eval_options_init(limn_eval_options *options);

/* Figures that do not apply are NaN. Rates are fractions. */
typedef struct limn_evaluation {
    size_t size;
    size_t n;
    double accuracy, error, balanced_accuracy, uncertainty_coefficient;
    double log_loss, brier, ece;
    double mae, rmse, r2;
    double recall_at_k; /* search: fraction of the true k nearest that were found */
    size_t k;           /* 0 unless the task is LIMN_SEARCH */
    /* Of single calls over a stream of different rows, each row at its best of 5 passes or more;
     * mean, median and 99th percentile over rows. */
    double latency_us_mean, latency_us_p50, latency_us_p99;
    size_t latency_rows; /* rows that were measured in the time given */
    double batch_rows_per_s;
    double touched_vectors, touched_bytes; /* per query, mean over these rows */
    size_t classes;      /* of the model and of the data; plus LIMN_UNKNOWN if the model rejected
                          * rows and the data has no class of that name */
    uint64_t *confusion; /* classes x classes: rows are the truth, columns the answers; or NULL */
    limn_allocator allocator;
    double mean_log_density; /* density: mean over rows; -infinity if any of them has density 0 */
} limn_evaluation;

LIMN_API void limn_evaluation_init(limn_evaluation *evaluation);

/* data must have been read with match = model, or matched to it by limn_data_match. A search model
 * needs no labels: its answers are compared with an exact scan of the rows it holds, and an answer
 * at the same distance counts as right. A density model needs none either. Free the result with
 * limn_evaluation_free. */
LIMN_API limn_status limn_evaluate(limn_context *context, const limn_model *model,
                                   const limn_data *data, const limn_eval_options *options,
                                   limn_evaluation *out);
LIMN_API void limn_evaluation_free(limn_evaluation *evaluation);

/* ---- output files ------------------------------------------------------------------------- */

/* A file that appears under its name only when it is complete ("-": written directly to standard
 * output). */
typedef struct limn_output limn_output;

LIMN_API limn_status limn_output_open(limn_context *context, const char *path, limn_output **out);
LIMN_API limn_status limn_output_write(limn_output *output, const void *bytes, size_t size);
/* Passes what was written so far on to standard output. */
LIMN_API limn_status limn_output_flush(limn_output *output);
/* Syncs and renames. Frees output, on failure too. */
LIMN_API limn_status limn_output_commit(limn_output *output);
/* Removes what was written and frees output. NULL is allowed. */
LIMN_API void limn_output_discard(limn_output *output);

#ifdef __cplusplus
}
#endif

#include <limn/accelerate.h>

#endif
