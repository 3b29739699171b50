/* nearest.c: exact neighbours from an inexact scan.
 *
 * A float scan of the packed set gives a value a_i for each row, whose distance from the true key
 * t_i (squared l2, l1 or cosine distance) is bounded. Rows with a_i <= bound become candidates,
 * each with an upper bound u_i of its key. The k smallest u are kept in a heap: the largest of them
 * bounds the k-th true key from above, and bound is the largest value that a row with such a key
 * could have. Candidates that leave the heap are kept after it in the buffer while they are within
 * the bound. The candidates left at the end, mostly k rows and their near-ties, are measured again
 * in double and ordered by (t, row). So the answer is exact: the bound never excludes a row that
 * belongs to it. If near-ties fill the buffer, they are measured at that point.
 *
 *   direct form    sum of differences: a = t (1 + e), |e| <= (d + 2) u, u = 2^-24; the code takes
 *                  (d + 4) u, which covers the rounding of the bound too
 *   expanded form  |b|^2 - 2 x.b (many queries at once, one multiply-add per feature):
 *                  |a + |x|^2 - t| <= (d + 8) u (|x| + |b|)^2
 *   cosine         |a - t| <= (2 d + 16) u
 *
 * Where values are too large or too small for these bounds (norms near the ends of float's range),
 * the direct form is used, and for cosine every row is a candidate. A query whose bound is too
 * loose to exclude much (features with a large common offset) switches to the direct form. */
#include "num/nearest.h"

#include <float.h>
#include <math.h>

#define UNIT 0x1p-24

enum {
    SINGLE_PANELS = 64,       /* panels scanned before the candidates are updated, one query */
    BATCH_FROM = 4,           /* below this many queries at once the direct form is as fast */
    BATCH_FLOATS = 1 << 15,   /* results of a block of queries that are processed together */
    MOST_CANDIDATES = 1 << 18 /* of all queries at once, unless one alone has more */
};

typedef struct search {
    const lm_nearest_set *set;
    const float *x;
    double x_norm; /* squared */
    size_t k, capacity;
    size_t exclude;   /* the row that must not be a candidate */
    size_t count;     /* candidates */
    size_t settled;   /* rows measured in double before the end */
    double error;     /* of a value: absolute in the expanded form and cosine, else relative */
    lm_ranked *items; /* keys are upper bounds of the true ones */
    float bound;
    bool expanded; /* values come from the expanded form */
    bool blind;    /* values mean nothing: every row is a candidate */
} search;

typedef struct layout {
    search *searches;
    lm_nearest_found *found;
    lm_ranked *items;
    float *values;
    uint32_t *index;
    size_t capacity; /* candidates per query */
} layout;

void lm_nearest_prepare(lm_nearest_set *set) {
    set->min_norm = set->max_norm = 0;
    if (set->metric == LM_NEAREST_L1)
        return;
    for (size_t i = 0; i < set->pack.n; i++) {
        double norm = set->norms[i];
        if (norm > set->max_norm)
            set->max_norm = norm;
        if (norm > 0 && (norm < set->min_norm || set->min_norm == 0))
            set->min_norm = norm;
    }
}

/* ---- scratch ---- */

static size_t candidate_capacity(size_t k) {
    return k < SIZE_MAX / 4 ? 2 * k + 32 : SIZE_MAX;
}

/* The candidates of all queries at once. */
static size_t group_candidates(size_t rows, size_t capacity) {
    size_t most = capacity > MOST_CANDIDATES ? capacity : MOST_CANDIDATES, count;
    if (!lm_mul(rows, capacity, &count))
        return SIZE_MAX;
    return count < most ? count : most;
}

/* Each part grows with rows and with k, so scratch for the largest k and the most rows fits all
 * others. */
static layout lay_out(size_t rows, size_t k, lm_cursor *at) {
    size_t values = SINGLE_PANELS * LM_PANEL, index = values;
    layout l = {.capacity = candidate_capacity(k)};
    if (rows >= BATCH_FROM) {
        values = rows < SIZE_MAX / LM_PANEL ? rows * LM_PANEL : SIZE_MAX;
        values = values > BATCH_FLOATS ? values : BATCH_FLOATS;
        index = BATCH_FLOATS / BATCH_FROM; /* one query's part of a block */
    }
    l.searches = lm_take(at, rows, sizeof *l.searches);
    l.found = lm_take(at, rows, sizeof *l.found);
    l.items = lm_take(at, group_candidates(rows, l.capacity), sizeof *l.items);
    l.values = lm_take(at, values, sizeof *l.values);
    l.index = lm_take(at, index, sizeof *l.index);
    return l;
}

bool lm_nearest_scratch(size_t rows, size_t k, size_t *bytes) {
    lm_cursor at = lm_cursor_at(NULL);
    (void)lay_out(rows, k, &at);
    return lm_measured(&at, bytes);
}

/* ---- exact keys ---- */

static double exact_key(const search *s, size_t row) {
    const lm_pack *pack = &s->set->pack;
    const float *b = pack->data + (row / LM_PANEL) * pack->d * LM_PANEL + row % LM_PANEL;
    double sum = 0, norm = 0;
    switch (s->set->metric) {
    case LM_NEAREST_L2:
        for (size_t j = 0; j < pack->d; j++) {
            double difference = (double)s->x[j] - (double)b[j * LM_PANEL];
            sum += difference * difference;
        }
        return sum;
    case LM_NEAREST_L1:
        for (size_t j = 0; j < pack->d; j++)
            sum += fabs((double)s->x[j] - (double)b[j * LM_PANEL]);
        return sum;
    case LM_NEAREST_COSINE:
        for (size_t j = 0; j < pack->d; j++) {
            double value = b[j * LM_PANEL];
            sum += (double)s->x[j] * value;
            norm += value * value;
        }
        break;
    }
    if (norm == 0 || s->x_norm == 0)
        return 1;
    double distance = 1 - sum / sqrt(norm * s->x_norm); /* exactly 0 for equal rows */
    return distance > 0 ? distance : 0;
}

/* ---- bounds ---- */

/* A float not below value, without a library call. */
static float round_up(double value) {
    if (!(value < (double)FLT_MAX / 2))
        return INFINITY;
    float near = (float)value;
    return near + fabsf(near) * 0x1p-22f + FLT_MIN;
}

static bool error_is_relative(const search *s) {
    return !s->expanded && s->set->metric != LM_NEAREST_COSINE;
}

static void set_error(search *s) {
    double d = (double)s->set->pack.d;
    if (s->set->metric == LM_NEAREST_COSINE) {
        s->error = (2 * d + 16) * UNIT;
    } else if (s->expanded) {
        double reach = sqrt(s->x_norm) + sqrt(s->set->max_norm);
        s->error = (d + 8) * UNIT * reach * reach;
    } else {
        s->error = (d + 4) * UNIT;
        s->blind = s->blind || s->error > 0.5;
    }
}

/* Covers squares that underflow to 0. */
static double underflow(const search *s) {
    return (double)s->set->pack.d * (double)FLT_MIN;
}

/* The largest value that the scan can give to a row whose true key is at most key. */
static float bound_for(const search *s, double key) {
    if (s->blind)
        return INFINITY;
    if (error_is_relative(s))
        return round_up(key * (1 + s->error) + underflow(s));
    return round_up(key - (s->expanded ? s->x_norm : 0) + s->error);
}

/* The largest true key that a row with this scan value can have. */
static double key_below(const search *s, float value) {
    if (s->blind)
        return INFINITY;
    if (error_is_relative(s))
        return (double)value / (1 - s->error) + underflow(s);
    return (double)value + (s->expanded ? s->x_norm : 0) + s->error;
}

static bool in_float_range(double norm) {
    return norm == 0 || (norm > 1e-25 && norm < 1e35);
}

static void search_begin(search *s, const lm_nearest_set *set, const float *x, size_t k, bool batch,
                         lm_ranked *items, size_t capacity) {
    double norm = 0;
    if (set->metric != LM_NEAREST_L1)
        for (size_t j = 0; j < set->pack.d; j++)
            norm += (double)x[j] * (double)x[j];
    bool safe = in_float_range(norm) && in_float_range(set->max_norm);
    if (set->metric == LM_NEAREST_COSINE)
        safe = safe && in_float_range(set->min_norm);
    *s = (search){.set = set,
                  .x = x,
                  .x_norm = norm,
                  .k = k,
                  .capacity = capacity,
                  .exclude = SIZE_MAX,
                  .items = items,
                  .bound = INFINITY,
                  .expanded = batch && safe && set->metric == LM_NEAREST_L2,
                  .blind = !safe && set->metric == LM_NEAREST_COSINE};
    set_error(s);
}

/* ---- candidates ---- */

/* Measures all candidates in double and keeps the k best, in order. */
static void settle(search *s) {
    for (size_t i = 0; i < s->count; i++)
        s->items[i].key = exact_key(s, (size_t)s->items[i].row);
    size_t keep = s->count < s->k ? s->count : s->k;
    lm_ranked_first(s->items, s->count, keep);
    s->count = keep;
}

/* The same before the end of the scan: items become the heap again. */
static void settle_early(search *s) {
    s->settled += s->count;
    settle(s);
    lm_heap_make(s->items, s->k);
    s->bound = bound_for(s, s->items[0].key);
}

/* Drops the candidates after the heap that are now beyond the bound. */
static void make_room(search *s) {
    double limit = key_below(s, s->bound);
    size_t keep = s->k;
    for (size_t i = s->k; i < s->count; i++)
        if (s->items[i].key <= limit)
            s->items[keep++] = s->items[i];
    s->count = keep;
    if (keep > s->k + (s->capacity - s->k) / 2)
        settle_early(s);
}

static void add(search *s, lm_ranked item) {
    if (s->count >= s->k) {
        if (s->count == s->capacity)
            make_room(s);
        lm_ranked last = s->items[0];
        if (lm_ranked_before(item, last)) {
            lm_heap_replace(s->items, s->k, item);
            s->bound = bound_for(s, s->items[0].key);
            item = last;
        }
    }
    s->items[s->count++] = item;
    if (s->count == s->k) {
        lm_heap_make(s->items, s->k);
        s->bound = bound_for(s, s->items[0].key);
    }
}

/* Adds those of the n rows from first on that are within the bound. */
static void absorb_some(search *s, const float *values, size_t first, size_t n, uint32_t *index) {
    const float *norms = s->expanded ? s->set->norms + first : NULL;
    size_t found = s->blind ? n
                   : norms  ? lm_below_expanded(values, norms, n, s->bound, index)
                            : lm_below(values, n, s->bound, index);
    for (size_t i = 0; i < found; i++) {
        size_t place = s->blind ? i : index[i];
        float value = s->blind ? 0 : norms ? norms[place] - 2 * values[place] : values[place];
        if (value <= s->bound /* which may have moved since */ && first + place != s->exclude)
            add(s, (lm_ranked){key_below(s, value), first + place});
    }
}

/* The first rows are taken a few at a time: there is no bound yet, so all of them are
 * candidates. */
static void absorb(search *s, const float *values, size_t first, size_t n, uint32_t *index) {
    size_t few = s->k < LM_PANEL ? LM_PANEL : s->k;
    for (; s->bound == INFINITY && n > few; first += few, values += few, n -= few)
        absorb_some(s, values, first, few, index);
    absorb_some(s, values, first, n, index);
}

/* ---- scans ---- */

static lm_metric scan_metric(const lm_nearest_set *set) {
    return set->metric == LM_NEAREST_L2 ? LM_L2 : set->metric == LM_NEAREST_L1 ? LM_L1 : LM_DOT;
}

static size_t rows_in(const lm_pack *pack, size_t first_panel, size_t panels) {
    size_t first = first_panel * LM_PANEL, rows = panels * LM_PANEL;
    return pack->n - first < rows ? pack->n - first : rows;
}

/* The panels first .. first+count-1 for one query, in the direct form. */
static void scan_direct(search *s, size_t first, size_t count, float *values, uint32_t *index) {
    const lm_nearest_set *set = s->set;
    size_t row = first * LM_PANEL, n = rows_in(&set->pack, first, count);
    if (!s->blind)
        lm_pack_query(&set->pack, scan_metric(set), first, count, s->x, values);
    if (!s->blind && set->metric == LM_NEAREST_COSINE)
        lm_cosine(values, n, set->norms + row, (float)s->x_norm);
    absorb(s, values, row, n, index);
}

static void scan_one(search *s, float *values, uint32_t *index) {
    const lm_pack *pack = &s->set->pack;
    for (size_t first = 0; first < pack->panels; first += SINGLE_PANELS) {
        size_t left = pack->panels - first;
        scan_direct(s, first, left < SINGLE_PANELS ? left : SINGLE_PANELS, values, index);
    }
    settle(s);
}

/* Switches to the direct form when the expanded form excludes too little. Settles first: the old
 * upper bounds do not hold for the new error. */
static void watch(search *s) {
    if (s->expanded && s->settled > 8 * s->capacity) {
        s->expanded = false;
        set_error(s);
        settle_early(s);
    }
}

/* One query's row of a block of results. */
static void absorb_block_row(search *s, float *values, size_t first, size_t count,
                             uint32_t *index) {
    const lm_nearest_set *set = s->set;
    size_t row = first * LM_PANEL, n = rows_in(&set->pack, first, count);
    if (set->metric == LM_NEAREST_L2 && !s->expanded) {
        scan_direct(s, first, count, values, index);
        return;
    }
    if (set->metric == LM_NEAREST_COSINE && !s->blind)
        lm_cosine(values, n, set->norms + row, (float)s->x_norm);
    absorb(s, values, row, n, index);
    watch(s);
}

static void scan_many(layout *l, const lm_nearest_set *set, const float *x, size_t n) {
    const lm_pack *pack = &set->pack;
    lm_metric metric = set->metric == LM_NEAREST_L1 ? LM_L1 : LM_DOT;
    size_t panels = BATCH_FLOATS / (n * LM_PANEL);
    panels = panels ? panels : 1;
    for (size_t first = 0; first < pack->panels; first += panels) {
        size_t left = pack->panels - first, count = left < panels ? left : panels;
        size_t stride = count * LM_PANEL;
        lm_pack_block(pack, metric, first, count, x, pack->d, n, l->values, stride);
        for (size_t q = 0; q < n; q++)
            absorb_block_row(&l->searches[q], l->values + q * stride, first, count, l->index);
    }
    for (size_t q = 0; q < n; q++)
        settle(&l->searches[q]);
}

/* ---- searches ---- */

static size_t clip(const lm_nearest_set *set, size_t k) {
    return k < set->pack.n ? k : set->pack.n;
}

static lm_nearest_found found_by(const search *s) {
    return (lm_nearest_found){s->items, s->count};
}

size_t lm_nearest_many(const lm_nearest_set *set, const float *x, size_t n, size_t k, void *scratch,
                       const lm_nearest_found **found) {
    lm_cursor at = lm_cursor_at(scratch);
    k = clip(set, k);
    size_t capacity = candidate_capacity(k);
    size_t group = capacity < MOST_CANDIDATES ? MOST_CANDIDATES / capacity : 1;
    n = n < group ? n : group;
    layout l = lay_out(n, k, &at);
    bool batch = n >= BATCH_FROM;
    for (size_t q = 0; q < n; q++)
        search_begin(&l.searches[q], set, x + q * set->pack.d, k, batch, l.items + q * capacity,
                     capacity);
    if (k && batch)
        scan_many(&l, set, x, n);
    else
        for (size_t q = 0; k && q < n; q++)
            scan_one(&l.searches[q], l.values, l.index);
    for (size_t q = 0; q < n; q++)
        l.found[q] = found_by(&l.searches[q]);
    *found = l.found;
    return n;
}

lm_nearest_found lm_nearest_one(const lm_nearest_set *set, const float *x, size_t k, size_t exclude,
                                void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    k = clip(set, k);
    layout l = lay_out(1, k, &at);
    search_begin(l.searches, set, x, k, false, l.items, l.capacity);
    l.searches->exclude = exclude;
    if (k)
        scan_one(l.searches, l.values, l.index);
    return found_by(l.searches);
}
