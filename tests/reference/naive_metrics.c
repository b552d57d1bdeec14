/* The naive engine's books: memory and its kill rule, the state over time, times of tokens, the log (docs/models.md,
 * sections 7 and 8). */
#include <stdlib.h>

#include "tests/reference/naive_state.h"

void naive_log(const struct naive_twin *twin, const char *what, uint32_t block, uint64_t number)
{
    if (twin->log != NULL && block != BLOCK_NONE)
        fprintf(twin->log, "# %12lld  %-14s block %u  %llu\n", (long long)twin->now_ns, what, block,
                (unsigned long long)number);
    else if (twin->log != NULL)
        fprintf(twin->log, "# %12lld  %-14s %llu\n", (long long)twin->now_ns, what, (unsigned long long)number);
}

/* ---- Memory ---- */

static uint64_t app_bytes(const struct naive_twin *twin)
{
    return twin->class_bytes[MEMORY_WEIGHTS] + twin->class_bytes[MEMORY_KV] + twin->class_bytes[MEMORY_ACTIVATION] +
           twin->class_bytes[MEMORY_RUNTIME] + twin->class_bytes[MEMORY_STREAMED];
}

static void raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        *peak = value;
}

void naive_memory(struct naive_twin *twin, enum memory_class class, uint64_t bytes)
{
    struct run_numbers *numbers = &twin->result->numbers;
    bool grew = bytes > twin->class_bytes[class];
    twin->class_bytes[class] = bytes;
    raise(&numbers->peak_memory_bytes, app_bytes(twin));
    raise(&numbers->peak_weights_bytes, twin->class_bytes[MEMORY_WEIGHTS]);
    raise(&numbers->peak_kv_bytes, twin->class_bytes[MEMORY_KV]);
    raise(&numbers->peak_activation_bytes, twin->class_bytes[MEMORY_ACTIVATION]);
    if (grew && twin->spec->device.pressure.rule == KILL_THRESHOLD &&
        app_bytes(twin) > twin->spec->device.pressure.threshold_bytes) {
        naive_log(twin, "killed", BLOCK_NONE, app_bytes(twin));
        twin->over = true;
        numbers->outcome = OUTCOME_KILLED;
        numbers->killed_by = "threshold";
        numbers->killed_phase = phase_names[twin->phase];
    }
    naive_note(twin);
}

void naive_note(struct naive_twin *twin)
{
    if (twin->history_count == 0 || twin->history[twin->history_count - 1].time_ns != twin->now_ns) {
        if (twin->history_count == twin->history_capacity) {
            twin->history_capacity = twin->history_capacity ? 2 * twin->history_capacity : 256;
            twin->history = realloc(twin->history, twin->history_capacity * sizeof *twin->history);
            must(twin->history != NULL);
        }
        twin->history_count++;
    }
    struct sample_numbers *now = &twin->history[twin->history_count - 1];
    uint64_t total = 0;
    *now = (struct sample_numbers){
        .time_ns = twin->now_ns, .in_flight_bytes = twin->in_flight_bytes, .loaded_bytes = twin->loaded_bytes};
    for (int c = 0; c < MEMORY_CLASSES; c++) {
        now->class_bytes[c] = twin->class_bytes[c];
        total += twin->class_bytes[c];
    }
    now->free_bytes = twin->spec->device.ram_bytes > total ? twin->spec->device.ram_bytes - total : 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void naive_token_times(const struct heat_spec *heat, struct run_result *result)
{
    struct run_numbers *numbers = &result->numbers;
    int64_t *latency = calloc(result->token_count + 1, sizeof *latency);
    must(latency != NULL);
    uint64_t n = 0;
    for (uint64_t i = 1; i < result->token_count; i++)
        if (result->tokens[i].phase != PHASE_PREFILL) {
            latency[n++] = result->tokens[i].latency_ns;
            numbers->tpot_total_ns += result->tokens[i].latency_ns;
            if (heat->mode == HEAT_OFF || heat->hot_after_ns == 0)
                continue;
            *(result->tokens[i].hot ? &numbers->tpot_hot_count : &numbers->tpot_cold_count) += 1;
            *(result->tokens[i].hot ? &numbers->tpot_hot_total_ns : &numbers->tpot_cold_total_ns) +=
                result->tokens[i].latency_ns;
        }
    numbers->tokens = result->token_count;
    numbers->tpot_count = n;
    if (n > 0) {
        qsort(latency, n, sizeof *latency, by_value);
        numbers->tpot_mean_ns = numbers->tpot_total_ns / (int64_t)n;
        numbers->tpot_p50_ns = latency[(50 * n + 99) / 100 - 1];
        numbers->tpot_p95_ns = latency[(95 * n + 99) / 100 - 1];
        numbers->tpot_p99_ns = latency[(99 * n + 99) / 100 - 1];
    }
    free(latency);
}

/* Of what makes the device hot, rounded down. */
static uint64_t heat_at(const struct naive_twin *twin, int64_t now_ns)
{
    const struct heat_spec *spec = &twin->spec->device.heat;
    return spec->hot_after_ns > 0
               ? (uint64_t)naive_heat(spec, &twin->pauses, now_ns) * 1000000 / (uint64_t)spec->hot_after_ns
               : 0;
}

void naive_sample(struct naive_twin *twin)
{
    struct sample_numbers *rows = twin->result->samples;
    uint32_t count = 0;
    int64_t interval = 1000000;
    size_t at = 0;
    for (int64_t g = 0; g < twin->now_ns; g = g / interval * interval + interval) {
        if (count == SAMPLES_MAX - 1) {
            for (uint32_t i = 0; i < SAMPLES_MAX / 2; i++)
                rows[i] = rows[2 * (size_t)i];
            count = SAMPLES_MAX / 2;
            interval *= 2;
            if (g % interval != 0)
                continue;
        }
        while (at + 1 < twin->history_count && twin->history[at + 1].time_ns <= g)
            at++;
        rows[count] = twin->history[at];
        rows[count].flash_bytes = naive_flash_moved(&twin->flash, g);
        rows[count].heat_ppm = heat_at(twin, g);
        rows[count++].time_ns = g;
    }
    rows[count] = twin->history[twin->history_count - 1];
    rows[count].heat_ppm = heat_at(twin, twin->now_ns);
    rows[count++].flash_bytes = naive_flash_moved(&twin->flash, twin->now_ns);
    twin->result->sample_count = count;
}
