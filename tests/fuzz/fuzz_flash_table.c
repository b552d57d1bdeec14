/* Fuzzes the table of measured rates: no bytes may crash it, what it refuses comes with one line, and what it reads can
 * be fitted or is refused with one line too. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/calibrate_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FITTED_MAX = 4 }; /* a fit takes time; few points are enough to reach all of it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct flash_table table;
    struct flash_fit fit;
    char path[64];
    int file = memfd_create("table", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bool good = flash_table_read(path, &table, &err);
    if (!good)
        must(err.code == STATUS_INPUT && err.text[0] != '\0' && !strpbrk(err.text, "\r\n"));
    for (size_t i = 0; good && i < table.count; i++)
        must(table.points[i].lanes > 0 && table.points[i].block_bytes > 0 && table.points[i].bps > 0.0);
    if (good && table.count <= FITTED_MAX && flash_fit(table.points, table.count, &fit, &err))
        must(isfinite(fit.rms) && fit.setup_ns > 0.0 && fit.stream_bps <= fit.max_bps);
    flash_table_free(&table);
    close(file);
    return 0;
}
