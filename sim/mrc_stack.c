/* The tree of positions. */
#include "sim/mrc_stack.h"

#include <string.h>

/* Positions of a group: two cache lines of sizes, in exchange for four steps of each walk over the tree. */
enum { GROUP = 16, POSITIONS_MIN = 1024 };

bool mrc_stack_init(struct mrc_stack *stack, const struct policy_block *sizes, uint32_t block_count,
                    struct arena *arena)
{
    const uint64_t most = 2 * (uint64_t)block_count;
    const uint32_t groups = (uint32_t)((most < POSITIONS_MIN ? POSITIONS_MIN : most) / GROUP + 1);
    *stack = (struct mrc_stack){
        .sizes = sizes, .block_count = block_count, .group_count = groups, .line_length = groups * GROUP};
    stack->place = arena_alloc(arena, block_count, sizeof *stack->place);
    stack->owner = arena_alloc(arena, stack->line_length, sizeof *stack->owner);
    stack->line = arena_alloc(arena, stack->line_length, sizeof *stack->line);
    stack->tree = arena_alloc(arena, (size_t)groups + 1, sizeof *stack->tree);
    return stack->place && stack->owner && stack->line && stack->tree;
}

void mrc_stack_clear(struct mrc_stack *stack)
{
    memset(stack->place, 0, stack->block_count * sizeof *stack->place);
    memset(stack->line, 0, stack->line_length * sizeof *stack->line);
    memset(stack->tree, 0, ((size_t)stack->group_count + 1) * sizeof *stack->tree);
    stack->next = 0;
    stack->total = 0;
}

static inline void tree_add(struct mrc_stack *stack, uint32_t position, uint64_t amount)
{
    for (uint32_t g = position / GROUP + 1; g <= stack->group_count; g += g & -g)
        stack->tree[g] += amount; /* modulo 2^64: subtracts, too */
}

/* The sum of the sizes before a position. */
static inline uint64_t sum_before(const struct mrc_stack *stack, uint32_t position)
{
    uint64_t sum = 0;
    for (uint32_t g = position / GROUP; g > 0; g -= g & -g)
        sum += stack->tree[g];
    for (uint32_t p = position / GROUP * GROUP; p < position; p++)
        sum += stack->line[p];
    return sum;
}

static void move_together(struct mrc_stack *stack)
{
    uint32_t to = 0;
    for (uint32_t from = 0; from < stack->next; from++) {
        if (stack->line[from] == 0)
            continue;
        stack->line[to] = stack->line[from];
        stack->owner[to] = stack->owner[from];
        stack->place[stack->owner[to]] = to + 1;
        to++;
    }
    memset(stack->line + to, 0, (stack->line_length - to) * sizeof *stack->line);
    stack->next = to;
    /* Each group's sum, handed up to the group that holds it. */
    memset(stack->tree, 0, ((size_t)stack->group_count + 1) * sizeof *stack->tree);
    for (uint32_t g = 1; g <= stack->group_count; g++) {
        for (uint32_t p = (g - 1) * GROUP; p < g * GROUP; p++)
            stack->tree[g] += stack->line[p];
        const uint32_t above = g + (g & -g);
        if (above <= stack->group_count)
            stack->tree[above] += stack->tree[g];
    }
}

uint64_t mrc_stack_access(struct mrc_stack *stack, block_id b)
{
    const uint64_t size = stack->sizes ? stack->sizes[b].bytes : 1;
    uint64_t distance = MRC_FIRST_USE;
    if (stack->next == stack->line_length)
        move_together(stack);
    if (stack->place[b] != 0) {
        const uint32_t old = stack->place[b] - 1;
        distance = stack->total - sum_before(stack, old);
        stack->line[old] = 0;
        tree_add(stack, old, -size);
    } else {
        stack->total += size;
    }
    stack->line[stack->next] = size;
    stack->owner[stack->next] = b;
    tree_add(stack, stack->next, size);
    stack->place[b] = ++stack->next;
    return distance;
}
