/* The estimates of many runs as one list. */
#include "results/estimate_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { LINE_CHARACTERS = 110, KEYS_SHOWN = 20 };

struct key {
    const char *text; /* in a record's estimates */
    size_t length;
};

struct keys {
    struct key *all;
    size_t count, capacity;
};

static bool add_key(struct keys *keys, struct key key)
{
    struct error ignored;
    for (size_t i = 0; i < keys->count; i++)
        if (keys->all[i].length == key.length && memcmp(keys->all[i].text, key.text, key.length) == 0)
            return true;
    if (!array_reserve((void **)&keys->all, &keys->capacity, keys->count + 1, sizeof *keys->all, &ignored))
        return false;
    keys->all[keys->count++] = key;
    return true;
}

/* The keys of one record; its list may end in "...", which is none. */
static bool add_keys(struct keys *keys, const char *text, bool *cut)
{
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        const struct key key = {text, strcspn(text, " ")};
        text += key.length;
        if (key.length == 3 && memcmp(key.text, "...", 3) == 0)
            *cut = true;
        else if (!add_key(keys, key))
            return false;
    }
    return true;
}

static void print_word(FILE *file, const char *text, size_t length, size_t *column)
{
    static const char indent[] = "          "; /* as long as "estimates:" */
    if (*column + 1 + length > LINE_CHARACTERS) {
        fprintf(file, "\n%s", indent);
        *column = sizeof indent - 1;
    }
    fprintf(file, " %.*s", (int)length, text);
    *column += 1 + length;
}

bool estimates_print(FILE *file, const struct run_record *records, size_t count)
{
    static const char head[] = "estimates:", tail[] = "(nobody measured or published these)";
    struct keys keys = {NULL, 0, 0};
    bool cut = false, ok = true;
    for (size_t i = 0; ok && i < count; i++)
        /* Rivals share their estimates mostly. */
        if (records[i].estimates != NULL &&
            (i == 0 || records[i - 1].estimates == NULL || strcmp(records[i].estimates, records[i - 1].estimates) != 0))
            ok = add_keys(&keys, records[i].estimates, &cut);
    if (ok && keys.count > 0) {
        size_t column = sizeof head - 1;
        fprintf(file, "\n%s", head);
        const size_t shown = keys.count > KEYS_SHOWN ? KEYS_SHOWN : keys.count;
        for (size_t i = 0; i < shown; i++)
            print_word(file, keys.all[i].text, keys.all[i].length, &column);
        char more[80] = "...";
        if (shown < keys.count && !cut)
            snprintf(more, sizeof more, "and %zu more: see the records' column estimates", keys.count - shown);
        if (shown < keys.count || cut)
            print_word(file, more, strlen(more), &column);
        print_word(file, tail, sizeof tail - 1, &column);
        putc('\n', file);
    }
    free(keys.all);
    return ok;
}
