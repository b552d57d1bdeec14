/* Sizes and times to text: rounded for people, exact for configs; and exact integer arithmetic. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"

__extension__ typedef unsigned __int128 wide;

struct unit {
    const char *name;
    uint64_t factor;
};

static uint64_t rounded(uint64_t value, uint64_t times, uint64_t unit)
{
    return (uint64_t)(((wide)value * times + unit / 2) / unit);
}

/* Three significant digits, more before the point where there are more. */
static void format_three(uint64_t value, const struct unit *unit, char *out)
{
    const uint64_t hundredths = rounded(value, 100, unit->factor);
    const uint64_t tenths = rounded(value, 10, unit->factor);
    if (unit->factor == 1)
        snprintf(out, UNITS_TEXT, "%llu %s", (unsigned long long)value, unit->name);
    else if (hundredths < 1000)
        snprintf(out, UNITS_TEXT, "%u.%02u %s", (unsigned)(hundredths / 100), (unsigned)(hundredths % 100), unit->name);
    else if (tenths < 1000)
        snprintf(out, UNITS_TEXT, "%u.%u %s", (unsigned)(tenths / 10), (unsigned)(tenths % 10), unit->name);
    else
        snprintf(out, UNITS_TEXT, "%llu %s", (unsigned long long)rounded(value, 1, unit->factor), unit->name);
}

/* The first unit in which the rounded value stays below the next unit; the last one otherwise. */
static const struct unit *fitting(uint64_t value, const struct unit *units, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && rounded(value, 1, units[i].factor) >= units[i + 1].factor / units[i].factor)
        i++;
    return &units[i];
}

const char *format_bytes(uint64_t bytes, char out[UNITS_TEXT])
{
    static const struct unit units[] = {{"B", 1},
                                        {"KiB", UINT64_C(1) << 10},
                                        {"MiB", UINT64_C(1) << 20},
                                        {"GiB", UINT64_C(1) << 30},
                                        {"TiB", UINT64_C(1) << 40},
                                        {"PiB", UINT64_C(1) << 50},
                                        {"EiB", UINT64_C(1) << 60}};
    format_three(bytes, fitting(bytes, units, sizeof units / sizeof *units), out);
    return out;
}

const char *format_time(int64_t ns, char out[UNITS_TEXT])
{
    static const struct unit units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    const uint64_t second = 1000000000;
    const uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char text[UNITS_TEXT];
    if (rounded(value, 10, second) < 600) {
        format_three(value, fitting(value, units, sizeof units / sizeof *units), text);
    } else if (rounded(value, 1, second) < 3600) {
        const unsigned seconds = (unsigned)rounded(value, 1, second);
        snprintf(text, sizeof text, "%u min %u s", seconds / 60, seconds % 60);
    } else {
        const unsigned long long minutes = rounded(value, 1, 60 * second);
        snprintf(text, sizeof text, "%llu h %llu min", minutes / 60, minutes % 60);
    }
    snprintf(out, UNITS_TEXT, "%s%.30s", ns < 0 ? "-" : "", text);
    return out;
}

/* The shortest whole number with a unit; the earlier unit when two are as short. */
static void print_shortest(uint64_t value, const struct unit *units, size_t count, char *out)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (value % units[i].factor != 0)
            continue;
        char text[UNITS_TEXT];
        snprintf(text, sizeof text, "%llu%s", (unsigned long long)(value / units[i].factor), units[i].name);
        if (strlen(text) < shortest) {
            shortest = strlen(text);
            memcpy(out, text, shortest + 1);
        }
    }
}

const char *print_bytes(uint64_t bytes, char out[UNITS_TEXT])
{
    static const struct unit units[] = {{"B", 1},
                                        {"KiB", UINT64_C(1) << 10},
                                        {"MiB", UINT64_C(1) << 20},
                                        {"GiB", UINT64_C(1) << 30},
                                        {"TiB", UINT64_C(1) << 40},
                                        {"KB", 1000},
                                        {"MB", 1000000},
                                        {"GB", 1000000000},
                                        {"TB", 1000000000000}};
    print_shortest(bytes, units, sizeof units / sizeof *units, out);
    return out;
}

const char *print_time(int64_t ns, char out[UNITS_TEXT])
{
    static const struct unit units[] = {{"ns", 1},         {"us", 1000},         {"ms", 1000000},
                                        {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};
    must(ns >= 0);
    print_shortest((uint64_t)ns, units, sizeof units / sizeof *units, out);
    return out;
}

const char *print_decimal(uint64_t ppm, char out[UNITS_TEXT])
{
    int length = snprintf(out, UNITS_TEXT, "%llu.%06llu", (unsigned long long)(ppm / 1000000),
                          (unsigned long long)(ppm % 1000000));
    while (out[length - 1] == '0')
        length--;
    if (out[length - 1] == '.')
        length--;
    out[length] = '\0';
    return out;
}

uint64_t scale_up(uint64_t a, uint64_t b, uint64_t c)
{
    must(c > 0);
    const wide product = (wide)a * b;
    const wide result = product / c + (product % c != 0);
    must(result <= INT64_MAX);
    return (uint64_t)result;
}

bool multiply(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

bool add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}
