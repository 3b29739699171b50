/* learn.c: a model that follows a stream: it predicts each row, then learns its true class.
 *
 * cc learn.c $(pkg-config --cflags --libs limn) -o learn && ./learn */
#include <limn/limn.h>
#include <stdio.h>

enum { FIRST = 50, STREAM = 1000, BLOCK = 250 };

/* Points in a square; the border between the classes moves over time, and a third class appears. */
static const char *draw(int time, float x[2]) {
    x[0] = (float)(time * 7919 % 1000) / 1000;
    x[1] = (float)(time * 104729 % 1009) / 1009;
    if (time > STREAM / 2 && x[1] > 0.8f)
        return "above";
    return x[0] + 0.2f * x[1] < 0.4f + 0.2f * (float)time / STREAM ? "left" : "right";
}

static int give_up(limn_context *context) {
    fprintf(stderr, "learn: %s\n", limn_error(context));
    return 1;
}

static limn_status train(limn_context *context, limn_model **model) {
    static float x[FIRST][2];
    const char *labels[FIRST];
    const char *params[] = {"max_points=300"}; /* forget old rows: the border moves */
    limn_data *data = NULL;
    limn_train_options options;
    for (int i = 0; i < FIRST; i++)
        labels[i] = draw(i, x[i]);
    limn_train_options_init(&options);
    options.method = "bforest";
    options.params = params;
    options.param_count = 1;
    limn_status status = limn_data_from_labels(context, &x[0][0], FIRST, 2, labels, &data);
    if (status == LIMN_OK)
        status = limn_train(context, data, &options, model);
    limn_data_free(data);
    return status;
}

int main(void) {
    limn_context *context = NULL;
    limn_model *model = NULL;
    int wrong = 0;
    if (limn_context_new(NULL, &context) != LIMN_OK)
        return 1;
    if (train(context, &model) != LIMN_OK)
        return give_up(context);
    for (int i = 0; i < STREAM; i++) {
        float x[2];
        int32_t truth, said;
        limn_lesson lesson;
        /* A new name becomes a class; a known one keeps its number. */
        if (limn_model_add_class(context, model, draw(FIRST + i, x), &truth) != LIMN_OK)
            return give_up(context);
        limn_lesson_init(&lesson);
        lesson.n = 1;
        lesson.x = x;
        lesson.classes = &truth;
        lesson.answered_classes = &said;
        if (limn_learn(context, model, &lesson, NULL) != LIMN_OK)
            return give_up(context);
        wrong += said != truth;
        if ((i + 1) % BLOCK == 0) {
            printf("rows %4d to %4d: %2d wrong\n", i + 2 - BLOCK, i + 1, wrong);
            wrong = 0;
        }
    }
    limn_model_free(model);
    limn_context_free(context);
    return 0;
}
