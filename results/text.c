/* Text from strangers, made safe for a terminal, a document or a data file. */
#include "results/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static bool acts_on_a_line(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0x200E || c == 0x200F || c == 0xFEFF;
}

char *text_clean(const char *text, bool one_line)
{
    const size_t size = strlen(text);
    char *out = malloc(3 * size + 1); /* U+FFFD takes three bytes */
    if (!out)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        uint32_t c;
        const size_t length = utf8_character(text + i, &c);
        if (length == 0) {
            memcpy(out + used, "\xEF\xBF\xBD", 3);
            used += 3;
            i++;
            continue;
        }
        if (one_line && acts_on_a_line(c)) {
            out[used++] = ' ';
        } else {
            memcpy(out + used, text + i, length);
            used += length;
        }
        i += length;
    }
    out[used] = '\0';
    return out;
}

bool text_named_line(FILE *file, const char *name, const char *words)
{
    if (words[0] == '\0')
        return true;
    char *clean = text_clean(words, true), *before = text_clean(name != NULL ? name : "", true);
    const bool ok = clean != NULL && before != NULL;
    if (ok)
        fprintf(file, "%.640s%s%s\n", before, name != NULL ? ": " : "", clean);
    free(clean);
    free(before);
    return ok;
}

/* East Asian and pictographic ranges that terminals draw two columns wide (Unicode TR 11, coarsely). */
static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

size_t text_width(const char *text)
{
    size_t width = 0;
    while (*text != '\0') {
        uint32_t c;
        const size_t length = utf8_character(text, &c);
        if (length == 0 || !(c >= 0x300 && c <= 0x36F))
            width += length > 1 && is_wide(c) ? 2 : 1;
        text += length == 0 ? 1 : length;
    }
    return width;
}

void text_csv(FILE *file, const char *text)
{
    const size_t size = strlen(text);
    const bool blank = size > 0 && (text[0] == ' ' || text[size - 1] == ' ');
    if (!blank && text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"')
            putc('"', file);
        putc(*p, file);
    }
    putc('"', file);
}

const char *text_real(double value, char out[REAL_TEXT])
{
    if (!isfinite(value))
        return NULL;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, REAL_TEXT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    if (out[strcspn(out, ".e")] == '\0')
        strcat(out, ".0");
    return out;
}
