/* The traces on which replays are measured: layers in a cycle, a dense model with its embedding, experts, a million
 * objects by Zipf's law, a scan of pages. Made here, always the same, so that no file of them need be kept; a benchmark
 * of libCacheSim ran on the same accesses. */
#ifndef POCKETLOAD_BENCH_TRACES_H
#define POCKETLOAD_BENCH_TRACES_H

#include <stdbool.h>
#include <stdint.h>

struct bench_trace {
    uint32_t *ids; /* of the accesses; the caller may take it and set it to NULL */
    uint64_t count;
    uint32_t *sizes;   /* by id, in bytes; 1 where all are alike */
    uint32_t id_count; /* all ids are below; each may occur */
};

/* Makes the first `limit` accesses (0: all) of
 *   cyclic       1,000,000 accesses to 32 ids in turn
 *   dense-embed  300,000 tokens: embedding, 32 layers, norm and output, with the sizes of a model of 4 GB
 *   moe          10,000,000 accesses: per token two distinct experts of 8 in each of 32 layers
 *   zipf1.0      20,000,000 accesses to 1,000,000 ids, popularity rank^-1
 *   page-scan    20 times 900,000 ids in turn
 * The caller frees it with bench_trace_free. False: no such name, or no memory. */
bool bench_trace_make(const char *name, uint64_t limit, struct bench_trace *trace);
void bench_trace_free(struct bench_trace *trace);

#endif
