/* Memory pressure: what the system does as free memory falls. Clean file pages are taken back, anonymous memory is
 * compressed into zram, other apps are killed by their adj, at last this app. docs/models.md section 12 is the rule.
 *
 * All growth of the app goes through pressure_set, so that the ledger and the rules agree at every moment. A value: no
 * global state, nothing allocated after pressure_init. */
#ifndef POCKETLOAD_SIM_PRESSURE_H
#define POCKETLOAD_SIM_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sim/ledger.h"

enum { PRESSURE_APPS_MAX = 64, APP_NAME_MAX = 31, SWAP_PAGE_BYTES = 4096 };

enum kill_rule { KILL_NONE, KILL_THRESHOLD, KILL_LMKD, KILL_JETSAM, KILL_MEMORY_LIMITER };

/* Another app, as the config lists it: mail:900:200MiB@2s+10MiB/s..400MiB */
struct app_spec {
    char name[APP_NAME_MAX + 1];
    int32_t adj;    /* -1000 .. 1001; the higher, the sooner it dies */
    uint64_t bytes; /* from start_ns on */
    int64_t start_ns;
    uint64_t growth_bps; /* it grows by whole MiB at this rate, 0: not */
    uint64_t most_bytes; /* up to this */
};

struct pressure_spec {
    enum kill_rule rule;
    uint64_t threshold_bytes;       /* threshold: the app's anonymous memory and page tables */
    uint64_t jetsam_limit_bytes;    /* jetsam: the app's footprint */
    uint64_t high_bytes, max_bytes; /* memory_limiter: the app's resident memory; 0: no high mark */
    uint32_t swap_free_low_ppm;     /* lmkd */
    uint32_t thrashing_limit_ppm, thrashing_decay_ppm;
    int64_t kill_timeout_ns;
    uint64_t min_free_bytes;         /* the min watermark; 0: as the kernel computes it */
    uint32_t watermark_scale;        /* distance of the watermarks, in 1/10000 of RAM */
    uint64_t zram_bytes;             /* capacity in bytes before compression; 0: no swap */
    uint32_t zram_ratio_ppm;         /* original over compressed: 2800000 */
    int64_t swap_out_ns, swap_in_ns; /* of a page of SWAP_PAGE_BYTES */
    uint32_t swappiness;             /* 0 .. 200 */
    int32_t own_adj;
    const struct app_spec *apps;
    uint32_t app_count;
};

/* A collateral kill. */
struct app_kill {
    int64_t time_ns;
    uint32_t app;     /* index in spec.apps */
    uint64_t bytes;   /* that it had, in RAM and in zram before compression */
    const char *rule; /* "lmkd", "jetsam" or "oom", a literal */
};

/* What takes clean file pages back, and how often they came back too soon. Neither function calls pressure_ functions:
 * what reclaim says it took leaves MEMORY_FILE here, and the host sets page tables and corrects file pages afterwards.
 */
struct file_memory {
    uint64_t (*reclaim)(void *host, uint64_t bytes); /* takes about that much; how much it was, 0: there is none */
    uint64_t (*refault_bytes)(void *host);           /* since the start; NULL: none is counted */
    void *host;
    uint64_t page_bytes; /* what one pressure_relieve is to make room for; 0: SWAP_PAGE_BYTES */
};

struct pressure;

/* Nothing can take memory from the app, and nothing but its own threshold can end it, as long as no file is mapped. */
bool pressure_is_plain(const struct pressure_spec *spec);

/* Puts OS reserve and other apps (the unnamed other_apps_bytes, and the apps that start at 0) into the ledger, whose
 * ram_bytes is set and which is otherwise empty. Spec, apps and ledger are the caller's and must outlive it.
 * STATUS_USAGE when a ratio, swappiness or number of apps is out of range, or when there are named apps and those of
 * the start do not fit into RAM; STATUS_IO without memory. */
bool pressure_init(struct pressure **pressure, const struct pressure_spec *spec, struct ledger *ledger,
                   uint64_t os_bytes, uint64_t other_apps_bytes, struct arena *arena, struct error *err);
/* A file is mapped from now on. *file is copied. */
void pressure_attach(struct pressure *pressure, const struct file_memory *file);

/* The watermarks in force, in bytes of free memory. */
void pressure_watermarks(const struct pressure *pressure, uint64_t *min, uint64_t *low, uint64_t *high);

/* A class of the app has that many bytes from now on (of MEMORY_FILE and MEMORY_PAGE_TABLES: what is resident; of the
 * others: what it has allocated, wherever it lies). Growth is settled by the rules. False: the app is dead; the ledger
 * is still kept up. Calls go forward in time, and pressure_advance has been called for it. */
bool pressure_set(struct pressure *pressure, enum memory_class class, uint64_t bytes, int64_t now_ns);

/* The moment of the next change of another app; INT64_MAX: none. */
int64_t pressure_next_ns(const struct pressure *pressure);
/* Applies what is due by now_ns, in order of time, then of the config. False: the app died, at *died_ns <= now_ns. */
bool pressure_advance(struct pressure *pressure, int64_t now_ns, int64_t *died_ns);

/* The app uses all of its anonymous memory once (each token does): what lies in zram comes back, and as much as does
 * not fit goes out again. *stall_ns is the time that costs, at most 2^61; false: the app died of it. */
bool pressure_touch_own(struct pressure *pressure, int64_t now_ns, int64_t *stall_ns);

/* The app is in the background: up to that many bytes of a class that lie in RAM go into zram, as far as there is room,
 * whole swap pages; how many. It costs the app nothing until it touches them. */
uint64_t pressure_swap_out(struct pressure *pressure, enum memory_class class, uint64_t bytes);

/* File pages that may be added before the system starts to take some back, in bytes beyond the app's MEMORY_FILE and
 * MEMORY_PAGE_TABLES as they were set. Ask anew after each pressure_ call that changes something. */
uint64_t pressure_file_room(const struct pressure *pressure);

/* A file page is to be added and there is no room: settles as if it were there. True: pressure_file_room is at least
 * that page now. False: no memory can be had, and the app is dead. */
bool pressure_relieve(struct pressure *pressure, int64_t now_ns);

/* Why the app died ("threshold", "lmkd", "jetsam", "memory_limiter", "oom"), or NULL. */
const char *pressure_killed_by(const struct pressure *pressure);

/* Collateral kills in order of time. */
const struct app_kill *pressure_kills(const struct pressure *pressure, uint32_t *count);

struct pressure_numbers {
    uint64_t footprint_bytes, footprint_peak_bytes; /* anonymous memory, compressed or not, and page tables */
    uint64_t resident_bytes, resident_peak_bytes;   /* of the app: anonymous less swapped, file pages, page tables */
    uint64_t swapped_out_bytes, swapped_in_bytes;   /* moved since the start, before compression */
    uint64_t own_swapped_bytes, swap_used_bytes;    /* now */
};
struct pressure_numbers pressure_numbers(const struct pressure *pressure);

#endif
