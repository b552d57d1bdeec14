/* Random models and traces, cut at random, against byte by byte: every byte of a block lies in exactly one of its
 * chunks, and every step uses what its blocks became.
 *
 * POCKETLOAD_SEED=N runs one case, POCKETLOAD_CASES=N sets how many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "workloads/chunks.h"

enum { CASES = 2000, FILE_BYTES = 4096, BLOCKS = 24, STEPS = 12, NOBODY = -1 };

struct chunk_case {
    uint64_t seed;
    struct rng rng;
    struct model model, chunked;
    struct trace trace, translated;
    struct chunk_rule rule;
    struct chunk_map map;
    int whole_of[FILE_BYTES], chunk_of[FILE_BYTES]; /* by byte of the file: its block, its chunk */
    bool shares[FILE_BYTES][BLOCKS];                /* by chunk and block: they have a byte in common */
};

#define HOLDS(c, condition)                                                                                            \
    ((condition) ? (void)0 : fail_because("seed %llu: not true: %s", (unsigned long long)(c)->seed, #condition))

static uint64_t below(struct chunk_case *c, uint64_t n)
{
    return rng_below(&c->rng, n);
}

/* Layers in any order, some twice, some with experts; tensors with and without gaps between them. */
static void make_model(struct chunk_case *c)
{
    struct error err;
    uint64_t at = 0;
    const uint64_t blocks = 1 + below(c, BLOCKS);
    model_start(&c->model, "random", "");
    for (uint64_t b = 0; b < blocks; b++) {
        const enum block_kind kind = (enum block_kind)below(c, BLOCK_KINDS);
        const bool layered = kind == BLOCK_LAYER || kind == BLOCK_EXPERT;
        char name[32];
        snprintf(name, sizeof name, "block%llu", (unsigned long long)b);
        HOLDS(c, model_add_block(&c->model, name, kind, layered ? (int32_t)below(c, 9) : -1,
                                 kind == BLOCK_EXPERT ? (int32_t)b : -1, &err));
        for (uint64_t e = 0, tensors = 1 + below(c, 4); e < tensors; e++) {
            const uint64_t bytes = 1 + below(c, 30);
            at += below(c, 2) * below(c, 8);
            HOLDS(c, model_add_extent(&c->model, at, bytes, &err));
            at += bytes;
        }
        HOLDS(c, model_add_matter(&c->model, TYPE_F16, below(c, 100), &err));
        HOLDS(c, model_add_matter(&c->model, TYPE_Q8_0, below(c, 3), &err));
    }
    HOLDS(c, at <= FILE_BYTES);
    c->model.file_bytes = FILE_BYTES;
    c->model.shape.kv_heads = 1 + (uint32_t)below(c, 3);
    c->model.shape.heads = c->model.shape.kv_heads * (1 + (uint32_t)below(c, 3));
    HOLDS(c, model_finish(&c->model, &err));
}

static void make_trace(struct chunk_case *c)
{
    struct trace_builder builder;
    struct error err;
    HOLDS(c, trace_start(&builder, &c->trace, "random", &err));
    for (uint64_t segments = 1 + below(c, 3); segments > 0; segments--) {
        const struct segment segment = {
            .repeat = 1 + (uint32_t)below(c, 3), .phase = PHASE_DECODE, .context_growth = 1};
        HOLDS(c, trace_add_segment(&builder, &segment, &err));
        for (uint64_t steps = 1 + below(c, STEPS); steps > 0; steps--) {
            HOLDS(c, trace_add_step(&builder, 0, &err));
            for (uint64_t uses = 1 + below(c, 2) * below(c, 6); uses > 0; uses--)
                HOLDS(c, trace_add_use(&builder, (block_id)below(c, c->model.block_count), below(c, 2) ? USE_UNSEEN : 0,
                                       &err));
        }
    }
    HOLDS(c, trace_finish(&builder, &c->model, &err));
}

static void make_rule(struct chunk_case *c)
{
    c->rule = (struct chunk_rule){.kind = CHUNK_SIZE + (enum chunk_kind)below(c, 3)};
    if (c->rule.kind == CHUNK_SIZE)
        c->rule.bytes = 1 + below(c, 60);
    if (c->rule.kind == CHUNK_LAYERS)
        c->rule.count = 2 + (uint32_t)below(c, 4);
    while (c->rule.kind == CHUNK_HEADS && c->rule.count == 0) {
        const uint32_t count = 1 + (uint32_t)below(c, c->model.shape.heads);
        if (c->model.shape.heads % count == 0 && count % (c->model.shape.heads / c->model.shape.kv_heads) == 0)
            c->rule.count = count;
    }
}

static void own_bytes(struct chunk_case *c, const struct model *model, int owners[FILE_BYTES])
{
    for (size_t i = 0; i < FILE_BYTES; i++)
        owners[i] = NOBODY;
    for (block_id b = 0; b < model->block_count; b++)
        for (uint32_t e = 0; e < model->blocks[b].extent_count; e++) {
            const struct extent *extent = &model->extents[model->blocks[b].first_extent + e];
            for (uint64_t i = extent->offset_bytes; i < extent->offset_bytes + extent->bytes; i++) {
                HOLDS(c, owners[i] == NOBODY);
                owners[i] = (int)b;
            }
        }
}

static bool belongs(const struct chunk_case *c, block_id chunk, block_id b)
{
    return c->shares[chunk][b];
}

static bool merges(const struct chunk_case *c, block_id a, block_id b)
{
    const struct block *x = &c->model.blocks[a], *y = &c->model.blocks[b];
    return a == b || (c->rule.kind == CHUNK_LAYERS && x->kind == BLOCK_LAYER && y->kind == BLOCK_LAYER &&
                      x->layer / (int32_t)c->rule.count == y->layer / (int32_t)c->rule.count);
}

/* Bytes, kinds, sizes, and which chunk is whose. */
static void check_model(struct chunk_case *c)
{
    own_bytes(c, &c->model, c->whole_of);
    own_bytes(c, &c->chunked, c->chunk_of);
    for (size_t i = 0; i < FILE_BYTES; i++)
        HOLDS(c, (c->whole_of[i] == NOBODY) == (c->chunk_of[i] == NOBODY));
    for (size_t i = 0; i < FILE_BYTES; i++)
        if (c->chunk_of[i] != NOBODY)
            c->shares[c->chunk_of[i]][c->whole_of[i]] = true;
    const uint32_t groups = c->rule.kind == CHUNK_HEADS ? c->model.shape.heads / c->rule.count : 0;
    for (block_id b = 0; b < c->model.block_count; b++) {
        const struct block *block = &c->model.blocks[b];
        uint32_t next = c->map.first[b];
        for (block_id chunk = 0; chunk < c->chunked.block_count; chunk++) {
            const struct block *piece = &c->chunked.blocks[chunk];
            if (!belongs(c, chunk, b))
                continue;
            HOLDS(c, next < c->map.first[b + 1] && c->map.chunks[next] == chunk);
            next++;
            HOLDS(c, piece->kind == block->kind && piece->expert == block->expert);
            HOLDS(c, piece->layer == block->layer || c->rule.kind == CHUNK_LAYERS);
            HOLDS(c, c->rule.kind != CHUNK_SIZE || piece->bytes <= c->rule.bytes);
            if (groups != 0 && piece->bytes != block->bytes) /* a byte of rounding a tensor */
                HOLDS(c, block->kind == BLOCK_LAYER && piece->bytes + block->tensor_count > block->bytes / groups &&
                             piece->bytes < block->bytes / groups + 1 + block->tensor_count);
        }
        HOLDS(c, next == c->map.first[b + 1]);
        if (c->rule.kind == CHUNK_SIZE)
            HOLDS(c, next - c->map.first[b] == (block->bytes + c->rule.bytes - 1) / c->rule.bytes);
        for (block_id d = 0; d < c->model.block_count; d++) { /* merged are those of one group, and no others */
            bool shared = false;
            for (block_id chunk = 0; chunk < c->chunked.block_count; chunk++)
                shared = shared || (belongs(c, chunk, b) && belongs(c, chunk, d));
            HOLDS(c, shared == merges(c, b, d));
        }
    }
    uint64_t elements[2][2] = {{0}};
    const struct model *models[] = {&c->model, &c->chunked};
    for (int m = 0; m < 2; m++)
        for (uint32_t i = 0; i < models[m]->matter_count; i++)
            elements[m][models[m]->matters[i].type == TYPE_F16] += models[m]->matters[i].elements;
    HOLDS(c, memcmp(elements[0], elements[1], sizeof elements[0]) == 0);
}

/* Step by step, with lists that are searched. */
static void check_trace(struct chunk_case *c)
{
    uint32_t at = 0;
    HOLDS(c, c->translated.step_count == c->trace.step_count);
    for (uint32_t s = 0; s < c->trace.step_count; s++) {
        const uint32_t begin = at;
        HOLDS(c, trace_step_begin(&c->translated, s) == at);
        for (uint32_t u = trace_step_begin(&c->trace, s); u < trace_step_begin(&c->trace, s + 1); u++) {
            const uint32_t use = c->trace.uses[u];
            for (block_id chunk = 0; chunk < c->chunked.block_count; chunk++) {
                bool named = false;
                if (!belongs(c, chunk, use & USE_BLOCK))
                    continue;
                for (uint32_t v = begin; v < at; v++)
                    named = named || (c->translated.uses[v] & USE_BLOCK) == chunk;
                if (named && !(use & USE_AGAIN))
                    continue;
                HOLDS(c, at < c->translated.use_count);
                HOLDS(c, c->translated.uses[at] == (chunk | (use & ~USE_BLOCK)));
                HOLDS(c, named == ((use & USE_AGAIN) != 0));
                at++;
            }
        }
    }
    HOLDS(c, at == c->translated.use_count);
    if (c->rule.kind != CHUNK_LAYERS) {
        HOLDS(c, c->translated.accessed_bytes == c->trace.accessed_bytes);
        HOLDS(c, c->translated.working_set_bytes == c->trace.working_set_bytes);
        HOLDS(c, c->translated.cycle_bytes == c->trace.cycle_bytes);
        HOLDS(c, c->translated.step_bytes_max == c->trace.step_bytes_max);
    }
}

static void test_random(void **state)
{
    (void)state;
    const char *one = getenv("POCKETLOAD_SEED"), *count = getenv("POCKETLOAD_CASES");
    const uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    const uint64_t end = first + (one ? 1 : count ? strtoull(count, NULL, 10) : CASES);
    uint64_t cut = 0, merged = 0;
    for (uint64_t seed = first; seed < end; seed++) {
        static struct chunk_case c;
        struct error err;
        memset(&c, 0, sizeof c);
        c.seed = seed;
        rng_seed(&c.rng, seed, 77);
        make_model(&c);
        make_trace(&c);
        make_rule(&c);
        if (!chunk_model(&c.model, &c.rule, &c.chunked, &c.map, &err) ||
            !chunk_trace(&c.trace, &c.chunked, &c.map, &c.translated, &err))
            fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
        check_model(&c);
        check_trace(&c);
        cut += c.chunked.block_count > c.model.block_count;
        merged += c.chunked.block_count < c.model.block_count;
        trace_free(&c.trace);
        trace_free(&c.translated);
        model_free(&c.model);
        model_free(&c.chunked);
        chunk_map_free(&c.map);
    }
    if (end - first >= CASES)
        assert_true(cut > CASES / 4 && merged > CASES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
