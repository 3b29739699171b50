/* box.h: quadratic programs in a box with a limit on the sum, and sets that approximate their
 * answers:
 *
 *   minimise  1/2 p'Qp - w'p   over   0 <= p_i <= 1,  sum p_i <= most
 *
 * Nothing here allocates or takes a lock. Results depend on nothing but the arguments (up to the
 * rounding of the instruction set): ties go to the lowest index. */
#ifndef LIMN_NUM_QP_BOX_H
#define LIMN_NUM_QP_BOX_H

#include "base/base.h"

typedef struct lm_box_task {
    size_t n;
    const double *q;  /* n x n, symmetric, positive semi-definite, finite */
    const double *w;  /* n, finite */
    double most;      /* of the sum, 0 or more; INFINITY: no limit */
    double tolerance; /* stop when no pair violates by more than this (absolute) */
    size_t steps;     /* at most */
} lm_box_task;

/* Improves the feasible p. Numbers outside [0, 1] are cut, and where the sum exceeds most by more
 * than rounding, p is scaled down. gradient (n): Qp - w on return, computed anew from p. Returns
 * the steps taken. violation (or NULL): what is left of it, above the tolerance only if the steps
 * ran out or rounding prevents progress. */
size_t lm_box_solve(const lm_box_task *task, double *p, double *gradient, double *violation);

/* The best set of at most floor(most) items that swap descent finds, starting from the floor(most)
 * largest p that are positive. chosen: n flags. gradient (n): that of the set, on return. Returns
 * the value of the set, at most 0. */
double lm_box_round(const lm_box_task *task, const double *p, uint8_t *chosen, double *gradient);

/* The best of the sets that are drawn, each item with probability p_i; sets of more than most items
 * do not count. Returns its value; INFINITY if no set counts, and chosen has the floor(most)
 * largest p that are positive. chosen: n flags; room: n doubles. */
double lm_box_draw(const lm_box_task *task, const double *p, size_t draws, lm_rng *rng,
                   uint8_t *chosen, double *room);

#endif
