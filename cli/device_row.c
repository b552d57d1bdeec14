/* The constants of a device as a record: from struct device to the columns of `device list` and `device show`. */
#include "cli/device_row.h"

#include <math.h>
#include <string.h>

#define PPM 1e6

#define ROW(key, name, type, member, help)                                                                             \
    {                                                                                                                  \
        {name, type, offsetof(struct device_row, member), false, help}, key                                            \
    }
#define MAYBE(key, name, type, member, help)                                                                           \
    {                                                                                                                  \
        {name, type, offsetof(struct device_row, member), true, help}, key                                             \
    }
const struct device_field device_fields[] = {
    ROW(NULL, "name", COLUMN_TEXT, name, "profile"),
    ROW("ram", "ram_bytes", COLUMN_INTEGER, ram_bytes, "RAM"),
    ROW("os_reserve", "os_reserve_bytes", COLUMN_INTEGER, os_reserve_bytes, "taken by the system"),
    ROW("other_apps", "other_apps_bytes", COLUMN_INTEGER, other_apps_bytes, "taken by other apps"),
    ROW("runtime", "runtime_bytes", COLUMN_INTEGER, runtime_bytes, "the app without weights, KV cache and activations"),
    ROW("kill", "kill_rule", COLUMN_TEXT, kill_rule, "how the system kills"),
    MAYBE("kill_threshold", "kill_threshold_bytes", COLUMN_INTEGER, kill_threshold_bytes, "the app dies above this"),
    ROW("flash_setup", "flash_setup_ns", COLUMN_INTEGER, flash_setup_ns, "before a read moves its first byte"),
    ROW("flash_stream", "flash_stream_bytes_per_s", COLUMN_INTEGER, flash_stream_bps, "rate of one read"),
    ROW("flash_max", "flash_max_bytes_per_s", COLUMN_INTEGER, flash_max_bps, "rate of all reads together"),
    ROW("queue_depth", "queue_depth", COLUMN_INTEGER, queue_depth, "commands in flight"),
    ROW("command", "command_bytes", COLUMN_INTEGER, command_bytes, "largest command of a prefetch"),
    MAYBE("hot_after", "hot_after_ns", COLUMN_INTEGER, hot_after_ns, "busy time until the device is hot; none: never"),
    ROW("hot_factor", "hot_factor", COLUMN_REAL, hot_factor, "share of the maximum rate when hot"),
    MAYBE("soc_hot_after", "soc_hot_after_ns", COLUMN_INTEGER, soc_hot_after_ns,
          "active time until the processor is hot; none: never"),
    ROW("soc_hot_factor", "soc_hot_factor", COLUMN_REAL, soc_hot_factor, "share of the speed of computing when hot"),
    ROW("cool", "cool", COLUMN_REAL, cool, "heat that a pause takes away, as a share of what such a time of use adds"),
    ROW("memory", "memory_bytes_per_s", COLUMN_INTEGER, memory_bps, "bandwidth of RAM that a decode reaches"),
    MAYBE("jetsam_limit_entitled", "jetsam_limit_entitled_bytes", COLUMN_INTEGER, jetsam_limit_entitled_bytes,
          "jetsam: an entitled app dies above this"),
    MAYBE("memory_high", "memory_high_bytes", COLUMN_INTEGER, memory_high_bytes,
          "memory_limiter takes memory back above this"),
    MAYBE("swap_free_low", "swap_free_low", COLUMN_REAL, swap_free_low,
          "lmkd: share of swap below which free swap is low"),
    MAYBE("thrashing_limit", "thrashing_limit", COLUMN_REAL, thrashing_limit,
          "lmkd: share of the file pages that may come back"),
    MAYBE("thrashing_decay", "thrashing_decay", COLUMN_REAL, thrashing_decay,
          "lmkd: share by which a kill lowers that limit"),
    MAYBE("kill_timeout", "kill_timeout_ns", COLUMN_INTEGER, kill_timeout_ns, "lmkd: between two kills"),
    MAYBE("min_free", "min_free_bytes", COLUMN_INTEGER, min_free_bytes, "min watermark; none: as Linux computes it"),
    ROW("watermark_scale", "watermark_scale", COLUMN_INTEGER, watermark_scale,
        "distance of the watermarks in 1/10000 of RAM"),
    ROW("zram", "zram_bytes", COLUMN_INTEGER, zram_bytes, "compressed swap, before compression"),
    MAYBE("zram_ratio", "zram_ratio", COLUMN_REAL, zram_ratio, "bytes before compression for one after"),
    MAYBE("swap_out", "swap_out_ns", COLUMN_INTEGER, swap_out_ns, "compressing a page of 4 KiB"),
    MAYBE("swap_in", "swap_in_ns", COLUMN_INTEGER, swap_in_ns, "getting one back"),
    MAYBE("swappiness", "swappiness", COLUMN_INTEGER, swappiness, "of what is taken back, how much is swapped, of 200"),
    ROW("page", "page_bytes", COLUMN_INTEGER, page_bytes, "page of the processor"),
    ROW("readahead", "readahead_bytes", COLUMN_INTEGER, readahead_bytes, "window of readahead"),
    ROW("fault_around", "fault_around_bytes", COLUMN_INTEGER, fault_around_bytes,
        "mapped by a fault where it is in memory"),
    ROW("willneed_max", "willneed_max_bytes", COLUMN_INTEGER, willneed_max_bytes, "read by one MADV_WILLNEED at most"),
    ROW("prefault", "prefault", COLUMN_TEXT, prefault, "are the pages that fault-around maps used ones"),
    ROW("minor_fault", "minor_fault_ns", COLUMN_INTEGER, minor_fault_ns, "a fault that reads nothing"),
    ROW("major_fault", "major_fault_ns", COLUMN_INTEGER, major_fault_ns, "a fault that reads, without the reading"),
    ROW("scan_page", "scan_page_ns", COLUMN_INTEGER, scan_page_ns, "reclaim looks at a page"),
    ROW("tlb_miss", "tlb_miss_ns", COLUMN_INTEGER, tlb_miss_ns, "first use of a page by a step"),
    ROW("fs", "file_system", COLUMN_TEXT, file_system, "where the model's file lies"),
    ROW("fs_read", "fs_read_ns", COLUMN_INTEGER, fs_read_ns, "what the file system adds to a read"),
    ROW("fs_fault", "fs_fault_ns", COLUMN_INTEGER, fs_fault_ns, "and to a fault that reads"),
    ROW("alloc_rate", "alloc_bytes_per_s", COLUMN_INTEGER, alloc_bps, "fresh memory faulted in by one thread"),
    ROW("parse_rate", "parse_bytes_per_s", COLUMN_INTEGER, parse_bps, "a file's header parsed by one thread"),
    ROW("checksum_rate", "checksum_bytes_per_s", COLUMN_INTEGER, checksum_bps, "weights checked by one thread"),
    ROW("copy_rate", "copy_bytes_per_s", COLUMN_INTEGER, copy_bps, "weights copied by one thread"),
    ROW("repack_rate", "repack_bytes_per_s", COLUMN_INTEGER, repack_bps, "weights repacked by one thread"),
    MAYBE("memlock", "memlock_bytes", COLUMN_INTEGER, memlock_bytes, "the most that mlock pins; none: no limit"),
    MAYBE("address_space", "address_space_bytes", COLUMN_INTEGER, address_space_bytes,
          "the most that is mapped; none: no limit"),
};
const size_t device_field_count = sizeof device_fields / sizeof device_fields[0];
_Static_assert(sizeof device_fields / sizeof device_fields[0] <= DEVICE_FIELDS_MAX, "a record holds all fields");

/* Above which the app dies, whatever the rule counts, and the key that says so; -1 where there is no such number. */
static int64_t limit_of(const struct pressure_spec *pressure, const char **key)
{
    switch (pressure->rule) {
    case KILL_THRESHOLD:
        *key = "kill_threshold";
        return (int64_t)pressure->threshold_bytes;
    case KILL_JETSAM:
        *key = "jetsam_limit";
        return (int64_t)pressure->jetsam_limit_bytes;
    case KILL_MEMORY_LIMITER:
        *key = "memory_max";
        return (int64_t)pressure->max_bytes;
    case KILL_NONE:
    case KILL_LMKD:
        break;
    }
    *key = "kill";
    return -1;
}

static void fill_pressure(const struct pressure_spec *pressure, struct device_row *row)
{
    const bool lmkd = pressure->rule == KILL_LMKD, zram = pressure->zram_bytes > 0;
    row->kill_rule = kill_rule_names[pressure->rule];
    row->kill_threshold_bytes = limit_of(pressure, &row->limit_key);
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

static void fill_loading(const struct device *device, struct device_row *row)
{
    static const char *const names[] = {"none", "ext4", "f2fs", "fuse"};
    row->file_system = names[device->fs];
    row->fs_read_ns = device->fs_read_ns;
    row->fs_fault_ns = device->fs_fault_ns;
    row->alloc_bps = device->alloc_bps;
    row->parse_bps = device->parse_bps;
    row->checksum_bps = device->checksum_bps;
    row->copy_bps = device->copy_bps;
    row->repack_bps = device->repack_bps;
}

void device_row_fill(const struct device *device, struct device_row *row)
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
        .soc_hot_after_ns = device->heat.hot_after_ns > 0 ? device->heat.hot_after_ns : -1,
        .soc_hot_factor = device->heat.factor_ppm / PPM,
        .cool = device->heat.cool_ppm / PPM,
        .memory_bps = device->memory_bps,
    };
    fill_pressure(&device->pressure, row);
    fill_pages(device, row);
    fill_loading(device, row);
    memcpy(row->flops, device->flops_rate, sizeof row->flops);
    memcpy(row->memory, device->memory_rate, sizeof row->memory);
}
