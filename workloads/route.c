/* The format `route`: which experts each token chose in each layer, as an instrumented runtime wrote it down.
 *
 *     # route_trace v1
 *     # model=... n_layer=48 n_expert=128 ...
 *     # layer=0 expert_bytes=3059712 ...           (for each layer with experts)
 *     turn,phase,step,layer,slot,expert,...        (names of columns; those not named here are passed over)
 *     0,0,0,0,0,49,...
 *
 * Phase 0 is prefill: all rows of a turn and layer are one step, whichever prompt token (`step`) they belong to; uses
 * keep the file's order, so an expert that a later token chooses again is a repeated use. Phase 1 is decode: the rows
 * of a turn, `step` and layer are a step, those of a turn and `step` a token. Steps and tokens come in the order in
 * which they first appear. Without a model, the blocks are the experts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "workloads/reader.h"

enum column { COL_TURN, COL_PHASE, COL_STEP, COL_LAYER, COL_EXPERT, COLS };
static const char *const column_names[COLS] = {"turn", "phase", "step", "layer", "expert"};
enum { TURN_MAX = (1 << 30) - 1 };

struct route {
    bool has_columns;
    uint32_t layers, experts; /* 0: not known yet */
    uint64_t *expert_bytes;   /* of each layer; 0: none */
    block_id *blocks;         /* [layer * experts + expert]: BLOCK_NONE where there is none; made with the columns */
    uint32_t place[COLS];
    struct idmap tokens;   /* turn, phase and, in decode, step */
    struct idmap steps;    /* token and layer */
    struct idmap prompted; /* turn and step of the rows of prefill: which prompt tokens there are */
    uint32_t *prompt;      /* of each token: how many prompt tokens it is; 0: decode */
    size_t prompt_capacity;
    uint32_t row_count;
    uint32_t *row_block, *row_step; /* of each row: its block, and its step in order of first appearance */
    size_t row_block_capacity, row_step_capacity;
};

static void route_free(struct route *route)
{
    free(route->expert_bytes);
    free(route->blocks);
    free(route->prompt);
    free(route->row_block);
    free(route->row_step);
    idmap_free(&route->tokens);
    idmap_free(&route->steps);
    idmap_free(&route->prompted);
}

/* The number behind "key=" at the start of a word of the line; *found is false where no word starts so. */
static bool head_number(const char *line, const char *key, uint64_t max, uint64_t *value, bool *found,
                        struct error *err)
{
    const size_t length = strlen(key);
    *found = false;
    for (const char *c = line; *c != '\0';) {
        c += strspn(c, " \t");
        if (strncmp(c, key, length) == 0 && c[length] == '=') {
            const char *end = c + length + 1;
            *found = true;
            if (read_number(&end, value) && (*end == '\0' || is_blank(*end)) && *value <= max)
                return true;
            return fail(err, STATUS_INPUT, "%.60s: expected a whole number from 0 to %" PRIu64, c, max);
        }
        c += strcspn(c, " \t");
    }
    return true;
}

static bool read_sizes(struct route *route, const char *line, struct error *err)
{
    uint64_t layers, experts;
    bool has_layers, has_experts;
    if (!head_number(line, "n_layer", MODEL_BLOCKS_MAX, &layers, &has_layers, err) ||
        !head_number(line, "n_expert", MODEL_BLOCKS_MAX, &experts, &has_experts, err))
        return false;
    if (!has_layers && !has_experts)
        return true;
    if (!has_layers || !has_experts || route->layers != 0)
        return fail(err, STATUS_INPUT, "expected n_layer and n_expert together, once");
    if (layers == 0 || experts == 0 || layers * experts > MODEL_BLOCKS_MAX)
        return fail(err, STATUS_INPUT, "n_layer=%" PRIu64 " n_expert=%" PRIu64 ": expected a product from 1 to %d",
                    layers, experts, MODEL_BLOCKS_MAX);
    route->expert_bytes = calloc((size_t)layers, sizeof *route->expert_bytes);
    if (route->expert_bytes == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu64 " layers", layers);
    route->layers = (uint32_t)layers;
    route->experts = (uint32_t)experts;
    return true;
}

static bool read_comment(struct route *route, const char *line, struct error *err)
{
    uint64_t layer, bytes;
    bool has_layer, has_bytes;
    if (!read_sizes(route, line, err) || !head_number(line, "layer", UINT32_MAX, &layer, &has_layer, err) ||
        !head_number(line, "expert_bytes", INT64_MAX, &bytes, &has_bytes, err))
        return false;
    if (!has_layer || !has_bytes)
        return true;
    if (layer >= route->layers)
        return fail(err, STATUS_INPUT, "layer=%" PRIu64 ": expected n_layer in an earlier line, and a layer below it",
                    layer);
    if (route->expert_bytes[layer] != 0 && route->expert_bytes[layer] != bytes)
        return fail(err, STATUS_INPUT, "layer=%" PRIu64 " has expert_bytes=%" PRIu64 ": expected %" PRIu64 " as before",
                    layer, bytes, route->expert_bytes[layer]);
    route->expert_bytes[layer] = bytes;
    return true;
}

/* The experts of the given model, by layer and number. */
static void map_experts(struct route *route, const struct model *model)
{
    for (uint32_t b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        if (block->kind == BLOCK_EXPERT && block->layer >= 0 && (uint32_t)block->layer < route->layers &&
            block->expert >= 0 && (uint32_t)block->expert < route->experts)
            route->blocks[(uint32_t)block->layer * route->experts + (uint32_t)block->expert] = b;
    }
}

/* A model of the experts alone, one layer behind the other. */
static bool build_experts(struct reading *reading, struct route *route, struct error *err)
{
    struct model *model = reading->own_model;
    uint64_t offset = 0;
    model_start(model, reader_file_name(reading->input->path), "");
    reading->has_own_model = true;
    for (uint32_t layer = 0; layer < route->layers; layer++)
        for (uint32_t e = 0; e < route->experts && route->expert_bytes[layer] != 0; e++) {
            char name[MODEL_BLOCK_NAME_MAX + 1];
            snprintf(name, sizeof name, "expert%" PRIu32 ".%" PRIu32, layer, e);
            route->blocks[layer * route->experts + e] = model->block_count;
            if (!model_add_block(model, name, BLOCK_EXPERT, (int32_t)layer, (int32_t)e, err) ||
                !model_add_extent(model, offset, route->expert_bytes[layer], err))
                return false;
            offset += route->expert_bytes[layer]; /* model_add_extent has checked the sum */
        }
    return model_finish(model, err);
}

static bool read_columns(struct reading *reading, struct route *route, char **fields, uint32_t count, struct error *err)
{
    if (route->layers == 0)
        return fail(err, STATUS_INPUT, "expected a line \"# ... n_layer=N n_expert=N\" above the names of the columns");
    for (uint32_t c = 0; c < COLS; c++) {
        uint32_t i = 0;
        while (i < count && strcmp(fields[i], column_names[c]) != 0)
            i++;
        if (i == count)
            return fail(err, STATUS_INPUT, "no column \"%s\": expected turn,phase,step,layer,slot,expert,...",
                        column_names[c]);
        route->place[c] = i;
    }
    route->has_columns = true;
    reading->has_bytes = true;
    const size_t experts = (size_t)route->layers * route->experts;
    route->blocks = malloc(experts * sizeof *route->blocks);
    if (route->blocks == NULL)
        return fail(err, STATUS_IO, "out of memory: %zu experts", experts);
    for (size_t i = 0; i < experts; i++)
        route->blocks[i] = BLOCK_NONE;
    if (reading->input->model == NULL)
        return build_experts(reading, route, err);
    map_experts(route, reading->input->model);
    return true;
}

static bool find_block(const struct reading *reading, const struct route *route, uint64_t layer, uint64_t expert,
                       block_id *block, struct error *err)
{
    if (layer >= route->layers || expert >= route->experts)
        return fail(err, STATUS_INPUT,
                    "layer %" PRIu64 ", expert %" PRIu64 ": expected a layer below %" PRIu32
                    " and an expert below %" PRIu32,
                    layer, expert, route->layers, route->experts);
    *block = route->blocks[layer * route->experts + expert];
    if (*block != BLOCK_NONE)
        return true;
    const struct model *model = reading->input->model;
    if (model == NULL)
        return fail(err, STATUS_INPUT, "layer %" PRIu64 " has no line \"# layer=%" PRIu64 " expert_bytes=N\"", layer,
                    layer);
    return fail(err, STATUS_INPUT, "the model \"%s\" has no expert %" PRIu64 " of layer %" PRIu64, model->name, expert,
                layer);
}

/* array_reserve for an array of 32-bit numbers. */
static bool reserve(uint32_t **data, size_t *capacity, uint32_t need, struct error *err)
{
    void *grown = *data;
    if (!array_reserve(&grown, capacity, need, sizeof **data, err))
        return false;
    *data = grown;
    return true;
}

/* Numbers the row's token, and counts the prompt tokens of a prefill. */
static bool number_token(struct route *route, const uint64_t values[COLS], uint32_t *token, struct error *err)
{
    const bool decode = values[COL_PHASE] == 1;
    const uint64_t key = values[COL_TURN] << 33 | values[COL_PHASE] << 32 | (decode ? values[COL_STEP] : 0);
    const uint32_t known = route->tokens.count, prompted = route->prompted.count;
    uint32_t ignored;
    if (!idmap_put(&route->tokens, key, token, err) ||
        !reserve(&route->prompt, &route->prompt_capacity, route->tokens.count, err))
        return false;
    if (route->tokens.count > known)
        route->prompt[*token] = 0;
    if (!decode && !idmap_put(&route->prompted, values[COL_TURN] << 32 | values[COL_STEP], &ignored, err))
        return false;
    route->prompt[*token] += route->prompted.count - prompted;
    return true;
}

static bool add_row(const struct reading *reading, struct route *route, char **fields, struct error *err)
{
    static const uint64_t most[COLS] = {TURN_MAX, 1, UINT32_MAX, MODEL_BLOCKS_MAX, MODEL_BLOCKS_MAX};
    uint64_t values[COLS];
    block_id block;
    uint32_t token, step;
    for (uint32_t c = 0; c < COLS; c++) {
        const char *text = fields[route->place[c]], *end = text;
        if (!read_number(&end, &values[c]) || *end != '\0' || values[c] > most[c])
            return fail(err, STATUS_INPUT, "%s \"%.40s\": expected a whole number from 0 to %" PRIu64, column_names[c],
                        text, most[c]);
    }
    if (route->row_count >= UINT32_MAX - 1)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " uses of experts", UINT32_MAX - 1);
    if (!find_block(reading, route, values[COL_LAYER], values[COL_EXPERT], &block, err) ||
        !number_token(route, values, &token, err) ||
        !idmap_put(&route->steps, (uint64_t)token << 32 | values[COL_LAYER], &step, err) ||
        !reserve(&route->row_block, &route->row_block_capacity, route->row_count + 1, err) ||
        !reserve(&route->row_step, &route->row_step_capacity, route->row_count + 1, err))
        return false;
    route->row_block[route->row_count] = block;
    route->row_step[route->row_count++] = step;
    return true;
}

static bool add_line(struct reading *reading, void *context, char *line, struct error *err)
{
    struct route *route = context;
    char *fields[FIELDS_MAX];
    uint32_t count;
    if (line[0] == '#')
        return route->has_columns || read_comment(route, line + 1, err);
    if (line[strspn(line, " \t")] == '\0')
        return true;
    if (!split_fields(line, ',', fields, FIELDS_MAX, &count, err))
        return false;
    if (!route->has_columns)
        return read_columns(reading, route, fields, count, err);
    for (uint32_t c = 0; c < COLS; c++)
        if (route->place[c] >= count)
            return fail(err, STATUS_INPUT, "found %" PRIu32 " fields, expected one for the column \"%s\"", count,
                        column_names[c]);
    return add_row(reading, route, fields, err);
}

/* Items 0 .. count-1 sorted by key, equal keys in the order of the items (counting sort): those of key k are
 * order[first[k]] .. order[first[k + 1] - 1]. */
struct order {
    uint32_t *first, *order;
};

static void order_free(struct order *order)
{
    free(order->first);
    free(order->order);
}

static bool order_by(struct order *order, const uint32_t *key, uint32_t count, uint32_t keys, struct error *err)
{
    /* While items are placed, first[k + 1] is where the next of key k goes; at the end it is where key k + 1 begins. */
    order->first = calloc((size_t)keys + 2, sizeof *order->first);
    order->order = malloc(((size_t)count + 1) * sizeof *order->order);
    if (order->first == NULL || order->order == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " uses of experts", count);
    for (uint32_t i = 0; i < count; i++)
        order->first[key[i] + 2]++;
    for (uint32_t k = 1; k <= keys; k++)
        order->first[k + 1] += order->first[k];
    for (uint32_t i = 0; i < count; i++)
        order->order[order->first[key[i] + 1]++] = i;
    return true;
}

static bool add_token(struct reading *reading, const struct route *route, uint32_t token, uint32_t context,
                      struct error *err)
{
    const bool decode = (route->tokens.keys[token] >> 32 & 1) == 1;
    return reader_open_token(reading, decode ? PHASE_DECODE : PHASE_PREFILL, token, context,
                             decode ? 1 : route->prompt[token], 0, err);
}

static bool add_step(struct reading *reading, const struct route *route, const struct order *rows, uint32_t step,
                     struct error *err)
{
    const uint32_t flag = foresee_flag(reading->input->spec->foresee, BLOCK_EXPERT);
    if (!trace_add_step(reading->builder, 0, err))
        return false;
    for (uint32_t i = rows->first[step]; i < rows->first[step + 1]; i++)
        if (!trace_add_use(reading->builder, route->row_block[rows->order[i]], flag, err))
            return false;
    return true;
}

static bool add_all(struct reading *reading, const struct route *route, const struct order *rows,
                    const struct order *steps, struct error *err)
{
    uint64_t context = 0;
    for (uint32_t token = 0; token < route->tokens.count; token++) {
        if (context > UINT32_MAX)
            return fail(err, STATUS_INPUT, "a context of more than %" PRIu32 " tokens", UINT32_MAX);
        if (!add_token(reading, route, token, (uint32_t)context, err))
            return false;
        for (uint32_t i = steps->first[token]; i < steps->first[token + 1]; i++)
            if (!add_step(reading, route, rows, steps->order[i], err))
                return false;
        context += reading->builder->trace->segments[token].context_growth;
    }
    return true;
}

/* From rows to steps to tokens. */
static bool compile(struct reading *reading, const struct route *route, struct error *err)
{
    struct order rows = {0}, steps = {0};
    uint32_t *token_of = malloc(((size_t)route->steps.count + 1) * sizeof *token_of);
    bool ok = token_of != NULL || fail(err, STATUS_IO, "out of memory: %" PRIu32 " steps", route->steps.count);
    for (uint32_t s = 0; ok && s < route->steps.count; s++)
        token_of[s] = (uint32_t)(route->steps.keys[s] >> 32);
    ok = ok && order_by(&rows, route->row_step, route->row_count, route->steps.count, err) &&
         order_by(&steps, token_of, route->steps.count, route->tokens.count, err) &&
         add_all(reading, route, &rows, &steps, err);
    free(token_of);
    order_free(&rows);
    order_free(&steps);
    return ok;
}

bool route_read(struct reading *reading, struct error *err)
{
    struct route route = {0};
    reading->builder->trace->counts_tokens = true;
    const bool ok = reader_each_line(reading, add_line, &route, err) &&
                    (route.row_count > 0 ||
                     fail(err, STATUS_INPUT, "%s: the trace is empty: it names no expert", reading->input->path)) &&
                    (compile(reading, &route, err) || fail_in(err, "%s", reading->input->path));
    route_free(&route);
    return ok;
}

bool route_matches(const struct trace_head *head)
{
    return strncmp(head->text, "# route_trace", 13) == 0;
}
