/* The workload written in the config: "embed layer1 layer2", block names or ids, each a step, all one token. */
#include <string.h>

#include "workloads/reader.h"

bool sequence_read(struct reading *reading, const char *text, struct error *err)
{
    static const char blanks[] = " \t\r\n";
    const struct model *model = reading->input->model;
    if (model == NULL)
        return fail(err, STATUS_USAGE, "expected a [model] that has the blocks of the sequence");
    if (!reader_open_unmarked(reading, err))
        return false;
    reading->has_bytes = true;
    for (text += strspn(text, blanks); *text != '\0'; text += strspn(text, blanks)) {
        char name[MODEL_BLOCK_NAME_MAX + 1];
        const size_t length = strcspn(text, blanks);
        if (length >= sizeof name)
            return fail(err, STATUS_USAGE, "\"%.40s...\" is longer than any block's name", text);
        memcpy(name, text, length);
        name[length] = '\0';
        const block_id block = model_find(model, name);
        if (block == BLOCK_NONE)
            return reader_unknown_block(model, name, STATUS_USAGE, err);
        if (!trace_add_step(reading->builder, 0, err) ||
            !trace_add_use(reading->builder, block,
                           foresee_flag(reading->input->spec->foresee, model->blocks[block].kind), err))
            return false;
        text += length;
    }
    return reading->builder->trace->use_count > 0 ||
           fail(err, STATUS_USAGE, "the sequence names no block; expected names such as \"embed layer1 layer2\"");
}
