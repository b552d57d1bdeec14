/* Block names in a policy's parameters to ids of a model. */
#include "policies/registry.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *a, const void *b)
{
    block_id left = *(const block_id *)a, right = *(const block_id *)b;
    return (left > right) - (left < right);
}

bool policy_bind(const struct policy_part *part, block_id (*find)(const void *model, const char *name),
                 const void *model, block_id *out, uint32_t *count, struct error *err)
{
    must(part->name_count <= POLICY_BLOCK_NAMES_MAX);
    const char *name = part->names;
    for (uint32_t i = 0; i < part->name_count; i++, name += strlen(name) + 1) {
        out[i] = find(model, name);
        if (out[i] == BLOCK_NONE)
            return fail(err, STATUS_USAGE, "policy %s: the model has no block \"%s\"", part->policy->name, name);
    }
    qsort(out, part->name_count, sizeof *out, compare_ids);
    *count = 0;
    for (uint32_t i = 0; i < part->name_count; i++)
        if (*count == 0 || out[*count - 1] != out[i])
            out[(*count)++] = out[i];
    return true;
}
