/* The books of a run as it goes: memory and its kill rule, and the time series. docs/models.md sections 7 and 8. */
#include "sim/run_state.h"

#include "base/wide.h"

static const int64_t TIME_END_NS = INT64_C(1) << 61; /* 73 years */

struct sample_numbers run_state_at(const struct run_state *run, int64_t time_ns)
{
    struct sample_numbers row = {
        .in_flight_bytes = run->in_flight_bytes,
        .free_bytes = ledger_free_bytes(&run->ledger),
        .flash_bytes = run->flash.moved_bytes,
    };
    for (int class = 0; class < MEMORY_CLASSES; class ++)
        row.class_bytes[class] = run->ledger.now_bytes[class];
    /* Of commands in flight, what the shared rate has moved: so no stretch of time shows more than the device can. */
    for (uint32_t slot = 0; slot < run->command_limit; slot++) {
        const struct command *command = &run->commands[slot];
        if (command->bytes == 0 || time_ns <= command->link_start_ns)
            continue;
        uint64_t past = (uint64_t)(time_ns - command->link_start_ns);
        uint64_t whole = (uint64_t)(command->link_end_ns - command->link_start_ns);
        row.flash_bytes += past < whole ? (uint64_t)((wide)command->bytes * past / whole) : command->bytes;
    }
    return row;
}

void run_sample(struct run_state *run, int64_t time_ns)
{
    if (time_ns > TIME_END_NS && !run->failed) {
        fail(run->err, STATUS_USAGE, "the run takes over 73 years of virtual time");
        run->failed = true;
        return;
    }
    while (run->sampler.next_ns < time_ns) {
        struct sample_numbers row = run_state_at(run, run->sampler.next_ns);
        sampler_put(&run->sampler, &row);
    }
}

static void kill_app(struct run_state *run, const char *rule)
{
    run->killed = true;
    run->numbers.killed_by = rule;
}

void run_grow(struct run_state *run, enum memory_class class, uint64_t bytes)
{
    bool grows = bytes > run->ledger.now_bytes[class];
    ledger_set(&run->ledger, class, bytes);
    const struct device *device = &run->spec->device;
    if (grows && device->pressure.rule == KILL_THRESHOLD && run->ledger.app_bytes > device->pressure.threshold_bytes)
        kill_app(run, "threshold");
}
