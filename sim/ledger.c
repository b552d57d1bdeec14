/* Names of the memory classes, as records and figures show them. */
#include "sim/ledger.h"

const char *const memory_class_names[MEMORY_CLASSES] = {
    [MEMORY_WEIGHTS] = "weights",
    [MEMORY_KV] = "kv",
    [MEMORY_ACTIVATION] = "activation",
    [MEMORY_RUNTIME] = "runtime",
    [MEMORY_STREAMED] = "streamed",
    [MEMORY_OS] = "os",
    [MEMORY_FILE] = "file",
    [MEMORY_PAGE_TABLES] = "page_tables",
    [MEMORY_OTHER_APPS] = "other_apps",
    [MEMORY_ZRAM] = "zram",
};
