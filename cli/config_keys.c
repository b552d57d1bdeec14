/* Every key of a config, from the table that config files are checked against. */
#include "cli/config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/common.h"
#include "sim/options.h"

enum { VALUE_BYTES = 512, NAMES_SHOWN = 12 };

struct option_row {
    const char *section, *key, *value, *fallback, *help;
};

static const struct column columns[] = {
    {"section", COLUMN_TEXT, offsetof(struct option_row, section), false, "section"},
    {"key", COLUMN_TEXT, offsetof(struct option_row, key), false, "key"},
    {"value", COLUMN_TEXT, offsetof(struct option_row, value), false, "what its value looks like"},
    {"default", COLUMN_TEXT, offsetof(struct option_row, fallback), true, "value when none is given"},
    {"help", COLUMN_TEXT, offsetof(struct option_row, help), false, "what it means"},
};

/* "a | b | c" for a choice, else the text of the type. Many names would make a table too wide for people. */
static const char *value_text(const struct option *option, bool for_people, struct arena *arena)
{
    if (!option->names)
        return option_type_texts[option->type];
    char text[VALUE_BYTES] = "";
    if (for_people && option->name_count > NAMES_SHOWN) {
        snprintf(text, sizeof text, "%s | ... | %s", option->names[0], option->names[option->name_count - 1]);
        return arena_strdup(arena, text);
    }
    size_t length = option->word ? (size_t)snprintf(text, sizeof text, "%s | ", option->word) : 0;
    for (size_t i = 0; i < option->name_count && length < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " | " : "", option->names[i]);
    return arena_strdup(arena, text);
}

bool show_config_keys(enum format format, struct error *err)
{
    struct arena arena = {0};
    size_t count = 0;
    const struct option *options = options_all(&arena, &count);
    struct option_row *rows = options != NULL ? arena_alloc(&arena, count, sizeof *rows) : NULL;
    bool good = rows != NULL || fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        const struct option *option = &options[i];
        rows[i] = (struct option_row){option->section, option->key, value_text(option, format == FORMAT_TABLE, &arena),
                                      option->fallback != NULL ? option->fallback : "", option->help};
        good = rows[i].value != NULL || fail(err, STATUS_IO, "out of memory");
    }
    good = good && show_records(format, columns, sizeof columns / sizeof columns[0], rows, sizeof *rows, count, err);
    arena_free(&arena);
    return good;
}
