/* Every model against every measured truth: files of measurements in, one row of measured and simulated out for each.
 *
 * A truth file is CSV: lines that begin with # (the source), a line of column names, rows. The set of its columns tells
 * its family, and the family what is simulated: docs/truth-files.md. Rows that fail stay in; what cannot be simulated,
 * because a phone, a model or a trace is not known, is a skipped row with the reason. */
#ifndef POCKETLOAD_RESULTS_VALIDATE_H
#define POCKETLOAD_RESULTS_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "results/output.h"

/* One quantity of one row of a truth file. All texts live in the validation's arena. */
struct validation_row {
    const char *source;   /* "iobench-oneplus-15r.csv:3" */
    const char *family;   /* "flash" */
    const char *subject;  /* what was measured: phone, model, policy ... */
    const char *quantity; /* with its unit: "bytes_per_s"; "" for a row that was skipped whole */
    double measured;      /* NAN: skipped */
    double measured_high; /* the measured interval's upper end; NAN: one number was measured */
    double simulated;     /* NAN: skipped, or nothing came out */
    double error_percent; /* of the measured number, or of the interval's nearer end (0 inside it); NAN: no error */
    double limit_percent; /* what the project claims; NAN: nothing */
    const char *verdict;  /* "ok", "off", "skipped"; "" where nothing is claimed */
    const char *note;     /* why it was skipped, what was assumed; or "" */
    double exact_error;   /* error_percent before it was rounded for the table */
    unsigned line;        /* of the source */
};

/* Errors of one quantity of one family. */
struct validation_summary {
    const char *family, *quantity;
    size_t rows, off, skipped;
    double median_percent, worst_percent; /* of the errors without their sign; NAN: there are none */
    const char *worst;                    /* the worst row's source, or "" */
    double limit_percent;                 /* what the project claims of the median; NAN: nothing */
    const char *verdict;                  /* of the median: "ok", "off", "" */
};

struct validation {
    struct arena arena;
    bool own;                    /* of all that the project ships, and of nothing else */
    struct validation_row *rows; /* in the order of files and lines */
    size_t row_count, row_capacity;
    struct validation_summary *summaries; /* in the order of families, then of quantities as they come */
    size_t summary_count;
};

struct validate_options {
    const char *const *paths; /* files and folders; none: the folders "truth" beside the profiles' */
    size_t path_count;
    const char *const *families; /* only these; none: all */
    size_t family_count;
    const char *device;              /* for files that name none; NULL: none */
    const char *const *profile_dirs; /* as experiment_read wants them */
};

/* Reads all files, then simulates each row. STATUS_USAGE for an unknown family, STATUS_INPUT for a bad file (with
 * file:line), STATUS_IO where one cannot be read. Free with validation_free, after a failure too. */
bool validate(const struct validate_options *options, struct validation *validation, struct error *err);
void validation_free(struct validation *validation);

/* True when no row and no median is off. *off: how many are, *skipped: how many rows were skipped. */
bool validation_good(const struct validation *validation, size_t *off, size_t *skipped);

/* Writes the rows; in tables and markdown the summary too. Markdown is a page: of the
 * project's own measurements it is docs/validation.md. */
bool validation_print(FILE *file, enum format format, const struct validation *validation, struct error *err);

/* The names of the families, each once: *names has room for VALIDATE_FAMILIES_MAX of them. */
enum { VALIDATE_FAMILIES_MAX = 16 };
size_t validate_family_names(const char *names[VALIDATE_FAMILIES_MAX]);

#endif
