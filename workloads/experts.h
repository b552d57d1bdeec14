/* Which experts the tokens of a model choose, layer by layer.
 *
 * Each slot of a token takes an expert of the token before again with chance `sticky` (one of those not yet chosen, all
 * alike), else draws from the layer's popularity: Zipf's law over a random order of its experts. Every layer has random
 * numbers of its own, so its choices do not depend on the other layers. */
#ifndef POCKETLOAD_WORKLOADS_EXPERTS_H
#define POCKETLOAD_WORKLOADS_EXPERTS_H

#include "workloads/walk.h"

struct chooser;

struct experts {
    const struct workload_spec *spec;
    const struct walk *walk;
    struct chooser *choosers; /* one a step of the walk; NULL: the model has no experts */
    block_id *choices;        /* of the step at hand */
    size_t choices_capacity;
    uint8_t *seen; /* by block: the step at hand has named it; all 0 between steps */
};

/* For a walk over a model with experts or without. `stream` tells apart the models of one workload: the choices of
 * stream 0 are those of a model alone. STATUS_USAGE for a top_k or sticky that cannot be, STATUS_IO without memory;
 * call experts_free then too. */
bool experts_init(struct experts *experts, const struct workload_spec *spec, const struct walk *walk, uint32_t stream,
                  struct error *err);
void experts_free(struct experts *experts);

/* How many experts a token chooses, of all layers together. */
uint64_t experts_of_token(const struct experts *experts);

/* Adds the step i of the walk for the next pass->tokens tokens: with the experts that they choose, token after token.
 */
bool experts_add_step(struct experts *experts, uint32_t i, const struct pass *pass, struct trace_builder *builder,
                      struct error *err);

#endif
