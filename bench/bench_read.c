/* How fast traces are read: whole calls of trace_read_alone, on files made here in a temporary folder. */
#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "bench/measure.h"
#include "workloads/workload.h"

enum { RECORDS = 4000000, SCANNED = 200000, OCTAVES = 20 };

enum kind { BINARY, BINARY_SIZED, TEXT, COLUMNS };

/* What the i-th record names: pages in turn; a few hot of 2^20 objects; the same under ids of 64 bits; 256 experts. */
enum ids { SCAN, HOT, HASHED, EXPERTS };

static uint64_t next_id(enum ids ids, uint32_t i, struct rng *rng)
{
    if (ids == SCAN)
        return i % SCANNED;
    if (ids == EXPERTS)
        return i / 2 % 32 * 8 + rng_below(rng, 8);
    /* Every octave of ranks is as likely as any other: Zipf's law with exponent 1, in steps. */
    const uint32_t octave = (uint32_t)rng_below(rng, OCTAVES);
    const uint64_t rank = (UINT64_C(1) << octave) - 1 + rng_below(rng, UINT64_C(1) << octave);
    const uint64_t id = rank * 611953 & ((1U << OCTAVES) - 1); /* no neighbours in the table */
    return ids == HOT ? id : (id + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static void put_record(FILE *file, uint32_t i, uint64_t id, uint32_t bytes)
{
    unsigned char record[24];
    const uint32_t time = htole32(i / 1000), size = htole32(bytes);
    const uint64_t number = htole64(id), next = UINT64_MAX;
    memcpy(record, &time, sizeof time);
    memcpy(record + 4, &number, sizeof number);
    memcpy(record + 12, &size, sizeof size);
    memcpy(record + 16, &next, sizeof next);
    fwrite(record, sizeof record, 1, file);
}

static void write_trace(const char *path, enum kind kind, enum ids ids)
{
    struct rng rng;
    FILE *file = fopen(path, "w");
    if (file == NULL)
        give_up(path, "cannot be written");
    rng_seed(&rng, 1, 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        const uint64_t id = next_id(ids, i, &rng);
        const uint32_t bytes = kind == BINARY ? 1 : (uint32_t)(id >> 3) % 100000 + 1;
        if (kind == TEXT)
            fprintf(file, "%llu\n", (unsigned long long)id);
        else if (kind == COLUMNS)
            fprintf(file, "%u,%llu,%u\n", i / 1000, (unsigned long long)id, bytes);
        else
            put_record(file, i, id, bytes);
    }
    if (fclose(file) != 0)
        give_up(path, "cannot be written");
}

static void bench(const char *folder, const char *name, enum kind kind, enum ids ids)
{
    char path[256];
    struct rounds rounds;
    struct error err;
    uint32_t blocks = 0;
    snprintf(path, sizeof path, "%s/%s", folder, kind <= BINARY_SIZED ? "trace.oracleGeneral" : "trace");
    write_trace(path, kind, ids);
    for (int round = -1; round < ROUNDS; round++) { /* round -1 brings the file into memory */
        struct trace trace;
        struct model model;
        bool has_bytes;
        const double start = now_seconds();
        if (!trace_read_alone(path, kind == COLUMNS ? "csv(time=1,id=2,size=3)" : NULL, &trace, &model, &has_bytes,
                              &err))
            give_up(name, err.text);
        if (round >= 0)
            rounds.seconds[round] = now_seconds() - start;
        blocks = model.block_count;
        if (trace.access_count != RECORDS)
            give_up(name, "not all records were read");
        trace_free(&trace);
        model_free(&model);
    }
    unlink(path);
    sort_rounds(&rounds);
    printf("%-36s %8.1fM | %8.1f %8.1f %8.1f | %9u\n", name, RECORDS / 1e6, RECORDS / 1e6 / rounds.seconds[ROUNDS - 1],
           RECORDS / 1e6 / median_seconds(&rounds), RECORDS / 1e6 / rounds.seconds[0], blocks);
    fflush(stdout);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    char folder[200];
    snprintf(folder, sizeof folder, "%s/pocketload-bench-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL)
        give_up(folder, "cannot be made");
    printf("\nreading: whole traces; wanted: 50 M/s binary, 20 M/s ids (%d rounds)\n", ROUNDS);
    printf("%-36s %9s | %8s %8s %8s | %9s\n", "case", "records", "M/s min", "median", "max", "blocks");
    bench(folder, "oracleGeneral, scan", BINARY, SCAN);
    bench(folder, "oracleGeneral, hot of 2^20", BINARY, HOT);
    bench(folder, "oracleGeneral, the same, 64-bit ids", BINARY, HASHED);
    bench(folder, "oracleGeneral, the same, sizes", BINARY_SIZED, HASHED);
    bench(folder, "oracleGeneral, experts", BINARY, EXPERTS);
    bench(folder, "ids, scan", TEXT, SCAN);
    bench(folder, "ids, hot of 2^20", TEXT, HOT);
    bench(folder, "ids, the same, 64-bit ids", TEXT, HASHED);
    bench(folder, "ids, experts", TEXT, EXPERTS);
    bench(folder, "csv(time=1,id=2,size=3)", COLUMNS, HOT);
    rmdir(folder);
    return 0;
}
