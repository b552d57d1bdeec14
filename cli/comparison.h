/* Policies side by side on one trace: what `replay` and `mrc` share. */
#ifndef POCKETLOAD_CLI_COMPARISON_H
#define POCKETLOAD_CLI_COMPARISON_H

#include "cli/arguments.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "results/bounds.h"
#include "sim/replay_grid.h"

enum {
    KEY_POLICY = KEY_OWN,
    KEY_CAPACITY,
    KEY_TRACE_FORMAT,
    KEY_SEED,
    KEY_TIMEOUT,
    KEY_BOUNDS,
    KEY_NO_BOUNDS,
    KEY_COMPARISON_OWN
};

/* Options of both commands, with the keys above. */
#define COMPARISON_OPTIONS                                                                                               \
    {"policy", KEY_POLICY, "P,...", 0, "policies, such as lru,fifo,pinned-lru (see `pocketload policy list`)", 0},       \
        {"capacity",                                                                                                     \
         KEY_CAPACITY,                                                                                                   \
         "C,...",                                                                                                        \
         0,                                                                                                              \
         "capacities: 500obj (blocks), 64MiB, or 10% of the trace's distinct bytes",                                     \
         0},                                                                                                             \
        {"trace-format", KEY_TRACE_FORMAT, "FORMAT", 0, "format of the trace (default: by its content)", 0},             \
        {"seed", KEY_SEED, "N", 0, "for policies that draw lots (default 1)", 0},                                        \
        {"jobs", 'j', "N", 0, "replays at the same time (default: one for each processor)", 0},                          \
        {"timeout",                                                                                                      \
         KEY_TIMEOUT,                                                                                                    \
         "TIME",                                                                                                         \
         0,                                                                                                              \
         "end a replay that takes longer than this, such as 30s (default: 1min with a plug-in, else never)",             \
         0},                                                                                                             \
        {"bounds", KEY_BOUNDS, NULL, 0, "add Belady's policy and the infinite cache (default in tables for people)", 0}, \
    {                                                                                                                    \
        "no-bounds", KEY_NO_BOUNDS, NULL, 0, "leave them out", 0                                                         \
    }

/* What the options say. */
struct comparison_options {
    struct arguments arguments;
    const char *trace, *policies, *capacities, *trace_format;
    enum evict_when evict_when;
    enum format format;
    uint64_t seed, jobs;
    int64_t timeout_ms; /* 0: none given */
    bool bounds, no_bounds;
};
void comparison_defaults(struct comparison_options *options);

/* Takes an option or the trace; ARGP_ERR_UNKNOWN for what is not shared. `command` is for messages. */
error_t comparison_parse(int key, char *text, struct comparison_options *options, const char *command);

/* What is compared. With bounds Belady's policy is the last of `policies`, also where the user named it. */
struct comparison {
    const struct comparison_options *options;
    struct trace trace;
    struct model model;
    bool has_trace, has_bytes;
    uint32_t distinct; /* blocks that the trace uses */
    struct policy_choice *policies;
    struct capacity *capacities;
    size_t policy_count, capacity_count;
    size_t named_count; /* policies that the user named, without the bound where others stand beside it */
    bool bounds;
    struct trace_context context;
    struct replay_cell *cells; /* of comparison_run */
    bool *left_out;            /* by cell; NULL: none */
    struct progress progress;
};

/* Reads the policies, then the trace, then the capacities where some are given. comparison_free in any case. */
bool comparison_start(struct comparison *comparison, const struct comparison_options *options, struct error *err);
void comparison_free(struct comparison *comparison);

/* Adds a capacity beside those that the user gave. */
bool comparison_add_capacity(struct comparison *comparison, const struct capacity *capacity, struct error *err);

/* Fills the cells: every policy at every capacity, but for those left out. Says on stderr which prefetchers play no
 * part. */
bool comparison_run(struct comparison *comparison, struct error *err);

/* Prints the errors of replays that failed, and returns the worst exit code. *all receives whether nothing went well.
 */
int comparison_report(const struct comparison *comparison, bool *all);

/* True for formats that people read. */
bool comparison_for_people(const struct comparison *comparison);

/* What the policies say of themselves, one line for each policy and remark. */
void comparison_print_remarks(const struct comparison *comparison);

/* "lru", and for people "belady (bound)" where the user did not name it. */
const char *comparison_label(const struct comparison *comparison, size_t policy, char out[POLICY_TEXT_MAX + 32]);

#endif
