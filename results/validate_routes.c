/* Policies on recorded choices of experts, against what others counted: one cache over all experts of all layers, with
 * a budget in bytes. Replay and run count the same, so a run says both all hits and those of decoded tokens. The trace
 * is the one file NAME.route.csv beside the truth file. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/validate_parts.h"

enum { BUDGET_MIB, POLICY, HITS, HIT_PERCENT_ALL, HIT_PERCENT_DECODE, READ_MIB };

static const struct truth_column columns[] = {
    [BUDGET_MIB] = {"budget_mib", TRUTH_COUNT, 0, 1 << 24},
    [POLICY] = {"policy", TRUTH_TEXT, 0, 0},
    [HITS] = {"hits", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, 9e15},
    [HIT_PERCENT_ALL] = {"hit_percent_all", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 100},
    [HIT_PERCENT_DECODE] = {"hit_percent_decode", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 100},
    [READ_MIB] = {"read_mib", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
};

enum { PATH_BYTES = 4096, CONFIG_BYTES = 1024 + POLICY_TEXT_MAX };

/* The trace beside the file; "" with the reason where there is not exactly one. */
static void find_trace(const struct truth_file *file, char path[PATH_BYTES], const char **why)
{
    char folder[PATH_BYTES];
    glob_t found = {0};
    const char *slash = strrchr(file->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - file->path) : 1,
             slash != NULL ? file->path : ".");
    path[0] = '\0';
    /* A folder's own letters must not become a pattern. */
    if (strpbrk(folder, "*?[\\") == NULL) {
        const int length = snprintf(path, PATH_BYTES, "%s/*.route.csv", folder);
        const bool one = length < PATH_BYTES && glob(path, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc == 1 &&
                         strlen(found.gl_pathv[0]) < PATH_BYTES;
        path[0] = '\0';
        if (one)
            snprintf(path, PATH_BYTES, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
    *why = path[0] == '\0'             ? "not exactly one trace NAME.route.csv is beside this file"
           : strchr(path, ',') != NULL ? "the trace's path has a comma, which splits a list"
                                       : NULL;
}

static bool add_rows(const struct truth_place *place, const struct run_result *result, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    const struct run_numbers *numbers = &result->numbers;
    uint64_t accesses = 0, hits = 0;
    for (uint64_t t = 0; t < result->token_count; t++)
        if (result->tokens[t].phase == PHASE_DECODE) {
            accesses += result->tokens[t].accesses;
            hits += result->tokens[t].hits;
        }
    const double all = 100.0 * (double)numbers->hits / (double)numbers->accesses;
    const double decoded = 100.0 * (double)hits / (double)accesses;
    const double read = (double)numbers->bytes_read / 1048576.0;
    /* Compared at the digits that were printed. */
    return truth_add(place, "hits", cells[HITS].number, (double)numbers->hits, 0, NULL, err) &&
           truth_add(place, "hit_percent_all", cells[HIT_PERCENT_ALL].number,
                     truth_as_printed(all, cells[HIT_PERCENT_ALL].text), 0, NULL, err) &&
           truth_add(place, "hit_percent_decode", cells[HIT_PERCENT_DECODE].number,
                     truth_as_printed(decoded, cells[HIT_PERCENT_DECODE].text), 0, NULL, err) &&
           truth_add(place, "read_mib", cells[READ_MIB].number, truth_as_printed(read, cells[READ_MIB].text), 0, NULL,
                     err);
}

static bool compare_row(const struct truth_place *place, const char *trace, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    char config[CONFIG_BYTES], set[PATH_BYTES + 32];
    struct policy_choice choice;
    struct error reason;
    struct truth_run run;
    if (strpbrk(cells[POLICY].text, "/.,;#=") != NULL || !policy_parse(cells[POLICY].text, &choice, &reason))
        return truth_skip(place, "no policy of ours is that one", err);
    snprintf(config, sizeof config,
             "[device]\nprofile = oneplus-15r\n[workload]\nkind = trace\ntrace_format = route\n"
             "[loader]\nmode = chunked\nbudget = %.0fMiB\nevict_when = after_step\noverlap = none\n"
             "[policy]\nname = %s\n",
             cells[BUDGET_MIB].number, choice.label);
    snprintf(set, sizeof set, "workload.trace=%s", trace);
    const bool good = truth_simulate(place->validating, config, set, NULL, &run, &reason);
    const bool added =
        good ? add_rows(place, &run.result, err) : truth_failed(place, "hits", cells[HITS].number, reason.text, err);
    truth_run_free(&run);
    return added;
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    char trace[PATH_BYTES];
    const char *why;
    find_trace(file, trace, &why);
    for (size_t i = 0; i < file->row_count; i++) {
        char subject[120];
        const struct truth_cell *cells = file->rows[i].cells;
        snprintf(subject, sizeof subject, "experts, %.60s at %.0f MiB", cells[POLICY].text, cells[BUDGET_MIB].number);
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        if (!(why != NULL ? truth_skip(&place, why, err) : compare_row(&place, trace, err)))
            return false;
    }
    return true;
}

const struct truth_family truth_routes = {.name = "policies", TRUTH_COLUMN_LIST(columns), .compare = compare};
