/* bforest.h: the boundary forest (C. Mathy, N. Derbinsky, J. Bento, J. Rosenthal and J. Yedidia,
 * AAAI 2015): trees whose nodes are examples. A query walks greedily to the nearest child; an
 * example is added to a tree only where the tree was wrong. Online: one row at a time, one pass.
 *
 * style=paper is the paper's forest. style=forest (the default) has less correlated trees: in a
 * warm-up each tree sees the rows in its own order, each tree learns only a share rho of the rows,
 * trees are rebuilt (refreshed) in turn, and a hash of stored points is looked up first.
 * docs/methods/bforest.md says what the paper leaves open and what is different here.
 *
 * Notation: T trees, k children at most, M rows of warm-up, n rows seen so far. A row's id is its
 * arrival number. A point is a stored row; it is live, or forgotten but still a signpost in some
 * tree, or its slot is free.
 *
 * Everything depends only on the rows in their order, the seed and the parameters, not on the
 * number of threads or on how the rows were divided into lessons. */
#ifndef LIMN_METHODS_BFOREST_BFOREST_H
#define LIMN_METHODS_BFOREST_BFOREST_H

#include "method.h"
#include "num/rows.h"

#include <string.h>

enum { BF_FILE_VERSION = 3, BF_CHUNK = 64, BF_COLUMNS = 64, BF_GROUP = 8, BF_MEASURED = 128 };
#define BF_NONE UINT32_MAX

/* In the order of the choices in the parameter table. */
typedef enum bf_style { BF_FOREST, BF_PAPER } bf_style;
typedef enum bf_metric { BF_L2, BF_L1, BF_COSINE, BF_CALLER } bf_metric;

typedef enum bf_state { BF_FREE, BF_LIVE, BF_SIGNPOST } bf_state;

/* ---- store.c: the points, shared by all trees ---- */

typedef struct bf_store {
    size_t d, stride;       /* floats per row, without and with zero padding to 64 bytes */
    size_t slots, capacity; /* in use (including free ones), and allocated */
    size_t live, signposts; /* points */
    bool values, norms;     /* which side arrays exist */
    /* Written only if owned. */
    float *x;       /* slots x stride */
    int32_t *label; /* classify; -1 unless live */
    double *value;  /* regress; 0 unless live */
    uint64_t *id;   /* 0 when free */
    double *norm;   /* cosine: sum of squares */
    uint8_t *state; /* bf_state */
    uint32_t *free; /* slots to be reused, last first */
    size_t free_count;
    bool owned;
    /* Derived. */
    uint32_t *refs;          /* per point: nodes in all trees, and 1 if held */
    uint8_t *held;           /* 1: the point is in the tree that is being refreshed */
    uint32_t *older, *newer; /* live points in the order of their ids; only if owned */
    uint32_t oldest, newest;
    bool bytes;    /* all rows are whole numbers 0..255 (and the metric can use that) */
    uint8_t *byte; /* slots x stride: the rows again; NULL unless bytes */
    bool hashed;   /* style=forest: equal rows are found ... */
    bool all;      /* ... and are kept beside each other, instead of the newest alone */
    uint32_t *hash, *same_older, *same_newer;
    uint32_t *table;
    size_t table_size; /* a power of two, or 0 */
} bf_store;

void bf_store_free(const limn_allocator *mem, bf_store *s);
/* Makes room for this many points, at least those that there are; copies a view first. False: out
 * of memory, nothing changed that can be seen. */
bool bf_store_make(const limn_allocator *mem, bf_store *s, size_t capacity);
/* The same for one more point. */
bool bf_store_reserve(const limn_allocator *mem, bf_store *s);
/* Makes what queries need besides what is in a file: refs and held (zero), bytes and the table. */
bool bf_store_derive(const limn_allocator *mem, bf_store *s);
/* Makes the table large enough for this many points. */
bool bf_store_make_table(const limn_allocator *mem, bf_store *s, size_t points);
/* The live points in the order of their ids. */
void bf_store_order(const bf_store *s, uint32_t *slots);
/* Of a padded row; -0 counts as 0. */
uint64_t bf_hash_row(const bf_store *s, const float *x);
bool bf_equal_rows(size_t d, const float *a, const float *b);
/* Adds a point into reserved room as the newest; x holds stride floats, bytes is what bf_bytes
 * returned for it, or NULL. */
uint32_t bf_store_put(bf_store *s, const float *x, const uint8_t *bytes, double norm, int32_t label,
                      double value, uint64_t id);
/* A row as bytes, in room; NULL if it is not all whole numbers 0..255, or if rows are kept only as
 * floats. */
const uint8_t *bf_bytes(const bf_store *s, const float *x, uint8_t *room);
/* A live point gets a new id, larger than all others, and becomes the newest. */
void bf_store_renew(bf_store *s, uint32_t slot, uint64_t id);
/* A live point becomes a signpost, or its slot becomes free if no node uses it. */
void bf_store_forget(bf_store *s, uint32_t slot);
/* Frees the slots of signposts that no node uses. */
void bf_store_sweep(bf_store *s);
/* One reference less; the slot of a signpost without references becomes free. */
void bf_store_release(bf_store *s, uint32_t slot);
/* The newest live point equal to x, or BF_NONE. */
uint32_t bf_store_find(const bf_store *s, const float *x);

/* ---- descend.c, tree.c ---- */

/* A child block of capacity c takes 2c entries of the arena: the children's points, then nodes. */
typedef struct bf_node {
    uint32_t point, children, capacity, offset;
} bf_node;

typedef struct bf_tree {
    size_t nodes, node_capacity;
    size_t used, arena_capacity;
    size_t depth; /* nodes on the longest path */
    bf_node *node;
    uint32_t *arena;
    uint32_t spare[30]; /* blocks that are free again: the first of each capacity */
    uint64_t epoch;     /* refreshes so far */
    uint64_t step;      /* j of the next threshold */
} bf_tree;

/* A point that was stored or renewed while a tree grew. */
typedef struct bf_late {
    uint64_t id;
    uint32_t slot, unused; /* unused: 0 */
} bf_late;

/* The refresh of one tree, in slices: it grows while the tree that it replaces still answers. */
typedef struct bf_growing {
    bool on;
    size_t number;         /* of the tree */
    uint64_t start, quota; /* n when it began; points that it looks at per row */
    size_t slots;          /* those in use when it began */
    size_t done;           /* points that it has looked at: of these slots, then late ones */
    bf_late *late;
    size_t late_count, late_room;
    bf_tree tree;
} bf_growing;

typedef struct bf_model {
    limn_task task;
    size_t d, classes;
    bf_style style;
    bf_metric metric;
    size_t trees, children; /* children: SIZE_MAX: no limit */
    double rho, alpha;      /* alpha 0: all trees vote */
    uint64_t warmup, max_points;
    bool refresh, fixed_eps;
    bool in_order; /* training is learning row by row; otherwise each tree has its own order */
    double eps;
    uint64_t seed, stream;
    uint64_t seen;           /* n */
    uint64_t built;          /* n when the trees of the warm-up were last built */
    uint64_t asked, spent;   /* queries measured and their comparisons; older ones count less */
    size_t nodes, signposts; /* in all trees; signposts: nodes of forgotten points */
    size_t node_limit;
    limn_distance *caller;
    void *caller_user;
    bf_store store;
    bf_tree *tree; /* trees */
    bool owned;    /* nodes and arenas are, those of the growing tree, too */
    bf_growing growing;
    uint64_t due; /* n at which the next tree must be refreshed */
} bf_model;

/* A query or a row to learn. */
typedef struct bf_probe {
    const float *x;       /* stride floats */
    const uint8_t *bytes; /* the same as bytes, or NULL */
    double norm;
    lm_gather *gather;
    lm_gather_bytes *gather_bytes;
    lm_keys *keys;
    uint64_t comparisons; /* so far */
    uint64_t *cache;      /* BF_CACHE known keys with their points, or NULL */
} bf_probe;

/* Where a descent ended. voter: the last live point on the path, BF_NONE if there is none. */
typedef struct bf_end {
    uint32_t node, point, voter;
    uint32_t key;   /* of voter */
    uint32_t level; /* of node, from 1 */
} bf_end;

enum { BF_CACHE = 8192 };

/* The nodes of a descent, which stays valid until one of them gets a child. */
enum { BF_LEVELS = 15 };
typedef struct bf_path {
    uint32_t count; /* above BF_LEVELS: too many to keep */
    uint32_t node[BF_LEVELS];
} bf_path;

typedef struct bf_place {
    uint32_t node, point, key;
} bf_place;

/* A descent in progress. */
typedef struct bf_walk {
    const bf_tree *tree;
    uint64_t number;
    bf_probe *probe;
    bf_place v;
    bf_end end;
    bf_path *path; /* or NULL */
} bf_walk;

typedef struct bf_span {
    uint32_t from, to;
} bf_span;

/* Many queries; all arrays but columns have one item per query. */
typedef struct bf_crowd {
    bf_probe *probe;
    bf_walk *walk;
    uint32_t *order; /* the queries that descend */
    uint32_t *sorted, *alone;
    uint16_t *choice;
    bf_span *pending;
    double *columns; /* BF_CHUNK rows side by side, or NULL: rows have too many features */
} bf_crowd;

/* The distance (squared for l2) that a key stands for. */
static inline double bf_unkey(uint32_t key) {
    uint64_t bits = (uint64_t)key << 31;
    double distance;
    memcpy(&distance, &bits, sizeof distance);
    return distance;
}

/* What random numbers are drawn for. */
enum { BF_TIES, BF_SAMPLE, BF_WARMUP, BF_REFRESH, BF_MEASURE };
/* The most rows seen and refreshes counted, in a file, too, so that no sum of them overflows. */
#define BF_COUNT_LIMIT (UINT64_C(1) << 62)

static inline uint64_t bf_next_epoch(uint64_t epoch) {
    return epoch < BF_COUNT_LIMIT ? epoch + 1 : 0;
}

static inline uint64_t bf_hash(const bf_model *m, uint64_t purpose, uint64_t tree, uint64_t epoch,
                               uint64_t id) {
    return lm_hash(lm_hash(m->seed, m->stream, purpose), lm_hash(tree, epoch, 0), id);
}

/* Whether the tree learns this row (epoch 0) or keeps this point in a refresh. */
static inline bool bf_sampled(const bf_model *m, uint64_t tree, uint64_t epoch, uint64_t id) {
    return m->rho >= 1 || (double)(bf_hash(m, BF_SAMPLE, tree, epoch, id) >> 11) * 0x1p-53 < m->rho;
}

/* x must outlive the probe and is zero-padded to the stride of the store. bytes: from bf_bytes. */
bf_probe bf_probe_make(const bf_model *m, const float *x, const uint8_t *bytes, uint64_t *cache);
bf_probe bf_probe_point(const bf_model *m, size_t point);
/* The keys of the distances to `count` points, from 1 to BF_CHUNK; returns the least, and which are
 * equal to it (lm_keys). */
uint32_t bf_distances(const bf_model *m, bf_probe *p, const uint32_t *points, size_t count,
                      uint32_t *keys, uint64_t *which);
/* The key of the distance to a point. */
uint32_t bf_distance(const bf_model *m, bf_probe *p, uint32_t point);
/* If keys tie: whether point a is preferred to b. */
bool bf_preferred(const bf_model *m, uint64_t tree, uint32_t key, uint32_t a, uint32_t b);
/* path: the nodes on the way, including the end; or NULL. */
bf_end bf_descend(const bf_model *m, const bf_tree *tree, uint64_t number, bf_probe *p,
                  bf_path *path);
/* The same in up to BF_GROUP trees at once; ends and paths (or NULL): count of each. */
void bf_descend_some(const bf_model *m, const size_t *trees, size_t count, bf_probe *p,
                     bf_end *ends, bf_path *paths);
/* The first `count` queries of c->order descend in the tree; the ends are in their walks. Changes
 * the order. */
void bf_descend_many(const bf_model *m, size_t tree, size_t count, const bf_crowd *c);
/* Finds the ends in those trees from .. to-1 that are wanted (NULL: all) and not yet known. */
void bf_find_ends(const bf_model *m, bf_probe *p, size_t from, size_t to, const bool *wanted,
                  bf_end *ends, bool *known);
void bf_tree_free(const limn_allocator *mem, bf_tree *tree);
/* Makes room for one more child of a node (BF_NONE: for the root). False: out of memory, nothing
 * changed. */
bool bf_tree_reserve(const limn_allocator *mem, bf_tree *tree, uint32_t parent);
/* Adds a node into reserved room. */
void bf_tree_append(bf_tree *tree, const bf_end *end, uint32_t point);
/* Whether a tree whose descent ended there must learn the label or value. */
bool bf_differs(const bf_model *m, const bf_end *end, int32_t label, double value);
/* Arena entries that the child blocks take without gaps. */
size_t bf_tree_places(const bf_tree *tree);
/* Makes `to` a copy of the tree in its own memory. False: out of memory, `to` is unchanged. */
bool bf_tree_assign(const limn_allocator *mem, const bf_tree *from, bf_tree *to);
void bf_tree_clear(bf_tree *tree);
/* The tree learns these points in this order. False: out of memory; it may have learned some. */
bool bf_extend(const limn_allocator *mem, const bf_model *m, uint64_t number, const size_t *points,
               size_t count, int threads, bf_tree *tree);

/* ---- ahead.c: descents for upcoming rows, by several threads ---- */

typedef struct bf_ahead {
    size_t most;           /* rows that are looked up together; 0: none */
    uint64_t first, rows;  /* ids of those that were looked up */
    float *x;              /* most x stride */
    uint8_t *room;         /* the same rows as bytes ... */
    const uint8_t **bytes; /* ... most pointers: each row's bytes, or NULL */
    bf_end *end;           /* most x trees, like the next two */
    bf_path *path;
    bool *known;
    uint32_t *grown; /* trees x most: nodes that have got a child since */
    size_t *grown_count;
    uint64_t **cache; /* per thread; NULL if distances are not kept */
    int threads;
} bf_ahead;

/* Prepares for a lesson of n rows; sets a->most to 0 if it is not worthwhile. */
bool bf_ahead_make(const limn_allocator *mem, const bf_model *m, size_t n, int threads,
                   bf_ahead *a);
void bf_ahead_free(const limn_allocator *mem, bf_ahead *a);
/* Descends for n rows (at most a->most), starting with id, in the trees that learn them or in all.
 */
void bf_ahead_look(const bf_model *m, bf_ahead *a, const float *x, size_t n, uint64_t id, bool all);
/* Whether this row was looked up; if so, *bytes is the row as bf_bytes returned it. */
bool bf_ahead_bytes(const bf_ahead *a, uint64_t id, const uint8_t **bytes);
/* The end of a descent that is still valid. */
bool bf_ahead_end(const bf_model *m, const bf_ahead *a, uint64_t id, size_t tree, bf_end *end);
/* Records that a node of the tree got a child. */
void bf_ahead_grew(bf_ahead *a, size_t tree, uint32_t node);

/* ---- query.c ---- */

typedef struct bf_vote {
    double *votes;    /* classes */
    double sum, mean; /* of the weights; weighted, of the values */
    size_t voters;
    bool exact;   /* some are at distance 0: only those count */
    bool abstain; /* ... or, when queries are measured, they do not vote */
} bf_vote;

/* Lets the forest vote. ends, known: per tree, found earlier or filled in here; or NULL. */
void bf_ask(const bf_model *m, bf_probe *p, bf_end *ends, bool *known, bf_vote *vote);
/* The comparisons of a query that is not a stored row. */
uint64_t bf_measure(const bf_model *m, bf_probe *p, bf_vote *vote);
/* The class with the most votes; -1 if there are none. */
int32_t bf_winner(const bf_model *m, const bf_vote *vote);

/* Whether known distances are kept for other trees. */
bool bf_keeps_distances(const bf_model *m);
size_t bf_batch(const void *model);
void bf_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void bf_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void bf_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void bf_values(const void *model, const float *x, size_t n, double *values, void *scratch);
void bf_stats(const void *model, lm_stats *stats);
void bf_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);

/* ---- build.c: all trees at once, and the refresh of one ---- */

/* Builds all trees of the warm-up if it is time. *changed: whether it was. */
limn_status bf_warm_up(limn_context *ctx, bf_model *m, bool *changed);
/* Builds all trees from the stored points, as in the warm-up or as their next refresh. */
limn_status bf_build_all(limn_context *ctx, bf_model *m, bool warmup);
/* Adds the nodes of a tree to the count of nodes, or subtracts them. */
void bf_count_nodes(bf_model *m, const bf_tree *tree, bool back);
/* Counts the refreshes of a tree that n rows would have brought. */
void bf_refresh_skip(bf_model *m, size_t tree);
/* Sets when the next tree is due. */
void bf_refresh_plan(bf_model *m);
/* After a row: if a tree is due, the one that was growing takes its place, and the due one begins
 * to grow. *changed: whether a tree was replaced. */
limn_status bf_refresh(limn_context *ctx, bf_model *m, bool *changed);
/* The growing tree learns the share that is due after n rows. To be called before a point is
 * renewed, dropped or stored in a slot used before, and at the end of a lesson. */
limn_status bf_refresh_catch_up(limn_context *ctx, bf_model *m);
/* Makes room for one more late point, and adds it if a tree is growing. */
bool bf_refresh_reserve(const limn_allocator *mem, bf_model *m);
void bf_refresh_late(bf_model *m, uint32_t slot);
/* Frees the growing tree of a store that goes, too. */
void bf_refresh_free(const limn_allocator *mem, bf_model *m);
/* Abandons the growing tree: the points that only it has go. */
void bf_refresh_stop(const limn_allocator *mem, bf_model *m);
/* The i-th of n points in the order in which a refresh looks at them: a permutation. */
size_t bf_shuffled(const bf_model *m, uint64_t tree, uint64_t epoch, size_t i, size_t n);
/* 0.4 of the standard deviation of these targets, in the order given. */
double bf_usual_eps(const double *value, const uint32_t *points, size_t count);

/* ---- offline.c: the forest of a set of rows ---- */

/* Rows in the order of their ids. */
typedef struct bf_rows {
    const float *x;
    size_t stride;        /* floats from row to row */
    const int32_t *label; /* classify */
    const double *value;  /* regress */
    const uint64_t *id;   /* NULL: a row's index */
    const uint32_t *list; /* indices of the rows */
    size_t count;
} bf_rows;

/* Replaces trees and points by those of the rows, depending on nothing but the rows, the
 * parameters, the seed and n. keep: stores rows that are in no tree, too. On failure nothing has
 * changed. */
limn_status bf_offline(limn_context *ctx, bf_model *m, const bf_rows *rows, bool keep);
/* Trains: all rows are there, each tree learns them in an order of its own. */
limn_status bf_train_offline(limn_context *ctx, bf_model *m, const lm_train_set *set);

/* ---- learn.c, forget.c ---- */

limn_status bf_learn(limn_context *ctx, void *model, const lm_lesson *lesson, size_t *learned);
limn_status bf_fail_nodes(limn_context *ctx, const bf_model *m);
limn_status bf_widen(limn_context *ctx, void *model, size_t classes);
/* Makes the model own its nodes and points. */
limn_status bf_own(limn_context *ctx, bf_model *m);
limn_status bf_forget(limn_context *ctx, void *model, const uint64_t *ids, size_t count,
                      uint64_t *forgotten);
limn_status bf_compact(limn_context *ctx, void *model);
/* Forgets a point; its nodes stay as signposts. */
void bf_drop(bf_model *m, uint32_t slot);
/* Forgets the oldest points beyond max_points; refreshes all trees when most nodes are signposts.
 * *changed: whether anything was done. */
limn_status bf_trim(limn_context *ctx, bf_model *m, bool *changed);

/* ---- train.c, io.c ---- */

limn_scale bf_scaling(const lm_params *params);
limn_status bf_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **model);
void bf_destroy(const limn_allocator *mem, void *model);
/* Whether rows of whole numbers 0..255 are compared as such. */
bool bf_may_use_bytes(const bf_model *m);
/* Sets what the parameters determine. */
limn_status bf_configure(limn_context *ctx, const lm_params *params, bf_model *m);
limn_status bf_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status bf_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **model);

#endif
