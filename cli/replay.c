/* `pocketload replay`: a trace against policies and capacities, without time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"
#include "base/suggest.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/common.h"
#include "sim/measure_replay.h"
#include "workloads/workload.h"

enum { KEY_POLICY = KEY_OWN, KEY_CAPACITY, KEY_EVICT_WHEN, KEY_TRACE_FORMAT };
enum { LIST_MAX = 4096, COLUMNS_MAX = 32 };

static const char *const evict_when_names[] = {"before_insert", "after_step"};

struct replay_options {
    struct arguments arguments;
    const char *trace, *policies, *capacities, *trace_format;
    enum evict_when evict_when;
    enum format format;
};

/* What a replay works on, and the items of its two lists. */
struct replay {
    struct trace trace;
    struct model model;
    bool has_bytes;
    struct policy_choice *policies;
    struct capacity *capacities;
    size_t policy_count, capacity_count;
};

static const struct argp_option options[] = {
    {"policy", KEY_POLICY, "P,...", 0, "policies, such as lru,fifo,pinned-lru (see `pocketload policy list`)", 0},
    {"capacity", KEY_CAPACITY, "C,...", 0, "capacities: 500obj (blocks), 64MiB, or 10% of the trace's distinct bytes",
     0},
    {"evict-when", KEY_EVICT_WHEN, "WHEN", 0, "before_insert (default) or after_step", 0},
    {"trace-format", KEY_TRACE_FORMAT, "FORMAT", 0, "format of the trace (default: by its content)", 0},
    FORMAT_OPTION,
    HELP_OPTION,
    {0},
};

static bool parse_evict_when(const char *text, enum evict_when *when, struct error *err)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(text, evict_when_names[i]) == 0) {
            *when = i == 0 ? EVICT_BEFORE_INSERT : EVICT_AFTER_STEP;
            return true;
        }
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "--evict-when: unknown value \"%.80s\"%s", text,
                suggest_text(text, evict_when_names, 2, near, sizeof near));
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct replay_options *replay = state->input;
    struct error *err = replay->arguments.err;
    switch (key) {
    case KEY_POLICY:
        replay->policies = text;
        return 0;
    case KEY_CAPACITY:
        replay->capacities = text;
        return 0;
    case KEY_EVICT_WHEN:
        return parse_evict_when(text, &replay->evict_when, err) ? 0 : EINVAL;
    case KEY_TRACE_FORMAT:
        replay->trace_format = text;
        return 0;
    case KEY_FORMAT:
        return parse_format(text, &replay->format, err) ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        return take_argument(&replay->arguments, &replay->trace, text);
    case ARGP_KEY_SUCCESS:
        if (replay->trace == NULL)
            fail(err, STATUS_USAGE, "replay: which trace?");
        else if (replay->policies == NULL)
            fail(err, STATUS_USAGE, "replay: option --policy is missing, such as --policy lru,fifo");
        else if (replay->capacities == NULL)
            fail(err, STATUS_USAGE, "replay: option --capacity is missing, such as --capacity 500obj,64MiB,10%%");
        else
            return 0;
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool add_policy(void *context, const char *text, struct error *err)
{
    struct replay *replay = context;
    if (replay->policy_count == LIST_MAX)
        return fail(err, STATUS_USAGE, "--policy: more than %d policies", LIST_MAX);
    void *grown = realloc(replay->policies, (replay->policy_count + 1) * sizeof *replay->policies);
    if (grown == NULL)
        return fail(err, STATUS_IO, "out of memory");
    replay->policies = grown;
    struct policy_choice *choice = &replay->policies[replay->policy_count];
    if (!policy_parse(text, choice, err))
        return fail_in(err, "--policy");
    replay->policy_count++;
    return true;
}

static bool add_capacity(void *context, const char *text, struct error *err)
{
    struct replay *replay = context;
    if (replay->capacity_count == LIST_MAX)
        return fail(err, STATUS_USAGE, "--capacity: more than %d capacities", LIST_MAX);
    void *grown = realloc(replay->capacities, (replay->capacity_count + 1) * sizeof *replay->capacities);
    if (grown == NULL)
        return fail(err, STATUS_IO, "out of memory");
    replay->capacities = grown;
    struct capacity *capacity = &replay->capacities[replay->capacity_count];
    if (!capacity_parse(text, &replay->model, &replay->trace, replay->has_bytes, capacity, err))
        return fail_in(err, "--capacity");
    replay->capacity_count++;
    return true;
}

/* A composition with a prefetcher is replayed without it, so that the policies of a config can be compared here too. */
static void note_prefetchers(const struct replay *replay)
{
    for (size_t p = 0; p < replay->policy_count; p++) {
        const struct policy_choice *choice = &replay->policies[p];
        if (choice->prefetch.policy != NULL)
            fprintf(stderr, "note: %s: a replay has no time, so %s is left out\n", choice->label,
                    choice->prefetch_text);
    }
}

static bool replay_one(const struct replay *replay, const struct replay_options *given,
                       const struct policy_choice *choice, const struct capacity *capacity, struct output *output,
                       struct error *err)
{
    struct replay_record record;
    if (!measure_replay(&replay->model, &replay->trace, choice, capacity, given->evict_when, &record, err))
        return false;
    record.trace = given->trace; /* as the user named it */
    return output_record(output, &record, err);
}

/* The capacity stands in a table as it was written, and a trace without sizes has no bytes to tell of. */
static size_t columns_for_people(const struct replay *replay, size_t shown[COLUMNS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < replay_column_count && i < COLUMNS_MAX; i++) {
        const char *name = replay_columns[i].name;
        bool of_bytes = strstr(name, "byte") != NULL;
        if (strcmp(name, "capacity_bytes") != 0 && (replay->has_bytes || !of_bytes))
            shown[count++] = i;
    }
    return count;
}

static bool replay_all(const struct replay *replay, const struct replay_options *given, struct error *err)
{
    struct output *output;
    size_t shown[COLUMNS_MAX];
    size_t shown_count = columns_for_people(replay, shown);
    if (!output_open(stdout, given->format, replay_columns, replay_column_count, shown, shown_count, &output, err))
        return false;
    note_prefetchers(replay);
    bool good = true;
    for (size_t c = 0; good && c < replay->capacity_count; c++)
        for (size_t p = 0; good && p < replay->policy_count; p++)
            good = replay_one(replay, given, &replay->policies[p], &replay->capacities[c], output, err);
    struct error closing;
    bool closed = output_close(output, good ? err : &closing);
    return good && closed;
}

int command_replay(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, "TRACE", "Policies alone, without time: what hits, what misses, how many bytes are read.",
        NULL,    NULL,  NULL};
    struct replay_options given = {.evict_when = EVICT_BEFORE_INSERT};
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &given.arguments, &err))
        return report(&err);
    if (given.arguments.helped)
        return STATUS_OK;
    struct replay replay = {0};
    if (!list_split(given.policies, add_policy, &replay, &err)) {
        free(replay.policies);
        return report(&err);
    }
    bool good =
        trace_read_alone(given.trace, given.trace_format, &replay.trace, &replay.model, &replay.has_bytes, &err);
    if (good) {
        good = list_split(given.capacities, add_capacity, &replay, &err) && replay_all(&replay, &given, &err);
        trace_free(&replay.trace);
        model_free(&replay.model);
    }
    free(replay.policies);
    free(replay.capacities);
    return good ? STATUS_OK : report(&err);
}
