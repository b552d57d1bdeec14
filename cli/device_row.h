/* The constants of a device as one record. */
#ifndef POCKETLOAD_CLI_DEVICE_ROW_H
#define POCKETLOAD_CLI_DEVICE_ROW_H

#include "sim/experiment.h"
#include "sim/record.h"

struct device_row {
    const char *name;
    uint64_t ram_bytes, os_reserve_bytes, other_apps_bytes, runtime_bytes;
    const char *kill_rule;
    int64_t kill_threshold_bytes;
    int64_t flash_setup_ns;
    uint64_t flash_stream_bps, flash_max_bps, queue_depth, command_bytes;
    int64_t hot_after_ns;
    double hot_factor;
    int64_t soc_hot_after_ns;
    double soc_hot_factor, cool;
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
    const char *file_system;
    int64_t fs_read_ns, fs_fault_ns;
    uint64_t alloc_bps, parse_bps, checksum_bps, copy_bps, repack_bps;
    int64_t memlock_bytes, address_space_bytes;                 /* -1: no limit */
    uint64_t flops[TENSOR_TYPES_MAX], memory[TENSOR_TYPES_MAX]; /* memory 0: the common rate */
    const char *limit_key;                                      /* which key kill_threshold_bytes is */
    /* Filled in by who knows the profile: keys of its file by their mark, and marks by column. */
    uint64_t measured, published, estimated, unmarked;
    const char *marks;
};

/* A column of the record, and the key of [device] that it shows; NULL: none. */
struct device_field {
    struct column column;
    const char *key;
};
enum { DEVICE_FIELDS_MAX = 64 };
extern const struct device_field device_fields[];
extern const size_t device_field_count;

/* All but marks. */
void device_row_fill(const struct device *device, struct device_row *row);

#endif
