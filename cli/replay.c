/* `pocketload replay`: a trace against policies and capacities, without time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/comparison.h"

enum { KEY_EVICT_WHEN = KEY_COMPARISON_OWN };

static const char *const evict_when_names[] = {"before_insert", "after_step"};

static const struct argp_option options[] = {
    COMPARISON_OPTIONS,
    {"evict-when", KEY_EVICT_WHEN, "WHEN", 0, "before_insert (default) or after_step", 0},
    FORMAT_OPTION,
    HELP_OPTION,
    {0},
};

static bool parse_evict_when(const char *text, enum evict_when *when, struct error *err)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(text, evict_when_names[i]) == 0) {
            *when = i == 0 ? EVICT_BEFORE_INSERT : EVICT_AFTER_STEP;
            return true;
        }
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "--evict-when: unknown value \"%.80s\"%s", text,
                suggest_text(text, evict_when_names, 2, near, sizeof near));
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct comparison_options *replay = state->input;
    if (key == KEY_EVICT_WHEN)
        return parse_evict_when(text, &replay->evict_when, replay->arguments.err) ? 0 : EINVAL;
    const error_t status = comparison_parse(key, text, replay, "replay");
    if (key != ARGP_KEY_SUCCESS || status != 0 || replay->capacities != NULL)
        return status;
    fail(replay->arguments.err, STATUS_USAGE,
         "replay: option --capacity is missing, such as --capacity 500obj,64MiB,10%%");
    return EINVAL;
}

/* ---- Words before the table ---- */

/* A line of its own, in markdown a paragraph. */
static void say(const struct comparison *replay, const char *text)
{
    if (text[0] != '\0')
        printf("%s\n%s", text, replay->options->format == FORMAT_MARKDOWN ? "\n" : "");
}

static void say_noise(const struct comparison *replay, size_t c)
{
    char text[BOUNDS_TEXT];
    double *rates = calloc(replay->named_count, sizeof *rates);
    size_t count = 0;
    for (size_t p = 0; rates != NULL && p < replay->named_count; p++) {
        const struct replay_cell *cell = &replay->cells[c * replay->policy_count + p];
        if (cell->error == NULL)
            rates[count++] = ratio(cell->result.hits, cell->result.accesses);
    }
    if (rates != NULL)
        say(replay, bounds_noise_text(rates, count, replay->capacities[c].text, text));
    free(rates);
}

/* Without time a prefetcher plays no part, but pinned blocks are read before the first access. */
static void say_pins(const struct comparison *replay)
{
    for (size_t p = 0; p < replay->named_count; p++)
        if (replay->policies[p].pin.policy != NULL) {
            say(replay,
                "pinned blocks are read before the first access, which is no miss: bounds do not hold for them");
            return;
        }
}

/* Belady's policy takes every block in; who may refuse one can do better. */
static void say_better(const struct comparison *replay)
{
    size_t bound = 0;
    while (bound < replay->policy_count && strcmp(replay->policies[bound].label, "belady") != 0)
        bound++;
    for (size_t p = 0; bound < replay->policy_count && replay->context.block_bytes > 0 && p < replay->named_count; p++)
        for (size_t c = 0; c < replay->capacity_count; c++) {
            const struct replay_cell *cells = &replay->cells[c * replay->policy_count];
            if (replay->policies[p].pin.policy != NULL || cells[p].error != NULL || cells[bound].error != NULL ||
                cells[p].result.hits <= cells[bound].result.hits)
                continue;
            char text[BOUNDS_TEXT + POLICY_TEXT_MAX];
            snprintf(text, sizeof text,
                     "%s hits more than belady at %s: belady takes in every block, this one refuses some (as "
                     "belady-bypass does)",
                     replay->policies[p].label, replay->capacities[c].text);
            say(replay, text);
            break;
        }
}

static void say_context(const struct comparison *replay)
{
    char text[BOUNDS_TEXT], what[CAPACITY_TEXT + 16];
    say(replay, bounds_trace_text(&replay->context, text));
    for (size_t c = 0; c < replay->capacity_count; c++) {
        const struct capacity *capacity = &replay->capacities[c];
        snprintf(what, sizeof what, "capacity %s", capacity->text);
        if (!capacity->by_objects) /* so many blocks of several sizes are no share of a cycle */
            say(replay, bounds_capacity_text(&replay->context, what, capacity->amount, text));
        say_noise(replay, c);
    }
    if (replay->bounds && replay->context.block_bytes == 0)
        say(replay, "block sizes differ: belady evicts what is used last again, whatever its size, and is no bound");
    if (replay->bounds) {
        say_pins(replay);
        say_better(replay);
    }
    if (replay->options->format == FORMAT_TABLE)
        putchar('\n');
}

/* ---- Records ---- */

static bool print_row(const struct comparison *replay, struct output *output, size_t p, size_t c, struct error *err)
{
    char label[POLICY_TEXT_MAX + 32];
    const struct replay_cell *cell = &replay->cells[c * replay->policy_count + p];
    if (cell->error != NULL && comparison_for_people(replay))
        return true; /* stderr has told why */
    struct replay_row row = {.note = cell->result.remark};
    replay_record_fill(&row.record, replay->options->trace, comparison_label(replay, p, label), &replay->capacities[c],
                       &cell->result); /* the trace as the user named it */
    if (cell->error == NULL)
        return output_record(output, &row, err);
    char reason[sizeof cell->error->text + 8];
    snprintf(reason, sizeof reason, "failed: %s", cell->error->text);
    row.note = reason;
    row.record.accesses = row.record.hits = row.record.misses = UINT64_MAX; /* none */
    row.record.bytes_read = row.record.evictions = UINT64_MAX;
    row.record.hit_rate = row.record.byte_hit_rate = (double)NAN;
    return output_record(output, &row, err);
}

static bool print_infinite(const struct comparison *replay, struct output *output, size_t c, struct error *err)
{
    struct replay_result result;
    struct replay_row row = {.note = ""};
    replay_infinite(&replay->trace, replay->distinct, &result);
    replay_record_fill(&row.record, replay->options->trace,
                       comparison_for_people(replay) ? "infinite (bound)" : "infinite", &replay->capacities[c],
                       &result);
    return output_record(output, &row, err);
}

/* The capacity stands in a table as it was written, a trace without sizes has no bytes to tell of, and notes stand
 * below. */
static size_t columns_for_people(const struct comparison *replay, const struct column *columns, size_t column_count,
                                 size_t shown[REPLAY_ROW_COLUMNS])
{
    size_t count = 0;
    for (size_t i = 0; i < column_count; i++) {
        const char *name = columns[i].name;
        const bool of_bytes = strstr(name, "byte") != NULL;
        if (strcmp(name, "capacity_bytes") != 0 && strcmp(name, "note") != 0 && (replay->has_bytes || !of_bytes))
            shown[count++] = i;
    }
    return count;
}

static bool print_rows(const struct comparison *replay, struct error *err)
{
    struct output *output;
    struct column columns[REPLAY_ROW_COLUMNS];
    size_t shown[REPLAY_ROW_COLUMNS];
    const size_t column_count = replay_row_columns(columns);
    const size_t shown_count = columns_for_people(replay, columns, column_count, shown);
    if (!output_open(stdout, replay->options->format, columns, column_count, shown, shown_count, &output, err))
        return false;
    bool good = true;
    for (size_t c = 0; good && c < replay->capacity_count; c++) {
        for (size_t p = 0; good && p < replay->policy_count; p++)
            good = print_row(replay, output, p, c, err);
        good = good && (!replay->bounds || print_infinite(replay, output, c, err));
    }
    struct error closing;
    const bool closed = output_close(output, good ? err : &closing);
    return good && closed;
}

static int replay_all(struct comparison *replay)
{
    struct error err;
    bool all_failed;
    if (!comparison_run(replay, &err))
        return report(&err);
    const int status = comparison_report(replay, &all_failed);
    if (all_failed &&
        comparison_for_people(replay)) /* they have told why; a table of bounds alone would look like a result */
        return status;
    if (comparison_for_people(replay))
        say_context(replay);
    if (!print_rows(replay, &err))
        return report(&err);
    if (replay->options->format == FORMAT_TABLE) /* elsewhere they are a column */
        comparison_print_remarks(replay);
    return status;
}

int command_replay(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, "TRACE", "Policies alone, without time: what hits, what misses, how many bytes are read.",
        NULL,    NULL,  NULL};
    struct comparison_options given;
    struct error err;
    comparison_defaults(&given);
    if (!arguments_parse(&argp, argc, argv, &given.arguments, &err))
        return report(&err);
    if (given.arguments.helped)
        return STATUS_OK;
    struct comparison replay;
    const int status = comparison_start(&replay, &given, &err) ? replay_all(&replay) : report(&err);
    comparison_free(&replay);
    return status;
}
