/* How large an address space a run needs, and of what ranges. */
#ifndef POCKETLOAD_SIM_PLACING_LAYOUT_H
#define POCKETLOAD_SIM_PLACING_LAYOUT_H

#include "sim/run_state.h"

/* False with run->err: the activations that a token holds at once (with reuse = no, of all its steps) are more than an
 * allocator or the ledger could hold. Without an allocator and with reuse = yes nothing is asked. */
bool placing_check_steps(const struct run_state *run);

struct placing_layout {
    struct allocator_spec spec;
    uint64_t kv_range_bytes;         /* of each range of the KV cache; 0: the trace has none */
    uint64_t kv_ranges, step_ranges; /* at most at once */
};

/* From run->spec, the trace, and the host's pins, after placing_check_steps. False with run->err: sums that the ledger
 * could not hold, or too many ranges. */
bool placing_lay_out(const struct run_state *run, struct placing_layout *layout);

#endif
