/* borders.h: the border between two classes of a slow classifier, drawn as points with normals.
 *
 * P. Mills, "Accelerating kernel classifiers through borders mapping", 2017. The teacher's decision
 * between two classes is a field (fit/field.h) with value r = P(first | x) - P(second | x). For
 * each pair of classes, points b_i with r(b_i) = 0 are found on lines between training rows
 * (sample.c), and the gradient there is kept as a unit normal u_i and a slope. A query takes the
 * nearest point:
 *
 *   i = argmin_j |x - b_j|,   g = slope_i u_i . (x - b_i),   above 0: the first class.
 *
 * All pairs share one packed set of the vectors (-b, |b|^2 / 2), so that the product with (x, 1) is
 * half of |x - b|^2 - |x|^2 and one scan serves the argmin of every pair; the normals are rows (u,
 * -u.b), of which a query multiplies one per pair.
 *
 * P(first) = 1 / (1 + exp(-a g)), with one a per pair fitted to the labels of rows that no line
 * began at; the paper's (1 + tanh g) / 2, a = 2, holds to first order only. Pairs are coupled into
 * class probabilities, whose largest is the answer; vote counts the signs of g.
 *
 * Where the teacher says the same class everywhere in a pair, there is no border, and g is a
 * constant. Inside, b and x are relative to the mean of all border points and in units of a power
 * of two, so that neither huge nor tiny values overflow. */
#ifndef LIMN_METHODS_BORDERS_BORDERS_H
#define LIMN_METHODS_BORDERS_BORDERS_H

#include "fit/field.h"
#include "method.h"

enum { BORDERS_FILE_VERSION = 1 };

typedef struct bd_model {
    size_t d, classes, pairs;
    size_t stride;          /* floats of a normal and of a query: d + 1, rounded up to panels */
    lm_pack pack;           /* d + 1 features: -b, |b|^2 / 2 */
    const float *normal;    /* n x stride: u, -u.b, zeros */
    const double *slope;    /* n */
    const uint32_t *start;  /* pairs + 1: the borders of each pair */
    const double *constant; /* pairs: g where a pair has no border */
    const double *steep;    /* pairs: -a of the sigmoid, above 0 is refused */
    const double *shift;    /* pairs of zeros: the sigmoids have no offset */
    const double *centre;   /* d */
    double scale;           /* query = (x - centre) * scale */
    /* what training found */
    double agreement; /* with the teacher, on rows held out, share of all pairs' rows */
    double asked;     /* points that the teacher was asked about */
    uint64_t fitted;  /* pairs whose r comes from a sigmoid fitted here */
    bool owned;
} bd_model;

/* ---- sample.c: points on the border of one pair ---- */

/* Rows of the data between which lines are drawn: those of each class on each side. */
typedef struct bd_ends {
    const float *x; /* rows of d */
    size_t d;
    const uint32_t *row[2][2]; /* [class][side]: side 0 is f above the level */
    size_t count[2][2];
} bd_ends;

typedef struct bd_points {
    size_t count, capacity;
    float *b;      /* d each */
    double *u;     /* d each */
    double *slope; /* |grad r| */
} bd_points;

void bd_points_free(const limn_allocator *mem, bd_points *points);
/* A search for points on the border of one pair. */
typedef struct bd_search {
    const lm_field *field;
    double level; /* of f on the border */
    bd_ends ends;
    uint64_t seed;
    uint64_t drawn;  /* lines used so far: none is used twice */
    double progress; /* of the whole training, 0..1 */
} bd_search;

/* Whether any line between the ends crosses the border. */
bool bd_has_line(const bd_ends *ends);
/* Adds points until there are `wanted`, or until all lines have been used. */
limn_status bd_draw(limn_context *ctx, bd_search *search, size_t wanted, bd_points *points);

/* ---- pair.c: the borders of one pair ---- */

typedef struct bd_options {
    size_t borders; /* per pair; 0: auto */
    double threshold;
    bool calibrate;
    uint64_t stream;
    double progress; /* 0..1 */
} bd_options;

typedef struct bd_pair {
    bd_points points;
    double constant, a;
    size_t held, agreed; /* rows held out, and those where the teacher agrees */
    bool fitted;
    double asked;
} bd_pair;

/* The training set by class. */
typedef struct bd_rows {
    const lm_train_set *set;
    uint32_t *row;   /* by class */
    size_t *start;   /* classes + 1 */
    double *spread;  /* d */
    double *answers; /* n x width: what a teacher without fields says of every row; or NULL */
} bd_rows;

limn_status bd_pair_make(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                         size_t first, size_t second, bd_pair *pair);

limn_status bd_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **model);
void bd_destroy(const limn_allocator *mem, void *model);
limn_status bd_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status bd_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **model);
void bd_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void bd_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void bd_vote(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void bd_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
size_t bd_score_count(const void *model);
void bd_scores(const void *model, const float *x, size_t n, double *scores, void *scratch);
void bd_stats(const void *model, lm_stats *stats);

/* Pairs of k classes. */
static inline size_t bd_pair_count(size_t k) {
    return k * (k - 1) / 2;
}
/* Floats of a padded query. */
static inline size_t bd_stride(size_t d) {
    return (d + 1 + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

#endif
