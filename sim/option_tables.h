/* The sections of the option table, and how their lines are written. */
#ifndef POCKETLOAD_SIM_OPTION_TABLES_H
#define POCKETLOAD_SIM_OPTION_TABLES_H

#include "sim/options.h"

struct option_section {
    const struct option *options;
    size_t count;
};

/* In options_device.c, options_work.c and options_loader.c. */
extern const struct option_section experiment_section, device_section, model_section, workload_section, loader_section,
    policy_section;

/* Checks of texts, in experiment_loading.c and experiment_device.c: also where a run has no use for them. */
bool version_check(const char *text, struct error *err);
bool first_chunk_check(const char *text, struct error *err);
bool preload_check(const char *text, struct error *err);

#define FIELD(member) .offset = offsetof(struct run_config, member), .width = sizeof(((struct run_config *)0)->member)
#define NAMES(table) .names = table, .name_count = sizeof table / sizeof *table
#define RANGE(least, most) .min = least, .max = most
#define SECTION(table)                                                                                                 \
    {                                                                                                                  \
        table, sizeof table / sizeof *table                                                                            \
    }

enum { NAME_MAX_BYTES = 127, TEXT_MAX_BYTES = 1 << 20, PATH_MAX_BYTES = 4095 };
#define SIZE_MAX_BYTES (UINT64_C(1) << 50)
#define TIME_MAX_NS (INT64_C(3600) * 1000000000)
#define RATE_MAX (UINT64_C(1) << 50)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#endif
