/* machine.h: a support vector machine laid out for evaluation: the same f as svm/svm.h defines, in
 * floats, with everything that does not depend on the query precomputed.
 *
 * Support vectors are stored in panels of sixteen, each panel of one class (the rest of a class's
 * last panel is zero vectors with zero coefficients). A query's kernel values are a packed product
 * and a transform; P_c[m] = sum over the vectors of class c of coefficient row m times kernel value
 * is a packed sum; and
 *
 *   f_ij = P_i[j - 1] + P_j[i] - rho_ij
 *
 * rbf: 2^(g |x|^2 + g |s|^2 - 2 g x.s), g = -gamma log2(e), with the vectors scaled by -2 g and g
 * |s|^2 kept beside them; x and s are relative to the mean of the vectors, so that little cancels.
 * Where gamma |s|^2 or gamma |x|^2 is still large, distances are summed directly. A linear kernel
 * is one vector per function: w = sum of coef s.
 *
 * |f - f_exact| <= 1e-5 (sum |coef| K + |rho|) while the exponents stay in range; one query and
 * many give the same result bit for bit. */
#ifndef LIMN_SVM_MACHINE_H
#define LIMN_SVM_MACHINE_H

#include "base/scratch.h"
#include "num/kernel_sums.h"
#include "svm/svm.h"

/* Panels per segment, at most: longer classes are split, so that the kernel values of a segment and
 * a tile of queries stay in L1. */
enum { LM_MACHINE_SEGMENT = 24 };
/* Where g |s|^2 or g |x|^2 is larger, too many of the 24 bits would cancel. */
#define LM_MACHINE_DIRECT 24.0
#define LM_LOG2_E 1.4426950408889634

typedef struct lm_machine_segment {
    size_t first, panels; /* panels of one class */
    size_t group;         /* of classes: 0 unless SVC */
    size_t blocks, count; /* coefficient blocks that are not all 0: the first, how many */
} lm_machine_segment;

typedef struct lm_machine {
    const lm_svm *svm;              /* borrowed */
    bool direct;                    /* rbf by direct distances */
    size_t functions, groups, rows; /* rows: coefficient rows of a vector */
    lm_pack pack;                   /* the vectors, or one per function for a linear kernel */
    float *bias;                    /* rbf: of each place in the panels */
    float *centre;                  /* rbf: d; NULL otherwise */
    uint32_t *place;                /* of each vector in the panels */
    /* Coefficients of the segments that are not 0, in blocks (num/kernel_sums.h). */
    uint32_t *start; /* segments x (rows + 1), counted from the segment's first block */
    uint16_t *panel;
    float *list;
    lm_machine_segment *segment;
    size_t segments;
    /* For a single function: its vectors with a coefficient other than 0. */
    uint32_t *pair_vector;
    double *pair_coef;
    size_t *pair_start; /* functions + 1 */
} lm_machine;

limn_status lm_machine_build(limn_context *ctx, const lm_svm *svm, lm_machine *machine);
void lm_machine_free(const limn_allocator *mem, lm_machine *machine);

/* Bytes of scratch (64-byte aligned) for n <= 256 queries at once; false on overflow. */
bool lm_machine_scratch(const lm_machine *machine, size_t n, size_t *bytes);
/* f for n queries (x_stride floats apart): n x functions. Where x_stride is d + 1, the last float
 * of a query is the sum of squares of features that the machine does not know (they count in
 * rbf). */
void lm_machine_values(const lm_machine *machine, const float *x, size_t x_stride, size_t n,
                       double *f, void *scratch);
/* One f for one query, from the vectors of that function only. beyond: that sum of squares, or
 * 0. */
double lm_machine_value(const lm_machine *machine, size_t function, const float *x, float beyond);

#endif
