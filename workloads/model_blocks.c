/* A model written out as a list of blocks: "256 x 1MiB", "embed:512MB layer1:768MB". */
#include "workloads/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { TOKEN_MAX = 127 };

/* Reads the next word into `word` and moves *text behind it; false at the end of the list or with err set. */
static bool next_word(const char **text, char word[TOKEN_MAX + 1], bool *end, struct error *err)
{
    static const char blanks[] = " \t\r\n";
    *text += strspn(*text, blanks);
    size_t length = strcspn(*text, blanks);
    *end = length == 0;
    if (*end)
        return true;
    if (length > TOKEN_MAX)
        return fail(err, STATUS_USAGE, "\"%.40s...\" has %zu characters: expected NAME:SIZE or COUNT x SIZE", *text,
                    length);
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return true;
}

/* A whole number below 2^31 behind a prefix; *end is where it stops. */
static bool number_after(const char *text, size_t prefix, int32_t *number, const char **end)
{
    const char *digit = text + prefix;
    int64_t value = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        value = value * 10 + (*digit - '0');
        if (value > INT32_MAX)
            return false;
    }
    *number = (int32_t)value;
    *end = digit;
    return digit > text + prefix;
}

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static enum block_kind kind_of(const char *name, int32_t *layer, int32_t *expert)
{
    const char *end;
    *layer = *expert = -1;
    if (starts(name, "expert") && number_after(name, strlen("expert"), layer, &end) && *end == '.' &&
        number_after(end, 1, expert, &end) && *end == '\0')
        return BLOCK_EXPERT;
    if ((starts(name, "layer") && number_after(name, strlen("layer"), layer, &end) && *end == '\0') ||
        (name[0] == 'l' && number_after(name, 1, layer, &end) && *end == '\0')) {
        *expert = -1;
        return BLOCK_LAYER;
    }
    *layer = *expert = -1;
    if (starts(name, "embed") || starts(name, "token_embd"))
        return BLOCK_EMBEDDING;
    if (starts(name, "norm") || starts(name, "output_norm"))
        return BLOCK_NORM;
    if (starts(name, "lm_head") || starts(name, "output") || strcmp(name, "head") == 0)
        return BLOCK_OUTPUT;
    return BLOCK_OTHER;
}

static bool size_of(const char *text, uint64_t *bytes, struct error *err)
{
    if (!parse_bytes(text, bytes, err))
        return false;
    if (*bytes == 0)
        return fail(err, STATUS_USAGE, "\"%s\": a block has at least 1 byte", text);
    return true;
}

/* Each block lies in the file right behind the one before. */
static bool append(struct model *model, const char *name, uint64_t bytes, uint64_t *offset, struct error *err)
{
    int32_t layer, expert;
    enum block_kind kind = kind_of(name, &layer, &expert);
    if (!model_add_block(model, name, kind, layer, expert, err) || !model_add_extent(model, *offset, bytes, err))
        return false;
    *offset += bytes;
    return true;
}

static bool append_named(struct model *model, char *word, uint64_t *offset, struct error *err)
{
    uint64_t bytes;
    char *colon = strchr(word, ':');
    if (colon == NULL)
        return fail(err, STATUS_USAGE,
                    "\"%s\": expected NAME:SIZE as in layer1:768MB, or COUNT x SIZE as in 256 x 1MiB", word);
    *colon = '\0';
    if (*word == '\0')
        return fail(err, STATUS_USAGE, "\":%s\": a block needs a name before its colon", colon + 1);
    if (!size_of(colon + 1, &bytes, err))
        return fail_in(err, "block %s", word);
    return append(model, word, bytes, offset, err);
}

static bool append_many(struct model *model, const char *count_text, const char *size_text, uint64_t *offset,
                        struct error *err)
{
    uint64_t count, bytes;
    if (!parse_count(count_text, 1, MODEL_BLOCKS_MAX, &count, err) || !size_of(size_text, &bytes, err))
        return fail_in(err, "%s x %s", count_text, size_text);
    for (uint64_t i = 0; i < count; i++) {
        char name[MODEL_BLOCK_NAME_MAX + 1];
        snprintf(name, sizeof name, "b%" PRIu32, model->block_count);
        if (!append(model, name, bytes, offset, err))
            return false;
    }
    return true;
}

static bool append_all(struct model *model, const char *text, struct error *err)
{
    uint64_t offset = 0;
    char word[TOKEN_MAX + 1], second[TOKEN_MAX + 1];
    for (;;) {
        bool end;
        if (!next_word(&text, word, &end, err))
            return false;
        if (end)
            return true;
        const char *ahead = text;
        if (!next_word(&ahead, second, &end, err))
            return false;
        if (end || strcmp(second, "x") != 0) {
            if (!append_named(model, word, &offset, err))
                return false;
            continue;
        }
        text = ahead;
        if (!next_word(&text, second, &end, err))
            return false;
        if (end)
            return fail(err, STATUS_USAGE, "\"%s x\": expected a size behind the x, as in 256 x 1MiB", word);
        if (!append_many(model, word, second, &offset, err))
            return false;
    }
}

bool model_from_blocks(const char *name, const char *blocks, struct model *model, struct error *err)
{
    model_start(model, name != NULL && *name != '\0' ? name : "blocks", "");
    if (append_all(model, blocks, err) && model_finish(model, err))
        return true;
    model_free(model);
    err->code = err->code == STATUS_INPUT ? STATUS_USAGE : err->code; /* the list is part of a config */
    return fail_in(err, "blocks");
}
