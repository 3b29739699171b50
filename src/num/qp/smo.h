/* smo.h: the program of qp.h by steps on pairs of weights (sequential minimal optimisation). A step
 * costs two columns of G and no factor, so it suits problems with many free weights; where few are
 * free, corral.c is several times faster. */
#ifndef LIMN_NUM_QP_SMO_H
#define LIMN_NUM_QP_SMO_H

#include "num/qp/qp.h"

typedef struct lm_smo_task {
    const lm_qp_gram *gram;
    const double *q;
    double bound;                          /* of the weights; 1 or more: none */
    double tolerance;                      /* stop at a violation up to tolerance * max G_ii */
    size_t most;                           /* steps */
    bool (*go_on)(void *user, double gap); /* asked now and then; false: stop. NULL: always go on */
    void *user;
} lm_smo_task;

/* Improves the feasible a; gradient (n): Ga - q on return, computed from a. room: 2 n doubles;
 * list: n. True when it is within the tolerance; result has the details. */
bool lm_smo_run(const lm_smo_task *task, double *a, double *gradient, double *room, size_t *list,
                lm_qp_result *result);

#endif
