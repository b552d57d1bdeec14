/* Curves as records and as a short table. */
#include "results/mrc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"

struct mrc_record {
    const char *trace, *policy;
    uint64_t capacity_bytes;
    double capacity_share;
    uint64_t accesses, misses;
    double miss_ratio, byte_miss_ratio;
    const char *note;
};

#define MRC(name, type, nullable, help)                                                                                \
    {                                                                                                                  \
#name, type, offsetof(struct mrc_record, name), nullable, help                                                 \
    }

const struct column mrc_columns[] = {
    MRC(trace, COLUMN_TEXT, false, "trace file"),
    MRC(policy, COLUMN_TEXT, false, "composition of policies"),
    MRC(capacity_bytes, COLUMN_INTEGER, true, "capacity in bytes; none where it counts blocks of several sizes"),
    MRC(capacity_share, COLUMN_REAL, true, "capacity / distinct bytes that the trace touches (or blocks)"),
    MRC(accesses, COLUMN_INTEGER, false, "look-ups of a distinct block by a step"),
    MRC(misses, COLUMN_INTEGER, true, "accesses whose block was absent; none: the replay failed"),
    MRC(miss_ratio, COLUMN_REAL, true, "misses / accesses"),
    MRC(byte_miss_ratio, COLUMN_REAL, true, "share of the bytes accessed that was absent"),
    MRC(note, COLUMN_TEXT, true, "what the policy says of itself at this capacity, or why it failed"),
};
const size_t mrc_column_count = sizeof mrc_columns / sizeof *mrc_columns;

bool mrc_print_records(FILE *file, enum format format, const struct curves *curves, struct error *err)
{
    struct output *output;
    if (!output_open(file, format, mrc_columns, mrc_column_count, NULL, 0, &output, err))
        return false;
    bool good = true;
    for (size_t i = 0; good && i < curves->label_count * curves->count; i++) {
        const struct curve_capacity *capacity = &curves->capacities[i % curves->count];
        const struct curve_value *value = &curves->values[i];
        struct mrc_record record = {.trace = curves->trace,
                                    .policy = curves->labels[i / curves->count],
                                    .capacity_bytes = capacity->by_objects ? UINT64_MAX : capacity->amount,
                                    .capacity_share = capacity->share,
                                    .accesses = curves->accesses,
                                    .misses = value->misses,
                                    .miss_ratio = ratio(value->misses, curves->accesses),
                                    .byte_miss_ratio = ratio(value->bytes_missed, curves->bytes_accessed),
                                    .note = value->note ? value->note : ""};
        if (!value->known) {
            record.misses = UINT64_MAX; /* none */
            record.miss_ratio = record.byte_miss_ratio = (double)NAN;
        }
        good = (!value->known && !value->note) || output_record(output, &record, err);
    }
    struct error closing;
    const bool closed = output_close(output, good ? err : &closing);
    return good && closed;
}

/* ---- For people ---- */

enum { CELL_TEXT = 64 };

struct table {
    const struct curves *curves;
    size_t columns, rows, step;
    char (*texts)[CELL_TEXT];
    const char **cells, **names;
};

static void fill_row(struct table *table, size_t row)
{
    const struct curves *curves = table->curves;
    /* From the end, as the largest capacity is where all curves meet. */
    const size_t place = curves->count - 1 - (table->rows - 1 - row) * table->step;
    const struct curve_capacity *capacity = &curves->capacities[place];
    char(*text)[CELL_TEXT] = table->texts + row * table->columns;
    char size[UNITS_TEXT];
    if (capacity->by_objects || !curves->has_bytes)
        snprintf(text[0], CELL_TEXT, "%" PRIu64 "%s", capacity->amount, curves->has_bytes ? "obj" : "");
    else
        snprintf(text[0], CELL_TEXT, "%s", format_bytes(capacity->amount, size));
    snprintf(text[1], CELL_TEXT, "%.1f %%", 100 * capacity->share);
    for (size_t i = 0; i < curves->label_count; i++) {
        const struct curve_value *value = &curves->values[i * curves->count + place];
        if (value->known)
            snprintf(text[2 + i], CELL_TEXT, "%.4f", ratio(value->misses, curves->accesses));
        else
            snprintf(text[2 + i], CELL_TEXT, "-");
    }
    for (size_t i = 0; i < table->columns; i++)
        table->cells[row * table->columns + i] = text[i];
}

bool mrc_print_table(FILE *file, enum format format, const struct curves *curves, size_t *rows, struct error *err)
{
    struct table table = {.curves = curves, .columns = 2 + curves->label_count};
    must(curves->count > 0);
    table.step = (curves->count + MRC_ROWS - 1) / MRC_ROWS;
    table.rows = *rows = (curves->count + table.step - 1) / table.step;
    table.texts = calloc(table.rows * table.columns, sizeof *table.texts);
    table.cells = calloc(table.rows * table.columns, sizeof *table.cells);
    table.names = calloc(table.columns, sizeof *table.names);
    bool good = (table.texts && table.cells && table.names) || fail(err, STATUS_IO, "out of memory for the table");
    if (good) {
        table.names[0] = curves->has_bytes ? "capacity" : "blocks";
        table.names[1] = "share";
        for (size_t i = 0; i < curves->label_count; i++)
            table.names[2 + i] = curves->labels[i];
        for (size_t row = 0; row < table.rows; row++)
            fill_row(&table, row);
        good = output_cells(file, format, table.names, table.columns, table.cells, table.rows, err);
    }
    free(table.texts);
    free(table.cells);
    free(table.names);
    return good;
}
