/* The example plug-in, built as its README says, loaded as a stranger's would be, and driven. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>

#include "policies/policy.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS = 5 };

struct loaded {
    char folder[64], path[96];
    void *object;
    const struct policy *policy;
};

static int build_and_load(void **state)
{
    static struct loaded loaded; /* for the tests of this program only */
    char command[512];
    const char *cc = getenv("CC");
    strcpy(loaded.folder, "/tmp/pocketload-example-XXXXXX");
    if (mkdtemp(loaded.folder) == NULL)
        return -1;
    snprintf(loaded.path, sizeof loaded.path, "%s/mru.so", loaded.folder);
    snprintf(command, sizeof command, "%.100s -std=c17 -O2 -Wall -fPIC -shared -I. policies/example/mru.c -o %s",
             cc != NULL && *cc != '\0' ? cc : "cc", loaded.path);
    if (system(command) != 0 || (loaded.object = dlopen(loaded.path, RTLD_NOW | RTLD_LOCAL)) == NULL)
        return -1;
    loaded.policy = dlsym(loaded.object, "policy");
    *state = &loaded;
    return loaded.policy != NULL ? 0 : -1;
}

static int unload(void **state)
{
    struct loaded *loaded = *state;
    dlclose(loaded->object);
    return unlink(loaded->path) == 0 && rmdir(loaded->folder) == 0 ? 0 : -1;
}

/* Blocks 0..3 come in turn, 1 is used again, 4 is on its way; then `age` decides who goes. */
static block_id victim(const struct policy *policy, int64_t age, uint8_t state_of_1)
{
    struct policy_block blocks[BLOCKS] = {{.bytes = 1}, {.bytes = 1}, {.bytes = 1}, {.bytes = 1}, {.bytes = 1}};
    uint8_t state[BLOCKS] = {1, state_of_1, 1, 1, POLICY_LOADING};
    struct policy_view view = {
        .size = sizeof view,
        .block_count = BLOCKS,
        .blocks = blocks,
        .state = state,
        .evict_mask = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
    };
    struct policy_args args = {.values = &age};
    void *self = calloc(1, policy->state_size(&view, &args));
    assert_non_null(self);
    policy->init(self, &view, &args);
    for (block_id b = 0; b < BLOCKS - 1; b++)
        policy->ops.evict.on_insert(self, &view, b);
    policy->ops.evict.on_hit(self, &view, 1);
    policy->ops.evict.on_insert(self, &view, 4);
    block_id answer = policy->ops.evict.victim(self, &view, BLOCK_NONE);
    if (answer != BLOCK_NONE) {
        state[answer] = 0;
        policy->ops.evict.on_remove(self, &view, answer, REMOVE_EVICTED);
        assert_int_not_equal(policy->ops.evict.victim(self, &view, BLOCK_NONE), answer);
    }
    free(self);
    return answer;
}

static void example_evicts_the_newest(void **state)
{
    const struct loaded *loaded = *state;
    const struct policy *policy = loaded->policy;
    assert_int_equal(policy->abi, POLICY_ABI);
    assert_int_equal(policy->kind, POLICY_EVICT);
    assert_string_equal(policy->name, "mru");
    assert_int_equal(policy->param_count, 1);
    assert_int_equal(victim(policy, 0, POLICY_RESIDENT), 1);
    assert_int_equal(victim(policy, 0, POLICY_RESIDENT | POLICY_IN_USE), 3);
    assert_int_equal(victim(policy, 0, POLICY_RESIDENT | POLICY_PINNED), 3);
    /* Uses: 0 1 2 3 1 4. Two uses back and more: 3; three: 2; more than there were: the newest after all. */
    assert_int_equal(victim(policy, 2, POLICY_RESIDENT), 3);
    assert_int_equal(victim(policy, 3, POLICY_RESIDENT), 2);
    assert_int_equal(victim(policy, 100, POLICY_RESIDENT), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(example_evicts_the_newest)};
    return cmocka_run_group_tests(tests, build_and_load, unload);
}
