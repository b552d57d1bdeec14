/* Experts streamed from flash: direct reads through one LRU cache over all experts of all layers.
 *
 * What is not an expert is pinned; a layer's missing experts are read whole, a read for each matrix, at multiples of
 * 4 KiB (O_DIRECT). A lane that has read copies what it read out of its own buffer before its next read, with a cache
 * into memory that it touches first (core/src/moe/expert_stream_source.cpp of BigMoeOnEdge, read_slice and vm_evict):
 * here the rate of one read is that much lower. The computing time of a token is the measured one. Which experts a text
 * chooses is not in the table: where there is a cache, the choice is made as repetitive as the measured hit rate says
 * (workload.sticky, or for lower rates workload.zipf), so the hit rate is an input and the speed follows from it.
 *
 * With overlap, a layer's reads begin when its router has chosen, behind the layer's first part (load_layer_async of
 * the same file), and go on beside the experts' computing alone: two steps a layer, validate_split.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "results/validate_parts.h"

enum {
    MODEL,
    TOP_K,
    CACHE_MIB,
    LANES,
    OVERLAP,
    TOK_PER_S,
    MB_PER_TOKEN,
    IO_MS,
    COMPUTE_MS,
    HIT_PERCENT,
    DEVICE,
    SOURCE
};

static const struct truth_column columns[] = {
    [MODEL] = {"model", TRUTH_TEXT, 0, 0},
    [TOP_K] = {"top_k", TRUTH_COUNT, 0, 4096},
    [CACHE_MIB] = {"cache_mib", TRUTH_COUNT, 0, 1 << 24},
    [LANES] = {"lanes", TRUTH_COUNT, 0, FLASH_QUEUE_MAX},
    [OVERLAP] = {"overlap", TRUTH_TEXT, 0, 0},
    [TOK_PER_S] = {"tok_per_s", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [MB_PER_TOKEN] = {"mb_per_token", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
    [IO_MS] = {"io_ms_per_token", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [COMPUTE_MS] = {"compute_ms_per_token", TRUTH_NUMBER, 0, 1e6},
    [HIT_PERCENT] = {"hit_percent", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 100},
    [DEVICE] = {"device", TRUTH_TEXT, TRUTH_MAY_BE_MISSING, 0},
    [SOURCE] = {"source", TRUTH_TEXT, TRUTH_MAY_BE_MISSING, 0},
};

enum {
    TOKENS = 256, /* decoded, as in the measurements that we know; one before them is the prompt */
    PPM = 1000000,
    ZIPF_PPM = 800000, /* how uneven experts are chosen over a whole text; hit rates below change it */
    SEARCH_STEPS = 12,
    REACHED_PERCENT = 1, /* of look-ups, between the rate that is wanted and the one that is found */
    CONFIG_BYTES = 2048,
};

/* What a row gives. */
struct setup {
    const char *device, *model, *quant, *overlap;
    double compute_ns, stream_bps;
    double experts_share; /* of the bytes that a token reads of the weights */
    double experts_ns;    /* with overlap: computing time of a token's experts */
    uint64_t kept_bytes, cache_bytes;
    unsigned top_k, lanes;
};

struct measured {
    double tokens_per_s, bytes_per_token, stall_ns, hit_percent;
};

static void write_config(const struct setup *setup, uint32_t sticky_ppm, uint32_t zipf_ppm, char text[CONFIG_BYTES])
{
    char sticky[UNITS_TEXT], zipf[UNITS_TEXT];
    snprintf(text, CONFIG_BYTES,
             "[device]\nprofile = %s\nflash_stream = %.0fB/s\n"
             "[model]\nprofile = %s\nquant = %s\n"
             "[workload]\nkind = moe\nprompt_tokens = 1\nprompt_compute = 0s\noutput_tokens = %d\ntop_k = %u\n"
             "zipf = %s\nsticky = %s\ncompute_per_token = %.0fns\n"
             "[loader]\nbudget = %lluB\nlanes = %u\nalign = 4KiB\nread_size = whole\noverlap = %s\n"
             "evict_when = after_step\n"
             "[policy]\nevict = lru\npin = kinds(embedding,norm,layer,output)\n",
             setup->device, setup->stream_bps, setup->model, setup->quant, TOKENS + 1, setup->top_k,
             print_decimal(zipf_ppm, zipf), print_decimal(sticky_ppm, sticky), setup->compute_ns,
             (unsigned long long)(setup->kept_bytes + setup->cache_bytes), setup->lanes, setup->overlap);
}

/* What stays in memory whatever the cache holds; and what of a decoded token's weights are its experts'. */
static bool look_at_model(const struct validating *validating, struct setup *setup, struct error *err)
{
    struct truth_run run;
    char text[CONFIG_BYTES];
    double experts = 0, rest = 0;
    struct setup least = *setup; /* a cache that the phone has no room for is a run that fails, no unknown model */
    least.kept_bytes = 1;
    least.cache_bytes = 0;
    write_config(&least, 0, ZIPF_PPM, text);
    const bool good = truth_prepare(validating, text, &run, err);
    const struct model *model = &run.prepared.model;
    setup->kept_bytes = 0;
    for (block_id b = 0; good && b < model->block_count; b++)
        if (model->blocks[b].kind == BLOCK_EXPERT) {
            experts += (double)model->blocks[b].bytes * setup->top_k / model->shape.experts;
        } else {
            setup->kept_bytes += model->blocks[b].bytes;
            rest += (double)model->blocks[b].compute_bytes;
        }
    setup->experts_share = good ? experts / (experts + rest) : 0;
    truth_run_free(&run);
    return good;
}

/* Decoded tokens only, as measured. What is no expert is pinned: its accesses are hits, and left out. */
static bool measure(const struct validating *validating, const struct setup *setup, uint32_t sticky_ppm,
                    uint32_t zipf_ppm, struct measured *measured, struct error *err)
{
    struct truth_run run;
    char text[CONFIG_BYTES];
    write_config(setup, sticky_ppm, zipf_ppm, text);
    const struct truth_split split = {.experts_ns = (int64_t)setup->experts_ns,
                                      .rest_ns = (int64_t)(setup->compute_ns - setup->experts_ns)};
    if (!truth_simulate(validating, text, NULL, setup->experts_ns > 0 ? &split : NULL, &run, err)) {
        truth_run_free(&run);
        return false;
    }
    const uint64_t experts = (uint64_t)run.prepared.model.shape.layers * setup->top_k;
    uint64_t hits = 0, bytes = 0, tokens = 0;
    int64_t time = 0, stall = 0;
    for (uint64_t t = 0; t < run.result.token_count; t++) {
        const struct token_numbers *token = &run.result.tokens[t];
        if (token->phase != PHASE_DECODE)
            continue;
        hits += token->hits - (token->accesses - experts);
        bytes += token->bytes_read;
        time += token->latency_ns;
        stall += token->stall_ns;
        tokens++;
    }
    truth_run_free(&run);
    *measured = (struct measured){.tokens_per_s = (double)tokens * 1e9 / (double)time,
                                  .bytes_per_token = (double)bytes / (double)tokens,
                                  .stall_ns = (double)stall / (double)tokens,
                                  .hit_percent = 100.0 * (double)hits / (double)(tokens * experts)};
    return true;
}

/* Sets the choice of experts to a hit rate: by stickiness, and where none is too much of it, by less uneven experts. */
static bool search(const struct validating *validating, const struct setup *setup, double hit_percent,
                   struct measured *best, char note[160], struct error *err)
{
    if (!measure(validating, setup, 0, ZIPF_PPM, best, err))
        return false;
    const bool by_sticky = best->hit_percent < hit_percent;
    uint32_t low = 0, high = by_sticky ? PPM : ZIPF_PPM, chosen = by_sticky ? 0 : ZIPF_PPM;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        const uint32_t middle = low + (high - low) / 2;
        struct measured tried;
        if (!measure(validating, setup, by_sticky ? middle : 0, by_sticky ? ZIPF_PPM : middle, &tried, err))
            return false;
        if (fabs(tried.hit_percent - hit_percent) < fabs(best->hit_percent - hit_percent)) {
            *best = tried;
            chosen = middle;
        }
        if (tried.hit_percent < hit_percent)
            low = middle;
        else
            high = middle;
    }
    char text[UNITS_TEXT];
    snprintf(note, 160, "%s: %s = %s",
             fabs(best->hit_percent - hit_percent) <= REACHED_PERCENT
                 ? "choice of experts set to the measured hit rate"
                 : "no choice of experts has the measured hit rate; the nearest",
             by_sticky ? "sticky" : "zipf", print_decimal(chosen, text));
    return true;
}

static bool add_rows(const struct truth_place *place, const struct setup *setup, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    const double hits = cells[HIT_PERCENT].number, none = (double)NAN;
    const bool serial = strcmp(setup->overlap, "none") == 0, cached = setup->cache_bytes > 0;
    struct measured measured;
    char note[160] = "";
    struct error reason;
    const bool set = cached && !isnan(hits);
    if (set ? !search(place->validating, setup, hits, &measured, note, &reason)
            : !measure(place->validating, setup, 0, ZIPF_PPM, &measured, &reason))
        return truth_failed(place, "tokens_per_s", cells[TOK_PER_S].number, reason.text, err);
    if (cached && !set)
        snprintf(note, sizeof note, "no measured hit rate: experts chosen by zipf = 0.8 alone");
    if (!serial)
        snprintf(note + strlen(note), sizeof note - strlen(note), "%sexperts compute %.1f ms of a token",
                 note[0] != '\0' ? "; " : "", setup->experts_ns / 1e6);
    return truth_add(place, "tokens_per_s", cells[TOK_PER_S].number, measured.tokens_per_s, 10, note, err) &&
           truth_add(place, "bytes_read_per_token", cells[MB_PER_TOKEN].number * 1e6, measured.bytes_per_token,
                     cached ? none : 1, note, err) &&
           truth_add(place, "hit_percent", hits, measured.hit_percent, cached ? none : 0, set ? "an input" : note,
                     err) &&
           (!serial ||
            truth_add(place, "read_wait_ns_per_token", cells[IO_MS].number * 1e6, measured.stall_ns, none, note, err));
}

/* The computing time of that model with that many experts where least is mixed into it: the smallest of the file. With
 * overlap, waits for pages and processors count as computing (412 ms a token, where 123 ms are measured without). */
static double least_compute_ns(const struct truth_file *file, const struct truth_cell *cells)
{
    double least = cells[COMPUTE_MS].number;
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *other = file->rows[i].cells;
        if (strcmp(other[MODEL].text, cells[MODEL].text) == 0 && other[TOP_K].number == cells[TOP_K].number &&
            strcmp(other[DEVICE].text, cells[DEVICE].text) == 0 && other[COMPUTE_MS].number < least)
            least = other[COMPUTE_MS].number;
    }
    return least * 1e6;
}

static bool compare_row(struct truth_place *place, struct error *err)
{
    struct validating *validating = place->validating;
    const struct truth_cell *cells = place->row->cells;
    char subject[240], why[200];
    enum quant quant = QUANTS;
    const char *device = truth_device_of(validating, place->file, cells[DEVICE].text, why, sizeof why);
    snprintf(subject, sizeof subject, "%.40s, %.60s, top %.0f, cache %.0f MiB, lanes %.0f, overlap %.10s",
             device != NULL ? device : "?", cells[MODEL].text, cells[TOP_K].number, cells[CACHE_MIB].number,
             cells[LANES].number, cells[OVERLAP].text);
    place->subject = subject;
    const char *model =
        device != NULL ? truth_model_named(validating, cells[MODEL].text, &quant, why, sizeof why) : NULL;
    if (model == NULL)
        return truth_skip(place, why, err);
    const bool no = strcmp(cells[OVERLAP].text, "no") == 0;
    if (!no && strcmp(cells[OVERLAP].text, "yes") != 0)
        return fail(err, STATUS_INPUT, "%s:%u: column overlap: \"%.40s\"; expected yes or no", place->file->name,
                    place->row->line, cells[OVERLAP].text);
    if (cells[TOP_K].number < 1 || cells[LANES].number < 1)
        return truth_skip(place, "no experts or no lanes", err);
    struct setup setup = {.device = device,
                          .model = model,
                          .quant = quant_names[quant],
                          .overlap = no ? "none" : "blocks",
                          .compute_ns = round(cells[COMPUTE_MS].number * 1e6),
                          .cache_bytes = (uint64_t)cells[CACHE_MIB].number << 20,
                          .top_k = (unsigned)cells[TOP_K].number,
                          .lanes = (unsigned)cells[LANES].number};
    struct error reason;
    struct device profile;
    if (!profile_read_device(device, validating->options->profile_dirs, &profile, err))
        return false;
    setup.stream_bps = floor(1 / (1 / (double)profile.flash.stream_bps + 1 / (double)profile.copy_bps +
                                  (setup.cache_bytes > 0 ? 1 / (double)profile.alloc_bps : 0)));
    if (!look_at_model(validating, &setup, &reason))
        return truth_skip(place, reason.text, err);
    if (!no)
        setup.experts_ns = floor(setup.experts_share * least_compute_ns(place->file, cells));
    return add_rows(place, &setup, err);
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    for (size_t i = 0; i < file->row_count; i++) {
        struct truth_place place = {validating, file, &file->rows[i], NULL};
        if (!compare_row(&place, err))
            return false;
    }
    return true;
}

const struct truth_family truth_streaming = {
    .name = "streaming", .prefix = "moe-streaming-", TRUTH_COLUMN_LIST(columns), .compare = compare};
