/* The list of other apps: its text, and the timeline of each. */
#include "sim/apps.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "base/wide.h"

enum { ITEM_MAX = 200, QUOTED = 60 };

const char *const adj_names[ADJ_NAMES] = {"foreground", "visible", "perceptible", "service", "cached"};
const int32_t adj_numbers[ADJ_NAMES] = {0, 100, 200, 500, 900};

static const uint64_t SIZE_LIMIT_BYTES = UINT64_C(1) << 50; /* so that sums of all apps fit easily */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts `text` at the first `mark`; what follows it, or NULL. */
static char *cut(char *text, const char *mark)
{
    char *at = strstr(text, mark);
    if (!at)
        return NULL;
    *at = '\0';
    return at + strlen(mark);
}

static bool parse_name(const char *text, char name[APP_NAME_MAX + 1], struct error *err)
{
    size_t length = strlen(text);
    if (length == 0)
        return fail(err, STATUS_USAGE, "it has no name: expected NAME:ADJ:SIZE like mail:900:200MiB");
    if (length > APP_NAME_MAX)
        return fail(err, STATUS_USAGE, "the name has %zu characters: expected at most %d", length, APP_NAME_MAX);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '!' || *c > '~')
            return fail(err, STATUS_USAGE, "the name has a byte 0x%02x: expected printable ASCII",
                        (unsigned)(unsigned char)*c);
        if (*c == '@' || *c == '+')
            return fail(err, STATUS_USAGE, "the name has a \"%c\": expected one without \":\", \"@\" and \"+\"", *c);
    }
    memcpy(name, text, length + 1);
    return true;
}

bool adj_parse(const char *text, int32_t most, int32_t *adj)
{
    for (size_t i = 0; i < ADJ_NAMES; i++)
        if (strcmp(text, adj_names[i]) == 0) {
            *adj = adj_numbers[i];
            return true;
        }
    const bool minus = *text == '-';
    uint64_t value;
    struct error ignored;
    if (!parse_count(text + minus, 0, (uint64_t)(minus ? -APP_ADJ_MIN : most), &value, &ignored))
        return false;
    *adj = minus ? -(int32_t)value : (int32_t)value;
    return true;
}

static bool parse_adj(const char *text, int32_t *adj, struct error *err)
{
    char near[512];
    return adj_parse(text, APP_ADJ_MAX, adj) ||
           fail(err, STATUS_USAGE,
                "\"%.*s\" is no adj: expected a whole number from %d to %d, like 900 of a cached app, or a word for "
                "one%s",
                QUOTED, text, APP_ADJ_MIN, APP_ADJ_MAX, suggest_text(text, adj_names, ADJ_NAMES, near, sizeof near));
}

static bool parse_size(const char *text, const char *what, uint64_t *bytes, struct error *err)
{
    if (!parse_bytes(text, bytes, err))
        return fail_in(err, "%s", what);
    if (*bytes > SIZE_LIMIT_BYTES)
        return fail(err, STATUS_USAGE, "%s: \"%.*s\" is too large: expected at most 1024TiB", what, QUOTED, text);
    return true;
}

/* RATE/s..MAX */
static bool parse_growth(char *text, struct app_spec *app, struct error *err)
{
    char *most = cut(text, "..");
    if (!most)
        return fail(err, STATUS_USAGE, "its growth \"%.*s\" has no end: expected +RATE/s..MAX like +20MiB/s..400MiB",
                    QUOTED, text);
    if (!parse_rate(text, &app->growth_bps, err))
        return fail_in(err, "growth");
    if (!parse_size(most, "growth's end", &app->most_bytes, err))
        return false;
    char size[UNITS_TEXT], end[UNITS_TEXT];
    if (app->most_bytes > app->bytes && app->most_bytes - app->bytes > APP_GROWTH_MAX_BYTES)
        return fail(err, STATUS_USAGE,
                    "it grows to \"%.*s\", by too much: expected at most 1TiB more than it starts with", QUOTED, most);
    if (app->most_bytes < app->bytes)
        return fail(err, STATUS_USAGE, "it grows up to %s, less than the %s that it starts with: expected more",
                    print_bytes(app->most_bytes, end), print_bytes(app->bytes, size));
    return true;
}

static bool parse_item(char *text, struct app_spec *app, struct error *err)
{
    *app = (struct app_spec){0};
    char *adj = cut(text, ":");
    char *size = adj ? cut(adj, ":") : NULL;
    if (!size)
        return fail(err, STATUS_USAGE, "%s is missing: expected NAME:ADJ:SIZE like mail:900:200MiB",
                    adj ? "the size" : "the adj");
    char *growth = cut(size, "+");
    char *start = cut(size, "@");
    if (growth && strchr(growth, '@'))
        return fail(err, STATUS_USAGE, "its start stands behind its growth: expected SIZE@START+RATE/s..MAX");
    if (!parse_name(text, app->name, err) || !parse_adj(adj, &app->adj, err) ||
        !parse_size(size, "size", &app->bytes, err))
        return false;
    if (start && !parse_time(start, &app->start_ns, err))
        return fail_in(err, "start");
    app->most_bytes = app->bytes;
    return !growth || parse_growth(growth, app, err);
}

/* The next item into out; its length, ITEM_MAX when it is longer; 0: there is none. */
static size_t next_item(const char **text, char out[ITEM_MAX + 1])
{
    const char *at = *text;
    while (is_blank(*at))
        at++;
    const char *start = at;
    while (*at != '\0' && !is_blank(*at))
        at++;
    *text = at;
    size_t length = (size_t)(at - start);
    length = length < ITEM_MAX ? length : ITEM_MAX;
    memcpy(out, start, length);
    out[length] = '\0';
    return length;
}

bool apps_parse(const char *text, struct arena *arena, struct app_spec **apps, uint32_t *count, struct error *err)
{
    char item[ITEM_MAX + 1], shown[QUOTED + 1];
    uint32_t items = 0, n = 0;
    const char *at = text;
    while (next_item(&at, item) > 0) {
        if (++items > PRESSURE_APPS_MAX)
            return fail(err, STATUS_USAGE, "app %u \"%.*s\": too many: expected at most %d apps", items, QUOTED, item,
                        PRESSURE_APPS_MAX);
    }
    struct app_spec *all = items > 0 ? arena_alloc(arena, items, sizeof *all) : NULL;
    if (items > 0 && !all)
        return fail(err, STATUS_IO, "out of memory");
    at = text;
    for (size_t length; (length = next_item(&at, item)) > 0; n++) {
        snprintf(shown, sizeof shown, "%.*s", QUOTED, item);
        if (length == ITEM_MAX)
            return fail(err, STATUS_USAGE, "app %u \"%s...\" has %d characters or more: expected NAME:ADJ:SIZE", n + 1,
                        shown, ITEM_MAX);
        if (!parse_item(item, &all[n], err))
            return fail_in(err, "app %u \"%s\"", n + 1, shown);
        for (uint32_t before = 0; before < n; before++) {
            if (strcmp(all[before].name, all[n].name) == 0)
                return fail(err, STATUS_USAGE, "app %u \"%s\": app %u has the name \"%s\" already: expected another",
                            n + 1, shown, before + 1, all[n].name);
        }
    }
    *apps = all;
    *count = n;
    return true;
}

int64_t app_step_ns(const struct app_spec *app, uint64_t k)
{
    if (app->growth_bps == 0 || app->bytes + (k - 1) * APP_STEP_BYTES >= app->most_bytes)
        return INT64_MAX;
    /* k is at most 2^20 here, as growths are at most 2^40. */
    wide after = ((wide)k * APP_STEP_BYTES * 1000000000 + app->growth_bps - 1) / app->growth_bps;
    wide at = after + (uint64_t)app->start_ns;
    return at < INT64_MAX ? (int64_t)at : INT64_MAX;
}

uint64_t app_step_bytes(const struct app_spec *app, uint64_t k)
{
    uint64_t bytes = app->bytes + k * APP_STEP_BYTES;
    return k == 0 || bytes < app->most_bytes ? bytes : app->most_bytes;
}
