/* fuzz_ranges.c: range files of svm-scale and scale files of e1071 as hostile bytes. What parses
 * must be sound, must scale rows to finite numbers, and it must be possible to write it. */
#include "fuzz_data.h"
#include "scale/ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const lm_ranges *r) {
    REQUIRE(r->count >= 1 && r->list && r->features == (size_t)r->list[r->count - 1].index + 1);
    for (size_t i = 0; i < r->count; i++) {
        REQUIRE(i == 0 || r->list[i - 1].index < r->list[i].index);
        REQUIRE(isfinite(r->list[i].offset) && isfinite(r->list[i].factor));
        REQUIRE(r->list[i].factor >= 0 && (!r->dense || r->list[i].index == i));
    }
    REQUIRE(!r->target || (isfinite(r->target_offset) && isfinite(r->target_factor)));
    REQUIRE(!r->target || r->target_factor >= 0);
}

static void check_scaler(limn_context *ctx, const lm_scaler *s) {
    limn_output *out = NULL;
    float *x = calloc(2 * s->in, sizeof *x);
    REQUIRE(x);
    for (size_t j = 0; j < s->in; j++)
        x[j] = j % 2 ? 3e38f : -3e38f;
    lm_scaler_apply(s, x, 1, x + s->in, NULL);
    for (size_t j = 0; j < s->out; j++)
        REQUIRE(isfinite(x[s->in + j]) && (s->factor[j] > 0 || x[s->in + j] == 0));
    free(x);
    REQUIRE(limn_output_open(ctx, "/dev/null", &out) == LIMN_OK);
    limn_status status = lm_ranges_put(ctx, s, out);
    REQUIRE(status == LIMN_OK || status == LIMN_E_MODEL);
    limn_output_discard(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lm_ranges r;
    limn_context *ctx = fuzz_context();
    limn_status status = lm_ranges_parse(ctx, "fuzz", (const char *)data, size, &r);
    if (status == LIMN_OK) {
        size_t features;
        lm_scaler s;
        check_list(&r);
        if (lm_ranges_match(ctx, &r, r.dense ? r.count : 1, &features) == LIMN_OK) {
            REQUIRE(features <= ((size_t)1 << 17) + 64 * size);
            REQUIRE(lm_ranges_scaler(ctx, &r, features, &s) == LIMN_OK);
            check_scaler(ctx, &s);
            lm_scaler_free(&ctx->mem, &s);
        }
    } else {
        REQUIRE(status == LIMN_E_MODEL && !strchr(ctx->error, '\n'));
        REQUIRE(strncmp(ctx->error, "fuzz: line ", 11) == 0);
    }
    lm_ranges_free(&ctx->mem, &r);
    limn_context_free(ctx);
    return 0;
}
