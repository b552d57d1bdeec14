/* Chunks: rules as text, models cut and merged by hand, and their traces. */
#include "workloads/chunks.h"

#include "tests/unit/workloads/trace_helpers.h"

static struct chunk_rule rule_of(const char *text)
{
    struct chunk_rule rule;
    struct error err;
    if (!chunk_parse(text, &rule, &err))
        fail_because("%s", err.text);
    return rule;
}

static void test_texts(void **state)
{
    (void)state;
    static const char *const same[] = {"layer",    "4MiB",        "1B",      "512KB",   "1TiB",
                                       "layers:2", "layers:4096", "heads:1", "heads:32"};
    char text[CHUNK_TEXT];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct chunk_rule rule = rule_of(same[i]), back = chunk_of_code(chunk_code(&rule));
        assert_string_equal(chunk_print(&rule, text), same[i]);
        assert_string_equal(chunk_print(&back, text), same[i]);
    }
    struct chunk_rule rule = rule_of("layers:1");
    assert_int_equal(chunk_code(&rule), 0);
    rule = rule_of("4096KiB");
    assert_string_equal(chunk_print(&rule, text), "4MiB");
    static const char *const bad[][2] = {
        {"", "unknown rule \"\""},
        {"layr", "unknown rule \"layr\": did you mean layer?"},
        {"blocks", "(or a size: 4MiB)"},
        {"layers", "unknown rule \"layers\""},
        {"layers:", "\"layers:\": "},
        {"layers:0", "\"layers:0\": "},
        {"layers:4097", "\"layers:4097\": "},
        {"heads:x", "\"heads:x\": "},
        {"heads:-1", "\"heads:-1\": "},
        {"4", "has no unit"},
        {"4mib", "did you mean 4MiB"},
        {"0B", "expected a size of 1B to 1024TiB"},
        {"1025TiB", "expected a size of 1B to 1024TiB"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err;
        if (chunk_parse(bad[i][0], &rule, &err) || strstr(err.text, bad[i][1]) == NULL)
            fail_because("\"%s\": \"%s\" lacks \"%s\"", bad[i][0], err.text, bad[i][1]);
        assert_int_equal(err.code, STATUS_USAGE);
    }
}

/* Two layers of 100 bytes and one expert in two places, in a file with holes. */
static void build(struct model *model)
{
    struct error err = {0};
    model_start(model, "by hand", "f16");
    bool good =
        model_add_block(model, "embed", BLOCK_EMBEDDING, -1, -1, &err) && model_add_extent(model, 1000, 60, &err);
    model->blocks[0].compute_bytes = 7;
    good = good && model_add_block(model, "layer0", BLOCK_LAYER, 0, -1, &err) && model_add_extent(model, 0, 40, &err) &&
           model_add_extent(model, 40, 20, &err) && model_add_extent(model, 100, 40, &err) &&
           model_add_matter(model, TYPE_F16, 45, &err);
    good = good && model_add_block(model, "expert0.0", BLOCK_EXPERT, 0, 0, &err) &&
           model_add_extent(model, 200, 10, &err) && model_add_extent(model, 300, 20, &err);
    good =
        good && model_add_block(model, "layer1", BLOCK_LAYER, 1, -1, &err) && model_add_extent(model, 400, 100, &err);
    good = good && model_add_block(model, "head", BLOCK_OUTPUT, -1, -1, &err) && model_add_extent(model, 2000, 1, &err);
    model->shape = (struct shape){.layers = 2, .heads = 4, .kv_heads = 2, .head_size = 1};
    model->file_bytes = 3000;
    good = good && model_finish(model, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

/* "layer0#0:L0 40@0 20@100": kind's first letter, layer, extents. */
static void describe(const struct model *model, block_id b, char *out, size_t size)
{
    static const char letters[BLOCK_KINDS] = {'E', 'N', 'L', 'X', 'O', '?'};
    const struct block *block = &model->blocks[b];
    size_t used =
        (size_t)snprintf(out, size, "%s:%c%d", model_block_name(model, b), letters[block->kind], block->layer);
    for (uint32_t e = block->first_extent; e < block->first_extent + block->extent_count; e++)
        used += (size_t)snprintf(out + used, size - used, " %llu@%llu", (unsigned long long)model->extents[e].bytes,
                                 (unsigned long long)model->extents[e].offset_bytes);
    assert_int_equal(model->policy_blocks[b].bytes, block->bytes);
    assert_int_equal(model->policy_blocks[b].layer, block->layer);
    assert_int_equal(model->policy_blocks[b].kind, block->kind);
}

static void check_chunks(const char *rule_text, const char *const *expected, size_t count, const char *map_text)
{
    struct model model, chunked;
    struct chunk_map map;
    struct error err;
    const struct chunk_rule rule = rule_of(rule_text);
    char text[256];
    build(&model);
    if (!chunk_model(&model, &rule, &chunked, &map, &err))
        fail_because("%s: %s", rule_text, err.text);
    for (block_id b = 0; b < chunked.block_count && b < count; b++) {
        describe(&chunked, b, text, sizeof text);
        assert_string_equal(text, expected[b]);
    }
    assert_int_equal(chunked.block_count, count);
    size_t used = 0;
    for (block_id b = 0; b < model.block_count; b++)
        for (uint32_t i = map.first[b]; i < map.first[b + 1]; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u",
                                     i > map.first[b] ? ","
                                     : b > 0          ? " "
                                                      : "",
                                     map.chunks[i]);
    assert_string_equal(text, map_text);
    assert_int_equal(chunked.weights_bytes, model.weights_bytes);
    assert_int_equal(chunked.file_bytes, 3000);
    assert_int_equal(chunked.kv_bytes_per_token, model.kv_bytes_per_token);
    assert_memory_equal(chunked.part_bytes, model.part_bytes, sizeof model.part_bytes);
    assert_memory_equal(&chunked.shape, &model.shape, sizeof model.shape);
    assert_string_equal(chunked.name, "by hand");
    assert_string_equal(chunked.quant, "f16");
    uint64_t elements = 0, embedding = 0;
    for (uint32_t i = 0; i < chunked.matter_count; i++)
        elements += chunked.matters[i].elements;
    for (block_id b = 0; b < count; b++)
        embedding += chunked.blocks[b].kind == BLOCK_EMBEDDING ? chunked.blocks[b].compute_bytes : 0;
    assert_int_equal(elements, 45);
    assert_int_equal(embedding, 7);
    model_free(&model);
    model_free(&chunked);
    chunk_map_free(&map);
}

static void test_sizes(void **state)
{
    (void)state;
    static const char *const by_48[] = {"embed#0:E-1 48@1000",      "embed#1:E-1 12@1048", "layer0#0:L0 48@0",
                                        "layer0#1:L0 12@48 36@100", "layer0#2:L0 4@136",   "expert0.0:X0 10@200 20@300",
                                        "layer1#0:L1 48@400",       "layer1#1:L1 48@448",  "layer1#2:L1 4@496",
                                        "head:O-1 1@2000"};
    static const char *const whole[] = {"embed:E-1 60@1000", "layer0:L0 60@0 40@100", "expert0.0:X0 10@200 20@300",
                                        "layer1:L1 100@400", "head:O-1 1@2000"};
    check_chunks("48B", by_48, sizeof by_48 / sizeof *by_48, "0,1 2,3,4 5 6,7,8 9");
    check_chunks("100B", whole, sizeof whole / sizeof *whole, "0 1 2 3 4");
    check_chunks("layers:2",
                 (const char *const[]){"embed:E-1 60@1000", "layers0-1:L0 60@0 40@100 100@400",
                                       "expert0.0:X0 10@200 20@300", "head:O-1 1@2000"},
                 4, "0 1 2 1 3");
    check_chunks("layers:3",
                 (const char *const[]){"embed:E-1 60@1000", "layers0-1:L0 60@0 40@100 100@400",
                                       "expert0.0:X0 10@200 20@300", "head:O-1 1@2000"},
                 4, "0 1 2 1 3");
}

/* Four heads in two groups: of each tensor (40, 20 and 40 bytes of layer 0) half. */
static void test_heads(void **state)
{
    (void)state;
    static const char *const by_2[] = {"embed:E-1 60@1000",
                                       "layer0#0:L0 20@0 10@40 20@100",
                                       "layer0#1:L0 20@20 10@50 20@120",
                                       "expert0.0:X0 10@200 20@300",
                                       "layer1#0:L1 50@400",
                                       "layer1#1:L1 50@450",
                                       "head:O-1 1@2000"};
    static const char *const whole[] = {"embed:E-1 60@1000", "layer0:L0 60@0 40@100", "expert0.0:X0 10@200 20@300",
                                        "layer1:L1 100@400", "head:O-1 1@2000"};
    check_chunks("heads:2", by_2, sizeof by_2 / sizeof *by_2, "0 1,2 3 4,5 6");
    check_chunks("heads:4", whole, sizeof whole / sizeof *whole, "0 1 2 3 4");
}

static void check_refused(struct model *model, const char *text, const char *message)
{
    struct model chunked;
    struct chunk_map map;
    struct error err;
    const struct chunk_rule rule = rule_of(text);
    if (chunk_model(model, &rule, &chunked, &map, &err) || strstr(err.text, message) == NULL)
        fail_because("%s: \"%s\" lacks \"%s\"", text, err.text, message);
}

static void test_refused(void **state)
{
    (void)state;
    struct model model;
    build(&model);
    check_refused(&model, "heads:1",
                  "1 heads a chunk: expected a number that divides the 4 heads of \"by hand\" and is a "
                  "multiple of 2");
    check_refused(&model, "heads:3", "3 heads a chunk");
    check_refused(&model, "heads:8", "8 heads a chunk");
    model.shape.heads = 0;
    check_refused(&model, "heads:2", "does not say its attention heads");
    model_free(&model);
    make_list(&model, "a:1GiB");
    check_refused(&model, "512B", "more than 1048576 chunks");
    model_free(&model);
    make_list(&model, "a:2KiB a#1:1KiB");
    check_refused(&model, "1KiB", "two blocks have the name \"a#1\"");
    model_free(&model);
    make_list(&model, "layer3000000:2KiB");
    check_refused(&model, "layers:2", "has a layer above");
    model_free(&model);
}

static void translate(const struct model *model, const struct trace *trace, const char *rule_text, struct trace *out,
                      struct model *chunked)
{
    struct chunk_map map;
    struct error err;
    const struct chunk_rule rule = rule_of(rule_text);
    if (!chunk_model(model, &rule, chunked, &map, &err) || !chunk_trace(trace, chunked, &map, out, &err))
        fail_because("%s: %s", rule_text, err.text);
    chunk_map_free(&map);
}

/* A prompt of two tokens that choose one expert, and two more tokens. */
static void test_traces(void **state)
{
    (void)state;
    struct model model, chunked;
    struct trace trace, out;
    struct trace_builder builder;
    struct error err = {0};
    char text[256];
    build(&model);
    const struct segment prompt = {.repeat = 1, .phase = PHASE_PREFILL, .context_growth = 2, .idle_ns = 5};
    const struct segment rest = {
        .repeat = 2, .token = 1, .phase = PHASE_DECODE, .context_first = 2, .context_growth = 1};
    uint32_t work = 0;
    assert_true(trace_start(&builder, &trace, "by hand", &err));
    trace.counts_tokens = true;
    assert_true(trace_add_work(&builder, 77, 0, 0, NULL, 0, &work, &err) && trace_add_segment(&builder, &prompt, &err));
    assert_true(trace_add_step(&builder, work, &err) && trace_add_use(&builder, 1, 0, &err) &&
                trace_add_use(&builder, 2, USE_UNSEEN, &err) && trace_add_use(&builder, 2, USE_UNSEEN, &err) &&
                trace_add_use(&builder, 3, 0, &err) && trace_add_use(&builder, 1, 0, &err));
    assert_true(trace_add_segment(&builder, &rest, &err) && trace_add_step(&builder, work, &err) &&
                trace_add_use(&builder, 3, 0, &err));
    assert_true(trace_finish(&builder, &model, &err));
    assert_string_equal(steps_text(&trace, text, sizeof text), "1,2?,2=?,3,1= 3");

    translate(&model, &trace, "48B", &out, &chunked);
    assert_string_equal(steps_text(&out, text, sizeof text), "2,3,4,5?,5=?,6,7,8,2=,3=,4= 6,7,8");
    assert_int_equal(out.accessed_bytes, trace.accessed_bytes);
    assert_int_equal(out.access_count, 7 + 2 * 3);
    assert_int_equal(out.step_bytes_max, trace.step_bytes_max);
    assert_int_equal(out.cycle_bytes, trace.cycle_bytes);
    assert_int_equal(out.working_set_bytes, trace.working_set_bytes);
    assert_int_equal(out.step_uses_max, 11);
    assert_int_equal(out.token_count, 3);
    assert_int_equal(out.kv_bytes_per_token, trace.kv_bytes_per_token);
    assert_true(out.counts_tokens);
    assert_int_equal(out.segment_count, 2);
    assert_memory_equal(out.segments, trace.segments, 2 * sizeof *out.segments);
    assert_int_equal(out.work_count, 1);
    assert_int_equal(out.works[0].fixed_ns, 77);
    trace_free(&out);
    model_free(&chunked);

    translate(&model, &trace, "layers:2", &out, &chunked);
    assert_string_equal(steps_text(&out, text, sizeof text), "1,2?,2=?,1= 1"); /* layer 1 is in the chunk of layer 0 */
    assert_int_equal(out.accessed_bytes, 200 + 30 + 2 * 200);
    assert_int_equal(out.working_set_bytes, 230);
    trace_free(&out);
    model_free(&chunked);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),   cmocka_unit_test(test_sizes),  cmocka_unit_test(test_heads),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
