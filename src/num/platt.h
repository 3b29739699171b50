/* platt.h: decision values into probabilities: Platt's sigmoid, and the coupling of pairs. */
#ifndef LIMN_NUM_PLATT_H
#define LIMN_NUM_PLATT_H

#include "base/base.h"

typedef struct lm_sigmoid_fit {
    double a, b; /* P(positive | f) = 1 / (1 + exp(a f + b)) */
} lm_sigmoid_fit;

/* The regularised maximum-likelihood fit of H.-T. Lin, C.-J. Lin and R. C. Weng, "A note on Platt's
 * probabilistic outputs for support vector machines", 2007 (Newton with backtracking). n may be 0,
 * and all rows may be of one kind. scratch: n doubles. */
lm_sigmoid_fit lm_platt_fit(const double *f, const bool *positive, size_t n, double *scratch);
/* P(positive | f), without overflow. */
double lm_platt(lm_sigmoid_fit fit, double f);

/* Class probabilities p[k] from pairwise ones, r[i * k + j] = P(i | i or j), r_ij + r_ji = 1, all
 * inside (0, 1): the second method of T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates
 * for multi-class classification by pairwise coupling", 2004. scratch: k * k + k doubles. Allocates
 * nothing. */
typedef enum lm_coupling {
    LM_COUPLE_EXACT, /* to 1e-10; k = 2 in closed form */
    LM_COUPLE_LIBSVM /* LIBSVM 3.24's iteration, step by step: the same digits (k = 2: no iteration)
                      */
} lm_coupling;
void lm_couple(size_t k, const double *r, lm_coupling how, double *p, double *scratch);

#endif
