/* Dense models larger than RAM, mapped: how long a token takes when the kernel reads the file again for each.
 *
 * Assumed, as the tables say no more than RAM, file and disk: a fifth of the RAM is the system's and the app's own; the
 * rest holds file pages (any share that leaves less than the file gives nearly the same). Readahead, fault-around and
 * faults are those of Linux on x86 (linux-cgroup.ini); the disk has its rate and no setup. Computing takes no time: so
 * a file that fits takes none at all, which says so in its note. */
#include <math.h>
#include <stdio.h>

#include "results/validate_parts.h"

enum { SOURCE, RAM_GB, FILE_GB, DISK_GB_PER_S, S_PER_TOKEN };

static const struct truth_column columns[] = {
    [SOURCE] = {"source", TRUTH_TEXT, 0, 0},
    [RAM_GB] = {"ram_gb", TRUTH_NUMBER, 0, 4096},
    [FILE_GB] = {"file_gb", TRUTH_NUMBER, 0, 1024},
    [DISK_GB_PER_S] = {"disk_gb_per_s", TRUTH_NUMBER, 0, 1000},
    [S_PER_TOKEN] = {"measured_s_per_token", TRUTH_NUMBER, 0, 3600},
};

enum { LAYERS = 64, DECODED = 3, CONFIG_BYTES = 1024 };

static bool simulate(const struct validating *validating, const struct truth_cell *cells, double *token_ns,
                     struct error *err)
{
    struct truth_run run;
    char text[CONFIG_BYTES];
    const double ram = cells[RAM_GB].number * 1e9, layer = floor(cells[FILE_GB].number * 1e9 / LAYERS);
    const double disk = cells[DISK_GB_PER_S].number * 1e9;
    snprintf(text, sizeof text,
             "[device]\nprofile = linux-cgroup\nram = %.0fB\nos_reserve = %.0fB\nother_apps = 0B\nkill = none\n"
             "flash_setup = 0ns\nflash_stream = %.0fB/s\nflash_max = %.0fB/s\n"
             "[model]\nblocks = %d x %.0fB\n"
             "[workload]\nkind = dense\nprompt_tokens = 1\noutput_tokens = %d\nprompt_compute = 0s\n"
             "compute_per_token = 0s\n"
             "[loader]\nmode = mmap\n",
             ram, floor(ram / 5), disk, disk, LAYERS, layer, DECODED + 1);
    const bool good = truth_simulate(validating, text, NULL, NULL, &run, err);
    if (good)
        *token_ns = (double)run.result.numbers.tpot_mean_ns;
    truth_run_free(&run);
    return good;
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        char subject[200];
        struct error reason;
        double token_ns = (double)NAN;
        snprintf(subject, sizeof subject, "%.80s: %.4g GB of RAM, file of %.4g GB, disk of %.4g GB/s",
                 cells[SOURCE].text, cells[RAM_GB].number, cells[FILE_GB].number, cells[DISK_GB_PER_S].number);
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        const bool good = simulate(validating, cells, &token_ns, &reason);
        const char *note = !good           ? reason.text
                           : token_ns == 0 ? "the file fits into RAM here, and computing is not in the table"
                                           : "";
        if (!truth_add(&place, "ns_per_token", cells[S_PER_TOKEN].number * 1e9, token_ns, 10, note, err))
            return false;
    }
    return true;
}

const struct truth_family truth_dense = {.name = "larger-than-ram", TRUTH_COLUMN_LIST(columns), .compare = compare};
