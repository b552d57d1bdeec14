/* One safetensors file, or all that an index names. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "workloads/safetensors.h"

void safetensors_free(struct safetensors *out)
{
    free(out->tensors);
    free(out->text);
    *out = (struct safetensors){0};
}

static bool ends(const char *text, const char *ending)
{
    const size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

/* ---- Names ---- */

struct named {
    const char *name;
    size_t index; /* of a tensor */
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int compare_name(const void *key, const void *element)
{
    return strcmp(key, ((const struct named *)element)->name);
}

/* The tensors by name, from malloc; a name that stands there twice is an error. */
static bool sort_names(const char *path, const struct safetensors *out, struct named **sorted, struct error *err)
{
    struct named *names = calloc(out->tensor_count + 1, sizeof *names);
    if (names == NULL)
        return fail(err, STATUS_IO, "out of memory: %zu names", out->tensor_count);
    for (size_t i = 0; i < out->tensor_count; i++)
        names[i] = (struct named){safetensors_text(out, out->tensors[i].name), i};
    qsort(names, out->tensor_count, sizeof *names, compare_named);
    for (size_t i = 1; i < out->tensor_count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0) {
            fail(err, STATUS_INPUT, "%s: two of its files have a tensor \"%s\"", path, names[i].name);
            free(names);
            return false;
        }
    *sorted = names;
    return true;
}

/* ---- The index ---- */

struct index {
    const char *path;
    json_t *root, *map;
    const char **files; /* sorted, each once; into root */
    size_t file_count;
    struct error *err;
};

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* A file of the index's own folder and no other. */
static bool check_file_name(const struct index *index, const char *tensor, const char *name)
{
    if (name != NULL && strlen(name) <= SAFETENSORS_NAME_MAX && name[0] != '.' && strchr(name, '/') == NULL &&
        ends(name, ".safetensors"))
        return true;
    return fail(index->err, STATUS_INPUT,
                "%s: weight_map: \"%.80s\": expected a file of the same folder, as in model-00001-of-00002.safetensors",
                index->path, tensor);
}

static bool list_files(struct index *index)
{
    const size_t count = json_object_size(index->map);
    if (count == 0 || count > SAFETENSORS_TENSORS_MAX)
        return fail(index->err, STATUS_INPUT, "%s: weight_map has %zu tensors: expected 1 to %d", index->path, count,
                    SAFETENSORS_TENSORS_MAX);
    index->files = calloc(count, sizeof *index->files);
    if (index->files == NULL)
        return fail(index->err, STATUS_IO, "out of memory: %zu names", count);
    const char *tensor;
    json_t *file;
    size_t listed = 0;
    json_object_foreach(index->map, tensor, file)
    {
        if (!check_file_name(index, tensor, json_string_value(file)))
            return false;
        index->files[listed++] = json_string_value(file);
    }
    qsort(index->files, count, sizeof *index->files, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (index->file_count == 0 || strcmp(index->files[index->file_count - 1], index->files[i]) != 0)
            index->files[index->file_count++] = index->files[i];
    return index->file_count <= SAFETENSORS_FILES_MAX ||
           fail(index->err, STATUS_INPUT, "%s: weight_map names %zu files: expected at most %d", index->path,
                index->file_count, SAFETENSORS_FILES_MAX);
}

static bool read_files(const struct index *index, struct safetensors *out)
{
    const char *slash = strrchr(index->path, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - index->path) : 0;
    const size_t size = strlen(index->path) + SAFETENSORS_NAME_MAX + 1;
    char *path = malloc(size);
    if (path == NULL)
        return fail(index->err, STATUS_IO, "out of memory: the name of a file");
    bool ok = true;
    for (size_t i = 0; i < index->file_count && ok; i++) {
        snprintf(path, size, "%.*s%s", folder, index->path, index->files[i]);
        ok = safetensors_read_file(path, (uint32_t)i, out, index->err);
    }
    free(path);
    return ok;
}

/* Every tensor of the index is in its file, and every tensor of a file in the index. */
static bool compare_map(const struct index *index, const struct safetensors *out)
{
    struct named *names = NULL;
    if (!sort_names(index->path, out, &names, index->err))
        return false;
    const char *tensor;
    json_t *file;
    bool ok = true;
    json_object_foreach(index->map, tensor, file)
    {
        const struct named *found = bsearch(tensor, names, out->tensor_count, sizeof *names, compare_name);
        if (!ok)
            break;
        if (found == NULL || strcmp(index->files[out->tensors[found->index].part], json_string_value(file)) != 0)
            ok = fail(index->err, STATUS_INPUT, "%s: weight_map: %s has no tensor \"%.80s\"", index->path,
                      json_string_value(file), tensor);
    }
    for (size_t i = 0; i < out->tensor_count && ok; i++)
        if (json_object_get(index->map, names[i].name) == NULL)
            ok = fail(index->err, STATUS_INPUT, "%s: weight_map has no tensor \"%s\", which is in %s", index->path,
                      names[i].name, index->files[out->tensors[names[i].index].part]);
    free(names);
    return ok;
}

static bool parse_index(struct index *index)
{
    char *text;
    size_t size;
    json_error_t why;
    if (!file_read(index->path, SAFETENSORS_HEADER_MAX, false, &text, &size, index->err))
        return false;
    index->root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (index->root == NULL)
        return fail(index->err, STATUS_INPUT, "%s:%d: %s", index->path, why.line, why.text);
    index->map = json_object_get(index->root, "weight_map");
    return json_is_object(index->map) ||
           fail(index->err, STATUS_INPUT, "%s: no weight_map: expected the index of a model in several files",
                index->path);
}

static bool read_index(const char *path, struct safetensors *out, struct error *err)
{
    struct index index = {.path = path, .err = err};
    const bool ok = parse_index(&index) && list_files(&index) && read_files(&index, out) && compare_map(&index, out);
    free(index.files);
    json_decref(index.root);
    return ok;
}

/* "...-00001-of-00003.safetensors": the number behind "of", or 0 for any other name. */
static unsigned long files_of_name(const char *path)
{
    static const char pattern[] = "-#####-of-#####.safetensors";
    const size_t length = strlen(path), size = sizeof pattern - 1;
    if (length < size)
        return 0;
    const char *name = path + length - size;
    for (size_t i = 0; i < size; i++)
        if (pattern[i] == '#' ? name[i] < '0' || name[i] > '9' : name[i] != pattern[i])
            return 0;
    return strtoul(name + sizeof "-#####-of-" - 1, NULL, 10);
}

bool safetensors_read(const char *path, struct safetensors *out, struct error *err)
{
    *out = (struct safetensors){0};
    if (ends(path, ".json"))
        return read_index(path, out, err);
    const unsigned long files = files_of_name(path);
    if (files > 1)
        return fail(err, STATUS_INPUT,
                    "%s: one of the %lu files of a model: expected their index, model.safetensors.index.json", path,
                    files);
    return safetensors_read_file(path, 0, out, err);
}
