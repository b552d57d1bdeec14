/* Lists of perplexities. */
#include "sim/perplexity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "workloads/quant.h"

enum { ITEM_BYTES = 64 };
static const uint64_t ppm = 1000000, largest_ppm = UINT64_C(1000000000000);

/* The next item into `item`; *text moves behind it. False at the end. *whole: it fits, else it is cut off. */
static bool next_item(const char **text, char item[ITEM_BYTES], bool *whole)
{
    *text += strspn(*text, " ");
    const size_t length = strcspn(*text, " ");
    snprintf(item, ITEM_BYTES, "%.*s", (int)(length < ITEM_BYTES ? length : ITEM_BYTES - 1), *text);
    *text += length;
    *whole = length < ITEM_BYTES;
    return length > 0;
}

static int find_quant(const char *name)
{
    for (int q = 0; q < QUANTS; q++)
        if (strcmp(quant_names[q], name) == 0)
            return q;
    return -1;
}

static bool check_item(char *item, bool seen[QUANTS], struct error *err)
{
    char *colon = strchr(item, ':'), near[512];
    uint64_t number;
    struct error why;
    if (!colon)
        return fail(err, STATUS_USAGE, "\"%s\" is not QUANT:NUMBER: q4_0:6.41", item);
    *colon = '\0';
    const int quant = find_quant(item);
    if (quant < 0)
        return fail(err, STATUS_USAGE, "unknown quantisation \"%s\"%s", item,
                    suggest_text(item, quant_names, QUANTS, near, sizeof near));
    if (seen[quant])
        return fail(err, STATUS_USAGE, "%s stands here a second time; expected each quantisation once", item);
    seen[quant] = true;
    if (!parse_decimal(colon + 1, &number, &why))
        return fail(err, STATUS_USAGE, "%s: %s", item, why.text);
    return (number >= ppm && number <= largest_ppm) ||
           fail(err, STATUS_USAGE, "%s: \"%s\" is out of range; expected 1 to 1000000", item, colon + 1);
}

bool perplexity_check(const char *text, struct error *err)
{
    bool seen[QUANTS] = {false};
    char item[ITEM_BYTES];
    unsigned count = 0;
    bool whole;
    while (next_item(&text, item, &whole)) {
        count++;
        if (!whole)
            return fail(err, STATUS_USAGE, "item %u is longer than %d bytes; expected QUANT:NUMBER: q4_0:6.41", count,
                        ITEM_BYTES - 1);
        if (!check_item(item, seen, err))
            return fail_in(err, "item %u", count);
    }
    return count > 0 || fail(err, STATUS_USAGE, "no value; expected QUANT:NUMBER: q4_0:6.41");
}

double perplexity_of(const char *text, const char *quant)
{
    char item[ITEM_BYTES];
    bool whole;
    while (text && next_item(&text, item, &whole)) {
        char *colon = strchr(item, ':');
        uint64_t number;
        struct error ignored;
        must(colon);
        *colon = '\0';
        if (strcmp(item, quant) == 0 && parse_decimal(colon + 1, &number, &ignored))
            return (double)number / (double)ppm; /* both exact: the nearest double */
    }
    return (double)NAN;
}
