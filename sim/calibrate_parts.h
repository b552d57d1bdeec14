/* What the parts of a calibration share: the file, slices of time, spreads. */
#ifndef POCKETLOAD_SIM_CALIBRATE_PARTS_H
#define POCKETLOAD_SIM_CALIBRATE_PARTS_H

#include "sim/calibrate.h"

enum { CALIBRATE_LANES_MAX = 32 };

struct test_file {
    int file, reader; /* through the page cache; past it, or the same way where the system has no O_DIRECT */
    uint64_t bytes;
    bool direct;
};

/* Steps that are done, for the bar. */
struct calibrate_progress {
    const struct calibrate_options *options;
    size_t done, total;
};

/* One more step is done. False, with an error, when the user has asked to stop. */
bool calibrate_step(struct calibrate_progress *progress, struct error *err);

/* In calibrate_file.c: how many steps filling the file takes; makes and fills it; closes it, after a failure too. */
size_t test_file_steps(uint64_t bytes);
bool test_file_make(struct calibrate_progress *progress, struct test_file *file, struct error *err);
void test_file_close(struct test_file *file);

/* Takes the first `bytes` of the file out of the page cache, as far as the system does so. */
void test_file_drop(const struct test_file *file, uint64_t bytes);

/* In calibrate_flash.c: bytes a second that `lanes` readers reach together in ns. */
bool read_slice(const struct test_file *file, bool sequential, uint64_t lanes, uint64_t block_bytes, int64_t ns,
                uint64_t seed, const volatile sig_atomic_t *stop, double *bps, struct error *err);

/* In calibrate_flash.c: all points and the fit. */
size_t calibrate_flash_points(uint64_t file_bytes, struct measured_point points[CALIBRATE_POINTS_MAX]);
bool calibrate_flash(const struct test_file *file, struct calibrate_progress *progress, struct calibration *c,
                     struct error *err);

/* In calibrate_faults.c and calibrate_memory.c; each repetition is a step. */
bool calibrate_faults(const struct test_file *file, struct calibrate_progress *progress, struct calibration *c,
                      struct error *err);
bool calibrate_memory(struct calibrate_progress *progress, struct calibration *c, struct error *err);

/* In calibrate_machine.c: what the system says. */
void calibrate_machine(const struct test_file *file, struct machine *machine);

/* The spread of values of which NAN ones are left out; not known when none is left. Sorts them. */
struct spread spread_of(double *values, size_t count);

#endif
