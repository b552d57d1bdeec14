/* Capacities, bound parts and records of replays. */
#include "sim/measure_replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum { PPM = 1000000 };

uint64_t common_size(const struct model *model)
{
    uint64_t size = model->policy_blocks[0].bytes;
    for (uint32_t i = 1; i < model->block_count; i++) {
        if (model->policy_blocks[i].bytes != size)
            return 0;
    }
    return size;
}

static bool in_blocks(const char *text, size_t digits, const struct model *model, struct capacity *capacity,
                      struct error *err)
{
    char number[CAPACITY_TEXT];
    memcpy(number, text, digits);
    number[digits] = '\0';
    uint64_t count, size = common_size(model);
    if (!parse_count(number, 1, UINT32_MAX, &count, err))
        return false;
    capacity->by_objects = size == 0;
    return multiply(count, size > 0 ? size : 1, &capacity->amount) || fail(err, STATUS_USAGE, "too large");
}

static bool in_share(const char *text, const struct trace *trace, bool has_bytes, struct capacity *capacity,
                     struct error *err)
{
    uint32_t ppm;
    if (!parse_share(text, &ppm, err))
        return false;
    uint64_t whole = trace->working_set_bytes;
    capacity->amount = whole / PPM * ppm + whole % PPM * ppm / PPM; /* rounded down, without overflow */
    return capacity->amount > 0 || fail(err, STATUS_USAGE, "this share of the trace's distinct %s is less than one %s",
                                        has_bytes ? "bytes" : "blocks", has_bytes ? "byte" : "block");
}

bool capacity_parse(const char *text, const struct model *model, const struct trace *trace, bool has_bytes,
                    struct capacity *capacity, struct error *err)
{
    size_t length = strlen(text);
    if (length >= CAPACITY_TEXT)
        return fail(err, STATUS_USAGE, "\"%.20s...\" is too long", text);
    *capacity = (struct capacity){0};
    memcpy(capacity->text, text, length + 1);
    bool good;
    if (length > 3 && strcmp(text + length - 3, "obj") == 0) {
        good = in_blocks(text, length - 3, model, capacity, err);
    } else if (length > 1 && text[length - 1] == '%') {
        good = in_share(text, trace, has_bytes, capacity, err);
    } else if ((good = parse_bytes(text, &capacity->amount, err)) && !has_bytes) {
        good = fail(err, STATUS_USAGE,
                    "the trace has no sizes: write a number of blocks such as 500obj, or a share such as 10%%");
    } else if (good && capacity->amount == 0) {
        good = fail(err, STATUS_USAGE, "a capacity of 0");
    }
    return good || fail_in(err, "\"%s\"", text);
}

bool part_bind(const struct policy_part *part, const struct model *model, struct arena *arena, struct bound_part *bound,
               struct error *err)
{
    *bound = (struct bound_part){0};
    if (!part->policy)
        return true;
    block_id *blocks = arena_alloc(arena, POLICY_BLOCK_NAMES_MAX, sizeof *blocks);
    int64_t *values = arena_alloc(arena, POLICY_PARAMS_MAX, sizeof *values);
    if (!blocks || !values)
        return fail(err, STATUS_IO, "out of memory");
    memcpy(values, part->values, sizeof part->values);
    *bound = (struct bound_part){.policy = part->policy, .args = {.values = values, .blocks = blocks}};
    return policy_bind(part, model_find, model, blocks, &bound->args.block_count, err);
}

/* A size has no meaning where blocks are counted. */
static bool check_units(const struct policy_part *part, struct error *err)
{
    for (uint32_t i = 0; part->policy && i < part->policy->param_count; i++) {
        const struct policy_param *param = &part->policy->params[i];
        if (param->unit == POLICY_BYTES && part->values[i] != param->fallback)
            return fail(err, STATUS_USAGE, "%s is a size, but a capacity in objects counts blocks of unequal sizes",
                        param->name);
    }
    return true;
}

/* Binds the parts, and checks that they go with the capacity. */
static bool bind(const struct replay_setting *setting, const struct policy_choice *choice,
                 const struct capacity *capacity, struct arena *arena, struct replay_spec *spec, struct error *err)
{
    *spec = (struct replay_spec){
        .model = setting->model,
        .trace = setting->trace,
        .capacity_bytes = capacity->amount,
        .by_objects = capacity->by_objects,
        .evict_when = setting->evict_when,
        .seed = setting->seed,
        .future = setting->future,
    };
    return (!capacity->by_objects ||
            (check_units(&choice->evict, err) && check_units(&choice->pin, err) && check_units(&choice->admit, err))) &&
           part_bind(&choice->evict, setting->model, arena, &spec->evict, err) &&
           part_bind(&choice->pin, setting->model, arena, &spec->pin, err) &&
           part_bind(&choice->admit, setting->model, arena, &spec->admit, err);
}

bool replay_check(const struct replay_setting *setting, const struct policy_choice *choice,
                  const struct capacity *capacity, struct error *err)
{
    struct replay_spec spec;
    struct arena arena = {0};
    bool good = bind(setting, choice, capacity, &arena, &spec, err);
    arena_free(&arena);
    return good || fail_in(err, "%s at %s", choice->label, capacity->text);
}

bool replay_measure(const struct replay_setting *setting, const struct policy_choice *choice,
                    const struct capacity *capacity, struct replay_result *result, struct error *err)
{
    struct replay_spec spec;
    struct arena arena = {0};
    bool good = bind(setting, choice, capacity, &arena, &spec, err) && replay_run(&spec, &arena, result, err);
    arena_free(&arena);
    return good || fail_in(err, "%s at %s", choice->label, capacity->text);
}

void replay_infinite(const struct trace *trace, uint32_t distinct, struct replay_result *result)
{
    *result = (struct replay_result){
        .accesses = trace->access_count,
        .hits = trace->access_count - distinct,
        .misses = distinct,
        .bytes_accessed = trace->accessed_bytes,
        .bytes_hit = trace->accessed_bytes - trace->working_set_bytes,
        .bytes_read = trace->working_set_bytes,
    };
}

bool trace_distinct(const struct trace *trace, uint32_t *distinct, struct error *err)
{
    bool *seen = calloc(trace->block_count, sizeof *seen);
    if (!seen)
        return fail(err, STATUS_IO, "out of memory");
    *distinct = 0;
    for (uint32_t u = 0; u < trace->use_count; u++) {
        const uint32_t b = trace->uses[u] & USE_BLOCK;
        *distinct += !seen[b];
        seen[b] = true;
    }
    free(seen);
    return true;
}

void replay_record_fill(struct replay_record *record, const char *trace, const char *policy,
                        const struct capacity *capacity, const struct replay_result *result)
{
    *record = (struct replay_record){
        .trace = trace,
        .policy = policy,
        .capacity = capacity->text,
        .capacity_bytes = capacity->by_objects ? UINT64_MAX : capacity->amount, /* NULL in outputs */
        .accesses = result->accesses,
        .hits = result->hits,
        .misses = result->misses,
        .hit_rate = ratio(result->hits, result->accesses),
        .bytes_read = result->bytes_read,
        .byte_hit_rate = ratio(result->bytes_hit, result->bytes_accessed),
        .evictions = result->evictions,
    };
}

size_t replay_row_columns(struct column columns[REPLAY_ROW_COLUMNS])
{
    must(replay_column_count < REPLAY_ROW_COLUMNS);
    memcpy(columns, replay_columns, replay_column_count * sizeof *columns);
    columns[replay_column_count] = (struct column){"note", COLUMN_TEXT, offsetof(struct replay_row, note), true,
                                                   "what the policy says of itself at this capacity"};
    return replay_column_count + 1;
}
