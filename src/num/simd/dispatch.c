/* dispatch.c: chooses the table of kernels once, at the first use: the best set that the processor
 * and the operating system support (the compiler's check uses XGETBV), or the one that LIMN_ISA
 * names. */
#include "num/pack.h"
#include "num/simd/simd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct isa {
    const lm_simd *table;
    bool (*present)(void);
} isa;

#if defined(LM_HAVE_X86)

static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#endif

static bool always(void) {
    return true;
}

/* Best first. The last one is always present. */
static const isa sets[] = {
#if defined(LM_HAVE_X86)
    {&lm_simd_avx512, has_avx512},
    {&lm_simd_avx2, has_avx2},
    {&lm_simd_baseline, always},
#elif defined(LM_HAVE_NEON)
    {&lm_simd_neon, always},
#else
    {&lm_simd_baseline, always},
#endif
};

static _Atomic(const lm_simd *) current;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool valid = true;

/* NULL past the last set that this machine has. */
static const lm_simd *present_at(size_t index) {
    for (size_t i = 0; i < LM_COUNT(sets); i++)
        if (sets[i].present() && index-- == 0)
            return sets[i].table;
    return NULL;
}

/* "baseline" is the set that every machine of the architecture has, under any name. */
static const lm_simd *present_named(const char *name) {
    if (!strcmp(name, "baseline"))
        return sets[LM_COUNT(sets) - 1].table;
    const lm_simd *table;
    for (size_t i = 0; (table = present_at(i)); i++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

static void choose(void) {
    const char *name = getenv("LIMN_ISA");
    const lm_simd *table = name && *name ? present_named(name) : present_at(0);
    valid = table != NULL;
    atomic_store_explicit(&current, table ? table : present_at(0), memory_order_release);
}

const lm_simd *lm_simd_get(void) {
    const lm_simd *table = atomic_load_explicit(&current, memory_order_acquire);
    if (__builtin_expect(!table, 0)) {
        pthread_once(&once, choose);
        table = atomic_load_explicit(&current, memory_order_acquire);
    }
    return table;
}

const char *lm_isa_name(void) {
    return lm_simd_get()->name;
}

bool lm_isa_valid(void) {
    lm_simd_get();
    return valid;
}

const char *lm_isa_at(size_t index) {
    const lm_simd *table = present_at(index);
    return table ? table->name : NULL;
}

bool lm_isa_use(const char *name) {
    lm_simd_get();
    const lm_simd *table = present_named(name);
    if (table)
        atomic_store_explicit(&current, table, memory_order_release);
    return table != NULL;
}
