/* A token's computing in two parts: what comes before a layer's experts are chosen, and the experts. */
#ifndef POCKETLOAD_RESULTS_VALIDATE_SPLIT_H
#define POCKETLOAD_RESULTS_VALIDATE_SPLIT_H

#include "workloads/trace.h"

/* A trace like `trace` (which marks tokens) in which each step that names experts is two: all its other blocks, then
 * its experts, whose reads so begin when the first part has been computed. Of a decoded token the experts' steps
 * compute experts_ns in equal shares, the others rest_ns; prompts compute 0. The caller frees *split. */
bool trace_split_experts(const struct model *model, const struct trace *trace, int64_t experts_ns, int64_t rest_ns,
                         struct trace *split, struct error *err);

#endif
