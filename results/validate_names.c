/* From the names that measurements use to the names of profiles: by a stated rule and a table, never by likeness. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "results/validate_parts.h"

enum { NAME_BYTES = 128 };

/* Spellings that the rule does not reach, as it leaves them: small letters, -. */
static const struct spelling {
    const char *written, *profile;
} device_spellings[] =
    {
        {"samsung-s21", "galaxy-s21"},        {"samsung-s23", "galaxy-s23"},
        {"samsung-galaxy-s23", "galaxy-s23"}, {"samsung-galaxy-s24-ultra", "galaxy-s24-ultra"},
        {"xiaomi-mi9", "xiaomi-mi-9"},        {"mi-9", "xiaomi-mi-9"},
        {"cph2769", "oneplus-15r"},           {"google-pixel-9", "pixel-9"},
},
  model_spellings[] = {
      {"llama2-7b", "llama-2-7b"},         {"llama2-13b", "llama-2-13b"},
      {"llama3-8b", "llama-3-8b"},         {"llama3.1-8b", "llama-3.1-8b"},
      {"meta-llama-3-8b", "llama-3-8b"},   {"meta-llama-3.1-8b", "llama-3.1-8b"},
      {"gemma2-2b", "gemma-2-2b"},         {"mixtral-8x7b-v0.1", "mixtral-8x7b"},
      {"olmoe-1b-7b-0924", "olmoe-1b-7b"}, {"tinyllama-1.1b-chat-v1.0", "tinyllama-1.1b"},
};

/* The rule's first part; false for a name that is too long. */
static bool plain(const char *name, char out[NAME_BYTES])
{
    const size_t length = strlen(name);
    if (length == 0 || length >= NAME_BYTES)
        return false;
    for (size_t i = 0; i <= length; i++)
        out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z'   ? name[i] - 'A' + 'a'
                        : name[i] == ' ' || name[i] == '_' ? '-'
                                                           : name[i]);
    return true;
}

static const char *find(const char *name, char *const *profiles, size_t count, const struct spelling *spellings,
                        size_t spelling_count)
{
    for (size_t i = 0; i < spelling_count; i++)
        if (strcmp(spellings[i].written, name) == 0)
            name = spellings[i].profile;
    for (size_t i = 0; i < count; i++)
        if (strcmp(profiles[i], name) == 0)
            return profiles[i];
    return NULL;
}

const char *truth_device_named(const struct validating *validating, const char *name)
{
    char text[NAME_BYTES];
    return plain(name, text) ? find(text, validating->devices, validating->device_count, device_spellings,
                                    sizeof device_spellings / sizeof *device_spellings)
                             : NULL;
}

const char *truth_device_of(const struct validating *validating, const struct truth_file *file, const char *cell,
                            char *why, size_t why_size)
{
    char part[NAME_BYTES] = "";
    const char *name = cell, *slash = strrchr(file->name, '/');
    const char *base = slash != NULL ? slash + 1 : file->name, *prefix = file->family->prefix;
    if (name[0] == '\0' && prefix != NULL && strncmp(base, prefix, strlen(prefix)) == 0) {
        base += strlen(prefix);
        const size_t length = strlen(base), end = strlen(".csv");
        if (length > end && strcmp(base + length - end, ".csv") == 0)
            snprintf(part, sizeof part, "%.*s", (int)(length - end), base);
        name = part;
    }
    if (name[0] == '\0' && validating->options->device != NULL)
        name = validating->options->device;
    if (name[0] == '\0') {
        snprintf(why, why_size, "no phone is named: no column device, no file name %sPHONE.csv, no --device",
                 prefix != NULL ? prefix : "");
        return NULL;
    }
    const char *device = truth_device_named(validating, name);
    if (device == NULL)
        snprintf(why, why_size, "no profile of the phone \"%.60s\"", name);
    return device;
}

static bool cut_end(char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    if (length <= tail || strcmp(name + length - tail, end) != 0)
        return false;
    name[length - tail] = '\0';
    return true;
}

/* Cuts a quantisation, the longest that the name ends in, with - or . before it. */
static bool cut_quant(char *name, enum quant *quant)
{
    size_t longest = 0;
    for (int q = 0; q < QUANTS; q++) {
        char text[NAME_BYTES];
        const size_t length = strlen(name);
        if (!plain(quant_names[q], text))
            continue;
        const size_t tail = strlen(text);
        if (tail > longest && length > tail + 1 && strcmp(name + length - tail, text) == 0 &&
            strchr("-.", name[length - tail - 1]) != NULL) {
            longest = tail;
            *quant = (enum quant)q;
        }
    }
    if (longest > 0)
        name[strlen(name) - longest - 1] = '\0';
    return longest > 0;
}

const char *truth_model_named(const struct validating *validating, const char *name, enum quant *quant, char *why,
                              size_t why_size)
{
    static const char *const ends[] = {"-instruct", "-it", "-chat"};
    char text[NAME_BYTES];
    const char *model = NULL;
    if (plain(name, text)) {
        cut_end(text, ".gguf");
        if (quant != NULL && !cut_quant(text, quant)) {
            snprintf(why, why_size, "\"%.60s\" does not end in a known quantisation", name);
            return NULL;
        }
        model = find(text, validating->models, validating->model_count, model_spellings,
                     sizeof model_spellings / sizeof *model_spellings);
        for (size_t i = 0; model == NULL && i < sizeof ends / sizeof *ends; i++)
            if (cut_end(text, ends[i]))
                model = find(text, validating->models, validating->model_count, model_spellings,
                             sizeof model_spellings / sizeof *model_spellings);
    }
    if (model == NULL)
        snprintf(why, why_size, "no profile of the model \"%.60s\"", name);
    return model;
}

bool truth_quant_named(const char *name, enum quant *quant, char *why, size_t why_size)
{
    for (int q = 0; q < QUANTS; q++)
        if (strcasecmp(quant_names[q], name) == 0) {
            *quant = (enum quant)q;
            return true;
        }
    snprintf(why, why_size, "no quantisation \"%.40s\"", name);
    return false;
}
