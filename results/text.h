/* Text from strangers, made safe for a terminal, a document or a data file. */
#ifndef POCKETLOAD_RESULTS_TEXT_H
#define POCKETLOAD_RESULTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A copy (malloc) that is valid UTF-8: every byte that is not part of a character becomes U+FFFD. With one_line,
 * control characters (C0, DEL, C1) and the marks that reverse a line's direction become blanks too. NULL without
 * memory. */
char *text_clean(const char *text, bool one_line);

/* Writes "NAME: WORDS" as one clean line, without a name (NULL) the words alone, and nothing for "". False without
 * memory. */
bool text_named_line(FILE *file, const char *name, const char *words);

/* Columns that a terminal takes for valid UTF-8 in one line: its characters, combining accents not counted. */
size_t text_width(const char *text);

/* One field of a CSV file as RFC 4180 has it: in quotes where it holds a comma, a quote, a line end or a blank at
 * either end. */
void text_csv(FILE *file, const char *text);

/* The shortest of 15 to 17 digits that reads back to the same double, with a point or an exponent; NULL for what is
 * not a number. */
enum { REAL_TEXT = 32 };
const char *text_real(double value, char out[REAL_TEXT]);

#endif
