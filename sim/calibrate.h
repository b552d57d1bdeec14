/* Measures the machine that the program runs on: flash, page faults, memory, and fits the flash law to it.
 *
 * One file of random bytes is made in a folder and has no name from the moment it is open, so that nothing of it is
 * left whatever ends the process; nothing else is written. No privilege is needed. Results depend on the machine and
 * its mood: everything is measured CALIBRATE_REPEATS times, and the least and the most are kept with the median. */
#ifndef POCKETLOAD_SIM_CALIBRATE_H
#define POCKETLOAD_SIM_CALIBRATE_H

#include <signal.h>

#include "sim/calibrate_fit.h"

enum { CALIBRATE_REPEATS = 5, CALIBRATE_POINTS_MAX = 128 };

/* The smallest file: reads of all sizes up to a half of it are made. */
#define CALIBRATE_FILE_LEAST (UINT64_C(1) << 20)

struct calibrate_options {
    const char *folder; /* where the file is made */
    uint64_t file_bytes;
    int64_t point_ns;                  /* time for one point, all repetitions together */
    const volatile sig_atomic_t *stop; /* not 0: ends with STATUS_IO soon after */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* Of all repetitions, in the unit of what is measured; known is false where it could not be. */
struct spread {
    double least, median, most;
    bool known;
};

/* What the system says of itself; 0 where it does not. */
struct machine {
    char system[160];   /* "Linux 6.18.1 aarch64", printable */
    char processor[64]; /* "aarch64" */
    bool android;
    uint64_t ram_bytes, available_bytes, page_bytes, cores;
    uint64_t swap_bytes;
    bool swap_is_zram;
    bool has_swappiness, has_watermark_scale; /* their values may be 0 */
    uint64_t min_free_bytes, swappiness, watermark_scale;
    uint64_t memlock_bytes;                      /* UINT64_MAX: no limit */
    uint64_t readahead_bytes, request_max_bytes; /* of the file's block device */
    bool has_device, has_readahead, has_request_max;
};

/* Reads of one kind. */
struct measured_point {
    bool sequential;
    uint64_t lanes, block_bytes;
    struct spread bps;
};

struct calibration {
    struct machine machine;
    uint64_t file_bytes;
    bool direct; /* reads went past the page cache (O_DIRECT) */
    size_t points;
    struct measured_point point[CALIBRATE_POINTS_MAX];
    struct flash_fit fit;                        /* of the medians */
    struct spread setup, stream, max;            /* of the fits of each repetition */
    struct spread anonymous_fault, mapped_fault; /* ns for a minor fault, the second one with what it maps around it */
    struct spread fault_around;                  /* bytes mapped by one fault of a file in the page cache */
    struct spread major_fault, major_whole,
        one_read;            /* ns of the processor: the first is the second less the third, at least 0 */
    struct spread take_back; /* ns a page: MADV_PAGEOUT of a mapped, clean page of a file */
    struct spread memory;    /* bytes a second that all cores read together */
};

/* How many times `progress` is called for a file of that size. */
size_t calibrate_steps(uint64_t file_bytes);

/* Measures all of it. STATUS_USAGE for sizes that do not fit, STATUS_IO for what the system refuses. */
bool calibrate(const struct calibrate_options *options, struct calibration *calibration, struct error *err);

/* The device profile as text (malloc, the caller frees): a value for each key that a run needs, with what was measured
 * and its spread above it, and a mark that tells measured values from estimates. `name` may be NULL: the file's name is
 * the device's then. */
bool calibrate_profile(const struct calibration *calibration, const char *name, char **text, size_t *size,
                       struct error *err);

#endif
