/* Made-up runs for the tests of this folder: plausible numbers, no simulation behind them. */
#ifndef POCKETLOAD_TESTS_UNIT_RESULTS_MADE_UP_H
#define POCKETLOAD_TESTS_UNIT_RESULTS_MADE_UP_H

#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/store.h"
#include "tests/cmocka_fixed.h"

enum { MADE_TOKENS = 64, MADE_SAMPLES = 512, MADE_BLOCKS = 35 };

struct made_up {
    char key[33];
    struct run_record record;
    struct run_result result;
    struct token_numbers tokens[MADE_TOKENS];
    struct sample_numbers samples[MADE_SAMPLES];
    struct block_numbers blocks[MADE_BLOCKS];
    struct app_kill kills[2];
    struct turn_numbers turns[2];
};

static const struct app_spec made_up_apps[] = {{.name = "mail", .adj = 900}, {.name = "camera", .adj = 0}};

/* Ends the test with a message (cmocka's own needs its macro `fail`, a name that base/error.h has). */
#define flunk(...)                                                                                                     \
    do {                                                                                                               \
        print_error(__VA_ARGS__);                                                                                      \
        print_error("\n");                                                                                             \
        _fail(__FILE__, __LINE__);                                                                                     \
    } while (0)

/* The call succeeds. */
#define good(call, err)                                                                                                \
    do {                                                                                                               \
        if (!(call))                                                                                                   \
            flunk("%s: %s", #call, (err)->text);                                                                       \
    } while (0)

#define MADE_MIB ((uint64_t)1 << 20)

/* Numbers that no other follows from, all different. */
static inline void make_up_memory(struct made_up *run)
{
    struct run_numbers *n = &run->result.numbers;
    run->kills[0] = (struct app_kill){.time_ns = 1200000000, .app = 0, .bytes = 200 * MADE_MIB, .rule = "lmkd"};
    run->kills[1] = (struct app_kill){.time_ns = 2500000000, .app = 1, .bytes = 900 * MADE_MIB, .rule = "oom"};
    run->result.kills = run->kills;
    run->result.kill_count = 2;
    n->process_count = 2;
    n->processes[0] = (struct page_process_counts){21, 22, 23 * MADE_MIB};
    n->processes[1] = (struct page_process_counts){24, 25, 26 * MADE_MIB};
    n->apps_killed = 2;
    strcpy(n->kills, "mail(900) at 1.200 s by lmkd; camera(0) at 2.500 s by oom");
    n->peak_resident_bytes = 1 * MADE_MIB;
    n->peak_footprint_bytes = 2 * MADE_MIB;
    n->peak_file_bytes = 3 * MADE_MIB;
    n->peak_page_tables_bytes = 4 * MADE_MIB;
    n->peak_zram_bytes = 5 * MADE_MIB;
    n->bytes_swapped_out = 6 * MADE_MIB;
    n->bytes_swapped_in = 7 * MADE_MIB;
    n->alloc_failures = 8;
    n->alloc_calls = 18;
    n->alloc_hole_failures = 19;
    n->alloc_ns = 20;
    n->alloc_compactions = 9;
    n->alloc_moved_bytes = 10;
    n->peak_internal_fragmentation_bytes = 11;
    n->peak_external_fragmentation_bytes = 12;
    n->least_hole_bytes = 13;
    run->turns[0] = (struct turn_numbers){1, false, 31, 32, 33, 34, 35, 36, 37, 38};
    run->turns[1] = (struct turn_numbers){2, true, 41, 42, -1, 44, 45, 46, 47, 48};
    run->result.turns = run->turns;
    run->result.turn_count = 2;
    n->load_10_ns = 51;
    n->load_50_ns = 52;
    n->load_90_ns = 53;
    n->load_100_ns = n->hot_at_ns = -1;
    n->first_layer_ns = 54;
    n->parse_ns = 55;
    n->stage_alloc_ns = 56;
    n->stage_init_ns = 57;
    n->bytes_warm = 58;
    n->turns = 2;
    n->restarts = 1;
    n->bytes_reclaimed = 59;
    n->drafted_tokens = 60;
    n->accepted_tokens = 61;
    n->turn_ttft_mean_ns = 62;
    n->turn_ttft_max_ns = 63;
    n->hot_ns = 64;
    n->tpot_cold_count = 2;
    n->tpot_cold_total_ns = 1000000000;
}

/* The more of the budget a policy uses well, the more it hits; the rest of the numbers follow from its misses. */
static inline void make_up(struct made_up *run, unsigned number, const char *policy, uint64_t budget_bytes,
                           unsigned hit_percent)
{
    memset(run, 0, sizeof *run);
    snprintf(run->key, sizeof run->key, "%08x%024u", number * 2654435761u, number);
    const uint64_t block = 52 * MADE_MIB, misses_per_token = MADE_BLOCKS - MADE_BLOCKS * hit_percent / 100;
    struct run_numbers *n = &run->result.numbers;
    int64_t now = 20000000;
    n->load_ns = now;
    for (uint32_t i = 0; i < MADE_TOKENS; i++) {
        const int64_t compute = i == 0 ? 1500000000 : 48000000;
        const uint64_t misses = i == 0 ? MADE_BLOCKS : misses_per_token;
        const int64_t stall = (int64_t)misses * 18000000 + (int64_t)((i * 37 + number * 11) % 17) * 1000000;
        run->tokens[i] = (struct token_numbers){.token = i,
                                                .phase = i == 0 ? PHASE_PREFILL : PHASE_DECODE,
                                                .latency_ns = compute + stall,
                                                .stall_ns = stall,
                                                .accesses = MADE_BLOCKS,
                                                .hits = MADE_BLOCKS - misses,
                                                .bytes_accessed = MADE_BLOCKS * block,
                                                .bytes_read = misses * block,
                                                .major_faults = misses,
                                                .minor_faults = 2 * misses,
                                                .refaults = 3 * misses,
                                                .bytes_readahead_wasted = 4096 * misses};
        n->tokens++;
        n->accesses += MADE_BLOCKS;
        n->hits += MADE_BLOCKS - misses;
        n->misses += misses;
        n->bytes_accessed += MADE_BLOCKS * block;
        n->bytes_hit += (MADE_BLOCKS - misses) * block;
        n->bytes_read += misses * block;
        n->major_faults += misses;
        n->minor_faults += 2 * misses;
        n->refaults += 3 * misses;
        n->bytes_readahead_wasted += 4096 * misses;
        n->compute_ns += compute;
        n->stall_ns += stall;
        now += compute + stall;
        if (i == 0)
            n->ttft_ns = now;
    }
    n->virtual_time_ns = now;
    n->flash_busy_ns = n->stall_ns;
    n->tpot_count = MADE_TOKENS - 1;
    n->tpot_total_ns = now - n->ttft_ns;
    n->tpot_mean_ns = n->tpot_p50_ns = n->tpot_total_ns / (MADE_TOKENS - 1);
    n->tpot_p95_ns = n->tpot_p99_ns = n->tpot_mean_ns + 9000000;
    n->killed_by = n->killed_phase = "";
    n->peak_weights_bytes = budget_bytes - budget_bytes % block;
    n->peak_kv_bytes = 192 * 28672 * 4;
    n->peak_activation_bytes = 40 * MADE_MIB;
    n->peak_memory_bytes = n->peak_weights_bytes + n->peak_kv_bytes + n->peak_activation_bytes + 180 * MADE_MIB;
    for (uint32_t i = 0; i < MADE_SAMPLES; i++) {
        const bool full = i > MADE_SAMPLES / 20;
        run->samples[i] = (struct sample_numbers){
            .time_ns = now * i / (MADE_SAMPLES - 1),
            .class_bytes = {full ? n->peak_weights_bytes : n->peak_weights_bytes / MADE_SAMPLES * 20 * i,
                            n->peak_kv_bytes * (i + MADE_SAMPLES) / (2 * MADE_SAMPLES),
                            i < MADE_SAMPLES / 12 ? n->peak_activation_bytes : 4 * MADE_MIB, 180 * MADE_MIB,
                            (i == 7 ? 33 : 0) * MADE_MIB, 11 * MADE_MIB, 12 * MADE_MIB, 1500 * MADE_MIB, 900 * MADE_MIB,
                            13 * MADE_MIB},
            .swap_used_bytes = 14 * MADE_MIB,
            .internal_fragmentation_bytes = 15 * MADE_MIB,
            .external_fragmentation_bytes = 17 * MADE_MIB,
            .largest_hole_bytes = 16 * MADE_MIB,
            .in_flight_bytes = full && i % 3 == 0 ? 0 : block,
            .free_bytes = 3000 * MADE_MIB,
            .flash_bytes = n->bytes_read / (MADE_SAMPLES - 1) * i};
    }
    for (uint32_t i = 0; i < MADE_BLOCKS; i++)
        run->blocks[i] =
            (struct block_numbers){n->accesses / MADE_BLOCKS, n->hits / MADE_BLOCKS, n->misses / MADE_BLOCKS,
                                   n->misses / MADE_BLOCKS - 1, n->bytes_read / MADE_BLOCKS};
    make_up_memory(run);
    run->result.tokens = run->tokens;
    run->result.token_count = MADE_TOKENS;
    run->result.samples = run->samples;
    run->result.sample_count = MADE_SAMPLES;
    run->result.blocks = run->blocks;
    run->record = (struct run_record){.run_key = run->key,
                                      .experiment = "made-up",
                                      .device = "oneplus-15r",
                                      .model = "llama-3.2-3b",
                                      .quant = "q4_0",
                                      .workload = "dense",
                                      .loader = "chunked",
                                      .policy = policy,
                                      .evict = "lru",
                                      .pin = "none",
                                      .prefetch = "none",
                                      .admit = "none",
                                      .note = "",
                                      .kills = run->result.numbers.kills,
                                      .estimates = "device.runtime device.memory",
                                      .perplexity = 6.25,
                                      .budget_bytes = budget_bytes,
                                      .seed = 1,
                                      .numbers = *n};
    record_finish(&run->record);
}

static inline const char *made_up_block(const void *model, uint32_t block)
{
    (void)model;
    static const char names[] = "layer00\0layer01\0layer02\0layer03\0layer04\0layer05\0layer06\0layer07\0layer08\0";
    return block < MADE_BLOCKS ? names + block % 9 * 8 : NULL;
}

static const struct store_names made_up_names = {
    .block_name = made_up_block, .apps = made_up_apps, .app_count = sizeof made_up_apps / sizeof *made_up_apps};

/* The effective config as the program writes it, as far as this folder looks into it. */
static inline bool put_configured(struct store *store, const struct made_up *run, const char *device_keys,
                                  struct error *err)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_version\":1,\"experiment\":{\"name\":\"%s\",\"seed\":%llu},\"device\":{\"name\":\"%s\",%s},"
             "\"loader\":{\"mode\":\"chunked\",\"budget\":%llu,\"lanes\":4},\"policy\":{\"name\":\"%s\"}}",
             run->record.experiment, (unsigned long long)run->record.seed, run->record.device, device_keys,
             (unsigned long long)run->record.budget_bytes, run->record.policy);
    return store_put(store, &run->record, &run->result, config, &made_up_names, err);
}

static inline bool put_made_up(struct store *store, const struct made_up *run, struct error *err)
{
    return store_put(store, &run->record, &run->result, "{\"made\":\"up\"}", &made_up_names, err);
}

/* A folder of its own for each test; removed with what is in it (no folders within). */
static inline char *test_folder(void)
{
    char *folder = strdup("/tmp/pocketload-test-XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    return folder;
}

static inline const char *test_path(const char *folder, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", folder, name);
    return out;
}

static inline bool test_exists(const char *path, const char *suffix)
{
    char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

/* The first number of the first row. */
static inline int64_t query(struct store *store, const char *sql)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

#endif
