/* student: sizes, lessons against what a known teacher was asked and answered, when a network hands
 * over, temperatures, scaling that is folded into the first layer, threads. Also run under TSan. */
#include "num/platt.h"
#include "student_world.h"

/* ---- sizes ---- */

static void test_sizes_are_parsed_and_formatted(void **state) {
    static const char *const good[] = {"1",
                                       "64",
                                       "4096",
                                       "256x128",
                                       "64+256",
                                       "64x32x16",
                                       "64+256x128",
                                       "1x1x1+1x1x1",
                                       "8+8",
                                       "128x64+32",
                                       "4096x4096x4096+4096x4096x4096"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        st_size sizes[ST_NETS];
        char text[ST_SIZE_TEXT];
        size_t nets = st_size_parse(good[i], sizes);
        assert_int_equal(nets, strchr(good[i], '+') ? 2 : 1);
        st_size_format(sizes, nets, text);
        assert_string_equal(text, good[i]);
    }
    st_size one[ST_NETS];
    assert_int_equal(st_size_parse("64x32+5", one), 2);
    assert_true(one[0].layers == 2 && one[0].units[0] == 64 && one[0].units[1] == 32);
    assert_true(one[1].layers == 1 && one[1].units[0] == 5);
    assert_true(st_size_work(&one[0], 10, 3) == 10 * 64 + 64 * 32 + 32 * 3);
}

static void test_what_is_no_size_is_refused(void **state) {
    static const char *const bad[] = {"",
                                      "0",
                                      "x",
                                      "64x",
                                      "64+",
                                      "+64",
                                      "x64",
                                      "64+32+16",
                                      "4097",
                                      "1x1x1x1",
                                      "64 ",
                                      " 64",
                                      "-3",
                                      "6a",
                                      "01",
                                      "64xx8",
                                      "1e2",
                                      "64+x",
                                      "8,8",
                                      "auto",
                                      "64++64",
                                      "0x40",
                                      "64+0",
                                      "64x0",
                                      "99999999999999999999",
                                      "18446744073709551680"};
    (void)state;
    st_size sizes[ST_NETS];
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        if (st_size_parse(bad[i], sizes) != 0)
            fail_msg("'%s' was taken", bad[i]);
}

/* ---- lessons ---- */

typedef struct school {
    limn_context *ctx;
    rows rows;
    known known;
    st_options options;
    st_lessons lessons;
    size_t first; /* of what the teacher was asked: the rows held out come here */
} school;

static void school_open(school *s, size_t n, size_t classes, unsigned kind, const char *size,
                        double sharpness, size_t pool) {
    memset(s, 0, sizeof *s);
    s->ctx = make_context(NULL, 2, 3);
    s->rows = rows_make(n, 3, classes, 5);
    known_make(&s->known, &s->rows, kind);
    s->options = options_with(s->ctx, size);
    s->options.sharpness = sharpness;
    s->options.pool = pool;
    lm_train_set set = set_of(&s->rows, &s->known.teacher);
    assert_int_equal(st_lessons_make(s->ctx, &set, &s->options, &s->lessons), LIMN_OK);
    const st_lessons *l = &s->lessons;
    size_t in_all = l->held.n + l->fresh.n + l->points + l->rows;
    assert_true(s->known.asked >= in_all);
    s->first = s->known.asked - in_all;
}

static void school_close(school *s) {
    st_lessons_free(&s->ctx->mem, &s->lessons);
    known_free(&s->known);
    rows_free(&s->rows);
    limn_context_free(s->ctx);
}

/* Which of the rows this is; they all differ. */
static size_t row_of(const rows *r, const float *x) {
    for (size_t i = 0; i < r->n; i++)
        if (memcmp(r->x + i * r->d, x, r->d * sizeof *x) == 0)
            return i;
    fail_msg("this is not a row");
    return 0;
}

/* Every row is learned from or held out, each class in its share; with few rows, all are both. */
static void check_parts(const school *s) {
    const st_lessons *l = &s->lessons;
    const known *k = &s->known;
    size_t d = s->rows.d, seen[2000] = {0}, held[CLASSES_MOST] = {0}, in_all[CLASSES_MOST] = {0};
    size_t points_before = s->first + l->held.n + l->fresh.n + l->points;
    for (size_t i = 0; i < l->rows; i++)
        seen[row_of(&s->rows, k->x + (points_before + i) * d)]++;
    bool both = l->rows == s->rows.n;
    for (size_t i = 0; i < l->held.n; i++) {
        size_t row = row_of(&s->rows, l->held.raw + i * d);
        assert_memory_equal(l->held.raw + i * d, k->x + (s->first + i) * d, d * sizeof(float));
        assert_true(!s->rows.classes || l->held.label[i] == s->rows.label[row]);
        held[s->rows.classes ? s->rows.label[row] : 0]++;
        seen[row] += !both;
    }
    for (size_t i = 0; i < s->rows.n; i++) {
        assert_int_equal(seen[i], 1);
        in_all[s->rows.classes ? s->rows.label[i] : 0]++;
    }
    for (size_t c = 0; c < CLASSES_MOST; c++)
        assert_int_equal(held[c], both ? in_all[c] : in_all[c] / 5);
}

/* What networks see: rows less their mean, by the deviation of their features. */
static void check_standardised(const school *s) {
    const st_lessons *l = &s->lessons;
    size_t d = s->rows.d, n = l->points + l->rows;
    const float *asked = s->known.x + s->first * d;
    for (size_t j = 0; j < d; j++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < s->rows.n; i++)
            mean += (double)s->rows.x[i * d + j] / (double)s->rows.n;
        for (size_t i = 0; i < s->rows.n; i++)
            squares += pow((double)s->rows.x[i * d + j] - mean, 2) / (double)s->rows.n;
        for (size_t i = 0; i < l->held.n + l->fresh.n + n; i++) {
            const float *seen = i < l->held.n ? l->held.x + i * d
                                : i < l->held.n + l->fresh.n
                                    ? l->fresh.x + (i - l->held.n) * d
                                    : l->x + (i - l->held.n - l->fresh.n) * d;
            double expected = ((double)asked[i * d + j] - mean) / (squares > 0 ? sqrt(squares) : 1);
            assert_true(fabs((double)seen[j] - expected) < 1e-6 * (1 + fabs(expected)));
        }
    }
}

/* Every point once, and every row as often as a third of its points. */
static void check_order(const school *s) {
    const st_lessons *l = &s->lessons;
    size_t each = l->points / l->rows / 3, *times = calloc(l->points + l->rows, sizeof *times);
    for (size_t i = 0; i < l->count; i++)
        times[l->order[i]]++;
    for (size_t i = 0; i < l->points + l->rows; i++)
        assert_int_equal(times[i], i < l->points || !each ? 1 : each);
    free(times);
}

/* Probabilities by the formulas, in another way. */
static void slow_target(const known *k, const double *answer, double a, double unit, double *p) {
    size_t n = k->rows->classes, at = 0;
    double sum = 0, f[CLASSES_MOST][CLASSES_MOST], least = INFINITY;
    for (size_t i = 0; i < n && k->teacher.kind == LM_TEACHES_PAIRS; i++)
        for (size_t j = i + 1; j < n; j++) {
            f[i][j] = answer[at++];
            f[j][i] = -f[i][j];
        }
    for (size_t c = 0; c < n; c++)
        least = fmin(least, answer[c < k->teacher.width ? c : 0]);
    for (size_t c = 0; c < n; c++) {
        double against = 1;
        for (size_t j = 0; j < n && k->teacher.kind == LM_TEACHES_PAIRS; j++)
            against += j == c ? 0 : exp(-a * f[c][j]);
        p[c] = k->teacher.kind == LM_TEACHES_PAIRS   ? 1 / against
               : k->teacher.kind == LM_TEACHES_PROBA ? exp(a * log(answer[c]))
                                                     : exp(-a * (answer[c] - least) / unit);
        sum += p[c];
    }
    for (size_t c = 0; c < n; c++)
        p[c] /= sum;
}

/* What the distances of the two nearest classes of rows held out differ by. */
static double slow_unit(const school *s) {
    size_t n = s->lessons.held.n < 200 ? s->lessons.held.n : 200, k = s->rows.classes;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double first = INFINITY, second = INFINITY;
        for (size_t c = 0; c < k; c++) {
            double distance = s->known.answer[(s->first + i) * k + c];
            second = fmin(second, fmax(first, distance));
            first = fmin(first, distance);
        }
        sum += (second - first) / (double)n;
    }
    return sum;
}

static void check_targets(const school *s) {
    const st_lessons *l = &s->lessons;
    const known *k = &s->known;
    size_t width = k->teacher.width, before = s->first + l->held.n + l->fresh.n;
    double unit = k->teacher.kind == LM_TEACHES_DISTANCE ? slow_unit(s) : 1;
    for (size_t sharp = 0; sharp < l->sharps; sharp++)
        for (size_t i = 0; i < l->points + l->rows; i++) {
            double p[CLASSES_MOST];
            slow_target(k, k->answer + (before + i) * width, l->sharpness[sharp], unit, p);
            size_t row = i < l->points ? 0 : row_of(&s->rows, k->x + (before + i) * s->rows.d);
            for (size_t c = 0; c < s->rows.classes; c++) {
                bool own = s->rows.label[row] == (int32_t)c;
                double expected = i < l->points ? p[c] : (p[c] + own) / 2;
                double found = (double)l->target[sharp][i * l->width + c];
                if (!(fabs(found - expected) < 1e-6))
                    fail_msg("target %zu of %zu: %g, not %g", c, i, found, expected);
            }
        }
}

static int32_t slow_class(const known *k, const double *answer) {
    size_t n = k->rows->classes, at = 0, best = 0;
    double much[CLASSES_MOST] = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && k->teacher.kind == LM_TEACHES_PAIRS; j++)
            much[answer[at++] > 0 ? i : j]++;
    for (size_t c = 0; c < n && k->teacher.kind != LM_TEACHES_PAIRS; c++)
        much[c] = k->teacher.kind == LM_TEACHES_PROBA ? answer[c] : -answer[c];
    for (size_t c = 1; c < n; c++)
        best = much[c] > much[best] ? c : best;
    return (int32_t)best;
}

static void check_judges(const school *s) {
    const st_lessons *l = &s->lessons;
    const known *k = &s->known;
    const double *answer = k->answer + s->first * k->teacher.width;
    for (size_t i = 0; i < l->held.n; i++)
        assert_int_equal(l->held.teacher[i], slow_class(k, answer + i * k->teacher.width));
    answer += l->held.n * k->teacher.width;
    for (size_t i = 0; i < l->fresh.n; i++)
        assert_int_equal(l->fresh.teacher[i], slow_class(k, answer + i * k->teacher.width));
}

static void check_lessons(size_t n, size_t classes, unsigned kind, double sharpness) {
    school s;
    school_open(&s, n, classes, kind, "8", sharpness, n * 7 + 3);
    assert_int_equal(s.lessons.points, n * 7 + 3);
    assert_int_equal(s.lessons.outputs, classes == 2 ? 1 : classes);
    assert_true(s.lessons.asked == (double)(s.known.asked - s.first));
    check_parts(&s);
    check_standardised(&s);
    check_order(&s);
    check_targets(&s);
    check_judges(&s);
    school_close(&s);
}

static void test_lessons_are_what_the_teacher_said(void **state) {
    static const unsigned taught_by[] = {LM_TEACHES_PAIRS, LM_TEACHES_PROBA, LM_TEACHES_DISTANCE};
    (void)state;
    for (size_t k = 0; k < LM_COUNT(taught_by); k++)
        for (size_t classes = 2; classes <= 4; classes++) {
            check_lessons(120, classes, taught_by[k], 0);
            check_lessons(120, classes, taught_by[k], 2.5);
        }
    check_lessons(1500, 3, LM_TEACHES_PAIRS, 8);
}

static void test_few_rows_are_learned_from_and_judge(void **state) {
    (void)state;
    for (size_t n = 1; n <= 4; n++)
        check_lessons(n, 3, LM_TEACHES_PAIRS, 8);
}

static void test_values_are_standardised_and_those_of_rows_are_half_their_own(void **state) {
    (void)state;
    school s;
    double mean = 0, squares = 0;
    school_open(&s, 100, 0, LM_TEACHES_VALUE, "8", 0, 500);
    const st_lessons *l = &s.lessons;
    size_t n = l->points + l->rows, before = s.first + l->held.n + l->fresh.n;
    const double *said = s.known.answer + before;
    check_parts(&s);
    check_standardised(&s);
    for (size_t i = 0; i < n; i++)
        mean += said[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (said[i] - mean) * (said[i] - mean) / (double)n;
    assert_true(fabs(l->mean - mean) < 1e-9 && fabs(l->spread - sqrt(squares)) < 1e-9);
    for (size_t i = 0; i < n; i++) {
        double value = said[i];
        if (i >= l->points)
            value = (value + s.rows.target[row_of(&s.rows, s.known.x + (before + i) * 3)]) / 2;
        assert_true(fabs((double)l->target[0][i] - (value - mean) / sqrt(squares)) < 1e-5);
    }
    for (size_t i = 0; i < l->held.n; i++) {
        double own = s.rows.target[row_of(&s.rows, l->held.raw + i * 3)];
        assert_true(fabs(l->held.target[i] - (own - mean) / sqrt(squares)) < 1e-9);
        assert_true(fabs(l->held.value[i] - (s.known.answer[s.first + i] - mean) / sqrt(squares)) <
                    1e-9);
    }
    school_close(&s);
}

/* Nine of ten points lie where rows are. */
static void test_few_points_stray(void **state) {
    (void)state;
    school s;
    size_t outside = 0;
    school_open(&s, 200, 3, LM_TEACHES_PAIRS, "8", 8, 4000);
    const st_lessons *l = &s.lessons;
    const float *x = s.known.x + (s.first + l->held.n + l->fresh.n) * 3;
    for (size_t i = 0; i < l->points; i++) {
        bool out = false;
        for (size_t j = 0; j < 3; j++)
            out |= x[i * 3 + j] < l->features.low[j] || x[i * 3 + j] > l->features.high[j];
        outside += out;
    }
    assert_true(outside > 0 && outside <= l->points / 10);
    school_close(&s);
}

/* ---- handing over ---- */

static size_t class_of_outputs(const float *z, size_t outputs, float *gap) {
    size_t best = 0;
    float second = -INFINITY;
    if (outputs == 1) {
        *gap = fabsf(z[0]);
        return z[0] > 0 ? 0 : 1;
    }
    for (size_t c = 1; c < outputs; c++)
        best = z[c] > z[best] ? c : best;
    for (size_t c = 0; c < outputs; c++)
        second = c != best && z[c] > second ? z[c] : second;
    *gap = z[best] - second;
    return best;
}

/* Of the points at or above a gap, how many the network answers otherwise than the next stage. */
static size_t wrong_exits(const school *s, const st_fit *own, const st_fit *next, double gap,
                          float *below) {
    size_t wrong = 0, outputs = s->lessons.outputs;
    *below = -1;
    for (size_t i = 0; i < s->lessons.fresh.n; i++) {
        float at, unused;
        size_t class = class_of_outputs(own->fresh + i * outputs, outputs, &at);
        size_t other = next ? class_of_outputs(next->fresh + i * outputs, outputs, &unused)
                            : (size_t)s->lessons.fresh.teacher[i];
        wrong += (double)at >= gap && class != other;
        if ((double)at < gap && at > *below)
            *below = at;
    }
    return wrong;
}

static void check_gap(const school *s, const st_fit *own, const st_fit *next, double gap) {
    float below, unused;
    double most = 0.0005 * (double)s->lessons.fresh.n;
    assert_true((double)wrong_exits(s, own, next, gap, &below) <= most);
    if (below >= 0) /* the gap is the smallest one */
        assert_true((double)wrong_exits(s, own, next, (double)below, &unused) > most);
    else
        assert_true(gap == 0);
}

static double slow_log_loss(const school *s, const float *out, double tau) {
    double sum = 0;
    size_t n = s->rows.classes, outputs = s->lessons.outputs;
    for (size_t i = 0; i < s->lessons.held.n; i++) {
        const float *z = out + i * outputs;
        double all = 0, own = 0;
        for (size_t c = 0; c < n; c++) {
            double value = outputs == 1 ? (c ? 0 : (double)z[0]) : (double)z[c];
            all += exp(value / tau);
            own = s->lessons.held.label[i] == (int32_t)c ? value / tau : own;
        }
        sum += log(all) - own;
    }
    return sum;
}

static void check_tau(const school *s, const st_fit *fit, double tau) {
    double least = slow_log_loss(s, fit->held, tau) * (1 - 1e-9);
    assert_true(tau >= 0.25 && tau <= 16);
    for (double other = 0.25; other < 16; other *= exp2(1 / 12.0))
        assert_true(slow_log_loss(s, fit->held, other) >= least);
}

static void check_choice(size_t classes, size_t pool, unsigned kind) {
    school s;
    st_choice choice;
    school_open(&s, 150, classes, kind, "4+12", 8, pool);
    s.options.last = true; /* the machine is not looked at here */
    st_fit fits[2];
    for (size_t i = 0; i < 2; i++)
        fits[i] = (st_fit){.size = s.options.size[i], .rate = 0.02, .visits = 8000};
    assert_int_equal(st_fit_all(s.ctx, &s.lessons, 9, "fitting", fits, 2), LIMN_OK);
    assert_int_equal(st_choose(s.ctx, &s.lessons, &s.options, fits, 2, &choice), LIMN_OK);
    assert_true(choice.nets == 2 && choice.fit[0] == 0 && choice.fit[1] == 1);
    check_gap(&s, &fits[0], &fits[1], choice.gap[0]);
    check_gap(&s, &fits[1], NULL, choice.gap[1]);
    check_tau(&s, &fits[0], choice.tau[0]);
    check_tau(&s, &fits[1], choice.tau[1]);
    st_fits_free(&s.ctx->mem, fits, 2);
    school_close(&s);
}

static void test_few_points_leave_a_network_that_the_next_would_answer_otherwise(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++) {
        check_choice(classes, 300, LM_TEACHES_PAIRS);
        check_choice(classes, 21000, LM_TEACHES_PROBA);
    }
}

/* ---- choosing sizes ---- */

static size_t chosen_units(double work, double max_loss) {
    school s;
    st_choice choice;
    st_fit fits[3];
    static const char *const sizes[] = {"2", "8", "24"};
    school_open(&s, 150, 3, LM_TEACHES_PAIRS, "auto", 8, 2000);
    s.options.work = work;
    s.options.max_loss = max_loss;
    for (size_t i = 0; i < 3; i++) {
        st_size size[ST_NETS];
        assert_int_equal(st_size_parse(sizes[i], size), 1);
        fits[i] = (st_fit){.size = size[0], .rate = 0.02, .visits = 20000};
    }
    assert_int_equal(st_fit_all(s.ctx, &s.lessons, 9, "fitting", fits, 3), LIMN_OK);
    assert_int_equal(st_choose(s.ctx, &s.lessons, &s.options, fits, 3, &choice), LIMN_OK);
    size_t units = fits[choice.fit[choice.nets - 1]].size.units[0];
    st_fits_free(&s.ctx->mem, fits, 3);
    school_close(&s);
    return units;
}

static void test_the_size_keeps_to_the_limits(void **state) {
    (void)state;
    assert_true(chosen_units(0, -1) >= 8);
    assert_int_equal(chosen_units(0, 1), 2);   /* anything is near enough */
    assert_int_equal(chosen_units(13, -1), 2); /* 3 x 2 + 2 x 3 */
    assert_int_equal(chosen_units(48, -1), 8);
    assert_int_equal(chosen_units(1, -1), 2); /* nothing keeps to it: the cheapest */
}

/* ---- scaling ---- */

/* Networks answer standardised rows; the model answers rows as they are. */
static void check_folding(const double *offset, const double *scale, bool shifted, size_t classes) {
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = {.n = 120, .d = 3, .classes = classes};
    known k;
    st_fit fit = {.rate = 0.02, .visits = 5000};
    st_lessons l;
    memcpy(r.offset, offset, 3 * sizeof *offset);
    memcpy(r.scale, scale, 3 * sizeof *scale);
    rows_fill(&r, 4);
    known_make(&k, &r, classes ? LM_TEACHES_PAIRS : LM_TEACHES_VALUE);
    st_model *m =
        taught(ctx, &r, &k.teacher, "size=9x5 pool=500 visits=5000 rate=0.02 sharpness=8");
    assert_int_equal(m->shifted, shifted);
    st_options o = options_with(ctx, "9x5");
    o.sharpness = 8;
    o.pool = 500;
    fit.size = o.size[0];
    lm_train_set set = set_of(&r, &k.teacher);
    assert_int_equal(st_lessons_make(ctx, &set, &o, &l), LIMN_OK);
    assert_int_equal(st_fit_all(ctx, &l, o.seed, "fitting", &fit, 1), LIMN_OK);
    for (size_t i = 0; i < l.held.n; i++) {
        float z[16];
        outputs_of(ctx, m, 0, l.held.raw + i * 3, z);
        for (size_t c = 0; c < l.outputs; c++) {
            double expected = (double)fit.held[i * l.outputs + c];
            if (!(fabs((double)z[c] - expected) < 1e-3 * (1 + fabs(expected))))
                fail_msg("output %zu of row %zu: %g, not %g", c, i, (double)z[c], expected);
        }
    }
    st_fits_free(&ctx->mem, &fit, 1);
    st_lessons_free(&ctx->mem, &l);
    st_destroy(&ctx->mem, m);
    known_free(&k);
    rows_free(&r);
    limn_context_free(ctx);
}

static void test_scaling_is_folded_into_the_first_layer(void **state) {
    static const struct {
        double offset[3], scale[3];
        bool shifted;
    } list[] = {
        {{0, 0, 0}, {1, 1, 1}, false},         {{5, -3, 40}, {1, 0.1, 1000}, false},
        {{1e6, 0, 0}, {1, 1, 1}, true},        {{0, 0, 0}, {1, 1e-9, 1}, true},
        {{0, 0, 1}, {1, 1, 1e9}, true},        {{1e6, 1e-5, -1e12}, {1, 1e-9, 1e9}, true},
        {{0, 1e30, 0}, {1e30, 1e29, 1}, true}, {{0, 0, 0}, {1e-30, 1e37, 1}, true},
    };
    (void)state;
    for (size_t i = 0; i < LM_COUNT(list); i++)
        for (size_t classes = 0; classes <= 3; classes++)
            if (classes != 1)
                check_folding(list[i].offset, list[i].scale, list[i].shifted, classes);
}

/* ---- threads ---- */

static void test_threads_change_no_byte(void **state) {
    static const char *const params[] = {"size=5 pool=400 visits=2000",
                                         "size=4+30x9 pool=400 visits=2000 last=teacher",
                                         "size=auto pool=300 visits=300"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(params); i++) {
        unsigned char *first = NULL;
        size_t first_size = 0;
        rows r = rows_make(100, 3, 3, 5);
        for (int threads = 1; threads <= 3; threads++) {
            limn_context *ctx = make_context(NULL, threads, 3);
            limn_data *data = data_of(ctx, &r);
            asking a = {.params = params[i], .teacher_method = "svm"};
            limn_model *model = must(ctx, data, &a);
            unsigned char *bytes;
            size_t size;
            assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
            if (!first) {
                first = malloc(size);
                memcpy(first, bytes, first_size = size);
            }
            assert_int_equal(size, first_size);
            assert_memory_equal(bytes, first, size);
            lm_free(&ctx->mem, bytes);
            limn_model_free(model);
            limn_data_free(data);
            limn_context_free(ctx);
        }
        free(first);
        rows_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_parsed_and_formatted),
        cmocka_unit_test(test_what_is_no_size_is_refused),
        cmocka_unit_test(test_lessons_are_what_the_teacher_said),
        cmocka_unit_test(test_few_rows_are_learned_from_and_judge),
        cmocka_unit_test(test_values_are_standardised_and_those_of_rows_are_half_their_own),
        cmocka_unit_test(test_few_points_stray),
        cmocka_unit_test(test_few_points_leave_a_network_that_the_next_would_answer_otherwise),
        cmocka_unit_test(test_the_size_keeps_to_the_limits),
        cmocka_unit_test(test_scaling_is_folded_into_the_first_layer),
        cmocka_unit_test(test_threads_change_no_byte),
    };
    return cmocka_run_group_tests_name("student", tests, NULL, NULL);
}
