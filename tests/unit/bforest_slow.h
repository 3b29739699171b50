/* bforest_slow.h: the boundary forest by its definition in plain loops, for test_bforest.c:
 * lists of children, points found by looking at all of them, every distance computed anew.
 *
 * Random choices are drawn as the library draws them (the hash for each choice is part of the
 * definition); everything else is decided here. */
#ifndef LIMN_TESTS_BFOREST_SLOW_H
#define LIMN_TESTS_BFOREST_SLOW_H

#include "bforest_world.h"

typedef struct slow_point {
    float x[8];
    int32_t label;
    double value;
    uint64_t id;
    bool live; /* otherwise it was forgotten or dropped */
} slow_point;

typedef struct slow_node {
    int point, count, *child;
} slow_node;

typedef struct slow_tree {
    int count;
    slow_node *node;
    uint64_t epoch, step;
} slow_tree;

/* The refresh in slices. Which slot of its store a point is in is the library's choice: ids holds
 * what is in each slot, UINT64_MAX if it is not live. */
typedef struct slow_growing {
    bool on;
    size_t number;
    uint64_t start, quota;
    size_t slots, done;
    uint64_t *ids, *late;
    size_t late_count;
    slow_tree tree;
} slow_growing;

typedef struct slow_forest {
    bool regress, paper, l1, refresh, fixed_eps, all;
    size_t d, classes, trees, children; /* children 0: any number */
    double rho, alpha, eps;
    uint64_t warmup, max_points, seed, seen, built;
    int points;
    slow_point *point;
    slow_tree *tree;
    slow_growing growing;
    const bf_model *model; /* tells the slots */
} slow_forest;

/* ---- the random choices ---- */

static uint64_t slow_draw(const slow_forest *f, uint64_t what, uint64_t tree, uint64_t epoch,
                          uint64_t id) {
    return lm_hash(lm_hash(f->seed, lm_stream_of("bforest"), what), lm_hash(tree, epoch, 0), id);
}

static bool slow_samples(const slow_forest *f, uint64_t tree, uint64_t epoch, uint64_t id) {
    return ldexp((double)(slow_draw(f, BF_SAMPLE, tree, epoch, id) >> 11), -53) < f->rho;
}

/* ---- distances ---- */

/* Squared for l2; rounded to 22 significant bits. */
static double slow_distance(const slow_forest *f, const float *a, const float *b) {
    double sum = 0;
    int exponent;
    for (size_t j = 0; j < f->d; j++) {
        double difference = (double)a[j] - (double)b[j];
        sum += f->l1 ? fabs(difference) : difference * difference;
    }
    double part = frexp(sum, &exponent);
    return ldexp(floor(ldexp(part, 22) + 0.5), exponent - 22);
}

/* Whether point a at distance da comes before b at db. */
static bool slow_before(const slow_forest *f, uint64_t tree, double da, int a, double db, int b) {
    uint64_t ia = f->point[a].id, ib = f->point[b].id;
    if (da != db)
        return da < db;
    if (da == 0)
        return ia > ib;
    return slow_draw(f, BF_TIES, tree, 0, ia) < slow_draw(f, BF_TIES, tree, 0, ib);
}

/* ---- one tree ---- */

/* The node where a descent ends, -1 in an empty tree; *voter: the last live point passed, or -1. */
static int slow_walk(const slow_forest *f, const slow_tree *t, size_t tree, const float *x,
                     int *voter) {
    int v = 0;
    *voter = -1;
    if (!t->count)
        return -1;
    for (;;) {
        const slow_node *node = &t->node[v];
        bool full = f->children && (size_t)node->count >= f->children;
        int best = full ? -1 : v;
        if (f->point[node->point].live)
            *voter = node->point;
        for (int i = 0; i < node->count; i++) {
            int c = node->child[i], p = t->node[c].point;
            if (best < 0 || slow_before(f, tree, slow_distance(f, x, f->point[p].x), p,
                                        slow_distance(f, x, f->point[t->node[best].point].x),
                                        t->node[best].point))
                best = c;
        }
        if (best == v)
            return v;
        v = best;
    }
}

static int slow_descend(const slow_forest *f, size_t tree, const float *x, int *voter) {
    return slow_walk(f, &f->tree[tree], tree, x, voter);
}

static bool slow_unlike(const slow_forest *f, const slow_tree *t, int end, int32_t label,
                        double value) {
    if (end < 0)
        return true;
    const slow_point *p = &f->point[t->node[end].point];
    return !p->live || (f->regress ? fabs(p->value - value) > f->eps : p->label != label);
}

static bool slow_differs(const slow_forest *f, size_t tree, int end, int32_t label, double value) {
    return slow_unlike(f, &f->tree[tree], end, label, value);
}

static void slow_add(slow_tree *t, int end, int point) {
    t->node = realloc(t->node, (size_t)(t->count + 1) * sizeof *t->node);
    t->node[t->count] = (slow_node){.point = point};
    if (end >= 0) {
        slow_node *parent = &t->node[end];
        parent->child = realloc(parent->child, (size_t)(parent->count + 1) * sizeof(int));
        parent->child[parent->count++] = t->count;
    }
    t->count++;
}

static void slow_append(slow_forest *f, size_t tree, int end, int point) {
    slow_add(&f->tree[tree], end, point);
}

/* A tree learns a point. */
static void slow_teach(const slow_forest *f, slow_tree *t, size_t number, int point) {
    const slow_point *p = &f->point[point];
    int voter, end = slow_walk(f, t, number, p->x, &voter);
    if (slow_unlike(f, t, end, p->label, p->value))
        slow_add(t, end, point);
}

static void slow_empty(slow_tree *t) {
    for (int i = 0; i < t->count; i++)
        free(t->node[i].child);
    free(t->node);
    t->node = NULL;
    t->count = 0;
}

/* ---- answers ---- */

typedef struct slow_answer {
    int voters;
    bool exact;
    double votes[16], sum, values; /* for values: their weighted sum */
} slow_answer;

static void slow_vote(const slow_forest *f, slow_answer *a, int point, double distance) {
    double weight = distance == 0 ? 1 : 1 / (f->l1 ? distance : sqrt(distance));
    if (distance == 0 && !a->exact)
        *a = (slow_answer){.exact = true, .voters = a->voters};
    if (distance != 0 && a->exact)
        return;
    a->voters++;
    a->sum += weight;
    a->values += weight * f->point[point].value;
    if (!f->regress)
        a->votes[f->point[point].label] += weight;
}

static bool slow_stops(const slow_forest *f, const slow_answer *a, size_t asked) {
    double top = 0, second = 0;
    for (size_t c = 0; c < f->classes; c++)
        if (a->votes[c] > top) {
            second = top;
            top = a->votes[c];
        } else if (a->votes[c] > second) {
            second = a->votes[c];
        }
    return a->exact ||
           top - second > f->alpha * (double)(f->trees - asked) * (a->sum / (double)asked);
}

/* The newest live point equal to x, if the forest looks for such points. */
static int slow_same(const slow_forest *f, const float *x) {
    int best = -1;
    for (int i = 0; i < f->points && !f->paper; i++) {
        bool same = f->point[i].live;
        for (size_t j = 0; j < f->d && same; j++)
            same = f->point[i].x[j] == x[j];
        if (same && (best < 0 || f->point[i].id > f->point[best].id))
            best = i;
    }
    return best;
}

static slow_answer slow_ask(const slow_forest *f, const float *x) {
    slow_answer a = {0};
    int voter, same = slow_same(f, x), best = -1;
    if (same >= 0) {
        slow_vote(f, &a, same, 0);
        return a;
    }
    for (size_t t = 0; t < f->trees; t++) {
        slow_descend(f, t, x, &voter);
        if (voter >= 0)
            slow_vote(f, &a, voter, slow_distance(f, x, f->point[voter].x));
        if (!f->regress && f->alpha > 0 && t % 8 == 7 && slow_stops(f, &a, t + 1))
            break;
    }
    for (int i = 0; i < f->points && !a.voters; i++)
        if (f->point[i].live &&
            (best < 0 || slow_before(f, f->trees, slow_distance(f, x, f->point[i].x), i,
                                     slow_distance(f, x, f->point[best].x), best)))
            best = i;
    if (best >= 0)
        slow_vote(f, &a, best, slow_distance(f, x, f->point[best].x));
    return a;
}

static int32_t slow_class(const slow_forest *f, const slow_answer *a) {
    int32_t best = 0;
    for (size_t c = 1; c < f->classes; c++)
        if (a->votes[c] > a->votes[best])
            best = (int32_t)c;
    return a->voters ? best : -1;
}

static bool slow_right(const slow_forest *f, const float *x, int32_t label, double value) {
    slow_answer a = slow_ask(f, x);
    if (!f->regress)
        return slow_class(f, &a) == label;
    return a.voters && fabs(a.values / a.sum - value) <= f->eps + 1e-10 * (fabs(value) + f->eps);
}

/* ---- building ---- */

/* The live points, oldest first. */
static size_t slow_living(const slow_forest *f, size_t *list) {
    size_t count = 0;
    for (int i = 0; i < f->points; i++) {
        if (!f->point[i].live)
            continue;
        size_t at = count++;
        for (; at > 0 && f->point[list[at - 1]].id > f->point[i].id; at--)
            list[at] = list[at - 1];
        list[at] = (size_t)i;
    }
    return count;
}

static void slow_build(slow_forest *f, size_t tree, bool warmup) {
    slow_tree *t = &f->tree[tree];
    size_t *all = malloc((size_t)(f->points + 1) * sizeof *all), n = slow_living(f, all);
    size_t *order = malloc((n + 1) * sizeof *order), count = 0;
    slow_empty(t);
    t->epoch += warmup ? 0 : 1;
    if (warmup && n)
        order[count++] = all[tree % n];
    for (size_t i = 0; i < n; i++)
        if ((!warmup || i != tree % n) &&
            slow_samples(f, tree, warmup ? 0 : t->epoch, f->point[all[i]].id))
            order[count++] = all[i];
    if (!count && n) { /* none: the one that comes closest to being sampled */
        order[count++] = all[0];
        for (size_t i = 1; i < n; i++)
            if (slow_draw(f, BF_SAMPLE, tree, t->epoch, f->point[all[i]].id) <
                slow_draw(f, BF_SAMPLE, tree, t->epoch, f->point[order[0]].id))
                order[0] = all[i];
    }
    lm_rng rng = lm_rng_at(slow_draw(f, warmup ? BF_WARMUP : BF_REFRESH, tree, 0, 0),
                           lm_stream_of("bforest"), warmup ? f->seen : t->epoch);
    if (count > warmup)
        lm_rng_shuffle(&rng, order + warmup, count - warmup);
    for (size_t i = 0; i < count; i++)
        slow_teach(f, t, tree, (int)order[i]);
    free(all);
    free(order);
}

static bool slow_in_a_tree(const slow_forest *f, int point) {
    for (size_t t = 0; t < f->trees; t++)
        for (int i = 0; i < f->tree[t].count; i++)
            if (f->tree[t].node[i].point == point)
                return true;
    return false;
}

static void slow_choose_eps(slow_forest *f) {
    double mean = 0, squares = 0;
    int n = 0;
    if (!f->regress || f->fixed_eps)
        return;
    for (int i = 0; i < f->points; i++)
        if (f->point[i].live) {
            mean += f->point[i].value;
            n++;
        }
    mean /= n ? n : 1;
    for (int i = 0; i < f->points; i++)
        if (f->point[i].live)
            squares += (f->point[i].value - mean) * (f->point[i].value - mean);
    f->eps = n ? 0.4 * sqrt(squares / n) : 0;
}

/* ---- the refresh of one tree ---- */

static int slow_find_id(const slow_forest *f, uint64_t id) {
    for (int i = 0; i < f->points; i++)
        if (f->point[i].live && f->point[i].id == id)
            return i;
    return -1;
}

static bool slow_holds(const slow_tree *t, int point) {
    for (int i = 0; i < t->count; i++)
        if (t->node[i].point == point)
            return true;
    return false;
}

static void slow_stop(slow_forest *f) {
    slow_growing *g = &f->growing;
    slow_empty(&g->tree);
    free(g->ids);
    free(g->late);
    *g = (slow_growing){.on = false};
}

/* Looks at points up to number `to`. */
static void slow_look(slow_forest *f, size_t to) {
    slow_growing *g = &f->growing;
    uint64_t epoch = f->tree[g->number].epoch + 1;
    for (; g->done < to; g->done++) {
        bool late = g->done >= g->slots;
        uint64_t id = late ? g->late[g->done - g->slots]
                           : g->ids[bf_shuffled(f->model, g->number, epoch, g->done, g->slots)];
        int point = slow_find_id(f, id);
        if (point >= 0 && slow_samples(f, g->number, late ? 0 : epoch, id) &&
            !(late && slow_holds(&g->tree, point)))
            slow_teach(f, &g->tree, g->number, point);
    }
}

static void slow_share(slow_forest *f) {
    slow_growing *g = &f->growing;
    size_t all = g->slots + g->late_count, share = (size_t)(g->quota * (f->seen - g->start));
    if (g->on)
        slow_look(f, share < all ? share : all);
}

static void slow_late(slow_forest *f, uint64_t id) {
    slow_growing *g = &f->growing;
    if (!g->on)
        return;
    g->late = realloc(g->late, (g->late_count + 1) * sizeof *g->late);
    g->late[g->late_count++] = id;
}

static bool slow_replace(slow_forest *f) {
    slow_growing *g = &f->growing;
    if (!g->on)
        return false;
    slow_tree *t = &f->tree[g->number];
    slow_look(f, g->slots + g->late_count);
    if (!g->tree.count) { /* none: the one that comes closest to being sampled */
        int best = -1;
        for (int i = 0; i < f->points; i++)
            if (f->point[i].live &&
                (best < 0 ||
                 slow_draw(f, BF_SAMPLE, g->number, t->epoch + 1, f->point[i].id) <
                     slow_draw(f, BF_SAMPLE, g->number, t->epoch + 1, f->point[best].id)))
                best = i;
        if (best >= 0)
            slow_teach(f, &g->tree, g->number, best);
    }
    slow_empty(t);
    t->node = g->tree.node;
    t->count = g->tree.count;
    t->epoch++;
    g->tree = (slow_tree){.count = 0};
    slow_stop(f);
    return true;
}

static void slow_begin_growing(slow_forest *f, size_t tree) {
    slow_growing *g = &f->growing;
    const bf_store *s = &f->model->store;
    *g = (slow_growing){.on = true, .number = tree, .start = f->seen};
    g->slots = f->model->growing.slots;
    g->ids = malloc((g->slots + 1) * sizeof *g->ids);
    for (size_t i = 0; i < g->slots; i++)
        g->ids[i] = s->state[i] == BF_LIVE ? s->id[i] : UINT64_MAX;
}

static double slow_threshold(const slow_forest *f, size_t t) {
    return 100 * pow(2, (double)f->tree[t].step + (double)t / (double)f->trees);
}

static bool slow_refresh(slow_forest *f) {
    bool changed = false, begun = false;
    double next = INFINITY;
    for (size_t t = 0; t < f->trees && f->refresh; t++) {
        bool due = false;
        if ((double)f->seen < slow_threshold(f, t))
            continue;
        changed = slow_replace(f) || changed;
        for (; (double)f->seen >= slow_threshold(f, t); f->tree[t].step++)
            due = due || slow_threshold(f, t) > (double)f->warmup;
        if (due)
            slow_begin_growing(f, t);
        begun = begun || due;
    }
    for (size_t t = 0; t < f->trees; t++)
        next = fmin(next, ceil(slow_threshold(f, t)));
    if (begun)
        f->growing.quota = f->growing.slots / ((uint64_t)next - f->seen) + 2;
    return changed;
}

static bool slow_trim(slow_forest *f) {
    size_t *all = malloc((size_t)(f->points + 1) * sizeof *all), n = slow_living(f, all);
    int nodes = 0, signposts = 0;
    bool changed = false;
    for (size_t i = 0; f->max_points && i + f->max_points < n; i++) {
        slow_share(f); /* of this row: it does not depend on what the row pushes out */
        f->point[all[i]].live = false;
        changed = true;
    }
    free(all);
    for (size_t t = 0; t < f->trees; t++)
        for (int i = 0; i < f->tree[t].count; i++) {
            nodes++;
            signposts += !f->point[f->tree[t].node[i].point].live;
        }
    if (signposts <= nodes / 2)
        return changed;
    slow_stop(f);
    for (size_t t = 0; t < f->trees; t++)
        slow_build(f, t, f->seen < f->warmup);
    return true;
}

/* The largest j with 2^(j/2) <= n. */
static int slow_stage(uint64_t n) {
    int j = 0;
    while (((uint64_t)1 << (j + 1)) <= n * n)
        j++;
    return n ? j : -1;
}

static bool slow_settle(slow_forest *f) {
    bool changed = slow_trim(f);
    if (f->built < f->warmup &&
        (f->seen == f->warmup || slow_stage(f->seen) != slow_stage(f->built))) {
        slow_choose_eps(f);
        slow_stop(f);
        for (size_t t = 0; t < f->trees; t++)
            slow_build(f, t, true);
        f->built = f->seen;
        changed = true;
        for (int i = 0; i < f->points && f->seen == f->warmup && !f->all; i++)
            f->point[i].live = f->point[i].live && slow_in_a_tree(f, i);
    }
    return slow_refresh(f) || changed;
}

/* ---- learning ---- */

static int slow_store(slow_forest *f, const float *x, int32_t label, double value, uint64_t id) {
    slow_point p = {.label = label, .value = value, .id = id, .live = true};
    memcpy(p.x, x, f->d * sizeof *x);
    f->point = realloc(f->point, (size_t)(f->points + 1) * sizeof *f->point);
    f->point[f->points] = p;
    slow_late(f, id);
    return f->points++;
}

/* All trees (style=paper) or the first one that differs learn the row. */
static void slow_insist(slow_forest *f, const float *x, int32_t label, double value, uint64_t id,
                        int point) {
    int voter;
    for (size_t t = 0; t < f->trees; t++) {
        int end = slow_descend(f, t, x, &voter);
        if (!slow_differs(f, t, end, label, value))
            continue;
        if (point < 0)
            point = slow_store(f, x, label, value, id);
        slow_append(f, t, end, point);
        if (!f->paper)
            return;
    }
}

static void slow_learn(slow_forest *f, const float *x, int32_t label, double value) {
    uint64_t id = f->seen;
    int same = f->all ? -1 : slow_same(f, x), stored = same, voter;
    int *ends = malloc(f->trees * sizeof *ends);
    for (size_t t = 0; t < f->trees; t++) {
        ends[t] = -2;
        if (!slow_samples(f, t, 0, id))
            continue;
        int end = slow_descend(f, t, x, &voter);
        bool itself = same >= 0 && end >= 0 && f->tree[t].node[end].point == same;
        if (!itself && slow_differs(f, t, end, label, value))
            ends[t] = end;
    }
    for (size_t t = 0; t < f->trees; t++)
        if ((ends[t] != -2 || f->seen < f->warmup || f->all) && stored < 0)
            stored = slow_store(f, x, label, value, id);
    for (size_t t = 0; t < f->trees; t++)
        if (ends[t] != -2)
            slow_append(f, t, ends[t], stored);
    free(ends);
    if (same >= 0) {
        f->point[same].label = label;
        f->point[same].value = value;
        f->point[same].id = id;
        slow_late(f, id);
    } else if (stored < 0 && !slow_right(f, x, label, value)) {
        slow_insist(f, x, label, value, id, -1);
    }
    f->seen++;
    bool changed = slow_settle(f) || (f->paper && f->rho < 1);
    for (int i = 0; i < 4 && changed && !slow_right(f, x, label, value); i++) {
        int own = -1;
        for (int k = 0; k < f->points; k++)
            if (f->point[k].live && f->point[k].id == id)
                own = k;
        slow_insist(f, x, label, value, id, own);
        slow_trim(f);
    }
    slow_share(f);
}

static void slow_forget(slow_forest *f, uint64_t id) {
    for (int i = 0; i < f->points; i++)
        if (f->point[i].id == id)
            f->point[i].live = false;
    slow_trim(f);
}

/* ---- the forest of a set of rows ---- */

typedef struct slow_key {
    uint64_t hash;
    int point;
} slow_key;

static int slow_by_hash(const void *a, const void *b) {
    const slow_key *p = a, *q = b;
    return p->hash != q->hash ? (p->hash > q->hash) - (p->hash < q->hash)
                              : (p->point > q->point) - (p->point < q->point);
}

/* Each tree learns the points that it samples, those with the smallest hash first (32 bits of it;
 * then the oldest first). */
static void slow_offline_tree(slow_forest *f, size_t tree) {
    slow_tree *t = &f->tree[tree];
    slow_key *keys = malloc((size_t)(f->points + 1) * sizeof *keys);
    int count = 0, sampled = 0;
    slow_empty(t);
    for (int i = 0; i < f->points; i++)
        if (f->point[i].live)
            keys[count++] = (slow_key){slow_draw(f, BF_SAMPLE, tree, 0, f->point[i].id) >> 32, i};
    qsort(keys, (size_t)count, sizeof *keys, slow_by_hash);
    for (int i = 0; i < count; i++)
        if (slow_samples(f, tree, 0, f->point[keys[i].point].id)) {
            slow_teach(f, t, tree, keys[i].point);
            sampled++;
        }
    if (!sampled && count)
        slow_teach(f, t, tree, keys[0].point);
    t->step = t->epoch = 0;
    for (; f->refresh && (double)f->seen >= slow_threshold(f, tree); t->step++)
        t->epoch += slow_threshold(f, tree) > (double)f->warmup;
    free(keys);
}

/* The points must be in the order of their ids. keep: also those in no tree. */
static void slow_offline(slow_forest *f, bool keep) {
    slow_stop(f);
    slow_choose_eps(f);
    for (size_t t = 0; t < f->trees; t++)
        slow_offline_tree(f, t);
    f->built = f->seen;
    for (int i = 0; i < f->points && !keep && f->seen >= f->warmup; i++)
        f->point[i].live = f->point[i].live && slow_in_a_tree(f, i);
}

/* Training: all rows at once; the last one of equal rows, unless all are kept. */
static inline void slow_train(slow_forest *f, const float *x, const int32_t *label,
                              const double *target, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int same = f->all ? -1 : slow_same(f, x + i * f->d);
        if (same >= 0)
            f->point[same].live = false;
        slow_store(f, x + i * f->d, label[i], target[i], i);
    }
    f->seen = n;
    slow_offline(f, f->all);
}

static slow_forest slow_begin(const bf_model *m) {
    slow_forest f = {.regress = m->task == LIMN_REGRESS,
                     .paper = m->style == BF_PAPER,
                     .all = m->store.all,
                     .model = m,
                     .l1 = m->metric == BF_L1,
                     .refresh = m->refresh,
                     .fixed_eps = m->fixed_eps,
                     .d = m->d,
                     .classes = m->classes,
                     .trees = m->trees,
                     .children = m->children == SIZE_MAX ? 0 : m->children,
                     .rho = m->rho,
                     .alpha = m->alpha,
                     .eps = m->fixed_eps ? m->eps : 0,
                     .warmup = m->warmup,
                     .max_points = m->max_points,
                     .seed = m->seed};
    f.tree = calloc(f.trees, sizeof *f.tree);
    return f;
}

/* That a tree has the nodes, points and children of its definition. */
static void slow_compare(const bf_model *m, const slow_forest *f, const bf_tree *tree,
                         const slow_tree *slow) {
    assert_int_equal(tree->nodes, slow->count);
    for (size_t i = 0; i < tree->nodes; i++) {
        const bf_node *node = &tree->node[i];
        const slow_point *p = &f->point[slow->node[i].point];
        assert_true(m->store.id[node->point] == p->id);
        assert_true((m->store.state[node->point] == BF_LIVE) == p->live);
        assert_memory_equal(m->store.x + node->point * m->store.stride, p->x, m->d * sizeof(float));
        if (m->task == LIMN_CLASSIFY && p->live)
            assert_int_equal(m->store.label[node->point], p->label);
        assert_int_equal(node->children, slow->node[i].count);
        for (uint32_t k = 0; k < node->children; k++)
            assert_int_equal(tree->arena[node->offset + node->capacity + k],
                             slow->node[i].child[k]);
    }
}

static void slow_end(slow_forest *f) {
    slow_stop(f);
    for (size_t t = 0; t < f->trees; t++)
        slow_empty(&f->tree[t]);
    free(f->tree);
    free(f->point);
}

#endif
