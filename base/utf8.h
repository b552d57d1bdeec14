/* Characters of text in UTF-8. */
#ifndef POCKETLOAD_BASE_UTF8_H
#define POCKETLOAD_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the well-formed character at `text` (RFC 3629: no surrogate, nothing longer than it must be), 1 to 4,
 * and its code; 0 where there is none. Reads at most to the text's NUL, which is itself a character. */
size_t utf8_character(const char *text, uint32_t *code);

/* What a terminal may act on: C0, DEL and C1. */
static inline bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

#endif
