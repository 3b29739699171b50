/* sample.h: long loops that need not be whole each time. */
#ifndef LIMN_TESTS_SAMPLE_H
#define LIMN_TESTS_SAMPLE_H

#include <stdlib.h>

/* The step of a long loop: 1, or `step` where LIMN_SAMPLE is set: the slowest tests do a part of
 * their rounds under the sanitizers of `make check`, and all of them in `make check-long`. */
static inline unsigned every(unsigned step) {
    return getenv("LIMN_SAMPLE") ? step : 1;
}

#endif
