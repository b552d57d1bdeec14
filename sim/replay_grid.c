/* Replays as tasks of worker processes. */
#include "sim/replay_grid.h"

#include <stdlib.h>
#include <string.h>

struct grid_work {
    const struct replay_grid *grid;
    struct replay_setting setting;
    struct replay_cell *cells;
    const size_t *places; /* by task: its cell */
    size_t done;
    struct replay_result sent; /* of a worker */
};

static const struct policy_choice *choice_of(const struct replay_grid *grid, size_t place)
{
    return &grid->policies[place % grid->policy_count];
}

static const struct capacity *capacity_of(const struct replay_grid *grid, size_t place)
{
    return &grid->capacities[place / grid->policy_count];
}

static bool work_one(void *context, size_t task, struct farm_part parts[FARM_PARTS_MAX], struct error *err)
{
    struct grid_work *work = context;
    const size_t place = work->places[task];
    if (!replay_measure(&work->setting, choice_of(work->grid, place), capacity_of(work->grid, place), &work->sent, err))
        return false;
    parts[0] = (struct farm_part){&work->sent, sizeof work->sent};
    return true;
}

static bool keep_error(struct grid_work *work, size_t place, const struct farm_outcome *outcome, struct error *err)
{
    struct error *error = malloc(sizeof *error);
    if (!error)
        return fail(err, STATUS_IO, "out of memory");
    if (outcome->error)
        *error = *outcome->error;
    else
        fail(error, STATUS_CHECK, "the worker process sent %zu bytes that are no result", outcome->size);
    if (!outcome->error || outcome->lost) {
        error->code = STATUS_CHECK; /* who else than the policy could have done it */
        fail_in(error, "%s at %s", choice_of(work->grid, place)->label, capacity_of(work->grid, place)->text);
    }
    work->cells[place].error = error;
    return true;
}

static bool take_one(void *context, const struct farm_outcome *outcome, struct error *err)
{
    struct grid_work *work = context;
    const size_t place = work->places[outcome->task];
    struct replay_cell *cell = &work->cells[place];
    cell->done = true;
    if (outcome->error || outcome->size != sizeof cell->result) {
        if (!keep_error(work, place, outcome, err))
            return false;
    } else {
        memcpy(&cell->result, outcome->bytes, sizeof cell->result);
        cell->result.remark[sizeof cell->result.remark - 1] = '\0';
    }
    if (work->grid->finished)
        work->grid->finished(work->grid->context, ++work->done);
    return true;
}

static bool has_plugin(const struct policy_choice *choice)
{
    const struct policy_part *const parts[] = {&choice->evict, &choice->pin, &choice->admit};
    const char *path;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]->policy && policy_plugin_file(parts[i], &path))
            return true;
    return false;
}

static bool needs_future(const struct replay_grid *grid)
{
    for (size_t p = 0; p < grid->policy_count; p++) {
        const struct policy_choice *choice = &grid->policies[p];
        const struct policy *const parts[] = {choice->evict.policy, choice->pin.policy, choice->admit.policy};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (parts[i] && (parts[i]->needs & POLICY_NEEDS_FUTURE))
                return true;
    }
    return false;
}

static bool check_all(const struct replay_grid *grid, struct error *err)
{
    for (size_t place = 0; place < grid->policy_count * grid->capacity_count; place++)
        if (!replay_check(&grid->setting, choice_of(grid, place), capacity_of(grid, place), err))
            return false;
    return true;
}

/* The cells to replay, and the limit of each. */
static size_t list_tasks(const struct replay_grid *grid, int64_t timeout_ms, size_t *places, int64_t *timeouts_ms)
{
    size_t count = 0;
    for (size_t place = 0; place < grid->policy_count * grid->capacity_count; place++) {
        if (grid->left_out && grid->left_out[place])
            continue;
        const int64_t fallback = has_plugin(choice_of(grid, place)) ? REPLAY_PLUGIN_TIMEOUT_MS : 0;
        timeouts_ms[count] = timeout_ms > 0 ? timeout_ms : fallback;
        places[count++] = place;
    }
    return count;
}

bool replay_grid_run(const struct replay_grid *grid, const struct farm_options *options, struct replay_cell *cells,
                     bool *stopped, struct error *err)
{
    const size_t most = grid->policy_count * grid->capacity_count;
    *stopped = false;
    if (!check_all(grid, err))
        return false;
    struct future future = {0};
    struct error ignored; /* a replay that lacks it makes it again, and tells why it cannot */
    const bool has_future =
        !grid->setting.future && needs_future(grid) && future_make(grid->setting.trace, &future, &ignored);
    size_t *places = calloc(most + 1, sizeof *places);
    int64_t *timeouts_ms = calloc(most + 1, sizeof *timeouts_ms);
    bool good = (places && timeouts_ms) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        struct grid_work work = {.grid = grid, .setting = grid->setting, .cells = cells, .places = places};
        if (has_future)
            work.setting.future = &future;
        const struct farm_tasks tasks = {.count = list_tasks(grid, options->timeout_ms, places, timeouts_ms),
                                         .context = &work,
                                         .work = work_one,
                                         .take = take_one,
                                         .timeouts_ms = timeouts_ms};
        good = farm_do(&tasks, options, stopped, err);
    }
    free(places);
    free(timeouts_ms);
    if (has_future)
        future_free(&future);
    return good;
}

void replay_cells_free(struct replay_cell *cells, size_t count)
{
    for (size_t i = 0; cells && i < count; i++) {
        free(cells[i].error);
        cells[i].error = NULL;
    }
}
