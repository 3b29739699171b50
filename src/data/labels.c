/* labels.c: the label map: names in order of class number, and an open-addressing table over them.
 *
 * A label that is a number is hashed and compared by its value, every other one by its bytes. */
#include "data/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };

void lm_labels_init(lm_labels *labels, const limn_allocator *mem) {
    memset(labels, 0, sizeof *labels);
    labels->mem = mem;
}

void lm_labels_free(lm_labels *labels) {
    for (size_t i = 0; i < labels->count; i++)
        lm_free(labels->mem, labels->names[i]);
    lm_free(labels->mem, labels->names);
    lm_free(labels->mem, labels->values);
    lm_free(labels->mem, labels->slots);
    lm_labels_init(labels, labels->mem);
}

/* Codes such as 01234, and whole numbers too long for doubles to tell apart, are texts. */
static bool is_code(const char *text, size_t length) {
    size_t digits = 0;
    while (length && (*text == ' ' || *text == '+' || *text == '-'))
        text++, length--;
    if (length > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        return true;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return digits == length && digits > 15;
}

/* NaN unless the text is a finite number; -0 becomes 0. */
static double label_value(const char *text, size_t length) {
    double value;
    if (is_code(text, length) || !lm_parse_double(text, length, &value) || !isfinite(value))
        return NAN;
    return value + 0.0;
}

static uint64_t label_hash(const char *text, size_t length, double value) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325), bits;
    if (!isnan(value)) {
        memcpy(&bits, &value, sizeof bits);
        return lm_hash(bits, 0, 0);
    }
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return lm_hash(hash, length, 1);
}

static bool same_label(const lm_labels *labels, int32_t id, const char *text, size_t length,
                       double value) {
    if (!isnan(value))
        return labels->values[id] == value;
    const char *name = labels->names[id];
    return isnan(labels->values[id]) && strlen(name) == length && memcmp(name, text, length) == 0;
}

/* The slot that holds the label, or the free one where it belongs. */
static size_t find_slot(const lm_labels *labels, const char *text, size_t length, double value) {
    size_t mask = labels->slot_count - 1;
    size_t slot = (size_t)label_hash(text, length, value) & mask;
    while (labels->slots[slot] >= 0 &&
           !same_label(labels, labels->slots[slot], text, length, value))
        slot = (slot + 1) & mask;
    return slot;
}

static void refill_slots(lm_labels *labels) {
    for (size_t i = 0; i < labels->slot_count; i++)
        labels->slots[i] = -1;
    for (size_t i = 0; i < labels->count; i++) {
        const char *name = labels->names[i];
        labels->slots[find_slot(labels, name, strlen(name), labels->values[i])] = (int32_t)i;
    }
}

/* Makes room for one more name, and keeps the table at most half full. */
static bool reserve(lm_labels *labels) {
    const limn_allocator *mem = labels->mem;
    if (labels->count == labels->capacity) {
        size_t capacity = labels->capacity ? labels->capacity * 2 : FIRST_SLOTS / 2;
        char **names = lm_resize(mem, labels->names, capacity, sizeof *names);
        if (!names)
            return false;
        labels->names = names;
        double *values = lm_resize(mem, labels->values, capacity, sizeof *values);
        if (!values)
            return false;
        labels->values = values;
        labels->capacity = capacity;
    }
    if ((labels->count + 1) * 2 > labels->slot_count) {
        size_t count = labels->slot_count ? labels->slot_count * 2 : FIRST_SLOTS;
        int32_t *slots = lm_resize(mem, labels->slots, count, sizeof *slots);
        if (!slots)
            return false;
        labels->slots = slots;
        labels->slot_count = count;
        refill_slots(labels);
    }
    return true;
}

int32_t lm_labels_find(const lm_labels *labels, const char *text, size_t length) {
    if (!labels->count)
        return -1;
    return labels->slots[find_slot(labels, text, length, label_value(text, length))];
}

limn_status lm_labels_add(limn_context *ctx, lm_labels *labels, const char *text, size_t length,
                          int32_t *id) {
    double value = label_value(text, length);
    if (labels->count) {
        *id = labels->slots[find_slot(labels, text, length, value)];
        if (*id >= 0)
            return LIMN_OK;
    }
    if (labels->count >= INT32_MAX)
        return lm_fail(ctx, LIMN_E_DATA,
                       "more than %d classes; is the label a number to predict (regression)?",
                       INT32_MAX);
    char *name = reserve(labels) ? lm_strndup(labels->mem, text, length) : NULL;
    if (!name)
        return lm_fail_memory(ctx);
    *id = (int32_t)labels->count;
    labels->slots[find_slot(labels, text, length, value)] = *id;
    labels->names[labels->count] = name;
    labels->values[labels->count++] = value;
    return LIMN_OK;
}

void lm_labels_pop(lm_labels *labels) {
    lm_free(labels->mem, labels->names[--labels->count]);
    refill_slots(labels);
}

limn_status lm_labels_copy(limn_context *ctx, const lm_labels *from, lm_labels *to) {
    lm_labels_free(to);
    for (size_t i = 0; i < from->count; i++) {
        int32_t id;
        limn_status status = lm_labels_add(ctx, to, from->names[i], strlen(from->names[i]), &id);
        if (status != LIMN_OK) {
            lm_labels_free(to);
            return status;
        }
    }
    return LIMN_OK;
}

typedef struct ranked {
    char *name;
    double value;
    size_t old;
} ranked;

static int by_value(const void *a, const void *b) {
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const ranked *)a)->name, ((const ranked *)b)->name);
}

/* No two labels compare equal, so the result does not depend on how qsort orders equal items. */
limn_status lm_labels_sort(limn_context *ctx, lm_labels *labels, int32_t *remap) {
    if (!labels->count)
        return LIMN_OK;
    ranked *order = lm_alloc(&ctx->mem, labels->count, sizeof *order);
    if (!order)
        return lm_fail_memory(ctx);
    bool numbers = true;
    for (size_t i = 0; i < labels->count; i++) {
        order[i] = (ranked){labels->names[i], labels->values[i], i};
        numbers = numbers && !isnan(labels->values[i]);
    }
    qsort(order, labels->count, sizeof *order, numbers ? by_value : by_name);
    for (size_t i = 0; i < labels->count; i++) {
        labels->names[i] = order[i].name;
        labels->values[i] = order[i].value;
        remap[order[i].old] = (int32_t)i;
    }
    refill_slots(labels);
    lm_free(&ctx->mem, order);
    return LIMN_OK;
}
