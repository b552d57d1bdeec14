/* Between trace_build.c and trace.c: the sums of a trace whose steps are complete. */
#ifndef POCKETLOAD_WORKLOADS_TRACE_SUMS_H
#define POCKETLOAD_WORKLOADS_TRACE_SUMS_H

#include "workloads/trace.h"

/* Checks every id against the model and fills the fields that trace_finish promises. STATUS_INPUT, STATUS_IO. */
bool trace_fill_sums(struct trace *trace, const struct model *model, struct error *err);

#endif
