/* A phone, in numbers. configs/devices/ holds real ones, with a source for each. */
#ifndef POCKETLOAD_SIM_DEVICE_H
#define POCKETLOAD_SIM_DEVICE_H

#include <stdint.h>

#include "sim/flash.h"
#include "sim/pressure.h"
#include "workloads/quant.h"

/* Where the model's file lies. */
enum file_system { FS_NONE, FS_EXT4, FS_F2FS, FS_FUSE };

struct device {
    char name[128];
    uint64_t ram_bytes;
    uint64_t os_reserve_bytes;
    uint64_t other_apps_bytes;
    uint64_t runtime_bytes; /* the app without weights, KV cache and activations */
    /* How the system lives with little memory. threshold_bytes and max_bytes are never 0 once the config is read: by
     * default ram - os_reserve - other_apps, and ram. */
    struct pressure_spec pressure;
    uint64_t jetsam_entitled_bytes; /* jetsam: what the limit is for an entitled app; 0: not known. To be shown */
    uint64_t page_bytes;            /* of the processor: 4 or 16 KiB */
    uint64_t readahead_bytes, fault_around_bytes, willneed_bytes;
    bool prefault_young; /* fault-around marks pages as accessed: x86 */
    int64_t minor_fault_ns, major_fault_ns, scan_page_ns, tlb_miss_ns;
    uint64_t memlock_bytes;       /* RLIMIT_MEMLOCK; UINT64_MAX: none */
    uint64_t address_space_bytes; /* that one process can map; UINT64_MAX: no limit */
    struct flash_spec flash;
    enum file_system fs;
    int64_t fs_read_ns, fs_fault_ns; /* what the file system adds to each read, and to each fault that reads */
    /* Bytes a second of one thread in the stages of loading; copy_bps also out of the page cache. */
    uint64_t alloc_bps, parse_bps, checksum_bps, copy_bps, repack_bps;
    struct heat_spec heat;
    uint64_t memory_bps;                    /* bandwidth of RAM that a decode reaches */
    uint64_t memory_rate[TENSOR_TYPES_MAX]; /* at which a pass reads weights, by their type; 0: memory_bps */
    uint64_t flops_rate[TENSOR_TYPES_MAX];  /* by tensor type, operations a second */
};

#endif
