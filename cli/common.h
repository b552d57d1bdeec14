/* What all commands share: how errors are shown, where profiles are found, the option --format. */
#ifndef POCKETLOAD_CLI_COMMON_H
#define POCKETLOAD_CLI_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "results/output.h"

enum { ERROR_PART = 512 }; /* room for a part of an error's text */

/* Prints the error as the one line "pocketload: TEXT" on stderr and returns its code. */
int report(const struct error *err);

/* "device show" of the whole name "pocketload device show", as errors begin with the program's name anyway. */
const char *short_name(const char *name);

/* True when `file` is a terminal whose user did not ask for plain text (NO_COLOR, TERM=dumb). */
bool wants_color(FILE *file);

/* "table", "csv", ... with the nearest spelling in the error. */
bool parse_format(const char *text, enum format *format, struct error *err);

/* A limit of at least 1 ms, with "--timeout" in its errors. */
bool parse_timeout(const char *text, int64_t *timeout_ms, struct error *err);

/* Writes what is buffered for stdout and checks it. False when the reader or the disk did not take all of it. */
bool finish_stdout(struct error *err);

/* The folders that hold devices/NAME.ini and models/NAME.ini, first hit wins: ./configs; configs/ in a folder above the
 * program's (build/pocketload of a source tree); share/pocketload beside its bin/; the folder of the installation.
 * Only those that exist. */
enum { PROFILE_DIRS_MAX = 8, PROFILE_DIR_BYTES = 4096 };
struct profile_dirs {
    char texts[PROFILE_DIRS_MAX][PROFILE_DIR_BYTES];
    const char *list[PROFILE_DIRS_MAX + 1]; /* ends with NULL */
};
void profile_dirs_find(struct profile_dirs *dirs);

/* Tables for people show records of one thing as lines of "field  value", and other formats as a record. `columns` are
 * those of the record; a text "", an integer -1 and a NAN that may be NULL are not shown to people. */
bool show_record(enum format format, const struct column *columns, size_t count, const void *record, struct error *err);

/* The same for people, with a third column, "source", whose texts are `sources`. */
bool show_sourced_record(const struct column *columns, const char *const *sources, size_t count, const void *record,
                         struct error *err);

/* Several records of `size` bytes each, in any format. */
bool show_records(enum format format, const struct column *columns, size_t column_count, const void *records,
                  size_t size, size_t count, struct error *err);

/* The same with rates in GB/s in tables for people. */
bool show_list(enum format format, const struct column *columns, size_t column_count, const void *records, size_t size,
               size_t count, struct error *err);

#endif
