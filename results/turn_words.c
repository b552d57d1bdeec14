/* Sentences about conversations. */
#include "results/turn_words.h"

#include <inttypes.h>

#include "base/units.h"
#include "results/text.h"

const char *turn_words(const struct run_record *record, char out[TURN_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    char first[UNITS_TEXT], mean[UNITS_TEXT], most[UNITS_TEXT], taken[UNITS_TEXT];
    out[0] = '\0';
    if (n->outcome == OUTCOME_FAILED || n->turns == 0)
        return out;
    size_t used = (size_t)snprintf(out, TURN_WORDS, "%" PRIu64 " turn%s: first token after %s", n->turns,
                                   n->turns == 1 ? "" : "s", n->ttft_ns < 0 ? "-" : format_time(n->ttft_ns, first));
    if (n->turn_ttft_mean_ns >= 0)
        used += (size_t)snprintf(out + used, TURN_WORDS - used, ", in later turns after %s (%s at worst)",
                                 format_time(n->turn_ttft_mean_ns, mean), format_time(n->turn_ttft_max_ns, most));
    if (n->restarts > 0)
        used += (size_t)snprintf(out + used, TURN_WORDS - used, "; started anew %" PRIu64 " time%s", n->restarts,
                                 n->restarts == 1 ? "" : "s");
    if (n->bytes_reclaimed > 0)
        used += (size_t)snprintf(out + used, TURN_WORDS - used, "; lost %s of weights in the background",
                                 format_bytes(n->bytes_reclaimed, taken));
    must(used < TURN_WORDS);
    return out;
}

const char *draft_words(const struct run_record *record, char out[TURN_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    out[0] = '\0';
    if (n->outcome != OUTCOME_FAILED && n->drafted_tokens > 0)
        snprintf(out, TURN_WORDS, "%" PRIu64 " tokens drafted, %" PRIu64 " of them accepted (%.1f %%)",
                 n->drafted_tokens, n->accepted_tokens, 100 * ratio(n->accepted_tokens, n->drafted_tokens));
    return out;
}

bool turn_print_words(FILE *file, const struct run_record *record, bool named)
{
    char turns[TURN_WORDS], drafts[TURN_WORDS];
    const char *name = named ? record->policy : NULL;
    return text_named_line(file, name, turn_words(record, turns)) &&
           text_named_line(file, name, draft_words(record, drafts));
}
