/* Setting policies up, and naming what they did wrong. */
#include "sim/host.h"

#include <string.h>

#include "policies/answers.h"
#include "policies/plugin.h"

static const char *const part_names[] = {
    [POLICY_EVICT] = "eviction", [POLICY_PIN] = "pin", [POLICY_PREFETCH] = "prefetch", [POLICY_ADMIT] = "admission"};

/* Takes a table over: one that is shorter than ours lacks functions that came later, one that is longer has some that
 * this program does not call. */
static bool take_table(struct host *host, const struct policy *from, enum policy_kind kind, struct error *err)
{
    struct policy *table = &host->tables[kind];
    if (from->abi != POLICY_ABI)
        return fail(err, STATUS_USAGE, "policy '%s': contract version %u, this program speaks %u",
                    from->name ? from->name : "?", from->abi, POLICY_ABI);
    if (from->size < offsetof(struct policy, ops))
        return fail(err, STATUS_USAGE, "a policy's table says it has %u bytes: expected at least %zu", from->size,
                    offsetof(struct policy, ops));
    policy_table_complete(from, table);
    if (table->kind != kind)
        return fail(err, STATUS_USAGE, "policy '%s' is not of the %s kind", table->name ? table->name : "?",
                    part_names[kind]);
    if (!table->name || table->param_count > POLICY_PARAMS_MAX)
        return fail(err, STATUS_USAGE, "policy '%s': its table has no name, or more than %d parameters",
                    table->name ? table->name : "?", POLICY_PARAMS_MAX);
    const char *missing = policy_missing_function(table);
    return !missing || fail(err, STATUS_USAGE, "policy '%s': its table lacks %s()", table->name, missing);
}

static bool start_part(struct host *host, enum policy_kind kind, const struct policy_args *args, struct arena *arena,
                       void **self, struct error *err)
{
    const struct policy *policy = &host->tables[kind];
    size_t size = policy->state_size(&host->view, args);
    uint64_t limit = (uint64_t)host->view.block_count * POLICY_STATE_PER_BLOCK_MAX + POLICY_STATE_FIXED_MAX;
    if (size > limit)
        return fail(err, STATUS_CHECK, "policy '%s' asks for %zu bytes of state: at most %llu are given for %u blocks",
                    policy->name, size, (unsigned long long)limit, host->view.block_count);
    *self = arena_alloc(arena, 1, size > 0 ? size : 1);
    if (!*self)
        return fail(err, STATUS_IO, "out of memory");
    policy->init(*self, &host->view, args);
    if (kind != POLICY_PIN)
        host->parts[kind] = (struct host_part){*self, size, *args};
    return true;
}

/* Asks the pin rule; what it names counts as pinned from here on. */
static bool plan_pins(struct host *host, const struct policy_args *args, struct arena *arena, struct error *err)
{
    uint32_t n = host->view.block_count;
    const struct policy *policy = &host->tables[POLICY_PIN];
    void *self = NULL;
    block_id *plan = arena_alloc(arena, n, sizeof *plan);
    uint8_t *named = arena_alloc(arena, n, sizeof *named);
    if (!plan || !named)
        return fail(err, STATUS_IO, "out of memory");
    if (!start_part(host, POLICY_PIN, args, arena, &self, err))
        return false;
    uint32_t planned = policy->ops.pin.plan(self, &host->view, plan, n);
    if (planned > n)
        return fail(err, STATUS_CHECK, "policy '%s' pins %u blocks of %u", policy->name, planned, n);
    for (uint32_t i = 0; i < planned; i++) {
        block_id b = plan[i];
        if (b >= n || named[b])
            return fail(err, STATUS_CHECK, "policy '%s' pins block %u %s", policy->name, b,
                        b >= n ? "that does not exist" : "twice");
        named[b] = 1;
        if (host->blocks[b].bytes > host->view.budget_bytes - host->view.pinned_bytes)
            continue;
        host->view.pinned_bytes += host->blocks[b].bytes;
        plan[host->pin_count++] = b;
    }
    host->pins = plan;
    return true;
}

/* What the parts' `needs` ask for, beside the plain view. */
static bool init_needs(struct host *host, const struct host_spec *spec, uint32_t needs, struct arena *arena,
                       struct error *err)
{
    uint32_t n = spec->model->block_count;
    if (needs & POLICY_NEEDS_HEAT) {
        uint64_t *heat = arena_alloc(arena, n, sizeof *heat);
        if (!heat)
            return fail(err, STATUS_IO, "out of memory");
        trace_heat(spec->trace, heat);
        host->view.heat = heat;
    }
    if (needs & POLICY_NEEDS_PROFILE) {
        if (!spec->profile)
            return fail(
                err, STATUS_USAGE,
                "the policy needs the profile of an earlier run: expected a run whose config has policy.profile = "
                "FILE, as `pocketload policy profile` writes it");
        host->view.profile = spec->profile;
    }
    if (needs & POLICY_NEEDS_FUTURE) {
        if (!spec->future && !future_make(spec->trace, &host->own_future, err))
            return false;
        host->future = spec->future ? spec->future : &host->own_future;
        host->next_use = arena_alloc(arena, n, sizeof *host->next_use);
        if (!host->next_use)
            return fail(err, STATUS_IO, "out of memory");
        memcpy(host->next_use, host->future->first, n * sizeof *host->next_use);
        host->view.next_use = host->next_use;
    }
    return true;
}

static bool init_view(struct host *host, const struct host_spec *spec, struct arena *arena, struct error *err)
{
    uint32_t n = spec->model->block_count;
    host->state = arena_alloc(arena, n, sizeof *host->state);
    if (!host->state)
        return fail(err, STATUS_IO, "out of memory");
    host->blocks = spec->blocks;
    host->uses = spec->trace->uses;
    host->view = (struct policy_view){
        .size = sizeof host->view,
        .block_count = n,
        .blocks = spec->blocks,
        .state = host->state,
        .evict_mask = EVICT_MASK_DEMAND,
        .budget_bytes = spec->budget_bytes,
        .step_bytes_max = spec->step_bytes_max,
        .seed = spec->seed,
    };
    return true;
}

bool host_needs_future(const struct bound_part *const parts[POLICY_KINDS_COUNT])
{
    for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++)
        if (parts[kind] && parts[kind]->policy && parts[kind]->policy->needs & POLICY_NEEDS_FUTURE)
            return true;
    return false;
}

bool host_init(struct host *host, const struct host_spec *spec, struct arena *arena, struct error *err)
{
    memset(host, 0, sizeof *host);
    const struct bound_part *parts[POLICY_KINDS_COUNT] = {[POLICY_EVICT] = &spec->evict,
                                                          [POLICY_PIN] = &spec->pin,
                                                          [POLICY_PREFETCH] = &spec->prefetch,
                                                          [POLICY_ADMIT] = &spec->admit};
    uint32_t needs = 0;
    for (int kind = POLICY_EVICT; kind < POLICY_KINDS_COUNT; kind++) {
        if (!parts[kind]->policy)
            continue;
        if (!take_table(host, parts[kind]->policy, (enum policy_kind)kind, err))
            return false;
        needs |= host->tables[kind].needs;
    }
    if (!init_view(host, spec, arena, err))
        return false;
    host->view.may_exceed = spec->may_exceed && host->tables[POLICY_EVICT].needs & POLICY_MAY_EXCEED;
    if (!init_needs(host, spec, needs, arena, err))
        return false;
    if (spec->pin.policy && !plan_pins(host, &spec->pin.args, arena, err))
        return false;
    if (spec->evict.policy) {
        host->evict = &host->tables[POLICY_EVICT].ops.evict;
        if (!start_part(host, POLICY_EVICT, &spec->evict.args, arena, &host->evict_self, err))
            return false;
    }
    if (spec->admit.policy) {
        host->admission = &host->tables[POLICY_ADMIT].ops.admit;
        if (!start_part(host, POLICY_ADMIT, &spec->admit.args, arena, &host->admission_self, err))
            return false;
    }
    if (spec->prefetch.policy) {
        host->prefetch = &host->tables[POLICY_PREFETCH];
        if (!start_part(host, POLICY_PREFETCH, &spec->prefetch.args, arena, &host->prefetch_self, err))
            return false;
    }
    return true;
}

void host_restart(struct host *host)
{
    memset(host->state, 0, host->view.block_count * sizeof *host->state);
    host->view.held_bytes = 0;
    for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++) {
        const struct host_part *part = &host->parts[kind];
        if (!part->self)
            continue;
        memset(part->self, 0, part->size);
        host->tables[kind].init(part->self, &host->view, &part->args);
    }
}

void host_end(struct host *host)
{
    future_free(&host->own_future);
}

void host_remark(const struct host *host, char line[REMARK_TEXT])
{
    memset(line, 0, REMARK_TEXT);
    if (!host->evict || !host->evict->remark)
        return;
    host->evict->remark(host->evict_self, &host->view, line, REMARK_TEXT);
    line[REMARK_TEXT - 1] = '\0';
    for (char *c = line; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?'; /* a stranger's text: nothing that a terminal would obey */
}

bool host_blame(const struct host *host, const char *question, block_id answer, struct error *err)
{
    const char *name = host->tables[POLICY_EVICT].name;
    if (answer >= host->view.block_count)
        return fail(err, STATUS_CHECK, "policy '%s' answers %s() with block %u: there are %u blocks", name, question,
                    answer, host->view.block_count);
    return fail(err, STATUS_CHECK, "policy '%s' answers %s() with block %u: %s", name, question, answer,
                answer_why_not(&host->view, answer));
}
