/* Which kind of file a model comes from, and what it is called. */
#include <stdio.h>
#include <string.h>

#include "workloads/hf_config.h"
#include "workloads/model.h"

static bool ends(const char *text, const char *ending)
{
    const size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

enum model_file model_file_kind(const char *path)
{
    if (ends(path, ".safetensors") || ends(path, ".safetensors.index.json"))
        return MODEL_FILE_SAFETENSORS;
    return ends(path, ".json") ? MODEL_FILE_CONFIG : MODEL_FILE_GGUF;
}

bool model_from_file(const char *path, enum quant quant, struct model *model, struct error *err)
{
    switch (model_file_kind(path)) {
    case MODEL_FILE_SAFETENSORS:
        return model_from_safetensors(path, model, err);
    case MODEL_FILE_CONFIG:
        return model_from_config(path, quant, model, err);
    case MODEL_FILE_GGUF:
        break;
    }
    return model_from_gguf(path, model, err);
}

bool model_from_config(const char *path, enum quant quant, struct model *model, struct error *err)
{
    struct shape shape;
    char label[sizeof model->name];
    *model = (struct model){0};
    model_file_label(path, label, sizeof label);
    if (!hf_config_read(path, &shape, err))
        return false;
    if (model_from_shape(label, &shape, quant, model, err))
        return true;
    if (err->code == STATUS_USAGE)
        err->code = STATUS_INPUT; /* the numbers are the file's */
    return fail_in(err, "%s", path);
}

static const char *last_slash(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

void model_file_label(const char *path, char *label, size_t size)
{
    static const char *const common[] = {"config.json", "model.safetensors", "model.safetensors.index.json"};
    static const char *const endings[] = {".gguf", ".safetensors.index.json", ".safetensors", ".json"};
    const char *name = last_slash(path, path + strlen(path));
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strcmp(name, common[i]) == 0 && name > path + 1) {
            const char *folder = last_slash(path, name - 1);
            if (name - 1 > folder && strncmp(folder, "./", 2) != 0 && strncmp(folder, "../", 3) != 0) {
                snprintf(label, size, "%.*s", (int)(name - 1 - folder), folder);
                return;
            }
        }
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends(name, endings[i]) && length > strlen(endings[i])) {
            length -= strlen(endings[i]);
            break;
        }
    snprintf(label, size, "%.*s", (int)length, name);
}
