/* open.c: what opening a model costs beyond checking its bytes.
 *
 *   bench_open MODEL      milliseconds of limn_model_open and of XXH3 over the mapped file, warm */
#include "eval/evaluate.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { ROUNDS = 15 };

static double hash_ms(const char *path) {
    struct stat info;
    double start = lm_clock();
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info) != 0)
        return -1;
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    volatile uint64_t hash = XXH3_64bits(map, (size_t)info.st_size);
    (void)hash;
    munmap(map, (size_t)info.st_size);
    close(fd);
    return 1e3 * (lm_clock() - start);
}

static double open_ms(limn_context *ctx, const char *path) {
    limn_model *model = NULL;
    double start = lm_clock();
    if (limn_model_open(ctx, path, &model) != LIMN_OK) {
        fprintf(stderr, "%s\n", limn_error(ctx));
        return -1;
    }
    limn_model_free(model);
    return 1e3 * (lm_clock() - start);
}

int main(int argc, char **argv) {
    limn_context *ctx = NULL;
    double opened = 1e30, hashed = 1e30;
    struct stat info;
    if (argc != 2 || limn_context_new(NULL, &ctx) != LIMN_OK || stat(argv[1], &info) != 0)
        return 2;
    for (int i = 0; i < ROUNDS; i++) {
        double a = hash_ms(argv[1]), b = open_ms(ctx, argv[1]);
        if (a < 0 || b < 0)
            return 1;
        hashed = a < hashed ? a : hashed;
        opened = b < opened ? b : opened;
    }
    printf("%.1f MB: open and close %.3f ms, mapping and XXH3 alone %.3f ms, beyond %.3f ms\n",
           (double)info.st_size / 1e6, opened, hashed, opened - hashed);
    limn_context_free(ctx);
    return 0;
}
