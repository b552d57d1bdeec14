/* Models of blocks that are known by number or by key alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "workloads/model.h"

bool model_numbered(struct model *model, const char *name, struct policy_block *policy_blocks, uint64_t *keys,
                    char *names, uint32_t count, struct error *err)
{
    must(count > 0);
    model_start(model, name, "");
    model->policy_blocks = policy_blocks;
    model->keys = keys;
    model->names = names;
    model->block_count = count;
    for (uint32_t b = 0; b < count; b++)
        if (!add(model->weights_bytes, policy_blocks[b].bytes, &model->weights_bytes) ||
            model->weights_bytes > INT64_MAX)
            return fail(err, STATUS_INPUT, "the blocks together have more than 2^63 bytes");
    model->file_bytes = model->weights_bytes;
    return true;
}

const char *model_write_name(const struct model *model, block_id b, char text[MODEL_NUMBER_TEXT])
{
    must(b < model->block_count);
    if (model->names != NULL)
        return model_block_name(model, b);
    snprintf(text, MODEL_NUMBER_TEXT, "%" PRIu64, model->keys[b]);
    return text;
}

block_id model_numbered_find(const struct model *model, const char *name)
{
    if (model->names != NULL) {
        for (uint32_t b = 0; b < model->block_count; b++)
            if (strcmp(model->names + model->keys[b], name) == 0)
                return b;
        return BLOCK_NONE;
    }
    uint64_t number = 0;
    for (const char *c = name; *c != '\0'; c++)
        if (*c < '0' || *c > '9' || !multiply(number, 10, &number) || !add(number, (uint64_t)(*c - '0'), &number))
            return BLOCK_NONE;
    for (uint32_t b = 0; b < model->block_count && *name != '\0'; b++)
        if (model->keys[b] == number)
            return b;
    return BLOCK_NONE;
}
