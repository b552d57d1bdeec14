/* What the files of validate_*.c share: a truth file in memory, the families, and how a family adds its rows. */
#ifndef POCKETLOAD_RESULTS_VALIDATE_PARTS_H
#define POCKETLOAD_RESULTS_VALIDATE_PARTS_H

#include "results/validate.h"
#include "sim/experiment.h"

enum { TRUTH_COLUMNS_MAX = 24, TRUTH_ROWS_MAX = 100000, TRUTH_LINE_MAX = 4096, TRUTH_FILE_MAX = 1 << 24 };

/* ---- Files ---- */

enum truth_kind { TRUTH_TEXT, TRUTH_NUMBER, TRUTH_COUNT };

/* Flags of a column. */
enum { TRUTH_MAY_BE_EMPTY = 1, TRUTH_MAY_BE_MISSING = 2 };

struct truth_column {
    const char *name;
    enum truth_kind kind; /* a number is 0 or more; a count is whole */
    unsigned flags;
    double most; /* of a number */
};

struct truth_cell {
    const char *text; /* "" where it is empty or its column is missing */
    double number;    /* NAN for a text, or where it is empty */
};

struct truth_row {
    unsigned line;
    struct truth_cell *cells; /* by the family's columns */
};

struct truth_file {
    const char *path; /* where it is */
    const char *name; /* as messages and rows name it */
    const struct truth_family *family;
    struct truth_row *rows;
    size_t row_count;
};

/* Reads text of `size` bytes, which is changed. Everything lives in arena, and points into `text` too. STATUS_INPUT
 * with name:line and the column: unknown or missing columns with the nearest family, a cell that is no number, too many
 * rows. A file whose first line says that it is a trace of routes has the family that compares nothing. */
bool truth_parse(const char *name, char *text, size_t size, struct arena *arena, struct truth_file *file,
                 struct error *err);

/* ---- Families ---- */

struct validating;

struct truth_family {
    const char *name;   /* of --family and of rows; families of several layouts have it several times */
    const char *prefix; /* of file names that name the device, such as "iobench-"; NULL: they do not */
    const struct truth_column *columns;
    size_t column_count;
    /* Adds the rows of a file. */
    bool (*compare)(struct validating *validating, const struct truth_file *file, struct error *err);
    const char *median_quantity; /* whose median has a limit; NULL: none */
    double median_limit_percent;
};

extern const struct truth_family *const truth_families[];
extern const size_t truth_family_count;

/* Each in the file of its models. */
extern const struct truth_family truth_flash, truth_streaming, truth_dense, truth_ram, truth_gguf_sizes, truth_kv_sizes,
    truth_kernel, truth_cachesim, truth_cachesim_bytes, truth_lirs, truth_routes, truth_peer_speed, truth_route_trace;

#define TRUTH_COLUMN_LIST(table) .columns = table, .column_count = sizeof table / sizeof *table

/* ---- Rows ---- */

/* The work under way. */
struct validating {
    struct validation *validation;
    const struct validate_options *options;
    char **devices, **models; /* names of profiles */
    size_t device_count, model_count;
};

/* Which row of which file, and of what it tells. */
struct truth_place {
    struct validating *validating;
    const struct truth_file *file;
    const struct truth_row *row;
    const char *subject;
};

/* Adds measured beside simulated; a NAN measured adds nothing. limit_percent NAN: nothing is claimed. note may be NULL.
 * A simulated NAN is off. All texts are copied. False without memory (STATUS_IO). */
bool truth_add(const struct truth_place *place, const char *quantity, double measured, double simulated,
               double limit_percent, const char *note, struct error *err);
/* The same for an interval that was measured. */
bool truth_add_interval(const struct truth_place *place, const char *quantity, double low, double high,
                        double simulated, double limit_percent, const char *note, struct error *err);
/* A row whose simulation failed: off, whether or not that quantity was measured. */
bool truth_failed(const struct truth_place *place, const char *quantity, double measured, const char *reason,
                  struct error *err);
bool truth_skip(const struct truth_place *place, const char *reason, struct error *err);

/* A skipped row for each row of a file that has none, as all that could be compared is empty in it. first: where the
 * file's rows begin, which stand in its order. */
bool truth_skip_empty(struct validating *validating, const struct truth_file *file, size_t first, struct error *err);

/* Sums up; once, when all rows are there. */
bool truth_summarise(struct validation *validation, struct error *err);

/* A copy in the validation's arena of a text made by snprintf; NULL without memory. */
const char *truth_text(struct validating *validating, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `value` rounded to as many decimals as the cell shows: of exact counts that were printed as ratios. */
double truth_as_printed(double value, const char *cell);

/* ---- Names ---- */

/* The rule: letters are made small, blanks and _ become -; then the name of a profile, or one of the spellings in the
 * table of validate_names.c. NULL: not known. */
const char *truth_device_named(const struct validating *validating, const char *name);

/* The device of a row: its own cell if it has one, else what the file's name has between the family's prefix and
 * ".csv", else --device. NULL with the reason in `why`. */
const char *truth_device_of(const struct validating *validating, const struct truth_file *file, const char *cell,
                            char *why, size_t why_size);

/* The same rule for models, where "-instruct", "-it" and "-chat" at the end may be left out; ".gguf" at the end is.
 * With quant not NULL the name ends in a quantisation behind - or . : "Qwen3-30B-A3B-Q4_K_M". NULL with the reason. */
const char *truth_model_named(const struct validating *validating, const char *name, enum quant *quant, char *why,
                              size_t why_size);

/* The quantisation of that name, in letters of any case. False with the reason. */
bool truth_quant_named(const char *name, enum quant *quant, char *why, size_t why_size);

/* ---- Runs ---- */

/* Runs a config of one run written as text, with a "section.key=value" set behind it or NULL; with `by` not NULL each
 * token's experts are steps of their own (validate_split.h). The result lives in `run`, to be freed after success and
 * failure. A simulated kill fails, too. */
struct truth_split {
    int64_t experts_ns, rest_ns;
};
struct truth_run {
    struct arena arena;
    struct prepared prepared;
    struct run_result result;
};
bool truth_simulate(const struct validating *validating, const char *config, const char *set,
                    const struct truth_split *by, struct truth_run *run, struct error *err);
/* Makes the model and the trace of the config only. */
bool truth_prepare(const struct validating *validating, const char *config, struct truth_run *run, struct error *err);
void truth_run_free(struct truth_run *run);

#endif
