/* corral.h: the solver behind the programs of qp.h. */
#ifndef LIMN_NUM_QP_CORRAL_H
#define LIMN_NUM_QP_CORRAL_H

#include "num/qp/qp.h"

typedef struct lm_corral_task {
    const lm_qp_gram *gram;
    const double *q;
    double bound; /* 1 or more: none */
    lm_qp_goal goal;
    bool (*go_on)(void *user, double gap); /* asked once per pass; false: stop. NULL: always */
    void *user;
} lm_corral_task;

/* a: feasible on return. gradient (n, may be NULL): Ga - q. */
void lm_corral_run(const lm_corral_task *task, double *a, double *gradient, lm_qp_result *result,
                   void *scratch);

/* The least b'g over all feasible b. room: n doubles. */
double lm_qp_least(const double *g, size_t n, double bound, double *room);

#endif
