/* check_num.h: the checks of src/num in plain C, so that they also run without cmocka
 * (cross-compiled, under an emulator). Each returns the number of failures and prints the first
 * few. */
#ifndef LIMN_TESTS_CHECK_NUM_H
#define LIMN_TESTS_CHECK_NUM_H

#include <stddef.h>

typedef struct check {
    const char *name; /* what it proves */
    int (*run)(void);
    int per_isa; /* run once for each instruction set */
} check;

/* Ends with a NULL name. The first check forks and must run before anything else in src/num. */
extern const check check_num[];

/* Runs one check, on every instruction set of the machine if the check asks for that. */
int check_num_run(const check *one);

#endif
