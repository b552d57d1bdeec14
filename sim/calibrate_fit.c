/* Least squares for the flash law: for given setup and stream the best max is known, as only the points above it count;
 * the two are searched for on a grid that closes in. */
#include "sim/calibrate_fit.h"

#include <math.h>
#include <stdlib.h>

/* The first grid, in steps of natural logarithms: setup from 1 ns to 1 s, stream from 10 KB/s to 1 PB/s. */
#define SETUP_LOW log(1e-9)
#define SETUP_HIGH log(1.0)
#define STREAM_LOW log(1e4)
#define STREAM_HIGH log(1e15)
enum { COARSE_STEPS = 96, FINE_REACH = 4, FINE_LEVELS = 110 };
#define FINE_SHRINK 0.7
#define NS_PER_S 1e9

struct sample {
    double bytes, work, rate; /* work = ln(lanes * bytes), rate = ln of what was measured */
};

/* A point as the law without max sees it. */
struct aligned {
    double law, rate;
};

struct fitting {
    const struct sample *samples;
    struct aligned *sorted; /* from the highest law to the lowest */
    size_t count;
};

struct guess {
    double setup, stream, max; /* natural logarithms of seconds and bytes a second */
    size_t held;               /* points that max holds */
    double squares;
};

static int higher_first(const void *a, const void *b)
{
    const struct aligned *left = a, *right = b;
    if (left->law != right->law)
        return left->law < right->law ? 1 : -1;
    return (left->rate < right->rate) - (left->rate > right->rate);
}

static double square(double x)
{
    return x * x;
}

/* The best max for a guess of the others. When the k points with the highest laws are the ones that max holds, their
 * squares are least with max at the mean of what was measured of them, or at the end of where max leaves it at these k
 * that is nearest. */
static void find_max(const struct fitting *f, struct guess *guess)
{
    const double setup = exp(guess->setup), stream = exp(guess->stream);
    double below = 0.0, sum = 0.0, sum_squares = 0.0;
    for (size_t i = 0; i < f->count; i++) {
        const struct sample *sample = &f->samples[i];
        f->sorted[i] = (struct aligned){sample->work - log(setup + sample->bytes / stream), sample->rate};
    }
    qsort(f->sorted, f->count, sizeof *f->sorted, higher_first);
    for (size_t i = 0; i < f->count; i++)
        below += square(f->sorted[i].rate - f->sorted[i].law);
    guess->held = 0;
    guess->max = fmax(f->sorted[0].law, guess->stream);
    guess->squares = below;
    for (size_t k = 1; k <= f->count; k++) {
        const struct aligned *last = &f->sorted[k - 1];
        below -= square(last->rate - last->law);
        sum += last->rate;
        sum_squares += square(last->rate);
        double low = k < f->count ? fmax(f->sorted[k].law, guess->stream) : guess->stream;
        if (low > last->law)
            continue;
        double max = fmin(fmax(sum / (double)k, low), last->law);
        double squares = fmax(sum_squares - 2.0 * max * sum + (double)k * square(max), 0.0) + fmax(below, 0.0);
        if (squares < guess->squares) {
            guess->squares = squares;
            guess->max = max;
            guess->held = k;
        }
    }
}

/* Looks at the guesses around `best`, `reach` steps to each side, and keeps the best. */
static void search_around(const struct fitting *f, double setup_step, double stream_step, int reach, struct guess *best)
{
    const struct guess centre = *best;
    for (int i = -reach; i <= reach; i++)
        for (int j = -reach; j <= reach; j++) {
            struct guess guess = {.setup = centre.setup + i * setup_step, .stream = centre.stream + j * stream_step};
            find_max(f, &guess);
            if (guess.squares < best->squares)
                *best = guess;
        }
}

double flash_law(const struct flash_fit *fit, uint64_t lanes, uint64_t block_bytes)
{
    double bytes = (double)block_bytes;
    return fmin(fit->max_bps, (double)lanes * bytes / (fit->setup_ns / NS_PER_S + bytes / fit->stream_bps));
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* `room` holds a number for each point. */
static void judge(const struct flash_point *points, size_t count, struct flash_fit *fit, double *room)
{
    double squares = 0.0;
    fit->worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        double ratio = flash_law(fit, points[i].lanes, points[i].block_bytes) / points[i].bps;
        squares += square(log(ratio));
        room[i] = fabs(ratio - 1.0);
        if (room[i] > fabs(fit->worst))
            fit->worst = ratio - 1.0;
    }
    qsort(room, count, sizeof *room, by_size);
    fit->median = count % 2 == 1 ? room[count / 2] : (room[count / 2 - 1] + room[count / 2]) / 2.0;
    fit->rms = sqrt(squares / (double)count);
}

static bool check_points(const struct flash_point *points, size_t count, struct error *err)
{
    bool differ = false;
    if (count < 3 || count > FLASH_POINTS_MAX)
        return fail(err, STATUS_INPUT, "%zu measured rates: a fit of setup, stream and max needs 3 to %d", count,
                    FLASH_POINTS_MAX);
    for (size_t i = 0; i < count; i++) {
        must(points[i].lanes > 0 && points[i].block_bytes > 0 && points[i].bps > 0.0);
        differ = differ || points[i].block_bytes != points[0].block_bytes;
    }
    return differ || fail(err, STATUS_INPUT,
                          "all %zu reads have %llu bytes: setup and stream can only be told apart with several sizes",
                          count, (unsigned long long)points[0].block_bytes);
}

bool flash_fit(const struct flash_point *points, size_t count, struct flash_fit *fit, struct error *err)
{
    if (!check_points(points, count, err))
        return false;
    struct sample *samples = calloc(count, sizeof *samples);
    struct aligned *sorted = calloc(count, sizeof *sorted);
    double *room = calloc(count, sizeof *room);
    bool good = (samples && sorted && room) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        const struct fitting f = {samples, sorted, count};
        for (size_t i = 0; i < count; i++) {
            double bytes = (double)points[i].block_bytes;
            samples[i] = (struct sample){bytes, log((double)points[i].lanes * bytes), log(points[i].bps)};
        }
        double setup_step = (SETUP_HIGH - SETUP_LOW) / COARSE_STEPS;
        double stream_step = (STREAM_HIGH - STREAM_LOW) / COARSE_STEPS;
        struct guess best = {.setup = (SETUP_LOW + SETUP_HIGH) / 2, .stream = (STREAM_LOW + STREAM_HIGH) / 2};
        find_max(&f, &best);
        search_around(&f, setup_step, stream_step, COARSE_STEPS / 2, &best);
        for (int level = 0; level < FINE_LEVELS; level++) {
            search_around(&f, setup_step / 2, stream_step / 2, FINE_REACH, &best);
            setup_step *= FINE_SHRINK;
            stream_step *= FINE_SHRINK;
        }
        *fit = (struct flash_fit){.setup_ns = exp(best.setup) * NS_PER_S,
                                  .stream_bps = exp(best.stream),
                                  .max_bps = exp(best.max),
                                  .reaches_max = best.held > 0};
        judge(points, count, fit, room);
    }
    free(samples);
    free(sorted);
    free(room);
    return good;
}
