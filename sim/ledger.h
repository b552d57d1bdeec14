/* The memory ledger: every byte of the phone belongs to one class, and peaks are kept of each class and of the app. */
#ifndef POCKETLOAD_SIM_LEDGER_H
#define POCKETLOAD_SIM_LEDGER_H

#include <stdint.h>

enum memory_class {
    MEMORY_WEIGHTS,     /* weights in anonymous memory of the app: resident or reserved for a load in flight */
    MEMORY_KV,          /* KV cache */
    MEMORY_ACTIVATION,  /* activations and scratch */
    MEMORY_RUNTIME,     /* the app and the inference runtime themselves */
    MEMORY_STREAMED,    /* blocks read for the running step without being kept */
    MEMORY_FILE,        /* clean pages of the mapped file */
    MEMORY_PAGE_TABLES, /* page tables and page cache nodes of the mapped file */
    MEMORY_APP_CLASSES,
    MEMORY_OS = MEMORY_APP_CLASSES, /* kernel, firmware carve-outs, system services */
    MEMORY_OTHER_APPS,
    MEMORY_ZRAM, /* compressed pages, as they lie there */
    MEMORY_CLASSES
};
extern const char *const memory_class_names[MEMORY_CLASSES]; /* "weights", "kv", ... */

struct ledger {
    uint64_t ram_bytes;
    uint64_t now_bytes[MEMORY_CLASSES];
    uint64_t peak_bytes[MEMORY_CLASSES];
    uint64_t app_bytes, app_peak_bytes; /* sum of the app's classes */
    uint64_t total_bytes;               /* sum of all classes */
};

static inline void ledger_add(struct ledger *ledger, enum memory_class class, uint64_t bytes)
{
    ledger->now_bytes[class] += bytes;
    ledger->total_bytes += bytes;
    if (ledger->now_bytes[class] > ledger->peak_bytes[class])
        ledger->peak_bytes[class] = ledger->now_bytes[class];
    if (class < MEMORY_APP_CLASSES) {
        ledger->app_bytes += bytes;
        if (ledger->app_bytes > ledger->app_peak_bytes)
            ledger->app_peak_bytes = ledger->app_bytes;
    }
}

static inline void ledger_remove(struct ledger *ledger, enum memory_class class, uint64_t bytes)
{
    ledger->now_bytes[class] -= bytes;
    ledger->total_bytes -= bytes;
    if (class < MEMORY_APP_CLASSES)
        ledger->app_bytes -= bytes;
}

/* Sets a class to a value. */
static inline void ledger_set(struct ledger *ledger, enum memory_class class, uint64_t bytes)
{
    if (bytes >= ledger->now_bytes[class])
        ledger_add(ledger, class, bytes - ledger->now_bytes[class]);
    else
        ledger_remove(ledger, class, ledger->now_bytes[class] - bytes);
}

static inline uint64_t ledger_free_bytes(const struct ledger *ledger)
{
    return ledger->total_bytes < ledger->ram_bytes ? ledger->ram_bytes - ledger->total_bytes : 0;
}

#endif
