/* Intervals, and what they say of runs over several seeds. */
#include "made_up.h"

#include <math.h>

#include "results/summary.h"

static struct error err;

static void near(double found, double expected)
{
    if (!(fabs(found - expected) < 5e-4 * (1 + fabs(expected))))
        flunk("%g, expected %g", found, expected);
}

static void intervals(void **state)
{
    (void)state;
    /* Mean 10, s = sqrt(10 / 4), t(4) = 2.776. */
    static const double values[] = {8, 9, 10, 11, 12};
    struct interval interval = interval_of(values, 5);
    near(interval.mean, 10);
    near(interval.high - 10, 2.776 * sqrt(2.5 / 5));
    near(10 - interval.low, 2.776 * sqrt(2.5 / 5));
    interval = interval_of(values, 1);
    assert_true(interval.mean == 8 && isnan(interval.low) && isnan(interval.high));
    assert_true(isnan(interval_of(values, 0).mean));
    near(student_95(1), 12.706);
    near(student_95(30), 2.042);
    near(student_95(39), 2.042);
    near(student_95(1000), 1.984);
    assert_true(isnan(student_95(0)));
}

enum { SEEDS = 4, RUNS = 4 * SEEDS };
static struct made_up runs[RUNS];
static struct run_record records[RUNS];

/* "steady" is the best; "slower" takes 3 % more of each seed's time; "noisy" the same on average; "dies" is killed by
 * one seed. Times differ more between seeds than between policies. */
static void make_runs(void)
{
    static const char *const policies[] = {"noisy", "slower", "dies", "steady"};
    static const int64_t seed_ns[SEEDS] = {100000000, 140000000, 90000000, 120000000};
    static const int64_t noise_ns[SEEDS] = {9000000, -8000000, 11000000, -9000000};
    for (unsigned i = 0; i < RUNS; i++) {
        const unsigned p = i % 4, seed = i / 4;
        make_up(&runs[i], i, policies[p], 1 << 30, 50);
        struct run_numbers *n = &runs[i].record.numbers;
        n->tpot_mean_ns = seed_ns[seed];
        if (p == 0)
            n->tpot_mean_ns += noise_ns[seed];
        if (p == 1)
            n->tpot_mean_ns += seed_ns[seed] * 3 / 100 + (int64_t)seed * 100000;
        if (p == 2 && seed == 1)
            n->outcome = OUTCOME_KILLED;
        runs[i].record.seed = seed;
        runs[i].record.tokens_per_s = 1e9 / (double)n->tpot_mean_ns;
        records[i] = runs[i].record;
    }
}

static void differences_are_paired_by_seed(void **state)
{
    (void)state;
    struct summary *rows;
    size_t count;
    make_runs();
    good(summary_make(records, RUNS, &rows, &count, &err), &err);
    assert_int_equal(count, 4);
    static const char *const order[] = {"steady", "noisy", "slower", "dies"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(rows[i].policy, order[i]);
        assert_int_equal(rows[i].seeds, SEEDS);
    }
    char text[VERDICT_TEXT];
    assert_string_equal(summary_verdict_text(&rows[0], text), "best");
    assert_string_equal(summary_verdict_text(&rows[1], text), "no difference shown");
    near(rows[2].slower.mean, 0.03 + (0 + 0.1 / 140 + 0.2 / 90 + 0.3 / 120) / 4);
    assert_true(rows[2].verdict == SUMMARY_SLOWER && rows[2].slower.low > 0.02 && rows[2].slower.high < 0.04);
    assert_ptr_equal(strstr(summary_verdict_text(&rows[2], text), "slower by 3.1 % (95 %: "), text);
    assert_string_equal(summary_verdict_text(&rows[3], text), "killed in 1 of 4");
    assert_int_equal(rows[3].completed, 3);
    near(rows[0].tpot_ns.mean, 112500000);
    free(rows);
    const struct summary small = {.verdict = SUMMARY_SLOWER, .slower = {0.00002, 0.00001, 0.00003}};
    assert_string_equal(summary_verdict_text(&small, text), "slower by 0.002 % (95 %: 0.001 .. 0.003)");
    /* A policy that breaks was not killed by the phone. */
    for (size_t i = 0; i < RUNS; i++)
        if (records[i].numbers.outcome == OUTCOME_KILLED)
            records[i].numbers.outcome = OUTCOME_FAILED;
    good(summary_make(records, RUNS, &rows, &count, &err), &err);
    assert_string_equal(rows[3].verdict, "failed");
    assert_string_equal(summary_verdict_text(&rows[3], text), "failed in 1 of 4");
    free(rows);
    make_runs();
    /* One seed shows nothing. */
    good(summary_make(records, 4, &rows, &count, &err), &err);
    assert_string_equal(rows[0].verdict, SUMMARY_BEST);
    assert_string_equal(rows[3].verdict, SUMMARY_ONE_SEED);
    assert_true(isnan(rows[0].tpot_ns.low));
    free(rows);
}

static char *print_ranking(size_t count, const struct ranking_bounds *bounds)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    good(output_ranking_bounds(file, records, bounds, count, false, &err), &err);
    fclose(file);
    return data;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        flunk("\"%s\" not in:\n%s", part, text);
}

static void tables_of_seeds(void **state)
{
    (void)state;
    struct ranking_bounds bounds[RUNS];
    make_runs();
    for (size_t i = 0; i < RUNS; i++)
        bounds[i] = (struct ranking_bounds){.known = true,
                                            .context = {.accesses = 1000,
                                                        .distinct = 10,
                                                        .cycle_bytes = (uint64_t)4 << 30,
                                                        .working_set_bytes = (uint64_t)4 << 30,
                                                        .marks_tokens = true,
                                                        .block_bytes = 1 << 20},
                                            .belady = 0.5 + 0.1 * (double)(i / 4),
                                            .infinite = 0.9};
    char *text = print_ranking(RUNS, bounds);
    has(text, "no difference shown");
    has(text, "slower by 3.1 % (95 %: ");
    has(text, "killed in 1 of 4");
    has(text, "belady (bound)");
    has(text, "65.0 %"); /* the mean over seeds */
    has(text, "infinite (bound)");
    has(text, "budget 1.00 GiB is 0.25 of the cycle (4.00 GiB, 4096 blocks)");
    has(text, "all 4 policies hit the same at budget 1.00 GiB: none is better here");
    free(text);
    text = print_ranking(4, bounds);
    has(text, "one seed: differences are of this trace");
    has(text, "50.0 %");
    assert_null(strstr(text, "no difference shown"));
    free(text);
    text = print_ranking(4, NULL);
    assert_null(strstr(text, "belady"));
    free(text);
}

static void records_of_seeds(void **state)
{
    (void)state;
    char *data;
    size_t size;
    make_runs();
    FILE *file = open_memstream(&data, &size);
    good(output_summary(file, FORMAT_CSV, records, RUNS, &err), &err);
    fclose(file);
    has(data, "policy,budget_bytes,seeds,completed,tokens_per_s,tokens_per_s_low,tokens_per_s_high,tpot_mean_ns,");
    has(data, ",steady,1073741824,4,4,");
    has(data, ",no difference shown\n");
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),
        cmocka_unit_test(differences_are_paired_by_seed),
        cmocka_unit_test(tables_of_seeds),
        cmocka_unit_test(records_of_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
