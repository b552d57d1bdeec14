/* Nearest spelling by optimal string alignment distance. */
#include "base/suggest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { LONGEST_WORD = 64, NAMES_SHOWN = 12 };

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; /* not tolower: the locale must not matter */
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours, no part edited twice. Both lengths are at most LONGEST_WORD.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_WORD + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const size_t change = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = smaller(above[j - 1] + change, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

const char *suggest(const char *word, const char *const *names, size_t count)
{
    const size_t word_length = strlen(word);
    if (word_length > LONGEST_WORD)
        return NULL;
    const char *best = NULL;
    size_t best_cost = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(names[i]);
        if (length > LONGEST_WORD)
            continue;
        const size_t longer = length > word_length ? length : word_length;
        const size_t limit = longer < 6 ? 1 : longer / 3;
        const size_t d = distance(word, word_length, names[i], length);
        /* A name that the word begins needs no letter changed: q4_k means q4_k_s rather than q2_k. */
        const size_t cost = length > word_length && strncmp(word, names[i], word_length) == 0 ? 1 : 2 * d;
        if (d <= limit && cost < best_cost) {
            best = names[i];
            best_cost = cost;
        }
    }
    return best;
}

const char *suggest_text(const char *word, const char *const *names, size_t count, char *out, size_t size)
{
    must(size > 0);
    const char *near = suggest(word, names, count);
    out[0] = '\0';
    if (near) {
        snprintf(out, size, ": did you mean %s?", near);
        return out;
    }
    size_t used = 0;
    for (size_t i = 0; i < count && i <= NAMES_SHOWN; i++) {
        const char *before = i == 0 ? "; expected " : i == count - 1 && i < NAMES_SHOWN ? " or " : ", ";
        const char *name = i < NAMES_SHOWN ? names[i] : "...";
        const int more = snprintf(out + used, size - used, "%s%s", before, name);
        if (more < 0 || (size_t)more >= size - used)
            break;
        used += (size_t)more;
    }
    return out;
}
