/* The column tables and the computed fields of a record. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include "sim/record.h"
#include "tests/cmocka_fixed.h"

static void columns_are_in_the_order_of_the_design(void **state)
{
    (void)state;
    static const char run_order[] =
        "run_key experiment device model quant workload loader policy evict pin prefetch budget_bytes seed outcome "
        "killed_by killed_phase tokens accesses hits delayed_hits misses hit_rate bytes_accessed byte_hit_rate "
        "evictions bytes_read bytes_prefetched bytes_prefetch_wasted major_faults minor_faults peak_memory_bytes "
        "peak_weights_bytes peak_kv_bytes peak_activation_bytes virtual_time_ns load_ns compute_ns stall_ns idle_ns "
        "ttft_ns tpot_mean_ns tpot_p50_ns tpot_p95_ns tpot_p99_ns tokens_per_s flash_busy_ns uncacheable "
        "bytes_prefetch_useful bytes_prefetch_late admit note refaults bytes_readahead_wasted peak_resident_bytes "
        "peak_footprint_bytes peak_file_bytes peak_page_tables_bytes peak_zram_bytes bytes_swapped_out "
        "bytes_swapped_in "
        "apps_killed kills alloc_failures alloc_calls alloc_hole_failures alloc_ns alloc_compactions alloc_moved_bytes "
        "peak_internal_fragmentation_bytes peak_external_fragmentation_bytes least_hole_bytes load_10_ns load_50_ns "
        "load_90_ns load_100_ns first_layer_ns parse_ns stage_alloc_ns stage_init_ns bytes_warm turns restarts "
        "bytes_reclaimed drafted_tokens accepted_tokens turn_ttft_mean_ns turn_ttft_max_ns hot_at_ns hot_ns "
        "tokens_per_s_cold tokens_per_s_hot perplexity estimates ";
    static const char replay_order[] =
        "trace policy capacity capacity_bytes accesses hits misses hit_rate bytes_read byte_hit_rate evictions ";
    char text[4096] = "";
    for (size_t i = 0; i < run_column_count; i++)
        strcat(strcat(text, run_columns[i].name), " ");
    assert_string_equal(text, run_order);
    text[0] = '\0';
    for (size_t i = 0; i < replay_column_count; i++)
        strcat(strcat(text, replay_columns[i].name), " ");
    assert_string_equal(text, replay_order);
}

/* Distinct, aligned, inside the structure: a wrong offset in the table shows here. */
static void check_offsets(const struct column *columns, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(columns[i].offset % 8, 0);
        assert_true(columns[i].offset + 8 <= size);
        assert_true(strlen(columns[i].help) > 5);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(columns[i].offset, columns[j].offset);
    }
}

static void offsets_are_good(void **state)
{
    (void)state;
    check_offsets(run_columns, run_column_count, sizeof(struct run_record));
    check_offsets(replay_columns, replay_column_count, sizeof(struct replay_record));
    assert_string_equal(run_columns[33].name, "peak_activation_bytes");
    assert_int_equal(run_columns[33].offset, offsetof(struct run_record, numbers.peak_activation_bytes));
}

static void a_ratio_is_the_nearest_double(void **state)
{
    (void)state;
    assert_true(ratio(1, 3) == 1.0 / 3);
    assert_true(ratio(7, 11) == 7.0 / 11);
    assert_true(ratio(0, 5) == 0);
    assert_true(ratio(5, 5) == 1);
    assert_true(isnan(ratio(5, 0)));
    assert_true(ratio(UINT64_MAX, UINT64_MAX) == 1);
    assert_true(ratio(UINT64_MAX, 1) == 18446744073709551616.0);
    assert_true(ratio(1, UINT64_MAX) == 0x1p-64);
    /* 2^53 + 1 is no double: dividing rounded operands gives 1. */
    assert_true(ratio((UINT64_C(1) << 60) + (UINT64_C(1) << 8) - 1, (UINT64_C(1) << 60) + 1) == 1 + 0x1p-52);
    /* Halfway between two doubles, to even; and a trifle above, up. */
    assert_true(ratio((UINT64_C(1) << 53) + 1, 1) == 0x1p53);
    assert_true(ratio(((UINT64_C(1) << 53) + 1) * 8 + 1, 8) == 0x1p53 + 2);
    uint64_t a = 1, b = 3;
    for (int i = 0; i < 10000; i++) {
        a = a * 6364136223846793005u + 1442695040888963407u;
        b = b * 6364136223846793005u + 1442695040888963409u;
        const uint64_t x = a >> 12, y = (b >> 12) + 1; /* exact as doubles: the machine's division is right */
        assert_true(ratio(x, y) == (double)x / (double)y);
    }
}

static void finish_computes_rates_and_outcome(void **state)
{
    (void)state;
    struct run_record record = {.numbers = {.outcome = OUTCOME_KILLED,
                                            .accesses = 11,
                                            .hits = 7,
                                            .bytes_accessed = 100,
                                            .bytes_hit = 25,
                                            .tpot_count = 4,
                                            .tpot_total_ns = 1000000000}};
    record_finish(&record);
    assert_string_equal(record.outcome, "killed");
    assert_true(record.hit_rate == 7.0 / 11);
    assert_true(record.byte_hit_rate == 0.25);
    assert_true(record.tokens_per_s == 4);
    record.numbers = (struct run_numbers){.outcome = OUTCOME_FAILED};
    record_finish(&record);
    assert_string_equal(record.outcome, "failed");
    record.numbers = (struct run_numbers){.outcome = OUTCOME_COMPLETED};
    record_finish(&record);
    assert_string_equal(record.outcome, "completed");
    assert_true(isnan(record.hit_rate) && isnan(record.byte_hit_rate) && isnan(record.tokens_per_s));
    record.numbers.tpot_count = UINT64_C(1) << 62; /* count * 10^9 does not fit 64 bits */
    record.numbers.tpot_total_ns = INT64_C(1) << 62;
    record_finish(&record);
    assert_true(record.tokens_per_s == 1e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_in_the_order_of_the_design),
        cmocka_unit_test(offsets_are_good),
        cmocka_unit_test(a_ratio_is_the_nearest_double),
        cmocka_unit_test(finish_computes_rates_and_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
