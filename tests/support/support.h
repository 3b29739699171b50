/* support.h: shared by several test programs: contexts and data of every shape. */
#ifndef LIMN_TESTS_SUPPORT_H
#define LIMN_TESTS_SUPPORT_H

#include "counting.h"
#include "data/dataset.h"
#include "sample.h"

/* A context on the counting allocator (count may be NULL: malloc). Stops the test program on
 * failure. */
limn_context *make_context(counting *count, int threads, uint64_t seed);

typedef enum shape {
    SHAPE_RANDOM, /* overlapping Gaussian classes */
    SHAPE_ONE_ROW,
    SHAPE_ONE_CLASS,
    SHAPE_CONSTANT,   /* one feature is constant */
    SHAPE_DUPLICATES, /* integer grid: many equal rows, some with other labels */
    SHAPE_WIDE,       /* n < d */
    SHAPE_EQUAL,      /* all rows equal */
    SHAPE_HUGE,       /* values near 1e30 */
    SHAPE_TINY,       /* values near 1e-30 */
    SHAPE_OFFSET,     /* small differences on a large common offset */
    SHAPE_COUNT
} shape;

const char *shape_name(shape s);
/* NULL when ctx could not allocate (for tests with failing allocations). */
limn_data *make_data(limn_context *ctx, limn_task task, shape s, size_t n, uint64_t seed);
/* n x d queries: half are rows of data, half are near them. Free with free(). */
float *make_queries(const limn_data *data, size_t n, uint64_t seed);

/* Lists of parameters, "key=value key=value" each, in the order in which they are added. */
enum { PARAMS_MOST = 16, PARAMS_TEXT = 512 };
typedef struct param_list {
    const char *list[PARAMS_MOST];
    size_t count, used;
    char text[PARAMS_TEXT];
} param_list;

/* text NULL: none. Stops the test program if there are too many. */
void add_params(param_list *p, const char *text);

#endif
