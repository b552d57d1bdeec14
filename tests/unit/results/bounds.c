/* The words beside hit rates. */
#include <math.h>

#include "made_up.h"

#include "results/bounds.h"
#include "results/mrc.h"
#include "workloads/workload.h"

static struct error err;
static char text[BOUNDS_TEXT];

static struct trace_context look_at(const char *blocks, const char *sequence, uint64_t block_bytes, bool has_bytes)
{
    struct model model, none;
    struct trace trace;
    struct trace_context context;
    bool own;
    struct workload_spec spec = {
        .kind = WORKLOAD_TRACE, .sequence = sequence, .compute_per_token_ns = -1, .prompt_compute_ns = -1};
    good(model_from_blocks("list", blocks, &model, &err), &err);
    good(workload_compile(&spec, &model, &trace, &none, &own, &err), &err);
    trace.counts_tokens = false;
    good(trace_context_make(&trace, model.block_count, block_bytes, has_bytes, &context, &err), &err);
    trace_free(&trace);
    model_free(&model);
    return context;
}

static void loops_are_seen(void **state)
{
    (void)state;
    static const struct {
        const char *sequence;
        bool loop;
    } cases[] = {
        {"b0 b1 b2 b3 b0 b1 b2 b3", true},  {"b0 b1 b2 b3 b0 b1", true},
        {"b2 b1 b3 b0 b2", true},           {"b0 b1 b2 b3", false},
        {"b0 b1 b2 b3 b0 b2", false},       {"b0 b1 b0 b1 b2 b3", false},
        {"b0 b0 b1 b2 b3", false},          {"b0 b1 b1 b2 b3 b0 b1 b1", false},
        {"b0 b1 b2 b3 b0 b1 b2 b0", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (look_at("4 x 1B", cases[i].sequence, 1, false).is_loop != cases[i].loop)
            flunk("%s", cases[i].sequence);
}

static void capacities_in_words(void **state)
{
    (void)state;
    struct trace_context context = look_at("4 x 1B", "b0 b1 b2 b3 b0 b1 b2 b3", 1, false);
    assert_string_equal(bounds_trace_text(&context, text),
                        "8 accesses to 4 blocks; working set 4 blocks; cycle 4 blocks (a pure loop)");
    assert_string_equal(bounds_capacity_text(&context, "capacity 3obj", 3, text),
                        "capacity 3obj is 0.75 of the cycle (4 blocks): LRU and FIFO hit nothing on a pure loop");
    assert_string_equal(bounds_capacity_text(&context, "capacity 4obj", 4, text), "capacity 4obj is 1.00 of the cycle");
    context = look_at("4 x 1MiB", "b0 b1 b0 b2 b3", 1 << 20, true);
    assert_string_equal(bounds_trace_text(&context, text),
                        "5 accesses to 4 blocks; working set 4.00 MiB, 4 blocks; cycle 4.00 MiB, 4 blocks (the trace "
                        "marks no tokens: all of it)");
    assert_string_equal(bounds_capacity_text(&context, "capacity 1MiB", 1 << 20, text),
                        "capacity 1MiB is 0.25 of the working set");
    context.marks_tokens = true;
    assert_string_equal(bounds_capacity_text(&context, "budget 1 MiB", 1 << 20, text),
                        "budget 1 MiB is 0.25 of the cycle (4.00 MiB, 4 blocks): what one token touches does not fit");
}

static void noise_in_words(void **state)
{
    (void)state;
    static const double close[] = {0.502, 0.5, 0.503}, far[] = {0.5, 0.506};
    assert_string_equal(bounds_noise_text(close, 3, "500obj", text),
                        "all 3 policies are within 0.3 points at 500obj: none is better here");
    assert_string_equal(bounds_noise_text(close, 2, "x", text),
                        "both policies are within 0.2 points at x: none is better here");
    assert_string_equal(bounds_noise_text(close, 1, "x", text), "");
    assert_string_equal(bounds_noise_text(far, 2, "x", text), "");
    static const double same[] = {0.5, 0.5};
    assert_string_equal(bounds_noise_text(same, 2, "x", text), "both policies hit the same at x: none is better here");
    /* A policy that failed has no hit rate to compare. */
    static const double failed[] = {0.5, NAN, 0.502};
    assert_string_equal(bounds_noise_text(failed, 2, "x", text), "");
    assert_string_equal(bounds_noise_text(failed, 3, "x", text),
                        "both policies are within 0.2 points at x: none is better here");
}

enum { POINTS = 50 };

static void tables_of_curves_are_short(void **state)
{
    (void)state;
    struct curve_capacity capacities[POINTS];
    struct curve_value values[2 * POINTS];
    static const char *const labels[] = {"lru", "a,b"};
    for (size_t i = 0; i < POINTS; i++) {
        capacities[i] = (struct curve_capacity){(i + 1) << 20, false, (double)(i + 1) / POINTS};
        values[i] = (struct curve_value){true, 100 - i, 200 - i, i == 0 ? "small" : ""};
        values[POINTS + i] = (struct curve_value){i < POINTS - 2, 90, 100, i == POINTS - 1 ? "crashed" : NULL};
    }
    const struct curves curves = {.trace = "t",
                                  .has_bytes = true,
                                  .accesses = 100,
                                  .bytes_accessed = 400,
                                  .capacities = capacities,
                                  .count = POINTS,
                                  .labels = labels,
                                  .label_count = 2,
                                  .values = values};
    char *data;
    size_t size, rows;
    FILE *file = open_memstream(&data, &size);
    good(mrc_print_table(file, FORMAT_TABLE, &curves, &rows, &err), &err);
    fclose(file);
    assert_int_equal(rows, 17);
    if (!strstr(data, "50.0 MiB  100.0 %  0.5100       -\n"))
        flunk("%s", data);
    free(data);
    file = open_memstream(&data, &size);
    good(mrc_print_records(file, FORMAT_CSV, &curves, &err), &err);
    fclose(file);
    size_t lines = 0;
    for (const char *c = data; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1 + 2 * POINTS - 1);
    if (!strstr(data, "t,lru,1048576,0.02,100,100,1.0,0.5,small\n") ||
        !strstr(data, "t,\"a,b\",1048576,0.02,100,90,0.9,0.25,\n") ||
        !strstr(data, "t,\"a,b\",52428800,1.0,100,,,,crashed\n"))
        flunk("%s", data);
    free(data);
}

static void names_of_figures(void **state)
{
    (void)state;
    static const char *const fine[] = {"a.svg", "x/y-1_b.2.png", "/a.png"};
    static const char *const bad[] = {"a", "a.pdf", ".svg", "-e.svg", "a'b.svg", "a b.svg", "x/.svg", "a\n.svg", ""};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        good(mrc_plot_check(fine[i], &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mrc_plot_check(bad[i], &err) || err.code != STATUS_USAGE)
            flunk("%s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_seen),   cmocka_unit_test(capacities_in_words),
        cmocka_unit_test(noise_in_words),   cmocka_unit_test(tables_of_curves_are_short),
        cmocka_unit_test(names_of_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
