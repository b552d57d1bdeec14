/* Small random configs, all of a case from one seed: a model, a trace, a device, a loader and a policy, as the engine
 * takes it (run_spec) and as the naive twin takes it (naive_choice). */
#ifndef POCKETLOAD_TESTS_RANDOM_CASE_H
#define POCKETLOAD_TESTS_RANDOM_CASE_H

#include <stdio.h>

#include "policies/registry.h"
#include "sim/engine.h"
#include "tests/reference/naive_policy.h"

struct random_case {
    uint64_t seed;
    struct model model;
    struct trace trace;
    struct run_spec spec; /* points into this structure: do not move it */
    struct naive_choice choice;
    struct policy_choice parsed;
    block_id pin_blocks[POLICY_BLOCK_NAMES_MAX];
    int64_t cap_bytes, depth; /* values of parts of naive_parts.h */
    char policy_text[256];
    block_id preload[64];
};

/* Makes the case of a seed; the process ends with a message when a builder refuses it. */
void random_case_make(struct random_case *c, uint64_t seed);
void random_case_free(struct random_case *c);

/* Prints the case for people, each line as a TAP comment. */
void random_case_print(const struct random_case *c, FILE *file);

/* Parses and binds a composition for a model: fills the three parts of a spec. Ends the process on an error. */
void bind_policy(const char *text, const struct model *model, struct policy_choice *parsed,
                 block_id pin_blocks[POLICY_BLOCK_NAMES_MAX], struct run_spec *spec);

#endif
