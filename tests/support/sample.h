/* sample.h: long loops that need not run in full every time. */
#ifndef LIMN_TESTS_SAMPLE_H
#define LIMN_TESTS_SAMPLE_H

#include <stdlib.h>

/* The step of a long loop: 1, or `step` if LIMN_SAMPLE is set. The slowest tests run only some
 * of their rounds under the sanitizers of `make check`, and all of them in `make check-long`. */
static inline unsigned every(unsigned step) {
    return getenv("LIMN_SAMPLE") ? step : 1;
}

#endif
