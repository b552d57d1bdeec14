/* The calls of one run, in the order that policy.h states: a small host, written for `policy check` alone. */
#include "policies/check_drive.h"

#include <stdlib.h>
#include <string.h>

#include "policies/answers.h"
#include "policies/names.h"

enum {
    RECLAIM_STEPS = 40, /* in so many steps, one pause in the background */
    MASK_DEMAND = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
    MASK_PREFETCH = MASK_DEMAND | POLICY_PREFETCHED,
    HELD = POLICY_RESIDENT | POLICY_LOADING,
};

static void set_state(struct check_drive *drive, block_id b, unsigned on, unsigned off)
{
    uint8_t *state = &drive->world->shown.state[b];
    *state = (uint8_t)((*state | on) & ~off);
}

static bool chance(struct check_drive *drive, unsigned percent)
{
    return rng_below(&drive->rng, 100) < percent;
}

/* ---- Questions and notices ---- */

typedef void notice(void *self, const struct policy_view *view, block_id b);

static void tell(struct check_drive *drive, const char *call, notice *function, block_id b)
{
    struct check_seat *seat = &drive->seats[POLICY_EVICT];
    if (function == NULL)
        return;
    check_ask(drive, call);
    function(seat->self, &drive->world->shown.view, b);
    check_told(drive, seat);
}

static void take_out(struct check_drive *drive, block_id b, enum remove_reason reason)
{
    struct check_seat *seat = &drive->seats[POLICY_EVICT];
    struct policy_view *view = &drive->world->shown.view;
    check_ask(drive, "on_remove");
    seat->table.ops.evict.on_remove(seat->self, view, b, reason);
    check_told(drive, seat);
    set_state(drive, b, 0, HELD | POLICY_PREFETCHED);
    view->held_bytes -= view->blocks[b].bytes;
}

/* True when the answer of victim() or release() is a block, and a good one. */
static bool is_good(struct check_drive *drive, enum check_rule rule, const char *question, block_id answer)
{
    const struct policy_view *view = &drive->world->shown.view;
    check_note(drive, answer);
    if (answer == BLOCK_NONE)
        return false;
    if (answer < view->block_count && policy_may_evict(view, answer))
        return true;
    if (answer >= view->block_count)
        check_broken(drive, rule, "%s() answers with block %u: there are %u blocks", question, answer,
                     view->block_count);
    else
        check_broken(drive, rule, "%s() answers with block %u: %s", question, answer, answer_why_not(view, answer));
    drive->over = true;
    return false;
}

static void release_all(struct check_drive *drive)
{
    struct check_seat *seat = &drive->seats[POLICY_EVICT];
    const struct policy_view *view = &drive->world->shown.view;
    while (seat->table.ops.evict.release != NULL && !drive->over) {
        check_ask(drive, "release");
        block_id b = seat->table.ops.evict.release(seat->self, view);
        check_told(drive, seat);
        if (!is_good(drive, CHECK_RELEASE, "release", b))
            return;
        take_out(drive, b, REMOVE_RELEASED);
    }
}

/* Asks for one victim and removes it. False when there is none, or a wrong one. */
static bool evict_one(struct check_drive *drive, block_id incoming, enum remove_reason reason)
{
    struct check_seat *seat = &drive->seats[POLICY_EVICT];
    const struct policy_view *view = &drive->world->shown.view;
    check_ask(drive, "victim");
    block_id b = seat->table.ops.evict.victim(seat->self, view, incoming);
    check_told(drive, seat);
    if (is_good(drive, CHECK_VICTIM, "victim", b)) {
        take_out(drive, b, reason);
        return true;
    }
    for (block_id other = 0; b == BLOCK_NONE && other < view->block_count; other++)
        if (policy_may_evict(view, other)) {
            check_broken(drive, CHECK_ANSWERS, "victim() answers BLOCK_NONE although block %u may be evicted", other);
            break;
        }
    return false;
}

static bool admits(struct check_drive *drive, block_id b)
{
    struct check_seat *rule = &drive->seats[POLICY_ADMIT], *evict = &drive->seats[POLICY_EVICT];
    const struct policy_view *view = &drive->world->shown.view;
    bool good = true;
    if (rule->policy != NULL) {
        check_ask(drive, "admit");
        good = rule->table.ops.admit.admit(rule->self, view, b);
        check_told(drive, rule);
        check_note(drive, good);
    }
    if (good && evict->table.ops.evict.admit != NULL) {
        check_ask(drive, "admit");
        good = evict->table.ops.evict.admit(evict->self, view, b);
        check_told(drive, evict);
        check_note(drive, good);
    }
    return good;
}

/* ---- Blocks that come ---- */

static bool fits(const struct policy_view *view, block_id b)
{
    return view->held_bytes <= view->budget_bytes && view->blocks[b].bytes <= view->budget_bytes - view->held_bytes;
}

static void insert(struct check_drive *drive, block_id b, unsigned state)
{
    drive->world->shown.view.held_bytes += drive->world->shown.blocks[b].bytes;
    set_state(drive, b, state, 0);
    tell(drive, "on_insert", drive->seats[POLICY_EVICT].table.ops.evict.on_insert, b);
    release_all(drive);
}

/* A prefetch in flight that no step has demanded makes way; false when there is none. */
static bool cancel_one(struct check_drive *drive)
{
    const struct policy_view *view = &drive->world->shown.view;
    for (block_id b = view->block_count; b-- > 0;)
        if ((view->state[b] & (POLICY_LOADING | POLICY_PREFETCHED | POLICY_IN_USE)) ==
            (POLICY_LOADING | POLICY_PREFETCHED)) {
            take_out(drive, b, REMOVE_CANCELLED);
            return true;
        }
    return false;
}

static void miss(struct check_drive *drive, block_id b)
{
    struct policy_view *view = &drive->world->shown.view;
    tell(drive, "on_miss", drive->seats[POLICY_EVICT].table.ops.evict.on_miss, b);
    release_all(drive);
    drive->streamed[b] = true;
    if (drive->over || view->blocks[b].bytes > view->budget_bytes - view->pinned_bytes || !admits(drive, b))
        return;
    while (!drive->world->scene.after_step && !fits(view, b))
        if (!evict_one(drive, b, REMOVE_EVICTED) && (drive->over || !cancel_one(drive)))
            return;
    drive->streamed[b] = false;
    insert(drive, b, drive->world->scene.instant ? POLICY_RESIDENT : POLICY_LOADING);
}

/* False when the rest of the plan finds no room. */
static bool fill(struct check_drive *drive, block_id b)
{
    struct policy_view *view = &drive->world->shown.view;
    if (view->state[b] & HELD || drive->streamed[b] ||
        view->blocks[b].bytes > view->budget_bytes - view->pinned_bytes || !admits(drive, b))
        return true;
    bool room = true;
    view->evict_mask = MASK_PREFETCH;
    while (room && !fits(view, b))
        room = evict_one(drive, b, REMOVE_EVICTED);
    view->evict_mask = MASK_DEMAND;
    if (room)
        insert(drive, b, POLICY_LOADING | POLICY_PREFETCHED);
    return room && !drive->over;
}

/* ---- Steps ---- */

static void use(struct check_drive *drive, block_id b, bool again)
{
    struct check_shown *shown = &drive->world->shown;
    const struct evict_ops *evict = &drive->seats[POLICY_EVICT].table.ops.evict;
    if (!again) {
        shown->view.access = drive->access;
        shown->next_use[b] = drive->world->next[drive->access++];
        set_state(drive, b, 0, POLICY_PREFETCHED);
    }
    if (shown->state[b] & POLICY_PINNED || (again && drive->streamed[b]))
        return;
    if (!again && !(shown->state[b] & HELD)) {
        miss(drive, b);
    } else {
        tell(drive, "on_hit", evict->on_hit, b);
        release_all(drive);
    }
}

/* The distinct blocks of a step, in order. */
static uint32_t distinct(const struct check_step *step, block_id out[CHECK_USES])
{
    uint64_t seen = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->count; i++) {
        if (!(seen >> step->uses[i] & 1))
            out[count++] = step->uses[i];
        seen |= UINT64_C(1) << step->uses[i];
    }
    return count;
}

static void show_ahead(struct check_drive *drive)
{
    struct check_shown *shown = &drive->world->shown;
    uint32_t steps = 0, count = 0;
    for (uint32_t s = drive->step + 1; s < CHECK_STEPS && steps < drive->reach; s++) {
        count += distinct(&drive->world->steps[s], shown->ahead + count);
        shown->ahead_end[steps++] = count;
    }
    shown->view.ahead_steps = steps;
}

static void prefetch(struct check_drive *drive)
{
    block_id plan[CHECK_BLOCKS];
    uint32_t count = 0, n = drive->world->scene.blocks;
    if (drive->seats[POLICY_PREFETCH].policy != NULL) {
        show_ahead(drive);
        count = check_plan(drive, POLICY_PREFETCH, plan);
    } else if (drive->world->scene.fills_max > 0) {
        count = (uint32_t)rng_below(&drive->rng, drive->world->scene.fills_max + 1);
        for (uint32_t i = 0; i < count; i++)
            plan[i] = (block_id)rng_below(&drive->rng, n);
    }
    for (uint32_t i = 0; i < count && !drive->over; i++)
        if (!fill(drive, plan[i]))
            break;
}

/* All of the step arrives before it runs, and some prefetches. */
static void arrive(struct check_drive *drive)
{
    const struct policy_view *view = &drive->world->shown.view;
    for (block_id b = 0; b < view->block_count; b++)
        if (view->state[b] & POLICY_LOADING && (view->state[b] & POLICY_IN_USE || chance(drive, 50)))
            set_state(drive, b, POLICY_RESIDENT, POLICY_LOADING);
}

void check_drive_step(struct check_drive *drive)
{
    struct check_shown *shown = &drive->world->shown;
    const struct check_step *step = &drive->world->steps[drive->step];
    if (drive->over)
        return;
    for (uint32_t i = 0; i < step->count; i++)
        set_state(drive, step->uses[i], POLICY_IN_USE, 0);
    memset(shown->used, 0, sizeof shown->used);
    shown->view.used_count = distinct(step, shown->used);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < step->count && !drive->over; i++) {
        use(drive, step->uses[i], seen >> step->uses[i] & 1);
        seen |= UINT64_C(1) << step->uses[i];
    }
    arrive(drive);
    if (!drive->over)
        prefetch(drive);
    while (drive->world->scene.after_step && !drive->over && shown->view.held_bytes > shown->view.budget_bytes)
        if (!evict_one(drive, BLOCK_NONE, REMOVE_EVICTED))
            break;
    for (uint32_t i = 0; i < step->count; i++) {
        set_state(drive, step->uses[i], 0, POLICY_IN_USE);
        drive->streamed[step->uses[i]] = false;
    }
    /* A turn has ended: in the background, other apps take two blocks. */
    for (int i = 0; i < 2 && drive->step % RECLAIM_STEPS == RECLAIM_STEPS - 1 && !drive->over; i++)
        if (!evict_one(drive, BLOCK_NONE, REMOVE_RECLAIMED))
            break;
    drive->step++;
    shown->view.step++;
    shown->view.now_ns += 1000000;
    shown->view.token = (uint32_t)(shown->view.step / 10);
}

/* ---- Beginning and end ---- */

static void set_view(struct check_drive *drive, uint32_t needs)
{
    struct check_shown *shown = &drive->world->shown;
    struct policy_view *view = &shown->view;
    view->blocks = shown->blocks;
    view->state = shown->state;
    view->evict_mask = MASK_DEMAND;
    view->ahead = shown->ahead;
    view->ahead_end = shown->ahead_end;
    view->used = shown->used;
    view->heat = needs & POLICY_NEEDS_HEAT ? shown->heat : NULL;
    view->profile = needs & POLICY_NEEDS_PROFILE ? shown->profile : NULL;
    view->next_use = needs & POLICY_NEEDS_FUTURE ? shown->next_use : NULL;
}

/* The first blocks, as many as the scene pins and the budget holds, and their bytes. */
static uint32_t choose_pins(struct check_drive *drive)
{
    struct policy_view *view = &drive->world->shown.view;
    uint32_t wanted = view->block_count * drive->world->scene.pin_percent / 100, pins = 0;
    while (pins < wanted && view->blocks[pins].bytes <= view->budget_bytes - view->pinned_bytes)
        view->pinned_bytes += view->blocks[pins++].bytes;
    return pins;
}

bool check_drive_start(struct check_drive *drive, struct check_memory *memory, const struct check_world *world,
                       const struct policy *tested, const int64_t *values, uint32_t named, uint64_t seed)
{
    *drive = (struct check_drive){.memory = memory, .tested = tested->kind, .seed = seed};
    drive->world = malloc(sizeof *drive->world);
    drive->before = malloc(sizeof *drive->before);
    if (drive->world == NULL || drive->before == NULL)
        return false;
    memcpy(drive->world, world, sizeof *world);
    rng_seed(&drive->rng, seed, 2);
    set_view(drive, tested->needs);
    if (tested->kind == POLICY_PIN)
        return check_seat_start(drive, POLICY_PIN, tested, values, named);
    uint32_t pins = choose_pins(drive);
    const struct policy *evict = tested->kind == POLICY_EVICT ? tested : policy_find("lru");
    if (!check_seat_start(drive, POLICY_EVICT, evict, values, named) ||
        (evict != tested && !drive->over && !check_seat_start(drive, tested->kind, tested, values, named)))
        return false;
    for (block_id b = 0; b < pins; b++) {
        set_state(drive, b, POLICY_RESIDENT | POLICY_PINNED, 0);
        drive->world->shown.view.held_bytes += drive->world->shown.blocks[b].bytes;
    }
    if (tested->kind == POLICY_EVICT && !drive->over)
        check_remark(drive, seed % 2 == 0 ? 256 : 16);
    if (tested->kind == POLICY_PREFETCH && !drive->over)
        check_reach(drive);
    return true;
}

void check_drive_end(struct check_drive *drive)
{
    for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++)
        check_seat_end(&drive->seats[kind]);
    free(drive->world);
    free(drive->before);
}
