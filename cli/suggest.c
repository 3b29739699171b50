/* suggest.c: "did you mean": the candidate nearest by edit distance.
 *
 * The distance counts insertions, deletions, substitutions and swaps of adjacent characters
 * (optimal string alignment); only three rows of the table are kept. */
#include "cli.h"

#include <string.h>

enum { WORD_BYTES = 40 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t m, const char *b, size_t n) {
    size_t table[3][WORD_BYTES + 1];
    size_t *before = table[0], *last = table[1], *row = table[2];
    for (size_t j = 0; j <= n; j++)
        last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[n];
}

const char *cli_nearest(const char *text, const char *const *candidates, size_t count) {
    const char *best = NULL;
    size_t length = strlen(text), best_distance = SIZE_MAX;
    if (length == 0 || length > WORD_BYTES)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(candidates[i]);
        if (size > WORD_BYTES)
            continue;
        size_t distance = edit_distance(text, length, candidates[i], size);
        size_t longer = length > size ? length : size;
        bool near = distance <= (longer + 1) / 3;
        size_t shorter = least(length, size);
        bool beginning = shorter >= 2 && memcmp(text, candidates[i], shorter) == 0;
        if ((near || beginning) && distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
