/* teach.c: a classifier of your own, too slow for its job, is made fast: a student, a small
 * network, learns what it would answer, and answers from then on.
 *
 * cc teach.c $(pkg-config --cflags --libs limn) -o teach && ./teach */
#include <limn/limn.h>
#include <stdio.h>
#include <time.h>

enum { STORED = 2000, FRESH = 5000, FEATURES = 4, CLASSES = 3, AT_ONCE = 1000 };

typedef struct points {
    float x[STORED][FEATURES];
    double label[STORED];
} points;

static double next_number(unsigned *state) { /* 0 to 1 */
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

/* Three classes on and beside a parabola, blurred a little; the last two features are noise. */
static double draw(unsigned *state, float x[FEATURES]) {
    for (int j = 0; j < FEATURES; j++)
        x[j] = (float)(2 * next_number(state) - 1);
    double above = x[1] - x[0] * x[0] + 0.2 * (next_number(state) - 0.5);
    return above < -0.6 ? 0 : above < 0 ? 1 : 2;
}

/* The classifier: the share of each class in sums of a kernel over all stored points, a
 * Nadaraya-Watson estimate. limn calls it with many rows, in the units of the data. */
static limn_status vote(void *user, const float *x, size_t n, double *answers) {
    const points *stored = user;
    for (size_t q = 0; q < n; q++, x += FEATURES, answers += CLASSES) {
        double total = 0;
        for (int c = 0; c < CLASSES; c++)
            answers[c] = 0;
        for (int i = 0; i < STORED; i++) {
            double d2 = 0, near;
            for (int j = 0; j < FEATURES; j++) {
                double off = (double)x[j] - (double)stored->x[i][j];
                d2 += off * off;
            }
            near = 1 / (0.001 + d2 * d2 * d2);
            answers[(int)stored->label[i]] += near;
            total += near;
        }
        for (int c = 0; c < CLASSES; c++)
            answers[c] /= total;
    }
    return LIMN_OK;
}

static limn_status train(limn_context *context, points *stored, limn_model **model) {
    static const char *const size[] = {"size=64"}; /* without it, several sizes are compared */
    limn_data *data = NULL;
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = "student";
    options.params = size;
    options.param_count = 1;
    options.teach = vote;
    options.teach_user = stored;
    limn_status status = limn_data_from_values(context, LIMN_CLASSIFY, &stored->x[0][0], STORED,
                                               FEATURES, stored->label, &data);
    if (status == LIMN_OK)
        status = limn_train(context, data, &options, model);
    limn_data_free(data);
    return status;
}

/* Asks both about fresh points and prints how often they agree, and the time of each. */
static limn_status compare(limn_predictor *predictor, points *stored) {
    static float x[FRESH][FEATURES];
    static double slow[FRESH][CLASSES];
    static int32_t fast[FRESH];
    unsigned state = 2;
    int same = 0, rounds = 0;
    for (int i = 0; i < FRESH; i++)
        (void)draw(&state, x[i]);
    clock_t start = clock();
    for (int i = 0; i < FRESH; i += AT_ONCE)
        (void)vote(stored, x[i], AT_ONCE, slow[i]);
    double slow_time = (double)(clock() - start);
    for (start = clock(); clock() - start < CLOCKS_PER_SEC / 20; rounds++) {
        limn_status status = limn_predict(predictor, &x[0][0], FRESH, fast);
        if (status != LIMN_OK)
            return status;
    }
    double fast_time = (double)(clock() - start) / rounds;
    for (int i = 0; i < FRESH; i++) {
        int largest = 0;
        for (int c = 1; c < CLASSES; c++)
            largest = slow[i][c] > slow[i][largest] ? c : largest;
        same += fast[i] == largest;
    }
    printf("the same class for %.1f %% of %d fresh points\n", 100.0 * same / FRESH, FRESH);
    printf("%.2f us per point instead of %.2f: %.0f times faster\n",
           fast_time / CLOCKS_PER_SEC * 1e6 / FRESH, slow_time / CLOCKS_PER_SEC * 1e6 / FRESH,
           slow_time / fast_time);
    return LIMN_OK;
}

static int give_up(limn_context *context) {
    fprintf(stderr, "teach: %s\n", limn_error(context));
    return 1;
}

int main(void) {
    static points stored;
    limn_context *context = NULL;
    limn_model *model = NULL, *opened = NULL;
    limn_predictor *predictor = NULL;
    unsigned state = 1;
    for (int i = 0; i < STORED; i++)
        stored.label[i] = draw(&state, stored.x[i]);
    if (limn_context_new(NULL, &context) != LIMN_OK)
        return 1;
    /* The file holds all that is needed: a program that opens it does not need the function. */
    if (train(context, &stored, &model) != LIMN_OK ||
        limn_model_save(context, model, "parabola.limn") != LIMN_OK ||
        limn_model_open(context, "parabola.limn", &opened) != LIMN_OK ||
        limn_predictor_new(context, opened, NULL, &predictor) != LIMN_OK ||
        compare(predictor, &stored) != LIMN_OK)
        return give_up(context);
    limn_predictor_free(predictor);
    limn_model_free(opened);
    limn_model_free(model);
    limn_context_free(context);
    return 0;
}
