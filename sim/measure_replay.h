/* From a policy's text and a capacity as people write it to one replay record: what `pocketload replay` does for each
 * pair. */
#ifndef POCKETLOAD_SIM_MEASURE_REPLAY_H
#define POCKETLOAD_SIM_MEASURE_REPLAY_H

#include "policies/registry.h"
#include "sim/record.h"
#include "sim/replay.h"

enum { CAPACITY_TEXT = 64 };

struct capacity {
    char text[CAPACITY_TEXT]; /* as it was written */
    uint64_t amount;          /* bytes; with by_objects: blocks */
    bool by_objects;
};

/* "64MiB" (only where the trace brings sizes: has_bytes), "10%" of the distinct bytes that the trace touches, "500obj":
 * so many blocks, which are bytes where all blocks have one size. STATUS_USAGE otherwise. */
bool capacity_parse(const char *text, const struct model *model, const struct trace *trace, bool has_bytes,
                    struct capacity *capacity, struct error *err);

/* A part with its block names turned into ids of the model; values and ids live in arena. A part without a policy gives
 * a bound part without one. */
bool part_bind(const struct policy_part *part, const struct model *model, struct arena *arena, struct bound_part *bound,
               struct error *err);

/* The size that all blocks of the model have, or 0 when they differ. */
uint64_t common_size(const struct model *model);

/* What many replays of one trace share. */
struct replay_setting {
    const struct model *model;
    const struct trace *trace;
    enum evict_when evict_when;
    uint64_t seed;               /* for policies that draw lots */
    const struct future *future; /* as in replay_spec */
};

/* Whether the choice, without its prefetcher, can be replayed at this capacity: its parameters mean something there.
 * STATUS_USAGE, with policy and capacity in front. */
bool replay_check(const struct replay_setting *setting, const struct policy_choice *choice,
                  const struct capacity *capacity, struct error *err);

/* Replays the choice, without its prefetcher. Errors as of replay_run, with policy and capacity in front. */
bool replay_measure(const struct replay_setting *setting, const struct policy_choice *choice,
                    const struct capacity *capacity, struct replay_result *result, struct error *err);

/* The infinite cache: each of the trace's `distinct` blocks misses once, and nothing is ever evicted. */
void replay_infinite(const struct trace *trace, uint32_t distinct, struct replay_result *result);

/* How many distinct blocks the trace uses. STATUS_IO without memory. */
bool trace_distinct(const struct trace *trace, uint32_t *distinct, struct error *err);

/* `trace`, `policy` and the capacity's text stay the caller's. */
void replay_record_fill(struct replay_record *record, const char *trace, const char *policy,
                        const struct capacity *capacity, const struct replay_result *result);

/* A record, and the policy's remark. */
struct replay_row {
    struct replay_record record;
    const char *note; /* "": none */
};

/* The columns of a row: those of records, and "note". Returns how many. */
enum { REPLAY_ROW_COLUMNS = 32 };
size_t replay_row_columns(struct column columns[REPLAY_ROW_COLUMNS]);

#endif
