/* Plain lists in place of policies: see naive_policy.h. */
#include "tests/reference/naive_policy.h"

#include <stdlib.h>

#include "base/error.h"

__extension__ typedef unsigned __int128 wide;

static block_id *all_accesses(const struct trace *trace)
{
    uint64_t steps, count = 0;
    uint32_t *flat = naive_flatten(trace, &steps);
    block_id *all = calloc(steps * trace->step_uses_max + 1, sizeof *all);
    must(all != NULL);
    for (uint64_t i = 0; i < steps; i++)
        count += naive_step_blocks(trace, flat[i], false, all + count);
    free(flat);
    return all;
}

void naive_order_start(struct naive_order *order, const struct naive_choice *choice, const struct model *model,
                       const struct trace *trace)
{
    *order = (struct naive_order){.choice = choice,
                                  .model = model,
                                  .blocks = calloc(model->block_count, sizeof *order->blocks),
                                  .accesses = all_accesses(trace),
                                  .access_count = trace->access_count};
    must(order->blocks != NULL);
}

void naive_order_free(struct naive_order *order)
{
    free(order->blocks);
    free(order->accesses);
    *order = (struct naive_order){0};
}

void naive_order_insert(struct naive_order *order, block_id b)
{
    order->blocks[order->count++] = b;
}

void naive_order_remove(struct naive_order *order, block_id b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < order->count; i++)
        if (order->blocks[i] != b)
            order->blocks[kept++] = order->blocks[i];
    must(kept + 1 == order->count);
    order->count = kept;
}

void naive_order_hit(struct naive_order *order, block_id b)
{
    if (order->choice->evict == NAIVE_FIFO)
        return;
    for (uint32_t i = 0; i < order->count; i++) {
        if (order->blocks[i] == b) { /* a pinned block is in no list */
            naive_order_remove(order, b);
            naive_order_insert(order, b);
            return;
        }
    }
}

void naive_order_access(struct naive_order *order)
{
    order->told++;
}

/* The number of the next access to b that is not told yet; UINT64_MAX: none. */
static uint64_t next_use(const struct naive_order *order, block_id b)
{
    for (uint64_t i = order->told; i < order->access_count; i++)
        if (order->accesses[i] == b)
            return i;
    return UINT64_MAX;
}

block_id naive_order_victim(const struct naive_order *order, naive_may_evict *may, const void *context)
{
    block_id best = BLOCK_NONE;
    for (uint32_t i = 0; i < order->count; i++) {
        block_id b = order->blocks[i];
        if (!may(context, b))
            continue;
        if (order->choice->evict != NAIVE_FARTHEST)
            return b;
        if (best == BLOCK_NONE || next_use(order, b) > next_use(order, best) ||
            (next_use(order, b) == next_use(order, best) && b < best))
            best = b;
    }
    return best;
}

block_id naive_order_release(const struct naive_order *order, naive_may_evict *may, const void *context)
{
    uint64_t own = 0;
    for (uint32_t i = 0; i < order->count; i++)
        own += order->model->blocks[order->blocks[i]].bytes;
    if (order->choice->evict != NAIVE_CAPPED || own <= order->choice->cap_bytes)
        return BLOCK_NONE;
    return naive_order_victim(order, may, context);
}

bool naive_order_admits(const struct naive_order *order, block_id b)
{
    const struct naive_choice *choice = order->choice;
    uint64_t access = order->told > 0 ? order->told - 1 : 0;
    return (choice->admit == NAIVE_ADMIT_ALL || (7 * (uint64_t)b + access) % 5 != 0) &&
           (choice->evict != NAIVE_CAPPED || order->model->blocks[b].bytes <= choice->cap_bytes);
}

uint32_t naive_step_blocks(const struct trace *trace, uint32_t step, bool foreseen, block_id *out)
{
    uint32_t count = 0;
    uint32_t begin = trace->step_first ? trace->step_first[step] : step;
    uint32_t end = trace->step_first ? trace->step_first[step + 1] : step + 1;
    for (uint32_t u = begin; u < end; u++) {
        block_id b = trace->uses[u] & USE_BLOCK;
        bool again = false;
        for (uint32_t v = begin; v < u; v++)
            again |= (trace->uses[v] & USE_BLOCK) == b;
        if (!again && !(foreseen && (trace->uses[u] & USE_UNSEEN)))
            out[count++] = b;
    }
    return count;
}

uint32_t *naive_flatten(const struct trace *trace, uint64_t *count)
{
    uint64_t total = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++)
        total += (uint64_t)trace->segments[s].step_count * trace->segments[s].repeat;
    uint32_t *flat = calloc(total + 1, sizeof *flat);
    must(flat != NULL);
    uint64_t at = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++)
        for (uint32_t r = 0; r < trace->segments[s].repeat; r++)
            for (uint32_t i = 0; i < trace->segments[s].step_count; i++)
                flat[at++] = trace->segments[s].first_step + i;
    *count = total;
    return flat;
}

static uint32_t hottest(const struct naive_choice *choice, const struct model *model, const struct trace *trace,
                        uint64_t budget_bytes, block_id *out)
{
    uint32_t n = model->block_count;
    uint64_t *heat = calloc(n, sizeof *heat);
    bool *taken = calloc(n, sizeof *taken);
    block_id *named = calloc(n, sizeof *named);
    must(heat != NULL && taken != NULL && named != NULL);
    uint64_t steps, widest = 0;
    uint32_t *flat = naive_flatten(trace, &steps);
    for (uint64_t i = 0; i < steps; i++) {
        uint32_t count = naive_step_blocks(trace, flat[i], false, named);
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < count; k++) {
            heat[named[k]]++;
            bytes += model->blocks[named[k]].bytes;
        }
        widest = bytes > widest ? bytes : widest;
    }
    uint64_t room = choice->hot_by_default ? (budget_bytes > widest ? budget_bytes - widest : 0) : choice->hot_bytes;
    uint32_t count = 0;
    for (uint32_t round = 0; round < n; round++) {
        block_id best = BLOCK_NONE;
        for (block_id b = 0; b < n; b++)
            if (!taken[b] && heat[b] > 0 &&
                (best == BLOCK_NONE ||
                 (wide)heat[b] * model->blocks[best].bytes > (wide)heat[best] * model->blocks[b].bytes))
                best = b;
        if (best == BLOCK_NONE)
            break;
        taken[best] = true;
        if (model->blocks[best].bytes <= room) {
            room -= model->blocks[best].bytes;
            out[count++] = best;
        }
    }
    free(heat);
    free(taken);
    free(named);
    free(flat);
    return count;
}

uint32_t naive_pins(const struct naive_choice *choice, const struct model *model, const struct trace *trace,
                    uint64_t budget_bytes, block_id *out)
{
    uint32_t count = 0;
    if (choice->pin == NAIVE_PIN_HOT)
        return hottest(choice, model, trace, budget_bytes, out);
    if (choice->pin == NAIVE_PIN_KINDS)
        for (block_id b = 0; b < model->block_count; b++)
            if (choice->kinds >> model->blocks[b].kind & 1)
                out[count++] = b;
    if (choice->pin == NAIVE_PIN_BLOCKS)
        for (; count < choice->blocks_count; count++)
            out[count] = choice->blocks[count];
    return count;
}
