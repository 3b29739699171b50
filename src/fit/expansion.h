/* expansion.h: a kernel expansion that learns online, with or without a budget:
 *
 *   f_o(x) = sum over j < n of A_jo K(b_j, x)        o < outputs
 *
 * Two classes have one output (above 0: class 0), more have one per class (the largest wins).
 *
 * Averaging: U_j is the sum of the changes of A_j, each times the number t of rows that came before
 * it, so A_j - U_j / t is the mean of A_j over all rows so far.
 *
 * Projection: the Cholesky factor of K(b_i, b_j) gives the combination of the b_j that is nearest
 * to a new x in the space of the kernel, and what of x is left over. The factor is always that of
 * the vectors in their order, appended one by one, so it can be made anew with the same bits. */
#ifndef LIMN_FIT_EXPANSION_H
#define LIMN_FIT_EXPANSION_H

#include "num/cholesky.h"
#include "num/kernel.h"
#include "num/pack.h"

/* The most vectors (panels are numbered by sixteen bits). */
enum { LM_EXPANSION_MOST = 1 << 20 };
/* Kernel values are cut to this size, so that sums of them stay finite. */
#define LM_KERNEL_MOST 1e30f
/* Coefficients too; their drift is at most this times the rows seen. */
#define LM_COEF_MOST 1e100

/* What queries sum: A and A - U / t as floats in blocks of sixteen, all panels of one output after
 * the other. */
typedef struct lm_expansion_sum {
    size_t blocks; /* that there is memory for */
    float *last, *mean;
    uint32_t *start;
    uint16_t *panel;
} lm_expansion_sum;

typedef struct lm_expansion {
    lm_kernel kernel;
    size_t outputs;
    bool averaged;      /* the mean is wanted */
    bool factored;      /* the factor is wanted */
    lm_pack pack;       /* the vectors, the oldest first; pack.d features */
    double *coef;       /* A: n x outputs */
    double *drift;      /* U: n x outputs; without averaging unused, and NULL if borrowed */
    double steps;       /* t */
    size_t room;        /* vectors that there is memory for; 0: coef, drift and pack are borrowed */
    lm_cholesky factor; /* empty while the rest is borrowed from a file */
    double *row;        /* room: of the factor's next row */
    double *alpha;      /* room: the last projection */
    float *values;      /* room, and a row of features: work space */
    lm_expansion_sum sum;
} lm_expansion;

/* A change of coefficients: up gains, down loses. */
typedef struct lm_step {
    size_t up, down; /* outputs; down is LM_NO_OUTPUT where there is only one */
    double by;
} lm_step;
#define LM_NO_OUTPUT SIZE_MAX

/* Zero-initialise, set kernel, outputs, factored and pack.d. */
void lm_expansion_free(const limn_allocator *mem, lm_expansion *e);
/* Memory of its own for n vectors, at least; nothing else changes. */
limn_status lm_expansion_reserve(limn_context *ctx, lm_expansion *e, size_t n);
/* For an expansion with borrowed arrays: makes what queries sum. */
limn_status lm_expansion_settle(limn_context *ctx, lm_expansion *e);
/* A copy with memory of its own for n vectors, at least. To be freed after a failure too. */
limn_status lm_expansion_copy(limn_context *ctx, const lm_expansion *from, size_t n,
                              lm_expansion *to);
/* From now on there are this many outputs, more than before. The first output of two classes
 * becomes those of class 0 and 1. */
limn_status lm_expansion_widen(limn_context *ctx, lm_expansion *e, size_t outputs);

/* ---- queries ---- */

/* Floats of a row of kernel values. */
static inline size_t lm_expansion_width(const lm_expansion *e) {
    return e->pack.panels * LM_PANEL;
}
/* values[j] = K(b_j, x). */
void lm_expansion_values(const lm_expansion *e, const float *x, float *values);
/* f (outputs) from such values, by A or by its mean. Never infinite. */
void lm_expansion_sums(const lm_expansion *e, bool mean, const float *values, float *f);
/* K(x, x). */
double lm_expansion_self(const lm_expansion *e, const float *x);

/* ---- learning: in memory of its own; afterwards lm_expansion_tick ---- */

/* How far f is right about the label: y f with one output, else half the lead over the best of the
 * others; and the step that a mistake makes. */
double lm_expansion_margin(const float *f, size_t outputs, size_t label, lm_step *step);
/* Puts the combination of vectors that is nearest to x into e->alpha; there must be room for one
 * more. Returns the share of K(x, x) that it leaves over: 0 where it is no more than rounding may
 * leave, else at most 1. */
double lm_expansion_project(lm_expansion *e, const float *values, double self);
/* Adds e->alpha times the step to the coefficients. */
void lm_expansion_move(lm_expansion *e, const lm_step *step);
/* Adds x as a vector with that step; there must be room, and values are those of x. */
void lm_expansion_add(lm_expansion *e, const float *x, const float *values, const lm_step *step);
/* Adds x as a vector with these coefficients (NULL: 0). x is not in e->values. */
void lm_expansion_put(lm_expansion *e, const float *x, const double *coef);
/* Multiplies all coefficients. */
void lm_expansion_shrink(lm_expansion *e, double factor);
void lm_expansion_remove(lm_expansion *e, size_t index);
/* Counts one more row, and makes what queries sum. changed: whether coefficients have. */
void lm_expansion_tick(lm_expansion *e, bool changed);
/* Averaging starts anew, from the coefficients as they are. */
void lm_expansion_restart(lm_expansion *e);
/* Makes what queries sum, after other changes of coefficients. */
void lm_expansion_refresh(lm_expansion *e);
/* Makes the factor from the vectors. */
void lm_expansion_factorise(lm_expansion *e);

#endif
