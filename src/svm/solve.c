/* solve.c: runs libsvm's SMO so that it can be cancelled.
 *
 * svm_train cannot be interrupted: it runs until it has converged, minutes or hours on large data,
 * and calls back only to print. So it runs on separate threads while the calling thread waits,
 * reports progress and checks for cancellation ten times per second. On cancellation the calling
 * thread returns at once; each solver thread exits at its next callback (with pthread_exit, which
 * unwinds libsvm's frames) or at the end of its problem. Everything the threads use therefore
 * belongs to a job that the last one to exit frees, and comes from malloc, not from the context,
 * which may be gone by then. What libsvm itself had allocated for an abandoned problem is leaked:
 * unwinding does not free its arrays. */
#include "svm/solve.h"

#include <libsvm/svm.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct lm_svm_rows {
    atomic_int users; /* the creator, and each job */
    size_t n;
    struct svm_node **row;
    struct svm_node *nodes;
};

/* ---- rows ---- */

void lm_svm_rows_free(lm_svm_rows *rows) {
    if (!rows || atomic_fetch_sub(&rows->users, 1) > 1)
        return;
    free(rows->row);
    free(rows->nodes);
    free(rows);
}

limn_status lm_svm_rows_new(limn_context *ctx, const float *x, size_t n, size_t d,
                            lm_svm_rows **out) {
    size_t cells = n, all;
    *out = NULL;
    if (n > INT_MAX || d >= INT_MAX || !lm_mul(n, d, &all))
        return lm_fail(ctx, LIMN_E_DATA, "svm: a table of %zu x %zu values is too large", n, d);
    for (size_t i = 0; i < all; i++)
        cells += x[i] != 0;
    lm_svm_rows *rows = calloc(1, sizeof *rows);
    if (rows) {
        atomic_init(&rows->users, 1);
        rows->n = n;
        rows->row = calloc(n, sizeof *rows->row);
        rows->nodes = calloc(cells, sizeof *rows->nodes);
    }
    if (!rows || !rows->row || !rows->nodes) {
        lm_svm_rows_free(rows);
        return lm_fail_memory(ctx);
    }
    struct svm_node *node = rows->nodes;
    for (size_t i = 0; i < n; i++) {
        rows->row[i] = node;
        for (size_t j = 0; j < d; j++)
            if (x[i * d + j] != 0)
                *node++ = (struct svm_node){(int)j + 1, (double)x[i * d + j]};
        *node++ = (struct svm_node){-1, 0};
    }
    *out = rows;
    return LIMN_OK;
}

/* ---- jobs ---- */

typedef struct problem {
    struct svm_problem data;
    struct svm_parameter parameter;
    int labels[2];
    double weights[2];
    double *coef;
    double rho;
    bool solved;
} problem;

typedef struct job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    lm_svm_rows *rows;
    problem *problems;
    size_t count, next, done;
    int users; /* threads, and the caller */
    atomic_bool cancelled;
} job;

static void job_free(job *j) {
    for (size_t i = 0; j->problems && i < j->count; i++) {
        free(j->problems[i].data.x);
        free(j->problems[i].data.y);
        free(j->problems[i].coef);
    }
    free(j->problems);
    lm_svm_rows_free(j->rows);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

static void job_leave(void *opaque) {
    job *j = opaque;
    pthread_mutex_lock(&j->lock);
    bool last = --j->users == 0;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (last)
        job_free(j);
}

/* libsvm's callback has no user argument. */
static _Thread_local job *current;

static void on_print(const char *text) {
    (void)text;
    if (current && atomic_load(&current->cancelled))
        pthread_exit(NULL);
}

static void run_problem(problem *p) {
    struct svm_model *model = svm_train(&p->data, &p->parameter);
    if (!model)
        return;
    for (int s = 0; s < model->l; s++)
        p->coef[model->sv_indices[s] - 1] = model->sv_coef[0][s];
    p->rho = model->rho[0];
    p->solved = true;
    svm_free_and_destroy_model(&model);
}

/* Takes problems until none is left. */
static void run_job(job *j) {
    pthread_mutex_lock(&j->lock);
    while (j->next < j->count && !atomic_load(&j->cancelled)) {
        problem *p = &j->problems[j->next++];
        pthread_mutex_unlock(&j->lock);
        run_problem(p);
        pthread_mutex_lock(&j->lock);
        j->done++;
        pthread_cond_signal(&j->changed);
    }
    pthread_mutex_unlock(&j->lock);
}

static void *run_thread(void *opaque) {
    current = opaque;
    pthread_cleanup_push(job_leave, opaque);
    run_job(opaque);
    pthread_cleanup_pop(1);
    return NULL;
}

/* ---- problems ---- */

static struct svm_parameter parameter_of(const lm_svm_options *o) {
    static const int types[] = {C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR};
    static const int kernels[] = {LINEAR, POLY, RBF, SIGMOID};
    return (struct svm_parameter){.svm_type = types[o->type],
                                  .kernel_type = kernels[o->kernel.type],
                                  .degree = o->kernel.degree,
                                  .gamma = o->kernel.gamma,
                                  .coef0 = o->kernel.coef0,
                                  .cache_size = o->cache_mb,
                                  .eps = o->tolerance,
                                  .C = o->c,
                                  .nu = o->nu,
                                  .p = o->epsilon,
                                  .shrinking = o->shrinking};
}

static limn_status fill_problem(limn_context *ctx, const job *j, const lm_svm_options *options,
                                const lm_svm_part *part, problem *p) {
    p->data.l = (int)part->n;
    p->data.x = calloc(part->n, sizeof *p->data.x);
    p->data.y = calloc(part->n, sizeof *p->data.y);
    p->coef = calloc(part->n, sizeof *p->coef);
    if (!p->data.x || !p->data.y || !p->coef)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < part->n; i++) {
        p->data.x[i] = j->rows->row[part->row[i]];
        p->data.y[i] = part->y[i];
    }
    p->parameter = parameter_of(options);
    p->labels[0] = 1;
    p->labels[1] = -1;
    p->weights[0] = part->weight[0];
    p->weights[1] = part->weight[1];
    if (options->type == LM_C_SVC) {
        p->parameter.nr_weight = 2;
        p->parameter.weight_label = p->labels;
        p->parameter.weight = p->weights;
    }
    const char *wrong = svm_check_parameter(&p->data, &p->parameter);
    if (!wrong)
        return LIMN_OK;
    if (strstr(wrong, "infeasible"))
        return lm_fail(ctx, LIMN_E_DATA,
                       "svm: nu=%g is too large for classes of such different sizes; use a smaller "
                       "nu or type=c_svc",
                       options->nu);
    return lm_fail(ctx, LIMN_E_USAGE, "svm: %s", wrong);
}

static limn_status job_new(limn_context *ctx, const lm_svm_rows *rows,
                           const lm_svm_options *options, const lm_svm_part *parts, size_t count,
                           job **out) {
    *out = NULL;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return lm_fail_memory(ctx);
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&j->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    j->rows = (lm_svm_rows *)(uintptr_t)rows; /* reference-counted, never written */
    atomic_fetch_add(&j->rows->users, 1);
    j->users = 1;
    j->count = count;
    j->problems = calloc(count, sizeof *j->problems);
    limn_status status = j->problems ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < count && status == LIMN_OK; i++)
        status = fill_problem(ctx, j, options, &parts[i], &j->problems[i]);
    if (status != LIMN_OK)
        job_free(j);
    else
        *out = j;
    return status;
}

/* ---- solving ---- */

static size_t start_threads(job *j, size_t wanted) {
    size_t started = 0;
    while (started < wanted) {
        pthread_t thread;
        pthread_mutex_lock(&j->lock);
        j->users++;
        pthread_mutex_unlock(&j->lock);
        if (pthread_create(&thread, NULL, run_thread, j) != 0) {
            pthread_mutex_lock(&j->lock);
            j->users--;
            pthread_mutex_unlock(&j->lock);
            break;
        }
        pthread_detach(thread);
        started++;
    }
    return started;
}

/* Waits until all is done; the lock is held on return. */
static limn_status supervise(limn_context *ctx, job *j, const char *stage) {
    limn_status status = LIMN_OK;
    pthread_mutex_lock(&j->lock);
    while (status == LIMN_OK && j->done < j->count) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&j->changed, &j->lock, &until);
        double fraction = j->count > 1 ? (double)j->done / (double)j->count : -1;
        if (j->done < j->count && j->users == 1) /* every thread has ended, but work is left */
            break;
        pthread_mutex_unlock(&j->lock);
        status = lm_progress(ctx, stage, 0, 0, fraction);
        pthread_mutex_lock(&j->lock);
    }
    return status;
}

static limn_status collect(limn_context *ctx, const job *j, lm_svm_part *parts) {
    for (size_t i = 0; i < j->count; i++) {
        if (!j->problems[i].solved)
            return lm_fail(ctx, LIMN_E_MEMORY, "svm: training ran out of memory");
        memcpy(parts[i].coef, j->problems[i].coef, parts[i].n * sizeof *parts[i].coef);
        parts[i].rho = j->problems[i].rho;
    }
    return LIMN_OK;
}

limn_status lm_svm_solve(limn_context *ctx, const lm_svm_rows *rows, const lm_svm_options *options,
                         lm_svm_part *parts, size_t count, const char *stage) {
    job *j;
    limn_status status = job_new(ctx, rows, options, parts, count, &j);
    if (status != LIMN_OK)
        return status;
    svm_set_print_string_function(on_print);
    size_t threads = (size_t)ctx->threads < count ? (size_t)ctx->threads : count;
    if (start_threads(j, threads) == 0)
        run_job(j); /* no thread could be created: run here, not cancellable */
    status = supervise(ctx, j, stage);
    if (status == LIMN_OK)
        status = collect(ctx, j, parts);
    else
        atomic_store(&j->cancelled, true);
    pthread_mutex_unlock(&j->lock);
    job_leave(j);
    return status;
}
