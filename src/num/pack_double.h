/* pack_double.h: packed sets where floats are not enough: sums in double, and matrices of doubles
 * that are stored as two packed sets of floats: the rounded values and the rounding errors. 48 bits
 * of each number survive, and the first half alone is the packed set that fast code uses. */
#ifndef LIMN_NUM_PACK_DOUBLE_H
#define LIMN_NUM_PACK_DOUBLE_H

#include "num/pack.h"

/* out[i] = x . row i, summed in double, for the rows of panels first .. first+count-1, out[0]
 * belonging to row first * LM_PANEL; out holds count * LM_PANEL. A row's result does not depend on
 * first and count, bit for bit. */
void lm_pack_dots_double(const lm_pack *pack, size_t first, size_t count, const double *x,
                         double *out);

/* Squared distances in double: rows are taken relative to their mean, so that little cancels. */
/* centre (d): the mean of the rows; norm (n): |row - centre|^2. */
void lm_pack_centre(const lm_pack *pack, double *centre, double *norm);
/* out[i] = |x - row i|^2, at least 0, for the rows of panels first .. first+count-1, as above (the
 * places past n mean nothing); spare: d doubles. */
void lm_pack_distances_double(const lm_pack *pack, const double *centre, const double *norm,
                              size_t first, size_t count, const float *x, double *out,
                              double *spare);
/* out (d) = the sum of weight[i] row i; weight has panels * LM_PANEL entries, 0 past n. */
void lm_pack_sum_double(const lm_pack *pack, const double *weight, double *out);

/* high + low = the number. Both have the same rows; low.data may be NULL: all 0. */
typedef struct lm_split {
    lm_pack high, low;
} lm_split;

/* Writes one row of doubles into the (zeroed) floats of two packed sets of d features. A number
 * beyond the range of floats becomes infinite. */
void lm_split_put(float *high, float *low, size_t d, size_t row, const double *values);
/* The same as lm_pack_dots_double; spare: count * LM_PANEL doubles. */
void lm_split_dots(const lm_split *split, size_t first, size_t count, const double *x, double *out,
                   double *spare);

#endif
