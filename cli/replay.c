/* `pocketload replay`: a trace against policies and capacities, without time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/config_file.h"
#include "base/suggest.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/common.h"
#include "policies/registry.h"
#include "sim/record.h"
#include "sim/replay.h"
#include "workloads/workload.h"

enum { KEY_POLICY = KEY_OWN, KEY_CAPACITY, KEY_EVICT_WHEN, KEY_TRACE_FORMAT };
enum { LIST_MAX = 4096, CAPACITY_TEXT = 64 };

static const char *const evict_when_names[] = {"before_insert", "after_step"};

struct capacity {
    char text[CAPACITY_TEXT];
    uint64_t amount; /* bytes, or with by_objects blocks */
    bool by_objects;
};

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

/* The size that all used blocks have, or 0 when they differ. */
static uint64_t common_size(const struct replay *replay)
{
    uint64_t size = replay->model.blocks[0].bytes;
    for (uint32_t i = 1; i < replay->model.block_count; i++)
        if (replay->model.blocks[i].bytes != size)
            return 0;
    return size;
}

/* "500obj": so many blocks. Of one size they are a number of bytes too; else each counts as one. */
static bool capacity_in_blocks(const struct replay *replay, struct capacity *capacity, size_t digits, struct error *err)
{
    char number[CAPACITY_TEXT];
    memcpy(number, capacity->text, digits);
    number[digits] = '\0';
    uint64_t count;
    if (!parse_count(number, 1, UINT32_MAX, &count, err))
        return false;
    uint64_t size = common_size(replay);
    capacity->by_objects = size == 0;
    return multiply(count, capacity->by_objects ? 1 : size, &capacity->amount) || fail(err, STATUS_USAGE, "too large");
}

static bool parse_capacity(const struct replay *replay, struct capacity *capacity, struct error *err)
{
    const char *text = capacity->text;
    uint64_t *bytes = &capacity->amount;
    size_t length = strlen(text), whole = replay->trace.working_set_bytes;
    capacity->by_objects = false;
    if (length > 3 && strcmp(text + length - 3, "obj") == 0)
        return capacity_in_blocks(replay, capacity, length - 3, err);
    if (length > 1 && text[length - 1] == '%') {
        uint32_t ppm;
        if (!parse_share(text, &ppm, err))
            return false;
        /* floor(whole * ppm / 10^6) without overflow. */
        *bytes = whole / 1000000 * ppm + whole % 1000000 * ppm / 1000000;
        return *bytes > 0 || fail(err, STATUS_USAGE, "this share of the trace's distinct %s is less than one %s",
                                  replay->has_bytes ? "bytes" : "blocks", replay->has_bytes ? "byte" : "block");
    }
    if (!parse_bytes(text, bytes, err))
        return false;
    if (!replay->has_bytes)
        return fail(err, STATUS_USAGE,
                    "the trace has no sizes: write a number of blocks such as 500obj, or a share "
                    "such as 10%%");
    return *bytes > 0 || fail(err, STATUS_USAGE, "a capacity of 0");
}

static bool add_capacity(void *context, const char *text, struct error *err)
{
    struct replay *replay = context;
    if (replay->capacity_count == LIST_MAX)
        return fail(err, STATUS_USAGE, "--capacity: more than %d capacities", LIST_MAX);
    if (strlen(text) >= CAPACITY_TEXT)
        return fail(err, STATUS_USAGE, "--capacity: \"%.20s...\" is too long", text);
    void *grown = realloc(replay->capacities, (replay->capacity_count + 1) * sizeof *replay->capacities);
    if (grown == NULL)
        return fail(err, STATUS_IO, "out of memory");
    replay->capacities = grown;
    struct capacity *capacity = &replay->capacities[replay->capacity_count];
    memcpy(capacity->text, text, strlen(text) + 1);
    if (!parse_capacity(replay, capacity, err))
        return fail_in(err, "--capacity \"%s\"", text);
    replay->capacity_count++;
    return true;
}

static bool bind(const struct replay *replay, const struct policy_part *part, block_id *blocks,
                 struct bound_part *bound, struct error *err)
{
    *bound = (struct bound_part){.policy = part->policy};
    if (part->policy == NULL)
        return true;
    bound->args.values = part->values;
    bound->args.blocks = blocks;
    return policy_bind(part, model_find, &replay->model, blocks, &bound->args.block_count, err);
}

static bool replay_one(const struct replay *replay, const struct replay_options *options_given,
                       const struct policy_choice *choice, const struct capacity *capacity, struct output *output,
                       struct error *err)
{
    block_id evict_blocks[POLICY_BLOCK_NAMES_MAX], pin_blocks[POLICY_BLOCK_NAMES_MAX];
    struct replay_spec spec = {.model = &replay->model,
                               .trace = &replay->trace,
                               .capacity_bytes = capacity->amount,
                               .by_objects = capacity->by_objects,
                               .evict_when = options_given->evict_when};
    struct replay_result result;
    struct arena arena = {0};
    bool good = bind(replay, &choice->evict, evict_blocks, &spec.evict, err) &&
                bind(replay, &choice->pin, pin_blocks, &spec.pin, err) && replay_run(&spec, &arena, &result, err);
    arena_free(&arena);
    if (!good)
        return fail_in(err, "%s at %s", choice->label, capacity->text);
    struct replay_record record = {
        .trace = options_given->trace,
        .policy = choice->label,
        .capacity = capacity->text,
        .capacity_bytes = capacity->by_objects ? (uint64_t)-1 : capacity->amount,
        .accesses = result.accesses,
        .hits = result.hits,
        .misses = result.misses,
        .hit_rate = ratio(result.hits, result.accesses),
        .bytes_read = result.bytes_read,
        .byte_hit_rate = ratio(result.bytes_hit, result.bytes_accessed),
        .evictions = result.evictions,
    };
    return output_record(output, &record, err);
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

static bool replay_all(const struct replay *replay, const struct replay_options *given, struct error *err)
{
    struct output *output;
    if (!output_open(stdout, given->format, replay_columns, replay_column_count, NULL, 0, &output, err))
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
