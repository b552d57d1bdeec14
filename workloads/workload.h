/* From a [workload] section to a trace.
 *
 * One generator (chat.c, for dense, moe and chat), and one file a reader (ids.c, csv.c, route.c, passes.c, arc.c,
 * oracle_general.c, sequence.c); a reader is added by one file and one line in the table of formats.c. Readers take
 * text from strangers: every number is bounded, every error has file:line. */
#ifndef POCKETLOAD_WORKLOADS_WORKLOAD_H
#define POCKETLOAD_WORKLOADS_WORKLOAD_H

#include "base/files.h"
#include "workloads/numbered.h"
#include "workloads/trace.h"

enum workload_kind { WORKLOAD_DENSE, WORKLOAD_MOE, WORKLOAD_CHAT, WORKLOAD_TRACE };
enum foresee { FORESEE_AUTO, FORESEE_ALL, FORESEE_NONE };
/* Which adapter computes: of each turn the next one, of each pass one drawn, or always the first. */
enum adapter_switch { ADAPTER_TURN, ADAPTER_TOKEN, ADAPTER_NEVER };

/* workload_spec.background beyond all shares: the app is ended in the background. */
enum { BACKGROUND_RESTART = 1000001 };

struct workload_spec {
    enum workload_kind kind;
    /* dense, moe; chat: of each turn. output_tokens >= 1: the first comes from the prompt's pass */
    uint32_t prompt_tokens, output_tokens;
    uint64_t seed;
    const char *trace;            /* a file, kind = trace; or: */
    const char *sequence;         /* "embed layer1 layer2": block names or ids, each a step, all one token */
    const char *format;           /* NULL or "auto": by content; else a name, csv also with its columns: trace_format */
    uint64_t zipf_ppm;            /* moe: popularity of the r-th expert of a layer is r^-zipf; 0: uniform */
    uint32_t sticky_ppm;          /* moe: chance that a token takes an expert of the token before again */
    uint32_t top_k;               /* 0: the model's experts_used */
    int64_t compute_per_token_ns; /* -1: roofline; else the measured time of one decode pass, shared by its steps */
    int64_t prompt_compute_ns;    /* -1: roofline; else that of the whole prompt */
    enum foresee foresee;         /* auto: everything but experts */
    uint32_t batch;               /* tokens of a prompt whose activations are held at once, at most; 0: 512 */
    enum kv_type kv_type;         /* of the KV cache's elements */
    bool flash_attention;         /* else the scores of a layer, heads x batch x context, are activations too */
    /* chat */
    uint32_t turns, system_tokens; /* system_tokens come before the first prompt */
    int64_t think_ns;              /* the pause before each later turn */
    bool keep_kv;                  /* else each turn computes the whole conversation again */
    uint32_t background;           /* 0: none; a share of weights that a pause costs, in ppm; BACKGROUND_RESTART */
    uint32_t background_every;     /* of so many pauses, the last one is spent in the background */
    /* With a draft model (the model is combined of both, workloads/model_combine.h): drafts a round, and the chance
     * that one is accepted. */
    uint32_t draft_tokens, accept_ppm;
    /* With adapters, likewise: how many of the model's parts there are, and of which rank. */
    uint32_t adapters, adapter_rank;
    enum adapter_switch adapter_switch;
};

/* The flag of a use of such a block: USE_UNSEEN where a runtime cannot foresee it. */
static inline uint32_t foresee_flag(enum foresee foresee, enum block_kind kind)
{
    return foresee == FORESEE_NONE || (foresee == FORESEE_AUTO && kind == BLOCK_EXPERT) ? USE_UNSEEN : 0;
}

/* Compiles the workload for a model. For kind = trace the model may be NULL when the format brings sizes: then
 * *own_model is built (the caller frees it) and *has_own_model is true. STATUS_USAGE, STATUS_INPUT, STATUS_IO. */
bool workload_compile(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                      struct model *own_model, bool *has_own_model, struct error *err);

/* For replay: unit-size blocks where the file has no sizes; ids need not be dense (they are mapped at reading, in order
 * of first appearance). *has_bytes tells whether sizes are real. */
bool trace_read_alone(const char *path, const char *format, struct trace *trace, struct model *own_model,
                      bool *has_bytes, struct error *err);

/* ---- Readers ---- */
struct reader_input {
    const char *path;          /* as messages name it */
    const struct model *model; /* NULL: the reader builds own_model */
    bool sparse_ids;           /* replay: map any ids to dense ones, unit sizes where there are none */
    const struct workload_spec *spec;
};

/* What a reader works on. It adds segments, steps (work 0) and uses to `builder`, and where input->model is NULL builds
 * own_model; the caller does what is the same for all: it finishes the trace, gives the steps their work, and frees all
 * in case of failure. */
struct reading {
    const struct reader_input *input;
    struct stream *stream; /* opened, and at its beginning; NULL for a sequence */
    struct trace_builder *builder;
    struct model *own_model; /* set has_own_model as soon as it is started */
    bool has_own_model;
    bool has_bytes; /* sizes are real: those of a model, or of the file */
    struct numbered numbered;
    const struct csv_columns *columns; /* of csv, where the user gave them; else NULL */
    int64_t *step_ns; /* from malloc: the measured time of each step, -1 where there is none; or NULL */
    size_t step_ns_capacity;
};

/* Where the fields of a csv file without names for its columns are: see csv_columns.h. */
enum id_kind { ID_AUTO, ID_NUMBER, ID_TEXT };
struct csv_columns {
    uint32_t time, id, size; /* from 1; 0: there is none. The time is not used */
    char delimiter;
    bool has_header;      /* the first line is skipped */
    enum id_kind id_kind; /* auto: as the first id is */
};

/* What tells a format. */
struct trace_head {
    const char *path;
    const unsigned char *raw; /* the first bytes of the (decompressed) file */
    size_t raw_size;
    const char *text; /* from its first line that has more than blanks and "*", NUL-terminated */
    size_t text_size;
};

struct trace_reader {
    const char *name, *summary;
    /* True when a file looks like this format. Asked in the order of the table. */
    bool (*matches)(const struct trace_head *head);
    /* Fails with file:line in front. */
    bool (*read)(struct reading *reading, struct error *err);
    bool binary; /* asked about files that are no text, others about those that are */
};
/* In the order of their detection. */
const struct trace_reader *trace_readers(size_t *count);

/* A format as a user writes it: a name of the table, "auto", or "csv(time=1,id=2,size=3,delimiter=;,header)". */
struct trace_format {
    const struct trace_reader *reader; /* NULL: auto */
    bool has_columns;
    struct csv_columns columns;
};
/* text may be NULL: auto. STATUS_USAGE, with the nearest spelling. */
bool trace_format_parse(const char *text, struct trace_format *format, struct error *err);

/* ---- Generator ---- */
/* kind = dense, moe or chat. A combined model's draft, second model and adapters take part. */
bool workload_generate(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                       struct error *err);

/* Writes the trace as csv, one line a use, into a file (whole or not at all) or "-", standard output. Columns: step,
 * token and phase where tokens are marked, block, bytes, layer, kind, and compute_ns where times are measured or there
 * are pauses. What csv cannot say: prompts of several tokens, activations, rooflines. */
bool trace_write_csv(const struct trace *trace, const struct model *model, const char *path, struct error *err);

#endif
