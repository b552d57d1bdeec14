/* Keys of [loader] and [policy]. */
#include "sim/option_tables.h"

static const char *const mode_names[] = {"chunked", "read", "mmap"};
static const char *const evict_when_names[] = {"before_insert", "after_step"};
static const char *const overlap_names[] = {"none", "prefetch", "blocks"};
static const char *const madvise_names[] = {"normal", "sequential", "random", "willneed", "populate"};
static const char *const lists_names[] = {"classic", "mglru"};
static const char *const layout_names[] = {"file", "hot-first"};
static const char *const folio_sizes[] = {"4KiB", "16KiB", "64KiB", "2MiB"};
static const char *const allocator_names[] = {"none", "fixed", "buddy", "slab", "malloc"};
static const char *const yes_names[] = {"no", "yes"}, *const reuse_names[] = {"yes", "no"};

#define SECOND_NS INT64_C(1000000000)

static const struct option loader_options[] = {
    {"loader", "mode", OPTION_CHOICE, FIELD(loader.mode), NAMES(mode_names), .fallback = "chunked", .list = true,
     .help = "blocks under a budget, the whole file before the first token, or a mapped file"},
    {"loader", "chunk", OPTION_CHUNK, FIELD(chunk), .fallback = "layer", .list = true,
     .help = "what blocks are: as the model has them, pieces of at most a size, K neighbouring layers, or K heads of a "
             "layer with its share of the rest"},
    {"loader", "budget", OPTION_BYTES, SCOPE_CHUNKED, FIELD(loader.budget_bytes), RANGE(1, SIZE_MAX_BYTES),
     .list = true, .help = "memory for weights"},
    {"loader", "lanes", OPTION_COUNT, SCOPE_READS, FIELD(loader.lanes), RANGE(1, FLASH_QUEUE_MAX), .fallback = "4",
     .list = true, .help = "reads in flight at once"},
    {"loader", "prefetch_lanes", OPTION_COUNT, SCOPE_CHUNKED, FIELD(loader.prefetch_lanes), RANGE(1, FLASH_QUEUE_MAX),
     .fallback = "all", .word = "all", .word_value = 0, .list = true, .help = "of these, how many a prefetch may take"},
    {"loader", "read_size", OPTION_BYTES, SCOPE_READS, FIELD(loader.read_bytes), RANGE(512, SIZE_MAX_BYTES),
     .fallback = "1MiB", .word = "whole", .word_value = 0, .list = true,
     .help = "an extent is read in pieces of at most this size; whole: in one"},
    {"loader", "align", OPTION_BYTES, SCOPE_READS, FIELD(loader.align_bytes), RANGE(1, MIB), .fallback = "1B",
     .list = true, .help = "reads start and end at multiples of this power of two (4KiB for direct I/O)"},
    {"loader", "evict_when", OPTION_CHOICE, SCOPE_CHUNKED, FIELD(loader.evict_when), NAMES(evict_when_names),
     .fallback = "before_insert", .list = true, .help = "make room before a block comes, or after the step"},
    {"loader", "overlap", OPTION_CHOICE, SCOPE_CHUNKED, FIELD(loader.overlap), NAMES(overlap_names),
     .fallback = "prefetch", .list = true,
     .help = "loading beside computing: never, prefetches only, or blocks of the same step too"},
    {"loader", "madvise", OPTION_CHOICE, SCOPE_MMAP, FIELD(loader.madvise), NAMES(madvise_names), .fallback = "normal",
     .list = true,
     .help = "what the app tells the kernel of the mapping; willneed and populate: one call at the start"},
    {"loader", "lists", OPTION_CHOICE, SCOPE_MMAP, FIELD(loader.lists), NAMES(lists_names), .fallback = "classic",
     .list = true, .help = "the kernel's lists of pages: active and inactive, or generations (not validated)"},
    {"loader", "layout", OPTION_CHOICE, SCOPE_MMAP, FIELD(loader.layout), NAMES(layout_names), .fallback = "file",
     .list = true, .help = "where blocks lie: as in the file, or those used most first"},
    {"loader", "hugepage", OPTION_BYTES, SCOPE_MMAP, FIELD(loader.page_bytes), RANGE(4096, 2 * MIB), NAMES(folio_sizes),
     .fallback = "device", .word = "device", .word_value = 0, .list = true,
     .help = "what faults map and reclaim takes at once; device: device.page. Larger: read from the fault on, no "
             "read-around, "
             "so fewer faults and coarser eviction"},
    {"loader", "processes", OPTION_COUNT, SCOPE_MMAP, FIELD(loader.processes), RANGE(1, PAGE_PROCESSES_MAX),
     .fallback = "1", .list = true, .help = "processes that map the file and run the trace, a token each in turn"},
    {"loader", "oom_score_adj", OPTION_ADJ, SCOPE_PRESSURE, FIELD(device.pressure.own_adj), RANGE(0, 1000),
     .fallback = "foreground", .list = true, .help = "the app's own place among those that the system kills"},
    {"loader", "stages", OPTION_TEXT, FIELD(stages), RANGE(1, NAME_MAX_BYTES), .fallback = "none", .list = true,
     .help = "what is done beside reading: some of alloc+parse+checksum+copy+repack, or none; of a mapped file parse "
             "alone"},
    {"loader", "loader_threads", OPTION_COUNT, SCOPE_READS, FIELD(loader.loader_threads), RANGE(0, LOADER_THREADS_MAX),
     .fallback = "0", .list = true,
     .help = "threads that do it; 0: the compute thread reads and initialises, a block at a time"},
    {"loader", "first_chunk", OPTION_TEXT, SCOPE_READS, FIELD(first_chunk), RANGE(1, NAME_MAX_BYTES), .fallback = "all",
     .check = first_chunk_check, .list = true,
     .help = "what has to be there before the first step: all, embedding+LAYERS, or a SIZE; the rest comes behind it"},
    {"loader", "preload", OPTION_TEXT, SCOPE_CHUNKED, FIELD(preload), RANGE(1, TEXT_MAX_BYTES), .fallback = "none",
     .check = preload_check, .list = true,
     .help = "loaded at launch beside pinned blocks, as far as it fits: none, all, dense (no experts) or "
             "blocks:NAME;NAME"},
    {"loader", "warm", OPTION_SHARE, FIELD(loader.warm_ppm), RANGE(0, 1000000), .fallback = "0%", .list = true,
     .help = "share of the file, its end, that the page cache holds at launch"},
    {"loader", "allocator", OPTION_CHOICE, FIELD(loader.allocator), NAMES(allocator_names), .fallback = "none",
     .list = true, .help = "places chunked weights, KV cache and activations; none: they take their bytes alone"},
    {"loader", "arena", OPTION_BYTES, SCOPE_ALLOCATOR, FIELD(loader.arena_bytes), RANGE(1, SIZE_MAX_BYTES),
     .fallback = "auto", .word = "auto", .word_value = 0, .list = true,
     .help = "the allocator's address space; auto: budget, KV cache and activations"},
    {"loader", "alloc_time", OPTION_TIME, SCOPE_ALLOCATOR, FIELD(loader.alloc_ns), RANGE(0, SECOND_NS),
     .fallback = "0ns", .list = true, .help = "one call of the allocator"},
    {"loader", "compact", OPTION_CHOICE, SCOPE_MALLOC, FIELD(loader.compact), NAMES(yes_names), .fallback = "no",
     .list = true, .help = "malloc: move ranges together where only the holes are too small"},
    {"loader", "reuse", OPTION_CHOICE, FIELD(loader.keep_activations), NAMES(reuse_names), .fallback = "yes",
     .list = true, .help = "a step's activations are released after it; no: with the token"},
};

static const struct option policy_options[] = {
    {"policy", "name", OPTION_POLICY, SCOPE_POLICY, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "lru", .list = true,
     .help = "a policy, or a composition of parts joined by +"},
    {"policy", "evict", OPTION_PART, SCOPE_POLICY, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "lru", .list = true,
     .help = "eviction policy, when given by parts"},
    {"policy", "pin", OPTION_PART, SCOPE_POLICY, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "pin rule, when given by parts"},
    {"policy", "prefetch", OPTION_PART, SCOPE_POLICY, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "prefetcher, when given by parts"},
    {"policy", "admit", OPTION_PART, SCOPE_POLICY, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "admission rule, when given by parts"},
    {"policy", "profile", OPTION_PATH, SCOPE_POLICY, FIELD(profile), RANGE(1, PATH_MAX_BYTES),
     .help = "a file of `pocketload policy profile`: how often an earlier run used each block, for static-hot"},
};

const struct option_section loader_section = SECTION(loader_options);
const struct option_section policy_section = SECTION(policy_options);
