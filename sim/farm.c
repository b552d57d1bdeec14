/* An experiment's runs as tasks of worker processes: what a worker sends of a run, and what the parent makes of it. */
#include "sim/farm.h"

#include <stdlib.h>
#include <string.h>

/* So many lost runs are named in their errors. */
enum { NAMED_LOSSES_MAX = 16 };

static bool has_plugin(const struct policy_choice *choice)
{
    const struct policy_part *parts[] = {&choice->evict, &choice->pin, &choice->prefetch, &choice->admit};
    const char *path;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (policy_plugin_file(parts[i], &path))
            return true;
    return false;
}

/* A message is this and the raw arrays of the result: tokens, samples, blocks, kills, turns. */
struct run_message {
    struct run_numbers numbers;
    uint64_t token_count, sample_count, block_count, kill_count, turn_count;
};

struct run_farm {
    struct experiment *experiment;
    const size_t *indices;
    farm_callback *callback;
    void *context;
    unsigned losses;
    /* Of a worker: */
    struct prepared cache;
    struct arena arena; /* of the run that is being sent */
    struct run_message message;
};

static bool work_run(void *context, size_t task, struct farm_part parts[FARM_PARTS_MAX], struct error *err)
{
    struct run_farm *farm = context;
    struct run_result result = {0};
    arena_free(&farm->arena);
    if (!experiment_execute(farm->experiment, farm->indices[task], &farm->cache, &farm->arena, &result, err))
        return false;
    farm->message = (struct run_message){.numbers = result.numbers,
                                         .token_count = result.token_count,
                                         .sample_count = result.sample_count,
                                         .block_count = farm->cache.model.block_count,
                                         .kill_count = result.kill_count,
                                         .turn_count = result.turn_count};
    parts[0] = (struct farm_part){&farm->message, sizeof farm->message};
    parts[1] = (struct farm_part){result.tokens, result.token_count * sizeof *result.tokens};
    parts[2] = (struct farm_part){result.samples, result.sample_count * sizeof *result.samples};
    parts[3] = (struct farm_part){result.blocks, farm->message.block_count * sizeof *result.blocks};
    parts[4] = (struct farm_part){result.kills, result.kill_count * sizeof *result.kills};
    parts[5] = (struct farm_part){result.turns, result.turn_count * sizeof *result.turns};
    return true;
}

static bool take_error(struct run_farm *farm, const struct farm_outcome *outcome, struct error *err)
{
    struct error error = *outcome->error;
    const size_t index = farm->indices[outcome->task];
    const char *name = experiment_name(farm->experiment);
    if (outcome->lost && has_plugin(&experiment_run(farm->experiment, index)->policy))
        error.code = STATUS_CHECK; /* foreign code was running: most likely it is to blame */
    if (outcome->lost && farm->losses >= NAMED_LOSSES_MAX) {
        fail_in(&error, "%s: further runs", name);
    } else if (outcome->lost) {
        farm->losses++;
        fail_in(&error, "%s: run %zu (%s)", name, index + 1, experiment_run(farm->experiment, index)->policy.label);
    }
    return farm->callback(farm->context, index, NULL, &error, err);
}

static bool copy_array(struct arena *arena, const char **from, uint64_t count, size_t size, void **to)
{
    *to = arena_alloc(arena, count, size);
    if (!*to)
        return false;
    memcpy(*to, *from, count * size);
    *from += count * size;
    return true;
}

/* The message's arrays have the sizes that it tells. */
static bool is_whole(const struct farm_outcome *outcome, const struct run_message *message)
{
    const uint64_t body = outcome->size - sizeof *message;
    return message->token_count <= body && message->sample_count <= SAMPLES_MAX && message->block_count <= body &&
           message->kill_count <= PRESSURE_APPS_MAX && message->turn_count <= body &&
           body == message->token_count * sizeof(struct token_numbers) +
                       message->sample_count * sizeof(struct sample_numbers) +
                       message->block_count * sizeof(struct block_numbers) +
                       message->kill_count * sizeof(struct app_kill) +
                       message->turn_count * sizeof(struct turn_numbers);
}

static bool take_run(void *context, const struct farm_outcome *outcome, struct error *err)
{
    struct run_farm *farm = context;
    struct run_message message;
    if (outcome->error)
        return take_error(farm, outcome, err);
    if (outcome->size >= sizeof message)
        memcpy(&message, outcome->bytes, sizeof message);
    if (outcome->size < sizeof message || !is_whole(outcome, &message)) {
        struct error broken;
        fail(&broken, STATUS_IO, "the worker process sent %zu bytes that are no result", outcome->size);
        const struct farm_outcome lost = {.task = outcome->task, .error = &broken, .lost = true};
        return take_error(farm, &lost, err);
    }
    const char *body = (const char *)outcome->bytes + sizeof message;
    struct arena arena = {0};
    void *tokens, *samples, *blocks, *kills, *turns;
    bool good = copy_array(&arena, &body, message.token_count, sizeof(struct token_numbers), &tokens) &&
                copy_array(&arena, &body, message.sample_count, sizeof(struct sample_numbers), &samples) &&
                copy_array(&arena, &body, message.block_count, sizeof(struct block_numbers), &blocks) &&
                copy_array(&arena, &body, message.kill_count, sizeof(struct app_kill), &kills) &&
                copy_array(&arena, &body, message.turn_count, sizeof(struct turn_numbers), &turns);
    if (good) {
        struct run_result result = {.numbers = message.numbers,
                                    .tokens = tokens,
                                    .token_count = message.token_count,
                                    .samples = samples,
                                    .sample_count = (uint32_t)message.sample_count,
                                    .blocks = blocks,
                                    .kills = kills,
                                    .kill_count = (uint32_t)message.kill_count,
                                    .turns = turns,
                                    .turn_count = (uint32_t)message.turn_count};
        good = farm->callback(farm->context, farm->indices[outcome->task], &result, NULL, err);
    } else {
        fail(err, STATUS_IO, "out of memory");
    }
    arena_free(&arena);
    return good;
}

bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, const struct farm_options *options,
              farm_callback *callback, void *context, bool *stopped, struct error *err)
{
    struct run_farm farm = {.experiment = experiment, .indices = indices, .callback = callback, .context = context};
    struct farm_tasks tasks = {.count = count, .context = &farm, .work = work_run, .take = take_run};
    int64_t *timeouts_ms = NULL;
    if (options->timeout_ms == 0) {
        timeouts_ms = calloc(count + 1, sizeof *timeouts_ms);
        if (!timeouts_ms)
            return fail(err, STATUS_IO, "out of memory");
        for (size_t i = 0; i < count; i++)
            if (has_plugin(&experiment_run(experiment, indices[i])->policy))
                timeouts_ms[i] = FARM_PLUGIN_TIMEOUT_MS;
        tasks.timeouts_ms = timeouts_ms;
    }
    bool good = farm_do(&tasks, options, stopped, err);
    free(timeouts_ms);
    return good;
}
