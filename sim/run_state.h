/* The state of one run, shared by the parts of the engine: launch.c loads what has to be there first, books.c walks the
 * trace's tokens, engine.c (chunked, read) and mapped.c (mmap) their steps; loads.c moves blocks, stages.c initialises
 * them, room.c frees memory for them, run_state.c keeps memory and time. */
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
    bool waits;            /* its room is reserved, and it has not begun */
};

/* A read, or what is left of it: before_bytes have moved of total_bytes. */
struct read_part {
    block_id block;
    bool prefetch; /* the command in flight counts as a prefetch */
    bool rest_due; /* a demand waits for the command in flight, to read on */
    bool warm;     /* the page cache has it: it is copied, not read */
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
enum { DROP_NONE = UINT16_MAX, DROP_DEAD = UINT16_MAX - 1 /* its app was ended: nothing is held for it */ };

/* Compute cost in 2^-20 ns: max(a + c * b, m + c * n) at a context of c tokens, or of context_max when it is longer. */
struct cost {
    int64_t a, b, m, n;
    uint64_t context_max;
};
enum { COST_FRACTION_BITS = 20 };

/* What a token's row shows of the time since the row before it. */
struct flow {
    uint64_t bytes_read, major_faults, minor_faults, refaults, bytes_readahead_wasted;
};

struct placing;
struct mapped;
struct stages;
struct launch;

/* Where the page cache holds the file: what is read there is copied instead, one copy at a time. */
struct warm_part {
    uint64_t from_bytes; /* offset in the file up to whose end it reaches; UINT64_MAX: nothing is warm */
    uint64_t copy_bps;
    int64_t copy_free_ns; /* when the last copy is done */
};

enum { LOAD_MARKS = 4 };

struct run_state {
    struct host host;
    const struct model *model;
    const struct trace *trace;
    const struct run_spec *spec;
    struct events events;
    struct flash flash;
    struct heat heat;
    struct ledger ledger;
    struct pressure *pressure; /* NULL: nothing can act on the run's memory but the threshold rule */
    uint64_t kill_above_bytes; /* of the app, where pressure is NULL */
    struct placing *placing;   /* NULL: loader.allocator = none */
    bool follows_steps;        /* placing.h is told of each step: an allocator, or loader.reuse = no */
    uint64_t activation_bytes; /* of the segment, of all processes */
    uint64_t kept_bytes;       /* reuse = no: the activations of the token's steps so far */
    struct mapped *mapped;     /* NULL: loader.mode is not mmap */
    uint32_t processes;        /* that run the trace; memory is the sum of theirs */
    struct sampler sampler;
    /* The clock may move up to here and no sample or change of another app is due. */
    int64_t attention_ns;
    struct run_numbers numbers;
    struct block_numbers *blocks;
    struct token_numbers *tokens;
    int64_t *latencies;     /* of tokens that count for TPOT */
    struct cost *costs;     /* by work */
    struct flow told;       /* when the last token, or the load phase, ended */
    int64_t first_token_ns; /* of several processes, where process 0 ended the token; -1: where the token's row ends */
    struct turn_numbers *turns;
    uint32_t turn_count; /* the last row is of the turn at hand */
    struct turn_start {
        int64_t time_ns, idle_ns, stall_ns;
        uint64_t tokens, bytes_read, bytes_reclaimed, restarts;
    } turn_start; /* what the run's sums were when it began, with the pause before it */
    int64_t now_ns;
    struct error *err;
    bool failed, killed;
    bool cut_token; /* a kill came within a token: it has a row, but does not count */
    enum phase phase;

    /* Loads. */
    struct load *loads;
    uint8_t *role;
    struct stages *stages; /* NULL: a block is there when its reads are */
    struct launch *launch;
    bool has_rest; /* blocks that never leave may be missing: of a file that is read whole, or pinned ones */
    bool streams;  /* what is left of the start-up set comes as prefetches, also where no prefetcher asks for them */
    struct warm_part warm;
    bool *computed;         /* overlap = blocks: by position in the step */
    uint64_t *bytes_before; /* overlap = blocks: sizes of the step's blocks before that position */
    uint64_t *load_bytes;   /* what one load of a block reads, alignment included */
    struct command *commands;
    uint16_t *free_slots;
    uint32_t command_limit, free_slot_count;
    uint32_t drop_limit; /* command_limit and the loader threads: what a drop may wait for */
    block_id *demand;    /* ring of demanded blocks with reads to begin */
    uint32_t demand_head, demand_count;
    struct read_part *suspended; /* in order of suspension */
    uint32_t suspended_count, suspended_demanded;
    block_id active; /* being prefetched, with reads to begin; BLOCK_NONE: none */
    uint32_t prefetch_commands, prefetch_limit;
    uint64_t piece_bytes; /* the most that one prefetch command moves */
    uint32_t rests_due;   /* reads in flight with rest_due */
    block_id *begun;      /* blocks in flight for a prefetch that no step has demanded, in order of their beginning */
    uint32_t begun_count, begun_max;
    struct drop *drops;      /* drop_limit of them */
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

    /* From file to first token. */
    bool *seen;                      /* it has been in memory */
    uint64_t header_bytes_read;      /* of bytes_read */
    uint64_t loaded_bytes;           /* of the weights, what has */
    uint64_t load_marks[LOAD_MARKS]; /* 10, 50, 90 and 100 % of them */
    uint32_t marks_reached;
    uint32_t layer_use; /* the first use of the first step that names a layer's block; none, or past: UINT32_MAX */
    bool layer_due;     /* that step waits for its blocks */
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

/* Begins a demanded load of a block that was reserved, or, with ROLE_STREAMED, of one that is not to be kept. Where the
 * compute thread initialises blocks, its reads wait for its errand (stages.h). */
void load_demand(struct run_state *run, block_id b, unsigned role);

/* The reads of a demanded block may be issued. */
void load_queue(struct run_state *run, block_id b);

/* Begins the load of a block that was reserved, as a prefetch; there is no other one with reads to begin. */
void load_prefetch(struct run_state *run, block_id b);

/* All of a block is there, and initialised. */
void load_arrive(struct run_state *run, block_id b);

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

/* Makes some room between steps, wherever it is: asks for one victim (for BLOCK_NONE); without one drops a prefetch;
 * else lets what dropped prefetches hold come free, for which time passes. False: there is nothing more, or the run has
 * ended. */
bool room_any(struct run_state *run);

/* Other apps take resident blocks that are not pinned, by the policy's choice, until they have that many bytes or there
 * are no more; returns how many. ROOM_ERROR fails the run. */
uint64_t room_reclaim(struct run_state *run, uint64_t bytes);

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

/* ---- run_state.c ---- */
/* Ends the run's life; the first rule that does stays. */
void run_kill(struct run_state *run, const char *rule);

/* What run_grow and run_shrink do where more than the threshold may act. */
void run_settle(struct run_state *run, enum memory_class class, uint64_t bytes);

/* The app (all of its processes) has that many bytes of a class from now on, which may kill the run. Where reclaim
 * takes time, it is stall. */
static inline void run_grow(struct run_state *run, enum memory_class class, uint64_t bytes)
{
    if (run->pressure) {
        run_settle(run, class, bytes);
        return;
    }
    bool grows = bytes > run->ledger.now_bytes[class];
    ledger_set(&run->ledger, class, bytes);
    if (grows && run->ledger.app_bytes > run->kill_above_bytes)
        run_kill(run, "threshold");
}

/* The same where it has no more of the class than before. */
static inline void run_shrink(struct run_state *run, enum memory_class class, uint64_t bytes)
{
    if (run->pressure)
        run_settle(run, class, bytes);
    else
        ledger_set(&run->ledger, class, bytes);
}

/* The app uses its anonymous memory, as each token does: what was compressed comes back, which is stall. */
void run_touch_own(struct run_state *run);

/* The state of memory and flash at time_ns, when nothing happens between now and then. */
struct sample_numbers run_state_at(struct run_state *run, int64_t time_ns);

/* False with run->err, failing the run, when time_ns is past the end of virtual time, 2^61 ns. */
bool run_check_time(struct run_state *run, int64_t time_ns);

/* So much of the weights has been in memory by now; of so much. */
void run_loaded(struct run_state *run, uint64_t bytes);
void run_set_load_marks(struct run_state *run, uint64_t bytes);

/* The first step of a layer has its blocks. */
static inline void run_layer_is_there(struct run_state *run)
{
    run->layer_due = false;
    run->layer_use = UINT32_MAX;
    run->numbers.first_layer_ns = run->now_ns;
}

/* Rows of the time series for all moments before time_ns; fails the run past the end of virtual time. */
void run_sample(struct run_state *run, int64_t time_ns);

/* Samples and changes of other apps that are due when the clock moves on to time_ns. Returns where it stops: there, or
 * where the run ends. */
int64_t run_attend(struct run_state *run, int64_t time_ns);

static inline void run_move_to(struct run_state *run, int64_t time_ns)
{
    if (time_ns > run->attention_ns)
        time_ns = run_attend(run, time_ns);
    run->now_ns = time_ns;
    run->host.view.now_ns = time_ns;
}

/* The moment for calls to pressure: now, but where a fault has run past another app's change, which comes first, that.
 */
static inline int64_t run_pressure_ns(const struct run_state *run)
{
    int64_t change_ns = pressure_next_ns(run->pressure);
    return run->now_ns < change_ns ? run->now_ns : change_ns;
}

/* Books the time since start_ns as stall, except in the load phase, all of which is load time. */
static inline void run_book_stall(struct run_state *run, int64_t start_ns)
{
    if (run->phase != PHASE_LOAD)
        run->numbers.stall_ns += run->now_ns - start_ns;
}

/* What a step computes on a device that is not hot, with `context` tokens in the context. */
static inline int64_t run_step_ns(const struct run_state *run, uint32_t step, uint64_t context)
{
    if (run->trace->work_count == 0)
        return 0;
    const struct cost *cost = &run->costs[run->trace->step_work ? run->trace->step_work[step] : 0];
    int64_t tokens = (int64_t)(context < cost->context_max ? context : cost->context_max);
    int64_t flops = cost->a + tokens * cost->b;
    int64_t memory = cost->m + tokens * cost->n;
    return (flops > memory ? flops : memory) >> COST_FRACTION_BITS;
}

#endif
