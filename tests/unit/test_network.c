/* Fitting networks (fit/network): gradients against finite differences, steps of Adam against plain
 * loops in double, threads, cancelling, failed allocations. Also run under TSan. */
#include "fit/network.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = LM_NETWORK_BATCH, UNITS = 64 };

/* ---- examples and networks ---- */

typedef struct kind {
    const char *name;
    size_t classes; /* 0: values */
    size_t layers;
    size_t size[LM_LAYERS_MAX + 1];
} kind;

static const kind kinds[] = {
    {"values", 0, 2, {3, 5, 1}},
    {"values, three hidden layers", 0, 4, {2, 6, 5, 4, 1}},
    {"two classes", 2, 2, {4, 6, 1}},
    {"two classes, two hidden layers", 2, 3, {3, 5, 4, 1}},
    {"three classes", 3, 2, {3, 7, 3}},
    {"five classes, two hidden layers", 5, 3, {3, 6, 5, 5}},
    {"three classes, three hidden layers", 3, 4, {2, 5, 4, 6, 3}},
    {"three classes, nothing hidden", 3, 1, {4, 3}},
    {"seventeen classes, one hidden unit", 17, 2, {2, 1, 17}},
};

typedef struct world {
    counting count;
    limn_context *ctx;
    float *x, *target;
    uint32_t *row;
    lm_examples examples;
    lm_network net;
} world;

static void draw_targets(float *target, size_t n, size_t classes, lm_rng *rng) {
    for (size_t i = 0; i < n && !classes; i++)
        target[i] = (float)lm_rng_normal(rng);
    for (size_t i = 0; i < n && classes; i++) {
        double sum = 0, p[32];
        for (size_t c = 0; c < classes; c++)
            sum += p[c] = exp(lm_rng_normal(rng));
        for (size_t c = 0; c < classes; c++)
            target[i * classes + c] = (float)(p[c] / sum);
    }
}

/* n rows, and a network with random weights and biases. */
static void world_open(world *w, const kind *k, size_t n, int threads) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, threads, 1);
    lm_rng rng = lm_rng_at(k->size[0], k->classes, k->layers);
    size_t d = k->size[0], width = k->classes ? k->classes : 1;
    w->x = malloc(n * d * sizeof *w->x);
    w->target = malloc(n * width * sizeof *w->target);
    w->row = malloc(n * sizeof *w->row);
    for (size_t i = 0; i < n * d; i++)
        w->x[i] = (float)lm_rng_normal(&rng);
    for (size_t i = 0; i < n; i++)
        w->row[i] = (uint32_t)i;
    draw_targets(w->target, n, k->classes, &rng);
    w->examples = (lm_examples){w->x, w->target, k->classes, w->row, n};
    assert_int_equal(lm_network_begin(w->ctx, k->size, k->layers, &w->examples, 7, &w->net),
                     LIMN_OK);
    for (size_t l = 0; l < k->layers; l++)
        for (size_t o = 0; o < k->size[l + 1]; o++)
            w->net.bias[l][o] += (float)(0.3 * lm_rng_normal(&rng));
}

static void world_close(world *w) {
    lm_network_free(&w->ctx->mem, &w->net);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
    free(w->x);
    free(w->target);
    free(w->row);
}

/* ---- plain loops ---- */

/* A network as net->all has it, in double. */
typedef struct slow {
    const lm_network *net; /* where the arrays are */
    double *all;
    double act[LM_LAYERS_MAX + 1][UNITS];
    double delta[LM_LAYERS_MAX + 1][UNITS]; /* of the loss, by what layer l - 1 gives */
} slow;

static slow *slow_make(const lm_network *net) {
    slow *s = calloc(1, sizeof *s);
    s->net = net;
    s->all = malloc(net->count * sizeof *s->all);
    for (size_t i = 0; i < net->count; i++)
        s->all[i] = (double)net->all[i];
    return s;
}

static void slow_free(slow *s) {
    free(s->all);
    free(s);
}

static size_t weight_at(const lm_network *net, size_t l, size_t i, size_t o) {
    return (size_t)(net->weight[l] - net->all) + i * net->size[l + 1] + o;
}

static size_t bias_at(const lm_network *net, size_t l, size_t o) {
    return (size_t)(net->bias[l] - net->all) + o;
}

static const double *slow_forward(slow *s, const float *x) {
    const lm_network *net = s->net;
    for (size_t i = 0; i < net->size[0]; i++)
        s->act[0][i] = (double)x[i];
    for (size_t l = 0; l < net->layers; l++)
        for (size_t o = 0; o < net->size[l + 1]; o++) {
            double sum = s->all[bias_at(net, l, o)];
            for (size_t i = 0; i < net->size[l]; i++)
                sum += s->all[weight_at(net, l, i, o)] * s->act[l][i];
            s->act[l + 1][o] = l + 1 < net->layers ? fmax(sum, 0) : sum;
        }
    return s->act[net->layers];
}

/* The loss of one row; delta: its derivatives by the outputs. */
static double slow_loss(const double *z, const float *t, size_t classes, double *delta) {
    if (classes == 0) {
        delta[0] = z[0] - (double)t[0];
        return delta[0] * delta[0] / 2;
    }
    if (classes == 2) {
        double p = 1 / (1 + exp(-z[0]));
        delta[0] = p - (double)t[0];
        return -(double)t[0] * log(p) - (1 - (double)t[0]) * log1p(-p);
    }
    double sum = 0, loss = 0;
    for (size_t c = 0; c < classes; c++)
        sum += exp(z[c]);
    for (size_t c = 0; c < classes; c++) {
        delta[c] = exp(z[c]) / sum - (double)t[c];
        loss -= (double)t[c] * (z[c] - log(sum));
    }
    return loss;
}

static double slow_row(slow *s, const lm_examples *e, uint32_t row) {
    size_t d = s->net->size[0], width = e->classes ? e->classes : 1;
    const double *z = slow_forward(s, e->x + row * d);
    return slow_loss(z, e->target + row * width, e->classes, s->delta[s->net->layers]);
}

/* Adds the derivatives of the row before, times `share`. */
static void slow_backward(slow *s, double share, double *gradient) {
    const lm_network *net = s->net;
    for (size_t l = net->layers; l-- > 0;) {
        for (size_t i = 0; i < net->size[l]; i++)
            s->delta[l][i] = 0;
        for (size_t o = 0; o < net->size[l + 1]; o++) {
            bool passes = l + 1 == net->layers || s->act[l + 1][o] > 0;
            double delta = passes ? s->delta[l + 1][o] : 0;
            gradient[bias_at(net, l, o)] += share * delta;
            for (size_t i = 0; i < net->size[l]; i++) {
                gradient[weight_at(net, l, i, o)] += share * delta * s->act[l][i];
                s->delta[l][i] += delta * s->all[weight_at(net, l, i, o)];
            }
        }
    }
}

static double slow_mean_loss(slow *s, const lm_examples *e, const uint32_t *row, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += slow_row(s, e, row[i]) / (double)n;
    return sum;
}

static void slow_gradient(slow *s, const lm_examples *e, double *gradient) {
    memset(gradient, 0, s->net->count * sizeof *gradient);
    for (size_t i = 0; i < e->count; i++) {
        (void)slow_row(s, e, e->row[i]);
        slow_backward(s, 1 / (double)e->count, gradient);
    }
}

/* Adam as it is published, all rows in each batch. */
static void slow_adam(slow *s, const lm_examples *e, double rate, size_t steps) {
    size_t count = s->net->count;
    double *g = malloc(count * sizeof *g);
    double *m = calloc(count, sizeof *m), *v = calloc(count, sizeof *v);
    for (size_t t = 1; t <= steps; t++) {
        double now = rate * (1 + cos(acos(-1) * (double)(t - 1) / (double)steps)) / 2;
        slow_gradient(s, e, g);
        for (size_t i = 0; i < count; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            double mean = m[i] / (1 - pow(0.9, (double)t));
            double square = v[i] / (1 - pow(0.999, (double)t));
            s->all[i] -= now * mean / (sqrt(square) + 1e-8);
        }
    }
    free(g);
    free(m);
    free(v);
}

/* ---- gradients ---- */

static void check_differences(const world *w, slow *s, const uint32_t *row, size_t n,
                              const float *gradient, const char *name) {
    const double step = 1e-6;
    for (size_t i = 0; i < w->net.count; i++) {
        double kept = s->all[i];
        s->all[i] = kept + step;
        double above = slow_mean_loss(s, &w->examples, row, n);
        s->all[i] = kept - step;
        double below = slow_mean_loss(s, &w->examples, row, n);
        s->all[i] = kept;
        double expected = (above - below) / (2 * step);
        if (!(fabs((double)gradient[i] - expected) <= 1e-5 * (1 + fabs(expected))))
            fail_msg("%s, %zu rows, number %zu: %g, not %g", name, n, i, (double)gradient[i],
                     expected);
    }
}

static void test_gradients_are_those_of_finite_differences(void **state) {
    static const size_t counts[] = {1, 63, 65, 256};
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (size_t c = 0; c < LM_COUNT(counts); c++) {
            world w;
            double loss;
            uint32_t row[ROWS];
            world_open(&w, &kinds[k], 40, 1);
            slow *s = slow_make(&w.net);
            float *gradient = malloc(w.net.count * sizeof *gradient);
            for (size_t i = 0; i < counts[c]; i++)
                row[i] = (uint32_t)(i * 7 % 40);
            assert_int_equal(
                lm_network_gradient(w.ctx, &w.examples, row, counts[c], &w.net, &loss, gradient),
                LIMN_OK);
            double expected = slow_mean_loss(s, &w.examples, row, counts[c]);
            assert_true(fabs(loss - expected) <= 1e-5 * (1 + expected));
            check_differences(&w, s, row, counts[c], gradient, kinds[k].name);
            free(gradient);
            slow_free(s);
            world_close(&w);
        }
}

/* Targets of examples that are sure, and outputs far from them. */
static void test_large_outputs_have_finite_losses(void **state) {
    (void)state;
    for (size_t k = 2; k < 6; k++) {
        world w;
        double loss;
        uint32_t row[40];
        world_open(&w, &kinds[k], 40, 1);
        size_t last = kinds[k].layers - 1, width = kinds[k].classes;
        float *gradient = malloc(w.net.count * sizeof *gradient);
        for (size_t i = 0; i < 40; i++)
            row[i] = (uint32_t)i;
        for (size_t i = 0; i < 40 * width; i++)
            w.target[i] = i % width == 0;
        for (size_t o = 0; o < kinds[k].size[last + 1]; o++)
            w.net.bias[last][o] = o == 0 ? -300.f : 300.f;
        assert_int_equal(lm_network_gradient(w.ctx, &w.examples, row, 40, &w.net, &loss, gradient),
                         LIMN_OK);
        assert_true(loss > 200 && loss < 1000);
        for (size_t i = 0; i < w.net.count; i++)
            assert_true(isfinite(gradient[i]));
        free(gradient);
        world_close(&w);
    }
}

/* ---- beginning ---- */

/* A unit of the first layer is 0 half-way to one of the rows. */
static void test_planes_begin_between_the_origin_and_rows(void **state) {
    (void)state;
    world w;
    kind k = {"", 3, 2, {4, 30, 3}};
    lm_network net;
    world_open(&w, &k, 20, 1);
    assert_int_equal(lm_network_begin(w.ctx, k.size, 2, &w.examples, 9, &net), LIMN_OK);
    for (size_t o = 0; o < 30; o++) {
        double nearest = INFINITY;
        for (size_t r = 0; r < 20; r++) {
            double sum = (double)net.bias[0][o];
            for (size_t i = 0; i < 4; i++)
                sum += 0.5 * (double)w.x[r * 4 + i] * (double)net.weight[0][i * 30 + o];
            nearest = fmin(nearest, fabs(sum));
        }
        assert_true(nearest < 1e-6);
    }
    for (size_t o = 0; o < 3; o++)
        assert_true(net.bias[1][o] == 0);
    lm_network_free(&w.ctx->mem, &net);
    assert_null(net.all);
    world_close(&w);
}

static void test_weights_begin_with_their_spread(void **state) {
    (void)state;
    world w;
    kind k = {"", 0, 3, {60, 60, 60, 60}};
    world_open(&w, &k, 5, 1);
    for (size_t l = 0; l < 3; l++) {
        double squares = 0, expected = (l < 2 ? 2.0 : 1.0) / 60;
        for (size_t i = 0; i < 3600; i++)
            squares += (double)w.net.weight[l][i] * (double)w.net.weight[l][i] / 3600;
        assert_true(squares > 0.9 * expected && squares < 1.1 * expected);
    }
    assert_true(lm_network_work(&w.net) == 3 * 3600);
    world_close(&w);
}

/* ---- fitting ---- */

/* With as many examples as a batch has, every batch has all of them. */
static void check_steps(const kind *k, size_t steps) {
    world w;
    world_open(&w, k, ROWS, 1);
    slow *s = slow_make(&w.net);
    lm_network_plan plan = {.visits = steps * ROWS, .rate = 0.01, .seed = 3};
    assert_int_equal(lm_network_fit(w.ctx, &w.examples, &plan, &w.net), LIMN_OK);
    slow_adam(s, &w.examples, plan.rate, steps);
    for (size_t i = 0; i < w.net.count; i++)
        if (!(fabs((double)w.net.all[i] - s->all[i]) <= 1e-4))
            fail_msg("%s, %zu steps, number %zu: %g, not %g", k->name, steps, i,
                     (double)w.net.all[i], s->all[i]);
    slow_free(s);
    world_close(&w);
}

static void test_steps_are_those_of_adam(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kinds); k++) {
        check_steps(&kinds[k], 1);
        check_steps(&kinds[k], 10);
    }
}

/* A row that is listed three times counts three times: the best constant is the mean. */
static void test_rows_are_visited_as_often_as_they_are_listed(void **state) {
    static const uint32_t row[] = {1, 0, 1, 1};
    (void)state;
    world w;
    kind k = {"", 0, 1, {1, 1}};
    world_open(&w, &k, 2, 1);
    w.x[0] = w.x[1] = 0;
    w.target[0] = 0;
    w.target[1] = 1;
    w.examples.row = row;
    w.examples.count = LM_COUNT(row);
    lm_network_plan plan = {.visits = 400 * ROWS, .rate = 0.01, .seed = 3};
    assert_int_equal(lm_network_fit(w.ctx, &w.examples, &plan, &w.net), LIMN_OK);
    assert_true(fabs((double)w.net.bias[0][0] - 0.75) < 1e-3);
    world_close(&w);
}

/* Fits so many rows as there are visits, rounded up to batches; fewer rows than a batch has. */
static void test_a_fit_learns(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kinds); k++) {
        world w;
        world_open(&w, &kinds[k], 50, 1);
        slow *s = slow_make(&w.net);
        double before = slow_mean_loss(s, &w.examples, w.row, 50);
        slow_free(s);
        lm_network_plan plan = {.visits = 100 * ROWS + 1, .rate = 0.02, .seed = 3};
        assert_int_equal(lm_network_fit(w.ctx, &w.examples, &plan, &w.net), LIMN_OK);
        s = slow_make(&w.net);
        assert_true(slow_mean_loss(s, &w.examples, w.row, 50) < before);
        slow_free(s);
        world_close(&w);
    }
}

/* ---- threads ---- */

static void test_threads_change_no_byte(void **state) {
    static const kind shared[] = {{"spread over threads", 3, 2, {40, 1000, 3}},
                                  {"on one thread", 3, 2, {5, 20, 3}}};
    (void)state;
    for (size_t k = 0; k < LM_COUNT(shared); k++) {
        world first, other;
        lm_network_plan plan = {.visits = 512, .rate = 0.01, .seed = 3};
        world_open(&first, &shared[k], 100, 1);
        assert_true((lm_network_work(&first.net) * ROWS >= 1e7) == (k == 0));
        assert_int_equal(lm_network_fit(first.ctx, &first.examples, &plan, &first.net), LIMN_OK);
        for (int threads = 2; threads <= 3; threads++) {
            world_open(&other, &shared[k], 100, threads);
            assert_int_equal(lm_network_fit(other.ctx, &other.examples, &plan, &other.net),
                             LIMN_OK);
            assert_memory_equal(other.net.all, first.net.all,
                                first.net.count * sizeof *first.net.all);
            world_close(&other);
        }
        world_close(&first);
    }
}

static void test_seeds_change_the_fit(void **state) {
    (void)state;
    float first = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        world w;
        world_open(&w, &kinds[4], 400, 1);
        lm_network_plan plan = {.visits = 1000, .rate = 0.01, .seed = seed};
        assert_int_equal(lm_network_fit(w.ctx, &w.examples, &plan, &w.net), LIMN_OK);
        assert_true(seed == 1 || first != w.net.all[0]);
        first = w.net.all[0];
        world_close(&w);
    }
}

/* ---- news ---- */

typedef struct hearing {
    size_t calls, cancel_at, visited, visits;
} hearing;

static limn_status hear(limn_context *ctx, void *user, const lm_network *net, size_t visited,
                        size_t visits) {
    hearing *h = user;
    assert_true(visited > h->visited && visited <= visits);
    assert_non_null(net->all);
    h->visited = visited;
    h->visits = visits;
    return ++h->calls == h->cancel_at ? lm_fail(ctx, LIMN_E_CANCELLED, "enough") : LIMN_OK;
}

static size_t calls_of(size_t steps, size_t reports, size_t cancel_at) {
    world w;
    hearing h = {.cancel_at = cancel_at};
    world_open(&w, &kinds[0], 30, 1);
    lm_network_plan plan = {.visits = steps * ROWS,
                            .rate = 0.01,
                            .seed = 3,
                            .news = hear,
                            .user = &h,
                            .reports = reports};
    limn_status status = lm_network_fit(w.ctx, &w.examples, &plan, &w.net);
    assert_int_equal(status, cancel_at && cancel_at <= h.calls ? LIMN_E_CANCELLED : LIMN_OK);
    assert_int_equal(h.visits, steps * ROWS);
    if (status == LIMN_OK)
        assert_int_equal(h.visited, h.visits);
    world_close(&w);
    return h.calls;
}

static void test_news_come_as_often_as_asked_for_and_may_cancel(void **state) {
    (void)state;
    assert_int_equal(calls_of(100, 5, 0), 5);
    assert_int_equal(calls_of(300, 0, 0), 100);
    assert_int_equal(calls_of(7, 0, 0), 7);
    assert_int_equal(calls_of(1, 3, 0), 1);
    assert_int_equal(calls_of(100, 5, 1), 1);
    assert_int_equal(calls_of(100, 5, 3), 3);
}

/* ---- answers ---- */

/* The same network, stored as queries take it. */
static void check_answers(const kind *k) {
    world w;
    size_t floats, n = 300, outputs = k->size[k->layers];
    world_open(&w, k, n, 1);
    assert_true(lm_layers_floats(k->size, k->layers, &floats));
    float *data = malloc(floats * sizeof *data), *out = malloc(n * outputs * sizeof *out);
    float one[64];
    lm_layers net;
    lm_layers_view(k->size, k->layers, data, &net);
    for (size_t l = 0; l < k->layers; l++)
        lm_layer_pack(&net.layer[l], w.net.weight[l], w.net.bias[l], l + 1 == k->layers,
                      data + (net.layer[l].bias - data));
    lm_cursor at = lm_cursor_at(NULL);
    lm_layers_scratch(&net, 1, &at);
    void *scratch = lm_alloc_measured(&w.ctx->mem, &at);
    slow *s = slow_make(&w.net);
    assert_int_equal(lm_network_answer(w.ctx, &w.net, w.x, n, out), LIMN_OK);
    for (size_t i = 0; i < n; i++) {
        const double *z = slow_forward(s, w.x + i * k->size[0]);
        lm_layers_run(&net, w.x + i * k->size[0], k->size[0], 1, one, NULL, scratch);
        for (size_t o = 0; o < outputs; o++) {
            assert_true(fabs((double)one[o] - (double)out[i * outputs + o]) < 2e-5);
            assert_true(fabs((double)one[o] - z[o]) < 2e-5);
        }
    }
    slow_free(s);
    lm_free_aligned(&w.ctx->mem, scratch);
    free(data);
    free(out);
    world_close(&w);
}

static void test_answers_are_those_of_the_stored_network(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        check_answers(&kinds[k]);
}

/* ---- memory ---- */

static limn_status do_all(limn_context *ctx, const kind *k, const lm_examples *e, float *out) {
    lm_network net;
    double loss;
    lm_network_plan plan = {.visits = 10, .rate = 0.01};
    limn_status status = lm_network_begin(ctx, k->size, k->layers, e, 1, &net);
    if (status == LIMN_OK)
        status = lm_network_fit(ctx, e, &plan, &net);
    if (status == LIMN_OK)
        status = lm_network_answer(ctx, &net, e->x, e->count, out);
    if (status == LIMN_OK)
        status = lm_network_gradient(ctx, e, e->row, e->count, &net, &loss, out);
    lm_network_free(&ctx->mem, &net);
    return status;
}

static void test_every_failed_allocation_is_reported(void **state) {
    (void)state;
    world w;
    float out[1000];
    limn_status status = LIMN_E_MEMORY;
    world_open(&w, &kinds[4], 20, 1);
    for (unsigned at = 1; status != LIMN_OK; at++) {
        w.count.fail_at = at;
        status = do_all(w.ctx, &kinds[4], &w.examples, out);
        assert_true(status == LIMN_E_MEMORY || (status == LIMN_OK && at > 5));
    }
    w.count.fail_at = 0;
    world_close(&w);
}

static void test_networks_that_cannot_be_addressed_are_refused(void **state) {
    static const size_t sizes[][3] = {{SIZE_MAX, 3, 3}, {SIZE_MAX / 64, 64, 2}, {3, 3, SIZE_MAX}};
    (void)state;
    world w;
    world_open(&w, &kinds[4], 20, 1);
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        lm_network net;
        assert_int_equal(lm_network_begin(w.ctx, sizes[i], 2, &w.examples, 1, &net), LIMN_E_MEMORY);
        lm_network_free(&w.ctx->mem, &net);
    }
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_those_of_finite_differences),
        cmocka_unit_test(test_large_outputs_have_finite_losses),
        cmocka_unit_test(test_planes_begin_between_the_origin_and_rows),
        cmocka_unit_test(test_weights_begin_with_their_spread),
        cmocka_unit_test(test_steps_are_those_of_adam),
        cmocka_unit_test(test_rows_are_visited_as_often_as_they_are_listed),
        cmocka_unit_test(test_a_fit_learns),
        cmocka_unit_test(test_threads_change_no_byte),
        cmocka_unit_test(test_seeds_change_the_fit),
        cmocka_unit_test(test_news_come_as_often_as_asked_for_and_may_cancel),
        cmocka_unit_test(test_answers_are_those_of_the_stored_network),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_networks_that_cannot_be_addressed_are_refused),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
