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

/* Replays the choice, without its prefetcher, and fills the record, whose texts are those of trace->name, choice and
 * capacity. Errors as of replay_run, with policy and capacity in front. */
bool measure_replay(const struct model *model, const struct trace *trace, const struct policy_choice *choice,
                    const struct capacity *capacity, enum evict_when evict_when, struct replay_record *record,
                    struct error *err);

#endif
