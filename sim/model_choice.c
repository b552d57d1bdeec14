/* Values of workload.draft and workload.second: see model_choice.h. */
#include "sim/model_choice.h"

#include <stdio.h>
#include <string.h>

static bool names_file(const char *text, size_t length)
{
    static const char *const suffixes[] = {".gguf", ".safetensors", ".json"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t size = strlen(suffixes[i]);
        if (length > size && strncmp(text + length - size, suffixes[i], size) == 0)
            return true;
    }
    return false;
}

size_t model_choice_file_length(const char *text)
{
    const size_t length = strlen(text);
    const char *colon = strrchr(text, ':');
    if (names_file(text, length))
        return length;
    return colon && names_file(text, (size_t)(colon - text)) ? (size_t)(colon - text) : 0;
}

static struct model_choice *new_choice(const struct settings_reader *reader, const char *text, const char *name,
                                       struct error *err)
{
    struct model_choice *made = arena_alloc(reader->arena, 1, sizeof *made);
    if (made) {
        made->text = arena_strdup(reader->arena, text);
        made->spec.name = arena_strdup(reader->arena, name);
    }
    if (made && made->text && made->spec.name)
        return made;
    fail(err, STATUS_IO, "out of memory");
    return NULL;
}

static bool parse_quant(const struct settings_reader *reader, const char *text, enum quant *quant, struct error *err)
{
    const struct option *option = option_find(reader->options, reader->option_count, "model", "quant");
    union option_value value;
    must(option && option->fallback);
    if (!option_parse(option, text ? text : option->fallback, reader->arena, &value, err))
        return fail_in(err, "quantisation");
    *quant = (enum quant)value.number;
    return true;
}

bool model_choice_of_file(const struct settings_reader *reader, const char *path, const char *quant_text,
                          const struct model_choice **choice, struct error *err)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    const bool numbers = model_file_kind(path) == MODEL_FILE_CONFIG;
    char label[128], shown[256];
    enum quant quant = 0;
    if (!numbers && quant_text)
        return fail(err, STATUS_USAGE, "%s brings its weights as they are; expected it without :%.64s", last,
                    quant_text);
    if (numbers && !parse_quant(reader, quant_text, &quant, err))
        return false;
    model_file_label(path, label, sizeof label);
    snprintf(shown, sizeof shown, "%s:%s", label, quant_names[quant]);
    struct model_choice *made = new_choice(reader, numbers ? shown : last, numbers ? label : last, err);
    if (!made)
        return false;
    made->spec.file = path;
    made->spec.quant = quant;
    *choice = made;
    return true;
}

bool model_choice_of_profile(const struct settings_reader *reader, const char *text, const struct model_choice **choice,
                             bool *placed, struct error *err)
{
    char path[PROFILE_PATH], label[128], shown[256];
    struct model_spec spec = {.has_shape = true};
    char *name = arena_strdup(reader->arena, text);
    if (!name)
        return fail(err, STATUS_IO, "out of memory");
    char *colon = strrchr(name, ':');
    if (colon)
        *colon = '\0';
    if (!parse_quant(reader, colon ? colon + 1 : NULL, &spec.quant, err) ||
        !profile_find(reader, "model", name, path, err))
        return false;
    *placed = !profile_read_model(path, reader->profile_dirs, &spec.shape, label, err);
    if (*placed)
        return false;
    snprintf(shown, sizeof shown, "%s:%s", label, quant_names[spec.quant]);
    struct model_choice *made = new_choice(reader, shown, label, err);
    if (!made)
        return false;
    spec.name = made->spec.name;
    made->spec = spec;
    *choice = made;
    return true;
}
