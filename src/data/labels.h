/* labels.h: the map between labels as they were written and class numbers 0..count-1.
 *
 * Two labels that are numbers and equal in value ("1", "+1", "1.0") are one class; its name is the
 * form that was seen first. All other labels are compared byte by byte, and so are numbers that
 * look like codes: with a leading zero ("01234") or whole numbers of more than 15 digits. */
#ifndef LIMN_DATA_LABELS_H
#define LIMN_DATA_LABELS_H

#include "base/base.h"

typedef struct lm_labels {
    const limn_allocator *mem;
    size_t count, capacity;
    char **names;
    double *values; /* of the names that are numbers, NaN for the others */
    int32_t *slots; /* open-addressing hash table of class numbers, -1 = free */
    size_t slot_count;
} lm_labels;

void lm_labels_init(lm_labels *labels, const limn_allocator *mem);
void lm_labels_free(lm_labels *labels);
/* Finds or adds. */
limn_status lm_labels_add(limn_context *ctx, lm_labels *labels, const char *text, size_t length,
                          int32_t *id);
/* Removes the class that was added last. */
void lm_labels_pop(lm_labels *labels);
int32_t lm_labels_find(const lm_labels *labels, const char *text, size_t length); /* -1: unknown */
/* to has been initialised; what it held is freed. On failure it is empty. */
limn_status lm_labels_copy(limn_context *ctx, const lm_labels *from, lm_labels *to);
/* Orders by value when every label is a number, else byte by byte. remap (count entries) gives each
 * old number its new one. */
limn_status lm_labels_sort(limn_context *ctx, lm_labels *labels, int32_t *remap);

#endif
