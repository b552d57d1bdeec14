/* `pocketload device`: the phones that there are, what is in one, and its flash alone. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "sim/experiment.h"

enum { KEY_LANES = KEY_OWN, KEY_BLOCK };
enum { FLOPS_NAME_BYTES = 48 };
#define PPM 1e6

struct device_row {
    const char *name;
    uint64_t ram_bytes, os_reserve_bytes, other_apps_bytes, runtime_bytes;
    const char *kill_rule;
    int64_t kill_threshold_bytes;
    int64_t flash_setup_ns;
    uint64_t flash_stream_bps, flash_max_bps, queue_depth, command_bytes;
    int64_t hot_after_ns;
    double hot_factor;
    uint64_t memory_bps;
    uint64_t flops[TENSOR_TYPES_MAX];
};

#define ROW(name, type, member, help)                                                                                  \
    {                                                                                                                  \
        name, type, offsetof(struct device_row, member), false, help                                                   \
    }
static const struct column device_columns[] = {
    ROW("name", COLUMN_TEXT, name, "profile"),
    ROW("ram_bytes", COLUMN_INTEGER, ram_bytes, "RAM"),
    ROW("os_reserve_bytes", COLUMN_INTEGER, os_reserve_bytes, "taken by the system"),
    ROW("other_apps_bytes", COLUMN_INTEGER, other_apps_bytes, "taken by other apps"),
    ROW("runtime_bytes", COLUMN_INTEGER, runtime_bytes, "the app without weights, KV cache and activations"),
    ROW("kill_rule", COLUMN_TEXT, kill_rule, "how the system kills"),
    ROW("kill_threshold_bytes", COLUMN_INTEGER, kill_threshold_bytes, "the app dies above this"),
    ROW("flash_setup_ns", COLUMN_INTEGER, flash_setup_ns, "before a read moves its first byte"),
    ROW("flash_stream_bytes_per_s", COLUMN_INTEGER, flash_stream_bps, "rate of one read"),
    ROW("flash_max_bytes_per_s", COLUMN_INTEGER, flash_max_bps, "rate of all reads together"),
    ROW("queue_depth", COLUMN_INTEGER, queue_depth, "commands in flight"),
    ROW("command_bytes", COLUMN_INTEGER, command_bytes, "largest command of a prefetch"),
    {"hot_after_ns", COLUMN_INTEGER, offsetof(struct device_row, hot_after_ns), true,
     "busy time until the device is hot; none: never"},
    ROW("hot_factor", COLUMN_REAL, hot_factor, "share of the maximum rate when hot"),
    ROW("memory_bytes_per_s", COLUMN_INTEGER, memory_bps, "bandwidth of RAM that a decode reaches"),
};
enum { DEVICE_COLUMNS = sizeof device_columns / sizeof device_columns[0], LIST_COLUMNS = 10 };

static void fill_row(const struct device *device, struct device_row *row)
{
    *row = (struct device_row){
        .name = device->name,
        .ram_bytes = device->ram_bytes,
        .os_reserve_bytes = device->os_reserve_bytes,
        .other_apps_bytes = device->other_apps_bytes,
        .runtime_bytes = device->runtime_bytes,
        .kill_rule = device->pressure.rule == KILL_THRESHOLD ? "threshold" : "none",
        .kill_threshold_bytes = (int64_t)device->pressure.threshold_bytes,
        .flash_setup_ns = device->flash.setup_ns,
        .flash_stream_bps = device->flash.stream_bps,
        .flash_max_bps = device->flash.max_bps,
        .queue_depth = device->flash.queue_depth,
        .command_bytes = device->flash.command_bytes,
        .hot_after_ns = device->flash.hot_after_ns > 0 ? device->flash.hot_after_ns : -1,
        .hot_factor = device->flash.hot_factor_ppm / PPM,
        .memory_bps = device->memory_bps,
    };
    memcpy(row->flops, device->flops_rate, sizeof row->flops);
}

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
        good = profile_read_device(names[i], dirs.list, &devices[i], &err);
        if (good)
            fill_row(&devices[i], &rows[i]);
    }
    good = good && show_list(input.format, device_columns, LIST_COLUMNS, rows, sizeof *rows, count, &err);
    free(rows);
    free(devices);
    free(names);
    return good ? STATUS_OK : report(&err);
}

static int show(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, "PROFILE", "Shows all constants of a device.", &input, &status))
        return status;
    struct profile_dirs dirs;
    struct device device;
    struct error err;
    profile_dirs_find(&dirs);
    if (!profile_read_device(input.name, dirs.list, &device, &err))
        return report(&err);
    struct device_row row;
    fill_row(&device, &row);
    struct column columns[DEVICE_COLUMNS + TENSOR_TYPES_MAX];
    char names[TENSOR_TYPES_MAX][FLOPS_NAME_BYTES];
    size_t count = DEVICE_COLUMNS;
    memcpy(columns, device_columns, sizeof device_columns);
    /* People see the types of common files; the many others have the device's general rate. */
    uint32_t types = input.format == FORMAT_TABLE ? TYPE_NAMED : tensor_type_count;
    for (uint32_t i = 0; i < types; i++) {
        if (row.flops[i] == 0)
            continue;
        snprintf(names[i], sizeof names[i], "%s_flops_per_s", tensor_types[i].name);
        columns[count++] =
            (struct column){names[i], COLUMN_INTEGER, offsetof(struct device_row, flops) + i * sizeof row.flops[0],
                            false, "operations a second on weights of this type"};
    }
    return show_record(input.format, columns, count, &row, &err) ? STATUS_OK : report(&err);
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
