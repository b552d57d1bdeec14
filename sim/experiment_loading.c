/* What [loader] and [device] say of the way from the file to the first token: stages, the start-up set, file system. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "sim/experiment_parts.h"
#include "sim/option_tables.h"

static const char *const stage_names[] = {"alloc", "parse", "checksum", "copy", "repack"};
enum { STAGE_NAMES = sizeof stage_names / sizeof *stage_names, FIRST_LAYERS_MAX = 1 << 24, TEXT_BYTES = 512 };

/* Writes the text as it is told of a run, so that equal values have equal keys. */
static bool keep_text(const struct selection *selection, const char *text, const char **out, struct error *err)
{
    *out = arena_strdup(selection->experiment->arena, text);
    return *out || fail(err, STATUS_IO, "out of memory");
}

/* ---- Stages ---- */

static bool add_stage(const char *name, size_t length, uint32_t *stages, char *why, size_t size)
{
    char word[32], near[256];
    if (length >= sizeof word)
        length = sizeof word - 1;
    memcpy(word, name, length);
    word[length] = '\0';
    for (uint32_t i = 0; i < STAGE_NAMES; i++) {
        if (strcmp(word, stage_names[i]) != 0)
            continue;
        if (!(*stages & 1u << i)) {
            *stages |= 1u << i;
            return true;
        }
        snprintf(why, size, "%s is there twice; expected each stage once", word);
        return false;
    }
    snprintf(why, size, "unknown stage \"%s\"%s", word,
             suggest_text(word, stage_names, STAGE_NAMES, near, sizeof near));
    return false;
}

static bool finish_stages(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct loader *loader = &config->loader;
    char text[TEXT_BYTES] = "";
    _Static_assert(STAGE_ALLOC == 1 && STAGE_REPACK == 1 << (STAGE_NAMES - 1), "bits in the order of the names");
    for (const char *at = config->stages; strcmp(config->stages, "none") != 0; at++) {
        const size_t length = strcspn(at, "+");
        if (!add_stage(at, length, &loader->stages, text, sizeof text))
            return fail_at(selection, "loader", "stages", err, text);
        at += length;
        if (*at == '\0')
            break;
    }
    if (loader->mode == LOADER_MMAP)
        loader->stages &= STAGE_PARSE; /* its pages are used as they lie in the file */
    if (!(loader->stages & ~(uint32_t)STAGE_PARSE))
        loader->loader_threads = 0; /* nothing to do for them */
    size_t used = 0;
    for (uint32_t i = 0; i < STAGE_NAMES; i++) {
        if (loader->stages & 1u << i)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "+" : "", stage_names[i]);
    }
    return keep_text(selection, used > 0 ? text : "none", &config->stages, err);
}

/* ---- The start-up set ---- */

/* first_chunk, and first_layers or first_bytes. */
static bool read_first_chunk(const char *text, struct loader *loader, struct error *err)
{
    static const char layers_word[] = "embedding+";
    struct error why;
    uint64_t layers;
    loader->first_chunk = FIRST_ALL;
    if (strcmp(text, "all") == 0)
        return true;
    if (strncmp(text, layers_word, sizeof layers_word - 1) == 0) {
        if (!parse_count(text + sizeof layers_word - 1, 0, FIRST_LAYERS_MAX, &layers, &why))
            return fail(err, STATUS_USAGE, "\"%.64s\": %.300s; expected the number of layers: embedding+2", text,
                        why.text);
        loader->first_chunk = FIRST_LAYERS;
        loader->first_layers = (uint32_t)layers;
        return true;
    }
    if (!parse_bytes(text, &loader->first_bytes, &why))
        return fail(err, STATUS_USAGE,
                    "\"%.64s\" is neither all nor embedding+LAYERS nor a size; expected embedding+2 or 256MiB", text);
    loader->first_chunk = FIRST_BYTES;
    return true;
}

bool first_chunk_check(const char *text, struct error *err)
{
    struct loader loader = {0};
    return read_first_chunk(text, &loader, err);
}

static bool finish_first_chunk(const struct selection *selection, struct run_config *config, struct error *err)
{
    const struct loader *loader = &config->loader;
    char text[TEXT_BYTES] = "all";
    must(read_first_chunk(config->first_chunk, &config->loader, err)); /* checked when it was read */
    if (loader->first_chunk == FIRST_LAYERS)
        snprintf(text, sizeof text, "embedding+%u", loader->first_layers);
    else if (loader->first_chunk == FIRST_BYTES)
        snprintf(text, sizeof text, "%lluB", (unsigned long long)loader->first_bytes);
    return keep_text(selection, text, &config->first_chunk, err);
}

static const char blocks_word[] = "blocks:";

static bool read_preload(const char *text, enum preload *preload, struct error *err)
{
    static const char *const words[] = {"none", "all", "dense"};
    const size_t length = sizeof blocks_word - 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        *preload = (enum preload)i;
        return true;
    }
    *preload = PRELOAD_BLOCKS;
    if (strncmp(text, blocks_word, length) == 0 && text[length] != '\0')
        return text[length + strspn(text + length, ";")] != '\0' ||
               fail(err, STATUS_USAGE, "\"%.64s\" names no block; expected blocks:NAME;NAME", text);
    const char *nearest = suggest(text, words, sizeof words / sizeof *words);
    char near[256];
    snprintf(near, sizeof near, nearest ? ": did you mean %s?" : "; expected none, all, dense or blocks:NAME;NAME",
             nearest);
    return fail(err, STATUS_USAGE, "unknown value \"%.64s\"%s", text, near);
}

bool preload_check(const char *text, struct error *err)
{
    enum preload preload;
    return read_preload(text, &preload, err);
}

bool finish_loading(const struct selection *selection, struct run_config *config, struct error *err)
{
    return finish_stages(selection, config, err) && finish_first_chunk(selection, config, err) &&
           read_preload(config->preload, &config->loader.preload, err);
}

/* The nearest names of blocks, for a name that is none. */
static bool fail_block(const struct model *model, const char *name, struct arena *arena, struct error *err)
{
    const char **names = arena_alloc(arena, model->block_count, sizeof *names);
    char near[512];
    if (!names)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t b = 0; b < model->block_count; b++)
        names[b] = model_block_name(model, b);
    return fail(err, STATUS_USAGE, "loader.preload: unknown block \"%.64s\"%s", name,
                suggest_text(name, names, model->block_count, near, sizeof near));
}

bool preload_bind(const struct run_config *config, const struct model *model, struct arena *arena,
                  struct loader *loader, struct error *err)
{
    if (loader->preload != PRELOAD_BLOCKS)
        return true;
    char *list = arena_strdup(arena, config->preload + sizeof blocks_word - 1), *rest = list, *name;
    block_id *blocks = arena_alloc(arena, model->block_count, sizeof *blocks);
    bool *named = arena_alloc(arena, model->block_count, sizeof *named);
    if (!list || !blocks || !named)
        return fail(err, STATUS_IO, "out of memory");
    loader->preload_count = 0;
    while ((name = strtok_r(rest, "; ", &rest)) != NULL) {
        const block_id b = model_find(model, name);
        if (b == BLOCK_NONE)
            return fail_block(model, name, arena, err);
        if (!named[b])
            blocks[loader->preload_count++] = b;
        named[b] = true;
    }
    must(loader->preload_count > 0); /* the text names one */
    loader->preload_blocks = blocks;
    return true;
}

/* ---- The file system ---- */

/* What it adds to a read, and to a fault that reads. Estimates; docs/models.md section 3 has what is known. */
static const struct {
    int64_t read_ns, fault_ns;
} file_systems[] = {
    [FS_NONE] = {0, 0},
    [FS_EXT4] = {2000, 1000},
    [FS_F2FS] = {3000, 1500},
    [FS_FUSE] = {25000, 15000},
};

void finish_file_system(struct device *device)
{
    if (device->fs_read_ns < 0)
        device->fs_read_ns = file_systems[device->fs].read_ns;
    if (device->fs_fault_ns < 0)
        device->fs_fault_ns = file_systems[device->fs].fault_ns;
}

/* ---- Notes ---- */

size_t note_loading(const struct run_config *config, char *out, size_t size)
{
    const struct loader *loader = &config->loader;
    char align[UNITS_TEXT];
    if (loader->mode == LOADER_MMAP || loader->warm_ppm == 0 || loader->align_bytes == 1)
        return 0;
    const int length = snprintf(out, size,
                                "loader.warm has no effect: loader.align = %s is direct I/O, which passes the page "
                                "cache by\n",
                                print_bytes(loader->align_bytes, align));
    return (size_t)length < size ? (size_t)length : size - 1;
}
