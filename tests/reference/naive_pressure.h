/* Memory pressure once more, slow and plain: the twin of sim/pressure.c, written from docs/models.md section 12.
 *
 * It keeps one list of all who hold memory and adds it up anew for each question. */
#ifndef POCKETLOAD_TESTS_NAIVE_PRESSURE_H
#define POCKETLOAD_TESTS_NAIVE_PRESSURE_H

#include "sim/pressure.h"

/* Who holds memory: a class of the app, the unnamed other apps, or a named one. */
struct naive_holder {
    enum memory_class class;
    int app; /* index in the spec, or -1 */
    bool lives;
    uint64_t has, in_zram;
};

enum { NAIVE_HOLDERS = MEMORY_APP_CLASSES + 1 + PRESSURE_APPS_MAX };

struct naive_pressure {
    struct pressure_spec spec;
    struct file_memory file;
    bool mapped;
    uint64_t ram, os;
    uint64_t min, low, high;
    struct naive_holder holders[NAIVE_HOLDERS];
    int holder_count;
    uint64_t done[PRESSURE_APPS_MAX]; /* changes that each named app has had */

    uint64_t peak[MEMORY_CLASSES], app_peak, footprint_peak;
    uint64_t out_total, own_out_total, in_total;
    uint64_t granted;

    bool window;
    int64_t window_start, last_kill; /* last_kill -1: none */
    uint64_t window_file, window_refaults, carried, limit;

    struct app_kill kills[PRESSURE_APPS_MAX];
    uint32_t kill_count;
    const char *killed_by;
    int64_t died_ns;
};

/* For a valid spec whose apps fit. */
void naive_pressure_start(struct naive_pressure *p, const struct pressure_spec *spec, uint64_t ram, uint64_t os,
                          uint64_t other_apps, const struct file_memory *file);

/* As the functions of sim/pressure.h. */
bool naive_pressure_set(struct naive_pressure *p, enum memory_class class, uint64_t bytes, int64_t now_ns);
int64_t naive_pressure_next(const struct naive_pressure *p);
bool naive_pressure_advance(struct naive_pressure *p, int64_t now_ns, int64_t *died_ns);
bool naive_pressure_touch(struct naive_pressure *p, int64_t now_ns, int64_t *stall_ns);
uint64_t naive_pressure_swap_out(struct naive_pressure *p, enum memory_class class, uint64_t bytes);
bool naive_pressure_relieve(struct naive_pressure *p, int64_t now_ns);
uint64_t naive_pressure_room(const struct naive_pressure *p);

/* The next change of a named app, by the time and then as listed: which holder, when, and what it then has. False:
 * there is none. In naive_pressure_apps.c. */
bool naive_pressure_change(const struct naive_pressure *p, int *which, int64_t *at, uint64_t *bytes);

/* What a class of the ledger holds. */
uint64_t naive_pressure_class(const struct naive_pressure *p, enum memory_class class);
struct pressure_numbers naive_pressure_numbers(const struct naive_pressure *p);

#endif
