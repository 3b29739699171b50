/* sphere.c: the smallest enclosing sphere (Tax & Duin 2004) as a program of corral.c.
 *
 * Its dual: minimise 1/2 a'Ga - q'a with q = diag(G)/2, sum a = 1, 0 <= a <= bound. The centre is
 * s = sum a_i x_i, and with g = Ga - q the squared distances are d_i^2 = a'Ga - 2 g_i. */
#include "num/qp/corral.h"
#include "num/qp/smo.h"

#include <math.h>

enum { SUPPORT_FIRST = 256, PAIRS_MOST = 30 /* steps for each weight */ };
#define END 1e-10 /* of the bound: a weight this near to an end counts as there */

static double square_at(double s2, double gradient) {
    return fmax(s2 - 2 * gradient, 0);
}

/* The rules of the radius; gradient is that of a. */
static double radius(const double *a, const double *gradient, size_t n, double bound, double s2) {
    double most = 0, outer = INFINITY, inner = -INFINITY, sum = 0;
    size_t free = 0;
    for (size_t i = 0; i < n; i++) {
        double d2 = square_at(s2, gradient[i]);
        most = fmax(most, d2);
        if (a[i] >= bound * (1 - END)) {
            outer = fmin(outer, d2);
        } else if (a[i] > bound * END) {
            sum += d2;
            free++;
        } else {
            inner = fmax(inner, d2);
        }
    }
    if (n == 1)
        return 0;
    if (bound >= 1)
        return most;
    if (free > 0)
        return sum / (double)free;
    return isfinite(inner) ? (inner + outer) / 2 : outer;
}

/* room: 2 n doubles, for q and the gradient. */
static void run(lm_corral_task *task, double *room, double *a, lm_qp_ball *ball, void *scratch) {
    const lm_qp_gram *gram = task->gram;
    double *q = room, *gradient = room + gram->n, s2 = 0;
    for (size_t i = 0; i < gram->n; i++)
        q[i] = gram->diagonal[i] / 2;
    task->q = q;
    lm_corral_run(task, a, gradient, &ball->qp, scratch);
    for (size_t i = 0; i < gram->n; i++)
        s2 += a[i] * (gradient[i] + q[i]);
    ball->s2 = fmax(s2, 0);
    ball->r2 = radius(a, gradient, gram->n, fmax(task->bound, 1 / (double)gram->n), ball->s2);
}

static lm_corral_task task_of(const lm_qp_gram *gram, double bound, double tolerance,
                              size_t support_max) {
    lm_qp_goal goal = {tolerance, INFINITY, -1, NULL, support_max};
    return (lm_corral_task){.gram = gram, .bound = bound, .goal = goal};
}

bool lm_qp_sphere_scratch(size_t n, size_t support_max, size_t *bytes) {
    size_t room;
    return lm_qp_scratch(n, support_max, bytes) && lm_mul(n, 2 * sizeof(double), &room) &&
           lm_add(*bytes, room, bytes);
}

void lm_qp_sphere_run(const lm_qp_gram *gram, double bound, double tolerance, size_t support_max,
                      double *a, lm_qp_ball *ball, void *scratch) {
    lm_corral_task task = task_of(gram, bound, tolerance, support_max);
    double *room = scratch;
    run(&task, room, a, ball, room + 2 * gram->n);
}

/* ---- training ---- */

typedef struct watch {
    limn_context *ctx;
    const char *stage;
    limn_status status;
} watch;

static bool go_on(void *user, double gap) {
    watch *w = user;
    (void)gap;
    w->status = lm_progress(w->ctx, w->stage, 0, 0, -1);
    return w->status == LIMN_OK;
}

/* Uses smo.c, where more weights are free than the corral had room for. room: 4 n doubles. False:
 * it did not converge. */
static bool run_pairs(const lm_corral_task *task, double *room, size_t *list, double *a,
                      lm_qp_ball *ball) {
    const lm_qp_gram *gram = task->gram;
    size_t n = gram->n;
    double *q = room, *gradient = room + n, s2 = 0;
    for (size_t i = 0; i < n; i++)
        q[i] = gram->diagonal[i] / 2;
    lm_smo_task pairs = {.gram = gram,
                         .q = q,
                         .bound = fmax(fmin(task->bound, 1), 1 / (double)n),
                         .tolerance = task->goal.tolerance / 16, /* the radius is its square root */
                         .most = PAIRS_MOST * n,
                         .go_on = task->go_on,
                         .user = task->user};
    if (!lm_smo_run(&pairs, a, gradient, room + 2 * n, list, &ball->qp))
        return false;
    for (size_t i = 0; i < n; i++)
        s2 += a[i] * (gradient[i] + q[i]);
    ball->s2 = fmax(s2, 0);
    ball->r2 = radius(a, gradient, n, fmax(task->bound, 1 / (double)n), ball->s2);
    return true;
}

static limn_status try_pairs(limn_context *ctx, const lm_corral_task *task, double *a,
                             lm_qp_ball *ball, bool *done) {
    size_t n = task->gram->n;
    double *room = lm_alloc(&ctx->mem, n, 4 * sizeof *room);
    size_t *list = lm_alloc(&ctx->mem, n, sizeof *list);
    limn_status status = room && list ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        *done = run_pairs(task, room, list, a, ball);
    lm_free(&ctx->mem, room);
    lm_free(&ctx->mem, list);
    return status;
}

/* The size of the support is not known in advance: where memory is too small, smo.c is tried, and
 * if it does not converge, the corral continues from there with more memory. */
limn_status lm_qp_sphere(limn_context *ctx, const lm_qp_gram *gram, double bound, double tolerance,
                         const char *stage, double *a, lm_qp_ball *ball) {
    watch w = {ctx, stage, LIMN_OK};
    size_t support = SUPPORT_FIRST, iterations = 0, passes = 0;
    for (bool again = true; again;) {
        size_t bytes;
        lm_corral_task task = task_of(gram, bound, tolerance, support);
        task.goal.start = support > SUPPORT_FIRST ? a : NULL;
        task.go_on = go_on;
        task.user = &w;
        double *room =
            lm_qp_sphere_scratch(gram->n, support, &bytes) ? lm_alloc(&ctx->mem, bytes, 1) : NULL;
        if (!room)
            return lm_fail_memory(ctx);
        run(&task, room, a, ball, room + 2 * gram->n);
        lm_free(&ctx->mem, room);
        again = ball->qp.full && w.status == LIMN_OK;
        iterations += ball->qp.iterations;
        passes += ball->qp.passes;
        if (again && support == SUPPORT_FIRST) {
            bool done = false;
            limn_status status = try_pairs(ctx, &task, a, ball, &done);
            if (status != LIMN_OK)
                return status;
            again = !done && w.status == LIMN_OK;
            iterations += ball->qp.iterations;
            passes += ball->qp.passes;
        }
        support *= 2;
    }
    ball->qp.iterations = iterations;
    ball->qp.passes = passes;
    return w.status;
}
