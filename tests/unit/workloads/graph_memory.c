/* The layout of graphs: what lies where, worked out by hand; and the graph of a model. */
#include "workloads/graph_memory.h"

#include "tests/cmocka_fixed.h"
#include "workloads/compute_buffer.h"

#define N GRAPH_NONE

static uint64_t buffer_of(struct graph *graph)
{
    struct error err;
    uint64_t bytes;
    if (!graph_buffer(graph, &bytes, &err))
        fail_because("%s", err.text);
    graph_free(graph);
    return bytes;
}

/* Each result is the next one's only source: two at a time, or one in place. */
static void test_chain(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct graph graph = {0};
        graph_tensor last = graph_input(&graph, 100); /* 128: whole alignments */
        for (int i = 0; i < 5; i++)
            last = graph_add(&graph, 100, in_place, last, N, N, N);
        assert_int_equal(buffer_of(&graph), in_place ? 128 : 256);
    }
}

/* A source that is needed again is not worked on in place; of two that are not, the first is. */
static void test_in_place(void **state)
{
    (void)state;
    struct graph graph = {0};
    const graph_tensor a = graph_input(&graph, 32), b = graph_input(&graph, 32);
    const graph_tensor sum = graph_add(&graph, 32, true, a, b, N, N); /* at 32, where b was */
    graph_use(&graph, a, sum);
    assert_int_equal(buffer_of(&graph), 64);
    const graph_tensor c = graph_input(&graph, 32), d = graph_input(&graph, 32);
    const graph_tensor first = graph_add(&graph, 32, true, c, d, N, N); /* at 0, and 32 is free */
    graph_add(&graph, 64, false, first, N, N, N);                       /* at 32: the space behind all */
    assert_int_equal(buffer_of(&graph), 96);
}

/* Holes: 0-32 and 64-128 are free, 32-64 is held. */
static struct graph with_holes(graph_tensor *held)
{
    struct graph graph = {0};
    const graph_tensor small = graph_input(&graph, 32);
    *held = graph_input(&graph, 32);
    const graph_tensor large = graph_input(&graph, 64), last = graph_input(&graph, 32); /* ends at 160 */
    graph_use(&graph, small, large);
    graph_use(&graph, *held, last);
    return graph;
}

static void test_holes(void **state)
{
    (void)state;
    graph_tensor held;
    struct graph graph = with_holes(&held);
    /* Before the second use: none of these fits a hole that the first use has made. */
    assert_int_equal(buffer_of(&graph), 160);

    struct graph best = {0};
    const graph_tensor a = graph_input(&best, 64), b = graph_input(&best, 32), c = graph_input(&best, 32),
                       d = graph_input(&best, 32);
    graph_use(&best, a, c);                                         /* holes 0-64 and 96-128 */
    const graph_tensor e = graph_add(&best, 32, false, N, N, N, N); /* the smaller one: 96 */
    const graph_tensor f = graph_add(&best, 64, false, e, N, N, N); /* 0 */
    const graph_tensor g = graph_add(&best, 96, false, b, d, N, N); /* 160 on: nothing is free before it */
    graph_use(&best, f, g);
    assert_int_equal(buffer_of(&best), 256);

    struct graph joined = {0};
    const graph_tensor h = graph_input(&joined, 32), i = graph_input(&joined, 32), j = graph_input(&joined, 32),
                       k = graph_input(&joined, 32);
    graph_use(&joined, h, j);
    graph_use(&joined, i, N); /* 0-96 is one hole now */
    graph_use(&joined, graph_add(&joined, 96, false, N, N, N, N), k);
    assert_int_equal(buffer_of(&joined), 128);
}

static void test_too_large(void **state)
{
    (void)state;
    struct graph graph = {0};
    struct error err;
    uint64_t bytes;
    assert_int_equal(graph_bytes(3, 5, 4), 60);
    assert_int_equal(graph_bytes(UINT64_C(1) << 40, UINT64_C(1) << 40, 4), UINT64_MAX);
    graph_use(&graph, graph_add(&graph, UINT64_MAX, false, N, N, N, N), N);
    assert_false(graph_buffer(&graph, &bytes, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    graph_free(&graph);
}

static uint64_t model_buffer(const struct shape *shape, uint32_t batch, uint32_t context, bool flash)
{
    struct error err;
    uint64_t bytes;
    bool known;
    if (!compute_buffer_bytes(shape, batch, context, flash, &known, &bytes, &err))
        fail_because("%s", err.text);
    assert_true(known);
    return bytes;
}

/* Where all but one tensor are small the buffer is that tensor and what must lie before it. */
static void test_models(void **state)
{
    (void)state;
    struct shape shape = {.layers = 4,
                          .width = 64,
                          .vocab = 1000000,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_size = 16,
                          .ffn = 128,
                          .gated = true};
    const uint64_t logits = 4 * 1000000, row = 4 * 64;
    uint64_t bytes = model_buffer(&shape, 256, 1024, true);
    assert_true(bytes >= 256 * (logits + row) && bytes <= 256 * (logits + 2 * row) + 1024 * 256 * 6 + 8192);
    bytes = model_buffer(&shape, 256, 64, true); /* no batch is longer than the context */
    assert_true(bytes >= 64 * (logits + row) && bytes <= 64 * (logits + 2 * row) + 256 * 64 * 6 + 8192);
    shape.vocab = 1;
    shape.ffn = 1000000;
    bytes = model_buffer(&shape, 64, 256, true); /* gate, up and their product */
    assert_true(bytes >= 3 * 64 * logits && bytes <= 3 * 64 * logits + 64 * 20 * row);
    shape.fused_qkv = true; /* both in one, and the product */
    bytes = model_buffer(&shape, 64, 256, true);
    assert_true(bytes >= 3 * 64 * logits && bytes <= 3 * 64 * logits + 64 * 20 * row);
    shape.gated = shape.fused_qkv = false; /* up, in place */
    shape.parallel = true;
    bytes = model_buffer(&shape, 64, 256, true);
    assert_true(bytes >= 64 * logits && bytes <= 64 * logits + 64 * 20 * row);
    shape = (struct shape){
        .layers = 4, .width = 64, .vocab = 1, .heads = 64, .kv_heads = 2, .head_size = 16, .ffn = 128, .gated = true};
    bytes = model_buffer(&shape, 64, 65536, false); /* the scores of all heads, in place */
    assert_true(bytes >= UINT64_C(4) * 64 * 64 * 65536 && bytes <= UINT64_C(4) * 66 * 64 * 65536);
    assert_true(model_buffer(&shape, 64, 65536, true) < bytes / 10);
    shape = (struct shape){.layers = 2,
                           .width = 1000,
                           .vocab = 1,
                           .heads = 1,
                           .kv_heads = 1,
                           .head_size = 16,
                           .experts = 64,
                           .experts_used = 8,
                           .expert_ffn = 16,
                           .shared_ffn = 8,
                           .gated = true};
    bytes = model_buffer(&shape, 64, 256, true); /* what eight experts give each token, and its sum */
    assert_true(bytes >= 64 * 4 * 9 * 1000 && bytes <= 64 * 4 * 14 * 1000);
}

static void test_unknown(void **state)
{
    (void)state;
    const struct shape none = {0}, latent = {.layers = 1, .latent = 512};
    const struct shape huge = {.layers = 1,
                               .width = SHAPE_MAX,
                               .vocab = SHAPE_MAX,
                               .heads = SHAPE_MAX,
                               .kv_heads = 1,
                               .head_size = SHAPE_MAX,
                               .ffn = 1};
    struct error err;
    uint64_t bytes;
    bool known;
    assert_true(compute_buffer_bytes(&none, 512, 4096, true, &known, &bytes, &err));
    assert_false(known);
    assert_true(compute_buffer_bytes(&latent, 512, 4096, true, &known, &bytes, &err));
    assert_false(known);
    assert_false(compute_buffer_bytes(&huge, 1 << 20, 1 << 20, true, &known, &bytes, &err));
    assert_int_equal(err.code, STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_in_place), cmocka_unit_test(test_holes),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_models),   cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
