/* The families of truth files; and those that are found beside them and hold nothing to compare. */
#include <string.h>

#include "results/validate_parts.h"

static bool pass_over(struct validating *validating, const struct truth_file *file, struct error *err)
{
    const struct truth_row first = {.line = 1};
    const struct truth_place place = {validating, file, &first, "whole file"};
    return truth_skip(&place,
                      file->family == &truth_route_trace
                          ? "a trace of routes, not a truth: others' rows are about it"
                          : "the speed of another program on another machine: nothing of a model to compare",
                      err);
}

static const struct truth_column speed_columns[] = {
    {"trace", TRUTH_TEXT, 0, 0},
    {"cache", TRUTH_TEXT, 0, 0},
    {"lru", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"fifo", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"clock", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"sieve", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"s3-fifo", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"arc", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"2q", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"lirs", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"belady", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"lfu", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    {"floor_lru", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
};

const struct truth_family truth_peer_speed = {
    .name = "not-compared", TRUTH_COLUMN_LIST(speed_columns), .compare = pass_over};

/* Known by its first line, not by columns. */
static const struct truth_column route_columns[] = {{"# route_trace v1", TRUTH_TEXT, 0, 0}};
const struct truth_family truth_route_trace = {
    .name = "not-compared", TRUTH_COLUMN_LIST(route_columns), .compare = pass_over};

const struct truth_family *const truth_families[] = {
    &truth_flash,       &truth_streaming, &truth_dense,          &truth_ram,  &truth_gguf_sizes, &truth_kv_sizes,
    &truth_kernel,      &truth_cachesim,  &truth_cachesim_bytes, &truth_lirs, &truth_routes,     &truth_peer_speed,
    &truth_route_trace,
};
const size_t truth_family_count = sizeof truth_families / sizeof *truth_families;

size_t validate_family_names(const char *names[VALIDATE_FAMILIES_MAX])
{
    size_t count = 0;
    for (size_t f = 0; f < truth_family_count; f++) {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(names[i], truth_families[f]->name) == 0;
        if (!known) {
            must(count < VALIDATE_FAMILIES_MAX);
            names[count++] = truth_families[f]->name;
        }
    }
    return count;
}
