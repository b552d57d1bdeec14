/* A policy in its place for `policy check`: its memory between guards, and the looks around every call. */
#include "policies/check_drive.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "policies/plugin.h"

enum { GUARD_BYTE = 0xA5, REMARK_SIZE_MAX = 256 };

void check_broken(struct check_drive *drive, enum check_rule rule, const char *format, ...)
{
    struct check_memory *memory = drive->memory;
    if (memory->report.rules[rule].verdict == CHECK_BROKEN)
        return;
    memory->report.rules[rule].verdict = CHECK_BROKEN;
    va_list arguments;
    va_start(arguments, format);
    char *why = memory->report.rules[rule].why;
    int length = vsnprintf(why, CHECK_WHY_TEXT, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < CHECK_WHY_TEXT)
        snprintf(why + length, (size_t)(CHECK_WHY_TEXT - length), "; %s, seed %" PRIu64 ", step %u", memory->place,
                 drive->seed, drive->step);
}

void check_ask(struct check_drive *drive, const char *call)
{
    memcpy(drive->before, &drive->world->shown, sizeof *drive->before);
    drive->memory->call = call;
    drive->memory->seed = drive->seed;
    drive->memory->step = drive->step;
    drive->memory->report.calls++;
    atomic_fetch_add_explicit(&drive->memory->shared.beats, 1, memory_order_relaxed);
}

static bool is_whole(const uint8_t *guard)
{
    return guard[0] == GUARD_BYTE && memcmp(guard, guard + 1, CHECK_GUARD - 1) == 0;
}

static const char *changed_part(const struct check_shown *a, const struct check_shown *b)
{
#define CHANGED(member) (memcmp(&a->member, &b->member, sizeof a->member) != 0)
    return CHANGED(view)       ? "the view"
           : CHANGED(blocks)   ? "view->blocks"
           : CHANGED(state)    ? "view->state"
           : CHANGED(heat)     ? "view->heat"
           : CHANGED(profile)  ? "view->profile"
           : CHANGED(next_use) ? "view->next_use"
           : CHANGED(used)     ? "view->used"
           : CHANGED(values)   ? "its parameters"
           : CHANGED(named)    ? "its parameters' blocks"
                               : "view->ahead";
#undef CHANGED
}

void check_told(struct check_drive *drive, const struct check_seat *seat)
{
    const char *call = drive->memory->call;
    if (memcmp(drive->before, &drive->world->shown, sizeof *drive->before) != 0) {
        check_broken(drive, CHECK_VIEW, "%s() changes %s", call, changed_part(drive->before, &drive->world->shown));
        memcpy(&drive->world->shown, drive->before, sizeof *drive->before);
    }
    if (seat->memory == NULL)
        return;
    if (!is_whole(seat->memory))
        check_broken(drive, CHECK_GUARDS, "%s() writes before its state memory", call);
    if (!is_whole(seat->memory + CHECK_GUARD + seat->size))
        check_broken(drive, CHECK_GUARDS, "%s() writes behind its %zu bytes of state memory", call, seat->size);
}

void check_note(struct check_drive *drive, uint64_t answer)
{
    /* FNV-1a with its 64-bit prime, on words (Fowler, Noll, Vo). */
    drive->trail = (drive->trail ^ answer) * UINT64_C(1099511628211);
}

static bool give_memory(struct check_seat *seat, size_t size)
{
    seat->size = size;
    seat->mapped = size + (size_t)2 * CHECK_GUARD;
    void *memory = mmap(NULL, seat->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    seat->memory = memory;
    memset(seat->memory, GUARD_BYTE, CHECK_GUARD);
    memset(seat->memory + CHECK_GUARD + size, GUARD_BYTE, CHECK_GUARD);
    seat->self = seat->memory + CHECK_GUARD;
    return true;
}

bool check_seat_start(struct check_drive *drive, enum policy_kind kind, const struct policy *policy,
                      const int64_t *values, uint32_t named)
{
    struct check_seat *seat = &drive->seats[kind];
    struct check_shown *shown = &drive->world->shown;
    policy_table_complete(policy, &seat->table);
    seat->policy = policy;
    if (policy->param_count > 0)
        memcpy(shown->values, values, policy->param_count * sizeof *values);
    for (uint32_t b = 0; b < named; b++)
        shown->named[b] = b;
    const struct policy_args args = {.values = shown->values, .blocks = shown->named, .block_count = named};
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        check_ask(drive, "state_size");
        sizes[i] = seat->table.state_size(&shown->view, &args);
        check_told(drive, seat);
    }
    uint64_t most = (uint64_t)shown->view.block_count * POLICY_STATE_PER_BLOCK_MAX + POLICY_STATE_FIXED_MAX;
    if (sizes[0] != sizes[1])
        check_broken(drive, CHECK_STATE_SIZE, "state_size() answers %zu, then %zu", sizes[0], sizes[1]);
    if (sizes[0] > most) {
        check_broken(drive, CHECK_STATE_SIZE,
                     "state_size() asks for %zu bytes: at most %" PRIu64 " are given for %u blocks", sizes[0], most,
                     shown->view.block_count);
        drive->over = true;
        return true;
    }
    if (!give_memory(seat, sizes[0]))
        return false;
    check_ask(drive, "init");
    seat->table.init(seat->self, &shown->view, &args);
    check_told(drive, seat);
    return true;
}

void check_seat_end(struct check_seat *seat)
{
    if (seat->memory != NULL)
        munmap(seat->memory, seat->mapped);
    seat->memory = NULL;
}

void check_remark(struct check_drive *drive, size_t size)
{
    struct check_seat *seat = &drive->seats[POLICY_EVICT];
    char buffer[REMARK_SIZE_MAX + CHECK_GUARD], *line = buffer;
    if (seat->table.ops.evict.remark == NULL)
        return;
    memset(buffer, GUARD_BYTE, sizeof buffer);
    memset(line, 0, size);
    check_ask(drive, "remark");
    seat->table.ops.evict.remark(seat->self, &drive->world->shown.view, line, size);
    check_told(drive, seat);
    if (!is_whole((uint8_t *)line + size))
        check_broken(drive, CHECK_REMARK, "remark() writes behind the %zu bytes that it may", size);
    if (memchr(line, '\0', size) == NULL) {
        check_broken(drive, CHECK_REMARK, "remark() leaves no NUL within its %zu bytes", size);
        return;
    }
    for (const char *c = line; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            check_broken(drive, CHECK_REMARK, "remark() writes the byte 0x%02X, expected one line of ASCII",
                         (unsigned char)*c);
}

void check_reach(struct check_drive *drive)
{
    struct check_seat *seat = &drive->seats[POLICY_PREFETCH];
    check_ask(drive, "reach");
    drive->reach = seat->table.ops.prefetch.reach(seat->self, &drive->world->shown.view);
    check_told(drive, seat);
    check_note(drive, drive->reach);
    if (drive->reach >= 1 && drive->reach <= POLICY_REACH_MAX)
        return;
    check_broken(drive, CHECK_REACH, "reach() answers %u, expected 1 to %d", drive->reach, POLICY_REACH_MAX);
    drive->over = true;
}

uint32_t check_plan(struct check_drive *drive, enum policy_kind kind, block_id out[CHECK_BLOCKS])
{
    struct check_seat *seat = &drive->seats[kind];
    struct check_shown *shown = &drive->world->shown;
    uint32_t n = shown->view.block_count, max = n;
    /* The engine always gives room for all blocks; the contract speaks of `max`. */
    if (kind == POLICY_PIN && n > 1 && rng_below(&drive->rng, 3) == 0)
        max = 1 + (uint32_t)rng_below(&drive->rng, n);
    block_id plan[CHECK_BLOCKS + CHECK_GUARD];
    memset(plan, GUARD_BYTE, sizeof plan);
    check_ask(drive, "plan");
    uint32_t count = (kind == POLICY_PIN ? seat->table.ops.pin.plan
                                         : seat->table.ops.prefetch.plan)(seat->self, &shown->view, plan, max);
    check_told(drive, seat);
    check_note(drive, count);
    if (!is_whole((uint8_t *)(plan + max)))
        check_broken(drive, CHECK_PLAN, "plan() writes more than the %u blocks that it may", max);
    if (count > max) {
        check_broken(drive, CHECK_PLAN, "plan() answers %u, expected at most %u", count, max);
        drive->over = true;
        return 0;
    }
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        check_note(drive, plan[i]);
        if (plan[i] >= n) {
            check_broken(drive, CHECK_PLAN, "plan() names block %u: there are %u blocks", plan[i], n);
            drive->over = true;
            return 0;
        }
        if (kind == POLICY_PIN && seen >> plan[i] & 1)
            check_broken(drive, CHECK_PLAN, "plan() names block %u twice", plan[i]);
        seen |= UINT64_C(1) << plan[i];
        out[i] = plan[i];
    }
    return count;
}
