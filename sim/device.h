/* A phone, in numbers. configs/devices/ holds real ones, with a source for each. */
#ifndef POCKETLOAD_SIM_DEVICE_H
#define POCKETLOAD_SIM_DEVICE_H

#include <stdint.h>

#include "sim/flash.h"
#include "workloads/quant.h"

enum kill_rule { KILL_NONE, KILL_THRESHOLD };

struct device {
    char name[128];
    uint64_t ram_bytes;
    uint64_t os_reserve_bytes;
    uint64_t other_apps_bytes;
    uint64_t runtime_bytes; /* the app without weights, KV cache and activations */
    enum kill_rule kill_rule;
    uint64_t kill_threshold_bytes; /* the app dies above this; never 0 once the config is read: by default
                                      ram - os_reserve - other_apps */
    struct flash_spec flash;
    uint64_t memory_bps;                   /* bandwidth of RAM that a decode reaches */
    uint64_t flops_rate[TENSOR_TYPES_MAX]; /* by tensor type, operations a second */
};

#endif
