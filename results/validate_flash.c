/* Random reads against the flash law: so many readers that each keep one read of a size in flight. */
#include <math.h>
#include <stdio.h>

#include "results/validate_parts.h"

enum { LANES, BLOCK_KIB, MIB_PER_S, LATENCY_MS, DEVICE, SOURCE };

static const struct truth_column columns[] = {
    [LANES] = {"lanes", TRUTH_COUNT, 0, FLASH_QUEUE_MAX},
    [BLOCK_KIB] = {"block_kib", TRUTH_COUNT, 0, 1 << 20},
    [MIB_PER_S] = {"mib_per_s", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [LATENCY_MS] = {"latency_ms", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [DEVICE] = {"device", TRUTH_TEXT, TRUTH_MAY_BE_MISSING, 0},
    [SOURCE] = {"source", TRUTH_TEXT, TRUTH_MAY_BE_MISSING, 0},
};

static bool compare_row(struct truth_place *place, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    struct validating *validating = place->validating;
    char subject[160], why[160];
    const uint32_t lanes = (uint32_t)cells[LANES].number;
    const uint64_t bytes = (uint64_t)cells[BLOCK_KIB].number * 1024;
    const char *name = truth_device_of(validating, place->file, cells[DEVICE].text, why, sizeof why);
    snprintf(subject, sizeof subject, "%.40s, %u %s of %.0f KiB", name != NULL ? name : "?", lanes,
             lanes == 1 ? "reader" : "readers", cells[BLOCK_KIB].number);
    place->subject = subject;
    if (name == NULL)
        return truth_skip(place, why, err);
    struct device device;
    uint64_t rate;
    int64_t latency;
    struct error reason;
    if (!profile_read_device(name, validating->options->profile_dirs, &device, err))
        return false;
    if (!flash_measure(&device.flash, lanes, bytes, &rate, &latency, &reason))
        return truth_skip(place, reason.text, err);
    return truth_add(place, "bytes_per_s", cells[MIB_PER_S].number * 1048576, (double)rate, (double)NAN, NULL, err) &&
           truth_add(place, "latency_ns", cells[LATENCY_MS].number * 1e6, (double)latency, (double)NAN, NULL, err);
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    for (size_t i = 0; i < file->row_count; i++) {
        struct truth_place place = {validating, file, &file->rows[i], NULL};
        if (!compare_row(&place, err))
            return false;
    }
    return true;
}

/* Single rows are further off (docs/models.md section 15): the law has three constants for all of them. */
const struct truth_family truth_flash = {.name = "flash",
                                         .prefix = "iobench-",
                                         TRUTH_COLUMN_LIST(columns),
                                         .compare = compare,
                                         .median_quantity = "bytes_per_s",
                                         .median_limit_percent = 10};
