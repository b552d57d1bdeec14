/* A phone for the tests of memory pressure, and what they do with it. */
#ifndef POCKETLOAD_TESTS_PRESSURE_PHONE_H
#define POCKETLOAD_TESTS_PRESSURE_PHONE_H

#include "sim/pressure.h"

#include <string.h>

#include "tests/cmocka_fixed.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
static const int64_t SECOND = 1000000000;

/* A file cache that gives back exactly what is asked, as far as it is not locked. */
struct file {
    uint64_t bytes, locked, refaults;
};

static inline uint64_t reclaim(void *host, uint64_t bytes)
{
    struct file *file = host;
    uint64_t got = bytes < file->bytes - file->locked ? bytes : file->bytes - file->locked;
    file->bytes -= got;
    return got;
}

static inline uint64_t refault_bytes(void *host)
{
    return ((struct file *)host)->refaults;
}

/* A phone of 1 GiB whose watermarks are 10, 20 and 30 MiB. */
struct phone {
    struct pressure_spec spec;
    struct ledger ledger;
    struct arena arena;
    struct file file;
    struct pressure *p;
};

static inline struct phone a_phone(enum kill_rule rule)
{
    return (struct phone){
        .spec = {.rule = rule,
                 .threshold_bytes = 500 * MIB,
                 .jetsam_limit_bytes = 500 * MIB,
                 .max_bytes = 500 * MIB,
                 .swap_free_low_ppm = 100000,
                 .thrashing_limit_ppm = 1000000,
                 .thrashing_decay_ppm = 100000,
                 .kill_timeout_ns = 100000000,
                 .min_free_bytes = 10 * MIB,
                 .watermark_scale = 98,
                 .zram_ratio_ppm = 2000000,
                 .swap_out_ns = 3,
                 .swap_in_ns = 5,
                 .swappiness = 0},
        .ledger = {.ram_bytes = (10 * MIB * 10000 + 97) / 98}, /* of which 98/10000 are 10 MiB */
    };
}

static inline uint64_t free_now(const struct phone *phone)
{
    return ledger_free_bytes(&phone->ledger);
}

/* Starts it with `free` bytes free. The phone must stay where it is. */
static inline void begin(struct phone *phone, uint64_t free, bool mapped)
{
    uint64_t named = 0;
    for (uint32_t i = 0; i < phone->spec.app_count; i++)
        named += phone->spec.apps[i].start_ns == 0 ? phone->spec.apps[i].bytes : 0;
    struct error err;
    assert_true(pressure_init(&phone->p, &phone->spec, &phone->ledger, phone->ledger.ram_bytes - free - named, 0,
                              &phone->arena, &err));
    assert_true(free_now(phone) == free);
    if (mapped)
        pressure_attach(phone->p, &(struct file_memory){reclaim, refault_bytes, &phone->file, 4096});
}

static inline bool set(struct phone *phone, enum memory_class class, uint64_t bytes, int64_t now_ns)
{
    return pressure_set(phone->p, class, bytes, now_ns);
}

static inline void add_file(struct phone *phone, uint64_t bytes)
{
    phone->file.bytes += bytes;
    assert_true(set(phone, MEMORY_FILE, phone->file.bytes, 0));
}

static inline void killed_by(struct phone *phone, const char *rule)
{
    assert_non_null(pressure_killed_by(phone->p));
    assert_string_equal(pressure_killed_by(phone->p), rule);
}

static inline void nobody_died(struct phone *phone)
{
    uint32_t count;
    pressure_kills(phone->p, &count);
    assert_true(count == 0 && pressure_killed_by(phone->p) == NULL);
}

static inline void end(struct phone *phone)
{
    uint64_t total = 0;
    for (int class = 0; class < MEMORY_CLASSES; class ++)
        total += phone->ledger.now_bytes[class];
    assert_true(total == phone->ledger.total_bytes);
    arena_free(&phone->arena);
}

static const struct app_spec four_apps[] = {
    {.name = "music", .adj = 200, .bytes = 50 * (1 << 20)},
    {.name = "small", .adj = 900, .bytes = 30 * (1 << 20)},
    {.name = "large", .adj = 900, .bytes = 40 * (1 << 20)},
    {.name = "system", .adj = -800, .bytes = 20 * (1 << 20)},
};

#endif
