/* Fuzzes the parser of truth files: whatever the text, it answers with a family and its rows, or with one line. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct truth_family *family, const struct truth_row *row)
{
    must(row->line > 0);
    for (size_t c = 0; c < family->column_count; c++) {
        const struct truth_column *column = &family->columns[c];
        const struct truth_cell *cell = &row->cells[c];
        must(cell->text != NULL && strpbrk(cell->text, "\r\n") == NULL);
        must(column->kind != TRUTH_TEXT || isnan(cell->number));
        must(isnan(cell->number) || (cell->number >= 0 && cell->number <= column->most));
        must(column->kind != TRUTH_COUNT || isnan(cell->number) || cell->number == floor(cell->number));
        must(cell->text[0] != '\0' || (column->flags & (TRUTH_MAY_BE_EMPTY | TRUTH_MAY_BE_MISSING)) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct truth_file file;
    struct error err = {.code = STATUS_OK};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (truth_parse("fuzz.csv", text, size, &arena, &file, &err)) {
        must(file.family != NULL && (file.row_count > 0 || file.family == &truth_route_trace));
        for (size_t i = 0; i < file.row_count; i++)
            check_row(file.family, &file.rows[i]);
    } else
        must(err.code == STATUS_INPUT && err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    free(text);
    arena_free(&arena);
    return 0;
}
