/* Measured rates as a table: what people wrote down of fio or another benchmark, for the fit.
 *
 *     # comments, and empty lines
 *     lanes,block_kib,mib_per_s,latency_ms
 *     4,4096,2458,6.50
 *
 * The columns may stand in any order; latency_ms may be missing, or empty in a line, and is only checked. */
#ifndef POCKETLOAD_SIM_CALIBRATE_TABLE_H
#define POCKETLOAD_SIM_CALIBRATE_TABLE_H

#include "sim/calibrate_fit.h"

struct flash_table {
    struct flash_point *points;
    size_t count, capacity;
};

/* Reads a file ("-" is standard input); STATUS_INPUT with file:line, STATUS_IO. Free with flash_table_free, also after
 * a failure. */
bool flash_table_read(const char *path, struct flash_table *table, struct error *err);
void flash_table_free(struct flash_table *table);

#endif
