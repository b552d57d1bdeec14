/* Building and prefixing one-line error messages; failing assertions. */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Copies one line into err: what a terminal could act on and bytes that are no UTF-8 become '?', and a cut never splits
 * a UTF-8 character. */
static void set_text(struct error *err, const char *text)
{
    const size_t room = sizeof err->text - 1;
    size_t length = strlen(text);
    const bool cut = length > room;
    if (cut) {
        length = room - 3;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    char *out = err->text;
    for (size_t i = 0, size; i < length; i += size) {
        uint32_t code;
        size = utf8_character(text + i, &code);
        if (size == 0 || utf8_is_control(code)) {
            size = size > 0 ? size : 1;
            *out++ = '?';
        } else {
            memcpy(out, text + i, size);
            out += size;
        }
    }
    memcpy(out, cut ? "..." : "", cut ? 4 : 1);
}

bool fail(struct error *err, enum status code, const char *format, ...)
{
    must(err != NULL && code != STATUS_OK);
    char text[sizeof err->text + 8]; /* longer than the target, so that set_text sees that it was cut */
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(written >= 0);
    err->code = code;
    set_text(err, text);
    return false;
}

bool fail_in(struct error *err, const char *format, ...)
{
    must(err != NULL);
    char text[sizeof err->text + 8];
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(written >= 0);
    const size_t used = strlen(text);
    const int more = snprintf(text + used, sizeof text - used, ": %s", err->text);
    must(more >= 0);
    set_text(err, text);
    return false;
}

_Noreturn void must_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: pocketload is wrong here: !(%s)\n", file, line, condition);
    abort();
}
