/* Building traces: compact storage, repeats, equal works, sums over repetitions, limits. */
#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

static const struct segment token = {.repeat = 1, .phase = PHASE_DECODE, .context_growth = 1};

struct built {
    struct model model;
    struct trace trace;
    struct trace_builder builder;
    struct error err;
};

static void start(struct built *b, const char *blocks)
{
    *b = (struct built){0};
    make_list(&b->model, blocks);
    assert_true(trace_start(&b->builder, &b->trace, "test", &b->err));
}

static void segment(struct built *b, struct segment s)
{
    assert_true(trace_add_segment(&b->builder, &s, &b->err));
}

/* A step of the blocks given as digits. */
static void step(struct built *b, const char *blocks)
{
    assert_true(trace_add_step(&b->builder, 0, &b->err));
    for (; *blocks != '\0'; blocks++)
        assert_true(trace_add_use(&b->builder, (block_id)(*blocks - '0'), 0, &b->err));
}

static void finish(struct built *b)
{
    const bool good = trace_finish(&b->builder, &b->model, &b->err);
    assert_string_equal(b->err.text, "");
    assert_true(good);
}

static void done(struct built *b)
{
    trace_free(&b->trace);
    model_free(&b->model);
}

static void test_plain_steps_take_four_bytes(void **state)
{
    (void)state;
    struct built b;
    start(&b, "a:1B b:2B c:4B");
    segment(&b, token);
    step(&b, "0");
    step(&b, "1");
    step(&b, "0");
    finish(&b);
    assert_null(b.trace.step_first);
    assert_null(b.trace.step_work);
    assert_int_equal(b.trace.work_count, 0);
    steps_are(&b.trace, "0 1 0");
    assert_int_equal(b.trace.access_count, 3);
    assert_int_equal(b.trace.accessed_bytes, 4);
    assert_int_equal(b.trace.step_bytes_max, 2);
    assert_int_equal(b.trace.cycle_bytes, 3);
    assert_int_equal(b.trace.working_set_bytes, 3);
    done(&b);
}

static void test_a_late_wide_step_keeps_the_early_ones(void **state)
{
    (void)state;
    struct built b;
    start(&b, "4 x 1B");
    segment(&b, token);
    step(&b, "0");
    step(&b, "1");
    step(&b, "232");
    step(&b, "3");
    finish(&b);
    assert_non_null(b.trace.step_first);
    steps_are(&b.trace, "0 1 2,3,2= 3");
    assert_int_equal(b.trace.use_count, 6);
    assert_int_equal(b.trace.access_count, 5);
    assert_int_equal(b.trace.step_bytes_max, 2);
    done(&b);
}

static void test_a_repeat_ends_with_its_step(void **state)
{
    (void)state;
    struct built b;
    start(&b, "4 x 1B");
    segment(&b, token);
    step(&b, "11");
    step(&b, "1");
    step(&b, "121");
    finish(&b);
    steps_are(&b.trace, "1,1= 1 1,2,1=");
    done(&b);
}

static void test_sums_count_repetitions(void **state)
{
    (void)state;
    struct built b;
    start(&b, "a:1B b:10B c:100B d:1000B");
    struct segment prefill = {.repeat = 1, .phase = PHASE_PREFILL, .context_growth = 5};
    struct segment decode = {.repeat = 7, .token = 1, .phase = PHASE_DECODE, .context_first = 5, .context_growth = 1};
    segment(&b, prefill);
    step(&b, "012");
    step(&b, "2");
    segment(&b, decode);
    step(&b, "0");
    step(&b, "11");
    step(&b, "01");
    finish(&b);
    assert_int_equal(b.trace.token_count, 8);
    assert_int_equal(b.trace.access_count, 4 + 7 * 4);
    assert_int_equal(b.trace.accessed_bytes, 211 + 7 * 22);
    assert_int_equal(b.trace.step_bytes_max, 111);
    assert_int_equal(b.trace.cycle_bytes, 11); /* of decode; the prompt's 111 do not come again */
    assert_int_equal(b.trace.working_set_bytes, 111);
    uint64_t heat[4];
    trace_heat(&b.trace, heat);
    assert_int_equal(heat[0], 1 + 7 * 2);
    assert_int_equal(heat[1], 1 + 7 * 2);
    assert_int_equal(heat[2], 2);
    assert_int_equal(heat[3], 0);
    done(&b);
}

static void test_equal_works_are_stored_once(void **state)
{
    (void)state;
    struct built b;
    start(&b, "2 x 1B");
    segment(&b, token);
    struct work_term terms[2] = {{TYPE_F16, 10, 1, 0}, {TYPE_Q4_K, 20, 0, 0}};
    uint32_t work, first;
    assert_true(trace_add_work(&b.builder, 5, 0, 0, NULL, 0, &first, &b.err));
    for (int i = 0; i < 500; i++) { /* through several sizes of the table */
        assert_true(trace_add_work(&b.builder, -1, (uint64_t)i, 0, terms, 2, &work, &b.err));
        assert_int_equal(work, i + 1);
    }
    for (int i = 0; i < 500; i++) {
        assert_true(trace_add_work(&b.builder, -1, (uint64_t)i, 0, terms, 2, &work, &b.err));
        assert_int_equal(work, i + 1);
    }
    terms[1].flops = 21;
    assert_true(trace_add_work(&b.builder, -1, 3, 0, terms, 2, &work, &b.err));
    assert_int_equal(work, 501);
    terms[0].bytes = 1;
    assert_true(trace_add_work(&b.builder, -1, 3, 0, terms, 2, &work, &b.err));
    assert_int_equal(work, 502);
    assert_true(trace_add_work(&b.builder, 5, 0, 0, NULL, 0, &work, &b.err));
    assert_int_equal(work, first);
    assert_int_equal(b.trace.work_count, 503);
    assert_int_equal(b.trace.term_count, 502 * 2);

    struct work capped = {.fixed_ns = -1, .bytes = 3, .term_count = 2};
    for (uint32_t i = 0; i < 2000; i++) { /* enough for some to share a slot */
        capped.context_max = i;
        assert_true(trace_add_capped_work(&b.builder, &capped, terms, &work, &b.err));
        assert_int_equal(work, 503 + i);
    }
    capped.context_max = UINT32_MAX;
    assert_true(trace_add_capped_work(&b.builder, &capped, terms, &work, &b.err));
    assert_int_equal(work, 502);

    step(&b, "0");
    step(&b, "1");
    assert_true(trace_add_step(&b.builder, 7, &b.err));
    assert_true(trace_add_use(&b.builder, 0, 0, &b.err));
    assert_true(trace_set_work(&b.builder, 1, 9, &b.err));
    finish(&b);
    assert_int_equal(b.trace.step_work[0], 0);
    assert_int_equal(b.trace.step_work[1], 9);
    assert_int_equal(b.trace.step_work[2], 7);
    done(&b);
}

/* Plain steps, whose sums are told, end as the same steps added one by one. */
static void test_plain_steps_at_once(void **state)
{
    (void)state;
    struct built one, all;
    static const uint32_t blocks[] = {2, 0, 1, 1, 0, 2, 2};
    enum { COUNT = sizeof blocks / sizeof *blocks };
    uint32_t *uses;
    start(&one, "a:1B b:10B c:100B");
    segment(&one, token);
    for (uint32_t i = 0; i < COUNT; i++)
        step(&one, (const char[]){(char)('0' + blocks[i]), '\0'});
    finish(&one);
    start(&all, "a:1B b:10B c:100B");
    segment(&all, token);
    for (uint32_t i = 0; i < COUNT; i += i + 1) { /* 1, 2, 4 of them */
        assert_true(trace_add_plain_steps(&all.builder, i + 1, &uses, &all.err));
        memcpy(uses, blocks + i, (i + 1) * sizeof *uses);
    }
    all.builder.summed = true;
    all.builder.plain_bytes = 2 * 1 + 2 * 10 + 3 * 100;
    finish(&all);
    steps_are(&all.trace, "2 0 1 1 0 2 2");
    assert_int_equal(all.trace.access_count, one.trace.access_count);
    assert_int_equal(all.trace.token_count, one.trace.token_count);
    assert_int_equal(all.trace.accessed_bytes, one.trace.accessed_bytes);
    assert_int_equal(all.trace.step_uses_max, one.trace.step_uses_max);
    assert_int_equal(all.trace.step_bytes_max, one.trace.step_bytes_max);
    assert_int_equal(all.trace.cycle_bytes, one.trace.cycle_bytes);
    assert_int_equal(all.trace.working_set_bytes, one.trace.working_set_bytes);
    assert_int_equal(all.trace.block_count, one.trace.block_count);
    done(&one);
    done(&all);
}

static void test_shares_sum_up(void **state)
{
    (void)state;
    static const int64_t totals[] = {0, 1, 6, 7, 8, 122800000, INT64_C(1) << 62};
    static const uint32_t counts[] = {1, 3, 7, 97};
    for (size_t t = 0; t < sizeof totals / sizeof totals[0]; t++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            int64_t sum = 0;
            for (uint32_t i = 0; i < counts[c]; i++) {
                const int64_t share = trace_share_ns(totals[t], i, counts[c]);
                assert_true(share == totals[t] / counts[c] || share == totals[t] / counts[c] + 1);
                sum += share;
            }
            assert_true(sum == totals[t]);
        }
    assert_int_equal(trace_share_ns(10, 0, 4), 2); /* floor(10/4), floor(20/4) - 2, ... */
    assert_int_equal(trace_share_ns(10, 1, 4), 3);
    assert_int_equal(trace_share_ns(10, 2, 4), 2);
    assert_int_equal(trace_share_ns(10, 3, 4), 3);
    assert_int_equal(trace_share_ns(INT64_C(1) << 62, UINT32_MAX - 1, UINT32_MAX), (INT64_C(1) << 62) / UINT32_MAX + 1);
}

static void refused(struct built *b, const char *text)
{
    assert_false(trace_finish(&b->builder, &b->model, &b->err));
    assert_int_equal(b->err.code, STATUS_INPUT);
    assert_string_equal(b->err.text, text);
    trace_abandon(&b->builder);
    model_free(&b->model);
}

static void test_refusals(void **state)
{
    (void)state;
    struct built b;
    start(&b, "2 x 1B");
    refused(&b, "the trace is empty: it names no block");

    start(&b, "2 x 1B");
    segment(&b, token);
    step(&b, "02");
    refused(&b, "block 2: the model has blocks 0 to 1");

    start(&b, "a:4611686018427387904B");
    struct segment often = token;
    often.repeat = 2;
    segment(&b, often);
    step(&b, "0");
    refused(&b, "the trace accesses more than 2^63 bytes");

    start(&b, "2 x 1B");
    segment(&b, token);
    assert_true(trace_add_step(&b.builder, 0, &b.err));
    assert_false(trace_add_use(&b.builder, NUMBERED_BLOCKS_MAX, 0, &b.err));
    assert_string_equal(b.err.text, "more than 268435456 blocks");
    struct segment deep = token;
    deep.context_first = UINT32_MAX;
    assert_false(trace_add_segment(&b.builder, &deep, &b.err));
    assert_string_equal(b.err.text, "a context of more than 4294967295 tokens");
    deep = token;
    deep.token = UINT32_MAX;
    assert_false(trace_add_segment(&b.builder, &deep, &b.err));
    assert_string_equal(b.err.text, "more than 4294967295 tokens");
    trace_abandon(&b.builder);
    model_free(&b.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_steps_take_four_bytes),
        cmocka_unit_test(test_a_late_wide_step_keeps_the_early_ones),
        cmocka_unit_test(test_a_repeat_ends_with_its_step),
        cmocka_unit_test(test_sums_count_repetitions),
        cmocka_unit_test(test_equal_works_are_stored_once),
        cmocka_unit_test(test_plain_steps_at_once),
        cmocka_unit_test(test_shares_sum_up),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
