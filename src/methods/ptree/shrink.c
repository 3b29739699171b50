#include "methods/ptree/ptree.h"
limn_status pt_shrink(limn_context *ctx, const lm_train_set *set, pt_model *m) {
    (void)set; (void)m;
    return lm_fail(ctx, LIMN_E_UNSUPPORTED, "later");
}
void pt_unshare(const limn_allocator *mem, void *shared) { (void)mem; (void)shared; }
bool pt_candidate(const lm_shape *shape, size_t index, lm_candidate *out) {(void)shape; (void)index; (void)out; return false; }
