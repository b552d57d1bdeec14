/* INI files through inih, with the checks that inih leaves out.
 *
 * Refused, each with file:line: a line of 200 bytes or more, its line end included (inih would cut it: lists continue
 * on indented lines), a section name or key of 50 bytes or more, an indented line that reads like `key = value` or
 * `[section]` (inih would take it for a continuation), an indented line that continues nothing, a key twice in one
 * section, a section twice, a key before any section, a line that is neither, text behind `[section]`, a NUL, more than
 * CONFIG_MOST_SECTIONS or CONFIG_MOST_KEYS of them.
 * Accepted: CRLF, a BOM, no newline at the end, comments that start a line with ; or # or stand behind " ;". */
#ifndef POCKETLOAD_BASE_CONFIG_FILE_H
#define POCKETLOAD_BASE_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { CONFIG_MOST_SECTIONS = 256, CONFIG_MOST_KEYS = 4096 };

struct config_entry {
    const char *section, *key;
    const char *value; /* continuation lines are joined with one blank */
    unsigned line;     /* of the key */
};

struct config_file {
    char *path;
    struct config_entry *entries; /* in file order */
    size_t count;
    void *memory;
};

/* Reads a file, or text of `size` bytes already in memory named `path` in messages. STATUS_USAGE (syntax, or the file
 * cannot be read). On success the caller frees with config_file_free. */
bool config_file_read(const char *path, struct config_file *file, struct error *err);
bool config_file_parse(const char *path, const char *text, size_t size, struct config_file *file, struct error *err);
void config_file_free(struct config_file *file);

/* Splits a list at commas that stand outside parentheses; items are trimmed. Calls back for each item; an empty
 * item or an unbalanced parenthesis is an error. Item text is valid during the call only. */
bool list_split(const char *text, bool (*item)(void *context, const char *text, struct error *err), void *context,
                struct error *err);

#endif
