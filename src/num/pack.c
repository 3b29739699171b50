/* pack.c: building and growing packed sets, and the functions of pack.h, which call the chosen
 * kernels.
 *
 * The k smallest values: candidates are gathered in index order while they are below the k-th
 * smallest value known so far; whenever the buffer is full, quickselect keeps the best k of it and
 * lowers that bound. Each round of O(k) work follows O(k) admissions, so the cost is one pass over
 * the values plus the work for admitted values, O(n) at worst; the k survivors are sorted at the
 * end. Values are compared as integers whose order is that of the floats, then by index, so no two
 * are equal. */
#include "num/pack.h"

#include "num/simd/simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- the set ---- */

static size_t panels_of(size_t n) {
    return n / LM_PANEL + (n % LM_PANEL != 0);
}

bool lm_pack_floats(size_t n, size_t d, size_t *floats) {
    size_t row;
    return lm_mul(d, LM_PANEL, &row) && lm_mul(panels_of(n), row, floats);
}

static limn_status fail_size(limn_context *ctx, size_t n, size_t d) {
    return lm_fail(ctx, LIMN_E_MEMORY, "a table of %zu x %zu values does not fit in memory", n, d);
}

static limn_status fail_empty(limn_context *ctx) {
    return lm_fail(ctx, LIMN_E_USAGE, "a packed set needs at least one feature");
}

/* Sixteen rows are read side by side, so that each cache line is fully used while it is in cache,
 * and the panel is written sequentially, at the speed of memory. */
static void pack_panel(const float *rows, size_t count, size_t d, size_t stride, float *panel) {
    if (count < LM_PANEL)
        memset(panel, 0, d * LM_PANEL * sizeof *panel);
    for (size_t j = 0; j < d; j++, panel += LM_PANEL) {
        if (count == LM_PANEL) /* a constant count, which compilers unroll */
            for (size_t i = 0; i < LM_PANEL; i++)
                panel[i] = rows[i * stride + j];
        else
            for (size_t i = 0; i < count; i++)
                panel[i] = rows[i * stride + j];
    }
}

limn_status lm_pack_build(limn_context *ctx, const float *rows, size_t n, size_t d, size_t stride,
                          lm_pack *pack) {
    memset(pack, 0, sizeof *pack);
    size_t floats;
    if (!d)
        return fail_empty(ctx);
    if (!lm_pack_floats(n, d, &floats) || floats > ctx->memory_limit / sizeof(float))
        return fail_size(ctx, n, d);
    float *data = NULL;
    if (n) {
        data = lm_alloc_aligned(&ctx->mem, floats, sizeof *data);
        if (!data)
            return fail_size(ctx, n, d);
        for (size_t i = 0; i < n; i += LM_PANEL) {
            size_t count = n - i < LM_PANEL ? n - i : LM_PANEL;
            pack_panel(rows + i * stride, count, d, stride, data + i * d);
        }
    }
    *pack = (lm_pack){n, d, panels_of(n), panels_of(n), data};
    return LIMN_OK;
}

void lm_pack_view(const float *data, size_t n, size_t d, lm_pack *pack) {
    *pack = (lm_pack){n, d, panels_of(n), 0, (float *)(uintptr_t)data};
}

void lm_pack_free(const limn_allocator *mem, lm_pack *pack) {
    if (pack->capacity_panels)
        lm_free_aligned(mem, pack->data);
    memset(pack, 0, sizeof *pack);
}

/* A view may end inside a panel of a longer set. */
static void clear_rest(const lm_pack *pack, float *data) {
    for (size_t i = pack->n; i < pack->panels * LM_PANEL; i++)
        for (size_t j = 0; j < pack->d; j++)
            data[((pack->panels - 1) * pack->d + j) * LM_PANEL + i % LM_PANEL] = 0;
}

/* Moves the rows to new memory of the pack's own, with room for `capacity` panels. */
static limn_status move(limn_context *ctx, lm_pack *pack, size_t capacity, size_t n) {
    size_t step = pack->d * LM_PANEL, floats;
    float *data =
        lm_mul(capacity, step, &floats) ? lm_alloc_aligned(&ctx->mem, floats, sizeof *data) : NULL;
    if (!data)
        return fail_size(ctx, n, pack->d);
    if (pack->panels)
        memcpy(data, pack->data, pack->panels * step * sizeof *data);
    clear_rest(pack, data);
    if (pack->capacity_panels)
        lm_free_aligned(&ctx->mem, pack->data);
    pack->data = data;
    pack->capacity_panels = capacity;
    return LIMN_OK;
}

/* Makes room for one more panel. */
static limn_status grow(limn_context *ctx, lm_pack *pack) {
    size_t capacity;
    if (!lm_mul(pack->panels, 2, &capacity))
        return fail_size(ctx, pack->n + 1, pack->d);
    return move(ctx, pack, capacity ? capacity : 1, pack->n + 1);
}

limn_status lm_pack_reserve(limn_context *ctx, lm_pack *pack, size_t n) {
    size_t floats;
    n = n > pack->n ? n : pack->n;
    if (!pack->d)
        return fail_empty(ctx);
    if (!n || (pack->capacity_panels && panels_of(n) <= pack->capacity_panels))
        return LIMN_OK;
    if (!lm_pack_floats(n, pack->d, &floats) || floats > ctx->memory_limit / sizeof(float))
        return fail_size(ctx, n, pack->d);
    return move(ctx, pack, panels_of(n), n);
}

limn_status lm_pack_append(limn_context *ctx, lm_pack *pack, const float *row) {
    bool opens_panel = pack->n % LM_PANEL == 0;
    if (!pack->d)
        return fail_empty(ctx);
    if (!pack->capacity_panels || (opens_panel && pack->panels == pack->capacity_panels)) {
        limn_status status = grow(ctx, pack);
        if (status)
            return status;
    }
    float *panel = pack->data + pack->n / LM_PANEL * pack->d * LM_PANEL;
    if (opens_panel) {
        memset(panel, 0, pack->d * LM_PANEL * sizeof *panel);
        pack->panels++;
    }
    for (size_t j = 0; j < pack->d; j++)
        panel[j * LM_PANEL + pack->n % LM_PANEL] = row[j];
    pack->n++;
    return LIMN_OK;
}

/* The rows of a panel after `lane` move up by one; the first one of the next panel follows them. */
static void close_gap(lm_pack *pack, size_t p, size_t lane) {
    size_t step = pack->d * LM_PANEL;
    float *lanes = pack->data + p * step;
    bool more = p + 1 < pack->panels;
    for (size_t j = 0; j < pack->d; j++, lanes += LM_PANEL) {
        memmove(lanes + lane, lanes + lane + 1, (LM_PANEL - 1 - lane) * sizeof *lanes);
        lanes[LM_PANEL - 1] = more ? lanes[step] : 0;
    }
}

void lm_pack_remove(lm_pack *pack, size_t index) {
    for (size_t p = index / LM_PANEL; p < pack->panels; p++)
        close_gap(pack, p, p == index / LM_PANEL ? index % LM_PANEL : 0);
    pack->n--;
    pack->panels = panels_of(pack->n);
}

void lm_pack_row(const lm_pack *pack, size_t index, float *row) {
    const float *panel = pack->data + index / LM_PANEL * pack->d * LM_PANEL;
    for (size_t j = 0; j < pack->d; j++)
        row[j] = panel[j * LM_PANEL + index % LM_PANEL];
}

void lm_pack_norms(const lm_pack *pack, float *out) {
    lm_simd_get()->norms(pack->data, pack->d, pack->n, out);
}

/* ---- queries ---- */

static_assert(LM_MIN + 1 == LM_METRICS, "every metric has its code");

void lm_pack_query(const lm_pack *pack, lm_metric metric, size_t first, size_t count,
                   const float *x, float *out) {
    const float *data = pack->data + first * pack->d * LM_PANEL;
    lm_simd_get()->block[metric](data, pack->d, count, x, 0, 1, out, 0, false);
}

void lm_pack_block(const lm_pack *pack, lm_metric metric, size_t first, size_t count,
                   const float *x, size_t x_stride, size_t m, float *out, size_t out_stride) {
    const float *data = pack->data + first * pack->d * LM_PANEL;
    bool more = first + count < pack->panels;
    lm_simd_get()->block[metric](data, pack->d, count, x, x_stride, m, out, out_stride, more);
}

/* ---- reductions and transforms ---- */

size_t lm_argmin(const float *values, size_t n) {
    return lm_simd_get()->argmin(values, n);
}

size_t lm_below(const float *values, size_t n, float bound, uint32_t *index) {
    return lm_simd_get()->below(values, n, bound, index);
}

size_t lm_below_expanded(const float *dots, const float *norms, size_t n, float bound,
                         uint32_t *index) {
    return lm_simd_get()->below_expanded(dots, norms, n, bound, index);
}

void lm_segment_argmin(const float *values, const uint32_t *start, size_t count, uint32_t *index) {
    lm_simd_get()->segment_argmin(values, start, count, index);
}

void lm_cosine(float *values, size_t n, const float *norms, float x_norm) {
    lm_simd_get()->cosine(values, n, norms, x_norm);
}

/* ---- the k smallest ---- */

/* Ascending in (value, index); NaN is above infinity, the two zeros are equal. */
static inline uint64_t key_of(const float *values, uint32_t index) {
    float value = values[index] + 0.f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value != value ? UINT32_MAX : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)bits << 32 | index;
}

static inline void swap(uint32_t *a, uint32_t *b) {
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves items below the median of three to the front; returns the place of that median. */
static size_t partition(const float *values, uint32_t *item, size_t n) {
    uint32_t *low = item, *middle = item + n / 2, *high = item + n - 1;
    if (key_of(values, *middle) < key_of(values, *low))
        swap(middle, low);
    if (key_of(values, *high) < key_of(values, *low))
        swap(high, low);
    if (key_of(values, *high) < key_of(values, *middle))
        swap(high, middle);
    swap(middle, high);
    uint64_t pivot = key_of(values, *high);
    size_t place = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (key_of(values, item[i]) < pivot)
            swap(&item[i], &item[place++]);
    swap(&item[place], high);
    return place;
}

static void sift(const float *values, uint32_t *heap, size_t root, size_t n) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && key_of(values, heap[child]) < key_of(values, heap[child + 1]))
            child++;
        if (key_of(values, heap[child]) < key_of(values, heap[root]))
            return;
        swap(&heap[root], &heap[child]);
    }
}

/* Not qsort: that may allocate. */
static void heap_sort(const float *values, uint32_t *item, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift(values, item, i, n);
    for (size_t end = n; end-- > 1;) {
        swap(&item[0], &item[end]);
        sift(values, item, 0, end);
    }
}

/* Moves the k smallest to the front, the k-th of them to item[k - 1]. Sorts the rest after too many
 * bad pivots. */
static void select_front(const float *values, uint32_t *item, size_t n, size_t k) {
    for (int round = 0; n > 1; round++) {
        if (round > 64) {
            heap_sort(values, item, n);
            return;
        }
        size_t place = partition(values, item, n);
        if (place == k - 1)
            return;
        if (place >= k) {
            n = place;
        } else {
            item += place + 1;
            n -= place + 1;
            k -= place + 1;
        }
    }
}

/* Values that gather looks at in one step. */
enum { STEP_MIN = 64, STEP_MAX = 1024 };

/* The largest bound that admits only values below the k-th; NaN counts as above infinity. */
static float bound_below(float kth) {
    return kth != kth ? INFINITY : nextafterf(kth, -INFINITY);
}

/* Appends to item[k..n) the candidates of values[at..] that are below the k-th of item[0..k), in
 * steps that grow; returns the new count when every value has been seen or it is time to select
 * again, and advances *at. */
static size_t gather(const float *values, size_t n, size_t k, uint32_t *item, size_t *at,
                     size_t *step) {
    const lm_simd *simd = lm_simd_get();
    float bound = bound_below(values[item[k - 1]]);
    size_t count = k;
    while (*at < n && count <= 2 * k + STEP_MIN && n - count >= STEP_MIN) {
        size_t width = *step < n - count ? *step : n - count;
        width = width < n - *at ? width : n - *at;
        size_t more = simd->below(values + *at, width, bound, item + count);
        for (size_t i = count; i < count + more; i++)
            item[i] += (uint32_t)*at;
        count += more;
        *at += width;
        *step = *step < STEP_MAX ? *step * 2 : STEP_MAX;
    }
    return count;
}

void lm_smallest(const float *values, size_t n, size_t k, uint32_t *index, uint32_t *scratch) {
    if (!k)
        return;
    size_t count = k < n / 4 && n >= 4 * STEP_MIN ? 2 * k + STEP_MIN : n, step = STEP_MIN;
    for (size_t i = 0; i < count; i++)
        scratch[i] = (uint32_t)i;
    for (size_t at = count; at < n;) {
        select_front(values, scratch, count, k);
        if (values[scratch[k - 1]] == -INFINITY)
            count = k, at = n;
        else
            count = gather(values, n, k, scratch, &at, &step);
    }
    select_front(values, scratch, count, k);
    heap_sort(values, scratch, k);
    memcpy(index, scratch, k * sizeof *index);
}
