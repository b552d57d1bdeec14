/* `pocketload model quants`: a model in every quantisation, side by side. */
#include "cli/model_quants.h"

#include <math.h>
#include <stddef.h>

#include "cli/action.h"
#include "cli/common.h"
#include "sim/experiment.h"
#include "workloads/hf_config.h"
#include "workloads/model.h"

enum { NAME_BYTES = 128 };

struct quant_row {
    const char *quant;
    double bits_per_weight;
    uint64_t weights_bytes, file_bytes, largest_block_bytes;
    double perplexity; /* NAN: not known */
};

static const struct column columns[] = {
    {"quant", COLUMN_TEXT, offsetof(struct quant_row, quant), false, "quantisation"},
    {"bits_per_weight", COLUMN_REAL, offsetof(struct quant_row, bits_per_weight), false,
     "of the file, header and padding included"},
    {"weights_bytes", COLUMN_INTEGER, offsetof(struct quant_row, weights_bytes), false, "all blocks"},
    {"file_bytes", COLUMN_INTEGER, offsetof(struct quant_row, file_bytes), false, "the file, with header and padding"},
    {"largest_block_bytes", COLUMN_INTEGER, offsetof(struct quant_row, largest_block_bytes), false,
     "the largest block"},
    {"perplexity", COLUMN_REAL, offsetof(struct quant_row, perplexity), true, "published, where the profile knows it"},
};

/* What the file stores, norms and biases included. A copy in memory alone is no more of them. */
static bool count_weights(const char *name, struct shape shape, uint64_t *weights, struct error *err)
{
    struct model model;
    if (shape.output_copy == OUTPUT_COPY_MEMORY)
        shape.output_copy = OUTPUT_COPY_NO;
    if (!model_from_shape(name, &shape, QUANT_F32, &model, err))
        return false;
    *weights = model.weights_bytes / 4;
    model_free(&model);
    return true;
}

static bool fill_row(const char *name, const struct shape *shape, enum quant quant, uint64_t weights, double perplexity,
                     struct quant_row *row, struct error *err)
{
    struct model model;
    if (!model_from_shape(name, shape, quant, &model, err))
        return false;
    *row = (struct quant_row){.quant = quant_names[quant],
                              .bits_per_weight = 8 * (double)model.file_bytes / (double)weights,
                              .weights_bytes = model.weights_bytes,
                              .file_bytes = model.file_bytes,
                              .perplexity = perplexity};
    for (uint32_t b = 0; b < model.block_count; b++)
        if (model.blocks[b].bytes > row->largest_block_bytes)
            row->largest_block_bytes = model.blocks[b].bytes;
    model_free(&model);
    return true;
}

/* The numbers of a profile, or of a config.json, which knows no perplexity. */
static bool read_shape(const char *name, struct shape *shape, char label[NAME_BYTES], double perplexity[QUANTS],
                       struct error *err)
{
    if (model_file_kind(name) == MODEL_FILE_CONFIG) {
        for (int q = 0; q < QUANTS; q++)
            perplexity[q] = (double)NAN;
        model_file_label(name, label, NAME_BYTES);
        return hf_config_read(name, shape, err);
    }
    struct profile_dirs dirs;
    profile_dirs_find(&dirs);
    return profile_read_model(name, dirs.list, shape, label, err) &&
           profile_read_perplexity(name, dirs.list, perplexity, err);
}

int model_quants(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, "PROFILE|config.json",
                      "Shows a model's size and published quality in every quantisation.", &input, &status))
        return status;
    struct shape shape;
    struct error err;
    char name[NAME_BYTES];
    struct quant_row rows[QUANTS];
    uint64_t weights;
    double perplexity[QUANTS];
    bool good = read_shape(input.name, &shape, name, perplexity, &err) && count_weights(name, shape, &weights, &err);
    for (int q = 0; good && q < QUANTS; q++)
        good = fill_row(name, &shape, (enum quant)q, weights, perplexity[q], &rows[q], &err);
    good = good &&
           show_records(input.format, columns, sizeof columns / sizeof columns[0], rows, sizeof *rows, QUANTS, &err);
    return good ? STATUS_OK : report(&err);
}
