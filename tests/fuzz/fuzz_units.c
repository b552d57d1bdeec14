/* Fuzzes the parsers of sizes, times, rates, shares and numbers: no text may crash them, what they accept reads back
 * from its exact spelling, and what they refuse comes with one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A refusal leaves one line and a code. */
static void check(bool good, struct error *err)
{
    if (!good)
        must(err->code == STATUS_USAGE && err->text[0] != '\0' && !strpbrk(err->text, "\r\n"));
    *err = (struct error){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';

    struct error err = {0};
    char out[UNITS_TEXT];
    uint64_t value, again;
    int64_t ns, ns_again;
    uint32_t ppm;
    bool good = parse_bytes(text, &value, &err);
    check(good, &err);
    if (good)
        must(value <= INT64_MAX && parse_bytes(print_bytes(value, out), &again, &err) && again == value &&
             format_bytes(value, out) == out);
    good = parse_time(text, &ns, &err);
    check(good, &err);
    if (good)
        must(ns >= 0 && parse_time(print_time(ns, out), &ns_again, &err) && ns_again == ns &&
             format_time(ns, out) == out);
    good = parse_decimal(text, &value, &err);
    check(good, &err);
    if (good)
        must(parse_decimal(print_decimal(value, out), &again, &err) && again == value);
    good = parse_rate(text, &value, &err);
    check(good, &err);
    must(!good || value >= 1);
    good = parse_flops(text, &value, &err);
    check(good, &err);
    must(!good || value >= 1);
    good = parse_share(text, &ppm, &err);
    check(good, &err);
    must(!good || ppm <= 1000000);
    good = parse_count(text, 3, 1000, &value, &err);
    check(good, &err);
    must(!good || (value >= 3 && value <= 1000));
    free(text);
    return 0;
}
