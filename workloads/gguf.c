/* A model from a real GGUF file: its parts, and its tensors grouped into blocks by layer and expert. */
#include "workloads/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "workloads/tensor_blocks.h"

void gguf_free(struct gguf *gguf)
{
    free(gguf->values);
    free(gguf->tensors);
    free(gguf->text);
    *gguf = (struct gguf){0};
}

/* ---- Parts ---- */

enum { PART_SUFFIX = 20 }; /* "-00001-of-00003.gguf" */

/* Reads number and count out of such a name; false for any other name. */
static bool part_name(const char *path, uint32_t *number, uint32_t *count)
{
    size_t length = strlen(path);
    if (length < PART_SUFFIX)
        return false;
    const char *suffix = path + length - PART_SUFFIX;
    static const char pattern[] = "-#####-of-#####.gguf";
    for (int i = 0; i < PART_SUFFIX; i++)
        if (pattern[i] == '#' ? suffix[i] < '0' || suffix[i] > '9' : suffix[i] != pattern[i])
            return false;
    *number = (uint32_t)strtoul(suffix + 1, NULL, 10);
    *count = (uint32_t)strtoul(suffix + 10, NULL, 10);
    return true;
}

static bool read_parts(const char *path, uint64_t count, struct gguf *gguf, struct error *err)
{
    size_t length = strlen(path) - PART_SUFFIX, size = strlen(path) + 1;
    char *name = malloc(size);
    if (name == NULL)
        return fail(err, STATUS_IO, "out of memory: the name of a part");
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        struct gguf_part part;
        snprintf(name, size, "%.*s-%05" PRIu32 "-of-%05" PRIu64 ".gguf", (int)length, path, i + 1, count);
        ok = gguf_read_part(name, i, gguf->file_bytes, gguf, &part, err);
        if (ok && (part.split_no != i || part.split_count != count))
            ok = fail(err, STATUS_INPUT,
                      "%s: split.no is %" PRIu64 " and split.count %" PRIu64 ": expected %" PRIu32 " and %" PRIu64,
                      name, part.split_no, part.split_count, i, count);
        if (ok)
            gguf->file_bytes += part.file_bytes;
    }
    free(name);
    return ok;
}

struct named {
    const char *name;
    size_t index;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sorts, and gives the later one of the first two that share a name, or SIZE_MAX. */
static size_t first_duplicate(struct named *names, size_t count)
{
    qsort(names, count, sizeof *names, compare_named);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            return names[i].index;
    return SIZE_MAX;
}

static int compare_offset(const void *left, const void *right)
{
    const struct gguf_tensor *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* What only all keys and tensors together show. Leaves the tensors in the order of their data. */
static bool check_all(const char *path, struct gguf *gguf, struct error *err)
{
    size_t count = gguf->value_count > gguf->tensor_count ? gguf->value_count : gguf->tensor_count;
    struct named *names = calloc(count + 1, sizeof *names);
    if (names == NULL)
        return fail(err, STATUS_IO, "out of memory: %zu names", count);
    for (size_t i = 0; i < gguf->value_count; i++)
        names[i] = (struct named){gguf_text(gguf, gguf->values[i].key), i};
    size_t twice = first_duplicate(names, gguf->value_count);
    if (twice != SIZE_MAX) {
        free(names);
        return fail(err, STATUS_INPUT, "%s: offset %" PRIu64 ": the key \"%s\" stands there a second time", path,
                    gguf->values[twice].position, gguf_text(gguf, gguf->values[twice].key));
    }
    for (size_t i = 0; i < gguf->tensor_count; i++)
        names[i] = (struct named){gguf_text(gguf, gguf->tensors[i].name), i};
    twice = first_duplicate(names, gguf->tensor_count);
    free(names);
    if (twice != SIZE_MAX)
        return fail(err, STATUS_INPUT, "%s: part %" PRIu32 ", offset %" PRIu64 ": a second tensor \"%s\"", path,
                    gguf->tensors[twice].part + 1, gguf->tensors[twice].position,
                    gguf_text(gguf, gguf->tensors[twice].name));
    if (gguf->tensor_count > 0)
        qsort(gguf->tensors, gguf->tensor_count, sizeof *gguf->tensors, compare_offset);
    for (size_t i = 1; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *a = &gguf->tensors[i - 1], *b = &gguf->tensors[i];
        if (a->offset + a->bytes > b->offset)
            return fail(err, STATUS_INPUT,
                        "%s: part %" PRIu32 ", offset %" PRIu64 ": tensor \"%s\" overlaps tensor \"%s\"", path,
                        b->part + 1, b->position, gguf_text(gguf, b->name), gguf_text(gguf, a->name));
    }
    const struct gguf_value *total = gguf_find(gguf, 0, "split.tensors.count");
    if (total != NULL && (total->kind != GGUF_NUMBER || total->number != gguf->tensor_count))
        return fail(err, STATUS_INPUT, "%s: offset %" PRIu64 ": split.tensors.count is not %zu, as found", path,
                    total->position, gguf->tensor_count);
    return true;
}

bool gguf_read(const char *path, struct gguf *gguf, struct error *err)
{
    struct gguf_part part;
    uint32_t number, count;
    *gguf = (struct gguf){0};
    if (!gguf_read_part(path, 0, 0, gguf, &part, err))
        return false;
    gguf->file_bytes = part.file_bytes;
    if (part.split_count > 1) {
        if (!part_name(path, &number, &count) || count != part.split_count || number != part.split_no + 1)
            return fail(err, STATUS_INPUT,
                        "%s: this is part %" PRIu64 " of %" PRIu64 ": expected a name that ends in -%05" PRIu64
                        "-of-%05" PRIu64 ".gguf",
                        path, part.split_no + 1, part.split_count, part.split_no + 1, part.split_count);
        gguf_free(gguf);
        if (!read_parts(path, count, gguf, err))
            return false;
    }
    return check_all(path, gguf, err);
}

/* ---- Blocks ---- */

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* What a tensor of a layer is for, by its name there. */
static enum model_part layer_part(const char *name)
{
    if (strstr(name, "norm") != NULL)
        return PART_NORMS;
    if (starts(name, "attn_"))
        return PART_ATTENTION;
    return starts(name, "ffn_") ? PART_FFN : PART_OTHER;
}

/* "blk.3.ffn_up_exps.weight" is a matrix of all experts, "blk.3.ffn_up.5.weight" that of one (files of early 2024). */
static void classify_layer(const char *rest, struct member *member)
{
    static const char *const single[] = {"ffn_gate.", "ffn_up.", "ffn_down."};
    member->section = SECTION_LAYERS;
    member->part = layer_part(rest);
    if (strstr(rest, "_exps.") != NULL)
        member->expert = EXPERT_STACKED;
    for (size_t i = 0; i < sizeof single / sizeof single[0] && member->expert == EXPERT_SHARED; i++) {
        const char *index = rest + strlen(single[i]);
        if (starts(rest, single[i]) && !tensor_index(&index, &member->expert))
            member->expert = EXPERT_SHARED;
    }
    if (member->expert != EXPERT_SHARED)
        member->part = PART_EXPERTS;
}

static void classify(const char *name, struct member *member)
{
    const char *rest = name + strlen("blk.");
    member->layer = -1;
    member->expert = EXPERT_SHARED;
    if (starts(name, "token_embd.")) {
        member->section = SECTION_EMBEDDING;
        member->part = PART_EMBEDDING;
    } else if (starts(name, "output_norm.")) {
        member->section = SECTION_NORM;
        member->part = PART_NORMS;
    } else if (starts(name, "output.")) {
        member->section = SECTION_OUTPUT;
        member->part = PART_OUTPUT;
    } else if (starts(name, "blk.") && tensor_index(&rest, &member->layer)) {
        classify_layer(rest, member);
    } else {
        member->section = SECTION_OTHER;
        member->part = PART_OTHER;
    }
}

static void describe(const struct gguf *gguf, const struct gguf_tensor *tensor, struct member *member)
{
    *member = (struct member){.name = gguf_text(gguf, tensor->name),
                              .file_part = tensor->part,
                              .position = tensor->position,
                              .type = tensor->type,
                              .offset = tensor->offset,
                              .bytes = tensor->bytes,
                              .elements = tensor->elements,
                              .rows = tensor->elements / tensor->dims[0]};
    classify(member->name, member);
    const bool stacked = member->expert == EXPERT_STACKED;
    member->is_matrix = tensor->dim_count >= (stacked ? 3 : 2);
    member->stacked = stacked ? tensor->dims[tensor->dim_count - 1] : 0;
}

/* What the tensors say of the shape. */
static void observe(const struct gguf *gguf, struct model *model, bool *tied)
{
    bool output = false, embedding = false, norm_bias = false, second_norm = false, double_up = false;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        const char *name = gguf_text(gguf, tensor->name);
        output |= strcmp(name, "output.weight") == 0;
        model->shape.gated |=
            starts(name, "blk.") && strstr(name, ".ffn_gate") != NULL && strstr(name, ".ffn_gate_inp") == NULL;
        model->shape.qk_norm |= starts(name, "blk.") && strstr(name, ".attn_q_norm.") != NULL;
        model->shape.attn_bias |= starts(name, "blk.") && strstr(name, ".attn_q.bias") != NULL;
        model->shape.fused_qkv |= starts(name, "blk.") && strstr(name, ".attn_qkv.weight") != NULL;
        model->shape.post_norms |= starts(name, "blk.") && strstr(name, ".post_ffw_norm.") != NULL;
        norm_bias |= starts(name, "blk.") && strstr(name, ".attn_norm.bias") != NULL;
        second_norm |= starts(name, "blk.") && strstr(name, ".ffn_norm.") != NULL;
        double_up |= starts(name, "blk.") && strstr(name, ".ffn_up.weight") != NULL && model->shape.ffn != 0 &&
                     tensor->elements / tensor->dims[0] == 2 * (uint64_t)model->shape.ffn;
        if (strcmp(name, "token_embd.weight") == 0) {
            embedding = true;
            if (model->shape.vocab == 0 && tensor->dim_count >= 2 && tensor->dims[1] <= SHAPE_MAX)
                model->shape.vocab = (uint32_t)tensor->dims[1];
        }
    }
    *tied = model->shape.tied = embedding && !output;
    model->shape.gated |= double_up;                   /* gate and up in one matrix */
    model->shape.parallel = norm_bias && !second_norm; /* as Phi-2's are */
}

static bool group(const struct gguf *gguf, struct model *model, struct error *err)
{
    const size_t count = gguf->tensor_count;
    bool tied;
    observe(gguf, model, &tied);
    struct member *members = calloc(count + 1, sizeof *members);
    if (members == NULL)
        return fail(err, STATUS_IO, "out of memory: %zu tensors", count);
    for (size_t i = 0; i < count; i++)
        describe(gguf, &gguf->tensors[i], &members[i]);
    const bool ok = tensor_blocks_add(members, count, tied, model, err);
    free(members);
    return ok;
}

bool model_from_gguf(const char *path, struct model *model, struct error *err)
{
    struct gguf gguf;
    char name[sizeof model->name];
    model_file_label(path, name, sizeof name);
    model_start(model, name, "");
    bool ok = gguf_read(path, &gguf, err) && gguf_metadata(path, &gguf, model, err);
    if (ok && !(group(&gguf, model, err) && (model->file_bytes = gguf.file_bytes, model_finish(model, err))))
        ok = fail_in(err, "%s", path);
    gguf_free(&gguf);
    if (!ok)
        model_free(model);
    return ok;
}
