/* Runs beside other apps: their timeline, who dies and when, swapped memory, what samples show. */
#include <stdio.h>
#include <string.h>

#include "sim/apps.h"
#include "tests/unit/sim/mapped_world.h"

/* The world as a phone with other apps, whose files are mapped or, with a budget, read in blocks. */
static void on_a_phone(struct mapped_world *world, enum kill_rule rule, const char *apps, uint64_t budget_bytes)
{
    struct pressure_spec *pressure = &world->spec.device.pressure;
    struct app_spec *list;
    assert_true(apps_parse(apps, &world->arena, &list, &pressure->app_count, &world->err));
    pressure->apps = list;
    pressure->rule = rule;
    pressure->watermark_scale = 10;
    pressure->zram_ratio_ppm = 2800000;
    if (budget_bytes == 0)
        return;
    world->spec.loader.mode = LOADER_CHUNKED;
    world->spec.loader.budget_bytes = budget_bytes;
    world->spec.loader.prefetch_lanes = 1;
    mapped_world_policy(world, "lru");
}

static void other_apps_die_and_are_told(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 100, 32);
    on_a_phone(&world, KILL_NONE, "home:600:1MiB mail:900:4MiB tube:800:30MiB@12345us", 0);
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
    assert_int_equal(numbers->apps_killed, 2);
    assert_int_equal(world.result.kill_count, 2);
    assert_int_equal(world.result.kills[0].time_ns, 12345000);
    assert_int_equal(world.result.kills[0].app, 1);
    assert_int_equal(world.result.kills[1].bytes, 30 << 20);
    assert_string_equal(numbers->kills, "mail(900) at 0.012 s by oom; tube(800) at 0.012 s by oom");
    /* The file made room first, and was read again. */
    assert_true(numbers->evictions > 0);
    assert_true(numbers->bytes_read > 8 << 20);
    assert_true(numbers->virtual_time_ns > 12345000);
    mapped_world_free(&world);
}

static void kills_that_do_not_fit_are_cut(void **state)
{
    (void)state;
    struct mapped_world world;
    char apps[2000] = "", expected[RUN_KILLS_TEXT];
    size_t used = 0;
    for (int i = 0; i < 20; i++)
        used +=
            (size_t)snprintf(apps + used, sizeof apps - used, "an.app.with.a.long.name.%02d:%d:1MiB@1ms ", i, 1000 - i);
    snprintf(apps + used, sizeof apps - used, "last:1:100MiB@2ms");
    mapped_world_make(&world, "8 x 1MiB", 100, 32);
    on_a_phone(&world, KILL_NONE, apps, 0);
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->apps_killed, 21);
    used = 0;
    for (int i = 0; i < 10; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used,
                                 "an.app.with.a.long.name.%02d(%d) at 0.002 s by oom; ", i, 1000 - i);
    size_t length = strlen(numbers->kills);
    assert_true(length < RUN_KILLS_TEXT);
    assert_string_equal(numbers->kills + length - 8, "oom; ...");
    assert_memory_equal(numbers->kills, expected, used < length - 3 ? used : length - 3);
    mapped_world_free(&world);
}

static void an_app_that_grows_kills_this_one_at_its_time(void **state)
{
    (void)state;
    struct mapped_world world;
    for (int mapped = 0; mapped < 2; mapped++) {
        mapped_world_make(&world, "4 x 1MiB", 2000, 16);
        on_a_phone(&world, KILL_NONE, "system:-900:1MiB+100MiB/s..1GiB", mapped ? 0 : 4 << 20);
        world.spec.device.runtime_bytes = 2 << 20;
        const struct run_numbers *numbers = mapped_world_run(&world);
        assert_int_equal(numbers->outcome, OUTCOME_KILLED);
        assert_string_equal(numbers->killed_by, "oom");
        assert_string_equal(numbers->killed_phase, "decode");
        /* 1 MiB more every 10 ms. Blocks in memory stay: 2 + 4 of 16 MiB; a file goes, and page tables stay. */
        int64_t died_ns = (mapped ? 13 : 10) * INT64_C(10000000);
        assert_true(numbers->virtual_time_ns >= died_ns);
        assert_true(numbers->virtual_time_ns <= died_ns + mapped * 200000); /* a fault is ended first */
        assert_int_equal(numbers->apps_killed, 0);
        assert_string_equal(numbers->kills, "");
        assert_int_equal(numbers->virtual_time_ns,
                         numbers->load_ns + numbers->compute_ns + numbers->stall_ns + numbers->idle_ns);
        uint64_t accesses = 0;
        for (uint64_t i = 0; i < world.result.token_count; i++)
            accesses += world.result.tokens[i].accesses;
        assert_int_equal(accesses, numbers->accesses);
        assert_int_equal(world.result.token_count, numbers->tokens + 1);
        mapped_world_free(&world);
    }
}

/* Death while the compute thread waits for a read, which is not done then. */
static void a_death_cuts_a_read_off(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 2000, 16);
    on_a_phone(&world, KILL_NONE, "system:-900:16MiB@10500us", 2 << 20);
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_int_equal(numbers->virtual_time_ns, 10500000);
    /* A block takes 1.048576 ms to read and 0.05 ms to compute with: nine are done, the tenth is not. */
    assert_int_equal(numbers->misses, 10);
    assert_int_equal(numbers->compute_ns, 9 * WORLD_STEP_NS);
    assert_int_equal(numbers->flash_busy_ns, 10500000 - 9 * WORLD_STEP_NS);
    const struct sample_numbers *last = &world.result.samples[world.result.sample_count - 1];
    assert_int_equal(last->in_flight_bytes, 1 << 20);
    assert_true(last->flash_bytes < 10 << 20);
    mapped_world_free(&world);
}

/* Pages that an app takes in the middle of a step are read again by that step, if it comes to them later. */
static void an_app_comes_between_the_pages_of_a_step(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "a:8MiB", 3, 16);
    on_a_phone(&world, KILL_NONE, "huge:900:16MiB@150ms", 0);
    world.spec.loader.madvise = MADVISE_POPULATE;
    world.trace.works[0].fixed_ns = 100000000;
    const struct run_numbers *numbers = mapped_world_run(&world);
    const struct token_numbers *tokens = world.result.tokens;
    assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
    assert_string_equal(numbers->kills, "huge(900) at 0.150 s by oom");
    assert_int_equal(tokens[0].bytes_read, 0);
    /* Token 1 begins after 8.4 ms of reading and the first 100 ms: some 60 % of it are left. */
    assert_true(tokens[1].bytes_read > 4 << 20 && tokens[1].bytes_read < 6 << 20);
    assert_int_equal(tokens[1].bytes_read + tokens[2].bytes_read, 8 << 20);
    mapped_world_free(&world);
}

/* An app that starts at the very moment at which the run ends is there. */
static void changes_at_a_moment_belong_to_it(void **state)
{
    (void)state;
    struct mapped_world world;
    struct app_spec late = {.name = "late", .adj = 900, .bytes = 1 << 20, .start_ns = INT64_MAX / 2};
    for (int mapped = 0; mapped < 2; mapped++) {
        mapped_world_make(&world, "4 x 1MiB", 3, 16);
        on_a_phone(&world, KILL_NONE, "", mapped ? 0 : 4 << 20);
        world.spec.device.pressure.apps = &late;
        world.spec.device.pressure.app_count = 1;
        late.start_ns = INT64_MAX / 2;
        late.start_ns = mapped_world_run(&world)->virtual_time_ns;
        arena_free(&world.arena);
        assert_int_equal(mapped_world_run(&world)->virtual_time_ns, late.start_ns);
        assert_int_equal(world.result.samples[world.result.sample_count - 1].class_bytes[MEMORY_OTHER_APPS], 1 << 20);
        mapped_world_free(&world);
    }
}

static void an_idle_time_can_end_in_death(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 2, 16);
    on_a_phone(&world, KILL_NONE, "system:-900:20MiB@1s", 2 << 20);
    world.trace.segments[0].idle_ns = 2000000000;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_string_equal(numbers->killed_phase, "idle");
    assert_int_equal(numbers->idle_ns, 1000000000);
    assert_int_equal(numbers->virtual_time_ns, 1000000000);
    mapped_world_free(&world);
}

static void swapped_memory_is_waited_for(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 40, 16);
    on_a_phone(&world, KILL_LMKD, "", 2 << 20);
    world.spec.device.os_reserve_bytes = 7 << 20;
    struct pressure_spec *pressure = &world.spec.device.pressure;
    pressure->zram_bytes = 64 << 20;
    pressure->swap_in_ns = pressure->swap_out_ns = 1000;
    pressure->swappiness = 100;
    world.spec.device.runtime_bytes = 8 << 20;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
    assert_true(numbers->bytes_swapped_in > 39 << 20); /* what does not fit comes and goes with each token */
    assert_true(numbers->bytes_swapped_out > numbers->bytes_swapped_in);
    assert_true(numbers->stall_ns > (int64_t)((numbers->bytes_swapped_in + numbers->bytes_swapped_out) / 4096 * 900));
    assert_true(numbers->peak_zram_bytes > 0);
    assert_int_equal(numbers->peak_footprint_bytes, 10 << 20);
    assert_true(numbers->peak_resident_bytes < 10 << 20);
    int64_t stall_ns = 0;
    for (uint64_t i = 0; i < world.result.token_count; i++)
        stall_ns += world.result.tokens[i].stall_ns;
    assert_int_equal(stall_ns, numbers->stall_ns);
    mapped_world_free(&world);
}

/* A limit that the app itself meets, in a chunked run: the anonymous memory counts. */
static void jetsam_counts_the_footprint(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 3, 64);
    on_a_phone(&world, KILL_JETSAM, "", 8 << 20);
    world.spec.device.pressure.jetsam_limit_bytes = (3 << 20) + WORLD_RUNTIME;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_string_equal(numbers->killed_by, "jetsam");
    assert_int_equal(numbers->misses, 4);
    assert_int_equal(world.result.token_count, 1);
    arena_free(&world.arena);
    world.spec.loader.mode = LOADER_MMAP;
    assert_int_equal(mapped_world_run(&world)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(world.result.numbers.peak_file_bytes, 8 << 20);
    arena_free(&world.arena);
    world.spec.device.pressure.jetsam_limit_bytes = WORLD_RUNTIME - 1;
    assert_int_equal(mapped_world_run(&world)->outcome, OUTCOME_REJECTED);
    assert_string_equal(world.result.numbers.killed_phase, "");
    mapped_world_free(&world);
}

/* Rows of a time series, and the last. */
static void check_samples(const struct run_result *result, uint64_t ram_bytes)
{
    for (uint32_t i = 0; i < result->sample_count; i++) {
        const struct sample_numbers *row = &result->samples[i];
        uint64_t sum = row->free_bytes;
        for (int class = 0; class < MEMORY_CLASSES; class ++)
            sum += row->class_bytes[class];
        assert_int_equal(sum, ram_bytes);
        assert_true(i == 0 || row->flash_bytes >= row[-1].flash_bytes);
        assert_true(i == 0 || row->time_ns > row[-1].time_ns);
    }
    assert_true(result->sample_count > 100);
}

static void samples_add_up(void **state)
{
    (void)state;
    struct mapped_world world;
    for (int mapped = 0; mapped < 2; mapped++) {
        mapped_world_make(&world, "8 x 1MiB", 400, 16);
        on_a_phone(&world, KILL_NONE, "a:900:1MiB@3ms+1GiB/s..9MiB b:901:1MiB@5ms c:902:2MiB@30ms",
                   mapped ? 0 : 3 << 20);
        world.spec.device.pressure.zram_bytes = 4 << 20;
        world.spec.device.pressure.swappiness = 60;
        mapped_world_run(&world);
        assert_int_equal(world.result.numbers.outcome, OUTCOME_COMPLETED);
        check_samples(&world.result, 16 << 20);
        const struct sample_numbers *last = &world.result.samples[world.result.sample_count - 1];
        assert_int_equal(last->time_ns, world.result.numbers.virtual_time_ns);
        /* An app that starts at a sample's time is in it. */
        assert_int_equal(world.result.samples[3].time_ns % 3000000, 0);
        uint64_t flash_bytes = last->flash_bytes;
        assert_true(flash_bytes <= world.result.numbers.bytes_read);
        assert_true(flash_bytes + (2 << 20) >= world.result.numbers.bytes_read);
        mapped_world_free(&world);
    }
}

/* Where file pages are all there is to take, the cache reclaims by itself what pressure would ask for. */
static void both_ways_to_reclaim_agree(void **state)
{
    (void)state;
    static const enum madvise advices[] = {MADVISE_NORMAL, MADVISE_SEQUENTIAL, MADVISE_RANDOM};
    for (unsigned i = 0; i < 12; i++) {
        struct mapped_world own, asked;
        struct mapped_world *both[] = {&own, &asked};
        for (int k = 0; k < 2; k++) {
            mapped_world_make(both[k], "a:9MiB b:3MiB c:500KiB", 7, 8 + i / 3);
            on_a_phone(both[k], KILL_NONE, k == 0 ? "" : "late:900:1MiB@1h", 0);
            both[k]->spec.device.pressure.min_free_bytes = 1 << 20;
            both[k]->spec.device.pressure.watermark_scale = 0;
            both[k]->spec.loader.madvise = advices[i % 3];
            mapped_world_run(both[k]);
        }
        const struct run_numbers *a = &own.result.numbers, *b = &asked.result.numbers;
        assert_int_equal(a->outcome, OUTCOME_COMPLETED);
        assert_true(a->evictions > 0);
        assert_int_equal(a->major_faults, b->major_faults);
        assert_int_equal(a->minor_faults, b->minor_faults);
        assert_int_equal(a->bytes_read, b->bytes_read);
        assert_int_equal(a->evictions, b->evictions);
        assert_int_equal(a->virtual_time_ns, b->virtual_time_ns);
        assert_int_equal(a->peak_resident_bytes, b->peak_resident_bytes);
        mapped_world_free(&own);
        mapped_world_free(&asked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_apps_die_and_are_told),
        cmocka_unit_test(kills_that_do_not_fit_are_cut),
        cmocka_unit_test(an_app_that_grows_kills_this_one_at_its_time),
        cmocka_unit_test(a_death_cuts_a_read_off),
        cmocka_unit_test(an_app_comes_between_the_pages_of_a_step),
        cmocka_unit_test(changes_at_a_moment_belong_to_it),
        cmocka_unit_test(an_idle_time_can_end_in_death),
        cmocka_unit_test(swapped_memory_is_waited_for),
        cmocka_unit_test(jetsam_counts_the_footprint),
        cmocka_unit_test(samples_add_up),
        cmocka_unit_test(both_ways_to_reclaim_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
