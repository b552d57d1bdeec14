/* See truth_data.h. */
#include "tests/truth/truth_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "sim/experiment.h"
#include "tests/reference/random_case.h"

static void demand_success(bool success, const struct error *err)
{
    if (success)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

bool truth_available(void)
{
    if (access(TRUTH_FOLDER, R_OK) == 0)
        return true;
    printf("# skipped: %s is not here\n", TRUTH_FOLDER);
    return false;
}

void truth_read(const char *path, size_t columns, struct truth_table *table)
{
    struct error err;
    size_t size;
    *table = (struct truth_table){.columns = columns};
    demand_success(file_read(path, 1 << 24, false, &table->text, &size, &err), &err);
    bool header = true;
    char *rest = table->text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (header) {
            header = false;
            continue;
        }
        table->cells = realloc(table->cells, (table->rows + 1) * columns * sizeof *table->cells);
        must(table->cells != NULL);
        char **row = &table->cells[table->rows++ * columns];
        for (size_t c = 0; c < columns; c++) {
            char *cell = strsep(&line, ",");
            row[c] = cell != NULL ? cell : table->text + size; /* the final NUL */
        }
        must(line == NULL);
    }
}

void truth_free(struct truth_table *table)
{
    free(table->text);
    free(table->cells);
}

double truth_number(const struct truth_table *table, size_t row, size_t column)
{
    const char *cell = table->cells[row * table->columns + column];
    char *end;
    double number = strtod(cell, &end);
    must(end != cell && (*end == '\0' || *end == '\r'));
    return number;
}

void truth_device(const char *name, struct device *device)
{
    struct error err;
    const char *const folders[] = {"configs", NULL};
    demand_success(profile_read_device(name, folders, device, &err), &err);
}

void truth_run(const struct model *model, const struct trace *trace, const struct device *device,
               const struct loader *loader, const char *policy, struct arena *arena, struct run_result *result)
{
    struct error err;
    struct policy_choice choice;
    block_id pins[POLICY_BLOCK_NAMES_MAX];
    struct run_spec spec = {.model = model, .trace = trace, .device = *device, .loader = *loader};
    bind_policy(policy, model, &choice, pins, &spec);
    demand_success(engine_run(&spec, arena, result, &err), &err);
    if (result->numbers.outcome != OUTCOME_COMPLETED) {
        fprintf(stderr, "%s at a budget of %llu: the run was killed\n", policy,
                (unsigned long long)loader->budget_bytes);
        abort();
    }
}

struct loader plain_loader(uint64_t budget_bytes)
{
    return (struct loader){
        .mode = LOADER_CHUNKED, .budget_bytes = budget_bytes, .lanes = 1, .prefetch_lanes = 1, .align_bytes = 1};
}
