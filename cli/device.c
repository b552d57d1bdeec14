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
    int64_t jetsam_limit_entitled_bytes; /* -1: none */
    int64_t memory_high_bytes;           /* -1 where the rule has none, as those below */
    double swap_free_low, thrashing_limit, thrashing_decay;
    int64_t kill_timeout_ns, min_free_bytes;
    uint64_t watermark_scale, zram_bytes;
    double zram_ratio;
    int64_t swap_out_ns, swap_in_ns, swappiness; /* -1 without zram */
    uint64_t page_bytes, readahead_bytes, fault_around_bytes, willneed_max_bytes;
    const char *prefault;
    int64_t minor_fault_ns, major_fault_ns, scan_page_ns, tlb_miss_ns;
    int64_t memlock_bytes, address_space_bytes; /* -1: no limit */
    uint64_t flops[TENSOR_TYPES_MAX];
};

#define ROW(name, type, member, help)                                                                                  \
    {                                                                                                                  \
        name, type, offsetof(struct device_row, member), false, help                                                   \
    }
#define MAYBE(name, type, member, help)                                                                                \
    {                                                                                                                  \
        name, type, offsetof(struct device_row, member), true, help                                                    \
    }
static const struct column device_columns[] = {
    ROW("name", COLUMN_TEXT, name, "profile"),
    ROW("ram_bytes", COLUMN_INTEGER, ram_bytes, "RAM"),
    ROW("os_reserve_bytes", COLUMN_INTEGER, os_reserve_bytes, "taken by the system"),
    ROW("other_apps_bytes", COLUMN_INTEGER, other_apps_bytes, "taken by other apps"),
    ROW("runtime_bytes", COLUMN_INTEGER, runtime_bytes, "the app without weights, KV cache and activations"),
    ROW("kill_rule", COLUMN_TEXT, kill_rule, "how the system kills"),
    MAYBE("kill_threshold_bytes", COLUMN_INTEGER, kill_threshold_bytes, "the app dies above this"),
    ROW("flash_setup_ns", COLUMN_INTEGER, flash_setup_ns, "before a read moves its first byte"),
    ROW("flash_stream_bytes_per_s", COLUMN_INTEGER, flash_stream_bps, "rate of one read"),
    ROW("flash_max_bytes_per_s", COLUMN_INTEGER, flash_max_bps, "rate of all reads together"),
    ROW("queue_depth", COLUMN_INTEGER, queue_depth, "commands in flight"),
    ROW("command_bytes", COLUMN_INTEGER, command_bytes, "largest command of a prefetch"),
    MAYBE("hot_after_ns", COLUMN_INTEGER, hot_after_ns, "busy time until the device is hot; none: never"),
    ROW("hot_factor", COLUMN_REAL, hot_factor, "share of the maximum rate when hot"),
    ROW("memory_bytes_per_s", COLUMN_INTEGER, memory_bps, "bandwidth of RAM that a decode reaches"),
    MAYBE("jetsam_limit_entitled_bytes", COLUMN_INTEGER, jetsam_limit_entitled_bytes,
          "jetsam: an entitled app dies above this"),
    MAYBE("memory_high_bytes", COLUMN_INTEGER, memory_high_bytes, "memory_limiter takes memory back above this"),
    MAYBE("swap_free_low", COLUMN_REAL, swap_free_low, "lmkd: share of swap below which free swap is low"),
    MAYBE("thrashing_limit", COLUMN_REAL, thrashing_limit, "lmkd: share of the file pages that may come back"),
    MAYBE("thrashing_decay", COLUMN_REAL, thrashing_decay, "lmkd: share by which a kill lowers that limit"),
    MAYBE("kill_timeout_ns", COLUMN_INTEGER, kill_timeout_ns, "lmkd: between two kills"),
    MAYBE("min_free_bytes", COLUMN_INTEGER, min_free_bytes, "min watermark; none: as Linux computes it"),
    ROW("watermark_scale", COLUMN_INTEGER, watermark_scale, "distance of the watermarks in 1/10000 of RAM"),
    ROW("zram_bytes", COLUMN_INTEGER, zram_bytes, "compressed swap, before compression"),
    MAYBE("zram_ratio", COLUMN_REAL, zram_ratio, "bytes before compression for one after"),
    MAYBE("swap_out_ns", COLUMN_INTEGER, swap_out_ns, "compressing a page of 4 KiB"),
    MAYBE("swap_in_ns", COLUMN_INTEGER, swap_in_ns, "getting one back"),
    MAYBE("swappiness", COLUMN_INTEGER, swappiness, "of what is taken back, how much is swapped, of 200"),
    ROW("page_bytes", COLUMN_INTEGER, page_bytes, "page of the processor"),
    ROW("readahead_bytes", COLUMN_INTEGER, readahead_bytes, "window of readahead"),
    ROW("fault_around_bytes", COLUMN_INTEGER, fault_around_bytes, "mapped by a fault where it is in memory"),
    ROW("willneed_max_bytes", COLUMN_INTEGER, willneed_max_bytes, "read by one MADV_WILLNEED at most"),
    ROW("prefault", COLUMN_TEXT, prefault, "are the pages that fault-around maps used ones"),
    ROW("minor_fault_ns", COLUMN_INTEGER, minor_fault_ns, "a fault that reads nothing"),
    ROW("major_fault_ns", COLUMN_INTEGER, major_fault_ns, "a fault that reads, without the reading"),
    ROW("scan_page_ns", COLUMN_INTEGER, scan_page_ns, "reclaim looks at a page"),
    ROW("tlb_miss_ns", COLUMN_INTEGER, tlb_miss_ns, "first use of a page by a step"),
    MAYBE("memlock_bytes", COLUMN_INTEGER, memlock_bytes, "the most that mlock pins; none: no limit"),
    MAYBE("address_space_bytes", COLUMN_INTEGER, address_space_bytes, "the most that is mapped; none: no limit"),
};
enum { DEVICE_COLUMNS = sizeof device_columns / sizeof device_columns[0], LIST_COLUMNS = 10 };

/* Above which the app dies, whatever the rule counts; -1 where it has no such number. */
static int64_t limit_of(const struct pressure_spec *pressure)
{
    switch (pressure->rule) {
    case KILL_THRESHOLD:
        return (int64_t)pressure->threshold_bytes;
    case KILL_JETSAM:
        return (int64_t)pressure->jetsam_limit_bytes;
    case KILL_MEMORY_LIMITER:
        return (int64_t)pressure->max_bytes;
    case KILL_NONE:
    case KILL_LMKD:
        break;
    }
    return -1;
}

static void fill_pressure(const struct pressure_spec *pressure, struct device_row *row)
{
    const bool lmkd = pressure->rule == KILL_LMKD, zram = pressure->zram_bytes > 0;
    row->kill_rule = kill_rule_names[pressure->rule];
    row->kill_threshold_bytes = limit_of(pressure);
    row->memory_high_bytes =
        pressure->rule == KILL_MEMORY_LIMITER && pressure->high_bytes > 0 ? (int64_t)pressure->high_bytes : -1;
    row->swap_free_low = lmkd ? pressure->swap_free_low_ppm / PPM : (double)NAN;
    row->thrashing_limit = lmkd ? pressure->thrashing_limit_ppm / PPM : (double)NAN;
    row->thrashing_decay = lmkd ? pressure->thrashing_decay_ppm / PPM : (double)NAN;
    row->kill_timeout_ns = lmkd ? pressure->kill_timeout_ns : -1;
    row->min_free_bytes = pressure->min_free_bytes > 0 ? (int64_t)pressure->min_free_bytes : -1;
    row->watermark_scale = pressure->watermark_scale;
    row->zram_bytes = pressure->zram_bytes;
    row->zram_ratio = zram ? pressure->zram_ratio_ppm / PPM : (double)NAN;
    row->swap_out_ns = zram ? pressure->swap_out_ns : -1;
    row->swap_in_ns = zram ? pressure->swap_in_ns : -1;
    row->swappiness = zram ? (int64_t)pressure->swappiness : -1;
}

static void fill_pages(const struct device *device, struct device_row *row)
{
    row->page_bytes = device->page_bytes;
    row->readahead_bytes = device->readahead_bytes;
    row->fault_around_bytes = device->fault_around_bytes;
    row->willneed_max_bytes = device->willneed_bytes;
    row->prefault = device->prefault_young ? "young" : "old";
    row->minor_fault_ns = device->minor_fault_ns;
    row->major_fault_ns = device->major_fault_ns;
    row->scan_page_ns = device->scan_page_ns;
    row->tlb_miss_ns = device->tlb_miss_ns;
    row->memlock_bytes = (int64_t)device->memlock_bytes; /* UINT64_MAX, no limit, is -1 */
    row->address_space_bytes = (int64_t)device->address_space_bytes;
}

static void fill_row(const struct device *device, struct device_row *row)
{
    const uint64_t entitled = device->pressure.rule == KILL_JETSAM ? device->jetsam_entitled_bytes : 0;
    *row = (struct device_row){
        .name = device->name,
        .ram_bytes = device->ram_bytes,
        .os_reserve_bytes = device->os_reserve_bytes,
        .other_apps_bytes = device->other_apps_bytes,
        .runtime_bytes = device->runtime_bytes,
        .jetsam_limit_entitled_bytes = entitled > 0 ? (int64_t)entitled : -1,
        .flash_setup_ns = device->flash.setup_ns,
        .flash_stream_bps = device->flash.stream_bps,
        .flash_max_bps = device->flash.max_bps,
        .queue_depth = device->flash.queue_depth,
        .command_bytes = device->flash.command_bytes,
        .hot_after_ns = device->flash.hot_after_ns > 0 ? device->flash.hot_after_ns : -1,
        .hot_factor = device->flash.hot_factor_ppm / PPM,
        .memory_bps = device->memory_bps,
    };
    fill_pressure(&device->pressure, row);
    fill_pages(device, row);
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
    uint32_t types = input.format == FORMAT_TABLE ? TYPE_COMMON : tensor_type_count;
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
