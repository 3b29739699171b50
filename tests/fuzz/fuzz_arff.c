/* fuzz_arff.c: the ARFF reader on hostile bytes. The first byte chooses the label, the task and
 * the model to match attributes to, the second the size of the pieces and the other options; the
 * rest is the file. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static limn_data *model_of(limn_context *ctx, unsigned kind) {
    static const char nominal[] = "@relation m\n@attribute a numeric\n@attribute b {p,q,NA}\n"
                                  "@attribute y {u,v}\n@data\n1,p,u\n2,q,v\n";
    static const char *const texts[] = {nominal, "1,2,u\n3,4,v\n", "a,b,y\n1,2,u\n3,4,v\n"};
    limn_data *model = NULL;
    if (kind < LM_COUNT(texts))
        REQUIRE(fuzz_read(ctx, texts[kind], strlen(texts[kind]), 0, NULL, NULL, &model) == LIMN_OK);
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const labels[] = {NULL, "first", "last", "2", "y", NULL, NULL, NULL};
    if (size < 2)
        return 0;
    unsigned choice = data[0], other = data[1] / 32;
    limn_context *ctx = fuzz_context();
    limn_data *model = model_of(ctx, 3 - choice / 64);
    limn_read_options options;
    limn_read_options_init(&options);
    options.label = labels[choice % 8];
    options.no_label = choice % 8 == 7;
    options.task = (limn_task)(choice / 8 % 3);
    options.weights = other & 1 ? "1" : NULL;
    options.categorical = choice % 8 == 6 ? "1" : NULL;
    options.missing = other & 2 ? LIMN_MISSING_MEDIAN : LIMN_MISSING_ERROR;
    options.unknown = other & 4 ? LIMN_UNKNOWN_ZERO : LIMN_UNKNOWN_ERROR;
    options.format = LIMN_FORMAT_ARFF;
    fuzz_all_ways(ctx, data + 2, size - 2, data[1] % 32 + 1u, &options,
                  model ? &model->schema : NULL);
    limn_data_free(model);
    limn_context_free(ctx);
    return 0;
}
