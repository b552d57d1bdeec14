/* The policies for layers and the ones that know the future where it gets narrow: what they say of a budget that is too
 * small, and blocks that come back again and again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS = 4 };

struct world {
    struct policy_view view;
    struct policy_block blocks[BLOCKS];
    uint8_t state[BLOCKS];
    uint32_t next_use[BLOCKS];
    const struct policy *policy;
    void *self;
};

static const struct policy *find(const char *name)
{
    size_t count = 0;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    fail_because("no policy %s", name);
    return NULL;
}

static void start(struct world *w, const char *name)
{
    const struct policy_args args = {.values = &(int64_t){0}};
    w->policy = find(name);
    w->view.block_count = BLOCKS;
    w->view.blocks = w->blocks;
    w->view.state = w->state;
    w->view.next_use = w->next_use;
    w->view.evict_mask = POLICY_RESIDENT | POLICY_LOADING;
    w->self = calloc(1, w->policy->state_size(&w->view, &args));
    assert_non_null(w->self);
    w->policy->init(w->self, &w->view, &args);
}

/* A prefetch that is dropped and made again and again leaves one entry each time, all of them valid ones. */
static void entries_of_returning_blocks_do_not_pile_up(void **unused)
{
    (void)unused;
    static const char *const names[] = {"belady", "belady-bypass", "belady-size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct world w = {.next_use = {1000, 999}};
        for (block_id b = 0; b < BLOCKS; b++)
            w.blocks[b].bytes = 3;
        start(&w, names[i]);
        const struct evict_ops *ops = &w.policy->ops.evict;
        w.state[0] = POLICY_RESIDENT;
        ops->on_insert(w.self, &w.view, 0);
        for (int round = 0; round < 10000; round++) {
            w.state[1] = POLICY_LOADING;
            ops->on_insert(w.self, &w.view, 1);
            if (round % 100 == 0)
                assert_int_equal(ops->victim(w.self, &w.view, BLOCK_NONE), 0);
            ops->on_remove(w.self, &w.view, 1, REMOVE_CANCELLED);
            w.state[1] = 0;
        }
        ops->on_remove(w.self, &w.view, 0, REMOVE_EVICTED);
        w.state[0] = 0;
        assert_int_equal(ops->victim(w.self, &w.view, BLOCK_NONE), BLOCK_NONE);
        free(w.self);
    }
}

static void remark(struct world *w, const char *name, char line[256])
{
    start(w, name);
    memset(line, 'x', 256);
    w->policy->ops.evict.remark(w->self, &w->view, line, 256);
    free(w->self);
}

static void remarks_say_what_is_wrong(void **unused)
{
    (void)unused;
    struct world w = {.view = {.budget_bytes = 12}};
    char line[256];
    for (block_id b = 0; b < BLOCKS; b++)
        w.blocks[b] = (struct policy_block){.bytes = 6, .layer = -1, .kind = BLOCK_OTHER};
    remark(&w, "cyclic", line);
    assert_non_null(strstr(line, "no block has a layer"));
    remark(&w, "layer-lru", line);
    assert_non_null(strstr(line, "this is lru"));
    remark(&w, "belady-size", line);
    assert_string_equal(line, "");
    for (block_id b = 0; b < BLOCKS; b++)
        w.blocks[b] = (struct policy_block){.bytes = 6, .layer = (int32_t)b % 2, .kind = BLOCK_EXPERT};
    remark(&w, "cyclic", line);
    assert_string_equal(line, "");
    remark(&w, "layer-lfu", line);
    assert_string_equal(line, "");
    w.view.budget_bytes = 11;
    remark(&w, "layer-lfu", line);
    assert_non_null(strstr(line, "less than one expert"));
    w.blocks[0].bytes = 5;
    remark(&w, "belady-size", line);
    assert_non_null(strstr(line, "not a bound"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_returning_blocks_do_not_pile_up),
        cmocka_unit_test(remarks_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
