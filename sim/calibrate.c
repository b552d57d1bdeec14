/* A calibration from beginning to end, and the spreads of what it measures. */
#include "sim/calibrate.h"

#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/calibrate_parts.h"

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

struct spread spread_of(double *values, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[kept++] = values[i];
    if (kept == 0)
        return (struct spread){0};
    qsort(values, kept, sizeof *values, by_size);
    double median = kept % 2 == 1 ? values[kept / 2] : (values[kept / 2 - 1] + values[kept / 2]) / 2.0;
    return (struct spread){values[0], median, values[kept - 1], true};
}

bool calibrate_step(struct calibrate_progress *progress, struct error *err)
{
    const struct calibrate_options *options = progress->options;
    if (*options->stop != 0)
        return fail(err, STATUS_IO, "stopped");
    progress->done++;
    if (options->progress != NULL)
        options->progress(options->context, progress->done, progress->total);
    return true;
}

size_t calibrate_steps(uint64_t file_bytes)
{
    struct measured_point points[CALIBRATE_POINTS_MAX];
    const size_t repeated = calibrate_flash_points(file_bytes, points) + 2; /* faults and memory */
    return test_file_steps(file_bytes) + repeated * CALIBRATE_REPEATS;
}

bool calibrate(const struct calibrate_options *options, struct calibration *calibration, struct error *err)
{
    char size[UNITS_TEXT];
    struct test_file file;
    struct calibrate_progress progress = {.options = options};
    *calibration = (struct calibration){.file_bytes = options->file_bytes};
    if (options->file_bytes < CALIBRATE_FILE_LEAST)
        return fail(err, STATUS_USAGE, "a test file of %s: expected at least %s",
                    print_bytes(options->file_bytes, size), "1MiB");
    progress.total = calibrate_steps(options->file_bytes);
    bool good = test_file_make(&progress, &file, err);
    if (good) {
        calibration->direct = file.direct;
        calibrate_machine(&file, &calibration->machine);
        good = calibrate_flash(&file, &progress, calibration, err) &&
               calibrate_faults(&file, &progress, calibration, err) && calibrate_memory(&progress, calibration, err);
    }
    test_file_close(&file);
    return good;
}
