/* Setting policies up, and naming what they did wrong. */
#include "sim/host.h"

#include <string.h>

static const char *const part_names[] = {
    [POLICY_EVICT] = "eviction", [POLICY_PIN] = "pin", [POLICY_PREFETCH] = "prefetch"};

static bool check_part(const struct bound_part *part, enum policy_kind kind, struct error *err)
{
    const struct policy *policy = part->policy;
    if (policy->abi != POLICY_ABI)
        return fail(err, STATUS_USAGE, "policy '%s': contract version %u, this program speaks %u",
                    policy->name ? policy->name : "?", policy->abi, POLICY_ABI);
    if (policy->kind != kind)
        return fail(err, STATUS_USAGE, "policy '%s' is not of the %s kind", policy->name, part_names[kind]);
    bool complete = policy->name && policy->state_size && policy->init && policy->param_count <= POLICY_PARAMS_MAX;
    if (kind == POLICY_EVICT)
        complete = complete && policy->ops.evict.victim && policy->ops.evict.on_insert && policy->ops.evict.on_remove;
    else if (kind == POLICY_PIN)
        complete = complete && policy->ops.pin.plan;
    else
        complete = complete && policy->ops.prefetch.plan && policy->ops.prefetch.reach;
    if (!complete)
        return fail(err, STATUS_USAGE, "policy '%s': its table lacks a function that the contract requires",
                    policy->name ? policy->name : "?");
    return true;
}

enum { POLICY_STATE_PER_BLOCK_MAX = 4096, POLICY_STATE_FIXED_MAX = 1 << 26 };

static bool start_part(struct host *host, const struct bound_part *part, struct arena *arena, void **self,
                       struct error *err)
{
    size_t size = part->policy->state_size(&host->view, &part->args);
    uint64_t limit = (uint64_t)host->view.block_count * POLICY_STATE_PER_BLOCK_MAX + POLICY_STATE_FIXED_MAX;
    if (size > limit)
        return fail(err, STATUS_CHECK, "policy '%s' asks for %zu bytes of state: at most %llu are given for %u blocks",
                    part->policy->name, size, (unsigned long long)limit, host->view.block_count);
    *self = arena_alloc(arena, 1, size > 0 ? size : 1);
    if (!*self)
        return fail(err, STATUS_IO, "out of memory");
    part->policy->init(*self, &host->view, &part->args);
    return true;
}

bool host_init(struct host *host, const struct model *model, const struct trace *trace, uint64_t budget_bytes,
               const struct bound_part *evict, const struct bound_part *pin, const struct bound_part *prefetch,
               struct arena *arena, struct error *err)
{
    memset(host, 0, sizeof *host);
    const struct bound_part *parts[] = {[POLICY_EVICT] = evict, [POLICY_PIN] = pin, [POLICY_PREFETCH] = prefetch};
    uint32_t needs = 0;
    for (int kind = POLICY_EVICT; kind <= POLICY_PREFETCH; kind++) {
        if (!parts[kind]->policy)
            continue;
        if (!check_part(parts[kind], (enum policy_kind)kind, err))
            return false;
        needs |= parts[kind]->policy->needs;
    }

    host->state = arena_alloc(arena, model->block_count, sizeof *host->state);
    uint64_t *heat = needs & POLICY_NEEDS_HEAT ? arena_alloc(arena, model->block_count, sizeof *heat) : NULL;
    if (!host->state || (needs & POLICY_NEEDS_HEAT && !heat))
        return fail(err, STATUS_IO, "out of memory");
    if (heat)
        trace_heat(trace, heat);
    host->blocks = model->policy_blocks;
    host->view = (struct policy_view){
        .size = sizeof host->view,
        .block_count = model->block_count,
        .blocks = host->blocks,
        .state = host->state,
        .evict_mask = EVICT_MASK_DEMAND,
        .budget_bytes = budget_bytes,
        .step_bytes_max = trace->step_bytes_max,
        .heat = heat,
    };
    host->pin = *pin;
    host->prefetch = *prefetch;
    if (evict->policy) {
        host->evict_policy = evict->policy;
        host->evict = &evict->policy->ops.evict;
        if (!start_part(host, evict, arena, &host->evict_self, err))
            return false;
    }
    return !prefetch->policy || start_part(host, prefetch, arena, &host->prefetch_self, err);
}

bool host_plan_pins(struct host *host, struct arena *arena, block_id **blocks, uint32_t *count, struct error *err)
{
    *count = 0;
    *blocks = NULL;
    if (!host->pin.policy)
        return true;
    uint32_t n = host->view.block_count;
    void *self = NULL;
    block_id *plan = arena_alloc(arena, n, sizeof *plan);
    uint8_t *named = arena_alloc(arena, n, sizeof *named);
    if (!plan || !named)
        return fail(err, STATUS_IO, "out of memory");
    if (!start_part(host, &host->pin, arena, &self, err))
        return false;
    uint32_t planned = host->pin.policy->ops.pin.plan(self, &host->view, plan, n);
    if (planned > n)
        return fail(err, STATUS_CHECK, "policy '%s' pins %u blocks of %u", host->pin.policy->name, planned, n);
    uint64_t pinned_bytes = 0;
    for (uint32_t i = 0; i < planned; i++) {
        block_id b = plan[i];
        if (b >= n || named[b])
            return fail(err, STATUS_CHECK, "policy '%s' pins block %u %s", host->pin.policy->name, b,
                        b >= n ? "that does not exist" : "twice");
        named[b] = 1;
        if (host->blocks[b].bytes > host->view.budget_bytes - pinned_bytes)
            continue;
        pinned_bytes += host->blocks[b].bytes;
        plan[(*count)++] = b;
    }
    *blocks = plan;
    return true;
}

bool host_blame(const struct host *host, block_id answer, struct error *err)
{
    const char *name = host->evict_policy->name;
    if (answer >= host->view.block_count)
        return fail(err, STATUS_CHECK, "policy '%s' answers victim() with block %u: there are %u blocks", name, answer,
                    host->view.block_count);
    uint8_t state = host->state[answer];
    const char *why = state & POLICY_LOADING       ? "it is in flight"
                      : !(state & POLICY_RESIDENT) ? "it is not resident"
                      : state & POLICY_PINNED      ? "it is pinned"
                      : state & POLICY_IN_USE      ? "the running step uses it"
                                                   : "a prefetch may not evict what another prefetch brought";
    return fail(err, STATUS_CHECK, "policy '%s' answers victim() with block %u: %s", name, answer, why);
}
