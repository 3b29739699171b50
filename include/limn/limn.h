/* limn.h: classification that answers in microseconds.
 *
 * The whole public interface, in the order in which it is used:
 *
 *   context   -> allocator, log, progress, seed, threads, and the last error sentence
 *   data      -> a table read from a file or copied from memory
 *   model     -> trained from data, saved to a file, opened from one
 *   predictor -> a model plus one caller's scratch memory: the query path
 *   learning  -> rows shown one after another to a model whose method is online
 *   evaluate  -> accuracy and latency of a model on data
 *   methods   -> what can be trained, with which parameters
 *
 * Rules that hold everywhere:
 *
 *   - Fallible functions return a limn_status and leave their outputs NULL or untouched on failure;
 *     limn_error() gives the sentence. The library never prints, exits or aborts.
 *   - A context belongs to one thread at a time. A model is immutable while predicting and may be
 *     shared by any number of threads, each with its own context and predictor. Only what is listed
 *     under "learning online" changes a model, and then nobody else may use it.
 *   - Data and models are independent of the context that made them and may outlive it, but not its
 *     memory functions. Predictors, readers and outputs use their context until they are freed, and
 *     a predictor its model.
 *   - Text is UTF-8, sizes are size_t, features are float, classes are numbered from 0.
 *   - Options and results that the caller makes begin with their own size, which their _init
 *     function sets, so that later versions can add fields after the others. One that was not
 *     initialised gives LIMN_E_USAGE, or is left alone by a function that cannot fail.
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

/* The version of the library in use, such as "0.2.0". */
LIMN_API const char *limn_version(void);

/* ---- status ------------------------------------------------------------------------------- */

/* One list for codes and their strings: X(name, value, string). Values never change. */
#define LIMN_STATUS_LIST(X)                                  \
    X(LIMN_OK, 0, "done")                                    \
    X(LIMN_E_MEMORY, 1, "out of memory")                     \
    X(LIMN_E_USAGE, 2, "wrong use")                          \
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

/* Memory functions with the meaning of malloc, realloc and free. They may be called from several
 * threads at once when the context has more than one thread. */
typedef struct limn_allocator {
    void *(*allocate)(void *user, size_t size);
    void *(*resize)(void *user, void *block, size_t size);
    void (*release)(void *user, void *block);
    void *user;
} limn_allocator;

typedef enum limn_log_level { LIMN_LOG_INFO, LIMN_LOG_WARNING } limn_log_level;

/* What a long piece of work has done so far. */
typedef struct limn_progress {
    const char *stage;   /* "reading", "training", ... */
    uint64_t rows;       /* rows done */
    uint64_t rows_total; /* 0 = not known */
    double fraction;     /* 0..1, or -1 when not known */
} limn_progress;

/* A distance of two rows of n features, 0 for equal ones; it need not be symmetric or keep the
 * triangle inequality. Called from several threads at once; NaN counts as very far. */
typedef double limn_distance(void *user, const float *a, const float *b, size_t n);

typedef struct limn_context_options {
    size_t size;              /* of this struct, set by _init; the same below */
    limn_allocator allocator; /* all NULL: malloc */
    void (*log)(void *user, limn_log_level level, const char *sentence); /* NULL: silent */
    int (*progress)(void *user, const limn_progress *progress); /* NULL: none; non-zero cancels */
    void *user;                                                 /* handed to all of these */
    /* metric=caller of the methods that have it: used by the models trained or opened with this
     * context, as long as they live; so is user. NULL: none. */
    limn_distance *metric;
    uint64_t seed;         /* 1 */
    int threads;           /* for training and evaluating; 0: all cores */
    uint64_t memory_limit; /* refuse data larger than this many bytes; 0: what is available */
} limn_context_options;

/* Fills in the defaults. */
LIMN_API void limn_context_options_init(limn_context_options *options);
/* options may be NULL. Fails with LIMN_E_USAGE, the one failure without a sentence, when they were
 * not initialised or the environment variable LIMN_ISA names an instruction set that this machine
 * lacks. */
LIMN_API limn_status limn_context_new(const limn_context_options *options, limn_context **out);
LIMN_API void limn_context_free(limn_context *context);
/* The sentence of the last failure in this context; "" if there was none. */
LIMN_API const char *limn_error(const limn_context *context);
/* The instruction set in use: "baseline", "avx2", "avx512" or "neon". */
LIMN_API const char *limn_isa(void);

/* ---- data --------------------------------------------------------------------------------- */

typedef enum limn_task {
    LIMN_CLASSIFY,
    LIMN_REGRESS,
    LIMN_SEARCH,
    LIMN_OUTLIER,
    LIMN_DENSITY
} limn_task;
typedef enum limn_format {
    LIMN_FORMAT_AUTO, /* reading: told by the content; writing: by the name */
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
    LIMN_MISSING_MEDIAN /* the column's median; for categories the most frequent one */
} limn_missing;
/* A category that the model has not seen. */
typedef enum limn_unknown { LIMN_UNKNOWN_ERROR, LIMN_UNKNOWN_ZERO } limn_unknown;

typedef struct limn_data limn_data;
typedef struct limn_model limn_model;

typedef struct limn_read_options {
    size_t size;
    limn_format format;
    limn_header header;
    char delimiter;          /* of CSV; 0: told by the content */
    limn_task task;          /* what the label column means; LIMN_SEARCH needs none */
    const char *label;       /* NAME, 1-based INDEX, "first" or "last"; NULL: the default rule */
    int no_label;            /* every column is a feature */
    int skip_label;          /* the label is found as usual, but not read: it may even be wrong */
    const char *label_file;  /* of NPY and IDX; NULL: the companion of the file, if it is there */
    const char *weights;     /* NAME or INDEX of a column of sample weights; NULL: none */
    const char *categorical; /* "NAME,INDEX,...": columns whose numbers are categories; or NULL */
    limn_missing missing;    /* at training; a model remembers what stands for a missing cell */
    limn_unknown unknown; /* with match: ZERO takes a category that match does not know as none */
} limn_read_options;

LIMN_API void limn_read_options_init(limn_read_options *options);

/* Reads a whole file ("-": standard input; gzip is recognised). With match, columns and labels are
 * matched to those of the model, as limn predict does; labels that the model does not know are
 * numbered after its own. match may be NULL. */
LIMN_API limn_status limn_data_read(limn_context *context, const char *path,
                                    const limn_read_options *options, const limn_model *match,
                                    limn_data **out);
/* Copies n rows of d floats, row by row. y: one number a row, a class (LIMN_CLASSIFY; equal numbers
 * are one class) or a target (LIMN_REGRESS); NULL: no labels. */
LIMN_API limn_status limn_data_from_values(limn_context *context, limn_task task, const float *x,
                                           size_t n, size_t d, const double *y, limn_data **out);
/* The same for classes that are named by text. */
LIMN_API limn_status limn_data_from_labels(limn_context *context, const float *x, size_t n,
                                           size_t d, const char *const *labels, limn_data **out);
/* A stratified random part of data: fraction of the rows of each class (0 < fraction <= 1). */
LIMN_API limn_status limn_data_subsample(limn_context *context, const limn_data *data,
                                         double fraction, limn_data **out);
/* Numbers the classes of data as model does; those that model does not know come after its own. */
LIMN_API limn_status limn_data_match(limn_context *context, limn_data *data,
                                     const limn_model *model);
/* Sample weights for training, one a row: finite, 0 or more (0 leaves the row out). */
LIMN_API limn_status limn_data_set_weights(limn_context *context, limn_data *data,
                                           const double *weights);
LIMN_API void limn_data_free(limn_data *data);

LIMN_API size_t limn_data_rows(const limn_data *data);
LIMN_API size_t limn_data_features(const limn_data *data);
/* Floats of a row as it was read: its features, and behind them what the model that the data was
 * matched to keeps of others (imported models: the sum of their squares). For limn_predict_rows. */
LIMN_API size_t limn_data_width(const limn_data *data);
LIMN_API const float *limn_data_values(const limn_data *data);    /* rows x width */
LIMN_API const int32_t *limn_data_classes(const limn_data *data); /* a class a row, or NULL */
LIMN_API const double *limn_data_targets(const limn_data *data);  /* a target a row, or NULL */
LIMN_API const double *limn_data_weights(const limn_data *data);  /* a weight a row, or NULL */
LIMN_API size_t limn_data_class_count(const limn_data *data);
LIMN_API const char *limn_data_class_name(const limn_data *data, size_t index);

/* Reads a file piece by piece, in constant memory. */
typedef struct limn_reader limn_reader;

typedef struct limn_rows {
    size_t size;
    size_t n;               /* 0 at the end */
    size_t width;           /* floats of a row, as limn_data_width says */
    const float *x;         /* n x width, valid until the next call */
    const int32_t *classes; /* or NULL when the file has no labels */
    const double *targets;  /* or NULL */
    const double *weights;  /* or NULL */
} limn_rows;

LIMN_API void limn_rows_init(limn_rows *rows);

LIMN_API limn_status limn_reader_open(limn_context *context, const char *path,
                                      const limn_read_options *options, const limn_model *match,
                                      limn_reader **out);
/* At most max_rows rows: as many complete lines as have arrived, waiting only for the first. */
LIMN_API limn_status limn_reader_next(limn_reader *reader, size_t max_rows, limn_rows *rows);
/* The classes met so far: with match those of the model as it was when the reader was opened, then
 * new ones in the order of their first rows. A name (NULL past the end) lives as long as the
 * reader. */
LIMN_API size_t limn_reader_class_count(const limn_reader *reader);
LIMN_API const char *limn_reader_class_name(const limn_reader *reader, size_t index);
/* The part of the file that has been taken in, 0..1; -1 when its size is not known. */
LIMN_API double limn_reader_fraction(const limn_reader *reader);
LIMN_API void limn_reader_free(limn_reader *reader);

/* ---- converting and making data ----------------------------------------------------------- */

typedef struct limn_write_options {
    size_t size;
    limn_format format;     /* AUTO: by the extension; ".gz" behind it compresses */
    char delimiter;         /* of CSV; 0: a comma, for .tsv a tab */
    const char *label_file; /* of NPY and IDX; NULL: the companion of the file */
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
    LIMN_SCALE_AUTO, /* the method's own default */
    LIMN_SCALE_NONE,
    LIMN_SCALE_MINMAX,
    LIMN_SCALE_ZSCORE
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
       LIMN_CAN_BE_TAUGHT = 1 << 13 /* is drawn from another model: limn_train_options.teacher */
};

/* "classify", "regress", ...; NULL when bit is not one capability. */
LIMN_API const char *limn_capability_name(unsigned bit);

typedef enum limn_param_type {
    LIMN_PARAM_INT,
    LIMN_PARAM_REAL,
    LIMN_PARAM_CHOICE,
    LIMN_PARAM_TEXT /* the owner of the table says what is allowed */
} limn_param_type;

typedef struct limn_param {
    const char *key;
    const char *help;
    limn_param_type type;
    const char *default_value;
    double min, max;     /* of INT and REAL, inclusive */
    const char *choices; /* of CHOICE: "l2|l1|cosine"; of TEXT: what is allowed, in words; of INT
                          * and REAL: words that are allowed beside numbers, "full|gap", or NULL */
    int can_be_auto;     /* "auto" is accepted: chosen from the data */
    int above_min;       /* of REAL: min itself is not allowed */
} limn_param;

typedef struct limn_method_info {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* where it is described */
    limn_scale default_scale;
    const limn_param *params;
    size_t param_count;
} limn_method_info;

LIMN_API size_t limn_method_count(void);
LIMN_API const limn_method_info *limn_method_at(size_t index);       /* NULL past the end */
LIMN_API const limn_method_info *limn_method_find(const char *name); /* NULL if unknown */
LIMN_API unsigned limn_method_capabilities(const char *name);        /* 0 if unknown */

/* ---- synthetic data ----------------------------------------------------------------------- */

typedef struct limn_synth_info {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* where it is described */
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

/* Writes the data set to path ("-": standard output), seeded by the context. writing may be NULL.
 */
LIMN_API limn_status limn_synth(limn_context *context, const limn_synth_options *options,
                                const char *path, const limn_write_options *writing);

/* ---- models ------------------------------------------------------------------------------- */

/* A teacher that the caller writes: what it says of n rows of limn_data_features floats each. For
 * LIMN_CLASSIFY answers is n x classes, probabilities; for LIMN_REGRESS n values. Called from the
 * thread that called limn_train; anything but LIMN_OK ends the training with that status. */
typedef limn_status limn_teach(void *user, const float *x, size_t n, double *answers);

typedef struct limn_train_options {
    size_t size;
    const char *method;        /* "knn", ... */
    const char *const *params; /* "key=value", param_count of them */
    size_t param_count;
    limn_scale scale;
    /* For methods with LIMN_CAN_BE_TAUGHT, at most one of these three: a model whose columns,
     * classes and scaling the new one takes over (data was read with match = teacher); a method,
     * which is trained on data first; a function. */
    const limn_model *teacher;
    const char *teacher_method;
    const char *const *teacher_params; /* of teacher_method */
    size_t teacher_param_count;
    limn_teach *teach;
    void *teach_user;
} limn_train_options;

LIMN_API void limn_train_options_init(limn_train_options *options);

/* What limn_train would refuse without looking at any data: an unknown method, one that cannot do
 * the task, a wrong parameter. */
LIMN_API limn_status limn_train_check(limn_context *context, const limn_train_options *options,
                                      limn_task task);
/* data is not needed afterwards. */
LIMN_API limn_status limn_train(limn_context *context, const limn_data *data,
                                const limn_train_options *options, limn_model **out);
/* Writes to a temporary name, syncs and renames: path is either the whole new model or untouched.
 */
LIMN_API limn_status limn_model_save(limn_context *context, const limn_model *model,
                                     const char *path);
/* Maps the file and checks every byte of it. A LIBSVM text model is detected from its content and
 * read as well; it then gives LIBSVM's answers. */
LIMN_API limn_status limn_model_open(limn_context *context, const char *path, limn_model **out);
LIMN_API void limn_model_free(limn_model *model);

typedef enum limn_kind {
    LIMN_KIND_DATA,   /* nothing else: rows, as far as can be told */
    LIMN_KIND_MODEL,  /* a model of limn's own */
    LIMN_KIND_FOREIGN /* a text model of other software that limn_model_open reads */
} limn_kind;

/* What a file is, by its first bytes; LIMN_KIND_DATA for "-" and whatever is not a regular file,
 * since looking would take bytes away from its reader. Fails where the file cannot be read. */
LIMN_API limn_status limn_file_kind(limn_context *context, const char *path, limn_kind *kind);
/* Writes the model as LIBSVM text (svm models only). */
LIMN_API limn_status limn_model_export(limn_context *context, const limn_model *model,
                                       const char *path);

typedef struct limn_model_info {
    size_t size;
    const char *method;
    limn_task task;
    limn_scale scale;
    size_t columns;       /* feature columns of the files that it reads */
    size_t features;      /* that a query has: one a column of numbers, one a category of text */
    size_t used_features; /* of them, those that the method sees */
    size_t classes;       /* 2 (-1 and 1) for LIMN_OUTLIER; 0 unless that or LIMN_CLASSIFY */
    size_t scores;        /* decision values of a row; 0: none */
    uint64_t rows;        /* trained on and learned; 0: imported, not known */
    uint64_t learned;     /* of them, those that came after training */
    uint64_t seed;
    unsigned capabilities; /* of this model: those of its method that fit its task */
    size_t param_count;
    size_t stat_count;
    size_t bytes; /* of the file; for a model not saved yet, of the file that saving would write */
    const char *written_by; /* version of limn that trained it */
    /* By one query, mean over training rows; limn_evaluate gives the mean over the rows asked. */
    double touched_vectors, touched_bytes;
} limn_model_info;

LIMN_API void limn_model_info_init(limn_model_info *info);

LIMN_API void limn_model_describe(const limn_model *model, limn_model_info *out);
LIMN_API const char *limn_model_class_name(const limn_model *model, size_t index);
LIMN_API const char *limn_model_feature_name(const limn_model *model, size_t index); /* or NULL */
LIMN_API const char *limn_model_label_name(const limn_model *model);                 /* or NULL */

/* The two classes that a decision value compares (above 0 speaks for first); 0 when it compares
 * none: the one of an outlier or regression model, or past the end. */
LIMN_API int limn_model_score_pair(const limn_model *model, size_t index, size_t *first,
                                   size_t *second);

/* The class whose distance a decision value is (the smaller, the nearer); 0 when it is none. */
LIMN_API int limn_model_score_class(const limn_model *model, size_t index, size_t *of);

/* A feature column of the files that the model reads; text columns are several features. */
typedef struct limn_column_info {
    size_t size;
    const char *name;     /* or NULL */
    size_t first_feature; /* of the model's features */
    size_t categories;    /* 0: a column of numbers */
    int has_fill;         /* missing cells are filled ... */
    double fill;          /* ... with this number or category */
} limn_column_info;

LIMN_API void limn_column_info_init(limn_column_info *info);

/* 0 past the end. */
LIMN_API int limn_model_column(const limn_model *model, size_t index, limn_column_info *out);
LIMN_API const char *limn_model_category(const limn_model *model, size_t column, size_t index);
/* The parameters in force, defaults included. Returns NULL past the end. */
LIMN_API const char *limn_model_param(const limn_model *model, size_t index, const char **key);
/* Figures of the method: "vectors", "depth", ... Returns NULL past the end. */
LIMN_API const char *limn_model_stat(const limn_model *model, size_t index, double *value);

/* What a rejected row is called in files. Data may use it as a label. */
#define LIMN_UNKNOWN "unknown"

/* ---- predicting --------------------------------------------------------------------------- */

typedef struct limn_predictor limn_predictor;

typedef struct limn_predictor_options {
    size_t size;
    int threads;      /* for calls with many rows; 1. 0: those of the context */
    size_t neighbors; /* the largest k that limn_search will ask for; 0 */
    int vote;         /* classes by the votes of pairs (LIBSVM's rule), where a method has two */
} limn_predictor_options;

LIMN_API void limn_predictor_options_init(limn_predictor_options *options);
/* Takes all memory that queries need. options may be NULL. */
LIMN_API limn_status limn_predictor_new(limn_context *context, const limn_model *model,
                                        const limn_predictor_options *options,
                                        limn_predictor **out);
/* After the model has learned: takes more memory if queries need it now. On failure the predictor
 * can be freed or renewed again. */
LIMN_API limn_status limn_predictor_renew(limn_predictor *predictor);
LIMN_API void limn_predictor_free(limn_predictor *predictor);

/* n rows of limn_model_info.features floats each. None of these allocates, locks or prints (but for
 * what the system needs to start and join threads, where more than one is asked for). NaN and
 * infinity give LIMN_E_DATA and a sentence in the predictor's context that names row and column. */
/* Classes; -1 where the model rejects the row as unknown (hulls with reject). */
LIMN_API limn_status limn_predict(limn_predictor *predictor, const float *x, size_t n,
                                  int32_t *classes);
LIMN_API limn_status limn_predict_proba(limn_predictor *predictor, const float *x, size_t n,
                                        double *proba); /* n x classes */
LIMN_API limn_status limn_predict_values(limn_predictor *predictor, const float *x, size_t n,
                                         double *values); /* regression */
/* Decision values, n x limn_model_info.scores. */
LIMN_API limn_status limn_predict_scores(limn_predictor *predictor, const float *x, size_t n,
                                         double *scores);
/* What a row can be answered with: the calls above. */
typedef enum limn_answer {
    LIMN_ANSWER_CLASSES, /* int32_t, 1 a row: limn_predict */
    LIMN_ANSWER_PROBA,   /* double, limn_model_info.classes a row: limn_predict_proba */
    LIMN_ANSWER_VALUES,  /* double, 1 a row: limn_predict_values */
    LIMN_ANSWER_SCORES   /* double, limn_model_info.scores a row: limn_predict_scores */
} limn_answer;

/* Any of them for rows as they were read with match = the model: width floats each
 * (limn_rows.width, limn_data_width). out has the type that the answer has. */
LIMN_API limn_status limn_predict_rows(limn_predictor *predictor, limn_answer answer,
                                       const float *x, size_t n, size_t width, void *out);
/* The k nearest training rows of each query, nearest first (ties: lower row first): rows and
 * distances are n x k. With fewer than k training rows the rest is -1 and infinity. */
LIMN_API limn_status limn_search(limn_predictor *predictor, const float *x, size_t n, size_t k,
                                 int64_t *rows, double *distances);

/* ---- learning online ---------------------------------------------------------------------- */

/* For models of methods with LIMN_CAN_LEARN; others give LIMN_E_UNSUPPORTED. The calls of this part
 * change the model, so no other thread may use it meanwhile. Predictors made before such a change
 * answer LIMN_E_USAGE until limn_predictor_renew. Whatever happens (no memory, cancelled), the
 * model stays whole and can be asked, taught and saved. Scaling and columns stay as training found
 * them.
 */

/* Rows in the order of their arrival. The number of a row over the life of the model, counted from
 * 0, training included, is its id: the first one of a lesson has id limn_model_info.rows. */
typedef struct limn_lesson {
    size_t size;
    size_t n;
    const float *x;         /* n x limn_model_info.features, as limn_predict takes them */
    const int32_t *classes; /* LIMN_CLASSIFY: 0 .. limn_model_info.classes - 1 */
    const double *targets;  /* LIMN_REGRESS */
    /* Out, or NULL: what the model said of each row before it learned it (so the error over a
     * stream is measured on rows not yet seen); -1 or NaN while it knew nothing. */
    int32_t *answered_classes;
    double *answered_values;
} limn_lesson;

LIMN_API void limn_lesson_init(limn_lesson *lesson);

/* Learns the rows one after the other: many in one call or one a call give the same model. *learned
 * (may be NULL) tells how many of them are in the model, on failure too: none when the rows are bad
 * (LIMN_E_DATA: not finite, a class that the model does not have), else those before the failure.
 */
LIMN_API limn_status limn_learn(limn_context *context, limn_model *model, const limn_lesson *lesson,
                                size_t *learned);
/* The number of the class of that name, which is new to the model if need be. */
LIMN_API limn_status limn_model_add_class(limn_context *context, limn_model *model,
                                          const char *name, int32_t *index);
/* The rows with these ids leave the model and have no part in its answers from now on. Ids that it
 * does not hold (never stored, or forgotten before) are no error; *forgotten (may be NULL) counts
 * those that it held. LIMN_E_UNSUPPORTED without LIMN_CAN_FORGET. */
LIMN_API limn_status limn_forget(limn_context *context, limn_model *model, const uint64_t *ids,
                                 size_t count, uint64_t *forgotten);
/* Rebuilds what still stands on forgotten rows, so that nothing of them is left in the model or in
 * the file that it is saved to. LIMN_E_UNSUPPORTED without LIMN_CAN_FORGET. */
LIMN_API limn_status limn_compact(limn_context *context, limn_model *model);

/* How far a model has come in the data that it learns from, kept in its file, so that learning can
 * go on where it stopped. The library only keeps it; limn learn sets it. */
typedef struct limn_mark {
    uint64_t rows;  /* read so far */
    uint64_t bytes; /* of the data as it is stored, from its start, that hash covers; 0: a stream */
    uint64_t hash;  /* XXH3, 64 bits */
} limn_mark;

enum { LIMN_MARK_BYTES = 65536 };

/* A mark at row 0 of a file: the hash of its first most bytes (LIMN_MARK_BYTES at most), or of all
 * when it is shorter. For "-" and everything that is not a regular file bytes is 0. */
LIMN_API limn_status limn_mark_file(limn_context *context, const char *path, uint64_t most,
                                    limn_mark *out);
/* 0: the model has none. */
LIMN_API int limn_model_mark(const limn_model *model, limn_mark *out);
/* NULL takes it away. Predictors stay good. */
LIMN_API void limn_model_set_mark(limn_model *model, const limn_mark *mark);

/* ---- evaluating --------------------------------------------------------------------------- */

typedef struct limn_eval_options {
    size_t size;
    int measure_speed;      /* 1: latency and throughput too */
    double latency_seconds; /* time given to the latency measurement; 2 */
    int threads;            /* of the batch measurement; 1. 0: those of the context */
    size_t neighbors;       /* of a search model: recall among so many; 10 */
} limn_eval_options;

LIMN_API void limn_eval_options_init(limn_eval_options *options);

/* Figures that do not apply are NaN. Rates are fractions. */
typedef struct limn_evaluation {
    size_t size;
    size_t n;
    double accuracy, error, balanced_accuracy, uncertainty_coefficient;
    double log_loss, brier, ece;
    double mae, rmse, r2;
    double recall_at_k; /* search: share of the true k nearest that were found */
    size_t k;           /* 0 unless the task is LIMN_SEARCH */
    /* Of single calls over a stream of different rows, each row at its best of 5 passes or more;
     * mean, median and 99th percentile over rows. */
    double latency_us_mean, latency_us_p50, latency_us_p99;
    size_t latency_rows; /* rows that were measured in the time given */
    double batch_rows_per_s;
    double touched_vectors, touched_bytes; /* by one query, mean over these rows */
    size_t classes;      /* of the model and of the data; one more, LIMN_UNKNOWN, where the model
                          * rejected rows and the data has no class of that name */
    uint64_t *confusion; /* classes x classes: truth in rows, answers in columns; or NULL */
    limn_allocator allocator;
} limn_evaluation;

LIMN_API void limn_evaluation_init(limn_evaluation *evaluation);

/* data must have been read with match = model, or matched to it by limn_data_match. A search model
 * needs no labels: its answers are compared with an exact scan of the rows that it holds, at equal
 * distance an answer counts as right. Free the result with limn_evaluation_free. */
LIMN_API limn_status limn_evaluate(limn_context *context, const limn_model *model,
                                   const limn_data *data, const limn_eval_options *options,
                                   limn_evaluation *out);
LIMN_API void limn_evaluation_free(limn_evaluation *evaluation);

/* ---- output files ------------------------------------------------------------------------- */

/* A file that appears under its name only when it is complete ("-": standard output, written
 * through). */
typedef struct limn_output limn_output;

LIMN_API limn_status limn_output_open(limn_context *context, const char *path, limn_output **out);
LIMN_API limn_status limn_output_write(limn_output *output, const void *bytes, size_t size);
/* Hands what was written so far to the reader of standard output. */
LIMN_API limn_status limn_output_flush(limn_output *output);
/* Syncs and renames. Frees output, whatever the result. */
LIMN_API limn_status limn_output_commit(limn_output *output);
/* Removes what was written and frees output. NULL is allowed. */
LIMN_API void limn_output_discard(limn_output *output);

#ifdef __cplusplus
}
#endif
#endif
