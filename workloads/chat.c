/* Conversations: turn after turn a prompt in one pass over the model, then a pass for each later token. The workloads
 * dense and moe are a conversation of one turn. */
#include "workloads/chat.h"

#include <inttypes.h>

#include "base/wide.h"
#include "workloads/model_combine.h"

/* The longest context: what the largest open models of phones are trained for is far below. */
enum { CONTEXT_MAX = 1 << 20 };

static const char *const kind_names[] = {[WORKLOAD_DENSE] = "dense", [WORKLOAD_MOE] = "moe", [WORKLOAD_CHAT] = "chat"};

/* ---- Passes ---- */

/* The measured time of a prompt is that of prompt_tokens of them. */
static int64_t prompt_ns(const struct workload_spec *spec, uint32_t tokens)
{
    if (spec->prompt_compute_ns < 0 || spec->prompt_tokens == 0)
        return -1;
    return (int64_t)((wide)spec->prompt_compute_ns * tokens / spec->prompt_tokens);
}

static bool adapter_is_drawn(const struct chat *chat)
{
    return chat->speakers[0].walk.adapters != NULL && chat->spec->adapter_switch == ADAPTER_TOKEN;
}

struct pass chat_pass(struct chat *chat, const struct speaker *speaker, enum phase phase, uint32_t tokens,
                      uint32_t context)
{
    const struct workload_spec *spec = chat->spec;
    struct pass pass = {.phase = phase,
                        .tokens = tokens,
                        .context = context,
                        .adapter = NO_ADAPTER,
                        .time_ns = phase == PHASE_PREFILL ? prompt_ns(spec, tokens) : spec->compute_per_token_ns,
                        .spec = spec};
    if (speaker->walk.adapters != NULL) {
        pass.adapter_hidden = adapter_is_drawn(chat);
        pass.adapter = pass.adapter_hidden ? (uint32_t)rng_below(&chat->draws, spec->adapters) : chat->adapter;
    }
    return pass;
}

bool chat_add_pass(struct chat *chat, struct speaker *speaker, const struct pass *pass, struct error *err)
{
    for (uint32_t i = 0; i < speaker->walk.step_count; i++)
        if (!experts_add_step(&speaker->experts, i, pass, chat->builder, err))
            return false;
    return true;
}

bool chat_open(struct chat *chat, const struct speaker *speaker, const struct pass *pass, struct segment segment,
               struct error *err)
{
    segment.token = chat->token;
    segment.phase = pass->phase;
    segment.context_first = pass->context;
    segment.turn = chat->turn;
    segment.second = !chat->drafts && speaker != &chat->speakers[0];
    uint64_t activations;
    if (!walk_activations(&speaker->walk, pass, segment.repeat, &activations, err))
        return false;
    if (activations > segment.activation_bytes)
        segment.activation_bytes = activations;
    return trace_add_segment(chat->builder, &segment, err);
}

/* ---- A turn ---- */

/* The KV cache of the speaker who is silent. */
static bool kv_beside(const struct chat *chat, const struct speaker *speaker, uint64_t *bytes, struct error *err)
{
    *bytes = 0;
    for (uint32_t i = 0; i < chat->speaker_count; i++)
        if (&chat->speakers[i] != speaker && !kv_bytes(&chat->speakers[i].kv, chat->speakers[i].held, bytes))
            return fail(err, STATUS_INPUT, "the KV cache of %" PRIu32 " tokens takes more than 2^63 bytes",
                        chat->speakers[i].held);
    return true;
}

/* All that was said and has no keys and values yet, in one pass of the speaker, and of the draft model beside it. The
 * first token of the answer comes out of it. */
static bool add_prompt(struct chat *chat, struct speaker *speaker, struct segment segment, struct error *err)
{
    const uint32_t tokens = speaker->said - speaker->held;
    const struct pass pass = chat_pass(chat, speaker, PHASE_PREFILL, tokens, speaker->held);
    struct speaker *draft = chat->drafts ? &chat->speakers[1] : NULL;
    struct pass drafting = pass;
    segment.repeat = 1;
    segment.context_growth = tokens;
    if (draft != NULL) {
        draft->said = speaker->said;
        draft->held = speaker->said;
        drafting = chat_pass(chat, draft, PHASE_PREFILL, tokens, speaker->held);
        if (!walk_activations(&draft->walk, &drafting, 1, &segment.activation_bytes, err))
            return false;
    }
    if (!kv_beside(chat, speaker, &segment.kv_beside_bytes, err) || !chat_open(chat, speaker, &pass, segment, err) ||
        !chat_add_pass(chat, speaker, &pass, err) || (draft != NULL && !chat_add_pass(chat, draft, &drafting, err)))
        return false;
    speaker->held = speaker->said;
    chat->token++;
    return true;
}

/* A pass for each of the tokens: as one segment where they all run the same steps. */
static bool add_answer(struct chat *chat, struct speaker *speaker, uint32_t tokens, struct segment segment,
                       struct error *err)
{
    const bool alike = speaker->experts.choosers == NULL && !adapter_is_drawn(chat);
    segment.context_growth = 1;
    segment.repeat = alike ? tokens : 1;
    if (!kv_beside(chat, speaker, &segment.kv_beside_bytes, err))
        return false;
    for (uint32_t left = tokens; left > 0; left -= segment.repeat) {
        struct pass pass = chat_pass(chat, speaker, PHASE_DECODE, 1, speaker->held);
        pass.repeats = true;
        if (!chat_open(chat, speaker, &pass, segment, err) || !chat_add_pass(chat, speaker, &pass, err))
            return false;
        speaker->held += segment.repeat;
        chat->token += segment.repeat;
        segment.idle_ns = 0;
        segment.away = AWAY_NONE;
    }
    return true;
}

static bool says_too_much(const struct workload_spec *spec, struct error *err)
{
    return fail(err, STATUS_USAGE,
                "kind = chat: system_tokens and the prompts and answers of %" PRIu32
                " turns make a context of over %d tokens",
                spec->turns, CONTEXT_MAX);
}

/* The pause before the turn, and what it leaves of the KV caches. */
static struct segment pause_of(struct chat *chat)
{
    const struct workload_spec *spec = chat->spec;
    struct segment pause = {.idle_ns = 0};
    if (chat->turn < 2)
        return pause;
    pause.idle_ns = spec->think_ns;
    if (spec->background != 0 && (chat->turn - 1) % spec->background_every == 0) {
        pause.away = spec->background == BACKGROUND_RESTART ? AWAY_RESTART : AWAY_RECLAIM;
        pause.away_ppm = spec->background == BACKGROUND_RESTART ? 0 : spec->background;
    }
    for (uint32_t i = 0; i < chat->speaker_count && (pause.away == AWAY_RESTART || !spec->keep_kv); i++)
        chat->speakers[i].held = 0;
    return pause;
}

/* Who speaks in the turn, with the prompt said and what the pause before it leaves of the KV caches; NULL: too much is
 * said. */
static struct speaker *begin_turn(struct chat *chat, uint32_t number, struct segment *pause, struct error *err)
{
    const struct workload_spec *spec = chat->spec;
    const bool takes_turns = chat->speaker_count > 1 && !chat->drafts;
    struct speaker *speaker = &chat->speakers[takes_turns && number % 2 == 0 ? 1 : 0];
    const bool talks = spec->kind == WORKLOAD_CHAT;
    chat->turn = talks ? number : 0;
    *pause = pause_of(chat);
    const uint64_t before = talks && speaker->said == 0 ? spec->system_tokens : speaker->said;
    if (talks && before + spec->prompt_tokens + spec->output_tokens > CONTEXT_MAX) {
        says_too_much(spec, err);
        return NULL;
    }
    speaker->said = (uint32_t)before + spec->prompt_tokens;
    return speaker;
}

static bool add_turn(struct chat *chat, uint32_t number, struct error *err)
{
    const struct workload_spec *spec = chat->spec;
    struct segment segment;
    struct speaker *speaker = begin_turn(chat, number, &segment, err);
    if (speaker == NULL)
        return false;
    if (spec->adapters > 0)
        chat->adapter = spec->adapter_switch == ADAPTER_TURN ? (number - 1) % spec->adapters : 0;
    const bool prompt = speaker->said > speaker->held;
    const uint32_t decoded = spec->output_tokens - prompt;
    if (prompt) {
        if (!add_prompt(chat, speaker, segment, err))
            return false;
        segment.idle_ns = 0;
        segment.away = AWAY_NONE;
        segment.away_ppm = 0;
    }
    if (decoded > 0 &&
        !(chat->drafts ? speculative_answer(chat, decoded, err) : add_answer(chat, speaker, decoded, segment, err)))
        return false;
    speaker->said += spec->output_tokens; /* the last token has no keys and values yet */
    return true;
}

/* ---- The whole ---- */

static bool check(const struct workload_spec *spec, const struct model *model, struct error *err)
{
    const char *kind = kind_names[spec->kind];
    if (model == NULL)
        return fail(err, STATUS_USAGE, "workload kind = %s needs a model: expected [model] profile, file or blocks",
                    kind);
    if (spec->output_tokens == 0)
        return fail(err, STATUS_USAGE, "output_tokens = 0: expected at least 1");
    if ((uint64_t)spec->prompt_tokens + spec->output_tokens > UINT32_MAX)
        return fail(err, STATUS_USAGE, "prompt_tokens + output_tokens is more than %" PRIu32, UINT32_MAX);
    block_id first;
    const bool moe = spec->kind == WORKLOAD_MOE;
    if (spec->kind != WORKLOAD_CHAT && walk_has_experts(model_member(model, MEMBER_FIRST, &first)) != moe)
        return fail(err, STATUS_USAGE,
                    moe ? "kind = moe: the model \"%s\" has no experts: did you mean kind = dense?"
                        : "kind = dense: the model \"%s\" has experts: did you mean kind = moe?",
                    model->name);
    if (spec->kind == WORKLOAD_CHAT &&
        (spec->turns == 0 || spec->prompt_tokens == 0 || (spec->background != 0 && spec->background_every == 0)))
        return fail(err, STATUS_USAGE,
                    "kind = chat: expected at least 1 for turns, prompt_tokens and background_every");
    return true;
}

/* Measured times are of one model, token by token. */
static bool check_times(const struct workload_spec *spec, const char *with, struct error *err)
{
    return (spec->compute_per_token_ns < 0 && spec->prompt_compute_ns < 0) ||
           fail(err, STATUS_USAGE,
                "compute_per_token and prompt_compute are times of one model: expected roofline beside workload.%s",
                with);
}

static bool add_speaker(struct chat *chat, const struct model *model, block_id first, struct error *err)
{
    const uint32_t number = chat->speaker_count++;
    struct speaker *speaker = &chat->speakers[number];
    if (!walk_init(&speaker->walk, model, err))
        return false;
    speaker->walk.first = first;
    speaker->experts.walk = &speaker->walk;
    return experts_init(&speaker->experts, chat->spec, &speaker->walk, number, err) &&
           kv_growth(model, chat->spec->kv_type, &speaker->kv, err);
}

static bool add_speakers(struct chat *chat, const struct model *model, struct error *err)
{
    const struct workload_spec *spec = chat->spec;
    block_id first;
    if (!add_speaker(chat, model_member(model, MEMBER_FIRST, &first), 0, err))
        return false;
    const struct model *draft = model_member(model, MEMBER_DRAFT, &first);
    if (draft != NULL) {
        chat->drafts = true;
        if (walk_has_experts(draft))
            return fail(err, STATUS_USAGE, "workload.draft: the model \"%s\" has experts: expected a dense one",
                        draft->name);
        if (spec->draft_tokens == 0 || spec->accept_ppm > 1000000)
            return fail(err, STATUS_USAGE, "workload.draft: expected draft_tokens >= 1 and accept <= 100%%");
        if (!check_times(spec, "draft", err) || !add_speaker(chat, draft, first, err))
            return false;
    }
    const struct model *second = model_member(model, MEMBER_SECOND, &first);
    if (second != NULL) {
        must(draft == NULL);
        if (spec->kind != WORKLOAD_CHAT)
            return fail(err, STATUS_USAGE, "workload.second: models take turns in a chat: expected kind = chat");
        if (!check_times(spec, "second", err) || !add_speaker(chat, second, first, err))
            return false;
    }
    struct walk *walk = &chat->speakers[0].walk;
    walk->adapters = model_member(model, MEMBER_ADAPTERS, &walk->first_adapter);
    return true;
}

/* Each token of a prompt chooses experts, and where turns begin anew they are many: told before they are chosen, as a
 * trace has no room for them. */
static bool check_choices(struct chat *chat, uint32_t turns, struct error *err)
{
    uint64_t choices = 0;
    for (uint32_t turn = 1; turn <= turns; turn++) {
        struct segment pause;
        struct speaker *speaker = begin_turn(chat, turn, &pause, err);
        if (speaker == NULL)
            return false;
        choices += (speaker->said - speaker->held) * experts_of_token(&speaker->experts);
        if (choices > UINT32_MAX)
            return fail(err, STATUS_USAGE,
                        "kind = %s: the tokens of all prompts choose more than %" PRIu32
                        " experts: expected fewer turns or tokens",
                        kind_names[chat->spec->kind], UINT32_MAX);
        speaker->said += chat->spec->output_tokens;
        speaker->held = speaker->said - 1;
    }
    for (uint32_t i = 0; i < chat->speaker_count; i++)
        chat->speakers[i].said = chat->speakers[i].held = 0;
    return true;
}

static bool add_turns(struct chat *chat, const struct model *model, struct error *err)
{
    const struct workload_spec *spec = chat->spec;
    struct trace *trace = chat->builder->trace;
    trace->counts_tokens = true;
    chat->builder->kv_type = spec->kv_type;
    if (chat->speaker_count > 1 && !chat->drafts)
        trace->second_kv = chat->speakers[1].kv;
    const uint32_t turns = spec->kind == WORKLOAD_CHAT ? spec->turns : 1;
    if (!check_choices(chat, turns, err))
        return false;
    for (uint32_t turn = 1; turn <= turns; turn++)
        if (!add_turn(chat, turn, err))
            return false;
    return trace_finish(chat->builder, model, err);
}

bool workload_generate(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                       struct error *err)
{
    struct trace_builder builder;
    struct chat chat = {.spec = spec, .builder = &builder, .adapter = NO_ADAPTER};
    if (!check(spec, model, err))
        return false;
    rng_seed(&chat.lots, spec->seed, CHAT_LOTS);
    rng_seed(&chat.draws, spec->seed, CHAT_DRAWS);
    bool ok = add_speakers(&chat, model, err);
    if (ok) {
        ok = trace_start(&builder, trace, kind_names[spec->kind], err) && add_turns(&chat, model, err);
        if (!ok)
            trace_abandon(&builder);
    }
    for (uint32_t i = 0; i < chat.speaker_count; i++) {
        experts_free(&chat.speakers[i].experts);
        walk_free(&chat.speakers[i].walk);
    }
    return ok;
}
