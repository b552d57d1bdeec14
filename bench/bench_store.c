/* What storing 1,000 runs costs, from opening the database to closing it, in real time. */
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/run.h"
#include "results/store.h"

enum { RUNS = 1000 };

static double real_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void make_record(const struct bench *bench, const struct run_result *result, struct run_record *record)
{
    memset(record, 0, sizeof *record);
    record->experiment = "bench";
    record->device = "bench";
    record->model = "bench";
    record->quant = "";
    record->workload = "trace";
    record->loader = "chunked";
    record->policy = record->evict = bench->policy;
    record->pin = record->prefetch = record->admit = "none";
    record->note = record->kills = "";
    record->budget_bytes = (uint64_t)bench->capacity << 20;
    record->numbers = result->numbers;
    record_finish(record);
}

/* As long as the effective config of a real run. */
static const char *config_text(char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, "{\"filler\":\"");
    memset(out + length, 'x', size - length - 3);
    memcpy(out + size - 3, "\"}", 3);
    return out;
}

static int64_t count_rows(struct store *store)
{
    sqlite3_stmt *statement = NULL;
    int64_t rows = -1;
    const char *sql = "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM token) + (SELECT count(*) FROM sample)"
                      " + (SELECT count(*) FROM block)";
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        rows = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return rows;
}

/* RUNS runs into a new file; returns the seconds, and how large the file is. */
static double store_all(const char *path, const struct bench *bench, const struct run_result *result,
                        const struct model *model, uint64_t *file_bytes)
{
    struct store *store = NULL;
    struct run_record record;
    struct error err;
    struct stat status;
    const struct store_names names = {.block_name = store_model_block_name, .model = model};
    char config[2048], key[33];
    make_record(bench, result, &record);
    config_text(config, sizeof config);
    double start = real_seconds();
    if (!store_open(path, &store, &err))
        give_up(path, err.text);
    for (unsigned run = 0; run < RUNS; run++) {
        /* Keys are hashes: they come in no order. */
        snprintf(key, sizeof key, "%016" PRIx64 "%016x", (run + 1) * UINT64_C(0x9e3779b97f4a7c15), run);
        record.run_key = key;
        if (!store_put(store, &record, result, config, &names, &err))
            give_up(path, err.text);
    }
    if (!store_close(store, &err))
        give_up(path, err.text);
    double seconds = real_seconds() - start;
    int64_t rows = (int64_t)(1 + result->token_count + result->sample_count + model->block_count) * RUNS;
    if (!store_open_read(path, &store, &err))
        give_up(path, err.text);
    if (count_rows(store) != rows)
        give_up(path, "the file does not hold every row");
    if (!store_close(store, &err))
        give_up(path, err.text);
    *file_bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    return seconds;
}

static void bench_store(const struct bench *bench, const char *path)
{
    struct model model;
    struct trace trace;
    struct arena arena = {0};
    struct run_result result;
    struct rounds rounds;
    uint64_t file_bytes = 0;
    make_trace(bench->blocks, NULL, bench->blocks, bench->tokens, STEP_NS, &model, &trace);
    run_bench(bench, &model, &trace, &arena, &result);
    for (int round = 0; round < ROUNDS; round++) {
        rounds.seconds[round] = store_all(path, bench, &result, &model, &file_bytes);
        unlink(path);
    }
    sort_rounds(&rounds);
    uint64_t rows = 1 + result.token_count + result.sample_count + model.block_count;
    printf("%-36s %9" PRIu64 " | %7.2f s %7.2f s %7.2f s | %8.0f | %6.1f MB\n", bench->name, rows, rounds.seconds[0],
           median_seconds(&rounds), rounds.seconds[ROUNDS - 1], (double)rows * RUNS / median_seconds(&rounds),
           (double)file_bytes / 1e6);
    fflush(stdout);
    arena_free(&arena);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    static const struct bench benches[] = {
        {"5 blocks, 3 tokens", "lru", 5, 4, 3, OVERLAP_NONE},
        {"35 blocks, 64 tokens", "lru", 35, 20, 64, OVERLAP_NONE},
        {"35 blocks, 512 tokens", "lru", 35, 20, 512, OVERLAP_NONE},
    };
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    int length = snprintf(path, sizeof path, "%s/pocketload-bench-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path - sizeof "/runs.db" || mkdtemp(path) == NULL)
        give_up("bench_store", "cannot make a folder in $TMPDIR or /tmp");
    strcpy(path + length, "/runs.db");
    printf("\nstore: %d runs into a new database in %s; wanted: under 2 s (%d rounds, real time)\n", RUNS, folder,
           ROUNDS);
    printf("%-36s %9s | %9s %9s %9s | %8s | %s\n", "runs of", "rows each", "min", "median", "max", "rows/s", "file");
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        bench_store(&benches[i], path);
    path[length] = '\0';
    return rmdir(path) == 0 ? 0 : STATUS_IO;
}
