/* Student's intervals. */
#include "results/statistics.h"

#include <math.h>

/* Upper critical values of Student's t for alpha = 0.025: NIST/SEMATECH e-Handbook of Statistical Methods, section
 * 1.3.6.7.2, https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm */
static const struct {
    size_t degrees;
    double t;
} quantiles[] = {
    {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},   {6, 2.447},  {7, 2.365},  {8, 2.306},
    {9, 2.262},  {10, 2.228}, {11, 2.201}, {12, 2.179}, {13, 2.160},  {14, 2.145}, {15, 2.131}, {16, 2.120},
    {17, 2.110}, {18, 2.101}, {19, 2.093}, {20, 2.086}, {21, 2.080},  {22, 2.074}, {23, 2.069}, {24, 2.064},
    {25, 2.060}, {26, 2.056}, {27, 2.052}, {28, 2.048}, {29, 2.045},  {30, 2.042}, {40, 2.021}, {50, 2.009},
    {60, 2.000}, {70, 1.994}, {80, 1.990}, {90, 1.987}, {100, 1.984},
};

double student_95(size_t degrees_of_freedom)
{
    double t = (double)NAN;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        if (quantiles[i].degrees <= degrees_of_freedom)
            t = quantiles[i].t;
    return t;
}

struct interval interval_of(const double *values, size_t count)
{
    if (count == 0)
        return (struct interval){(double)NAN, (double)NAN, (double)NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    if (count == 1)
        return (struct interval){mean, (double)NAN, (double)NAN};
    const double half = student_95(count - 1) * sqrt(squares / (double)(count - 1) / (double)count);
    return (struct interval){mean, mean - half, mean + half};
}
