/* Comma lists whose items may hold commas in parentheses, as policies' parameters do. */
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"

enum { SHOWN = 60 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The end of the item that starts at `text`, or NULL with *err set. */
static const char *item_end(const char *text, const char *list, struct error *err)
{
    unsigned depth = 0;
    const char *at = text;
    for (; *at != '\0' && (*at != ',' || depth > 0); at++) {
        if (*at == ')' && depth == 0) {
            fail(err, STATUS_USAGE, "\"%.*s\" has a \")\" without a \"(\"", SHOWN, list);
            return NULL;
        }
        depth += *at == '(';
        depth -= *at == ')';
    }
    if (depth > 0) {
        fail(err, STATUS_USAGE, "\"%.*s\" has a \"(\" without a \")\"", SHOWN, text);
        return NULL;
    }
    return at;
}

bool list_split(const char *text, bool (*item)(void *context, const char *text, struct error *err), void *context,
                struct error *err)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        return fail(err, STATUS_IO, "out of memory");
    bool good = true;
    const char *start = text;
    for (size_t number = 1; good; number++) {
        const char *end = item_end(start, text, err);
        if (!end) {
            good = false;
            break;
        }
        const char *first = start, *last = end;
        while (first < last && is_blank(*first))
            first++;
        while (last > first && is_blank(last[-1]))
            last--;
        const size_t length = (size_t)(last - first);
        memcpy(copy, first, length);
        copy[length] = '\0';
        good = length > 0 ? item(context, copy, err)
                          : fail(err, STATUS_USAGE, "item %zu of the list \"%.*s\" is empty", number, SHOWN, text);
        if (*end == '\0')
            break;
        start = end + 1;
    }
    free(copy);
    return good;
}
