/* Decoding of UTF-8, one character at a time. */
#include "base/utf8.h"

size_t utf8_character(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    const unsigned more = s[0] < 0x80 ? 0 : s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3;
    if ((s[0] >= 0x80 && s[0] < 0xC0) || s[0] >= 0xF8)
        return 0;
    uint32_t value = more == 0 ? s[0] : s[0] & (0x3Fu >> more);
    for (unsigned i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) /* so it is at the text's end: its NUL */
            return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    if (value < least[more] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return more + 1;
}
