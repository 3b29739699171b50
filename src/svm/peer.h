/* peer.h: the same machine as LIBSVM itself evaluates it, to compare with. */
#ifndef LIMN_SVM_PEER_H
#define LIMN_SVM_PEER_H

#include "svm/svm.h"

typedef struct lm_svm_peer lm_svm_peer;

/* Gives LIBSVM the machine and n rows (stride floats apart, of which svm->d count) in its own form,
 * so that a call measures only its evaluation. */
limn_status lm_svm_peer_make(limn_context *ctx, const lm_svm *svm, const float *x, size_t stride,
                             size_t n, lm_svm_peer **out);
/* svm_predict for row: a class (numbered from 0) or a value. */
double lm_svm_peer_answer(const lm_svm_peer *peer, size_t row);
void lm_svm_peer_free(lm_svm_peer *peer);

#endif
