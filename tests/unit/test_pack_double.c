/* test_pack_double.c: packed products, distances and sums in double (num/pack_double) against long
 * double, on every instruction set that the machine has. */
#include "num/pack_double.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 70, PANELS = (ROWS + LM_PANEL - 1) / LM_PANEL, PLACES = PANELS * LM_PANEL };

static const size_t dims[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257};

typedef struct made {
    size_t d;
    double *value; /* ROWS x d, what the split holds */
    float *high, *low;
    double *x;
    lm_split split;
} made;

/* kind 0: one size; 1: sizes from 1e-20 to 1e20; 2: small differences on a large offset. */
static double number(int kind, lm_rng *rng) {
    double v = lm_rng_normal(rng);
    return kind == 0 ? v : kind == 1 ? v * pow(10, 40 * lm_rng_unit(rng) - 20) : 1e6 + v;
}

static made make(size_t d, int kind, lm_rng *rng) {
    made m = {.d = d};
    m.value = malloc(ROWS * d * sizeof *m.value);
    m.x = malloc(d * sizeof *m.x);
    m.high = aligned_alloc(64, PLACES * d * sizeof *m.high);
    m.low = aligned_alloc(64, PLACES * d * sizeof *m.low);
    memset(m.high, 0, PLACES * d * sizeof *m.high);
    memset(m.low, 0, PLACES * d * sizeof *m.low);
    for (size_t i = 0; i < ROWS * d; i++)
        m.value[i] = number(kind, rng);
    for (size_t j = 0; j < d; j++)
        m.x[j] = number(kind, rng);
    for (size_t i = 0; i < ROWS; i++)
        lm_split_put(m.high, m.low, d, i, m.value + i * d);
    lm_pack_view(m.high, ROWS, d, &m.split.high);
    lm_pack_view(m.low, ROWS, d, &m.split.low);
    return m;
}

static void made_free(made *m) {
    free(m->value);
    free(m->x);
    free(m->high);
    free(m->low);
}

/* rounded: of the floats of high alone. */
static void assert_dots(const made *m, const double *out, bool rounded, const char *isa) {
    for (size_t i = 0; i < PLACES; i++) {
        long double sum = 0, size = 0;
        for (size_t j = 0; j < m->d && i < ROWS; j++) {
            double value = m->value[i * m->d + j];
            long double product =
                (long double)m->x[j] * (rounded ? (long double)(float)value : (long double)value);
            sum += product;
            size += fabsl(product);
        }
        /* sums in double; 48 bits of each number */
        long double most = size * ((long double)m->d * 0x1p-52L + (rounded ? 0 : 0x1p-47L));
        if (!(fabsl((long double)out[i] - sum) <= most))
            fail_msg("%s, d %zu, row %zu: %.17g instead of %.17Lg", isa, m->d, i, out[i], sum);
    }
}

static void check_all(const char *isa) {
    lm_rng rng = lm_rng_at(1, 71, 0);
    for (size_t of = 0; of < LM_COUNT(dims); of++)
        for (int kind = 0; kind < 3; kind++) {
            made m = make(dims[of], kind, &rng);
            double out[PLACES], spare[PLACES], part[PLACES];
            lm_split alone = {.high = m.split.high};
            lm_pack_dots_double(&m.split.high, 0, PANELS, m.x, out);
            assert_dots(&m, out, true, isa);
            lm_split_dots(&alone, 0, PANELS, m.x, part, spare);
            assert_memory_equal(out, part, sizeof out);
            lm_split_dots(&m.split, 0, PANELS, m.x, out, spare);
            assert_dots(&m, out, false, isa);
            /* A row's bits depend neither on the first row of the call nor on the number of
             * rows. */
            for (size_t first = 0; first < PANELS; first++)
                for (size_t count = 1; first + count <= PANELS; count++) {
                    double *room = malloc(count * LM_PANEL * sizeof *room);
                    double *more = malloc(count * LM_PANEL * sizeof *more);
                    lm_split_dots(&m.split, first, count, m.x, room, more);
                    assert_memory_equal(room, out + first * LM_PANEL,
                                        count * LM_PANEL * sizeof *room);
                    free(room);
                    free(more);
                }
            made_free(&m);
        }
}

static void test_products_equal_those_in_long_double(void **state) {
    (void)state;
    const char *before = lm_isa_name(), *isa;
    size_t sets = 0;
    for (; (isa = lm_isa_at(sets)) != NULL; sets++) {
        assert_true(lm_isa_use(isa));
        check_all(isa);
    }
    assert_true(sets > 0);
    assert_true(lm_isa_use(before));
}

/* ---- distances and sums ---- */

static long double exact_distance(const made *m, size_t row, const float *x) {
    long double sum = 0;
    for (size_t j = 0; j < m->d; j++) {
        long double by = (long double)(float)m->value[row * m->d + j] - (long double)x[j];
        sum += by * by;
    }
    return sum;
}

static void check_distances(made *m, const float *x, const double *centre, const double *norm,
                            const char *isa) {
    double out[PLACES], part[PLACES], *spare = malloc(m->d * sizeof *spare);
    lm_pack_distances_double(&m->split.high, centre, norm, 0, PANELS, x, out, spare);
    for (size_t i = 0; i < ROWS; i++) {
        long double want = exact_distance(m, i, x);
        if (!(fabsl(out[i] - want) <= 1e-8L * want))
            fail_msg("%s, d %zu, row %zu: %.17g instead of %.17Lg", isa, m->d, i, out[i], want);
    }
    for (size_t first = 0; first < PANELS; first++) {
        size_t rows = ROWS - first * LM_PANEL < LM_PANEL ? ROWS - first * LM_PANEL : LM_PANEL;
        lm_pack_distances_double(&m->split.high, centre, norm, first, 1, x, part, spare);
        assert_memory_equal(part, out + first * LM_PANEL, rows * sizeof *part);
    }
    free(spare);
}

static void check_centre(const made *m, const double *centre, const double *norm) {
    for (size_t j = 0; j < m->d; j++) {
        long double mean = 0, size = 0;
        for (size_t i = 0; i < ROWS; i++) {
            mean += (long double)(float)m->value[i * m->d + j] / ROWS;
            size += fabsl((long double)(float)m->value[i * m->d + j]) / ROWS;
        }
        assert_true(fabsl(centre[j] - mean) <= 1e-14L * size);
    }
    for (size_t i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (size_t j = 0; j < m->d; j++) {
            long double by = (long double)(float)m->value[i * m->d + j] - centre[j];
            sum += by * by;
        }
        assert_true(fabsl(norm[i] - sum) <= 1e-13L * sum);
    }
}

static void check_sums(const made *m) {
    double weight[PLACES] = {0}, *out = malloc(m->d * sizeof *out);
    for (size_t i = 0; i < ROWS; i++)
        weight[i] = sin((double)i) * (i % 5 ? 1 : 1e10);
    lm_pack_sum_double(&m->split.high, weight, out);
    for (size_t j = 0; j < m->d; j++) {
        long double sum = 0, size = 0;
        for (size_t i = 0; i < ROWS; i++) {
            long double term = (long double)weight[i] * (float)m->value[i * m->d + j];
            sum += term;
            size += fabsl(term);
        }
        assert_true(fabsl(out[j] - sum) <= 1e-14L * size);
    }
    free(out);
}

/* Queries are rows, near rows, and elsewhere. */
static void check_queries(made *m, const char *isa, lm_rng *rng) {
    size_t d = m->d;
    double *centre = malloc(d * sizeof *centre), norm[ROWS];
    float *x = malloc(d * sizeof *x);
    lm_pack_centre(&m->split.high, centre, norm);
    check_centre(m, centre, norm);
    check_sums(m);
    for (size_t q = 0; q < 12; q++) {
        for (size_t j = 0; j < d; j++) {
            double row = m->value[q * 5 * d + j];
            x[j] = (float)(q % 3 == 0   ? row
                           : q % 3 == 1 ? row * (1 + 1e-6 * lm_rng_normal(rng))
                                        : row + lm_rng_normal(rng));
        }
        check_distances(m, x, centre, norm, isa);
    }
    free(centre);
    free(x);
}

/* Also kind 3: one row far away from all others, which moves the centre. */
static void test_distances_and_sums_equal_those_in_long_double(void **state) {
    (void)state;
    const char *before = lm_isa_name(), *isa;
    for (size_t sets = 0; (isa = lm_isa_at(sets)) != NULL; sets++) {
        lm_rng rng = lm_rng_at(2, 72, 0);
        assert_true(lm_isa_use(isa));
        for (size_t of = 0; of < LM_COUNT(dims); of++)
            for (int kind = 0; kind < 4; kind++) {
                made m = make(dims[of], kind % 3, &rng);
                for (size_t j = 0; j < m.d && kind == 3; j++)
                    m.value[7 * m.d + j] = 1e12;
                if (kind == 3)
                    lm_split_put(m.high, m.low, m.d, 7, m.value + 7 * m.d);
                check_queries(&m, isa, &rng);
                made_free(&m);
            }
    }
    assert_true(lm_isa_use(before));
}

static void test_no_panels_are_no_work(void **state) {
    (void)state;
    float none = 0;
    double x = 1, out = 7, spare = 8;
    lm_split split;
    lm_pack_view(&none, 0, 1, &split.high);
    lm_pack_view(&none, 0, 1, &split.low);
    lm_split_dots(&split, 0, 0, &x, &out, &spare);
    assert_true(out == 7 && spare == 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_equal_those_in_long_double),
        cmocka_unit_test(test_distances_and_sums_equal_those_in_long_double),
        cmocka_unit_test(test_no_panels_are_no_work),
    };
    return cmocka_run_group_tests_name("wide", tests, NULL, NULL);
}
