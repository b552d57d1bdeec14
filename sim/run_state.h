/* The state of one run, shared by the parts of the engine: engine.c walks the trace, loads.c moves blocks, room.c frees
 * memory for them. */
#ifndef POCKETLOAD_SIM_RUN_STATE_H
#define POCKETLOAD_SIM_RUN_STATE_H

#include "sim/events.h"
#include "sim/host.h"
#include "sim/ledger.h"
#include "sim/sampler.h"

/* Bits of run_state.role: what the running step wants of a block. */
enum {
    ROLE_DEMANDED = 1, /* it waits for the load, or has waited for it */
    ROLE_STREAMED = 2, /* it reads the block without keeping it */
    ROLE_ARRIVED = 4,  /* a streamed block is there */
};

/* A block's load: the reads that are not yet begun, and how much is not yet there. */
struct load {
    uint64_t left_bytes;   /* of commands not yet done, or not yet issued */
    uint64_t issued_bytes; /* by this load so far */
    uint64_t position;     /* where the next read begins */
    uint64_t end;          /* of the extent that it is in */
    uint32_t extent;       /* the extent after that one */
    uint32_t reads_begun;  /* all reads are: no position left */
};

/* A read, or what is left of it: before_bytes have moved of total_bytes. */
struct read_part {
    block_id block;
    bool prefetch; /* the command in flight counts as a prefetch */
    bool rest_due; /* a demand waits for the command in flight, to read on */
    uint64_t before_bytes, total_bytes;
};

struct command {
    struct read_part read;
    uint64_t bytes; /* 0: the slot is free */
    int64_t link_start_ns, link_end_ns;
    uint16_t drop; /* index into run_state.drops, or DROP_NONE */
};

/* A prefetch that was dropped while commands of it were in flight: it holds its room until they are done. */
struct drop {
    uint64_t bytes;
    uint32_t commands; /* in flight; 0: the entry is free */
};
enum { DROP_NONE = UINT16_MAX };

/* Compute cost in 2^-20 ns: max(a + c * b, m + c * n) at a context of c tokens. */
struct cost {
    int64_t a, b, m, n;
};

struct run_state {
    struct host host;
    const struct model *model;
    const struct trace *trace;
    const struct run_spec *spec;
    struct events events;
    struct flash flash;
    struct ledger ledger;
    struct sampler sampler;
    struct run_numbers numbers;
    struct block_numbers *blocks;
    struct token_numbers *tokens;
    int64_t *latencies;        /* of tokens that count for TPOT */
    struct cost *costs;        /* by work */
    uint64_t token_bytes_read; /* bytes_read when the last token, or the load phase, ended */
    int64_t now_ns;
    struct error *err;
    bool failed, killed;
    bool cut_token; /* a kill came within a token: it has a row, but does not count */
    enum phase phase;

    /* Loads. */
    struct load *loads;
    uint8_t *role;
    bool *computed;         /* overlap = blocks: by position in the step */
    uint64_t *bytes_before; /* overlap = blocks: sizes of the step's blocks before that position */
    uint64_t *load_bytes;   /* what one load of a block reads, alignment included */
    struct command *commands;
    uint16_t *free_slots;
    uint32_t command_limit, free_slot_count;
    block_id *demand; /* ring of demanded blocks with reads to begin */
    uint32_t demand_head, demand_count;
    struct read_part *suspended; /* in order of suspension */
    uint32_t suspended_count, suspended_demanded;
    block_id active; /* being prefetched, with reads to begin; BLOCK_NONE: none */
    uint32_t prefetch_commands, prefetch_limit;
    uint64_t piece_bytes; /* the most that one prefetch command moves */
    uint32_t rests_due;   /* reads in flight with rest_due */
    block_id *begun;      /* blocks in flight for a prefetch that no step has demanded, in order of their beginning */
    uint32_t begun_count, begun_max;
    struct drop *drops;
    uint64_t dropping_bytes; /* of all drops */
    uint64_t in_flight_bytes;
    uint32_t outstanding; /* demanded blocks of the running step that are not there */
    bool waits_for_room;

    /* Prefetch plans. */
    block_id *plan;
    uint32_t plan_count, plan_next;
    bool plan_due; /* look-ups are done, the plan of this step is not yet asked */
    block_id *ahead, *used;
    uint32_t *ahead_end;
    uint32_t reach;
    uint32_t at_segment, at_repeat, at_step; /* the running step, for what lies ahead */
};

/* True while the run goes on. */
static inline bool run_goes_on(const struct run_state *run)
{
    return !run->failed && !run->killed;
}

/* ---- loads.c ---- */
bool loads_init(struct run_state *run, struct arena *arena);

/* Marks the block held (state bits besides LOADING may be given) and counts the bytes; may kill the run. */
void load_reserve(struct run_state *run, block_id b, unsigned state);

/* Begins a demanded load of a block that was reserved, or, with ROLE_STREAMED, of one that is not to be kept. */
void load_demand(struct run_state *run, block_id b, unsigned role);

/* A block in flight for a prefetch is demanded from now on. */
void load_promote(struct run_state *run, block_id b);

/* Gives free lanes to what waits for one. */
void loads_dispatch(struct run_state *run);

/* Handles the next event, at its time. */
void loads_next_event(struct run_state *run);

/* Handles all events due up to time_ns and moves the clock there, unless the run ends before. */
void loads_advance(struct run_state *run, int64_t time_ns);

/* A block is no longer among those begun. */
void load_forget_begun(struct run_state *run, block_id b);

/* ---- room.c ---- */
/* Evicts until b fits, as a demand or as a prefetch (BLOCK_NONE: until what is held does). ROOM_ERROR fails the run. */
enum room room_make(struct run_state *run, block_id b, bool prefetch);

/* Room for a demand that evictions gave none: by dropping prefetches. *coming: there will be room when commands in
 * flight are done; ask for evictions again after an event. False without *coming: there is none. */
bool room_by_drops(struct run_state *run, block_id b, bool *coming);

/* Lets the policy give up blocks, after it was told of something. */
void room_release_all(struct run_state *run);
static inline void room_release(struct run_state *run)
{
    if (run->host.evict->release)
        room_release_all(run);
}

/* A command of a dropped prefetch is done. */
void room_command_done(struct run_state *run, uint16_t drop);

/* ---- plan.c ---- */
/* Asks the prefetcher for its plan. */
void plan_ask(struct run_state *run);
bool plan_init(struct run_state *run, struct arena *arena);

/* Sets a class of the ledger; may kill the run. */
void run_grow(struct run_state *run, enum memory_class class, uint64_t bytes);

/* The state of memory and flash at time_ns, when nothing happens between now and then. */
struct sample_numbers run_state_at(const struct run_state *run, int64_t time_ns);

/* Rows of the time series for all moments before time_ns; fails the run past the end of virtual time. */
void run_sample(struct run_state *run, int64_t time_ns);

static inline void run_move_to(struct run_state *run, int64_t time_ns)
{
    if (time_ns > run->sampler.next_ns)
        run_sample(run, time_ns);
    run->now_ns = time_ns;
    run->host.view.now_ns = time_ns;
}

#endif
