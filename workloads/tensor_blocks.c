/* Tensors grouped into blocks by layer and expert. */
#include "workloads/tensor_blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool tensor_index(const char **text, int32_t *index)
{
    int32_t value = 0;
    const char *digit = *text;
    for (; *digit >= '0' && *digit <= '9' && digit - *text < 9; digit++)
        value = value * 10 + (*digit - '0');
    if (digit == *text || *digit != '.')
        return false;
    *index = value;
    *text = digit + 1;
    return true;
}

/* A total order, as no two tensors with bytes begin at one place; those without bytes add nothing. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->expert != b->expert)
        return a->expert < b->expert ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool same_block(const struct member *a, const struct member *b)
{
    return a->section == b->section && a->layer == b->layer && a->expert == b->expert;
}

/* In a block that nothing is known about not for all we know. */
static bool multiplies(const struct member *member, bool tied)
{
    if (member->section == SECTION_OTHER || (member->section == SECTION_EMBEDDING && !tied))
        return false;
    return member->is_matrix;
}

static bool add_whole(const struct member *members, size_t count, bool tied, struct model *model, struct error *err)
{
    static const enum block_kind kinds[] = {BLOCK_EMBEDDING, BLOCK_LAYER, BLOCK_NORM, BLOCK_OUTPUT, BLOCK_OTHER};
    static const char *const names[] = {"token_embd", "layer", "output_norm", "output", "other"};
    enum section section = members->section;
    enum block_kind kind = members->expert == EXPERT_SHARED ? kinds[section] : BLOCK_EXPERT;
    char name[MODEL_BLOCK_NAME_MAX + 1];
    if (kind == BLOCK_EXPERT)
        snprintf(name, sizeof name, "expert%" PRId32 ".%" PRId32, members->layer, members->expert);
    else if (kind == BLOCK_LAYER)
        snprintf(name, sizeof name, "layer%" PRId32, members->layer);
    else
        snprintf(name, sizeof name, "%s", names[section]);
    if (!model_add_block(model, name, kind, members->layer, members->expert, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        if (!model_add_extent(model, member->offset, member->bytes, err) ||
            !model_add_part(model, member->part, member->bytes, err) ||
            (multiplies(member, tied) && !model_add_matter(model, member->type, member->elements, err)))
            return false;
        /* One row for the one token that is looked up. */
        if (section == SECTION_EMBEDDING && !tied && member->rows != 0)
            model->blocks[model->block_count - 1].compute_bytes += member->bytes / member->rows;
    }
    return true;
}

/* Expert e is slice e of each of the layer's stacked tensors. */
static bool add_stacked(const struct member *members, size_t count, struct model *model, struct error *err)
{
    uint64_t experts = members->stacked;
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        if (member->stacked != experts || experts == 0 || member->bytes % experts != 0)
            return fail(err, STATUS_INPUT,
                        "part %" PRIu32 ", offset %" PRIu64 ": tensor \"%s\" holds %" PRIu64 " experts in %" PRIu64
                        " bytes: expected %" PRIu64 " of equal size, as in \"%s\"",
                        member->file_part + 1, member->position, member->name, member->stacked, member->bytes, experts,
                        members->name);
    }
    for (uint64_t e = 0; e < experts; e++) {
        char name[MODEL_BLOCK_NAME_MAX + 1];
        snprintf(name, sizeof name, "expert%" PRId32 ".%" PRIu64, members->layer, e);
        if (!model_add_block(model, name, BLOCK_EXPERT, members->layer, (int32_t)e, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            const struct member *member = &members[i];
            uint64_t bytes = member->bytes / experts;
            if (!model_add_extent(model, member->offset + e * bytes, bytes, err) ||
                !model_add_part(model, member->part, bytes, err) ||
                (member->is_matrix && !model_add_matter(model, member->type, member->elements / experts, err)))
                return false;
        }
    }
    if (experts > model->shape.experts)
        model->shape.experts = (uint32_t)experts; /* at most MODEL_BLOCKS_MAX, or there were too many blocks */
    return true;
}

bool tensor_blocks_add(struct member *members, size_t count, bool tied, struct model *model, struct error *err)
{
    if (count > 0)
        qsort(members, count, sizeof *members, compare_members);
    bool ok = true;
    for (size_t first = 0, next; first < count && ok; first = next) {
        for (next = first + 1; next < count && same_block(&members[first], &members[next]);)
            next++;
        ok = members[first].expert == EXPERT_STACKED ? add_stacked(&members[first], next - first, model, err)
                                                     : add_whole(&members[first], next - first, tied, model, err);
    }
    return ok;
}
