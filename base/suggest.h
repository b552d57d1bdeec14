/* The nearest valid spelling of a word, for error messages. */
#ifndef POCKETLOAD_BASE_SUGGEST_H
#define POCKETLOAD_BASE_SUGGEST_H

#include <stddef.h>

/* The name nearest to word by Damerau-Levenshtein distance (optimal string alignment), ignoring case, or
 * NULL when the nearest is further than a third of the longer of the two lengths (at least 1). Of those a
 * name that the word begins is nearer than one with a letter changed. Ties go to the earlier name. */
const char *suggest(const char *word, const char *const *names, size_t count);

/* Writes ": did you mean NAME?" or, with no near name, "; expected A, B or C" (at most 12 names, then
 * "...") into out, always terminated. Returns out. */
const char *suggest_text(const char *word, const char *const *names, size_t count, char *out, size_t size);

#endif
