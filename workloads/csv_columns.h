/* csv as other simulators have it: columns by their places, an id and perhaps a size a line.
 *
 * The user says which is which: csv(time=1,id=2,size=3,delimiter=;,header), also with the names that libCacheSim gives
 * them: time-col, obj-id-col, obj-size-col, delimiter, has-header, obj-id-is-num. */
#ifndef POCKETLOAD_WORKLOADS_CSV_COLUMNS_H
#define POCKETLOAD_WORKLOADS_CSV_COLUMNS_H

#include "workloads/workload.h"

/* "(name=value,...)"; STATUS_USAGE with the nearest name. A delimiter is one character, also a comma, or one of the
 * words comma, semicolon, tab, space and pipe. */
bool csv_columns_parse(const char *text, struct csv_columns *columns, struct error *err);

/* A line with two numbers and a comma between: id,size. */
bool csv_columns_plain(const char *line);

/* Reads the stream with these columns. */
bool csv_columns_read(struct reading *reading, const struct csv_columns *columns, struct error *err);

#endif
