/* peer.h: what bench_front measures: a model of limn's or of other software, asked row by row. */
#ifndef LIMN_BENCH_PEER_H
#define LIMN_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows with a whole number as the label of each. File: int32 n and d, n x d floats, n int32. */
typedef struct table {
    int32_t n, d;
    float *x;
    int32_t *label;
} table;

table table_read(const char *path);

typedef struct peer {
    void *state;
    /* The label of one row, the index-th of those that the peer was opened with. */
    int32_t (*answer)(void *state, size_t index, const float *x);
    /* All rows in one call, or NULL where the software has no such call in C. */
    void (*answer_all)(void *state, const table *rows, int32_t *labels);
    /* The share of the answers so far that needed doubles, or NULL where none do. */
    double (*settled)(void *state);
    size_t bytes;         /* of the model */
    double build_seconds; /* of an index that is built when it is opened, else 0 */
} peer;

/* All end the program with a sentence on failure; nothing is freed before its end. */
peer limn_open(const char *path, const table *rows);
peer libsvm_open(const char *path, const table *rows);    /* LIBSVM's text */
peer forest_open(const char *path, const table *rows);    /* see forest.c */
peer network_open(const char *path, const table *rows);   /* see network.c */
peer expansion_open(const char *path, const table *rows); /* see expansion.c */
peer fourier_open(const char *path, const table *rows);   /* the same */
peer hnsw_open(const char *train_path, size_t ef);        /* path: a table of training rows */
peer flann_open(const char *train_path, size_t checks);
#ifdef HAVE_DLIB
peer dlib_open(const char *path, const table *rows); /* what dlib_reduce wrote */
const char *dlib_release(void);
/* Replaces a machine of LIBSVM's by at most this many vectors and writes it; returns how many. */
size_t dlib_reduce(const char *machine_path, const table *rows, size_t vectors, const char *path);
#endif

void *need(size_t count, size_t size);
void *aligned(size_t size); /* to 64 bytes; size is a multiple of that */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
/* Reads a whole file. */
void *slurp(const char *path, size_t *size);
double seconds_now(void);

#ifdef __cplusplus
}
#endif
#endif
