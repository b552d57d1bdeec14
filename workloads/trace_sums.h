/* Between trace_build.c and trace.c: the sums of a trace whose steps are complete. */
#ifndef POCKETLOAD_WORKLOADS_TRACE_SUMS_H
#define POCKETLOAD_WORKLOADS_TRACE_SUMS_H

#include "workloads/trace.h"

/* Checks every id against the model and fills the fields that trace_finish promises. STATUS_INPUT, STATUS_IO. */
bool trace_fill_sums(struct trace *trace, const struct model *model, struct error *err);

/* The same for one segment, run once, of steps of one use each that together use every block: nothing is left to look
 * at but the blocks. `bytes` is the sum of the sizes of all uses. STATUS_INPUT. */
bool trace_fill_plain_sums(struct trace *trace, const struct model *model, uint64_t bytes, struct error *err);

#endif
