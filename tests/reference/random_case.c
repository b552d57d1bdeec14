/* See random_case.h. One random number a statement, so that every compiler draws them in the same order. The ranges are
 * narrow, so that rare meetings of rules happen often: few blocks, few lanes, budgets about as large as a step, times
 * of loads and computing alike. */
#include "tests/reference/random_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/reference/naive_parts.h"

static void demand_success(bool success, const struct random_case *c, const struct error *err)
{
    if (success)
        return;
    fprintf(stderr, "random case %llu: %s\n", c ? (unsigned long long)c->seed : 0ull, err->text);
    abort();
}

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

static bool chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

static void make_model(struct random_case *c, struct rng *rng)
{
    struct error err;
    uint32_t count = (uint32_t)between(rng, 1, 12);
    uint64_t equal = chance(rng, 30) ? between(rng, 1, 200000) : 0;
    uint64_t largest = chance(rng, 20) ? 3000 : 200000;
    model_start(&c->model, "random", "");
    for (uint32_t b = 0; b < count; b++) {
        char name[16];
        snprintf(name, sizeof name, "b%u", b);
        enum block_kind kind = (enum block_kind)rng_below(rng, BLOCK_KINDS);
        demand_success(model_add_block(&c->model, name, kind,
                                       kind == BLOCK_LAYER || kind == BLOCK_EXPERT ? (int32_t)b : -1,
                                       kind == BLOCK_EXPERT ? (int32_t)b : -1, &err),
                       c, &err);
        uint32_t extents = equal || chance(rng, 50) ? 1 : (uint32_t)between(rng, 2, 4);
        for (uint32_t e = 0; e < extents; e++) {
            uint64_t offset = rng_below(rng, 1 << 22);
            uint64_t bytes = equal ? equal : between(rng, 1, largest / extents);
            demand_success(model_add_extent(&c->model, offset, bytes, &err), c, &err);
        }
    }
    demand_success(model_finish(&c->model, &err), c, &err);
}

static void add_works(struct random_case *c, struct trace_builder *builder, struct rng *rng, uint32_t count)
{
    struct error err;
    for (uint32_t w = 0; w < count; w++) {
        struct work_term terms[3];
        uint32_t index, term_count = (uint32_t)rng_below(rng, 4);
        for (uint32_t t = 0; t < term_count; t++) {
            terms[t].type = (uint32_t)rng_below(rng, TYPE_COMMON);
            terms[t].flops = rng_below(rng, 2000000);
            terms[t].flops_per_context = rng_below(rng, 20000);
            terms[t].bytes = chance(rng, 60) ? rng_below(rng, 1000000) : 0;
        }
        int64_t fixed = chance(rng, 50) ? (int64_t)rng_below(rng, chance(rng, 20) ? 5 : 3000000) : -1;
        struct work work = {.fixed_ns = fixed, .context_max = UINT32_MAX};
        if (fixed < 0) {
            work.bytes = rng_below(rng, 1000000);
            work.bytes_per_context = rng_below(rng, 20000);
            work.term_count = term_count;
            if (chance(rng, 40))
                work.context_max = (uint32_t)rng_below(rng, 50);
        }
        demand_success(trace_add_capped_work(builder, &work, terms, &index, &err), c, &err);
    }
}

static void add_step(struct random_case *c, struct trace_builder *builder, struct rng *rng, uint32_t widest)
{
    struct error err;
    uint32_t works = c->trace.work_count;
    demand_success(trace_add_step(builder, works ? (uint32_t)rng_below(rng, works) : 0, &err), c, &err);
    uint32_t uses = (uint32_t)between(rng, 1, widest);
    uint32_t unseen = chance(rng, 30) ? 50 : 0;
    for (uint32_t u = 0; u < uses; u++) {
        block_id b = (block_id)rng_below(rng, c->model.block_count);
        uint32_t flags = chance(rng, unseen) ? USE_UNSEEN : 0;
        demand_success(trace_add_use(builder, b, flags, &err), c, &err);
    }
}

/* Turns, pauses in the background, rounds of drafts, a second model's KV cache: from random numbers of their own. */
static void converse(struct segment *segment, struct rng *rng, uint32_t *turn, bool talks)
{
    if (talks && (*turn == 0 ? chance(rng, 80) : chance(rng, 50)))
        ++*turn;
    segment->turn = *turn;
    if (chance(rng, 25)) {
        segment->away = AWAY_RECLAIM;
        segment->away_ppm = (uint32_t)rng_below(rng, 1000001);
    } else if (chance(rng, 10)) {
        segment->away = AWAY_RESTART;
    }
    if (segment->repeat == 1 && chance(rng, 20)) {
        segment->drafted = (uint32_t)between(rng, 1, 4);
        segment->accepted = (uint32_t)rng_below(rng, segment->drafted + UINT64_C(1));
    }
    segment->second = chance(rng, 20);
    segment->kv_beside_bytes = chance(rng, 20) ? rng_below(rng, 60000) : 0;
}

static void make_trace(struct random_case *c, struct rng *rng)
{
    struct error err;
    struct trace_builder builder;
    struct rng chat;
    uint32_t turn = 0;
    rng_seed(&chat, c->seed, 1);
    const bool plain = chance(&chat, 50), talks = chance(&chat, 80);
    demand_success(trace_start(&builder, &c->trace, "random", &err), c, &err);
    bool counts = chance(rng, 85);
    c->trace.counts_tokens = counts;
    add_works(c, &builder, rng, chance(rng, 80) ? (uint32_t)between(rng, 1, 4) : 0);
    uint32_t widest = chance(rng, 40) ? 1 : (uint32_t)between(rng, 1, 6), token = 0;
    uint32_t segments = counts ? (uint32_t)between(rng, 1, 5) : 1;
    for (uint32_t s = 0; s < segments; s++) {
        bool idle_only = s > 0 && chance(rng, 10);
        struct segment segment = {.token = token};
        segment.repeat = counts && !idle_only ? (uint32_t)between(rng, 1, 6) : 1;
        segment.phase = chance(rng, 25) ? PHASE_PREFILL : PHASE_DECODE;
        segment.context_first = (uint32_t)rng_below(rng, 40);
        segment.context_growth = (uint32_t)rng_below(rng, 4);
        segment.idle_ns =
            chance(rng, 30) || idle_only ? (int64_t)rng_below(rng, chance(rng, 5) ? 900000000 : 20000000) : 0;
        segment.activation_bytes = chance(rng, 50) ? rng_below(rng, 200000) : 0;
        if (counts && !plain)
            converse(&segment, &chat, &turn, talks);
        demand_success(trace_add_segment(&builder, &segment, &err), c, &err);
        uint32_t steps = idle_only ? 0 : (uint32_t)between(rng, 1, 8);
        for (uint32_t i = 0; i < steps; i++)
            add_step(c, &builder, rng, widest);
        token += idle_only ? 0 : segment.repeat * (segment.accepted + 1);
    }
    demand_success(trace_finish(&builder, &c->model, &err), c, &err);
    /* Whatever the model: its list of blocks has no KV cache. */
    c->trace.kv_bytes_per_token = chance(rng, 60) ? rng_below(rng, 3000) : 0;
    if (chance(rng, 30)) {
        c->trace.kv_window = (uint32_t)between(rng, 1, 40);
        c->trace.kv_window_bytes_per_token = rng_below(rng, 3000);
    }
    c->trace.second_kv.bytes = rng_below(&chat, 3000);
    c->trace.second_kv.window = (uint32_t)rng_below(&chat, 40);
    c->trace.second_kv.window_bytes = rng_below(&chat, 3000);
}

static void make_device(struct random_case *c, struct rng *rng)
{
    struct device *device = &c->spec.device;
    snprintf(device->name, sizeof device->name, "random");
    device->ram_bytes = 1 << 30;
    device->os_reserve_bytes = rng_below(rng, chance(rng, 5) ? 1 << 30 : 1 << 20);
    device->other_apps_bytes = rng_below(rng, 1 << 20);
    device->runtime_bytes = rng_below(rng, 1 << 18);
    device->memory_bps = between(rng, 100000000, 4000000000);
    for (uint32_t t = 0; t < TENSOR_TYPES_MAX; t++) {
        device->flops_rate[t] = between(rng, 500000000, 9000000000);
        device->memory_rate[t] = chance(rng, 40)   ? 0
                                 : chance(rng, 30) ? device->memory_bps
                                                   : between(rng, 50000000, 4000000000);
    }
    struct flash_spec *flash = &device->flash;
    flash->setup_ns = chance(rng, 20) ? 0 : (int64_t)rng_below(rng, 400000);
    flash->stream_bps = between(rng, 50000000, 1000000000);
    flash->max_bps = chance(rng, 20) ? flash->stream_bps : flash->stream_bps + rng_below(rng, 1000000000);
    flash->queue_depth = (uint32_t)between(rng, 1, 6);
    flash->command_bytes = chance(rng, 30) ? 1 << 20 : between(rng, 4096, 60000);
    flash->hot_after_ns = chance(rng, 40) ? (int64_t)between(rng, 1, 40000000) : 0;
    flash->hot_factor_ppm = (uint32_t)between(rng, 100000, 1000000);
    struct heat_spec *heat = &device->heat;
    heat->mode = chance(rng, 70) ? HEAT_FROM_COLD : (enum heat_mode)rng_below(rng, HEAT_MODES);
    heat->hot_after_ns = chance(rng, 60) ? (int64_t)between(rng, 1, 60000000) : 0;
    heat->factor_ppm = (uint32_t)between(rng, 100000, 1000000);
    heat->cool_ppm = chance(rng, 20) ? 0 : (uint32_t)rng_below(rng, chance(rng, 50) ? 3000000 : 100000000);
}

static void make_loader(struct random_case *c, struct rng *rng)
{
    struct loader *loader = &c->spec.loader;
    uint64_t all = c->model.weights_bytes, step = c->trace.step_bytes_max;
    loader->mode = chance(rng, 10) ? LOADER_READ : LOADER_CHUNKED;
    switch (rng_below(rng, 8)) {
    case 0:
        loader->budget_bytes = between(rng, 1, step);
        break;
    case 1:
    case 2:
        loader->budget_bytes = step + rng_below(rng, step);
        break;
    case 3:
        loader->budget_bytes = all + rng_below(rng, 1000);
        break;
    case 4:
    case 5:
        loader->budget_bytes = 2 * step + rng_below(rng, step);
        break;
    default:
        loader->budget_bytes = between(rng, 1, all);
    }
    loader->lanes = (uint32_t)between(rng, 1, 5);
    loader->prefetch_lanes = (uint32_t)between(rng, 1, loader->lanes);
    loader->align_bytes = chance(rng, 50) ? 1 : chance(rng, 50) ? 512 : 4096;
    loader->read_bytes = chance(rng, 50) ? 0 : 4096 * between(rng, 1, 30);
    loader->evict_when = chance(rng, 30) ? EVICT_AFTER_STEP : EVICT_BEFORE_INSERT;
    loader->overlap = chance(rng, 20) ? OVERLAP_NONE : chance(rng, 50) ? OVERLAP_PREFETCH : OVERLAP_BLOCKS;
    loader->keep_activations = chance(rng, 25);
    if (chance(rng, 25)) {
        c->spec.device.pressure.rule = KILL_THRESHOLD;
        c->spec.device.pressure.threshold_bytes = chance(rng, 10)
                                                      ? between(rng, 1, c->spec.device.runtime_bytes + 1)
                                                      : c->spec.device.runtime_bytes + 1 + rng_below(rng, all + 300000);
    } else {
        c->spec.device.pressure.threshold_bytes = 1 << 30;
    }
}

static void make_pin(struct random_case *c, struct rng *rng, char *text, size_t size)
{
    static const char *const kinds[BLOCK_KINDS] = {"embedding", "norm", "layer", "expert", "output", "other"};
    struct naive_choice *choice = &c->choice;
    choice->pin = chance(rng, 50) ? NAIVE_PIN_NONE : (enum naive_pin)between(rng, NAIVE_PIN_KINDS, NAIVE_PIN_BLOCKS);
    size_t used = 0;
    if (choice->pin == NAIVE_PIN_KINDS) {
        choice->kinds = (uint32_t)between(rng, 1, (1u << BLOCK_KINDS) - 1);
        for (int k = 0; k < BLOCK_KINDS; k++)
            if (choice->kinds >> k & 1)
                used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "+kinds(", kinds[k]);
        snprintf(text + used, size - used, ")");
    } else if (choice->pin == NAIVE_PIN_HOT) {
        choice->hot_by_default = chance(rng, 50);
        choice->hot_bytes = 1 + rng_below(rng, c->model.weights_bytes);
        if (choice->hot_by_default)
            snprintf(text, size, "+hot");
        else
            snprintf(text, size, "+hot(%lluB)", (unsigned long long)choice->hot_bytes);
    } else if (choice->pin == NAIVE_PIN_BLOCKS) {
        for (block_id b = 0; b < c->model.block_count; b++)
            if (chance(rng, 30) || (b + 1 == c->model.block_count && choice->blocks_count == 0)) {
                choice->blocks[choice->blocks_count++] = b;
                used += (size_t)snprintf(text + used, size - used, "%sb%u", used ? "," : "+blocks(", b);
            }
        snprintf(text + used, size - used, ")");
    }
}

void bind_policy(const char *text, const struct model *model, struct policy_choice *parsed,
                 block_id pin_blocks[POLICY_BLOCK_NAMES_MAX], struct run_spec *spec)
{
    struct error err;
    demand_success(policy_parse(text, parsed, &err), NULL, &err);
    spec->evict = (struct bound_part){parsed->evict.policy, {.values = parsed->evict.values}};
    spec->pin = (struct bound_part){parsed->pin.policy, {.values = parsed->pin.values, .blocks = pin_blocks}};
    spec->prefetch = (struct bound_part){parsed->prefetch.policy, {.values = parsed->prefetch.values}};
    spec->admit = (struct bound_part){parsed->admit.policy, {.values = parsed->admit.values}};
    if (parsed->pin.policy != NULL)
        demand_success(policy_bind(&parsed->pin, model_find, model, pin_blocks, &spec->pin.args.block_count, &err),
                       NULL, &err);
}

static void choose_parts(struct random_case *c, struct rng *rng)
{
    struct naive_choice *choice = &c->choice;
    choice->evict = chance(rng, 40)   ? NAIVE_LRU
                    : chance(rng, 40) ? NAIVE_FIFO
                    : chance(rng, 50) ? NAIVE_CAPPED
                                      : NAIVE_FARTHEST;
    choice->cap_bytes = 1 + rng_below(rng, c->spec.loader.budget_bytes + c->model.weights_bytes / 4);
    choice->prefetch = chance(rng, 25)   ? NAIVE_FETCH_NONE
                       : chance(rng, 50) ? NAIVE_FETCH_NEXT
                       : chance(rng, 50) ? NAIVE_FETCH_SEER
                                         : NAIVE_FETCH_FOLLOWER;
    choice->depth = (uint32_t)between(rng, 1, 4);
    choice->admit = chance(rng, 20) ? NAIVE_ADMIT_MOST : NAIVE_ADMIT_ALL;
    c->cap_bytes = (int64_t)choice->cap_bytes;
    c->depth = choice->depth;
}

/* The registered parts by their text, the others as they are. */
static void make_policy(struct random_case *c, struct rng *rng)
{
    char pin[200] = "", next[32] = "";
    struct naive_choice *choice = &c->choice;
    choose_parts(c, rng);
    make_pin(c, rng, pin, sizeof pin);
    if (choice->prefetch == NAIVE_FETCH_NEXT)
        snprintf(next, sizeof next, "+next(depth=%u)", choice->depth);
    snprintf(c->policy_text, sizeof c->policy_text, "%s%s%s", choice->evict == NAIVE_FIFO ? "fifo" : "lru", pin, next);
    if (c->spec.loader.mode != LOADER_CHUNKED)
        return;
    bind_policy(c->policy_text, &c->model, &c->parsed, c->pin_blocks, &c->spec);
    if (choice->evict == NAIVE_CAPPED)
        c->spec.evict = (struct bound_part){&part_capped, {.values = &c->cap_bytes}};
    if (choice->evict == NAIVE_FARTHEST)
        c->spec.evict = (struct bound_part){&part_farthest, {0}};
    if (choice->prefetch == NAIVE_FETCH_SEER)
        c->spec.prefetch = (struct bound_part){&part_seer, {.values = &c->depth}};
    if (choice->prefetch == NAIVE_FETCH_FOLLOWER)
        c->spec.prefetch = (struct bound_part){&part_follower, {0}};
    if (choice->admit == NAIVE_ADMIT_MOST)
        c->spec.admit = (struct bound_part){&part_most, {0}};
}

/* Many slow prefetches and little room: demands meet prefetches in flight, again and again within a step. */
static void crowd(struct random_case *c, struct rng *rng)
{
    struct loader *loader = &c->spec.loader;
    loader->budget_bytes = c->trace.step_bytes_max + rng_below(rng, c->trace.step_bytes_max / 2 + 1);
    loader->evict_when = EVICT_BEFORE_INSERT;
    loader->overlap = chance(rng, 50) ? OVERLAP_PREFETCH : OVERLAP_BLOCKS;
    loader->lanes = (uint32_t)between(rng, 2, 8);
    loader->prefetch_lanes = (uint32_t)between(rng, 2, loader->lanes);
    c->spec.device.flash.queue_depth = (uint32_t)between(rng, 2, 8);
    c->spec.device.flash.command_bytes = 4096 * between(rng, 2, 30);
}

static const uint32_t stage_bits[] = {STAGE_ALLOC, STAGE_PARSE, STAGE_CHECKSUM, STAGE_COPY, STAGE_REPACK};

static void make_stages(struct random_case *c, struct rng *rng)
{
    struct device *device = &c->spec.device;
    uint64_t *const rates[] = {&device->alloc_bps, &device->parse_bps, &device->checksum_bps, &device->copy_bps,
                               &device->repack_bps};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        *rates[i] = between(rng, 50000000, 4000000000);
    bool some = chance(rng, 60);
    for (size_t i = 0; i < sizeof stage_bits / sizeof *stage_bits; i++) {
        bool chosen = chance(rng, 40);
        c->spec.loader.stages |= some && chosen ? stage_bits[i] : 0;
    }
    bool threads = chance(rng, 60);
    uint64_t count = between(rng, 1, 4);
    c->spec.loader.loader_threads = threads ? (uint32_t)count : 0;
    c->model.file_bytes = c->model.weights_bytes + rng_below(rng, 60000);
    device->fs_read_ns = chance(rng, 20) ? (int64_t)rng_below(rng, 50000) : 0;
}

static void make_start_up(struct random_case *c, struct rng *rng)
{
    struct loader *loader = &c->spec.loader;
    if (chance(rng, 20))
        loader->mode = LOADER_READ;
    bool part = chance(rng, 60);
    loader->first_chunk = part ? (enum first_chunk)rng_below(rng, 3) : FIRST_ALL;
    loader->first_layers = (uint32_t)rng_below(rng, 12);
    loader->first_bytes = rng_below(rng, c->model.weights_bytes + 1000);
    loader->preload = (enum preload)rng_below(rng, PRELOAD_BLOCKS + 1);
    loader->preload_blocks = c->preload;
    for (block_id b = 0; b < c->model.block_count; b++) {
        bool named = chance(rng, 30);
        if (named && loader->preload == PRELOAD_BLOCKS)
            c->preload[loader->preload_count++] = b;
    }
    bool warm = chance(rng, 30);
    uint32_t share = (uint32_t)rng_below(rng, 1000001);
    loader->warm_ppm = warm ? share : 0;
}

void random_case_make(struct random_case *c, uint64_t seed)
{
    struct rng rng;
    memset(c, 0, sizeof *c);
    rng_seed(&rng, seed, 0);
    c->seed = seed;
    make_model(c, &rng);
    make_trace(c, &rng);
    make_device(c, &rng);
    make_loader(c, &rng);
    c->spec.model = &c->model;
    c->spec.trace = &c->trace;
    make_policy(c, &rng);
    if (chance(&rng, 20))
        crowd(c, &rng);
    rng_seed(&rng, seed, 1);
    if (chance(&rng, 60)) {
        make_stages(c, &rng);
        make_start_up(c, &rng);
    }
}

void random_case_free(struct random_case *c)
{
    model_free(&c->model);
    trace_free(&c->trace);
}

void random_case_print(const struct random_case *c, FILE *file)
{
    const struct loader *loader = &c->spec.loader;
    const struct flash_spec *flash = &c->spec.device.flash;
    fprintf(
        file,
        "# seed %llu: %s, %s, budget %llu, lanes %u, prefetch lanes %u, read %llu, align %llu, evict %s, overlap %d\n",
        (unsigned long long)c->seed, loader->mode == LOADER_READ ? "read" : "chunked", c->policy_text,
        (unsigned long long)loader->budget_bytes, loader->lanes, loader->prefetch_lanes,
        (unsigned long long)loader->read_bytes, (unsigned long long)loader->align_bytes,
        loader->evict_when == EVICT_AFTER_STEP ? "after step" : "before insert", (int)loader->overlap);
    static const char *const evicts[] = {"lru", "fifo", "capped", "farthest"};
    static const char *const fetches[] = {"none", "next", "seer", "follower"};
    fprintf(file, "# evict %s of %llu, prefetch %s of %u, admit %s\n", evicts[c->choice.evict],
            (unsigned long long)c->choice.cap_bytes, fetches[c->choice.prefetch], c->choice.depth,
            c->choice.admit == NAIVE_ADMIT_MOST ? "most" : "all");
    fprintf(file,
            "# flash: setup %lld, stream %llu, max %llu, queue %u, command %llu, hot after %lld; kill above %llu\n",
            (long long)flash->setup_ns, (unsigned long long)flash->stream_bps, (unsigned long long)flash->max_bps,
            flash->queue_depth, (unsigned long long)flash->command_bytes, (long long)flash->hot_after_ns,
            c->spec.device.pressure.rule == KILL_THRESHOLD ? (unsigned long long)c->spec.device.pressure.threshold_bytes
                                                           : 0);
    fprintf(file,
            "# stages %u on %u threads, first chunk %d (%u layers, %llu bytes), preload %d of %u, warm %u ppm, header "
            "%llu\n",
            loader->stages, loader->loader_threads, (int)loader->first_chunk, loader->first_layers,
            (unsigned long long)loader->first_bytes, (int)loader->preload, loader->preload_count, loader->warm_ppm,
            (unsigned long long)(c->model.file_bytes - c->model.weights_bytes));
    for (block_id b = 0; b < c->model.block_count; b++)
        fprintf(file, "# block %u: %llu bytes in %u extents\n", b, (unsigned long long)c->model.blocks[b].bytes,
                c->model.blocks[b].extent_count);
}
