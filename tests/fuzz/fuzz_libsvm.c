/* fuzz_libsvm.c: the sparse reader and the detection of formats on hostile bytes. The first byte
 * chooses the options and whether to match a model, the second the size of the pieces. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char model_text[] = "1 1:2 3:4\n2 5:1\n";
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
    options.format = choice & 2 ? LIMN_FORMAT_LIBSVM : LIMN_FORMAT_AUTO;
    options.task = (limn_task)(choice / 4 % 3);
    options.no_label = choice / 16 % 4 == 3;
    fuzz_all_ways(ctx, data + 2, size - 2, data[1] + 1u, &options, model ? &model->schema : NULL);
    limn_data_free(model);
    limn_context_free(ctx);
    return 0;
}
