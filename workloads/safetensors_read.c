/* The header of one safetensors file: no length and no offset is believed before it is held against the size of the
 * file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/suggest.h"
#include "base/units.h"
#include "base/utf8.h"
#include "workloads/quant.h"
#include "workloads/safetensors.h"

enum { LENGTH_BYTES = 8 };

static const struct {
    const char *dtype, *type; /* a name of tensor_types */
} dtypes[] = {
    {"F64", "f64"}, {"F32", "f32"}, {"F16", "f16"}, {"BF16", "bf16"},       {"I64", "i64"},
    {"I32", "i32"}, {"I16", "i16"}, {"I8", "i8"},   {"U64", "i64"},         {"U32", "i32"},
    {"U16", "i16"}, {"U8", "i8"},   {"BOOL", "i8"}, {"F8_E4M3", "f8_e4m3"}, {"F8_E5M2", "f8_e5m2"},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static uint32_t type_named(const char *name)
{
    uint32_t type = 0;
    while (strcmp(tensor_types[type].name, name) != 0)
        must(++type < tensor_type_count);
    return type;
}

/* A tensor as it is read. */
struct entry {
    const char *path, *name;
    struct safetensor *tensor;
    uint64_t data_bytes; /* of the file, behind its header */
    struct error *err;
};

static bool bad(const struct entry *entry, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool bad(const struct entry *entry, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return fail(entry->err, STATUS_INPUT, "%s: tensor \"%s\": %s", entry->path, entry->name, text);
}

static bool read_dtype(const struct entry *entry, const json_t *value)
{
    const char *names[DTYPES], *text = json_string_value(value);
    char near[256];
    if (text == NULL)
        return bad(entry, "dtype is no string: expected one like \"BF16\"");
    for (size_t i = 0; i < DTYPES; i++) {
        if (strcmp(dtypes[i].dtype, text) == 0) {
            entry->tensor->type = type_named(dtypes[i].type);
            return true;
        }
        names[i] = dtypes[i].dtype;
    }
    return bad(entry, "unknown dtype \"%.40s\"%s", text, suggest_text(text, names, DTYPES, near, sizeof near));
}

static bool read_size(const json_t *value, uint64_t *size)
{
    const json_int_t number = json_integer_value(value);
    *size = number >= 0 ? (uint64_t)number : 0;
    return json_is_integer(value) && number >= 0;
}

static bool read_shape(const struct entry *entry, const json_t *value)
{
    struct safetensor *tensor = entry->tensor;
    enum { DIMS_MAX = 16 };
    const size_t count = json_array_size(value);
    if (!json_is_array(value) || count > DIMS_MAX)
        return bad(entry, "shape is no array of at most %d numbers", DIMS_MAX);
    tensor->dim_count = (uint32_t)count;
    tensor->rows = tensor->row = tensor->elements = 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t dim;
        if (!read_size(json_array_get(value, i), &dim))
            return bad(entry, "shape[%zu] is no whole number from 0 on", i);
        if (!multiply(tensor->elements, dim, &tensor->elements))
            return bad(entry, "shape has more than 2^64 elements");
        if (i == 0)
            tensor->rows = dim;
        tensor->row = dim;
    }
    /* All types here have blocks of one element. */
    if (!multiply(tensor->elements, tensor_types[tensor->type].block_bytes, &tensor->bytes))
        return bad(entry, "shape takes more than 2^64 bytes");
    return true;
}

static bool read_offsets(const struct entry *entry, const json_t *value)
{
    uint64_t begin, end;
    if (!json_is_array(value) || json_array_size(value) != 2 || !read_size(json_array_get(value, 0), &begin) ||
        !read_size(json_array_get(value, 1), &end))
        return bad(entry, "data_offsets is no pair of whole numbers: expected [begin, end]");
    if (begin > end || end > entry->data_bytes)
        return bad(entry,
                   "data_offsets %" PRIu64 " to %" PRIu64 ": expected a range within the %" PRIu64 " bytes of data",
                   begin, end, entry->data_bytes);
    if (end - begin != entry->tensor->bytes)
        return bad(entry, "data_offsets span %" PRIu64 " bytes: dtype and shape take %" PRIu64, end - begin,
                   entry->tensor->bytes);
    entry->tensor->position = begin; /* until place_tensors moves it behind the header */
    return true;
}

static bool read_tensor(const struct entry *entry, json_t *value)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    if (!json_is_object(value))
        return bad(entry, "no object: expected {\"dtype\", \"shape\", \"data_offsets\"}");
    const char *key;
    json_t *member;
    json_object_foreach(
        value, key, member) if (strcmp(key, keys[0]) != 0 && strcmp(key, keys[1]) != 0 &&
                                strcmp(key, keys[2]) !=
                                    0) return bad(entry,
                                                  "unknown key \"%.80s\": expected dtype, shape and data_offsets", key);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(value, keys[i]) == NULL)
            return bad(entry, "%s is missing", keys[i]);
    return read_dtype(entry, json_object_get(value, "dtype")) && read_shape(entry, json_object_get(value, "shape")) &&
           read_offsets(entry, json_object_get(value, "data_offsets"));
}

/* A name that messages and records can show. */
static bool check_name(const char *path, const char *name, struct error *err)
{
    const size_t length = strlen(name);
    if (length == 0 || length > SAFETENSORS_NAME_MAX)
        return fail(err, STATUS_INPUT, "%s: a tensor's name has %zu bytes: expected 1 to %d", path, length,
                    SAFETENSORS_NAME_MAX);
    for (const char *c = name; *c != '\0';) {
        uint32_t code;
        const size_t size = utf8_character(c, &code);
        c += size;
        if (size == 0 || utf8_is_control(code))
            return fail(err, STATUS_INPUT, "%s: tensor \"%s\": its name holds a control character", path, name);
    }
    return true;
}

static bool keep_name(struct safetensors *out, const char *name, size_t *offset, struct error *err)
{
    const size_t length = strlen(name);
    void *text = out->text;
    const bool ok = array_reserve(&text, &out->text_capacity, out->text_size + length + 1, 1, err);
    out->text = text;
    if (!ok)
        return false;
    memcpy(out->text + out->text_size, name, length + 1);
    *offset = out->text_size;
    out->text_size += length + 1;
    return true;
}

static bool append(const char *path, uint32_t number, uint64_t data_bytes, const char *name, json_t *value,
                   struct safetensors *out, struct error *err)
{
    struct safetensor tensor = {.part = number};
    const struct entry entry = {path, name, &tensor, data_bytes, err};
    if (!check_name(path, name, err) || !read_tensor(&entry, value))
        return false;
    if (out->tensor_count >= SAFETENSORS_TENSORS_MAX)
        return fail(err, STATUS_INPUT, "%s: expected at most %d tensors in a model", path, SAFETENSORS_TENSORS_MAX);
    void *tensors = out->tensors;
    const bool ok = array_reserve(&tensors, &out->tensor_capacity, out->tensor_count + 1, sizeof tensor, err);
    out->tensors = tensors;
    if (!ok || !keep_name(out, name, &tensor.name, err))
        return false;
    out->tensors[out->tensor_count++] = tensor;
    return true;
}

/* By place; what has no bytes comes before what begins there. */
static int compare_positions(const void *left, const void *right)
{
    const struct safetensor *a = left, *b = right;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Sorts the file's tensors, which have to cover its data without a hole or an overlap, and moves them to their places.
 */
static bool place_tensors(const char *path, size_t first, uint64_t start, uint64_t data_bytes, struct safetensors *out,
                          struct error *err)
{
    uint64_t end = 0;
    if (out->tensor_count > first)
        qsort(out->tensors + first, out->tensor_count - first, sizeof *out->tensors, compare_positions);
    for (size_t i = first; i < out->tensor_count; i++) {
        struct safetensor *tensor = &out->tensors[i];
        if (tensor->position != end)
            return fail(err, STATUS_INPUT,
                        "%s: tensor \"%s\" begins at %" PRIu64 " of the data: expected %" PRIu64
                        ", where the one before ends%s",
                        path, safetensors_text(out, tensor->name), tensor->position, end,
                        tensor->position < end ? " (they overlap)" : " (between them is a hole)");
        end += tensor->bytes;
        tensor->position += start;
        tensor->offset = out->file_bytes + tensor->position; /* below 2^63: checked when the file was opened */
    }
    return end == data_bytes ||
           fail(err, STATUS_INPUT,
                "%s: its tensors take %" PRIu64 " bytes of data: expected all %" PRIu64 " behind the header", path, end,
                data_bytes);
}

static bool check_metadata(const char *path, json_t *value, struct error *err)
{
    const char *key;
    json_t *member;
    if (!json_is_object(value))
        return fail(err, STATUS_INPUT, "%s: __metadata__ is no object", path);
    json_object_foreach(value, key, member) if (!json_is_string(member)) return fail(
        err, STATUS_INPUT, "%s: __metadata__: \"%.80s\" is no string", path, key);
    return true;
}

static bool read_header(const char *path, uint32_t number, json_t *header, uint64_t start, uint64_t file_bytes,
                        struct safetensors *out, struct error *err)
{
    const size_t first = out->tensor_count;
    const char *name;
    json_t *value;
    json_object_foreach(header, name,
                        value) if (strcmp(name, "__metadata__") == 0
                                       ? !check_metadata(path, value, err)
                                       : !append(path, number, file_bytes - start, name, value, out, err)) return false;
    if (!place_tensors(path, first, start, file_bytes - start, out, err))
        return false;
    out->file_bytes += file_bytes;
    return true;
}

static bool read_exactly(int file, const char *path, void *data, size_t size, struct error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t count = read(file, (char *)data + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail(err, STATUS_IO, "%s: cannot read: %s", path,
                        count < 0 ? strerror(errno) : "the file has shrunk");
        done += (size_t)count;
    }
    return true;
}

/* The length of the header, from the first bytes of the file. */
static bool read_length(int file, const char *path, uint64_t file_bytes, uint64_t *length, struct error *err)
{
    unsigned char raw[LENGTH_BYTES];
    if (file_bytes < LENGTH_BYTES + 2)
        return fail(err, STATUS_INPUT, "%s: %" PRIu64 " bytes are no safetensors file", path, file_bytes);
    if (!read_exactly(file, path, raw, sizeof raw, err))
        return false;
    *length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        *length = *length << 8 | raw[i];
    if (*length > SAFETENSORS_HEADER_MAX || *length > file_bytes - LENGTH_BYTES || *length < 2)
        return fail(err, STATUS_INPUT,
                    "%s: offset 0: a header of %" PRIu64 " bytes: expected 2 to %" PRIu64
                    " (is this a safetensors file?)",
                    path, *length,
                    file_bytes - LENGTH_BYTES < SAFETENSORS_HEADER_MAX ? file_bytes - LENGTH_BYTES
                                                                       : (uint64_t)SAFETENSORS_HEADER_MAX);
    return true;
}

static bool parse_header(int file, const char *path, uint64_t file_bytes, uint64_t *start, json_t **header,
                         struct error *err)
{
    uint64_t length = 0;
    if (!read_length(file, path, file_bytes, &length, err))
        return false;
    char *text = malloc((size_t)length);
    if (text == NULL)
        return fail(err, STATUS_IO, "out of memory: the header of %s", path);
    bool ok = read_exactly(file, path, text, (size_t)length, err);
    if (ok && text[0] != '{')
        ok = fail(err, STATUS_INPUT, "%s: offset %d: the header does not begin with {", path, LENGTH_BYTES);
    if (ok) {
        json_error_t why;
        *header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &why);
        if (*header == NULL)
            ok = fail(err, STATUS_INPUT, "%s: offset %d: the header: %s", path, LENGTH_BYTES + why.position, why.text);
    }
    free(text);
    *start = LENGTH_BYTES + length;
    return ok;
}

bool safetensors_read_file(const char *path, uint32_t number, struct safetensors *out, struct error *err)
{
    struct stat status;
    json_t *header = NULL;
    uint64_t start = 0;
    bool ok = false;
    /* Not to wait for a writer, where the path is a pipe. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail(err, STATUS_IO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(file, &status) != 0)
        fail(err, STATUS_IO, "%s: cannot examine: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        fail(err, STATUS_IO, "%s: not a regular file", path);
    else if ((uint64_t)status.st_size > INT64_MAX - out->file_bytes)
        fail(err, STATUS_INPUT, "%s: the files of the model have more than 2^63 bytes", path);
    else
        ok = parse_header(file, path, (uint64_t)status.st_size, &start, &header, err) &&
             read_header(path, number, header, start, (uint64_t)status.st_size, out, err);
    json_decref(header);
    close(file);
    return ok;
}
