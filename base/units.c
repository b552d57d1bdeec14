/* Text to sizes, times, rates and plain numbers: one exact decimal scanner and a table of units for each quantity. */
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

__extension__ typedef unsigned __int128 wide;

struct unit {
    const char *name;
    uint64_t factor;
};

struct quantity {
    const char *what;    /* "a size" */
    const char *base;    /* what a whole number of it counts */
    const char *example; /* for text without a number */
    size_t offered;      /* the first so many units are listed to who gave none */
    uint64_t min, max;
    const struct unit *units; /* ends with a NULL name; those of one first letter by the likelier first */
};

#define K UINT64_C(1000)
#define KI UINT64_C(1024)

static const struct unit size_units[] = {{"B", 1},           {"KiB", KI},  {"MiB", KI *KI}, {"GiB", KI *KI *KI},
                                         {"KB", K},          {"MB", K *K}, {"GB", K *K *K}, {"TiB", KI *KI *KI *KI},
                                         {"TB", K *K *K *K}, {NULL, 0}};
static const struct unit time_units[] = {
    {"ns", 1}, {"us", K}, {"ms", K *K}, {"s", K *K *K}, {"min", 60 * K *K *K}, {"h", 3600 * K *K *K}, {NULL, 0}};
static const struct unit rate_units[] = {
    {"B/s", 1},        {"KB/s", K},           {"MB/s", K *K},       {"GB/s", K *K *K},         {"KiB/s", KI},
    {"MiB/s", KI *KI}, {"GiB/s", KI *KI *KI}, {"TB/s", K *K *K *K}, {"TiB/s", KI *KI *KI *KI}, {NULL, 0}};
static const struct unit flops_units[] = {{"FLOPS", 1},        {"KFLOPS", K},          {"MFLOPS", K *K},
                                          {"GFLOPS", K *K *K}, {"TFLOPS", K *K *K *K}, {NULL, 0}};

static const struct quantity a_size = {"a size", "bytes", "512MiB", 7, 0, INT64_MAX, size_units};
static const struct quantity a_time = {"a time", "nanoseconds", "1.5ms", 6, 0, UINT64_C(1) << 62, time_units};
static const struct quantity a_rate = {"a rate", "bytes a second", "2.42GB/s", 7, 1, UINT64_C(1) << 60, rate_units};
static const struct quantity a_flops = {
    "a computing speed", "operations a second", "120GFLOPS", 5, 1, UINT64_C(1) << 60, flops_units};

enum { QUOTED = 60, MAX_UNITS = 10 };

/* A decimal number and what follows it, all views into the caller's text. */
struct number {
    const char *text; /* without blanks around */
    int length;
    int digits;           /* length of the number itself */
    const char *fraction; /* its digits without zeros at the end */
    int fraction_digits;
    wide whole; /* saturated well above 2^64 */
    const char *rest;
    int rest_length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What is quoted in messages: all of the text, or its beginning. */
static int quoted(const struct number *n)
{
    return n->length < QUOTED ? n->length : QUOTED;
}

static bool scan(const char *text, const char *what, const char *example, struct number *n, struct error *err)
{
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    if (length == 0)
        return fail(err, STATUS_USAGE, "%s is missing: write one like %s", what, example);
    if (length > 1000)
        return fail(err, STATUS_USAGE, "\"%.*s...\" is no %s: too long", QUOTED, text, strchr(what, ' ') + 1);
    *n = (struct number){.text = text, .length = (int)length};

    const char *at = text;
    for (; is_digit(*at); at++) {
        if (n->whole <= UINT64_MAX)
            n->whole = n->whole * 10 + (unsigned)(*at - '0');
    }
    bool good = at > text;
    n->fraction = at;
    if (good && *at == '.') {
        n->fraction = ++at;
        while (is_digit(*at))
            at++;
        good = at > n->fraction;
        n->fraction_digits = (int)(at - n->fraction);
        while (n->fraction_digits > 0 && n->fraction[n->fraction_digits - 1] == '0')
            n->fraction_digits--;
    }
    if (!good)
        return fail(err, STATUS_USAGE, "\"%.*s\" %s: write %s like %s", quoted(n), text,
                    *text == '-' ? "is negative" : "does not begin with a number", what, example);
    n->digits = (int)(at - text);
    while (is_blank(*at))
        at++;
    n->rest = at;
    n->rest_length = (int)(text + length - at);
    return true;
}

/* number * factor, when that is whole. Saturates above 2^64. */
static bool scale(const struct number *n, uint64_t factor, wide *value)
{
    /* Schoolbook multiplication of the fraction's digits by the factor, from the last digit on: what is carried out in
     * front is whole, what stays must be 0. A factor has at most 40 factors 2, so more digits than that never fit. */
    enum { MOST_DIGITS = 64 };
    if (n->fraction_digits > MOST_DIGITS)
        return false;
    wide carry = 0;
    for (int i = n->fraction_digits - 1; i >= 0; i--) {
        const wide cell = (wide)(unsigned)(n->fraction[i] - '0') * factor + carry;
        if (cell % 10 != 0)
            return false;
        carry = cell / 10;
    }
    *value = n->whole * factor + carry;
    return true;
}

/* Appends "512MB" style spellings of the number with the given units: "A, B or C". */
static void spell(const struct number *n, const char *const *names, size_t count, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *before = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        const int more =
            snprintf(out + used, size - used, "%s%.*s%s", before, n->digits < 20 ? n->digits : 20, n->text, names[i]);
        must(more >= 0);
        used += (size_t)more;
    }
}

static bool starts_like(const char *name, char c)
{
    const char a = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
    const char b = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    return a == b;
}

static bool fail_unit(const struct number *n, const struct quantity *q, struct error *err)
{
    const char *all[MAX_UNITS], *same_letter[MAX_UNITS];
    size_t count = 0, same = 0;
    for (; q->units[count].name; count++) {
        must(count < MAX_UNITS);
        all[count] = q->units[count].name;
        if (n->rest_length > 0 && starts_like(all[count], n->rest[0]))
            same_letter[same++] = all[count];
    }
    char list[400];
    if (n->rest_length == 0) {
        spell(n, all, q->offered, list, sizeof list);
        return fail(err, STATUS_USAGE, "\"%.*s\" has no unit: write %s", quoted(n), n->text, list);
    }
    char word[QUOTED + 1];
    snprintf(word, sizeof word, "%.*s", n->rest_length, n->rest);
    /* One letter says too little to pick a unit for the user: "8M" may be MB or MiB. */
    const char *near = suggest(word, same_letter, same);
    if (near && n->rest_length > 1) {
        spell(n, &near, 1, list, sizeof list);
        return fail(err, STATUS_USAGE, "\"%.*s\": did you mean %s?", quoted(n), n->text, list);
    }
    if (n->rest_length == 1 && same > 0)
        spell(n, same_letter, same, list, sizeof list);
    else
        spell(n, all, q->offered, list, sizeof list);
    return fail(err, STATUS_USAGE, "\"%.*s\" has an unknown unit \"%s\": write %s", quoted(n), n->text, word, list);
}

static bool check_range(const struct number *n, wide value, uint64_t min, uint64_t max, const char *base,
                        struct error *err)
{
    if (value > max)
        return fail(err, STATUS_USAGE, "\"%.*s\" is too large: at most %llu %s", quoted(n), n->text,
                    (unsigned long long)max, base);
    if (value < min)
        return fail(err, STATUS_USAGE, "\"%.*s\" is too small: at least %llu %s", quoted(n), n->text,
                    (unsigned long long)min, base);
    return true;
}

static bool parse_quantity(const char *text, const struct quantity *q, uint64_t *result, struct error *err)
{
    struct number n;
    if (!scan(text, q->what, q->example, &n, err))
        return false;
    const struct unit *unit = q->units;
    while (unit->name &&
           (strlen(unit->name) != (size_t)n.rest_length || memcmp(unit->name, n.rest, strlen(unit->name)) != 0))
        unit++;
    if (!unit->name)
        return fail_unit(&n, q, err);
    wide value;
    if (!scale(&n, unit->factor, &value))
        return fail(err, STATUS_USAGE, "\"%.*s\" is not a whole number of %s", quoted(&n), n.text, q->base);
    if (!check_range(&n, value, q->min, q->max, q->base, err))
        return false;
    *result = (uint64_t)value;
    return true;
}

bool parse_bytes(const char *text, uint64_t *bytes, struct error *err)
{
    return parse_quantity(text, &a_size, bytes, err);
}

bool parse_time(const char *text, int64_t *ns, struct error *err)
{
    uint64_t value;
    if (!parse_quantity(text, &a_time, &value, err))
        return false;
    *ns = (int64_t)value;
    return true;
}

bool parse_rate(const char *text, uint64_t *bps, struct error *err)
{
    return parse_quantity(text, &a_rate, bps, err);
}

bool parse_flops(const char *text, uint64_t *flops, struct error *err)
{
    return parse_quantity(text, &a_flops, flops, err);
}

/* A number in units of a millionth of `one_is`, 10^6 for a plain number and 10^4 for a percentage. */
static bool parse_millionths(const struct number *n, uint64_t one_is, uint64_t max, uint64_t *ppm, struct error *err)
{
    wide value;
    if (!scale(n, one_is, &value))
        return fail(err, STATUS_USAGE, "\"%.*s\" has too many digits: at most %d after the point", quoted(n), n->text,
                    one_is == 1000000 ? 6 : 4);
    if (!check_range(n, value, 0, max, "millionths", err))
        return false;
    *ppm = (uint64_t)value;
    return true;
}

bool parse_share_to(const char *text, uint32_t most_ppm, uint32_t *ppm, struct error *err)
{
    struct number n;
    if (!scan(text, "a share", "35% or 0.35", &n, err))
        return false;
    const bool percent = n.rest_length == 1 && n.rest[0] == '%';
    if (!percent && n.rest_length > 0)
        return fail(err, STATUS_USAGE, "\"%.*s\" is no share: write one like 35%% or 0.35", quoted(&n), n.text);
    uint64_t value;
    if (!parse_millionths(&n, percent ? 10000 : 1000000, UINT64_MAX, &value, err))
        return false;
    if (value > most_ppm && most_ppm == 1000000)
        return fail(err, STATUS_USAGE, "\"%.*s\" is more than all: a share is from 0%% to 100%%, or from 0 to 1",
                    quoted(&n), n.text);
    if (value > most_ppm)
        return fail(err, STATUS_USAGE, "\"%.*s\" is too much: expected at most %u%%", quoted(&n), n.text,
                    most_ppm / 10000);
    *ppm = (uint32_t)value;
    return true;
}

bool parse_share(const char *text, uint32_t *ppm, struct error *err)
{
    return parse_share_to(text, 1000000, ppm, err);
}

bool parse_decimal(const char *text, uint64_t *ppm, struct error *err)
{
    struct number n;
    if (!scan(text, "a number", "1.05", &n, err))
        return false;
    if (n.rest_length > 0)
        return fail(err, STATUS_USAGE, "\"%.*s\" is no number: write one like 1.05, without a unit", quoted(&n),
                    n.text);
    uint64_t value;
    if (!parse_millionths(&n, 1000000, UINT64_MAX, &value, err))
        return false;
    if (value > UINT64_C(1000000000000))
        return fail(err, STATUS_USAGE, "\"%.*s\" is too large: at most 1000000", quoted(&n), n.text);
    *ppm = value;
    return true;
}

bool parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct error *err)
{
    struct number n;
    char example[UNITS_TEXT];
    snprintf(example, sizeof example, "%llu", (unsigned long long)min);
    if (!scan(text, "a whole number", example, &n, err))
        return false;
    if (strspn(n.text, "0123456789") < (size_t)n.length)
        return fail(err, STATUS_USAGE, "\"%.*s\" is not a whole number", quoted(&n), n.text);
    if (n.whole < min || n.whole > max)
        return fail(err, STATUS_USAGE, "\"%.*s\" is out of range: expected %llu to %llu", quoted(&n), n.text,
                    (unsigned long long)min, (unsigned long long)max);
    *value = (uint64_t)n.whole;
    return true;
}
