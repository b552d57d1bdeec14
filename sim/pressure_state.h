/* The state of memory pressure, shared by its parts: pressure.c says what comes after what, pressure_swap.c moves
 * memory into zram, pressure_kill.c chooses who dies. docs/models.md section 12. */
#ifndef POCKETLOAD_SIM_PRESSURE_STATE_H
#define POCKETLOAD_SIM_PRESSURE_STATE_H

#include "sim/pressure.h"

#include "base/wide.h"

enum app_life { APP_WAITS, APP_RUNS, APP_DEAD };

struct app_state {
    enum app_life life;
    uint64_t bytes;     /* allocated: in RAM and in zram */
    uint64_t out_bytes; /* of these, in zram */
    uint64_t steps;     /* of growth, done */
    int64_t next_ns;    /* of its next change; INT64_MAX: none */
};

/* lmkd's view of refaults, in parts per million of the file pages that there were at the window's start. */
struct thrashing {
    bool started;
    int64_t start_ns;
    uint64_t base_bytes;    /* file pages then */
    uint64_t base_refaults; /* bytes refaulted until then */
    uint64_t carried_ppm;   /* from the window before */
    uint64_t limit_ppm;     /* in force */
};

struct pressure {
    const struct pressure_spec *spec;
    struct ledger *ledger;
    struct file_memory file;
    bool mapped; /* a file is */
    bool plain;  /* nothing but the rule threshold or none can happen */
    uint64_t min_bytes, low_bytes, high_bytes;

    uint64_t own_bytes[MEMORY_APP_CLASSES]; /* allocated; of file pages and page tables: resident */
    uint64_t own_out[MEMORY_APP_CLASSES];   /* of these, in zram */
    uint64_t other_bytes, other_out;        /* the unnamed other apps */
    struct app_state *apps;
    int64_t next_ns; /* the earliest of theirs */

    uint64_t swap_used_bytes;         /* all that lies in zram, before compression */
    uint64_t swapped_out, swapped_in; /* since the start */
    uint64_t own_swapped_out;         /* of these, of the app itself */
    uint64_t footprint, footprint_peak;
    uint64_t granted_bytes; /* what the last relief promised beyond the marks */

    struct thrashing thrashing;
    bool lmkd_has_killed;
    int64_t lmkd_kill_ns;
    struct app_kill *kills;
    uint32_t kill_count;
    const char *killed_by; /* NULL: the app lives */
    int64_t died_ns;
};

/* What a settling is about: the moment, the page that is to be added (relief, else 0), and whether free memory was
 * below the low mark when it began. */
struct settling {
    int64_t now_ns;
    uint64_t extra_bytes;
    bool breached;
};

/* RAM less all classes less the page to be added; below 0 while a growth is settled. */
static inline int64_t free_bytes(const struct pressure *p, const struct settling *s)
{
    must(p->ledger->total_bytes <= INT64_MAX / 2);
    return (int64_t)p->ledger->ram_bytes - (int64_t)p->ledger->total_bytes - (int64_t)s->extra_bytes;
}

static inline bool below(const struct pressure *p, const struct settling *s, uint64_t mark_bytes)
{
    return free_bytes(p, s) < (int64_t)mark_bytes;
}

/* How much free memory is below a mark: at least 1. Only when it is. */
static inline uint64_t lack_bytes(const struct pressure *p, const struct settling *s, uint64_t mark_bytes)
{
    return (uint64_t)((int64_t)mark_bytes - free_bytes(p, s));
}

/* Takes file pages back, at least `bytes` if that many can be had in one call; false: there are none. */
bool file_reclaim(struct pressure *p, uint64_t bytes);

/* ---- pressure_swap.c ---- */
/* Swaps until about `bytes` of RAM are free that were not. */
void swap_free(struct pressure *p, uint64_t bytes);
/* Swaps that much of the app's own memory, rounded up to swap pages. */
void swap_own(struct pressure *p, uint64_t bytes);
/* `bytes` that lay in zram are there no more: the class zram follows. */
void swap_forget(struct pressure *p, uint64_t bytes);

/* ---- pressure_kill.c ---- */
/* The highest adj of at least `least_adj`, the larger first, then as listed: the index of a named app that runs, or
 * victim_self, or victim_nobody. */
enum { VICTIM_SELF = PRESSURE_APPS_MAX, VICTIM_NOBODY };
uint32_t pick_victim(const struct pressure *p, int32_t least_adj);
/* Kills by the rule what it allows now. True: somebody died. */
bool kill_by_rule(struct pressure *p, const struct settling *s);
/* Kills because there is no memory at all. */
void kill_for_lack(struct pressure *p, const struct settling *s);
void kill_self(struct pressure *p, const char *rule, int64_t now_ns);
/* When the next other app changes, over all of them. */
void find_next(struct pressure *p);

#endif
