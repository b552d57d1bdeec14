/* One run: a model, a trace, a device, a loader and a policy, in virtual time. docs/models.md states the rules in full.
 *
 * A run is a value: no global state, one arena, nothing allocated after its start. Deterministic: integers only. */
#ifndef POCKETLOAD_SIM_ENGINE_H
#define POCKETLOAD_SIM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "policies/policy.h"
#include "sim/allocator.h"
#include "sim/device.h"
#include "sim/ledger.h"
#include "sim/page_cache.h"
#include "workloads/future.h"

enum loader_mode { LOADER_CHUNKED, LOADER_READ, LOADER_MMAP };
enum evict_when { EVICT_BEFORE_INSERT, EVICT_AFTER_STEP };
enum overlap { OVERLAP_NONE, OVERLAP_PREFETCH, OVERLAP_BLOCKS };
enum madvise { MADVISE_NORMAL, MADVISE_SEQUENTIAL, MADVISE_RANDOM, MADVISE_WILLNEED, MADVISE_POPULATE };
enum file_layout { LAYOUT_FILE, LAYOUT_HOT_FIRST };

/* What is done to a block's bytes beside reading them, and to the file's header; bits of loader.stages. */
enum { STAGE_ALLOC = 1, STAGE_PARSE = 2, STAGE_CHECKSUM = 4, STAGE_COPY = 8, STAGE_REPACK = 16, STAGES_ALL = 31 };
enum { LOADER_THREADS_MAX = 64 };
enum first_chunk { FIRST_ALL, FIRST_LAYERS, FIRST_BYTES };
enum preload { PRELOAD_NONE, PRELOAD_ALL, PRELOAD_DENSE, PRELOAD_BLOCKS };

struct loader {
    enum loader_mode mode;
    uint64_t budget_bytes;   /* chunked */
    uint32_t lanes;          /* reads in flight at once, 1 .. FLASH_QUEUE_MAX */
    uint32_t prefetch_lanes; /* of these, how many a prefetch may take */
    uint64_t read_bytes;     /* an extent is read in pieces of at most this size, each a read; 0: whole */
    uint64_t align_bytes;    /* reads start and end at multiples of this (direct I/O): 1 .. 1 MiB, a power of two */
    enum evict_when evict_when;
    enum overlap overlap;
    /* mmap */
    enum madvise madvise;
    enum page_lists lists;
    enum file_layout layout;
    uint64_t page_bytes;   /* the granule of faults and reclaim: a folio; 0: the device's page */
    uint64_t stride_bytes; /* of each stride of a block one page is touched; 0: every page */
    uint32_t processes;    /* that map the file and run the trace, a token each in turn */
    /* The way to the first token. */
    uint32_t stages;                /* STAGE_ bits; of a mapped file STAGE_PARSE alone matters */
    uint32_t loader_threads;        /* that initialise blocks; 0: the compute thread reads and initialises them */
    enum first_chunk first_chunk;   /* read, chunked: how much has to be there before the first step */
    uint32_t first_layers;          /* FIRST_LAYERS: the embedding and the first so many layers */
    uint64_t first_bytes;           /* FIRST_BYTES */
    enum preload preload;           /* chunked: what is loaded at launch beside the pinned blocks */
    const block_id *preload_blocks; /* PRELOAD_BLOCKS */
    uint32_t preload_count;
    uint32_t warm_ppm; /* share of the file, its end, that the page cache holds at launch */
    /* all modes */
    enum allocator_kind allocator;
    uint64_t arena_bytes;  /* the allocator's address space; 0: budget, KV cache and activations */
    int64_t alloc_ns;      /* of one call */
    bool compact;          /* allocator malloc: move ranges together when only the holes are too small */
    bool keep_activations; /* loader.reuse = no: a step's stay until its token ends, else they go with it */
};

/* A policy with its checked parameters; block names are ids already. policy == NULL: none (not for evict in chunked
 * mode). */
struct bound_part {
    const struct policy *policy;
    struct policy_args args;
};

struct run_spec {
    const struct model *model;
    const struct trace *trace;
    struct device device;
    struct loader loader;
    struct bound_part evict, pin, prefetch, admit;
    uint64_t seed;               /* for policies that draw lots */
    const uint64_t *profile;     /* by block: accesses in an earlier run; NULL: none */
    const struct future *future; /* of the trace, shared by many runs; NULL: made when a policy needs it */
};

/* FAILED: a part of the policy crashed, hung or broke its contract; engine_run never says so itself, it fails. */
enum outcome { OUTCOME_COMPLETED, OUTCOME_KILLED, OUTCOME_REJECTED, OUTCOME_FAILED, OUTCOMES };
extern const char *const outcome_names[OUTCOMES];

enum { RUN_NOTE_TEXT = 256, RUN_KILLS_TEXT = 512 };

/* The numbers of a run; docs/models.md defines each. */
struct run_numbers {
    enum outcome outcome;
    const char *killed_by;    /* "" or the rule: "threshold", "lmkd", "map_failed" ...; why it failed */
    const char *killed_phase; /* "" or a name of phase_names */
    uint64_t tokens, accesses, hits, delayed_hits, misses;
    uint64_t bytes_accessed, bytes_hit;
    uint64_t evictions; /* of blocks; where the file is mapped, of pages */
    uint64_t bytes_read;
    /* Each byte that a prefetch read is one of the three: its block was there at its first use, still in flight then,
     * or never used. */
    uint64_t bytes_prefetched, bytes_prefetch_useful, bytes_prefetch_late, bytes_prefetch_wasted;
    uint64_t major_faults, minor_faults; /* 0: the chunked and read loaders take none */
    uint64_t refaults;                   /* pages read again after they were evicted */
    uint64_t bytes_readahead_wasted;     /* read, and evicted before any process had mapped them */
    uint64_t peak_memory_bytes, peak_weights_bytes, peak_kv_bytes, peak_activation_bytes;
    int64_t virtual_time_ns, load_ns, compute_ns, stall_ns, idle_ns;
    int64_t ttft_ns;                                             /* -1: no token was finished */
    int64_t tpot_mean_ns, tpot_p50_ns, tpot_p95_ns, tpot_p99_ns; /* -1: fewer than two tokens */
    int64_t tpot_total_ns; /* sum and count of the later tokens, for tokens_per_s */
    uint64_t tpot_count;
    int64_t flash_busy_ns;
    uint64_t uncacheable; /* accesses whose block was streamed: read without being kept */
    /* Both conventions of phones: what lies in RAM for the app, and what kill rules count (anonymous memory, compressed
     * or not, and page tables). */
    uint64_t peak_resident_bytes, peak_footprint_bytes;
    uint64_t peak_file_bytes, peak_page_tables_bytes, peak_zram_bytes;
    uint64_t bytes_swapped_out, bytes_swapped_in; /* by the whole phone, before compression */
    uint64_t apps_killed;
    uint64_t alloc_failures, alloc_calls, alloc_hole_failures;
    int64_t alloc_ns; /* of load and stall: what calls and copies took of the compute thread */
    uint64_t alloc_compactions, alloc_moved_bytes;
    uint64_t peak_internal_fragmentation_bytes, peak_external_fragmentation_bytes;
    int64_t least_hole_bytes; /* the least that the largest hole was; -1: there is no allocator */
    struct page_process_counts processes[PAGE_PROCESSES_MAX]; /* process_count of them; 0: nothing is mapped */
    uint32_t process_count;
    /* From file to first token: when that share of the weights had been in memory, each block counted once; when the
     * first step of a layer had its blocks. -1: never. */
    int64_t load_10_ns, load_50_ns, load_90_ns, load_100_ns, first_layer_ns;
    int64_t parse_ns, stage_alloc_ns, stage_init_ns; /* time of threads in the stages of loading, side by side */
    uint64_t bytes_warm;                             /* of bytes loaded: from the page cache, not from flash */
    /* Turns of a conversation; restarts and memory taken back between them. */
    uint64_t turns, restarts, bytes_reclaimed, drafted_tokens, accepted_tokens;
    int64_t turn_ttft_mean_ns, turn_ttft_max_ns; /* of turns after the first; -1: there are none */
    /* Heat: when the device first got hot (-1: never), how long it was; the later tokens begun while it was not, and
     * while it was. */
    int64_t hot_at_ns, hot_ns, tpot_cold_total_ns, tpot_hot_total_ns;
    uint64_t tpot_cold_count, tpot_hot_count;
    char kills[RUN_KILLS_TEXT]; /* "mail(900) at 1.200 s by lmkd; ...", or "" */
    char note[RUN_NOTE_TEXT];   /* remarks of the eviction policy and of the loader, or "" */
};

struct token_numbers {
    uint32_t token;
    enum phase phase;
    int64_t latency_ns, stall_ns;
    uint64_t accesses, hits, bytes_accessed, bytes_read;
    uint64_t major_faults, minor_faults, refaults, bytes_readahead_wasted;
    uint32_t turn; /* from 1 on; 0: the workload has no turns */
    bool hot;      /* begun while the device was hot */
};

/* A turn of a conversation: a prompt and its answer. */
struct turn_numbers {
    uint32_t turn;                                            /* from 1 on */
    bool restarted;                                           /* the app was started anew before it */
    int64_t start_ns, idle_ns, ttft_ns, latency_ns, stall_ns; /* idle: the pause before it; ttft -1: no token */
    uint64_t tokens, bytes_read, bytes_reclaimed;             /* reclaimed: in the pause before it */
};

/* The state of memory at one moment; the last one is at the end of the run, or of its life. */
struct sample_numbers {
    int64_t time_ns;
    uint64_t class_bytes[MEMORY_CLASSES];
    uint64_t in_flight_bytes; /* of weights, reserved and not yet there; part of the weights class */
    uint64_t free_bytes;
    uint64_t flash_bytes;     /* moved since the start */
    uint64_t swap_used_bytes; /* before compression */
    /* Of the allocator; 0 without one. */
    uint64_t internal_fragmentation_bytes, external_fragmentation_bytes, largest_hole_bytes;
    uint64_t loaded_bytes; /* of the weights, what has been in memory at least once */
    uint64_t heat_ppm;     /* of what makes the device hot */
};

struct block_numbers {
    uint64_t accesses, hits, loads, evictions, bytes_read;
};

enum { SAMPLES_MAX = 256 };

struct run_result {
    struct run_numbers numbers;
    struct token_numbers *tokens; /* all arrays live in the run's arena */
    uint64_t token_count;
    struct sample_numbers *samples;
    uint32_t sample_count;
    const struct app_kill *kills; /* of other apps, in order of time */
    uint32_t kill_count;
    const struct turn_numbers *turns;
    uint32_t turn_count;
    struct block_numbers *blocks; /* model->block_count of them */
};

/* Runs to the end. False with STATUS_USAGE when the spec is not valid (budget 0, a policy part of the wrong kind, ABI
 * or size), STATUS_CHECK when a policy answers wrongly, STATUS_IO without memory. A simulated kill is a result, not an
 * error. */
bool engine_run(const struct run_spec *spec, struct arena *arena, struct run_result *result, struct error *err);

#endif
