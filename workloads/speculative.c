/* Speculative decoding (Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", ICML
 * 2023): a draft model proposes tokens, one pass of the model checks them all.
 *
 * A round of g drafts: g passes of the draft model, then one pass of the model over the last token and the g drafts.
 * Each draft is accepted with one chance, independent of all others, until the first that is not; the round makes the
 * accepted tokens and one of the model's own. */
#include "workloads/chat.h"

#include <inttypes.h>

/* No more drafts than the answer has room for. */
static uint32_t drafts_of(const struct workload_spec *spec, uint32_t left)
{
    return spec->draft_tokens < left - 1 ? spec->draft_tokens : left - 1;
}

static uint32_t draw_accepted(struct chat *chat, uint32_t drafts)
{
    uint32_t accepted = 0;
    while (accepted < drafts && rng_below(&chat->lots, 1000000) < chat->spec->accept_ppm)
        accepted++;
    return accepted;
}

/* The caches at their longest within the round, less what its context makes of it. */
static bool kv_of_round(const struct chat *chat, uint32_t context, uint32_t drafts, uint32_t made, uint64_t *beside,
                        struct error *err)
{
    const struct speaker *speaker = &chat->speakers[0], *draft = &chat->speakers[1];
    uint64_t longest, after, drafted;
    if (!kv_bytes(&speaker->kv, context + drafts + UINT64_C(1), &longest) ||
        !kv_bytes(&speaker->kv, (uint64_t)context + made, &after) ||
        !kv_bytes(&draft->kv, (uint64_t)context + drafts, &drafted) || drafted > INT64_MAX - (longest - after))
        return fail(err, STATUS_INPUT, "the KV caches of %" PRIu32 " tokens take more than 2^63 bytes", context);
    *beside = drafted + (longest - after);
    return true;
}

/* A pass of its own of the draft model for each draft. */
static bool add_drafts(struct chat *chat, uint32_t context, uint32_t drafts, struct error *err)
{
    struct speaker *draft = &chat->speakers[1];
    for (uint32_t i = 0; i < drafts; i++) {
        const struct pass pass = chat_pass(chat, draft, PHASE_DECODE, 1, context + i);
        if (!chat_add_pass(chat, draft, &pass, err))
            return false;
    }
    return true;
}

static bool add_round(struct chat *chat, uint32_t drafts, uint32_t accepted, struct error *err)
{
    struct speaker *speaker = &chat->speakers[0], *draft = &chat->speakers[1];
    const uint32_t context = speaker->held;
    struct pass check = chat_pass(chat, speaker, PHASE_DECODE, drafts + 1, context);
    struct segment segment = {.repeat = 1, .context_growth = accepted + 1, .drafted = drafts, .accepted = accepted};
    check.all_logits = true;
    const struct pass longest = chat_pass(chat, draft, PHASE_DECODE, 1, context + drafts);
    if (!kv_of_round(chat, context, drafts, accepted + 1, &segment.kv_beside_bytes, err) ||
        !walk_activations(&draft->walk, &longest, 1, &segment.activation_bytes, err) ||
        !chat_open(chat, speaker, &check, segment, err) || !add_drafts(chat, context, drafts, err) ||
        !chat_add_pass(chat, speaker, &check, err))
        return false;
    speaker->held += accepted + 1;
    draft->held = speaker->held; /* what was rejected is dropped */
    chat->token += accepted + 1;
    return true;
}

bool speculative_answer(struct chat *chat, uint32_t tokens, struct error *err)
{
    for (uint32_t left = tokens; left > 0;) {
        const uint32_t drafts = drafts_of(chat->spec, left), accepted = draw_accepted(chat, drafts);
        if (!add_round(chat, drafts, accepted, err))
            return false;
        left -= accepted + 1;
    }
    return true;
}
