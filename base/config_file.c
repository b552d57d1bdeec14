/* INI files: a line reader that checks what inih does not, and inih to take the checked lines apart.
 *
 * The reader hands inih each line without its comment, so that every build of inih sees the same text, and knows what
 * inih is going to make of the line: the handler relies on it. */
#include "base/config_file.h"

#include <ini.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/files.h"

enum {
    LONGEST_LINE = 199, /* with its line end; inih has a buffer of 200 bytes in its usual build */
    LONGEST_NAME = 49,  /* inih has 50 bytes for a section and for a key that lines continue */
    LARGEST_FILE = 1 << 24,
    SHOWN = 60
};

enum line_kind { LINE_BLANK, LINE_SECTION, LINE_KEY, LINE_CONTINUATION };

struct parser {
    struct config_file *file;
    size_t capacity; /* of file->entries */
    struct error *err;
    bool failed;

    const char *text, *end; /* what is left to read */
    unsigned line;
    enum line_kind kind; /* of the line that inih has */

    const char *sections[CONFIG_MOST_SECTIONS];
    size_t section_count;
    size_t section_start; /* first entry of the section */

    char *pool; /* all strings, one after the other */
    size_t pool_used, pool_size;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Fails at the current line. */
#define fail_here(p, ...) (fail((p)->err, STATUS_USAGE, __VA_ARGS__), fail_at(p))

static bool fail_at(struct parser *p)
{
    p->failed = true;
    return fail_in(p->err, "%s:%u", p->file->path, p->line);
}

/* Appends to the pool, which is large enough: what is kept of a line is at most one byte longer than the line. */
static char *keep(struct parser *p, const char *text, size_t length)
{
    must(length < p->pool_size - p->pool_used);
    char *copy = p->pool + p->pool_used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    p->pool_used += length + 1;
    return copy;
}

/* `[name]`, with nothing behind it. */
static bool check_section(struct parser *p, const char *line)
{
    const char *name = line + 1;
    const char *close = strchr(name, ']');
    if (!close)
        return fail_here(p, "found \"%.*s\", expected \"]\" at the end of the section's name", SHOWN, line);
    if (close[1] != '\0')
        return fail_here(p, "found \"%.*s\" behind the section's name, expected nothing", SHOWN, close + 1);
    while (is_blank(*name))
        name++;
    size_t length = (size_t)(close - name);
    while (length > 0 && is_blank(name[length - 1]))
        length--;
    if (length == 0)
        return fail_here(p, "a section has no name");
    if (close - line - 1 > LONGEST_NAME) /* blanks in the brackets count for inih */
        return fail_here(p, "the section name \"%.*s...\" is too long: at most %d bytes", SHOWN / 2, name,
                         LONGEST_NAME);
    if (p->section_count == CONFIG_MOST_SECTIONS)
        return fail_here(p, "more than %d sections", CONFIG_MOST_SECTIONS);
    for (size_t i = 0; i < p->section_count; i++) {
        if (strlen(p->sections[i]) == length && memcmp(p->sections[i], name, length) == 0)
            return fail_here(p, "section [%s] stands here a second time: join the two", p->sections[i]);
    }
    p->sections[p->section_count++] = keep(p, name, length);
    p->section_start = p->file->count;
    return true;
}

/* `key = value`; inih takes a colon too. */
static bool check_key(struct parser *p, const char *line)
{
    size_t length = strcspn(line, "=:");
    if (line[length] == '\0')
        return fail_here(p, "found \"%.*s\", expected [section] or key = value", SHOWN, line);
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    if (length == 0)
        return fail_here(p, "found \"%.*s\", expected a key before it", SHOWN, line);
    if (length > LONGEST_NAME)
        return fail_here(p, "the key \"%.*s...\" is too long: at most %d bytes", SHOWN / 2, line, LONGEST_NAME);
    if (p->section_count == 0)
        return fail_here(p, "found the key \"%.*s\" before any [section]", (int)length, line);
    return true;
}

/* An indented line: it goes on with the value above it, unless it looks as if the indent were a mistake. */
static bool check_continuation(struct parser *p, const char *line)
{
    const size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    const size_t equals = word + strspn(line + word, " \t");
    if (line[0] == '[' || (word > 0 && line[equals] == '='))
        return fail_here(p, "\"%.*s\" is indented: sections and keys start at the margin, only lists go on indented",
                         SHOWN, line);
    if (p->file->count == p->section_start)
        return fail_here(p, "\"%.*s\" is indented, but there is no key that it goes on with", SHOWN, line);
    return true;
}

static bool check_line(struct parser *p, const char *line, bool indented)
{
    bool good;
    if (*line == '\0') {
        p->kind = LINE_BLANK;
        good = true;
    } else if (indented) {
        p->kind = LINE_CONTINUATION;
        good = check_continuation(p, line);
    } else if (*line == '[') {
        p->kind = LINE_SECTION;
        good = check_section(p, line);
    } else {
        p->kind = LINE_KEY;
        good = check_key(p, line);
    }
    return good;
}

/* Cuts off a comment and blanks; `line` begins at the line's first character. */
static void strip(char *line)
{
    char *first = line;
    while (is_blank(*first))
        first++;
    if (*first == ';' || *first == '#')
        *first = '\0';
    size_t length = strlen(line);
    for (char *c = line; *c; c++) {
        if (*c == ';' && c > line && is_blank(c[-1])) {
            length = (size_t)(c - line);
            break;
        }
    }
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    line[length] = '\0';
}

/* The next line into out, stripped and checked, as fgets would give it. */
static bool read_line(struct parser *p, char *out, size_t size)
{
    const size_t left = (size_t)(p->end - p->text);
    const char *newline = memchr(p->text, '\n', left);
    size_t length = newline ? (size_t)(newline - p->text) : left;
    const char *text = p->text;
    p->text = newline ? newline + 1 : p->end;
    p->line++;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    const size_t limit = size < LONGEST_LINE + 1 ? size - 1 : LONGEST_LINE;
    if (length + 1 > limit)
        return fail_here(p,
                         "the line is too long: found %zu bytes, expected at most %zu; a list may go on, indented, "
                         "on the next line",
                         length, limit - 1);
    if (memchr(text, '\0', length))
        return fail_here(p, "found a NUL byte, expected text");
    memcpy(out, text, length);
    out[length] = '\0';
    strip(out);
    const char *first = out;
    while (is_blank(*first))
        first++;
    if (!check_line(p, first, first > out))
        return false;
    length = strlen(out);
    out[length] = '\n';
    out[length + 1] = '\0';
    return true;
}

/* inih's ini_reader. */
static char *next_line(char *out, int size, void *context)
{
    struct parser *p = context;
    must(size > 1);
    if (p->failed || p->text == p->end || !read_line(p, out, (size_t)size))
        return NULL;
    return out;
}

static bool add_entry(struct parser *p, const char *key, const char *value)
{
    struct config_file *file = p->file;
    for (size_t i = p->section_start; i < file->count; i++) {
        if (strcmp(file->entries[i].key, key) == 0)
            return fail_here(p, "%s.%s stands here a second time, first in line %u", file->entries[i].section, key,
                             file->entries[i].line);
    }
    if (file->count == CONFIG_MOST_KEYS)
        return fail_here(p, "more than %d keys", CONFIG_MOST_KEYS);
    void *entries = file->entries;
    if (!array_reserve(&entries, &p->capacity, file->count + 1, sizeof *file->entries, p->err))
        return fail_at(p);
    file->entries = entries;
    const char *kept_key = keep(p, key, strlen(key));
    file->entries[file->count++] = (struct config_entry){.section = p->sections[p->section_count - 1],
                                                         .key = kept_key,
                                                         .value = keep(p, value, strlen(value)),
                                                         .line = p->line};
    return true;
}

/* inih's ini_handler: called once for a key and again for each line that continues it. */
static int take_value(void *context, const char *section, const char *key, const char *value)
{
    struct parser *p = context;
    (void)section; /* the reader has it, without the blanks inside the brackets */
    if (p->failed)
        return 0;
    if (p->kind == LINE_KEY)
        return add_entry(p, key, value);
    must(p->kind == LINE_CONTINUATION && p->file->count > 0);
    struct config_entry *last = &p->file->entries[p->file->count - 1];
    must(strcmp(last->key, key) == 0);
    if (*last->value != '\0')
        p->pool[p->pool_used - 1] = ' ';
    else
        p->pool_used--;
    keep(p, value, strlen(value));
    return 1;
}

bool config_file_parse(const char *path, const char *text, size_t size, struct config_file *file, struct error *err)
{
    if (size > LARGEST_FILE)
        return fail(err, STATUS_USAGE, "%s is too large: expected at most %d bytes", path, LARGEST_FILE);
    *file = (struct config_file){0};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    struct parser p = {.file = file, .err = err, .text = text, .end = text + size, .pool_size = 2 * size + 2};
    file->path = strdup(path);
    file->memory = p.pool = malloc(p.pool_size);
    if (!file->path || !p.pool) {
        config_file_free(file);
        return fail(err, STATUS_IO, "cannot read %s: out of memory", path);
    }
    const int result = ini_parse_stream(next_line, &p, take_value, &p);
    if (!p.failed && result != 0) {
        p.line = result > 0 ? (unsigned)result : p.line;
        fail_here(&p, "not understood, expected [section] or key = value");
    }
    if (p.failed) {
        config_file_free(file);
        return false;
    }
    return true;
}

bool config_file_read(const char *path, struct config_file *file, struct error *err)
{
    char *text;
    size_t size;
    if (!file_read(path, LARGEST_FILE, true, &text, &size, err))
        return false;
    const bool good = config_file_parse(path, text, size, file, err);
    free(text);
    return good;
}

void config_file_free(struct config_file *file)
{
    free(file->path);
    free(file->entries);
    free(file->memory);
    *file = (struct config_file){0};
}
