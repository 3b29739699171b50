/* sort.h: sorting many floats. */
#ifndef LIMN_BASE_SORT_H
#define LIMN_BASE_SORT_H

#include <stddef.h>

/* Ascending; -0 becomes 0. No NaN. spare: n floats. In time proportional to n, whatever the order,
 * and without allocating. */
void lm_sort_floats(float *v, size_t n, float *spare);

#endif
