/* What libCacheSim misses: its counts on four small traces, by objects and by bytes, and on two long ones, by the
 * replay and, on the small ones, by the naive twins. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/traces.h"
#include "results/validate_policies.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_cache_case.h"
#include "tests/truth/truth_data.h"

#define FOLDER TRUTH_FOLDER "cachesim/"
enum {
    TRACE,
    POLICY,
    PARAMS,
    CAPACITY,
    REQUESTS,
    MISSES,
    OBJECT_COLUMNS,
    BYTES = OBJECT_COLUMNS,
    MISSED,
    BYTE_COLUMNS
};

struct tally {
    unsigned checked, wrong, left_out;
};

/* Our name, or NULL for a policy that is left out: the S3-FIFO of 2025 differs from the published one. */
static const char *name_of(const char *policy, const char *params)
{
    const char *ours = policy_of_libcachesim(policy, params);
    if (ours == NULL && strcmp(policy, "s3fifo2025") != 0)
        fail_because("no policy is known for %s(%s)", policy, params);
    return ours;
}

/* A small trace is a file, a long one is made. */
static void open_trace(const char *name, bool by_objects, struct cache_case *c)
{
    char path[256];
    struct bench_trace made;
    if (!bench_trace_make(name, 0, &made)) {
        snprintf(path, sizeof path, FOLDER "%s.txt", name);
        cache_case_read(path, by_objects, c);
        return;
    }
    struct policy_block *blocks = calloc(made.id_count, sizeof *blocks);
    assert_non_null(blocks);
    for (uint32_t b = 0; b < made.id_count; b++)
        blocks[b] = (struct policy_block){.bytes = by_objects ? 1 : made.sizes[b], .layer = -1, .kind = BLOCK_OTHER};
    cache_case_make(made.ids, made.count, blocks, made.id_count, false, c);
    free(blocks);
    bench_trace_free(&made);
}

static void check_counts(const struct truth_table *table, size_t row, const char *how,
                         const struct naive_counts *counts, struct tally *tally)
{
    bool by_objects = table->columns == OBJECT_COLUMNS;
    uint64_t misses = (uint64_t)truth_number(table, row, MISSES);
    uint64_t missed = by_objects ? counts->missed_bytes : (uint64_t)truth_number(table, row, MISSED);
    if (counts->misses == misses && counts->missed_bytes == missed)
        return;
    char *const *cells = &table->cells[row * table->columns];
    tally->wrong++;
    print_message("# %s %s(%s) at %s by %s: %llu misses of %llu bytes, expected %s of %s\n", cells[TRACE],
                  cells[POLICY], cells[PARAMS], cells[CAPACITY], how, (unsigned long long)counts->misses,
                  (unsigned long long)counts->missed_bytes, cells[MISSES], by_objects ? "any" : cells[MISSED]);
}

static void check_row(const struct truth_table *table, size_t row, const struct cache_case *c, bool twins,
                      struct tally *tally)
{
    char *const *cells = &table->cells[row * table->columns];
    const char *name = name_of(cells[POLICY], cells[PARAMS]);
    if (name == NULL) {
        tally->left_out++;
        return;
    }
    struct naive_counts counts;
    uint64_t capacity = (uint64_t)truth_number(table, row, CAPACITY);
    assert_int_equal(c->trace.access_count, (uint64_t)truth_number(table, row, REQUESTS));
    if (table->columns == BYTE_COLUMNS)
        assert_int_equal(c->trace.accessed_bytes, (uint64_t)truth_number(table, row, BYTES));
    cache_case_replay(c, name, capacity, false, &counts);
    check_counts(table, row, "replay", &counts, tally);
    if (twins) {
        cache_case_twin(c, name, capacity, false, &counts);
        check_counts(table, row, "its twin", &counts, tally);
    }
    tally->checked++;
}

static void check_file(const char *path, size_t columns, size_t rows, unsigned left_out, bool twins)
{
    struct truth_table table;
    struct tally tally = {0};
    struct cache_case c;
    const char *open = "";
    truth_read(path, columns, &table);
    assert_int_equal(table.rows, rows);
    for (size_t row = 0; row < table.rows; row++) {
        const char *trace = table.cells[row * columns + TRACE];
        if (strcmp(trace, open) != 0) {
            if (open[0] != '\0')
                cache_case_free(&c);
            open_trace(trace, columns == OBJECT_COLUMNS, &c);
            open = trace;
        }
        check_row(&table, row, &c, twins, &tally);
    }
    cache_case_free(&c);
    print_message("# %s: %u rows checked; s3fifo2025: %u rows left out, another algorithm under the same name\n", path,
                  tally.checked, tally.left_out);
    assert_int_equal(tally.checked + tally.left_out, rows);
    assert_int_equal(tally.left_out, left_out);
    assert_int_equal(tally.wrong, 0);
    truth_free(&table);
}

static void small_traces_by_objects(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    check_file(FOLDER "truth.csv", OBJECT_COLUMNS, 224, 16, true);
}

static void small_trace_by_bytes(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    check_file(FOLDER "truth_bytes.csv", BYTE_COLUMNS, 48, 4, true);
}

static void long_traces(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    check_file(FOLDER "truth_large.csv", OBJECT_COLUMNS, 144, 0, false);
}

/* A digest (FNV-1a over words) of the first accesses of each long trace, ids and sizes, as a generator that is not ours
 * makes them. */
static void long_traces_are_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t digest;
    } traces[] = {
        {"cyclic", UINT64_C(0xf068924e2b5ea1e5)},    {"dense-embed", UINT64_C(0x022380d960a91b64)},
        {"moe", UINT64_C(0xf48b0d1b60e31d58)},       {"zipf1.0", UINT64_C(0x76291d824fb39488)},
        {"page-scan", UINT64_C(0x6f3853818b269265)},
    };
    for (size_t t = 0; t < sizeof traces / sizeof traces[0]; t++) {
        struct bench_trace made;
        uint64_t digest = UINT64_C(0xcbf29ce484222325);
        assert_true(bench_trace_make(traces[t].name, 200000, &made));
        assert_int_equal(made.count, 200000);
        for (uint64_t i = 0; i < made.count; i++) {
            digest = (digest ^ made.ids[i]) * UINT64_C(0x100000001b3);
            digest = (digest ^ made.sizes[made.ids[i]]) * UINT64_C(0x100000001b3);
        }
        if (digest != traces[t].digest)
            fail_because("%s: the trace is another one", traces[t].name);
        bench_trace_free(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_traces_are_the_same),
        cmocka_unit_test(small_traces_by_objects),
        cmocka_unit_test(small_trace_by_bytes),
        cmocka_unit_test(long_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
