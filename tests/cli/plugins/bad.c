/* A plug-in with one defect, chosen by -DDEFECT=NAME: what `policy check`, `replay` and `run` have to stand.
 *
 * Without its defect it is FIFO: blocks bear the number of their arrival, and the lowest goes. */
#include <signal.h>
#include <unistd.h>

#include "policies/policy.h"

enum defect {
    NONE,
    CRASH,            /* victim() crashes */
    LOOP,             /* victim() never returns */
    ENDS,             /* victim() ends the process */
    PINNED,           /* victim() answers with a pinned block */
    ABSENT,           /* victim() answers with a block that is not there */
    OUTSIDE,          /* victim() answers with a block that does not exist */
    SILENT,           /* victim() has no answer though there is one */
    VERSION,          /* another version of the contract */
    CONSTRUCTOR,      /* loading it crashes */
    CONSTRUCTOR_LOOP, /* loading it never ends */
    WILD_NAME,        /* its name points nowhere */
    BEFORE,           /* writes before its state */
    BEHIND,           /* writes behind its state */
    VIEW,             /* writes into the view */
    SHARED,           /* keeps state in a variable that all runs share */
    RELEASE,          /* release() answers with a block that is in use */
    REMARK,           /* remark() writes two lines */
    REMARK_LONG,      /* remark() writes more than it may */
    GREEDY,           /* asks for more state than is given */
    MOODY,            /* asks for other amounts each time */
    NAMES,            /* none: it has a visible function of a name that the program uses too */
};

#ifndef DEFECT
#define DEFECT NONE
#endif

struct state {
    uint64_t arrivals, asked;
    uint64_t arrival[];
};

static uint64_t shared;

/* A function that others can see, of a name that the program has too. */
uint64_t add(uint64_t left, uint64_t right);
uint64_t add(uint64_t left, uint64_t right)
{
    return left + right;
}

static size_t state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    if (DEFECT == GREEDY)
        return SIZE_MAX / 2;
    return sizeof(struct state) + (view->block_count + (DEFECT == MOODY ? shared++ : 0)) * sizeof(uint64_t);
}

static void init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
}

static void on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct state *state = self;
    state->arrivals = DEFECT == NAMES ? add(state->arrivals, 1) : state->arrivals + 1;
    state->arrival[b] = state->arrivals;
    if (DEFECT == BEHIND)
        state->arrival[view->block_count] = 1;
    if (DEFECT == BEFORE)
        ((uint8_t *)self)[-1] = 1;
    if (DEFECT == VIEW)
        ((uint8_t *)(uintptr_t)view->state)[b] = POLICY_RESIDENT;
}

static block_id wrong(const struct policy_view *view)
{
    for (block_id b = 0; b < view->block_count; b++)
        if ((DEFECT == PINNED && view->state[b] & POLICY_PINNED) ||
            (DEFECT == ABSENT && !(view->state[b] & (POLICY_RESIDENT | POLICY_LOADING))))
            return b;
    return DEFECT == OUTSIDE ? view->block_count : BLOCK_NONE;
}

static block_id victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct state *state = self;
    static void (*volatile nowhere)(void);
    volatile bool forever = DEFECT == LOOP;
    while (forever)
        continue;
    if (DEFECT == CRASH)
        nowhere();
    if (DEFECT == ENDS)
        _exit(3);
    block_id oldest = wrong(view);
    if (oldest != BLOCK_NONE)
        return oldest;
    for (block_id b = 0; b < view->block_count; b++)
        if (policy_may_evict(view, b) && (oldest == BLOCK_NONE || state->arrival[b] < state->arrival[oldest]))
            oldest = b;
    if (DEFECT == SHARED && ++shared % 1000 == 999)
        oldest = BLOCK_NONE;
    return DEFECT == SILENT && ++state->asked % 5 == 0 ? BLOCK_NONE : oldest;
}

static void on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)self, (void)view, (void)b, (void)reason;
}

static block_id give_up(void *self, const struct policy_view *view)
{
    (void)self;
    for (block_id b = 0; b < view->block_count; b++)
        if (view->state[b] & POLICY_IN_USE && view->state[b] & POLICY_RESIDENT)
            return b;
    return BLOCK_NONE;
}

static void comment(const void *self, const struct policy_view *view, char *line, size_t size)
{
    (void)self, (void)view;
    static const char text[] = "one\nand another";
    for (size_t i = 0; i < sizeof text && (i < size || DEFECT == REMARK_LONG); i++)
        line[i] = DEFECT == REMARK_LONG && i >= size ? 'x' : text[i];
    line[size - 1] = '\0';
    if (DEFECT == REMARK_LONG)
        line[size] = 'x';
}

#if defined(WANTS_CONSTRUCTOR)
__attribute__((constructor)) static void start(void)
{
    volatile bool forever = DEFECT == CONSTRUCTOR_LOOP;
    while (forever)
        pause();
    raise(SIGSEGV);
}
#endif

#if defined(WANTS_DESTRUCTOR)
__attribute__((destructor)) static void end(void)
{
    raise(SIGSEGV);
}
#endif

const struct policy
#if defined(WANTS_NO_SYMBOL)
    another_name
#else
    policy
#endif
    = {
        .abi = DEFECT == VERSION ? 7 : POLICY_ABI,
        .size = sizeof(struct policy),
        .kind = POLICY_EVICT,
        .name = DEFECT == WILD_NAME ? (const char *)8 : "bad",
        .summary = "a plug-in with a defect",
        .state_size = state_size,
        .init = init,
        .ops.evict =
            {
                .victim = victim,
                .on_insert = on_insert,
                .on_remove = on_remove,
                .release = DEFECT == RELEASE ? give_up : NULL,
                .remark = DEFECT == REMARK || DEFECT == REMARK_LONG ? comment : NULL,
            },
};
