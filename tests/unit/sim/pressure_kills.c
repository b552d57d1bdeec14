/* Memory pressure: which app dies when, and other apps' timeline. */
#include "tests/unit/sim/pressure_phone.h"

/* Growth by a page each: the apps with a higher adj die in order, then this one, for want of all memory. */
static void others_die_before_this_one(void **state)
{
    (void)state;
    const enum kill_rule rules[] = {KILL_NONE, KILL_THRESHOLD, KILL_JETSAM, KILL_MEMORY_LIMITER, KILL_LMKD};
    for (int i = 0; i < 5; i++) {
        struct phone phone = a_phone(rules[i]);
        phone.spec.apps = four_apps;
        phone.spec.app_count = 4;
        begin(&phone, 100 * MIB, false);
        uint64_t bytes = 0, at[3] = {0};
        uint32_t count = 0;
        const struct app_kill *kills = NULL;
        while (set(&phone, MEMORY_KV, bytes + 4096, (int64_t)bytes)) {
            bytes += 4096;
            uint32_t before = count;
            kills = pressure_kills(phone.p, &count);
            assert_true(count <= 3 && count - before <= 1);
            if (count > before)
                at[before] = bytes;
        }
        assert_int_equal(count, 3);
        assert_true(kills[0].app == 2 && kills[1].app == 1 && kills[2].app == 0);
        assert_true(kills[0].bytes == 40 * MIB && kills[0].time_ns == (int64_t)at[0] - 4096);
        assert_string_equal(kills[0].rule, rules[i] == KILL_LMKD ? "lmkd" : rules[i] == KILL_JETSAM ? "jetsam" : "oom");
        /* Each when free memory is below min by a page; lmkd kills this app there too, the others at 0. */
        assert_true(at[0] == 90 * MIB + 4096 && at[1] == 130 * MIB + 4096 && at[2] == 160 * MIB + 4096);
        assert_true(bytes == (rules[i] == KILL_LMKD ? 210 * MIB : 220 * MIB));
        killed_by(&phone, rules[i] == KILL_LMKD ? "lmkd" : "oom");
        end(&phone);
    }
}

static void the_app_dies_before_those_below_it(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_LMKD);
    phone.spec.apps = four_apps;
    phone.spec.app_count = 4;
    phone.spec.own_adj = 901;
    begin(&phone, 100 * MIB, false);
    assert_true(set(&phone, MEMORY_KV, 90 * MIB, 0));
    assert_false(set(&phone, MEMORY_KV, 90 * MIB + 1, 0));
    killed_by(&phone, "lmkd");
    uint32_t count;
    pressure_kills(phone.p, &count);
    assert_int_equal(count, 0);
    end(&phone);
}

/* Grows the app by pages at one moment until free memory is below `mark` or an app has died; how many have. */
static uint32_t grow_until(struct phone *phone, uint64_t mark, uint64_t *bytes, int64_t now_ns)
{
    uint32_t before, count;
    pressure_kills(phone->p, &before);
    do {
        assert_true(set(phone, MEMORY_STREAMED, *bytes += 4096, now_ns));
        pressure_kills(phone->p, &count);
    } while (count == before && free_now(phone) >= mark);
    return count;
}

/* Swap is low and free memory below low: cached apps die, one each 100 ms, and perceptible ones (adj <= 200) are spared
 * until free memory is below min. */
static void low_swap_kills_cached_apps_only(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_LMKD);
    phone.spec.apps = four_apps;
    phone.spec.app_count = 4;
    phone.spec.zram_bytes = 70 * MIB; /* the two cached apps */
    begin(&phone, 100 * MIB, false);
    uint64_t min, low, high, bytes = 0;
    uint32_t count;
    pressure_watermarks(phone.p, &min, &low, &high);
    assert_int_equal(grow_until(&phone, 0, &bytes, 5), 1); /* large */
    assert_true(bytes == 100 * MIB - low + 35 * MIB + 4096 && pressure_numbers(phone.p).swap_used_bytes == 30 * MIB);
    /* The next 40 MiB of swap are music's; then swap is low again, but the next kill has to wait. */
    assert_int_equal(grow_until(&phone, min + 4096, &bytes, 100000004), 1);
    assert_true(pressure_numbers(phone.p).swap_used_bytes == 70 * MIB && free_now(&phone) == min);
    assert_int_equal(grow_until(&phone, min, &bytes, 100000005), 2);
    /* Small is gone, its swap filled by the rest of music and the system: nobody is left that may die above min. */
    assert_int_equal(grow_until(&phone, min + 4096, &bytes, SECOND), 2);
    assert_true(free_now(&phone) == min && pressure_numbers(phone.p).swap_used_bytes == 70 * MIB);
    assert_int_equal(grow_until(&phone, min, &bytes, SECOND), 3);
    const struct app_kill *kills = pressure_kills(phone.p, &count);
    assert_true(kills[0].app == 2 && kills[1].app == 1 && kills[2].app == 0);
    assert_true(kills[0].time_ns == 5 && kills[1].time_ns == 100000005 && kills[2].time_ns == SECOND);
    end(&phone);
}

/* Three quarters of a cache of 100 MiB came back: below the limit of 100%. All of it and one byte: above. */
static void thrashing_kills_and_lowers_the_limit(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_LMKD);
    static const struct app_spec apps[] = {{.name = "a", .adj = 901, .bytes = 1 << 20},
                                           {.name = "b", .adj = 900, .bytes = 1 << 20},
                                           {.name = "c", .adj = 200, .bytes = 1 << 20}};
    phone.spec.apps = apps;
    phone.spec.app_count = 3;
    begin(&phone, 130 * MIB, true);
    uint64_t min, low, high;
    pressure_watermarks(phone.p, &min, &low, &high);
    add_file(&phone, 130 * MIB - low);
    uint32_t count;
    int64_t now = 5 * SECOND;
    assert_true(pressure_relieve(phone.p, now)); /* the window begins */
    uint64_t base = phone.file.bytes + 4096;
    const uint64_t refaulted[] = {base * 3 / 4, base, base + base / 1000000 + 1};
    const uint32_t killed[] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        phone.file.refaults = refaulted[i];
        add_file(&phone, pressure_file_room(phone.p));
        assert_true(pressure_relieve(phone.p, now += 100));
        pressure_kills(phone.p, &count);
        assert_int_equal(count, killed[i]);
    }
    /* After the kill the limit is 90% and a new window has begun, but the next kill has to wait. */
    base = phone.file.bytes + 4096;
    phone.file.refaults += base * 91 / 100;
    add_file(&phone, pressure_file_room(phone.p));
    assert_true(pressure_relieve(phone.p, now + 99999999));
    pressure_kills(phone.p, &count);
    assert_int_equal(count, 1);
    add_file(&phone, pressure_file_room(phone.p));
    assert_true(pressure_relieve(phone.p, now + 100000000));
    const struct app_kill *kills = pressure_kills(phone.p, &count);
    assert_true(count == 2 && kills[0].app == 0 && kills[1].app == 1 && kills[1].time_ns == now + 100000000);
    /* Perceptible apps and the foreground are spared below twice the limit, and die above. */
    base = phone.file.bytes + 4096;
    now += SECOND;
    phone.file.refaults += base * 199 / 100;
    add_file(&phone, pressure_file_room(phone.p));
    assert_true(pressure_relieve(phone.p, now));
    pressure_kills(phone.p, &count);
    assert_int_equal(count, 2);
    phone.file.refaults += base * 2 / 100;
    add_file(&phone, pressure_file_room(phone.p));
    assert_true(pressure_relieve(phone.p, now));
    pressure_kills(phone.p, &count);
    assert_int_equal(count, 3);
    end(&phone);
}

static void apps_come_at_their_times(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    const struct app_spec apps[] = {
        {.name = "late", .adj = 900, .bytes = 20 * MIB, .start_ns = 2 * SECOND},
        {.name = "grows", .adj = -1, .bytes = MIB, .growth_bps = 10 * MIB, .most_bytes = 300 * MIB},
    };
    phone.spec.apps = apps;
    phone.spec.app_count = 2;
    begin(&phone, 100 * MIB, false);
    assert_true(set(&phone, MEMORY_WEIGHTS, 20 * MIB, 0));
    assert_true(pressure_next_ns(phone.p) == SECOND / 10);
    int64_t died_ns = -1;
    assert_true(pressure_advance(phone.p, SECOND, &died_ns) && phone.ledger.now_bytes[MEMORY_OTHER_APPS] == 11 * MIB);
    assert_true(pressure_next_ns(phone.p) == SECOND + SECOND / 10);
    assert_true(pressure_advance(phone.p, 2 * SECOND - 1, &died_ns));
    assert_true(phone.ledger.now_bytes[MEMORY_OTHER_APPS] == 20 * MIB);
    assert_true(pressure_next_ns(phone.p) == 2 * SECOND);
    assert_true(pressure_advance(phone.p, 2 * SECOND, &died_ns) && died_ns == -1);
    assert_true(phone.ledger.now_bytes[MEMORY_OTHER_APPS] == 41 * MIB && free_now(&phone) == 40 * MIB);
    /* 31 MiB more than that, and free memory is below min: the late one dies. 51 more: below 0, and this app dies. */
    assert_false(pressure_advance(phone.p, 100 * SECOND, &died_ns));
    uint32_t count;
    const struct app_kill *kills = pressure_kills(phone.p, &count);
    assert_true(count == 1 && kills[0].app == 0 && kills[0].time_ns == 2 * SECOND + 31 * SECOND / 10);
    assert_true(died_ns == 2 * SECOND + 61 * SECOND / 10);
    killed_by(&phone, "oom");
    end(&phone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_die_before_this_one),      cmocka_unit_test(the_app_dies_before_those_below_it),
        cmocka_unit_test(low_swap_kills_cached_apps_only), cmocka_unit_test(thrashing_kills_and_lowers_the_limit),
        cmocka_unit_test(apps_come_at_their_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
