/* borders.h: the border between two classes of a slow classifier, drawn as points with normals.
 *
 * P. Mills, "Accelerating kernel classifiers through borders mapping", 2017. The teacher's decision
 * between two classes is a field (fit/field.h) with value r = P(first | x) - P(second | x). For
 * each pair of classes, points b_i with r(b_i) = 0 are kept, with the gradient there as a unit
 * normal u_i and a slope. A query takes the nearest point:
 *
 *   i = argmin_j |x - b_j|,   g = slope_i u_i . (x - b_i),   above 0: the first class.
 *
 * The paper finds the points on lines between random rows (sample.c). By default they are placed
 * where they mend mistakes on a pool of points that the teacher has answered (pools.c, project.c,
 * adapt.c); and a pair may be decided by one plane, or by cells with a plane each, if that agrees
 * better with the teacher on rows held out (form.c, pair.c). These are points too, whose planes
 * need not pass through them.
 *
 * All pairs share one packed set of the vectors (-b, |b|^2 / 2), so that the product with (x, 1) is
 * half of |x - b|^2 - |x|^2 and one scan serves the argmin of every pair; the normals are rows (u,
 * offset), of which a query multiplies one per pair. Or a decision graph asks one pair after the
 * other, k - 1 in all, until one of the k classes is left (multi.c); there every pair begins a
 * panel.
 *
 * P(first) = 1 / (1 + exp(-a g)), with one a per pair fitted to the labels of rows held out; the
 * paper's (1 + tanh g) / 2, a = 2, holds to first order only. Pairs are coupled into class
 * probabilities, whose largest is the answer; vote counts the signs of g.
 *
 * Where the teacher says the same class everywhere in a pair, there is no border, and g is a
 * constant. Inside, b and x are relative to the median of all border points and in units of a power
 * of two, so that neither huge nor tiny values overflow. */
#ifndef LIMN_METHODS_BORDERS_BORDERS_H
#define LIMN_METHODS_BORDERS_BORDERS_H

#include "fit/field.h"
#include "fit/pool.h"
#include "method.h"

enum { BORDERS_FILE_VERSION = 1 };
#define BD_MOST (UINT32_MAX / 4) /* vectors */

/* How a pair is decided; BD_AUTO is for options, and for pairs with a constant. */
typedef enum bd_form { BD_AUTO, BD_BORDERS, BD_PLANE, BD_CELLS, BD_FORMS } bd_form;
typedef enum bd_multi { BD_MULTI_AUTO, BD_OVO, BD_DAG } bd_multi;

typedef struct bd_model {
    size_t d, classes, pairs;
    bool dag;
    size_t n;               /* vectors of all pairs */
    size_t stride;          /* floats of a normal and of a query: d + 1, rounded up to panels */
    lm_pack pack;           /* d + 1 features: -b, |b|^2 / 2; a row is a place */
    const float *normal;    /* n x stride: u, offset, zeros */
    const double *slope;    /* n */
    const uint32_t *start;  /* pairs + 1: the vectors of each pair */
    uint32_t *first;        /* pairs + 1: their places in the pack */
    size_t longest;         /* panels of a pair, at most */
    const double *constant; /* pairs: g where a pair has no border */
    const double *steep;    /* pairs: -a of the sigmoid, above 0 is refused */
    double *shift;          /* pairs of zeros: the sigmoids have no offset */
    const double *centre;   /* d */
    double scale;           /* query = (x - centre) * scale */
    /* what training found */
    double agreement;         /* with the teacher, on rows held out, share of all pairs' rows */
    double visited;           /* dag: vectors touched per row held out */
    double asked;             /* points that the teacher was asked about */
    uint64_t fitted;          /* pairs whose r comes from a sigmoid fitted here */
    uint64_t forms[BD_FORMS]; /* pairs of each form */
    bool owned;
} bd_model;

/* ---- progress ---- */

typedef struct bd_news {
    double from, share;  /* of the whole training: where this pair begins, and how much it is */
    double inside;       /* how much of the pair is done */
    size_t held, agreed; /* rows held out of the pairs before, and those where the teacher agrees */
    char agreement[48];  /* in words, of those pairs and what this one has so far; or empty */
} bd_news;

limn_status bd_tell(limn_context *ctx, const bd_news *news);
#define BD_ANSWERED 0.4 /* of a pair is done when the teacher has answered the pool */
/* So much of the pair is done, unless more is. */
static inline void bd_advance(bd_news *news, double inside) {
    news->inside = inside > news->inside ? inside : news->inside;
}
/* Agreement in words. */
void bd_say_agreement(size_t held, size_t agreed, char text[48]);

/* ---- lines.c: points on the border ---- */

/* Points, each with a plane: g(x) = slope (u.x + offset). A border has its plane through b. */
typedef struct bd_points {
    size_t count, capacity;
    float *b;       /* d each */
    double *u;      /* d each, of unit length */
    double *slope;  /* |grad r| */
    double *offset; /* -u.b for a border */
} bd_points;

void bd_points_free(const limn_allocator *mem, bd_points *points);
/* Adds a point at b with the plane steep (direction.x + *offset), through b if offset is NULL;
 * nothing where the direction is 0 or not finite. */
limn_status bd_points_add(limn_context *ctx, size_t d, const float *b, const double *direction,
                          double steep, const double *offset, bd_points *points);
limn_status bd_points_copy(limn_context *ctx, size_t d, const bd_points *from, bd_points *to);
/* The last point takes the place of point i. */
void bd_points_drop(size_t d, bd_points *points, size_t i);

static inline double bd_decide(const bd_points *p, size_t d, size_t i, const float *x) {
    double sum = p->offset[i];
    for (size_t j = 0; j < d; j++)
        sum += p->u[i * d + j] * (double)x[j];
    return p->slope[i] * sum;
}

typedef struct bd_line {
    const float *above, *below; /* f is above the level at the first end, not at the second */
} bd_line;

/* Rows of the data between which lines are drawn: those of each class on each side. */
typedef struct bd_ends {
    const float *x; /* rows of d */
    size_t d;
    const uint32_t *row[2][2]; /* [class][side]: side 0 is f above the level */
    size_t count[2][2];
} bd_ends;

/* A search for points on the border of one pair. */
typedef struct bd_search {
    const lm_field *field;
    double level; /* of f on the border */
    bd_ends ends;
    uint64_t seed;
    uint64_t drawn; /* random lines used so far: none is used twice */
    bd_news *news;
} bd_search;

/* Adds the points where n lines cross the border; place (n, or NULL): the point of each line, -1
 * for a line that gives none. */
limn_status bd_roots(limn_context *ctx, const bd_search *search, const bd_line *lines, size_t n,
                     bd_points *points, int32_t *place);

/* ---- sample.c: random lines ---- */

/* Lines between the ends that cross the border. */
uint64_t bd_line_count(const bd_ends *ends);
bd_line bd_random_line(const bd_search *search, uint64_t index);
/* Adds points until there are `wanted`, or until all lines have been used. */
limn_status bd_draw(limn_context *ctx, bd_search *search, size_t wanted, bd_points *points);

/* ---- pools.c: what is learned from, and what it is judged by ---- */

/* Points that the teacher has answered: rows of the pair, and points sampled around them. */
typedef struct bd_pool {
    size_t n, d;
    size_t rows, firsts; /* the rows come first, those of the first class before the others */
    float *x;            /* n x d */
    double *f;           /* n, less the level */
    double *weight;      /* n */
    lm_pack pack;        /* x */
    const lm_pool_features *features;
} bd_pool;

/* What the teacher said of the points of a pool: f of n - rows. */
typedef struct bd_answers {
    size_t n, rows;
    double *f; /* NULL: nothing is kept */
} bd_answers;

/* The training set by class, in a seeded order; of each class, the last rows are held out. */
typedef struct bd_rows {
    const lm_train_set *set;
    uint32_t *row; /* by class */
    size_t *start; /* classes + 1 */
    lm_pool_features features;
    double *answers;   /* n x width: what a teacher without fields says of every row; or NULL */
    bd_answers *pools; /* of each pair, and of its rows held out; NULL: a single model is trained */
    size_t pool_count;
} bd_rows;

/* How many are held out; all rows of a small class are both held out and learned from. */
size_t bd_held_rows(const bd_rows *rows, size_t class);
enum { BD_NO_POINTS = 1 };

/* The rows of a pair, those held out or the others, with f, and room for points around them.
 * wanted: rows and points together; 0: as the rows and the teacher call for; BD_NO_POINTS: rows
 * only. */
limn_status bd_pool_take(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                         size_t wanted, const lm_field *field, bd_pool *pool);
/* Takes the level from f, and adds the points, weights and the pack; done: how much of the pair is
 * done after that. What the teacher said before of the same points is not asked again. */
limn_status bd_pool_fill(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                         const bd_search *search, double done, bd_pool *pool);
void bd_pool_free(const limn_allocator *mem, bd_pool *pool);

/* ---- project.c, adapt.c: borders where they mend mistakes ---- */

enum { BD_PROJECTED = 16, BD_NOT_TRIED = -2, BD_NO_FOOT = -1 };

/* A quarter of the mean distance of two points. */
double bd_pool_step(const bd_pool *pool, uint64_t seed);
/* From a point of the pool to the nearest one on the other side, of which there must be one;
 * distance: room for all places of the pack. */
bd_line bd_nearest_line(const bd_pool *pool, size_t row, float *distance);
/* Adds the feet of count <= BD_PROJECTED points on the border, reached in steps of at most `most`;
 * foot[row] says which is whose, or BD_NO_FOOT. */
limn_status bd_project(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                       const uint32_t *row, size_t count, double most, float *distance,
                       bd_points *feet, int32_t *foot);

typedef struct bd_adapting bd_adapting;

/* Borrows everything. points must be empty; free with bd_adapt_end. */
limn_status bd_adapt_begin(limn_context *ctx, bd_search *search, const bd_pool *pool, size_t most,
                           bd_points *points, bd_adapting **out);
/* Up to `wanted` <= most points, at least as good for the pool as those before. */
limn_status bd_adapt_to(bd_adapting *adapting, size_t wanted);
void bd_adapt_end(bd_adapting *adapting);

/* ---- form.c: planes ---- */

/* plane (d + 1 numbers, of standardised features): the least squares plane of the pool. */
limn_status bd_plane_fit(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                         double *plane);
/* That plane (cells = 0), or one for each of about so many cells. None where the pool does not
 * define one. */
limn_status bd_planes(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                      const double *plane, size_t cells, bd_points *points);

/* ---- pair.c: how one pair is decided ---- */

typedef struct bd_options {
    size_t borders; /* per pair; 0: auto */
    bool random;    /* lines between random rows only */
    size_t pool;    /* points per pair; 0: auto */
    bd_form form;
    bd_multi multi;
    double threshold;
    bool calibrate;
    uint64_t stream;
} bd_options;

typedef struct bd_pair {
    bd_points points;
    bd_form form; /* BD_AUTO: a constant */
    double constant, a;
    size_t held, agreed; /* rows held out, and those where the teacher agrees */
    bool fitted;
    double asked;
} bd_pair;

limn_status bd_pair_make(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                         size_t first, size_t second, bd_news *news, bd_pair *pair);

/* ---- shared.c: what models of one teacher share ---- */

typedef struct bd_shared bd_shared;

/* That of the set, or a new one. Free with bd_unshare what is not the set's. */
limn_status bd_shared_find(limn_context *ctx, const lm_train_set *set, bd_shared **out);
/* Borrowed. */
const bd_rows *bd_shared_rows(const bd_shared *shared);
/* The borders of all pairs, borrowed until the next call. */
limn_status bd_shared_draw(limn_context *ctx, bd_shared *shared, const lm_train_set *set,
                           const bd_options *options, const bd_pair **pairs);
/* What the teacher said of the points of this pool, if it is known; to be kept, if there is room.
 * Two threads may not do this for one pair. */
bool bd_answers_recall(const bd_rows *rows, const size_t pair[2], bool held, const bd_pool *pool,
                       double *f);
void bd_answers_keep(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                     const bd_pool *pool, const double *f);

/* ---- train.c ---- */

limn_status bd_draw_pairs(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                          bd_pair *pairs);

/* ---- multi.c: the decision graph ---- */

/* Sets m->first and m->longest: in a decision graph every pair begins a panel. */
limn_status bd_find_places(limn_context *ctx, bd_model *m);
/* Whether the classes are found by the decision graph, as asked for or by rows held out; sets
 * m->visited. */
limn_status bd_judge_multi(limn_context *ctx, const bd_rows *rows, bd_multi multi, bd_model *m,
                           bool *dag);

/* The graph: of the classes that are left, the first and the last are compared, and one goes. */
typedef struct bd_descent {
    size_t low, high; /* the classes left; equal: the answer */
} bd_descent;

static inline bd_descent bd_descent_begin(size_t classes) {
    return (bd_descent){0, classes - 1};
}
/* Takes g of the pair (low, high); returns the class that goes. */
static inline size_t bd_descend(bd_descent *at, double g) {
    return g > 0 ? at->high-- : at->low++;
}

void bd_unshare(const limn_allocator *mem, void *shared);
bool bd_candidate(const lm_shape *shape, size_t index, lm_candidate *out);
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
void bd_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);

/* Pairs of k classes. */
static inline size_t bd_pair_count(size_t k) {
    return k * (k - 1) / 2;
}
/* Vectors of a pair. */
static inline size_t bd_count(const bd_model *m, size_t pair) {
    return m->start[pair + 1] - m->start[pair];
}
/* Vectors touched to decide a pair: all, and the normal of one; a single one is not searched
 * for. */
static inline size_t bd_pair_touched(const bd_model *m, size_t pair) {
    size_t count = bd_count(m, pair);
    return count > 1 ? count + 1 : count;
}
/* Floats of a padded query. */
static inline size_t bd_stride(size_t d) {
    return (d + 1 + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

#endif
