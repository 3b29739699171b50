/* build.c: fills the model's arrays from the fits of the classes. */
#include "methods/hull/build.h"
#include "base/work.h"

#include <math.h>
#include <string.h>

/* The model's arrays are const for queries; here they are written. */
static void *writable(const void *array) {
    return (void *)(uintptr_t)array;
}

static uint32_t panels_for(size_t rows) {
    return (uint32_t)((rows + LM_PANEL - 1) / LM_PANEL);
}

/* ---- samples ---- */

static void put_row(float *panels, size_t d, size_t place, const float *row) {
    float *at = panels + place / LM_PANEL * LM_PANEL * d + place % LM_PANEL;
    for (size_t j = 0; j < d; j++)
        at[j * LM_PANEL] = row[j];
}

limn_status hull_pack_samples(limn_context *ctx, const lm_train_set *set, const hull_groups *groups,
                              hull_model *m) {
    uint64_t *count = writable(m->count);
    uint32_t *first = writable(m->first);
    float *data = m->samples.data, *norms = writable(m->norms);
    for (size_t c = 0; c < m->classes; c++) {
        count[c] = groups->start[c + 1] - groups->start[c];
        first[c + 1] = first[c] + panels_for((size_t)count[c]);
        for (size_t i = 0; i < count[c]; i++) {
            const float *row = set->x + (size_t)groups->row[groups->start[c] + i] * m->d;
            put_row(data, m->d, (size_t)first[c] * LM_PANEL + i, row);
        }
        if (norms) {
            lm_pack part;
            lm_pack_view(data + (size_t)first[c] * LM_PANEL * m->d, (size_t)count[c], m->d, &part);
            lm_pack_norms(&part, norms + (size_t)first[c] * LM_PANEL);
        }
    }
    return lm_progress(ctx, "packing", set->n, set->n, 1);
}

/* ---- linear sets ---- */

/* The mean of the class means, as floats. */
static void set_origin(const hull_fit *fits, hull_model *m) {
    float *origin = writable(m->flat.origin);
    for (size_t j = 0; j < m->d; j++) {
        double sum = 0;
        for (size_t c = 0; c < m->classes; c++)
            sum += fits[c].mean[j] / (double)m->classes;
        origin[j] = (float)sum;
    }
}

static void put_mean(hull_model *m, size_t c, const double *mean) {
    double *exact = (double *)writable(m->flat.mean) + c * m->d;
    float *near = m->flat.near_mean.data + c / LM_PANEL * LM_PANEL * m->d + c % LM_PANEL;
    for (size_t j = 0; j < m->d; j++) {
        exact[j] = mean[j];
        near[j * LM_PANEL] = (float)(mean[j] - (double)m->flat.origin[j]);
    }
}

/* Direction j of a class, at its position, times length; mean: as in the model. */
static void put_direction(hull_model *m, size_t place, const double *direction, double length,
                          const double *mean, double *row) {
    double *offset = writable(m->flat.offset), sum = 0;
    for (size_t i = 0; i < m->d; i++) {
        row[i] = direction[i] * length;
        sum += row[i] * (mean[i] - (double)m->flat.origin[i]);
    }
    offset[place] = sum;
    size_t at = place / LM_PANEL * LM_PANEL * m->d + place % LM_PANEL;
    for (size_t i = 0; i < m->d; i++) {
        float high = (float)row[i];
        m->flat.basis.high.data[at + i * LM_PANEL] = high;
        if (m->flat.basis.low.data)
            m->flat.basis.low.data[at + i * LM_PANEL] = (float)(row[i] - (double)high);
    }
}

typedef struct flat_work {
    const hull_fit *fits;
    hull_model *m;
} flat_work;

/* The share of direction j that a query subtracts from |w|^2: all of it, except for the ridge. */
static double length_of(const hull_model *m, const hull_fit *fit, size_t j) {
    if (m->options.kind != HULL_NRH)
        return 1;
    double s2 = fit->s[j] * fit->s[j], lambda = m->options.rho * hull_fit_ridge(fit);
    return sqrt(s2 / (s2 + lambda));
}

/* mean + weights of the directions, or of the axes if there are none. */
static void point_in_hull(const hull_fit *fit, const double *weights, size_t p, double *out) {
    size_t d = fit->space->d;
    memcpy(out, fit->mean, d * sizeof *out);
    for (size_t j = 0; j < p && !fit->basis; j++)
        out[j] += weights[j];
    for (size_t j = 0; j < p && fit->basis; j++)
        for (size_t i = 0; i < d; i++)
            out[i] += weights[j] * fit->basis[j * d + i];
}

/* How far samples lie outside the span of the fit, because directions were cut. row: d. */
static double find_slack(const hull_fit *fit, double *row) {
    size_t d = fit->space->d;
    double most = 0;
    for (size_t i = 0; i < fit->n && fit->basis; i++) {
        double sum = 0;
        point_in_hull(fit, fit->coord + i * fit->rank, fit->rank, row);
        for (size_t j = 0; j < d; j++) {
            double off = (double)fit->space->x[(size_t)fit->rows[i] * d + j] - row[j];
            sum += off * off;
        }
        most = fmax(most, sum);
    }
    return sqrt(most) * (1 + 1e-9);
}

/* The mean or centre of the class in the model, and its sphere. */
static limn_status put_sphere(limn_context *ctx, hull_model *m, const hull_fit *fit, size_t c,
                              size_t p, double *mean) {
    hull_kind kind = m->options.kind;
    hull_ball ball = {0};
    memcpy(mean, fit->mean, m->d * sizeof *mean);
    if (kind == HULL_NAH || kind == HULL_NRH)
        return LIMN_OK;
    limn_status status = hull_ball_make(ctx, fit, p, kind == HULL_NCH ? 0 : m->options.nu, &ball);
    if (status != LIMN_OK)
        return status;
    if (kind == HULL_NHD) {
        double *centre = (double *)writable(m->flat.centre) + (size_t)m->flat.start[c] * LM_PANEL;
        memcpy(centre, ball.centre, ball.p * sizeof *centre);
    } else {
        point_in_hull(fit, ball.centre, ball.p, mean);
    }
    if (m->flat.radius)
        ((double *)writable(m->flat.radius))[c] = ball.radius;
    hull_ball_free(&ctx->mem, &ball);
    return LIMN_OK;
}

/* nch: if no directions are kept, the slack is added to the radius. row: d. */
static void put_slack(hull_model *m, const hull_fit *fit, size_t c, size_t p, double *row) {
    double slack = find_slack(fit, row);
    if (p)
        ((double *)writable(m->flat.slack))[c] = slack;
    else
        ((double *)writable(m->flat.radius))[c] += slack;
}

static size_t flat_dim(const hull_model *m, const hull_fit *fit) {
    hull_kind kind = m->options.kind;
    if (kind == HULL_NSC)
        return 0;
    if (kind == HULL_NCH) /* only a bound: none if the hull is the whole space */
        return fit->basis && fit->rank < m->d ? fit->rank : 0;
    return kind == HULL_NRH ? fit->rank : hull_fit_dim(fit, &m->options);
}

static limn_status build_class(limn_context *ctx, void *user, size_t c) {
    const flat_work *w = user;
    hull_model *m = w->m;
    const hull_fit *fit = &w->fits[c];
    size_t p = flat_dim(m, fit);
    double *mean = lm_alloc(&ctx->mem, m->d, 2 * sizeof *mean);
    if (!mean)
        return lm_fail_memory(ctx);
    size_t sphere = m->options.kind == HULL_NHD ? p : SIZE_MAX;
    limn_status status = put_sphere(ctx, m, fit, c, sphere, mean);
    if (status == LIMN_OK)
        put_mean(m, c, mean);
    if (status == LIMN_OK && m->flat.slack)
        put_slack(m, fit, c, p, mean + m->d);
    for (size_t j = 0; j < p && status == LIMN_OK; j++)
        put_direction(m, (size_t)m->flat.start[c] * LM_PANEL + j, fit->basis + j * m->d,
                      length_of(m, fit, j), mean, mean + m->d);
    lm_free(&ctx->mem, mean);
    return status;
}

limn_status hull_build_flat(limn_context *ctx, const lm_train_set *set, const hull_fit *fits,
                            hull_model *m) {
    flat_work work = {fits, m};
    uint32_t *start = lm_alloc_zero(&ctx->mem, m->classes + 1, sizeof *start);
    if (!start)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes; c++) {
        size_t p = flat_dim(m, &fits[c]);
        m->directions += p;
        start[c + 1] = start[c] + panels_for(p);
    }
    m->panels = start[m->classes];
    m->flat.axes = hull_head_axes(m, start);
    limn_status status = hull_take_parts(ctx, m);
    if (status == LIMN_OK) {
        memcpy(writable(m->flat.start), start, (m->classes + 1) * sizeof *start);
        set_origin(fits, m);
        status = lm_work(
            ctx, &(lm_job){
                     .stage = "building", .count = m->classes, .task = build_class, .user = &work});
    }
    if (status == LIMN_OK && m->flat.axes)
        status = hull_build_head(ctx, set, m);
    lm_free(&ctx->mem, start);
    return status;
}

/* ---- sets in feature space ---- */

static size_t curved_dim(const hull_model *m, const hull_fit *fit) {
    return m->options.kind == HULL_NSC   ? 0
           : m->options.kind == HULL_NRH ? fit->rank
                                         : hull_fit_dim(fit, &m->options);
}

static void put_vectors(hull_model *m, const hull_fit *fit, size_t c, size_t p) {
    const hull_curved *v = &m->curved;
    float *high = (float *)writable(v->high) + v->offset[c];
    float *low = (float *)writable(v->low) + v->offset[c];
    double *scale = (double *)writable(v->scale) + (size_t)v->start[c] * LM_PANEL;
    for (size_t j = 0; j < p; j++) {
        lm_split_put(high, low, fit->n, j, fit->vectors + j * fit->n);
        scale[j] = length_of(m, fit, j) / fit->s[j];
    }
}

/* The weights of the centre, and what follows from them. */
static limn_status put_centre(limn_context *ctx, hull_model *m, const hull_fit *fit, size_t c,
                              size_t p) {
    size_t at = (size_t)m->first[c] * LM_PANEL, n = fit->n;
    double *weight = (double *)writable(m->curved.weight) + at;
    double *shift = (double *)writable(m->curved.shift) + at;
    double *constant = writable(m->curved.constant);
    hull_ball ball = {0};
    limn_status status = LIMN_OK;
    if (m->options.kind == HULL_NHD || m->options.kind == HULL_NSC)
        status = hull_ball_make(ctx, fit, p, m->options.nu, &ball);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        bool sphere = m->options.kind == HULL_NSC;
        weight[i] = sphere ? ball.weight[i] : 1 / (double)n;
        shift[i] = sphere ? 0 : fit->shift[i];
    }
    if (status == LIMN_OK)
        constant[c] = m->options.kind == HULL_NSC ? ball.square : fit->constant;
    if (status == LIMN_OK && m->options.kind == HULL_NHD) {
        double *centre =
            (double *)writable(m->curved.centre) + (size_t)m->curved.start[c] * LM_PANEL;
        memcpy(centre, ball.centre, ball.p * sizeof *centre);
        ((double *)writable(m->curved.radius))[c] = ball.radius;
    }
    hull_ball_free(&ctx->mem, &ball);
    return status;
}

static limn_status build_curved_class(limn_context *ctx, void *user, size_t c) {
    const flat_work *w = user;
    size_t p = curved_dim(w->m, &w->fits[c]);
    put_vectors(w->m, &w->fits[c], c, p);
    return put_centre(ctx, w->m, &w->fits[c], c, p);
}

limn_status hull_build_curved(limn_context *ctx, const hull_fit *fits, hull_model *m) {
    flat_work work = {fits, m};
    for (size_t c = 0; c < m->classes; c++) {
        size_t p = curved_dim(m, &fits[c]);
        m->directions += p;
        m->panels += panels_for(p);
        m->vector_floats += (size_t)panels_for(p) * LM_PANEL * fits[c].n;
    }
    limn_status status = hull_take_parts(ctx, m);
    if (status != LIMN_OK)
        return status;
    uint32_t *start = writable(m->curved.start);
    uint64_t *offset = writable(m->curved.offset);
    uint32_t *first = writable(m->first);
    for (size_t c = 0; c < m->classes; c++) {
        start[c + 1] = start[c] + panels_for(curved_dim(m, &fits[c]));
        offset[c + 1] =
            offset[c] + (uint64_t)(start[c + 1] - start[c]) * LM_PANEL * (uint64_t)fits[c].n;
        first[c + 1] = first[c] + panels_for(fits[c].n);
    }
    return lm_work(ctx, &(lm_job){.stage = "building",
                                  .count = m->classes,
                                  .task = build_curved_class,
                                  .user = &work});
}

/* ---- convex hulls ---- */

static limn_status build_convex_class(limn_context *ctx, void *user, size_t c) {
    const flat_work *w = user;
    hull_model *m = w->m;
    const hull_fit *fit = &w->fits[c];
    size_t at = (size_t)m->first[c] * LM_PANEL;
    double *diagonal = (double *)writable(m->convex.diagonal) + at;
    if (!m->options.kernel_space) {
        float *shift = (float *)writable(m->convex.shift) + c * m->d;
        for (size_t j = 0; j < m->d; j++)
            shift[j] = (float)fit->mean[j];
        for (size_t i = 0; i < fit->n; i++)
            for (size_t j = 0; j < m->d; j++) {
                double value =
                    (double)fit->space->x[(size_t)fit->rows[i] * m->d + j] - (double)shift[j];
                diagonal[i] += value * value;
            }
        return LIMN_OK;
    }
    hull_ball ball = {0};
    limn_status status = hull_ball_make(ctx, fit, SIZE_MAX, 0, &ball);
    if (status != LIMN_OK)
        return status;
    memcpy(diagonal, fit->diagonal, fit->n * sizeof *diagonal);
    memcpy((double *)writable(m->convex.weight) + at, ball.weight, fit->n * sizeof *ball.weight);
    ((double *)writable(m->convex.constant))[c] = ball.square;
    ((double *)writable(m->convex.radius))[c] = ball.radius;
    hull_ball_free(&ctx->mem, &ball);
    return LIMN_OK;
}

limn_status hull_build_convex(limn_context *ctx, const hull_fit *fits, hull_model *m) {
    flat_work work = {fits, m};
    return lm_work(ctx, &(lm_job){.stage = "building",
                                  .count = m->classes,
                                  .task = build_convex_class,
                                  .user = &work});
}
