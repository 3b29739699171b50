/* space.c: generators for any number of dimensions.
 *
 * disks: the four disks of the hyperdisk paper (Cevikalp, Triggs and Polikar 2008, Sec. 4.1). In
 * d = round + flat dimensions, row i belongs to class i mod 4, whose points are uniform in the ball
 * of radius 1 around (sx centre, sy centre, 0, ..., 0); sx, sy = -,- +,- -,+ +,+ in classes 0 to 3.
 * Then flat of the dimensions are divided by factor: the second and the last flat - 1 (the paper
 * does not say which; by symmetry only the second matters).
 *
 * hypercube: uniform in [0, 1)^dims, as in the boundary forest paper (Mathy et al. 2015), which
 * uses it for search and needs no labels. Here class 1 is where w . (x - 1/2) > 0, with w of dims
 * standard normal values from index UINT64_MAX, so both classes are equally likely.
 *
 * mixture: class and cluster of a row are drawn, all equally likely; its point is normal with the
 * standard deviation spread in each feature around the cluster's centre. Cluster j of class c is
 * number k = c clusters + j; its centre is uniform in [0, 1)^dims, from index UINT64_MAX - k.
 *
 * friedman: the regression function known as Friedman #1 (1991), x uniform in [0, 1)^dims; features
 * beyond the fifth do not matter:
 *
 *   y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise N(0, 1) */
#include "data/synth/synth.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static void dims_two_classes(const lm_params *params, size_t *features, size_t *classes) {
    *features = (size_t)lm_param_int(params, "dims");
    *classes = 2;
}

/* ---- disks ---- */

static void disks_shape(const lm_params *params, size_t *features, size_t *classes) {
    *features = (size_t)(lm_param_int(params, "round") + lm_param_int(params, "flat"));
    *classes = 4;
}

/* A point uniform in the ball of radius 1: a direction, and a radius whose d-th power is uniform.
 */
static void draw_in_ball(lm_rng *rng, float *x, size_t d) {
    double norm2 = 0;
    for (size_t j = 0; j < d; j++) {
        x[j] = (float)lm_rng_normal(rng);
        norm2 += (double)x[j] * x[j];
    }
    double scale = norm2 > 0 ? pow(lm_rng_unit(rng), 1 / (double)d) / sqrt(norm2) : 0;
    for (size_t j = 0; j < d; j++)
        x[j] = (float)(scale * x[j]);
}

static void disks_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    uint64_t label = row % 4;
    size_t d = run->features, flat = (size_t)lm_param_int(&run->params, "flat");
    double centre = lm_param_real(&run->params, "centre");
    double factor = lm_param_real(&run->params, "factor");
    draw_in_ball(rng, x, d);
    x[0] = (float)(x[0] + (label & 1 ? centre : -centre));
    x[1] = (float)((x[1] + (label & 2 ? centre : -centre)) / factor);
    for (size_t j = d - (flat - 1); j < d; j++)
        x[j] = (float)(x[j] / factor);
    *y = lm_synth_label(run, rng, label);
}

static const limn_param disks_params[] = {
    {.key = "round",
     .help = "dimensions in which a class has its full size",
     .type = LIMN_PARAM_INT,
     .default_value = "100",
     .min = 1,
     .max = LM_SYNTH_MAX_DIMS},
    {.key = "flat",
     .help = "dimensions that are compressed, including the second",
     .type = LIMN_PARAM_INT,
     .default_value = "200",
     .min = 1,
     .max = LM_SYNTH_MAX_DIMS},
    {.key = "factor",
     .help = "divisor of the compressed dimensions",
     .type = LIMN_PARAM_REAL,
     .default_value = "10",
     .min = 1,
     .max = 1e6},
    {.key = "centre",
     .help = "distance of a class's centre from 0 in each of the first two dimensions",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.2",
     .min = 0,
     .max = 1000},
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_disks = {
    .info = {.name = "disks",
             .summary = "four classes, each a flat disk in many dimensions",
             .paper = "Cevikalp, Triggs and Polikar 2008, nearest hyperdisk methods, Sec. 4.1",
             .task = LIMN_CLASSIFY,
             .params = disks_params,
             .param_count = LM_COUNT(disks_params)},
    .shape = disks_shape,
    .row = disks_row,
};

/* ---- hypercube ---- */

static limn_status hypercube_prepare(limn_context *ctx, lm_synth_run *run) {
    lm_rng rng = lm_rng_at(run->seed, LM_STREAM_SYNTH, UINT64_MAX);
    double *w = lm_alloc(&run->mem, run->features, sizeof *w);
    if (!w)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < run->features; j++)
        w[j] = lm_rng_normal(&rng);
    run->state = w;
    return LIMN_OK;
}

static void hypercube_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    const double *w = run->state;
    double side = 0;
    (void)row;
    for (size_t j = 0; j < run->features; j++) {
        x[j] = lm_synth_unit(rng);
        side += w[j] * (x[j] - 0.5);
    }
    *y = lm_synth_label(run, rng, side > 0);
}

static const limn_param hypercube_params[] = {
    {.key = "dims",
     .help = "features",
     .type = LIMN_PARAM_INT,
     .default_value = "100",
     .min = 1,
     .max = LM_SYNTH_MAX_DIMS},
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_hypercube = {
    .info = {.name = "hypercube",
             .summary = "uniform in a cube, cut into two classes by a random plane",
             .paper = "Mathy et al. 2015, the boundary forest algorithm",
             .task = LIMN_CLASSIFY,
             .params = hypercube_params,
             .param_count = LM_COUNT(hypercube_params)},
    .shape = dims_two_classes,
    .prepare = hypercube_prepare,
    .row = hypercube_row,
};

/* ---- mixture ---- */

static void mixture_shape(const lm_params *params, size_t *features, size_t *classes) {
    *features = (size_t)lm_param_int(params, "dims");
    *classes = (size_t)lm_param_int(params, "classes");
}

/* Centres are drawn again for each row: a table of them could be larger than memory. */
static void mixture_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    uint64_t clusters = (uint64_t)lm_param_int(&run->params, "clusters");
    uint64_t label = lm_rng_below(rng, run->classes);
    uint64_t number = label * clusters + lm_rng_below(rng, clusters);
    lm_rng centre = lm_rng_at(run->seed, LM_STREAM_SYNTH, UINT64_MAX - number);
    double spread = lm_param_real(&run->params, "spread");
    for (size_t j = 0; j < run->features; j++)
        x[j] = (float)(lm_synth_unit(&centre) + spread * lm_rng_normal(rng));
    *y = lm_synth_label(run, rng, label);
}

static const limn_param mixture_params[] = {
    {.key = "classes",
     .help = "classes",
     .type = LIMN_PARAM_INT,
     .default_value = "3",
     .min = 2,
     .max = 1000},
    {.key = "clusters",
     .help = "clusters in each class",
     .type = LIMN_PARAM_INT,
     .default_value = "2",
     .min = 1,
     .max = 1000},
    {.key = "dims",
     .help = "features",
     .type = LIMN_PARAM_INT,
     .default_value = "2",
     .min = 1,
     .max = LM_SYNTH_MAX_DIMS},
    {.key = "spread",
     .help = "standard deviation of a cluster; the centres lie in a cube of side 1",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.1",
     .min = 0,
     .max = 1000},
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_mixture = {
    .info = {.name = "mixture",
             .summary = "classes of Gaussian clusters around random centres",
             .paper = "after Mathy et al. 2015, the boundary forest algorithm",
             .task = LIMN_CLASSIFY,
             .params = mixture_params,
             .param_count = LM_COUNT(mixture_params)},
    .shape = mixture_shape,
    .row = mixture_row,
};

/* ---- friedman ---- */

static void friedman_shape(const lm_params *params, size_t *features, size_t *classes) {
    *features = (size_t)lm_param_int(params, "dims");
    *classes = 0;
}

static void friedman_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    for (size_t j = 0; j < run->features; j++)
        x[j] = lm_synth_unit(rng);
    double third = x[2] - 0.5;
    *y = 10 * sin(pi * x[0] * x[1]) + 20 * third * third + 10 * (double)x[3] + 5 * (double)x[4] +
         lm_param_real(&run->params, "noise") * lm_rng_normal(rng);
}

static const limn_param friedman_params[] = {
    {.key = "dims",
     .help = "features; those beyond the fifth do not matter",
     .type = LIMN_PARAM_INT,
     .default_value = "10",
     .min = 5,
     .max = LM_SYNTH_MAX_DIMS},
    {.key = "noise",
     .help = "standard deviation of the noise added to the function",
     .type = LIMN_PARAM_REAL,
     .default_value = "1",
     .min = 0,
     .max = 1e6},
};

const lm_synth lm_synth_friedman = {
    .info = {.name = "friedman",
             .summary = "Friedman's regression function of five features",
             .paper = "Friedman 1991, multivariate adaptive regression splines",
             .task = LIMN_REGRESS,
             .params = friedman_params,
             .param_count = LM_COUNT(friedman_params)},
    .shape = friedman_shape,
    .row = friedman_row,
};
