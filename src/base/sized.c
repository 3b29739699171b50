/* sized.c: the first field of each of these structs is a size_t, its size. */
#include "base/sized.h"

#include <string.h>

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

void lm_sized_init(void *given, size_t size) {
    memset(given, 0, size);
    memcpy(given, &size, sizeof size);
}

bool lm_sized_take(const void *given, void *own, size_t size) {
    size_t theirs = size_of(given);
    if (theirs < sizeof theirs)
        return false;
    memcpy(own, given, theirs < size ? theirs : size);
    memcpy(own, &size, sizeof size);
    return true;
}

static limn_status refuse(limn_context *ctx, const char *name) {
    return lm_fail(ctx, LIMN_E_USAGE, "limn_%s was not initialised; call limn_%s_init first", name,
                   name);
}

limn_status lm_options_take(limn_context *ctx, const char *name, const void *given, void *own,
                            size_t size) {
    return !given || lm_sized_take(given, own, size) ? LIMN_OK : refuse(ctx, name);
}

limn_status lm_result_check(limn_context *ctx, const char *name, const void *given) {
    return !given || size_of(given) >= sizeof(size_t) ? LIMN_OK : refuse(ctx, name);
}

void lm_sized_give(const void *own, void *given, size_t size) {
    size_t theirs = size_of(given), most = theirs < size ? theirs : size;
    if (most > sizeof theirs)
        memcpy((char *)given + sizeof theirs, (const char *)own + sizeof theirs,
               most - sizeof theirs);
}
