/* What the naive engine knows at a moment, shared by its parts: naive_engine.c (time, steps, tokens), naive_loading.c
 * (reads, lanes), naive_stages.c (what is done to bytes beside reading them), naive_launch.c (the load phase),
 * naive_room.c (room in memory), naive_metrics.c (memory, samples, times of tokens), naive_away.c (turns, the app in
 * the background) and naive_delay.c (what prefetches cost demands). Section numbers are those of docs/models.md. */
#ifndef POCKETLOAD_TESTS_NAIVE_STATE_H
#define POCKETLOAD_TESTS_NAIVE_STATE_H

#include "tests/reference/naive_engine.h"
#include "tests/reference/naive_flash.h"

struct naive_read {
    uint64_t bytes, issued, moved;
    bool warm;      /* copied out of the page cache */
    bool suspended; /* between two commands of a prefetch */
    uint64_t suspended_order;
};

enum naive_where { NAIVE_ABSENT, NAIVE_LOADING, NAIVE_RESIDENT };

struct naive_block {
    enum naive_where where;
    bool pinned, in_use;
    bool waits;   /* pinned, its room reserved, and not begun */
    bool done;    /* streamed for the step that runs, read and initialised */
    bool seen;    /* has been in memory */
    bool arrived; /* read, and waits for a loader thread */
    uint64_t arrived_order;
    bool unused;           /* prefetched and not yet used */
    bool demanded;         /* its load in flight belongs to a step or to the load phase */
    bool streamed;         /* read for the step that runs, without being kept */
    uint64_t read_of_load; /* bytes of commands issued since the load began */
    uint64_t begun_order;  /* when a prefetch began it */
    struct naive_read *reads;
    uint32_t read_count;
};

struct naive_command {
    int64_t done_ns;
    uint64_t order;
    block_id block;
    uint32_t read;
    uint64_t bytes;
    bool prefetch, warm;
    bool rest_due;      /* a step has demanded the block since, and the read has bytes left after this command */
    uint64_t drop;      /* the number of the drop that took the block from it; 0: none */
    uint64_t drop_room; /* what that drop frees when its last command is done */
    bool orphan;        /* of an app that was ended */
};

/* A block with a loader thread. */
struct naive_job {
    int64_t done_ns;
    uint64_t order;
    block_id block;
    uint64_t drop, drop_room; /* as of a command */
};

/* A block that the compute thread errands for a step. */
struct naive_errand {
    block_id block;
    bool missed; /* its reads begin with its errand */
    bool begun;
};

/* The device that sees the demands of the running step alone: see naive_delay.c. */
struct naive_shadow {
    bool follows;     /* all of the step's demands so far are in it */
    int64_t start_ns; /* of the step */
    int64_t lane_free_ns[FLASH_QUEUE_MAX];
    uint32_t lane_count;
    int64_t link_free_ns, last_issue_ns;
    block_id lone; /* the step waits for one read of this block, of which a prefetch has a command in flight */
    int64_t lone_done_ns;
};

/* What time is spent on while it passes. */
enum naive_spending { SPEND_LOAD, SPEND_COMPUTE, SPEND_STALL, SPEND_IDLE, SPENDINGS };

struct naive_twin {
    const struct run_spec *spec;
    const struct naive_choice *choice;
    struct arena *arena;
    FILE *log;
    struct run_result *result;

    int64_t now_ns;
    enum naive_spending spending;
    int64_t spent_ns[SPENDINGS];
    uint64_t read_before;       /* bytes read when the last row of a token was written, or a load phase ended */
    struct turn_numbers *turns; /* of the result; in the last one times and sums of the moment at which it began */
    struct turn_numbers turn_begin;
    bool over; /* killed */
    bool cut;  /* within a token, which then has the last row and does not count */
    enum phase phase;

    struct naive_block *blocks;
    struct naive_order order;
    struct naive_flash flash;
    struct naive_pauses pauses;
    struct naive_command *commands; /* in flight, in no order */
    uint32_t command_count;
    uint64_t next_order; /* ever growing: tells what came first */
    block_id *demands;   /* blocks with reads to be begun, first demanded first */
    uint32_t demand_count;
    block_id *plan;
    uint32_t plan_count;
    bool waits_for_room;
    uint64_t drops;     /* so far */
    uint64_t drop_room; /* still held by blocks dropped */
    struct naive_delays *delays;
    struct naive_shadow *shadow;

    /* Loading beside reading. */
    struct naive_job jobs[LOADER_THREADS_MAX];
    uint32_t job_count;
    struct naive_errand *errands;
    uint32_t errand_count;
    int64_t copy_free_ns;
    block_id *rest; /* of the start-up set: what comes behind compute and is not begun yet, in order */
    uint32_t rest_count;
    bool rest_comes;
    uint64_t loaded_bytes;

    uint64_t held, pinned, budget;
    uint64_t class_bytes[MEMORY_CLASSES];
    uint64_t in_flight_bytes;

    /* The step that runs. */
    uint32_t *flat; /* all steps of the run in order */
    uint64_t flat_count, flat_at;
    block_id *step_blocks;
    uint32_t step_block_count;
    bool looked_up, planned;

    /* The state after each moment at which something happened, for the samples. */
    struct sample_numbers *history;
    size_t history_count, history_capacity;
};

/* ---- naive_metrics.c ---- */
/* Sets a memory class, keeps peaks, and applies the kill rule when it grew (section 7). */
void naive_memory(struct naive_twin *twin, enum memory_class class, uint64_t bytes);
/* Writes the present state into the history. */
void naive_note(struct naive_twin *twin);
void naive_log(const struct naive_twin *twin, const char *what, uint32_t block, uint64_t number);
/* Latencies of tokens summed up; the samples from the history (section 8). */
void naive_token_times(const struct heat_spec *heat, struct run_result *result);
void naive_sample(struct naive_twin *twin);

/* ---- naive_away.c ---- */
/* A turn begins, with the pause before it; the one before has ended (section 8). */
void naive_turn(struct naive_twin *twin, uint32_t turn);
/* A pause is over: what happened to the app in it (section 7). */
void naive_pause_over(struct naive_twin *twin, const struct segment *segment);
/* The rows of what a token's steps made: of a round several tokens (section 8). */
void naive_token_rows(struct naive_twin *twin, const struct segment *segment, struct token_numbers whole);
/* KV caches at a context of so many tokens, token after token, and what is beside them (section 9). */
uint64_t naive_caches(const struct trace *trace, const struct segment *segment, uint64_t tokens);
/* The end of the last turn, and the times of all. */
void naive_turn_times(struct naive_twin *twin);

/* ---- naive_engine.c ---- */
/* Asks the prefetcher for its plan, when that is due: look-ups done, all blocks of the step there (section 5). */
void naive_plan(struct naive_twin *twin);

/* Handles what is done next, at its time: a command, or, when none is due as early, a loader thread's job. */
void naive_next_event(struct naive_twin *twin);
/* True when something is done by time_ns. */
bool naive_event_due(const struct naive_twin *twin, int64_t time_ns);
/* Lets time pass, with all that happens in it. */
void naive_spend(struct naive_twin *twin, enum naive_spending on, int64_t duration_ns);
void naive_pass_to(struct naive_twin *twin, int64_t time_ns);
/* Notes when the first step of a layer has its blocks. */
void naive_first_layer(struct naive_twin *twin);

/* ---- naive_stages.c ---- */
/* True when blocks have stages beside reading; and when the compute thread does them. */
bool naive_has_stages(const struct naive_twin *twin);
bool naive_by_compute(const struct naive_twin *twin);
/* What follows when all reads of a block are done. */
void naive_read_whole(struct naive_twin *twin, block_id b);
/* Resident from now on, or, streamed, there. */
void naive_arrive(struct naive_twin *twin, block_id b);
/* The job that is done first, or UINT32_MAX; takes it, at its time. */
uint32_t naive_first_job(const struct naive_twin *twin);
void naive_job_done(struct naive_twin *twin, uint32_t job);
void naive_add_errand(struct naive_twin *twin, block_id b, bool missed);
/* The compute thread errands all of them. */
void naive_run_errands(struct naive_twin *twin, enum naive_spending on);
bool naive_errands_hold(const struct naive_twin *twin);
void naive_header(struct naive_twin *twin);
/* When bytes of a read that has copied `before` are copied out of the page cache. */
int64_t naive_copy(struct naive_twin *twin, uint64_t before, uint64_t bytes);
/* The offset from which the page cache holds the file; UINT64_MAX: nothing. */
uint64_t naive_warm_from(const struct naive_twin *twin);

/* ---- naive_launch.c ---- */
/* The load phase: from launch, or of an app that was started anew (section 6). */
void naive_launch(struct naive_twin *twin);
/* Begins the next block of the rest of the start-up set as a prefetch; false when there is none. */
bool naive_begin_rest(struct naive_twin *twin);

/* ---- naive_loading.c ---- */
/* Cuts the extents of every block into reads (section 4). */
void naive_cut(struct naive_twin *twin);
/* Gives out lanes: issues commands until none can be. */
void naive_issue(struct naive_twin *twin);
/* Takes the first completion, at its time. There is one. */
void naive_complete(struct naive_twin *twin, uint32_t command);
/* The command that is done first, or UINT32_MAX. */
uint32_t naive_first_command(const struct naive_twin *twin);
/* Reserves an absent block (held bytes, ledger). */
void naive_reserve(struct naive_twin *twin, block_id b);
/* Sets a block's reads back; begins it for a step or the load phase: its reads go into the demand queue, or it waits
 * for its turn. */
void naive_reset_reads(struct naive_twin *twin, block_id b);
void naive_demand(struct naive_twin *twin, block_id b);
/* The same as a prefetch. */
void naive_begin(struct naive_twin *twin, block_id b);
/* A step names a block that a prefetch errands. */
void naive_promote(struct naive_twin *twin, block_id b);
/* True when the step can use the block. */
bool naive_there(const struct naive_twin *twin, block_id b);

/* ---- naive_room.c ---- */
/* Asks for a victim and removes it; false when there is none. `for_prefetch`: spares unused prefetches. */
bool naive_evict(struct naive_twin *twin, bool for_prefetch);
/* Lets the policy give up blocks, after it was told something. */
void naive_release(struct naive_twin *twin);
/* Drops prefetches, if that can make room for the bytes; false when it cannot. */
bool naive_drop(struct naive_twin *twin, uint64_t bytes);
/* A command, or the job, of a dropped block is done; it is no longer under way. */
void naive_dropped_done(struct naive_twin *twin, uint64_t drop, uint64_t room_bytes);

/* ---- naive_delay.c ---- */
/* A step begins; its look-ups are done; it demands a block in flight. */
void naive_delay_step(struct naive_twin *twin);
void naive_delay_looked_up(struct naive_twin *twin);
void naive_delay_promote(struct naive_twin *twin, block_id b);
/* A demanded command is issued, which will be done then; a block is there. */
void naive_delay_issue(struct naive_twin *twin, uint64_t before_bytes, uint64_t bytes, int64_t done_ns);
void naive_delay_arrive(struct naive_twin *twin, block_id b);
#endif
