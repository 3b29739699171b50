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
/* The same fit with b = 0, to the targets of a set of yes positive and no other rows of which these
 * are a sample. Returns a, which is below 0, so that P(positive | f) is above 1/2 where f is above
 * 0; where the rows say otherwise, it is close to 0. */
double lm_slope_fit(const double *f, const bool *positive, size_t n, double yes, double no,
                    double *scratch);
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

/* ---- answers of one-vs-one machines: f of the pairs (0,1), (0,2), ..., (1,2), ... ---- */

/* The class with the most votes, f > 0 being one for the first of a pair; ties go to the lowest
 * class number. votes: k. */
int32_t lm_vote_pairs(size_t k, const double *f, int32_t *votes);
/* Class probabilities p[k]: each f through the sigmoid of its pair, kept 1e-7 away from 0 and 1,
 * and coupled. scratch: lm_couple_scratch(k) doubles. */
void lm_couple_values(size_t k, const double *f, const double *a, const double *b, lm_coupling how,
                      double *p, double *scratch);
static inline size_t lm_couple_scratch(size_t k) {
    return 2 * k * k + k;
}

/* Lets the class that is answered have the largest of k probabilities, also if others are as
 * large. */
void lm_prefer(size_t class, size_t k, double *p);

#endif
