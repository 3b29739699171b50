/* reseal.h: makes the checksums of a tampered model file valid again, so that tests and fuzzers
 * get past them to the other checks. */
#ifndef LIMN_TESTS_RESEAL_H
#define LIMN_TESTS_RESEAL_H

#include <stddef.h>

/* Recomputes the hash of every section that lies inside the file, of the table if it does, and of
 * the header, in that order. Nothing else changes, and nothing outside bytes[0..size) is read. */
void reseal(unsigned char *bytes, size_t size);

#endif
