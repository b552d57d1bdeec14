/* The column tables of records, and the fields that are computed from others. */
#include "sim/record.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/wide.h"

#define RUN(column, type, member, nullable, help)                                                                      \
    {                                                                                                                  \
        column, type, offsetof(struct run_record, member), nullable, help                                              \
    }
#define TEXT(name, help) RUN(#name, COLUMN_TEXT, name, false, help)
#define COUNT(name, help) RUN(#name, COLUMN_INTEGER, numbers.name, false, help)
#define MAYBE(name, help) RUN(#name, COLUMN_INTEGER, numbers.name, true, help)

const struct column run_columns[] = {
    TEXT(run_key, "hash of the effective config and the model version: equal keys, equal results"),
    TEXT(experiment, "name of the experiment"),
    TEXT(device, "device profile"),
    TEXT(model, "model profile or file"),
    RUN("quant", COLUMN_TEXT, quant, true, "quantisation of the weights"),
    TEXT(workload, "kind of workload"),
    TEXT(loader, "loader mode"),
    TEXT(policy, "composition of policies"),
    TEXT(evict, "eviction policy"),
    TEXT(pin, "pin rule"),
    TEXT(prefetch, "prefetcher"),
    RUN("budget_bytes", COLUMN_INTEGER, budget_bytes, false, "bytes that the loader may hold; 0: it has no budget"),
    RUN("seed", COLUMN_INTEGER, seed, false, "seed of the workload's chance"),
    TEXT(outcome, "completed, killed, rejected (could not even start), or failed (by a part of its policy)"),
    RUN("killed_by", COLUMN_TEXT, numbers.killed_by, true, "kill rule that ended the run, or why it failed"),
    RUN("killed_phase", COLUMN_TEXT, numbers.killed_phase, true, "phase in which it was killed"),
    COUNT(tokens, "finished tokens"),
    COUNT(accesses, "look-ups of a distinct block by a step: hits + delayed_hits + misses"),
    COUNT(hits, "accesses whose block was resident"),
    COUNT(delayed_hits, "accesses whose block was in flight"),
    COUNT(misses, "accesses whose block was absent"),
    RUN("hit_rate", COLUMN_REAL, hit_rate, true, "hits / accesses"),
    COUNT(bytes_accessed, "sum of the sizes of the blocks accessed"),
    RUN("byte_hit_rate", COLUMN_REAL, byte_hit_rate, true, "share of bytes_accessed that was resident"),
    COUNT(evictions, "blocks evicted; of a mapped file: pages"),
    COUNT(bytes_read, "bytes of reads issued to the flash"),
    COUNT(bytes_prefetched, "of these, by prefetches"),
    COUNT(bytes_prefetch_wasted, "of bytes_prefetched, of blocks that left unused"),
    COUNT(major_faults, "page faults that read from flash"),
    COUNT(minor_faults, "page faults served from memory"),
    COUNT(peak_memory_bytes, "peak of the app's memory"),
    COUNT(peak_weights_bytes, "peak of the weights held"),
    COUNT(peak_kv_bytes, "peak of the KV cache"),
    COUNT(peak_activation_bytes, "peak of activations and scratch"),
    COUNT(virtual_time_ns, "load + compute + stall + idle"),
    COUNT(load_ns, "time before the first step"),
    COUNT(compute_ns, "time in which the compute thread computes"),
    COUNT(stall_ns, "time in which it waits for weights"),
    COUNT(idle_ns, "pauses between turns"),
    MAYBE(ttft_ns, "time from launch to the end of the first token"),
    MAYBE(tpot_mean_ns, "time per later token, mean"),
    MAYBE(tpot_p50_ns, "time per later token, median"),
    MAYBE(tpot_p95_ns, "time per later token, 95th percentile"),
    MAYBE(tpot_p99_ns, "time per later token, 99th percentile"),
    RUN("tokens_per_s", COLUMN_REAL, tokens_per_s, true, "later tokens a second"),
    COUNT(flash_busy_ns, "time with at least one flash command in flight"),
    COUNT(uncacheable, "accesses whose block was read without being kept"),
    COUNT(bytes_prefetch_useful, "of bytes_prefetched, of blocks that were there at their first use"),
    COUNT(bytes_prefetch_late, "of bytes_prefetched, of blocks still in flight at their first use"),
    TEXT(admit, "admission rule"),
    RUN("note", COLUMN_TEXT, note, true, "what eviction policy and loader say of themselves"),
    COUNT(refaults, "pages read again after they were evicted"),
    COUNT(bytes_readahead_wasted, "bytes of the mapped file that were read and left memory untouched"),
    COUNT(peak_resident_bytes, "peak of what lay in RAM for the app"),
    COUNT(peak_footprint_bytes, "peak of its anonymous memory, compressed or not, and its page tables"),
    COUNT(peak_file_bytes, "peak of the mapped file's pages"),
    COUNT(peak_page_tables_bytes, "peak of its page tables"),
    COUNT(peak_zram_bytes, "peak of compressed memory, of all apps"),
    COUNT(bytes_swapped_out, "bytes compressed, of all apps, before compression"),
    COUNT(bytes_swapped_in, "bytes brought back"),
    COUNT(apps_killed, "other apps that the system killed"),
    RUN("kills", COLUMN_TEXT, kills, true, "which, with their adj, when, and by which rule"),
    COUNT(alloc_failures, "ranges that the allocator had no hole for"),
    COUNT(alloc_calls, "ranges that it was asked for"),
    COUNT(alloc_hole_failures, "of alloc_failures, for no more bytes than were free"),
    COUNT(alloc_ns, "of load_ns and stall_ns, what its calls and copies took"),
    COUNT(alloc_compactions, "times that it moved ranges together"),
    COUNT(alloc_moved_bytes, "bytes that it moved"),
    COUNT(peak_internal_fragmentation_bytes, "peak of what it took beyond what was asked for"),
    COUNT(peak_external_fragmentation_bytes, "peak of what was free outside the largest hole"),
    MAYBE(least_hole_bytes, "the least that the largest hole was; none without an allocator"),
    MAYBE(load_10_ns, "time until 10 % of the weights had been in memory; none: never"),
    MAYBE(load_50_ns, "the same for 50 %"),
    MAYBE(load_90_ns, "the same for 90 %"),
    MAYBE(load_100_ns, "the same for all weights"),
    MAYBE(first_layer_ns, "time until the first layer could run"),
    COUNT(parse_ns, "reading the file's header"),
    COUNT(stage_alloc_ns, "time of threads in allocation, side by side"),
    COUNT(stage_init_ns, "time of threads in initialisation: checksum, copy, repack"),
    COUNT(bytes_warm, "bytes loaded from the page cache, without the flash"),
    COUNT(turns, "turns of the conversation that were finished; 0: it has none"),
    COUNT(restarts, "times that the app was started anew"),
    COUNT(bytes_reclaimed, "weights that the system took back while the app was in the background"),
    COUNT(drafted_tokens, "tokens that a draft model proposed"),
    COUNT(accepted_tokens, "of these, what the model accepted"),
    MAYBE(turn_ttft_mean_ns, "time to the first token of a turn after the first, mean"),
    MAYBE(turn_ttft_max_ns, "the same, the longest"),
    MAYBE(hot_at_ns, "when the device first got hot; none: never"),
    COUNT(hot_ns, "how much of load, compute and stall it was hot"),
    RUN("tokens_per_s_cold", COLUMN_REAL, tokens_per_s_cold, true,
        "later tokens a second, begun cold; none: it never gets hot"),
    RUN("tokens_per_s_hot", COLUMN_REAL, tokens_per_s_hot, true, "later tokens a second, begun hot"),
    RUN("perplexity", COLUMN_REAL, perplexity, true, "published quality of the quantised model, lower is better"),
    RUN("estimates", COLUMN_TEXT, estimates, true, "keys of this run whose values nobody measured or published"),
};
const size_t run_column_count = sizeof run_columns / sizeof *run_columns;

#define REPLAY(name, type, nullable, help)                                                                             \
    {                                                                                                                  \
#name, type, offsetof(struct replay_record, name), nullable, help                                              \
    }

const struct column replay_columns[] = {
    REPLAY(trace, COLUMN_TEXT, false, "trace file"),
    REPLAY(policy, COLUMN_TEXT, false, "composition of policies"),
    REPLAY(capacity, COLUMN_TEXT, false, "capacity as asked for"),
    REPLAY(capacity_bytes, COLUMN_INTEGER, true, "capacity in bytes; none where it counts blocks of several sizes"),
    REPLAY(accesses, COLUMN_INTEGER, true, "look-ups of a distinct block by a step: hits + misses; none: it failed"),
    REPLAY(hits, COLUMN_INTEGER, true, "accesses whose block was resident"),
    REPLAY(misses, COLUMN_INTEGER, true, "accesses whose block was absent"),
    REPLAY(hit_rate, COLUMN_REAL, true, "hits / accesses"),
    REPLAY(bytes_read, COLUMN_INTEGER, true, "bytes of all blocks loaded"),
    REPLAY(byte_hit_rate, COLUMN_REAL, true, "share of the bytes accessed that was resident"),
    REPLAY(evictions, COLUMN_INTEGER, true, "blocks evicted"),
};
const size_t replay_column_count = sizeof replay_columns / sizeof *replay_columns;

static int bit_length(wide value)
{
    int bits = 0;
    for (; value != 0; value >>= 1)
        bits++;
    return bits;
}

/* a / b, correctly rounded: a quotient of at least 55 bits (53, one to round by, one for what is left) whose last bit
 * is set when there is a remainder; a < 2^94. */
static double quotient(wide a, uint64_t b)
{
    if (b == 0)
        return (double)NAN;
    if (a == 0)
        return 0;
    const int shift = 55 + bit_length(b) - bit_length(a);
    if (shift > 0)
        a <<= shift;
    wide q = a / b;
    /* Only for quotients far above 2^55: their low bits count as a remainder. */
    int dropped = bit_length(q) > 63 ? bit_length(q) - 63 : 0;
    const bool rest = a % b != 0 || (q & (((wide)1 << dropped) - 1)) != 0;
    q >>= dropped;
    return ldexp((double)((uint64_t)q | (rest ? 1 : 0)), dropped - (shift > 0 ? shift : 0));
}

double ratio(uint64_t a, uint64_t b)
{
    return quotient(a, b);
}

static double per_second(uint64_t count, int64_t ns)
{
    must(ns >= 0);
    return count == 0 ? (double)NAN : quotient((wide)count * 1000000000u, (uint64_t)ns);
}

void record_finish(struct run_record *record)
{
    const struct run_numbers *n = &record->numbers;
    record->outcome = outcome_names[n->outcome];
    record->hit_rate = ratio(n->hits, n->accesses);
    record->byte_hit_rate = ratio(n->bytes_hit, n->bytes_accessed);
    record->tokens_per_s = per_second(n->tpot_count, n->tpot_total_ns);
    record->tokens_per_s_cold = per_second(n->tpot_cold_count, n->tpot_cold_total_ns);
    record->tokens_per_s_hot = per_second(n->tpot_hot_count, n->tpot_hot_total_ns);
}

bool record_keep(struct run_record *record, struct arena *arena)
{
    for (size_t i = 0; i < run_column_count; i++) {
        if (run_columns[i].type != COLUMN_TEXT)
            continue;
        const char *text;
        char *field = (char *)record + run_columns[i].offset;
        memcpy(&text, field, sizeof text);
        const char *copy = arena_strdup(arena, text ? text : "");
        if (!copy)
            return false;
        memcpy(field, &copy, sizeof copy);
    }
    return true;
}
