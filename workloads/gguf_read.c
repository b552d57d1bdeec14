/* The header of one GGUF file, byte by byte: no length, count or offset is believed before it is held against the size
 * of the file. */
#include "workloads/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/units.h"
#include "workloads/quant.h"

struct cursor {
    FILE *file;
    const char *path;
    uint64_t size, offset;
    struct gguf *gguf;
    struct error *err;
};

/* Value types of the format: bytes of one, 0 for strings and arrays. */
enum { VALUE_U8, VALUE_I8, VALUE_U16, VALUE_I16, VALUE_U32, VALUE_I32, VALUE_F32, VALUE_BOOL, VALUE_STRING };
enum { VALUE_ARRAY = 9, VALUE_U64, VALUE_I64, VALUE_F64, VALUE_TYPES };
static const uint8_t value_bytes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool damaged(struct cursor *cursor, uint64_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool damaged(struct cursor *cursor, uint64_t position, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return fail(cursor->err, STATUS_INPUT, "%s: offset %" PRIu64 ": %s", cursor->path, position, text);
}

/* The next bytes of the file into out, or nowhere when it is NULL. */
static bool take(struct cursor *cursor, void *out, uint64_t bytes, const char *what)
{
    char scratch[4096];
    if (bytes > cursor->size - cursor->offset)
        return damaged(cursor, cursor->offset, "%s takes %" PRIu64 " bytes, but the file ends after %" PRIu64, what,
                       bytes, cursor->size - cursor->offset);
    cursor->offset += bytes;
    if (out == NULL && bytes > 1 << 20) {
        if (fseeko(cursor->file, (off_t)cursor->offset, SEEK_SET) == 0)
            return true;
        return fail(cursor->err, STATUS_IO, "%s: cannot seek: %s", cursor->path, strerror(errno));
    }
    while (bytes > 0) {
        size_t piece = out != NULL || bytes < sizeof scratch ? (size_t)bytes : sizeof scratch;
        if (fread(out != NULL ? out : scratch, 1, piece, cursor->file) != piece)
            return fail(cursor->err, STATUS_IO, "%s: cannot read %s at offset %" PRIu64 ": %s", cursor->path, what,
                        cursor->offset - bytes, ferror(cursor->file) ? strerror(errno) : "the file has shrunk");
        bytes -= piece;
    }
    return true;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static bool take_number(struct cursor *cursor, unsigned bytes, uint64_t *number, const char *what)
{
    unsigned char raw[8];
    if (!take(cursor, raw, bytes, what))
        return false;
    *number = 0;
    for (unsigned i = bytes; i > 0; i--)
        *number = *number << 8 | raw[i - 1];
    return true;
}

/* A string into gguf.text. */
static bool keep_string(struct cursor *cursor, uint64_t limit, size_t *offset, const char *what)
{
    struct gguf *gguf = cursor->gguf;
    uint64_t length, position = cursor->offset;
    if (!take_number(cursor, 8, &length, what))
        return false;
    if (length == 0 || length > limit)
        return damaged(cursor, position, "%s has a length of %" PRIu64 ": expected 1 to %" PRIu64, what, length, limit);
    if (length > cursor->size - cursor->offset)
        return damaged(cursor, position, "%s has a length of %" PRIu64 ", but the file ends after %" PRIu64 " bytes",
                       what, length, cursor->size - cursor->offset);
    void *text = gguf->text;
    bool ok = array_reserve(&text, &gguf->text_capacity, gguf->text_size + (size_t)length + 1, 1, cursor->err);
    gguf->text = text;
    if (!ok || !take(cursor, gguf->text + gguf->text_size, length, what))
        return false;
    gguf->text[gguf->text_size + length] = '\0';
    if (strlen(gguf->text + gguf->text_size) != length)
        return damaged(cursor, position, "%s holds a NUL", what);
    *offset = gguf->text_size;
    gguf->text_size += (size_t)length + 1;
    return true;
}

static bool skip_string(struct cursor *cursor, const char *what)
{
    uint64_t length;
    return take_number(cursor, 8, &length, what) && take(cursor, NULL, length, what);
}

/* A bool, one byte, counts as 0 or 1. */
static bool is_whole(uint64_t type)
{
    return type < VALUE_TYPES && value_bytes[type] != 0 && type != VALUE_F32 && type != VALUE_F64;
}

/* A whole number of that value type. */
static bool take_whole(struct cursor *cursor, uint64_t type, uint64_t *number, bool *negative, const char *what)
{
    unsigned bytes = value_bytes[type];
    bool is_signed = type == VALUE_I8 || type == VALUE_I16 || type == VALUE_I32 || type == VALUE_I64;
    if (!take_number(cursor, bytes, number, what))
        return false;
    *negative = is_signed && (*number >> (8 * bytes - 1) & 1) != 0;
    if (type == VALUE_BOOL)
        *number = *number != 0;
    return true;
}

static bool take_whole_array(struct cursor *cursor, uint64_t type, struct gguf_value *value, const char *what)
{
    uint64_t position = cursor->offset;
    value->kind = GGUF_NUMBERS;
    for (uint64_t i = 0; i < value->count; i++) {
        uint64_t number;
        bool negative;
        if (!take_whole(cursor, type, &number, &negative, what))
            return false;
        if (negative)
            value->kind = GGUF_NEGATIVE;
        else if (!add(value->sum, number, &value->sum))
            return damaged(cursor, position, "the numbers of %s add up to more than 2^64", what);
        if (!negative && number > value->max)
            value->max = number;
    }
    return true;
}

static bool take_array(struct cursor *cursor, struct gguf_value *value, const char *what)
{
    uint64_t type, bytes, position = cursor->offset;
    if (!take_number(cursor, 4, &type, what) || !take_number(cursor, 8, &value->count, what))
        return false;
    if (type >= VALUE_TYPES || type == VALUE_ARRAY)
        return damaged(cursor, position, "%s is an array of value type %" PRIu64 ": expected 0 to 8, or 10 to 12", what,
                       type);
    /* A string takes at least the 8 bytes of its length. */
    if (!multiply(value->count, type == VALUE_STRING ? 8 : value_bytes[type], &bytes) ||
        bytes > cursor->size - cursor->offset)
        return damaged(cursor, position,
                       "%s is an array of %" PRIu64 " elements, but the file ends after %" PRIu64 " bytes", what,
                       value->count, cursor->size - cursor->offset);
    if (is_whole(type) && value->count <= GGUF_ARRAY_MAX)
        return take_whole_array(cursor, type, value, what);
    if (type != VALUE_STRING)
        return take(cursor, NULL, bytes, what);
    for (uint64_t i = 0; i < value->count; i++)
        if (!skip_string(cursor, what))
            return false;
    return true;
}

static bool take_value(struct cursor *cursor, struct gguf_value *value)
{
    uint64_t type, position;
    bool negative;
    char what[96];
    if (!keep_string(cursor, GGUF_KEY_MAX, &value->key, "a key"))
        return false;
    snprintf(what, sizeof what, "the value of \"%.64s\"", gguf_text(cursor->gguf, value->key));
    position = cursor->offset;
    if (!take_number(cursor, 4, &type, what))
        return false;
    if (type >= VALUE_TYPES)
        return damaged(cursor, position, "%s has value type %" PRIu64 ": expected 0 to 12", what, type);
    value->kind = GGUF_OTHER;
    if (is_whole(type)) {
        if (!take_whole(cursor, type, &value->number, &negative, what))
            return false;
        value->kind = negative ? GGUF_NEGATIVE : GGUF_NUMBER;
        return true;
    }
    if (type == VALUE_ARRAY)
        return take_array(cursor, value, what);
    if (type != VALUE_STRING)
        return take(cursor, NULL, value_bytes[type], what);
    if (strcmp(gguf_text(cursor->gguf, value->key), "general.architecture") != 0)
        return skip_string(cursor, what);
    value->kind = GGUF_STRING;
    return keep_string(cursor, GGUF_NAME_MAX, &value->text, what);
}

static bool take_dims(struct cursor *cursor, struct gguf_tensor *tensor, const char *name)
{
    uint64_t count, position = cursor->offset;
    if (!take_number(cursor, 4, &count, name))
        return false;
    if (count == 0 || count > GGUF_DIMS_MAX)
        return damaged(cursor, position, "%s has %" PRIu64 " dimensions: expected 1 to %d", name, count, GGUF_DIMS_MAX);
    tensor->dim_count = (uint32_t)count;
    tensor->elements = 1;
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        position = cursor->offset;
        if (!take_number(cursor, 8, &tensor->dims[i], name))
            return false;
        if (tensor->dims[i] == 0)
            return damaged(cursor, position, "%s has a dimension of 0", name);
        if (!multiply(tensor->elements, tensor->dims[i], &tensor->elements))
            return damaged(cursor, position, "%s has more than 2^64 elements", name);
    }
    return true;
}

/* A tensor's description; its offset still counts from the start of the data. */
static bool take_tensor(struct cursor *cursor, struct gguf_tensor *tensor)
{
    uint64_t number, position;
    char name[GGUF_NAME_MAX + 16];
    tensor->position = cursor->offset;
    if (!keep_string(cursor, GGUF_NAME_MAX, &tensor->name, "the name of a tensor"))
        return false;
    snprintf(name, sizeof name, "tensor \"%s\"", gguf_text(cursor->gguf, tensor->name));
    if (!take_dims(cursor, tensor, name))
        return false;
    position = cursor->offset;
    if (!take_number(cursor, 4, &number, name))
        return false;
    int type = tensor_type_by_number((uint32_t)number);
    if (type < 0)
        return damaged(cursor, position, "%s has type %" PRIu64 ", which is no tensor type of ggml", name, number);
    tensor->type = (uint32_t)type;
    if (!tensor_bytes(tensor->type, tensor->elements, tensor->dims[0], &tensor->bytes, cursor->err))
        return fail_in(cursor->err, "%s: offset %" PRIu64 ": %s", cursor->path, tensor->position, name);
    return take_number(cursor, 8, &tensor->offset, name);
}

const struct gguf_value *gguf_find(const struct gguf *gguf, size_t first, const char *key)
{
    for (size_t i = first; i < gguf->value_count; i++)
        if (strcmp(gguf_text(gguf, gguf->values[i].key), key) == 0)
            return &gguf->values[i];
    return NULL;
}

/* Turns offsets in the data into offsets in the file, which every tensor must end inside. */
static bool place_tensors(struct cursor *cursor, size_t first_value, size_t first_tensor, uint64_t base)
{
    struct gguf *gguf = cursor->gguf;
    uint64_t alignment = 32; /* the format's default */
    const struct gguf_value *value = gguf_find(gguf, first_value, "general.alignment");
    if (value != NULL) {
        alignment = value->number;
        if (value->kind != GGUF_NUMBER || alignment == 0 || alignment > GGUF_ALIGNMENT_MAX ||
            (alignment & (alignment - 1)) != 0)
            return damaged(cursor, value->position, "general.alignment: expected a power of two of at most %d",
                           GGUF_ALIGNMENT_MAX);
    }
    uint64_t start = (cursor->offset + alignment - 1) / alignment * alignment;
    for (size_t i = first_tensor; i < gguf->tensor_count; i++) {
        struct gguf_tensor *tensor = &gguf->tensors[i];
        const char *name = gguf_text(gguf, tensor->name);
        uint64_t begin, end;
        if (tensor->offset % alignment != 0)
            return damaged(cursor, tensor->position,
                           "tensor \"%s\" lies at %" PRIu64 ": expected a multiple of the alignment, %" PRIu64, name,
                           tensor->offset, alignment);
        if (!add(start, tensor->offset, &begin) || !add(begin, tensor->bytes, &end) || end > cursor->size)
            return damaged(cursor, tensor->position,
                           "tensor \"%s\" takes %" PRIu64 " bytes at %" PRIu64 " of the data, which begin at %" PRIu64
                           ": beyond the end of the file at %" PRIu64,
                           name, tensor->bytes, tensor->offset, start, cursor->size);
        tensor->offset = base + begin;
    }
    return true;
}

static bool take_preamble(struct cursor *cursor, uint64_t *tensors, uint64_t *values)
{
    unsigned char magic[4];
    uint64_t version;
    if (!take(cursor, magic, sizeof magic, "the magic number"))
        return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return damaged(cursor, 0, "not a GGUF file: it begins with %02x %02x %02x %02x, expected \"GGUF\"", magic[0],
                       magic[1], magic[2], magic[3]);
    if (!take_number(cursor, 4, &version, "the version"))
        return false;
    if (version != 0 && (version & 0xffff) == 0)
        return damaged(cursor, 4, "a big-endian GGUF file: expected a little-endian one");
    if (version != 2 && version != 3)
        return damaged(cursor, 4, "GGUF version %" PRIu64 ": expected 2 or 3", version);
    if (!take_number(cursor, 8, tensors, "the number of tensors") ||
        !take_number(cursor, 8, values, "the number of keys"))
        return false;
    if (*tensors > GGUF_TENSORS_MAX - cursor->gguf->tensor_count)
        return damaged(cursor, 8, "%" PRIu64 " tensors: expected at most %d in a model", *tensors, GGUF_TENSORS_MAX);
    if (*values > GGUF_KEYS_MAX)
        return damaged(cursor, 16, "%" PRIu64 " keys: expected at most %d", *values, GGUF_KEYS_MAX);
    return true;
}

static bool append_value(struct cursor *cursor)
{
    struct gguf *gguf = cursor->gguf;
    struct gguf_value value = {.position = cursor->offset};
    void *values = gguf->values;
    bool ok = array_reserve(&values, &gguf->value_capacity, gguf->value_count + 1, sizeof value, cursor->err);
    gguf->values = values;
    if (!ok || !take_value(cursor, &value))
        return false;
    gguf->values[gguf->value_count++] = value;
    return true;
}

static bool append_tensor(struct cursor *cursor, uint32_t part)
{
    struct gguf *gguf = cursor->gguf;
    struct gguf_tensor tensor = {.part = part};
    void *tensors = gguf->tensors;
    bool ok = array_reserve(&tensors, &gguf->tensor_capacity, gguf->tensor_count + 1, sizeof tensor, cursor->err);
    gguf->tensors = tensors;
    if (!ok || !take_tensor(cursor, &tensor))
        return false;
    gguf->tensors[gguf->tensor_count++] = tensor;
    return true;
}

static bool split_number(struct cursor *cursor, size_t first_value, const char *key, uint64_t *number)
{
    const struct gguf_value *value = gguf_find(cursor->gguf, first_value, key);
    *number = value != NULL ? value->number : 0;
    if (value != NULL && (value->kind != GGUF_NUMBER || *number > UINT16_MAX))
        return damaged(cursor, value->position, "%s: expected a number of at most %d", key, UINT16_MAX);
    return true;
}

static bool read_header(struct cursor *cursor, uint32_t number, uint64_t base, struct gguf_part *part)
{
    struct gguf *gguf = cursor->gguf;
    size_t first_value = gguf->value_count, first_tensor = gguf->tensor_count;
    uint64_t tensors = 0, values = 0;
    if (!take_preamble(cursor, &tensors, &values))
        return false;
    for (uint64_t i = 0; i < values; i++)
        if (!append_value(cursor))
            return false;
    for (uint64_t i = 0; i < tensors; i++)
        if (!append_tensor(cursor, number))
            return false;
    if (!place_tensors(cursor, first_value, first_tensor, base) ||
        !split_number(cursor, first_value, "split.no", &part->split_no) ||
        !split_number(cursor, first_value, "split.count", &part->split_count))
        return false;
    if (number > 0)
        gguf->value_count = first_value;
    return true;
}

bool gguf_read_part(const char *path, uint32_t number, uint64_t base, struct gguf *gguf, struct gguf_part *part,
                    struct error *err)
{
    struct stat status;
    /* Not to wait for a writer, where the path is a pipe. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return fail(err, STATUS_IO, "%s: cannot open: %s", path, strerror(errno));
    FILE *file = NULL;
    bool ok = false;
    *part = (struct gguf_part){0};
    if (fstat(descriptor, &status) != 0)
        fail(err, STATUS_IO, "%s: cannot examine: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        fail(err, STATUS_IO, "%s: not a regular file", path);
    else if ((uint64_t)status.st_size > INT64_MAX - base)
        fail(err, STATUS_INPUT, "%s: the parts of the model have more than 2^63 bytes", path);
    else if ((file = fdopen(descriptor, "rb")) == NULL)
        fail(err, STATUS_IO, "%s: cannot open: %s", path, strerror(errno));
    else {
        part->file_bytes = (uint64_t)status.st_size;
        struct cursor cursor = {file, path, part->file_bytes, 0, gguf, err};
        ok = read_header(&cursor, number, base, part);
    }
    if (file != NULL)
        fclose(file);
    else
        close(descriptor);
    return ok;
}
