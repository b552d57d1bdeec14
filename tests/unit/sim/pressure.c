/* Memory pressure, rule by rule, at the byte where each begins: limits, taking back, swapping. */
#include "tests/unit/sim/pressure_phone.h"

static void watermarks_are_the_kernels(void **state)
{
    (void)state;
    uint64_t min, low, high;
    struct phone phone = a_phone(KILL_NONE);
    begin(&phone, MIB, false);
    pressure_watermarks(phone.p, &min, &low, &high);
    assert_true(min == 10 * MIB && low == 20 * MIB && high == 30 * MIB);
    end(&phone);
    /* The table above init_per_zone_wmark_min, mm/page_alloc.c: 4096 MB: 8192k, 1024 MB: 4096k. */
    const uint64_t ram[] = {4 * GIB, GIB, 0, 1024 * GIB, MIB};
    const uint64_t kib[] = {8192, 4096, 128, 131072, 128};
    for (size_t i = 0; i < sizeof ram / sizeof *ram; i++) {
        phone = a_phone(KILL_NONE);
        phone.spec.min_free_bytes = 0;
        phone.spec.watermark_scale = 0;
        phone.ledger.ram_bytes = ram[i];
        begin(&phone, ram[i], false);
        pressure_watermarks(phone.p, &min, &low, &high);
        assert_true(min == kib[i] * 1024 && low == min + min / 4 && high == min + min / 2);
        end(&phone);
    }
}

static void threshold_and_jetsam_kill_at_the_byte(void **state)
{
    (void)state;
    const enum kill_rule rules[] = {KILL_THRESHOLD, KILL_JETSAM};
    const char *const names[] = {"threshold", "jetsam"};
    for (int i = 0; i < 2; i++) {
        struct phone phone = a_phone(rules[i]);
        begin(&phone, 900 * MIB, true);
        assert_true(set(&phone, MEMORY_WEIGHTS, 400 * MIB, 0) && set(&phone, MEMORY_PAGE_TABLES, 4096, 0));
        add_file(&phone, 300 * MIB);
        assert_true(set(&phone, MEMORY_KV, 100 * MIB - 4096, 0));
        assert_false(set(&phone, MEMORY_RUNTIME, 1, 7));
        killed_by(&phone, names[i]);
        assert_true(pressure_numbers(phone.p).footprint_peak_bytes == 500 * MIB + 1);
        assert_false(set(&phone, MEMORY_RUNTIME, 0, 8));
        end(&phone);
    }
}

/* Issue 4: 1.8 GB of mapped weights move the footprint by page tables alone, while resident grows by all of it. */
static void jetsam_ignores_clean_pages(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_JETSAM);
    phone.ledger.ram_bytes = 6000000000;
    begin(&phone, UINT64_C(4000000000), true);
    assert_true(set(&phone, MEMORY_RUNTIME, 97000000, 0));
    add_file(&phone, UINT64_C(1830000000));
    assert_true(set(&phone, MEMORY_PAGE_TABLES, 3600000, 0));
    struct pressure_numbers numbers = pressure_numbers(phone.p);
    assert_true(numbers.footprint_bytes == 100600000 && numbers.resident_bytes == UINT64_C(1930600000));
    nobody_died(&phone);
    end(&phone);
}

static void limiter_drops_files_then_swaps_then_kills(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_MEMORY_LIMITER);
    phone.spec.high_bytes = 200 * MIB;
    phone.spec.max_bytes = 250 * MIB;
    phone.spec.zram_bytes = 40 * MIB;
    begin(&phone, 900 * MIB, true);
    assert_true(set(&phone, MEMORY_RUNTIME, 150 * MIB, 0));
    add_file(&phone, 50 * MIB);
    assert_true(phone.file.bytes == 50 * MIB); /* at high exactly: nothing is taken */
    assert_true(set(&phone, MEMORY_KV, 30 * MIB, 0));
    assert_true(phone.ledger.app_bytes == 200 * MIB && phone.file.bytes == 20 * MIB);
    assert_true(set(&phone, MEMORY_KV, 60 * MIB, 0)); /* no file pages are left, 10 MiB are swapped */
    assert_true(phone.ledger.app_bytes == 200 * MIB && phone.file.bytes == 0);
    assert_true(phone.ledger.now_bytes[MEMORY_RUNTIME] == 140 * MIB && phone.ledger.now_bytes[MEMORY_ZRAM] == 5 * MIB);
    assert_true(set(&phone, MEMORY_STREAMED, 80 * MIB, 0)); /* zram is full: up to max it lives above high */
    assert_true(phone.ledger.app_bytes == 250 * MIB && pressure_numbers(phone.p).own_swapped_bytes == 40 * MIB);
    assert_false(set(&phone, MEMORY_STREAMED, 80 * MIB + 1, 9));
    killed_by(&phone, "memory_limiter");
    end(&phone);
}

static void reclaim_begins_below_low_and_ends_at_high(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    begin(&phone, 300 * MIB, true);
    uint64_t min, low, high;
    pressure_watermarks(phone.p, &min, &low, &high);
    assert_true(pressure_file_room(phone.p) == 300 * MIB - low);
    add_file(&phone, 200 * MIB);
    assert_true(set(&phone, MEMORY_KV, 100 * MIB - low, 0));
    assert_true(free_now(&phone) == low && phone.file.bytes == 200 * MIB && pressure_file_room(phone.p) == 0);
    assert_true(set(&phone, MEMORY_KV, 100 * MIB - low + 1, 0));
    assert_true(free_now(&phone) == high && phone.ledger.now_bytes[MEMORY_FILE] == phone.file.bytes);
    assert_true(set(&phone, MEMORY_KV, 100 * MIB - low + 1 + (high - low), 0) && free_now(&phone) == low);
    assert_true(pressure_relieve(phone.p, 0)); /* the page to come is below low */
    assert_true(free_now(&phone) == high + 4096 && pressure_file_room(phone.p) == high + 4096 - low);
    nobody_died(&phone);
    end(&phone);
}

/* mlock: a file cache that gives nothing back. */
static void locked_pages_kill(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    begin(&phone, 100 * MIB, true);
    uint64_t pages = 0;
    bool lives = true;
    while (lives) {
        lives = pressure_file_room(phone.p) >= 4096 || pressure_relieve(phone.p, 3);
        if (!lives)
            break;
        assert_true(pressure_file_room(phone.p) >= 4096);
        phone.file.bytes += 4096;
        phone.file.locked = phone.file.bytes;
        pages++;
        lives = set(&phone, MEMORY_FILE, phone.file.bytes, 3);
    }
    killed_by(&phone, "oom");
    assert_true(pages == 100 * MIB / 4096);
    end(&phone);
}

static void swapping_frees_by_the_ratio(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    phone.spec.zram_bytes = 300 * MIB;
    phone.spec.zram_ratio_ppm = 4000000;
    phone.spec.swappiness = 100;
    begin(&phone, 200 * MIB, true);
    uint64_t min, low, high;
    pressure_watermarks(phone.p, &min, &low, &high);
    add_file(&phone, 100 * MIB);
    assert_true(set(&phone, MEMORY_WEIGHTS, 100 * MIB - low, 0) && free_now(&phone) == low);
    assert_true(set(&phone, MEMORY_KV, 4096 * 100, 0));
    /* Half of what is missing is swapped: (S - S/4) of it comes free, S in whole pages; the file gives the rest. */
    uint64_t need = high - low + 4096 * 100, out = (need / 2 * 4 / 3 + 4095) / 4096 * 4096;
    struct pressure_numbers numbers = pressure_numbers(phone.p);
    assert_true(numbers.swapped_out_bytes == out && numbers.swap_used_bytes == out && numbers.own_swapped_bytes == out);
    assert_true(phone.ledger.now_bytes[MEMORY_ZRAM] == out / 4);
    assert_true(phone.ledger.now_bytes[MEMORY_WEIGHTS] == 100 * MIB - low - out);
    assert_true(phone.file.bytes == 100 * MIB - (need - (out - out / 4)) && free_now(&phone) == high);
    assert_true(numbers.footprint_bytes == 100 * MIB - low + 4096 * 100);
    /* Shrinking gives up what lies in zram first. */
    assert_true(set(&phone, MEMORY_WEIGHTS, 100 * MIB - low - out + 4096, 0));
    assert_true(pressure_numbers(phone.p).own_swapped_bytes == 4096);
    assert_true(phone.ledger.now_bytes[MEMORY_ZRAM] == 1024);
    end(&phone);
}

static void using_own_memory_brings_it_back(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    phone.spec.zram_bytes = 300 * MIB;
    begin(&phone, 200 * MIB, false);
    assert_true(set(&phone, MEMORY_WEIGHTS, 100 * MIB, 0) && set(&phone, MEMORY_KV, 150 * MIB, 0));
    struct pressure_numbers before = pressure_numbers(phone.p);
    struct ledger ledger = phone.ledger;
    assert_true(before.own_swapped_bytes > 50 * MIB);
    int64_t stall_ns;
    assert_true(pressure_touch_own(phone.p, 1, &stall_ns));
    /* All came back for 5 ns a page, and as much had to go out again for 3 ns a page. */
    struct pressure_numbers after = pressure_numbers(phone.p);
    assert_true(after.own_swapped_bytes == before.own_swapped_bytes);
    assert_true(stall_ns == (int64_t)(before.own_swapped_bytes / 4096 * 8));
    assert_true(after.swapped_in_bytes == before.own_swapped_bytes);
    assert_true(after.swapped_out_bytes == 2 * before.own_swapped_bytes);
    assert_memory_equal(&ledger, &phone.ledger, sizeof ledger); /* peaks too */
    assert_true(set(&phone, MEMORY_KV, 0, 2) && set(&phone, MEMORY_ACTIVATION, 40 * MIB, 2));
    uint64_t left = pressure_numbers(phone.p).own_swapped_bytes; /* of the weights; those of the cache went with it */
    assert_true(left > 0 && left < after.own_swapped_bytes && left % 4096 == 0);
    assert_true(pressure_touch_own(phone.p, 3, &stall_ns));
    assert_true(stall_ns == (int64_t)(left / 4096 * 5) && pressure_numbers(phone.p).own_swapped_bytes == 0);
    assert_true(pressure_touch_own(phone.p, 4, &stall_ns) && stall_ns == 0);
    end(&phone);
}

/* What ran before there was pressure: no watermark, no kill but by the threshold. */
static void a_plain_run_knows_only_its_threshold(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_NONE);
    begin(&phone, 10 * MIB, false);
    assert_true(set(&phone, MEMORY_WEIGHTS, 900 * MIB, 0));
    nobody_died(&phone);
    assert_true(phone.ledger.peak_bytes[MEMORY_WEIGHTS] == 900 * MIB);
    end(&phone);
}

static void a_control_group_has_no_watermarks(void **state)
{
    (void)state;
    struct phone phone = a_phone(KILL_MEMORY_LIMITER);
    phone.spec.max_bytes = phone.ledger.ram_bytes;
    begin(&phone, phone.ledger.ram_bytes, true);
    assert_true(set(&phone, MEMORY_RUNTIME, 10 * MIB, 0));
    assert_true(pressure_file_room(phone.p) == phone.ledger.ram_bytes - 10 * MIB);
    add_file(&phone, phone.ledger.ram_bytes - 10 * MIB);
    assert_true(pressure_relieve(phone.p, 0) && pressure_file_room(phone.p) == 4096);
    phone.file.locked = phone.file.bytes;
    assert_false(set(&phone, MEMORY_RUNTIME, 10 * MIB + 4097, 0));
    killed_by(&phone, "memory_limiter");
    end(&phone);
}

static void wrong_specs_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"zram ratio", "swappiness", "65 other apps", "expected at most the RAM",
                                        "decay"};
    for (int i = 0; i < 5; i++) {
        struct phone phone = a_phone(KILL_NONE);
        phone.spec.zram_bytes = MIB;
        phone.spec.zram_ratio_ppm = i == 0 ? 999999 : 1000000;
        phone.spec.swappiness = i == 1 ? 201 : 200;
        phone.spec.apps = four_apps;
        phone.spec.app_count = i == 2 ? 65 : 4;
        phone.spec.thrashing_decay_ppm = i == 4 ? 1000001 : 1000000;
        uint64_t os = phone.ledger.ram_bytes - 140 * MIB + (i == 3);
        struct error err;
        assert_false(pressure_init(&phone.p, &phone.spec, &phone.ledger, os, 0, &phone.arena, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        assert_non_null(strstr(err.text, words[i]));
        arena_free(&phone.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watermarks_are_the_kernels),
        cmocka_unit_test(threshold_and_jetsam_kill_at_the_byte),
        cmocka_unit_test(jetsam_ignores_clean_pages),
        cmocka_unit_test(limiter_drops_files_then_swaps_then_kills),
        cmocka_unit_test(reclaim_begins_below_low_and_ends_at_high),
        cmocka_unit_test(locked_pages_kill),
        cmocka_unit_test(swapping_frees_by_the_ratio),
        cmocka_unit_test(using_own_memory_brings_it_back),
        cmocka_unit_test(a_plain_run_knows_only_its_threshold),
        cmocka_unit_test(a_control_group_has_no_watermarks),
        cmocka_unit_test(wrong_specs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
