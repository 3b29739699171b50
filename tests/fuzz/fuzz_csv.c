/* fuzz_csv.c: the table reader on hostile bytes. The first byte chooses the options and the
 * model to match columns to, the second the size of the pieces; the rest is the file. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static limn_data *model_of(limn_context *ctx, unsigned kind) {
    static const char *const texts[] = {"a,b,y\n1,2,u\n3,4,v\n", "1,2,u\n3,4,v\n",
                                        "a,1,label\nred,2,3\nblue,,3\n"};
    limn_data *model = NULL;
    limn_read_options options;
    limn_read_options_init(&options);
    options.missing = kind == 2 ? LIMN_MISSING_MEDIAN : LIMN_MISSING_ERROR;
    if (kind < 3)
        REQUIRE(fuzz_read(ctx, texts[kind], strlen(texts[kind]), 0, &options, NULL, &model) ==
                LIMN_OK);
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const labels[] = {NULL, "first", "last", "2", "y", NULL, NULL, NULL};
    static const char delimiters[] = {0, ' ', ';', 0};
    if (size < 2)
        return 0;
    unsigned choice = data[0];
    limn_context *ctx = fuzz_context();
    limn_data *model = model_of(ctx, choice / 64);
    limn_read_options options;
    limn_read_options_init(&options);
    options.label = labels[choice % 8];
    options.no_label = choice % 8 == 7;
    if (choice % 8 == 5) {
        options.missing = LIMN_MISSING_MEDIAN;
        options.unknown = LIMN_UNKNOWN_ZERO;
    } else if (choice % 8 == 6) {
        options.categorical = "1";
        options.weights = "2";
    }
    options.task = (limn_task)(choice / 8 % 3);
    options.header = choice / 8 % 8 < 6 ? LIMN_HEADER_AUTO : (limn_header)(choice / 8 % 2 + 1);
    options.delimiter = delimiters[data[1] / 64];
    options.format = LIMN_FORMAT_CSV;
    fuzz_all_ways(ctx, data + 2, size - 2, data[1] % 64 + 1u, &options,
                  model ? &model->schema : NULL);
    limn_data_free(model);
    limn_context_free(ctx);
    return 0;
}
