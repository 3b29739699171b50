/* plain.c: the loop that limn is compared with; in a file of its own so that nothing is inlined. */
#include <stddef.h>

size_t plain_nearest(const float *rows, size_t n, size_t d, const float *x, float *distance);

size_t plain_nearest(const float *rows, size_t n, size_t d, const float *x, float *distance) {
    size_t best = 0;
    float least = 3.4e38f;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t j = 0; j < d; j++) {
            float difference = rows[i * d + j] - x[j];
            sum += difference * difference;
        }
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    *distance = least;
    return best;
}
