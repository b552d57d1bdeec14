/* Models that lie in RAM: what they take there, and how fast they decode.
 *
 * Two questions to the simulator. With the phone's profile: tokens a second, of prompt and answer. Without any: from
 * the other models of the same quantisation on the same phone, the rate at which weights of that quantisation are read
 * is found (memory only, arithmetic mean), and with it this model's tokens a second follow.
 *
 * Assumed, as the table does not say: a KV cache of 2048 tokens in f16; a prompt of 256 tokens; 64 decoded tokens
 * behind an empty context (the benchmark of llama.rn, which PocketPal runs, clears its cache in between); files
 * quantised with an importance matrix; a batch of 512 tokens with flash attention. An output matrix beside a tied
 * embedding: see copy_of. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "results/validate_parts.h"
#include "workloads/compute_buffer.h"
#include "workloads/kv.h"

enum {
    DEVICE,
    SOC,
    MODEL,
    QUANT,
    BACKEND,
    THREADS,
    PP_TOK_S,
    TG_TOK_S,
    WEIGHTS_MIB,
    KV_MIB,
    COMPUTE_MIB,
    PEAK_MB,
    WALL_MS,
    SOURCE
};

static const struct truth_column columns[] = {
    [DEVICE] = {"device", TRUTH_TEXT, 0, 0},
    [SOC] = {"soc", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY, 0},
    [MODEL] = {"model", TRUTH_TEXT, 0, 0},
    [QUANT] = {"quant", TRUTH_TEXT, 0, 0},
    [BACKEND] = {"backend", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY, 0},
    [THREADS] = {"threads", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, 1024},
    [PP_TOK_S] = {"pp_tok_s", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [TG_TOK_S] = {"tg_tok_s", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [WEIGHTS_MIB] = {"weights_mib", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
    [KV_MIB] = {"kv_mib", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
    [COMPUTE_MIB] = {"compute_mib", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
    [PEAK_MB] = {"peak_device_mb", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e9},
    [WALL_MS] = {"wall_ms", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e12},
    [SOURCE] = {"source", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY | TRUTH_MAY_BE_MISSING, 0},
};

enum { CONTEXT = 2048, PROMPT = 256, ANSWER = 64, CONFIG_BYTES = 1024, BASE_RATE = 10, BATCH = 512 };
#define MIB_BYTES 1048576.0

/* A row's model, and what the simulator says of it; times NAN where there is none. */
struct subject {
    const char *model, *device; /* NULL: not known, `why` */
    enum quant quant;
    bool tied; /* one matrix for embedding and output */
    bool experts;
    char why[160], text[160];
    const char *note; /* on the row's quantisation, or "" */
    double weights_bytes, kv_bytes, compute_bytes;
    double base_ns; /* a decoded token where everything is read at BASE_RATE GB/s and computing takes no time */
    double prompt_per_s, decode_per_s;
    struct error error; /* why the simulator says nothing */
};

/* Where a model whose embedding is its output too has an output matrix nevertheless: bartowski's files of Qwen3 1.7B
 * hold one (311 tensors, the others' 310); of other files the runtime makes a copy in memory, in the layout that its
 * products want (buffers CPU and CPU_REPACK of its log). Matters for tied models only. */
static const char *copy_of(const struct subject *subject)
{
    return !subject->tied ? "no" : strcmp(subject->model, "qwen3-1.7b") == 0 ? "file" : "memory";
}

/* The row's quantisation. What PocketPal's table calls iq1_s has the size of iq2_m to the byte, of each model that has
 * one, and is a quarter larger than iq1_s: taken as a wrong label. */
static bool quant_of(const struct truth_cell *cells, struct subject *subject)
{
    const bool wrong = strcasecmp(cells[QUANT].text, "iq1_s") == 0;
    subject->note = wrong ? "iq1_s taken as iq2_m, whose size it has" : "";
    return truth_quant_named(wrong ? "iq2_m" : cells[QUANT].text, &subject->quant, subject->why, sizeof subject->why);
}

static bool simulate(const struct validating *validating, const struct subject *subject, const char *device, int prompt,
                     int answer, struct truth_run *run, struct error *err)
{
    char config[CONFIG_BYTES];
    snprintf(config, sizeof config,
             "[device]\n%s\nkill = none\n[model]\nprofile = %s\nquant = %s\nimatrix = yes\noutput_copy = %s\n"
             "[workload]\nkind = %s\nprompt_tokens = %d\noutput_tokens = %d\n[loader]\nmode = read\n",
             device, subject->model, quant_names[subject->quant], copy_of(subject), subject->experts ? "moe" : "dense",
             prompt, answer + 1);
    return truth_simulate(validating, config, NULL, NULL, run, err);
}

/* Speed on the phone's own profile: of decoding, and of a prompt. */
static bool run_device(const struct validating *validating, struct subject *subject)
{
    struct truth_run run;
    char device[200];
    snprintf(device, sizeof device, "profile = %s", subject->device);
    bool good = simulate(validating, subject, device, 1, ANSWER, &run, &subject->error);
    if (good)
        subject->decode_per_s = (double)run.result.numbers.tpot_count * 1e9 / (double)run.result.numbers.tpot_total_ns;
    truth_run_free(&run);
    if (!good)
        return false;
    good = simulate(validating, subject, device, PROMPT, 0, &run, &subject->error);
    if (good)
        subject->prompt_per_s = PROMPT * 1e9 / (double)run.result.tokens[0].latency_ns;
    truth_run_free(&run);
    return good;
}

/* Sizes, and the time of a token where reading memory is all. */
static bool run_base(const struct validating *validating, struct subject *subject)
{
    struct truth_run run;
    struct kv_growth growth;
    uint64_t kv = 0, buffer = 0;
    bool known = false;
    char device[200];
    snprintf(device, sizeof device, "profile = linux-cgroup\nmemory = %dGB/s\nflops = 100000TFLOPS", BASE_RATE);
    bool good = simulate(validating, subject, device, 1, ANSWER, &run, &subject->error);
    if (good) {
        subject->weights_bytes = (double)run.prepared.model.weights_bytes;
        subject->base_ns = (double)run.result.numbers.tpot_mean_ns;
        good = kv_growth(&run.prepared.model, KV_F16, &growth, &subject->error) && kv_bytes(&growth, CONTEXT, &kv);
        subject->kv_bytes = good ? (double)kv : (double)NAN;
        good = good &&
               compute_buffer_bytes(&run.prepared.model.shape, BATCH, CONTEXT, true, &known, &buffer, &subject->error);
        subject->compute_bytes = good && known ? (double)buffer : (double)NAN;
    }
    truth_run_free(&run);
    return good;
}

static void prepare(const struct validating *validating, const struct truth_file *file, const struct truth_row *row,
                    struct subject *subject)
{
    const struct truth_cell *cells = row->cells;
    const double none = (double)NAN;
    *subject = (struct subject){.weights_bytes = none,
                                .kv_bytes = none,
                                .compute_bytes = none,
                                .base_ns = none,
                                .prompt_per_s = none,
                                .decode_per_s = none};
    char why[160];
    snprintf(subject->text, sizeof subject->text, "%.40s, %.60s %.30s", cells[DEVICE].text, cells[MODEL].text,
             cells[QUANT].text);
    subject->model = truth_model_named(validating, cells[MODEL].text, NULL, subject->why, sizeof subject->why);
    if (subject->model != NULL && !quant_of(cells, subject))
        subject->model = NULL;
    struct shape shape;
    char label[128];
    if (subject->model == NULL ||
        !profile_read_model(subject->model, validating->options->profile_dirs, &shape, label, &subject->error))
        return;
    subject->tied = shape.tied;
    subject->experts = shape.experts != 0;
    subject->device = truth_device_of(validating, file, cells[DEVICE].text, why, sizeof why);
    if (subject->device == NULL)
        memcpy(subject->why, why, sizeof why);
    if (run_base(validating, subject) && subject->device != NULL)
        run_device(validating, subject);
}

static bool alike(const struct truth_cell *a, const struct truth_cell *b)
{
    return strcmp(a[DEVICE].text, b[DEVICE].text) == 0 && strcmp(a[BACKEND].text, b[BACKEND].text) == 0 &&
           strcmp(a[THREADS].text, b[THREADS].text) == 0 && strcmp(a[QUANT].text, b[QUANT].text) == 0;
}

/* Tokens a second by the rate that the other models of the row's quantisation were read at; NAN with fewer than two. */
static double from_others(const struct truth_file *file, const struct subject *subjects, size_t row, size_t *others)
{
    const struct truth_cell *cells = file->rows[row].cells;
    double sum = 0;
    *others = 0;
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *other = file->rows[i].cells;
        if (i == row || !alike(cells, other) || strcmp(cells[MODEL].text, other[MODEL].text) == 0 ||
            isnan(subjects[i].base_ns) || isnan(other[TG_TOK_S].number))
            continue;
        sum += subjects[i].base_ns * other[TG_TOK_S].number / 1e9; /* as a multiple of BASE_RATE */
        ++*others;
    }
    return *others < 2 || isnan(subjects[row].base_ns) ? (double)NAN
                                                       : sum / (double)*others * 1e9 / subjects[row].base_ns;
}

static bool add_rows(const struct truth_place *place, const struct subject *subjects, size_t row, struct error *err)
{
    const struct subject *subject = &subjects[row];
    const struct truth_cell *cells = place->row->cells;
    const double none = (double)NAN;
    char note[160];
    size_t others;
    if (subject->model == NULL)
        return truth_skip(place, subject->why, err);
    const double third = from_others(place->file, subjects, row, &others);
    snprintf(note, sizeof note, "rate from the %zu other models of this quantisation", others);
    const char *why = isnan(subject->base_ns) ? subject->error.text : subject->note;
    const char *device_why = isnan(subject->decode_per_s) || isnan(subject->prompt_per_s) ? subject->error.text : why;
    const char *buffer_why = isnan(subject->base_ns) || !isnan(subject->compute_bytes)
                                 ? why
                                 : "the compute buffer of such a model is not known";
    if (!truth_add(place, "weights_bytes", cells[WEIGHTS_MIB].number * MIB_BYTES, subject->weights_bytes, 5, why,
                   err) ||
        !truth_add(place, "kv_bytes", cells[KV_MIB].number * MIB_BYTES, subject->kv_bytes, 0, why, err) ||
        !truth_add(place, "compute_bytes", cells[COMPUTE_MIB].number * MIB_BYTES, subject->compute_bytes, 1, buffer_why,
                   err) ||
        (!isnan(third) &&
         !truth_add(place, "decode_tokens_per_s_from_others", cells[TG_TOK_S].number, third, 20, note, err)))
        return false;
    if (subject->device == NULL)
        return truth_skip(place, subject->why, err);
    return truth_add(place, "prompt_tokens_per_s", cells[PP_TOK_S].number, subject->prompt_per_s, none, device_why,
                     err) &&
           truth_add(place, "decode_tokens_per_s", cells[TG_TOK_S].number, subject->decode_per_s, none, device_why,
                     err);
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    struct subject *subjects = arena_alloc(&validating->validation->arena, file->row_count, sizeof *subjects);
    if (subjects == NULL)
        return fail(err, STATUS_IO, "out of memory for the rows of %s", file->name);
    for (size_t i = 0; i < file->row_count; i++)
        prepare(validating, file, &file->rows[i], &subjects[i]);
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_place place = {validating, file, &file->rows[i], subjects[i].text};
        if (!add_rows(&place, subjects, i, err))
            return false;
    }
    return true;
}

const struct truth_family truth_ram = {
    .name = "in-ram", .prefix = "in-ram-decode-", TRUTH_COLUMN_LIST(columns), .compare = compare};
