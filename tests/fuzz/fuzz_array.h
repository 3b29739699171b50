/* fuzz_array.h: shared by the fuzz targets of NPY and IDX. The first byte chooses the options
 * and whether to match a model, the second the size of the pieces; the rest is the file. */
#ifndef LIMN_TESTS_FUZZ_ARRAY_H
#define LIMN_TESTS_FUZZ_ARRAY_H

#include "fuzz_data.h"

static inline int fuzz_array(const uint8_t *data, size_t size, limn_format format) {
    static const char model_text[] = "1,2,3,u\n4,5,6,v\n";
    static const char *const labels[] = {NULL, "first", "last", "2"};
    if (size < 2)
        return 0;
    unsigned choice = data[0];
    limn_context *ctx = fuzz_context();
    limn_data *model = NULL;
    if (choice & 1)
        REQUIRE(fuzz_read(ctx, model_text, sizeof model_text - 1, 0, NULL, NULL, &model) ==
                LIMN_OK);
    limn_read_options options;
    limn_read_options_init(&options);
    options.format = format;
    options.task = (limn_task)(choice / 2 % 8 % 3);
    options.label = labels[choice / 16 % 4];
    options.weights = choice & 64 ? "1" : NULL;
    options.no_label = choice & 128 ? 1 : 0;
    fuzz_all_ways(ctx, data + 2, size - 2, data[1] + 1u, &options, model ? &model->schema : NULL);
    limn_data_free(model);
    limn_context_free(ctx);
    return 0;
}

#endif
