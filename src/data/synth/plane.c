/* plane.c: generators whose shapes lie in the plane.
 *
 * linear, wave, islands, checker: the two-dimensional problems of the vantage-point paper (Proenca
 * and Neves, Sec. 4.2, Fig. 3): A linearly separable, B a continuous and C a discontinuous border,
 * D balanced and E unbalanced priors. The paper shows its shapes only as small pictures. Here, with
 * u = x1, v = x2 and points in the unit square, class 1 is where the condition holds:
 *
 *   A  linear    (u - 1/2) cos a + (v - 1/2) sin a > 0, a = angle in degrees
 *   B  wave      v > 1/2 + height sin(2 pi waves u)
 *   C  islands   within radius/m of a centre ((i + 1/2)/m, (j + 1/2)/m), i, j < m = islands: m^2
 *                disks that do not overlap
 *   D  checker   floor(cells u) + floor(cells v) is odd: both classes fill half of the square when
 *                cells is even
 *   E  checker with share=0.1
 *
 * share=auto: points are uniform in the square, so the share of class 1 is its area. share=s: the
 * class is drawn first, 1 with probability s, then the point uniformly in its part of the square
 * (points are drawn until one falls there; each part has 3 % of the area or more).
 *
 * curved: two overlapping curved classes, similar to those of the borders paper (Mills, Sec. 4),
 * which refers to an earlier paper for its own pair; here the class probability is known. u is
 * standard normal in both classes, and with f(u) = bend sin(3 u/2)
 *
 *   v = f(u) + c + overlap N(0, 1),   c = -1 in class 0, +1 in class 1; class 1 has the share p;
 *   P(1|u, v) = 1/(1 + exp(-(2 (v - f(u))/overlap^2 + ln(p/(1-p)))));
 *
 * so r = P(1|x) - P(0|x) = tanh((v - f(u))/overlap^2) at p = 1/2, the true border is v = f(u), and
 * the best possible error is Phi(-1/overlap), Phi the normal distribution function.
 *
 * drift: a stream whose classes move. Class c of k (all equally likely) is a Gaussian of standard
 * deviation spread around the point of the unit circle at the angle 2 pi (c/k + t); features beyond
 * the second are noise around 0. Row i has
 *
 *   mode=gradual  t = i/period                a full turn in period rows
 *   mode=abrupt   t = floor(4 i/period)/4     a sudden quarter turn, four times per period
 *
 * With two classes the best border is the line through 0 perpendicular to the line of the centres;
 * its error is Phi(-1/spread). After half a period two classes have changed places. */
#include "data/synth/synth.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- two classes in the unit square ---- */

#define SHARE                                                                                  \
    {                                                                                          \
        .key = "share", .help = "share of class 1; auto: its share of the square's area",      \
        .type = LIMN_PARAM_REAL, .default_value = "auto", .min = 0, .max = 1, .can_be_auto = 1 \
    }
#define VPC "Proenca and Neves, vantage-point classification, Sec. 4.2"

static void two_of_two(const lm_params *params, size_t *features, size_t *classes) {
    (void)params;
    *features = 2;
    *classes = 2;
}

typedef uint64_t side_of(const lm_params *params, const float *x);

static void square_row(const lm_synth_run *run, side_of *side, lm_rng *rng, float *x, double *y) {
    bool any = lm_param_is_auto(&run->params, "share");
    uint64_t label, wanted = !any && lm_rng_unit(rng) < lm_param_real(&run->params, "share");
    do {
        x[0] = lm_synth_unit(rng);
        x[1] = lm_synth_unit(rng);
        label = side(&run->params, x);
    } while (!any && label != wanted);
    *y = lm_synth_label(run, rng, label);
}

static uint64_t linear_side(const lm_params *params, const float *x) {
    double angle = lm_param_real(params, "angle") * pi / 180;
    return (x[0] - 0.5) * cos(angle) + (x[1] - 0.5) * sin(angle) > 0;
}

static void linear_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    square_row(run, linear_side, rng, x, y);
}

static const limn_param linear_params[] = {
    {.key = "angle",
     .help = "direction in which class 1 lies, in degrees",
     .type = LIMN_PARAM_REAL,
     .default_value = "60",
     .min = 0,
     .max = 360},
    SHARE,
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_linear = {
    .info = {.name = "linear",
             .summary = "two classes in a square with a straight border",
             .paper = VPC ", problem A",
             .task = LIMN_CLASSIFY,
             .params = linear_params,
             .param_count = LM_COUNT(linear_params)},
    .shape = two_of_two,
    .row = linear_row,
};

static uint64_t wave_side(const lm_params *params, const float *x) {
    double height = lm_param_real(params, "height"), waves = lm_param_real(params, "waves");
    return x[1] > 0.5 + height * sin(2 * pi * waves * x[0]);
}

static void wave_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    square_row(run, wave_side, rng, x, y);
}

static const limn_param wave_params[] = {
    {.key = "height",
     .help = "height of the waves; the square has side 1",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.3",
     .min = 0,
     .max = 0.5},
    {.key = "waves",
     .help = "number of waves",
     .type = LIMN_PARAM_REAL,
     .default_value = "2",
     .min = 0,
     .max = 50},
    SHARE,
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_wave = {
    .info = {.name = "wave",
             .summary = "two classes in a square with one curved border",
             .paper = VPC ", problem B",
             .task = LIMN_CLASSIFY,
             .params = wave_params,
             .param_count = LM_COUNT(wave_params)},
    .shape = two_of_two,
    .row = wave_row,
};

static uint64_t islands_side(const lm_params *params, const float *x) {
    double m = (double)lm_param_int(params, "islands"), radius = lm_param_real(params, "radius");
    double u = x[0] * m - floor(x[0] * m) - 0.5, v = x[1] * m - floor(x[1] * m) - 0.5;
    return u * u + v * v < radius * radius;
}

static void islands_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    square_row(run, islands_side, rng, x, y);
}

static const limn_param islands_params[] = {
    {.key = "islands",
     .help = "disks of class 1 along each side of the square",
     .type = LIMN_PARAM_INT,
     .default_value = "2",
     .min = 1,
     .max = 100},
    {.key = "radius",
     .help = "radius of a disk; neighbouring centres are 1 apart",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.4",
     .min = 0.1,
     .max = 0.5},
    SHARE,
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_islands = {
    .info = {.name = "islands",
             .summary = "two classes in a square with a border in several pieces",
             .paper = VPC ", problem C",
             .task = LIMN_CLASSIFY,
             .params = islands_params,
             .param_count = LM_COUNT(islands_params)},
    .shape = two_of_two,
    .row = islands_row,
};

static uint64_t checker_side(const lm_params *params, const float *x) {
    double cells = (double)lm_param_int(params, "cells");
    return ((uint64_t)(x[0] * cells) + (uint64_t)(x[1] * cells)) & 1;
}

static void checker_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    square_row(run, checker_side, rng, x, y);
}

static const limn_param checker_params[] = {
    {.key = "cells",
     .help = "cells along each side of the square",
     .type = LIMN_PARAM_INT,
     .default_value = "4",
     .min = 2,
     .max = 100},
    SHARE,
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_checker = {
    .info = {.name = "checker",
             .summary = "two classes in a square, as on a chessboard",
             .paper = VPC ", problem D; with share=0.1 problem E",
             .task = LIMN_CLASSIFY,
             .params = checker_params,
             .param_count = LM_COUNT(checker_params)},
    .shape = two_of_two,
    .row = checker_row,
};

/* ---- curved ---- */

static void curved_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    (void)row;
    uint64_t label = lm_rng_unit(rng) < lm_param_real(&run->params, "share");
    double u = lm_rng_normal(rng), scatter = lm_rng_normal(rng);
    double middle = lm_param_real(&run->params, "bend") * sin(1.5 * u) + (label ? 1 : -1);
    x[0] = (float)u;
    x[1] = (float)(middle + lm_param_real(&run->params, "overlap") * scatter);
    *y = lm_synth_label(run, rng, label);
}

static const limn_param curved_params[] = {
    {.key = "overlap",
     .help = "standard deviation around the middle of a class; the middles are 2 apart",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.7",
     .min = 0,
     .max = 100},
    {.key = "bend",
     .help = "how far the border swings to each side; 0: a straight border",
     .type = LIMN_PARAM_REAL,
     .default_value = "1",
     .min = 0,
     .max = 100},
    {.key = "share",
     .help = "share of class 1",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.5",
     .min = 0,
     .max = 1},
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_curved = {
    .info = {.name = "curved",
             .summary = "two overlapping curved classes with known class probabilities",
             .paper = "after Mills, borders classification, Sec. 4",
             .task = LIMN_CLASSIFY,
             .params = curved_params,
             .param_count = LM_COUNT(curved_params)},
    .shape = two_of_two,
    .row = curved_row,
};

/* ---- drift ---- */

static void drift_shape(const lm_params *params, size_t *features, size_t *classes) {
    *features = (size_t)lm_param_int(params, "dims");
    *classes = (size_t)lm_param_int(params, "classes");
}

static double drift_turn(const lm_params *params, uint64_t row) {
    enum { GRADUAL, ABRUPT };
    uint64_t period = (uint64_t)lm_param_int(params, "period");
    double turn = (double)(row % period) / (double)period;
    return lm_param_choice(params, "mode") == ABRUPT ? floor(4 * turn) / 4 : turn;
}

static void drift_row(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y) {
    uint64_t label = lm_rng_below(rng, run->classes);
    double spread = lm_param_real(&run->params, "spread");
    double turn = (double)label / (double)run->classes + drift_turn(&run->params, row);
    for (size_t j = 0; j < run->features; j++) {
        double centre = j == 0 ? cos(2 * pi * turn) : j == 1 ? sin(2 * pi * turn) : 0;
        x[j] = (float)(centre + spread * lm_rng_normal(rng));
    }
    *y = lm_synth_label(run, rng, label);
}

static const limn_param drift_params[] = {
    {.key = "period",
     .help = "rows until the classes are back where they began",
     .type = LIMN_PARAM_INT,
     .default_value = "10000",
     .min = 1,
     .max = 1e15},
    {.key = "mode",
     .help = "a steady turn, or a sudden quarter turn four times per period",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "gradual",
     .choices = "gradual|abrupt"},
    {.key = "classes",
     .help = "classes, around a circle of radius 1",
     .type = LIMN_PARAM_INT,
     .default_value = "2",
     .min = 2,
     .max = 1000},
    {.key = "spread",
     .help = "standard deviation of a class in each feature",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.4",
     .min = 0,
     .max = 100},
    {.key = "dims",
     .help = "features; those beyond the second are noise",
     .type = LIMN_PARAM_INT,
     .default_value = "2",
     .min = 2,
     .max = LM_SYNTH_MAX_DIMS},
    LM_SYNTH_NOISE,
};

const lm_synth lm_synth_drift = {
    .info = {.name = "drift",
             .summary = "a stream whose classes move around a circle",
             .paper = "no paper; for methods that learn online",
             .task = LIMN_CLASSIFY,
             .params = drift_params,
             .param_count = LM_COUNT(drift_params)},
    .shape = drift_shape,
    .row = drift_row,
};
