/* A run's memory and its time: growth and the rules that it meets, other apps' changes, the time series. docs/models.md
 * sections 7, 8 and 12. */
#include "sim/run_state.h"

#include "base/wide.h"
#include "sim/mapped.h"
#include "sim/placing.h"

static const int64_t TIME_END_NS = INT64_C(1) << 61; /* 73 years */

struct sample_numbers run_state_at(struct run_state *run, int64_t time_ns)
{
    if (run->mapped)
        mapped_settle(run, time_ns);
    struct sample_numbers row = {
        .in_flight_bytes = run->in_flight_bytes,
        .free_bytes = ledger_free_bytes(&run->ledger),
        .flash_bytes = run->flash.moved_bytes,
        .heat_ppm = heat_ppm(&run->heat, time_ns),
        .loaded_bytes = run->loaded_bytes,
    };
    for (int class = 0; class < MEMORY_CLASSES; class ++)
        row.class_bytes[class] = run->ledger.now_bytes[class];
    if (run->pressure)
        row.swap_used_bytes = pressure_numbers(run->pressure).swap_used_bytes;
    if (run->placing)
        placing_sample(run, &row);
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

void run_loaded(struct run_state *run, uint64_t bytes)
{
    struct run_numbers *numbers = &run->numbers;
    int64_t *const times[LOAD_MARKS] = {&numbers->load_10_ns, &numbers->load_50_ns, &numbers->load_90_ns,
                                        &numbers->load_100_ns};
    run->loaded_bytes = bytes;
    while (run->marks_reached < LOAD_MARKS && bytes >= run->load_marks[run->marks_reached])
        *times[run->marks_reached++] = run->now_ns;
}

void run_set_load_marks(struct run_state *run, uint64_t bytes)
{
    static const uint64_t percents[LOAD_MARKS] = {10, 50, 90, 100};
    for (int i = 0; i < LOAD_MARKS; i++)
        run->load_marks[i] = (uint64_t)(((wide)bytes * percents[i] + 99) / 100);
}

bool run_check_time(struct run_state *run, int64_t time_ns)
{
    if (time_ns <= TIME_END_NS)
        return true;
    run->failed = true;
    return fail(run->err, STATUS_USAGE, "the run takes over 73 years of virtual time");
}

void run_sample(struct run_state *run, int64_t time_ns)
{
    if (!run->failed && !run_check_time(run, time_ns))
        return;
    while (run->sampler.next_ns < time_ns) {
        struct sample_numbers row = run_state_at(run, run->sampler.next_ns);
        sampler_put(&run->sampler, &row);
    }
}

int64_t run_attend(struct run_state *run, int64_t time_ns)
{
    int64_t change_ns = INT64_MAX;
    while (run->pressure && (change_ns = pressure_next_ns(run->pressure)) <= time_ns) {
        run_sample(run, change_ns);
        int64_t now_ns = run->now_ns > change_ns ? run->now_ns : change_ns, died_ns;
        run->now_ns = now_ns;
        bool lives = pressure_advance(run->pressure, change_ns, &died_ns);
        run->now_ns = now_ns; /* what reclaim takes for another app is not the time of this one */
        if (!lives) {
            run_kill(run, pressure_killed_by(run->pressure));
            return now_ns;
        }
    }
    run_sample(run, time_ns);
    run->attention_ns = run->sampler.next_ns < change_ns ? run->sampler.next_ns : change_ns - 1;
    return time_ns;
}

void run_kill(struct run_state *run, const char *rule)
{
    if (run->killed)
        return;
    run->killed = true;
    run->numbers.killed_by = rule;
}

/* The clock may have moved past what is due. */
static void catch_up(struct run_state *run, int64_t start_ns)
{
    if (run->now_ns == start_ns)
        return;
    run_book_stall(run, start_ns);
    if (run_goes_on(run))
        run_move_to(run, run->now_ns);
}

void run_settle(struct run_state *run, enum memory_class class, uint64_t bytes)
{
    int64_t start_ns = run->now_ns;
    if (!pressure_set(run->pressure, class, bytes, run_pressure_ns(run)))
        run_kill(run, pressure_killed_by(run->pressure));
    catch_up(run, start_ns);
}

void run_touch_own(struct run_state *run)
{
    if (!run->pressure)
        return;
    int64_t start_ns = run->now_ns, wait_ns = 0;
    if (!pressure_touch_own(run->pressure, start_ns, &wait_ns))
        run_kill(run, pressure_killed_by(run->pressure));
    catch_up(run, start_ns);
    if (!run_goes_on(run) || wait_ns == 0)
        return;
    start_ns = run->now_ns;
    loads_advance(run, start_ns + wait_ns);
    run->numbers.stall_ns += run->now_ns - start_ns;
}
