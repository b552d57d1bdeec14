/* Capacities as people write them, and replay records. */
#include "sim/measure_replay.h"

#include <math.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "workloads/workload.h"

struct world {
    struct model model;
    struct trace trace;
    struct error err;
};

/* Each block once, twice over. */
static void make_world(struct world *world, const char *blocks)
{
    memset(world, 0, sizeof *world);
    assert_true(model_from_blocks("list", blocks, &world->model, &world->err));
    struct workload_spec spec = {
        .kind = WORKLOAD_DENSE, .output_tokens = 2, .compute_per_token_ns = -1, .prompt_compute_ns = -1};
    bool own;
    struct model none;
    assert_true(workload_compile(&spec, &world->model, &world->trace, &none, &own, &world->err));
}

static void free_world(struct world *world)
{
    trace_free(&world->trace);
    model_free(&world->model);
}

static void capacities_are_read(void **state)
{
    (void)state;
    struct world equal, mixed;
    struct capacity c;
    make_world(&equal, "4 x 1MiB");
    make_world(&mixed, "a:1MiB b:2MiB c:3MiB d:4MiB");
    assert_true(capacity_parse("3obj", &equal.model, &equal.trace, true, &c, &equal.err));
    assert_true(!c.by_objects && c.amount == 3 << 20);
    assert_true(capacity_parse("3obj", &mixed.model, &mixed.trace, true, &c, &mixed.err));
    assert_true(c.by_objects && c.amount == 3);
    assert_true(capacity_parse("12.5%", &mixed.model, &mixed.trace, true, &c, &mixed.err));
    assert_true(!c.by_objects && c.amount == (10 << 20) / 8);
    assert_true(capacity_parse("2MiB", &mixed.model, &mixed.trace, true, &c, &mixed.err));
    assert_int_equal(c.amount, 2 << 20);

    static const struct {
        const char *text, *message;
    } bad[] = {
        {"0obj", "\"0obj\": "},
        {"0B", "\"0B\": a capacity of 0"},
        {"0%", "less than one byte"},
        {"3", "has no unit"},
        {"18446744073709551615obj", "18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(capacity_parse(bad[i].text, &mixed.model, &mixed.trace, true, &c, &mixed.err));
        assert_int_equal(mixed.err.code, STATUS_USAGE);
        if (!strstr(mixed.err.text, bad[i].message))
            fail_because("\"%s\" not in \"%s\"", bad[i].message, mixed.err.text);
    }
    assert_false(capacity_parse("2MiB", &equal.model, &equal.trace, false, &c, &equal.err));
    assert_non_null(strstr(equal.err.text, "the trace has no sizes"));
    free_world(&equal);
    free_world(&mixed);
}

static bool measure(struct world *world, const struct policy_choice *choice, const struct capacity *capacity,
                    struct replay_record *record)
{
    const struct replay_setting setting = {.model = &world->model, .trace = &world->trace};
    struct replay_result result;
    if (!replay_measure(&setting, choice, capacity, &result, &world->err))
        return false;
    replay_record_fill(record, "trace", choice->label, capacity, &result);
    return true;
}

static void records_count_what_replays_do(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, "a:1MiB b:2MiB c:3MiB d:4MiB");
    struct policy_choice choice;
    struct capacity capacity;
    struct replay_record record;
    assert_true(policy_parse("pinned-lru+next", &choice, &world.err));
    assert_true(capacity_parse("3obj", &world.model, &world.trace, true, &capacity, &world.err));
    assert_true(measure(&world, &choice, &capacity, &record));
    /* Two of four are pinned, the hottest for their size: a and b. Each is used twice. */
    assert_int_equal(record.accesses, 8);
    assert_int_equal(record.hits, 4);
    assert_true(record.capacity_bytes == UINT64_MAX);
    assert_int_equal(record.bytes_read, (3 + 2 * 7) << 20);
    assert_true(fabs(record.byte_hit_rate - 0.3) < 1e-12);
    assert_string_equal(record.capacity, "3obj");

    assert_true(policy_parse("lru+hot(2MiB)", &choice, &world.err));
    assert_false(measure(&world, &choice, &capacity, &record));
    assert_non_null(strstr(world.err.text, "size is a size"));

    assert_true(policy_parse("lru+blocks(nobody)", &choice, &world.err));
    assert_false(measure(&world, &choice, &capacity, &record));
    assert_non_null(strstr(world.err.text, "nobody"));
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacities_are_read),
        cmocka_unit_test(records_count_what_replays_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
