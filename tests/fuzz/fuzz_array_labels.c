/* fuzz_array_labels.c: hostile label files of a small array. The first byte chooses the task, the
 * second the size of the pieces of the array; the rest is the label file, in memory but with a path
 * of its own. */
#include "fuzz_data.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t array[] = {0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
    char path[64];
    if (size < 2)
        return 0;
    int file = memfd_create("labels", MFD_CLOEXEC);
    REQUIRE(file >= 0 && write(file, data + 2, size - 2) == (ssize_t)(size - 2));
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    limn_context *ctx = fuzz_context();
    limn_read_options options;
    limn_read_options_init(&options);
    options.task = (limn_task)(data[0] % 3);
    options.label_file = path;
    fuzz_all_ways(ctx, array, sizeof array, data[1] + 1u, &options, NULL);
    limn_context_free(ctx);
    close(file);
    return 0;
}
