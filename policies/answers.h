/* What is wrong with a policy's answer, in words: for the engine and for `policy check`. */
#ifndef POCKETLOAD_POLICIES_ANSWERS_H
#define POCKETLOAD_POLICIES_ANSWERS_H

#include "policies/policy.h"

/* Why b, a block of the view, may not be evicted now. */
static inline const char *answer_why_not(const struct policy_view *view, block_id b)
{
    uint8_t state = view->state[b];
    return state & POLICY_LOADING       ? "it is in flight"
           : !(state & POLICY_RESIDENT) ? "it is not resident"
           : state & POLICY_PINNED      ? "it is pinned"
           : state & POLICY_IN_USE      ? "the running step uses it"
                                        : "a prefetch may not evict what another prefetch brought";
}

#endif
