/* The rows of a run, into the database: tokens, samples, blocks, kills, processes, turns. */
#include "results/store_rows.h"

#include "base/units.h"

enum { TOKEN_NUMBERS = 12, SAMPLE_NUMBERS = 1 + MEMORY_CLASSES + 9 };

static bool put_tokens(struct store *store, const char *run_key, const struct run_result *result)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_TOKEN);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    for (uint64_t i = 0; ok && i < result->token_count; i++) {
        const struct token_numbers *t = &result->tokens[i];
        const int64_t values[TOKEN_NUMBERS] = {t->latency_ns,
                                               t->stall_ns,
                                               (int64_t)t->accesses,
                                               (int64_t)t->hits,
                                               (int64_t)t->bytes_accessed,
                                               (int64_t)t->bytes_read,
                                               (int64_t)t->major_faults,
                                               (int64_t)t->minor_faults,
                                               (int64_t)t->refaults,
                                               (int64_t)t->bytes_readahead_wasted,
                                               t->turn,
                                               t->hot};
        ok = store_finish(stmt, sqlite3_bind_int64(stmt, 2, t->token) == SQLITE_OK &&
                                    store_bind_text(stmt, 3, phase_names[t->phase]) &&
                                    store_bind_integers(stmt, 4, values, TOKEN_NUMBERS));
    }
    return ok;
}

/* Bytes a second over a stretch of time, within what SQLite holds. */
static int64_t rate(uint64_t bytes, int64_t ns)
{
    if (ns <= 0)
        return 0;
    const uint64_t whole = bytes / (uint64_t)ns, rest = bytes % (uint64_t)ns;
    uint64_t high, low;
    if (!multiply(whole, 1000000000u, &high) || !multiply(rest, 1000000000u, &low) ||
        !add(high, low / (uint64_t)ns, &high) || high > INT64_MAX)
        return INT64_MAX;
    return (int64_t)high;
}

static bool put_samples(struct store *store, const char *run_key, const struct run_result *result)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_SAMPLE);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    const struct sample_numbers *before = NULL;
    for (uint32_t i = 0; ok && i < result->sample_count; i++) {
        const struct sample_numbers *s = &result->samples[i];
        int64_t values[SAMPLE_NUMBERS] = {s->time_ns};
        for (int m = 0; m < MEMORY_CLASSES; m++)
            values[1 + m] = (int64_t)s->class_bytes[m];
        int64_t *rest = values + 1 + MEMORY_CLASSES;
        rest[0] = (int64_t)s->in_flight_bytes;
        rest[1] = (int64_t)s->free_bytes;
        rest[2] = (int64_t)s->flash_bytes;
        rest[3] = before ? rate(s->flash_bytes - before->flash_bytes, s->time_ns - before->time_ns) : 0;
        rest[4] = (int64_t)s->swap_used_bytes;
        rest[5] = (int64_t)s->internal_fragmentation_bytes;
        rest[6] = (int64_t)s->external_fragmentation_bytes;
        rest[7] = (int64_t)s->largest_hole_bytes;
        rest[8] = (int64_t)s->loaded_bytes;
        ok = store_finish(stmt,
                          store_bind_integers(stmt, 2, values, SAMPLE_NUMBERS) &&
                              sqlite3_bind_double(stmt, 2 + SAMPLE_NUMBERS, (double)s->heat_ppm / 1e6) == SQLITE_OK);
        before = s;
    }
    return ok;
}

static bool put_blocks(struct store *store, const char *run_key, const struct run_result *result,
                       const struct store_names *names)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_BLOCK);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    const char *name;
    for (uint32_t i = 0; ok && (name = names->block_name(names->model, i)) != NULL; i++) {
        const struct block_numbers *b = &result->blocks[i];
        const int64_t values[] = {(int64_t)b->accesses, (int64_t)b->hits, (int64_t)b->loads, (int64_t)b->evictions,
                                  (int64_t)b->bytes_read};
        ok = store_finish(stmt, sqlite3_bind_int64(stmt, 2, i) == SQLITE_OK && store_bind_text(stmt, 3, name) &&
                                    store_bind_integers(stmt, 4, values, 5));
    }
    return ok;
}

static bool put_kills(struct store *store, const char *run_key, const struct run_result *result,
                      const struct store_names *names)
{
    if (result->kill_count == 0)
        return true;
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_KILL);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    for (uint32_t i = 0; ok && i < result->kill_count; i++) {
        const struct app_kill *kill = &result->kills[i];
        must(kill->app < names->app_count);
        const struct app_spec *app = &names->apps[kill->app];
        ok = store_finish(stmt, sqlite3_bind_int64(stmt, 2, i + 1) == SQLITE_OK &&
                                    sqlite3_bind_int64(stmt, 3, kill->time_ns) == SQLITE_OK &&
                                    store_bind_text(stmt, 4, app->name) &&
                                    sqlite3_bind_int64(stmt, 5, app->adj) == SQLITE_OK &&
                                    sqlite3_bind_int64(stmt, 6, (int64_t)kill->bytes) == SQLITE_OK &&
                                    store_bind_text(stmt, 7, kill->rule));
    }
    return ok;
}

static bool put_processes(struct store *store, const char *run_key, const struct run_numbers *numbers)
{
    if (numbers->process_count == 0)
        return true;
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_PROCESS);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    for (uint32_t i = 0; ok && i < numbers->process_count; i++) {
        const struct page_process_counts *p = &numbers->processes[i];
        const int64_t values[] = {(int64_t)i + 1, (int64_t)p->major_faults, (int64_t)p->minor_faults,
                                  (int64_t)p->table_bytes};
        ok = store_finish(stmt, store_bind_integers(stmt, 2, values, 4));
    }
    return ok;
}

static bool put_turns(struct store *store, const char *run_key, const struct run_result *result)
{
    if (result->turn_count == 0)
        return true;
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_TURN);
    bool ok = stmt && store_bind_text(stmt, 1, run_key);
    for (uint32_t i = 0; ok && i < result->turn_count; i++) {
        const struct turn_numbers *t = &result->turns[i];
        const int64_t values[] = {t->turn,
                                  t->restarted,
                                  t->start_ns,
                                  t->idle_ns,
                                  t->ttft_ns,
                                  t->latency_ns,
                                  t->stall_ns,
                                  (int64_t)t->tokens,
                                  (int64_t)t->bytes_read,
                                  (int64_t)t->bytes_reclaimed};
        ok = store_bind_integers(stmt, 2, values, 10) && (t->ttft_ns >= 0 || sqlite3_bind_null(stmt, 6) == SQLITE_OK);
        ok = store_finish(stmt, ok);
    }
    return ok;
}

bool store_put_rows(struct store *store, const char *run_key, const struct run_result *result,
                    const struct store_names *names)
{
    return put_tokens(store, run_key, result) && put_samples(store, run_key, result) &&
           put_blocks(store, run_key, result, names) && put_kills(store, run_key, result, names) &&
           put_processes(store, run_key, &result->numbers) && put_turns(store, run_key, result);
}
