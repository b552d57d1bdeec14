/* `pocketload device`: the phones that there are, what is in one, and its flash alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/device_row.h"

enum { KEY_LANES = KEY_OWN, KEY_BLOCK };

/* ---- Marks ---- */

/* What the profiles say of the sources of one device's keys. */
struct device_marks {
    struct profile_mark *marks;
    size_t count;
};

static bool read_device(const char *name, const struct profile_dirs *dirs, struct device *device,
                        struct device_marks *marks, struct error *err)
{
    return profile_read_device(name, dirs->list, device, err) &&
           profile_read_marks("device", name, dirs->list, &marks->marks, &marks->count, err);
}

static const struct profile_mark *find_mark(const struct device_marks *marks, const char *key)
{
    for (size_t i = 0; key != NULL && i < marks->count; i++)
        if (strcmp(marks->marks[i].key, key) == 0)
            return &marks->marks[i];
    return NULL;
}

static void count_marks(const struct device_marks *marks, struct device_row *row)
{
    uint64_t *const counts[MARKS] = {&row->unmarked, &row->measured, &row->published, &row->estimated};
    for (size_t i = 0; i < marks->count; i++)
        if (marks->marks[i].given && strcmp(marks->marks[i].key, "name") != 0)
            ++*counts[marks->marks[i].mark];
}

/* The word for people: a mark, or where the value comes from else. */
static const char *source_of(const struct device_marks *marks, const char *key)
{
    const struct profile_mark *mark = find_mark(marks, key);
    if (mark == NULL)
        return "";
    return mark->mark != MARK_NONE || mark->given ? mark_names[mark->mark] : "default";
}

/* ---- List ---- */

#define LISTED(name, type, member, nullable, help)                                                                     \
    {                                                                                                                  \
        name, type, offsetof(struct device_row, member), nullable, help                                                \
    }
static const struct column listed_columns[] = {
    LISTED("name", COLUMN_TEXT, name, false, "profile"),
    LISTED("ram_bytes", COLUMN_INTEGER, ram_bytes, false, "RAM"),
    LISTED("os_reserve_bytes", COLUMN_INTEGER, os_reserve_bytes, false, "taken by the system"),
    LISTED("other_apps_bytes", COLUMN_INTEGER, other_apps_bytes, false, "taken by other apps"),
    LISTED("runtime_bytes", COLUMN_INTEGER, runtime_bytes, false, "the app itself"),
    LISTED("kill_rule", COLUMN_TEXT, kill_rule, false, "how the system kills"),
    LISTED("kill_threshold_bytes", COLUMN_INTEGER, kill_threshold_bytes, true, "the app dies above this"),
    LISTED("flash_setup_ns", COLUMN_INTEGER, flash_setup_ns, false, "before a read moves its first byte"),
    LISTED("flash_stream_bytes_per_s", COLUMN_INTEGER, flash_stream_bps, false, "rate of one read"),
    LISTED("flash_max_bytes_per_s", COLUMN_INTEGER, flash_max_bps, false, "rate of all reads together"),
    LISTED("memory_bytes_per_s", COLUMN_INTEGER, memory_bps, false, "bandwidth of RAM that a decode reaches"),
    LISTED("q4_0_flops_per_s", COLUMN_INTEGER, flops[TYPE_Q4_0], false, "operations a second on weights of q4_0"),
    LISTED("soc_hot_after_ns", COLUMN_INTEGER, soc_hot_after_ns, true, "active time until the processor is hot"),
    LISTED("soc_hot_factor", COLUMN_REAL, soc_hot_factor, false, "share of the speed of computing when hot"),
    LISTED("measured", COLUMN_INTEGER, measured, false, "keys of the profile whose values were measured on it"),
    LISTED("published", COLUMN_INTEGER, published, false, "keys whose values are published"),
    LISTED("estimated", COLUMN_INTEGER, estimated, false, "keys whose values are estimates"),
    LISTED("unmarked", COLUMN_INTEGER, unmarked, false, "keys of which the profile does not say"),
};

static int list(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the device profiles.", &input, &status))
        return status;
    struct profile_dirs dirs;
    struct error err;
    char **names = NULL;
    size_t count = 0;
    profile_dirs_find(&dirs);
    bool good = profile_list("device", dirs.list, &names, &count, &err);
    struct device *devices = good ? calloc(count + 1, sizeof *devices) : NULL;
    struct device_row *rows = good ? calloc(count + 1, sizeof *rows) : NULL;
    if (good && (devices == NULL || rows == NULL))
        good = fail(&err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        struct device_marks marks = {NULL, 0};
        good = read_device(names[i], &dirs, &devices[i], &marks, &err);
        if (good) {
            device_row_fill(&devices[i], &rows[i]);
            count_marks(&marks, &rows[i]);
        }
        free(marks.marks);
    }
    good = good && show_list(input.format, listed_columns, sizeof listed_columns / sizeof *listed_columns, rows,
                             sizeof *rows, count, &err);
    free(rows);
    free(devices);
    free(names);
    return good ? STATUS_OK : report(&err);
}

/* ---- Show ---- */

enum { TYPE_NAME_BYTES = 64, SHOWN_FIELDS_MAX = DEVICE_FIELDS_MAX + 2 * TENSOR_TYPES_MAX + 1 };

/* The columns that are shown of one device, and where the value of each comes from. */
struct shown {
    size_t count;
    struct column columns[SHOWN_FIELDS_MAX];
    const char *sources[SHOWN_FIELDS_MAX];
    char names[2][TENSOR_TYPES_MAX][TYPE_NAME_BYTES];
};

static void show_field(struct shown *shown, struct column column, const char *source)
{
    must(shown->count < SHOWN_FIELDS_MAX);
    shown->columns[shown->count] = column;
    shown->sources[shown->count++] = source;
}

/* A rate of each type. People see the types of common files, and those that the profile names; the many others have the
 * general rate. */
static void show_types(struct shown *shown, const struct device_row *row, const struct device_marks *marks, bool all)
{
    for (uint32_t i = 0; i < tensor_type_count; i++) {
        char key[TYPE_NAME_BYTES], *name = shown->names[0][i];
        snprintf(key, sizeof key, "flops_%s", tensor_types[i].name);
        const struct profile_mark *mark = find_mark(marks, key);
        if (row->flops[i] == 0 || (!all && i >= TYPE_COMMON && !(mark != NULL && mark->given)))
            continue;
        snprintf(name, TYPE_NAME_BYTES, "%s_flops_per_s", tensor_types[i].name);
        const struct column column = {name, COLUMN_INTEGER,
                                      offsetof(struct device_row, flops) + i * sizeof row->flops[0], false,
                                      "operations a second on weights of this type"};
        show_field(shown, column, source_of(marks, key));
    }
    for (uint32_t i = 0; i < tensor_type_count; i++) {
        char key[TYPE_NAME_BYTES], *name = shown->names[1][i];
        if (row->memory[i] == 0)
            continue;
        snprintf(key, sizeof key, "memory_%s", tensor_types[i].name);
        snprintf(name, TYPE_NAME_BYTES, "%s_memory_bytes_per_s", tensor_types[i].name);
        const struct column column = {name, COLUMN_INTEGER,
                                      offsetof(struct device_row, memory) + i * sizeof row->memory[0], false,
                                      "rate at which a pass reads weights of this type"};
        show_field(shown, column, source_of(marks, key));
    }
}

/* "ram_bytes:measured flash_setup_ns:published ...": the columns that carry a mark. NULL without memory. */
static char *marks_text(const struct shown *shown)
{
    size_t size = 1;
    for (size_t i = 0; i < shown->count; i++)
        size += strlen(shown->columns[i].name) + strlen(shown->sources[i]) + 2;
    char *text = calloc(size, 1), *end = text;
    for (size_t i = 0; text != NULL && i < shown->count; i++)
        for (int mark = MARK_NONE + 1; mark < MARKS; mark++)
            if (strcmp(shown->sources[i], mark_names[mark]) == 0)
                end += snprintf(end, size - (size_t)(end - text), "%s%s:%s", end == text ? "" : " ",
                                shown->columns[i].name, mark_names[mark]);
    return text;
}

static bool show_device(enum format format, const struct device *device, const struct device_marks *marks,
                        struct error *err)
{
    struct device_row row;
    struct shown shown = {.count = 0};
    device_row_fill(device, &row);
    count_marks(marks, &row);
    for (size_t i = 0; i < device_field_count; i++) {
        const char *key = device_fields[i].key;
        const bool limit = key != NULL && strcmp(key, "kill_threshold") == 0;
        show_field(&shown, device_fields[i].column, source_of(marks, limit ? row.limit_key : key));
    }
    show_types(&shown, &row, marks, format != FORMAT_TABLE);
    if (format == FORMAT_TABLE)
        return show_sourced_record(shown.columns, shown.sources, shown.count, &row, err);
    char *text = marks_text(&shown);
    if (text == NULL)
        return fail(err, STATUS_IO, "out of memory");
    row.marks = text;
    show_field(&shown, (struct column)LISTED("marks", COLUMN_TEXT, marks, true, "COLUMN:measured|published|estimated"),
               "");
    const bool good = show_records(format, shown.columns, shown.count, &row, 0, 1, err);
    free(text);
    return good;
}

static int show(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, "PROFILE", "Shows all constants of a device, and where each comes from.", &input,
                      &status))
        return status;
    struct profile_dirs dirs;
    struct device device;
    struct device_marks marks = {NULL, 0};
    struct error err;
    profile_dirs_find(&dirs);
    const bool good =
        read_device(input.name, &dirs, &device, &marks, &err) && show_device(input.format, &device, &marks, &err);
    free(marks.marks);
    return good ? STATUS_OK : report(&err);
}

struct flash_input {
    struct action_input action;
    uint64_t lanes, block_bytes;
};

static error_t parse_flash(int key, char *text, struct argp_state *state)
{
    struct flash_input *input = state->input;
    struct error *err = input->action.arguments.err;
    bool good = true;
    switch (key) {
    case KEY_LANES:
        good = parse_count(text, 1, FLASH_QUEUE_MAX, &input->lanes, err) || fail_in(err, "--lanes");
        break;
    case KEY_BLOCK:
        good = parse_bytes(text, &input->block_bytes, err) || fail_in(err, "--block");
        if (good && input->block_bytes == 0)
            good = fail(err, STATUS_USAGE, "--block: 0 bytes");
        break;
    case ARGP_KEY_SUCCESS:
        if (input->lanes == 0)
            good = fail(err, STATUS_USAGE, "device flash: option --lanes is missing, such as --lanes 4");
        else if (input->block_bytes == 0)
            good = fail(err, STATUS_USAGE, "device flash: option --block is missing, such as --block 512KiB");
        break;
    default:
        return action_parse(key, text, &input->action);
    }
    return good ? 0 : EINVAL;
}

struct flash_row {
    const char *device;
    uint64_t lanes, block_bytes, bytes_per_s;
    int64_t latency_ns;
};

static int flash(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"lanes", KEY_LANES, "N", 0, "readers that each keep one read in flight", 0},
        {"block", KEY_BLOCK, "SIZE", 0, "bytes of each read, such as 512KiB", 0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {
        options,   parse_flash,
        "PROFILE", "The flash model alone: N readers that each keep one random read of SIZE in flight.",
        NULL,      NULL,
        NULL};
    static const struct column columns[] = {
        {"device", COLUMN_TEXT, offsetof(struct flash_row, device), false, "profile"},
        {"lanes", COLUMN_INTEGER, offsetof(struct flash_row, lanes), false, "readers"},
        {"block_bytes", COLUMN_INTEGER, offsetof(struct flash_row, block_bytes), false, "bytes of each read"},
        {"bytes_per_s", COLUMN_INTEGER, offsetof(struct flash_row, bytes_per_s), false, "rate of all readers together"},
        {"latency_ns", COLUMN_INTEGER, offsetof(struct flash_row, latency_ns), false, "mean time of a read"},
    };
    struct flash_input input = {.action.what = "PROFILE"};
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &input.action.arguments, &err))
        return report(&err);
    if (input.action.arguments.helped)
        return STATUS_OK;
    struct profile_dirs dirs;
    struct device device;
    profile_dirs_find(&dirs);
    struct flash_row row = {.lanes = input.lanes, .block_bytes = input.block_bytes};
    if (!profile_read_device(input.action.name, dirs.list, &device, &err) ||
        !flash_measure(&device.flash, (uint32_t)row.lanes, row.block_bytes, &row.bytes_per_s, &row.latency_ns, &err))
        return report(&err);
    row.device = device.name;
    bool good = show_record(input.action.format, columns, sizeof columns / sizeof columns[0], &row, &err);
    return good ? STATUS_OK : report(&err);
}

int command_device(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the device profiles", list},
        {"show", "PROFILE", "all constants of one", show},
        {"flash", "PROFILE --lanes N --block SIZE", "rate and latency of its flash alone", flash},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
