/* classify.c: trains on points in memory, saves the model, opens it and predicts.
 *
 * cc classify.c $(pkg-config --cflags --libs limn) -o classify && ./classify */
#include <limn/limn.h>
#include <stdio.h>

enum { ROWS = 200 };

/* Two half moons, made without a random generator. */
static void draw(float x[ROWS][2], const char *labels[ROWS]) {
    for (int i = 0; i < ROWS; i++) {
        double t = (i / 2) / (ROWS / 2.0) * 3.14159, wobble = 0.1 * ((i * 7919) % 13 - 6) / 6.0;
        double c = 1 - t * t / 2 + t * t * t * t / 24 - t * t * t * t * t * t / 720;
        double s = t - t * t * t / 6 + t * t * t * t * t / 120 - t * t * t * t * t * t * t / 5040;
        x[i][0] = (float)(i % 2 ? c + wobble : 1 - c + wobble);
        x[i][1] = (float)(i % 2 ? s + wobble : 0.5 - s + wobble);
        labels[i] = i % 2 ? "upper" : "lower";
    }
}

static int give_up(limn_context *context) {
    fprintf(stderr, "classify: %s\n", limn_error(context));
    return 1;
}

int main(void) {
    static float x[ROWS][2];
    static const char *labels[ROWS];
    const float query[2][2] = {{0.0f, 1.0f}, {1.0f, -0.5f}};
    const char *params[] = {"k=3"};
    int32_t classes[2];
    limn_context *context = NULL;
    limn_data *data = NULL;
    limn_model *model = NULL, *opened = NULL;
    limn_predictor *predictor = NULL;
    limn_train_options options;

    draw(x, labels);
    limn_train_options_init(&options);
    options.method = "knn";
    options.params = params;
    options.param_count = 1;
    if (limn_context_new(NULL, &context) != LIMN_OK)
        return 1;
    if (limn_data_from_labels(context, &x[0][0], ROWS, 2, labels, &data) != LIMN_OK ||
        limn_train(context, data, &options, &model) != LIMN_OK ||
        limn_model_save(context, model, "moons.limn") != LIMN_OK ||
        limn_model_open(context, "moons.limn", &opened) != LIMN_OK ||
        limn_predictor_new(context, opened, NULL, &predictor) != LIMN_OK ||
        limn_predict(predictor, &query[0][0], 2, classes) != LIMN_OK)
        return give_up(context);
    for (int i = 0; i < 2; i++)
        printf("(%g, %g) belongs to the %s moon\n", (double)query[i][0], (double)query[i][1],
               limn_model_class_name(opened, (size_t)classes[i]));

    limn_predictor_free(predictor);
    limn_model_free(opened);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(context);
    return 0;
}
