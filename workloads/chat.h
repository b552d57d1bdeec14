/* The inside of the generator of dense, moe and chat: chat.c goes from turn to turn, speculative.c writes an answer
 * with a draft model. docs/models.md section 9 is the rule. */
#ifndef POCKETLOAD_WORKLOADS_CHAT_H
#define POCKETLOAD_WORKLOADS_CHAT_H

#include "base/rng.h"
#include "workloads/experts.h"
#include "workloads/kv.h"

/* A model and the conversation that it is in. */
struct speaker {
    struct walk walk;
    struct experts experts;
    struct kv_growth kv;
    uint32_t said; /* tokens of the conversation */
    uint32_t held; /* of these from the first on, those whose keys and values there are */
};

enum { SPEAKERS_MAX = 2 };

struct chat {
    const struct workload_spec *spec;
    struct trace_builder *builder;
    struct speaker speakers[SPEAKERS_MAX];
    uint32_t speaker_count;
    bool drafts;            /* speakers[1] drafts what speakers[0] says; else they take turns */
    uint32_t turn, token;   /* the turn at hand, the next token's number */
    uint32_t adapter;       /* the turn's, or NO_ADAPTER */
    struct rng lots, draws; /* of accepted drafts, of adapters */
};

/* Random numbers of their own, apart from those of layers, which are below 2^63. */
#define CHAT_LOTS (UINT64_C(1) << 63)
#define CHAT_DRAWS (CHAT_LOTS + 1)

/* A pass of a speaker, with the adapter of the turn or of the token. */
struct pass chat_pass(struct chat *chat, const struct speaker *speaker, enum phase phase, uint32_t tokens,
                      uint32_t context);

/* The steps of a pass, into the open segment. */
bool chat_add_pass(struct chat *chat, struct speaker *speaker, const struct pass *pass, struct error *err);

/* Opens a segment whose context and activations are that of the pass. `beside`: kv_beside_bytes. */
bool chat_open(struct chat *chat, const struct speaker *speaker, const struct pass *pass, struct segment segment,
               struct error *err);

/* `tokens` further tokens of speakers[0], drafted by speakers[1]. */
bool speculative_answer(struct chat *chat, uint32_t tokens, struct error *err);

#endif
