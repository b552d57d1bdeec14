/* Sentences about the way from the file to the first token. */
#include "results/load_words.h"

#include <string.h>

#include "base/units.h"
#include "results/text.h"

static bool reads_whole_file(const char *loader)
{
    static const char read[] = "read";
    const size_t length = sizeof read - 1;
    return strncmp(loader, read, length) == 0 && (loader[length] == '\0' || loader[length] == '(');
}

/* A label names the keys that vary within the experiment. */
static bool varies_loading(const char *loader)
{
    static const char *const keys[] = {"stages=", "loader_threads=", "first_chunk=", "preload=", "warm="};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strstr(loader, keys[i]) != NULL)
            return true;
    return false;
}

static bool is_told(const struct run_record *record)
{
    const struct run_numbers *n = &record->numbers;
    const char *loader = record->loader ? record->loader : "", *pin = record->pin ? record->pin : "";
    const bool pins = pin[0] != '\0' && strcmp(pin, "none") != 0;
    return reads_whole_file(loader) || varies_loading(loader) || n->bytes_warm > 0 ||
           n->parse_ns + n->stage_alloc_ns + n->stage_init_ns > 0 || (n->load_ns > 0 && !pins);
}

const char *load_words(const struct run_record *record, char out[LOAD_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    const struct {
        const char *share;
        int64_t ns;
    } marks[] = {{"10 %", n->load_10_ns}, {"50 %", n->load_50_ns}, {"all", n->load_100_ns}};
    char time[UNITS_TEXT];
    out[0] = '\0';
    if (n->outcome == OUTCOME_FAILED || n->load_10_ns < 0 || !is_told(record))
        return out;
    size_t used = (size_t)snprintf(out, LOAD_WORDS, "loaded:");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i].ns >= 0)
            used += (size_t)snprintf(out + used, LOAD_WORDS - used, "%s %s after %s", i > 0 ? "," : "", marks[i].share,
                                     format_time(marks[i].ns, time));
    if (n->load_100_ns < 0)
        used += (size_t)snprintf(out + used, LOAD_WORDS - used, ", never all");
    if (n->first_layer_ns >= 0)
        used += (size_t)snprintf(out + used, LOAD_WORDS - used, "; first layer after %s",
                                 format_time(n->first_layer_ns, time));
    must(used < LOAD_WORDS);
    return out;
}

bool load_print_words(FILE *file, const struct run_record *record, bool named)
{
    char words[LOAD_WORDS];
    return text_named_line(file, named ? record->policy : NULL, load_words(record, words));
}
