/* Means with their 95 % intervals, for runs that differ in the seed only.
 *
 * Floating point, in a fixed order of operations: these are reported ratios, and nothing is decided from them but what
 * a table says. */
#ifndef POCKETLOAD_RESULTS_STATISTICS_H
#define POCKETLOAD_RESULTS_STATISTICS_H

#include <stddef.h>

/* A mean and the interval in which the true mean lies in 95 of 100 cases, if the values are independent and about
 * normal: mean +- t * s / sqrt(n), with s the standard deviation of the sample (n - 1) and t Student's quantile for n -
 * 1 degrees of freedom. All NAN without a value; low and high NAN with one. */
struct interval {
    double mean, low, high;
};

struct interval interval_of(const double *values, size_t count);

/* Student's t for a two-sided interval of 95 %. Between the rows of the table the smaller number of degrees of freedom
 * counts, so that no interval is too narrow. NAN for 0. */
double student_95(size_t degrees_of_freedom);

#endif
