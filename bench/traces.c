/* See traces.h. Doubles, because the traces are defined on them: sums, quotients and comparisons in the order given
 * here, which IEEE 754 makes the same everywhere; only pow() of 8 small numbers may differ in its last bit, and then in
 * an access of many millions. */
#include "bench/traces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYERS = 32,
    EXPERTS = 8,
    CYCLE = 32,
    DENSE_BLOCKS = LAYERS + 3,
    DENSE_TOKENS = 300000,
    ZIPF_IDS = 1000000,
    ZIPF_STRIDE = 611953, /* prime to ZIPF_IDS: popular ids lie apart */
    SCAN_IDS = 900000,
    GUIDE_BITS = 20,
};
#define MIB 1048576u

/* Number i of stream `seed`: the output function of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) on a counter. */
static uint64_t draw(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The same in [0, 1). */
static double unit(uint64_t seed, uint64_t i)
{
    return (double)(draw(seed, i) >> 11) * 0x1p-53;
}

/* cdf[k]: the chance of a rank of at most k, where rank k, from 0, has weight (k + 1)^-exponent. */
static void zipf_cdf(uint32_t n, double exponent, double *cdf)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        sum += 1.0 / (exponent == 1.0 ? k + 1.0 : pow(k + 1.0, exponent));
        cdf[k] = sum;
    }
    for (uint32_t k = 0; k < n; k++)
        cdf[k] /= sum;
}

/* The first rank from `rank` on whose cdf is above u. */
static uint32_t zipf_rank(const double *cdf, uint32_t n, uint32_t rank, double u)
{
    while (rank + 1 < n && cdf[rank] <= u)
        rank++;
    return rank;
}

static bool start(struct bench_trace *trace, uint32_t id_count, uint64_t count, uint64_t limit)
{
    trace->id_count = id_count;
    trace->count = limit == 0 || limit > count ? count : limit;
    trace->ids = malloc(trace->count * sizeof *trace->ids);
    trace->sizes = malloc(id_count * sizeof *trace->sizes);
    if (trace->ids == NULL || trace->sizes == NULL)
        return false;
    for (uint32_t id = 0; id < id_count; id++)
        trace->sizes[id] = 1;
    return true;
}

static void in_turn(struct bench_trace *trace)
{
    for (uint64_t i = 0; i < trace->count; i++)
        trace->ids[i] = (uint32_t)(i % trace->id_count);
}

static bool make_cyclic(uint64_t limit, struct bench_trace *trace)
{
    if (!start(trace, CYCLE, 1000000, limit))
        return false;
    in_turn(trace);
    return true;
}

static bool make_scan(uint64_t limit, struct bench_trace *trace)
{
    if (!start(trace, SCAN_IDS, 20 * (uint64_t)SCAN_IDS, limit))
        return false;
    in_turn(trace);
    return true;
}

static bool make_dense(uint64_t limit, struct bench_trace *trace)
{
    if (!start(trace, DENSE_BLOCKS, (uint64_t)DENSE_BLOCKS * DENSE_TOKENS, limit))
        return false;
    in_turn(trace);
    for (uint32_t id = 0; id < DENSE_BLOCKS; id++)
        trace->sizes[id] = 110 * MIB;
    trace->sizes[0] = trace->sizes[LAYERS + 2] = 131 * MIB; /* embedding, output */
    trace->sizes[LAYERS + 1] = 16384;                       /* norm */
    return true;
}

static bool make_zipf(uint64_t limit, struct bench_trace *trace)
{
    double *cdf = malloc(ZIPF_IDS * sizeof *cdf);
    /* guide[j]: where to begin to look for u >= j / 2^GUIDE_BITS. */
    uint32_t *guide = malloc(((size_t)1 << GUIDE_BITS) * sizeof *guide), rank = 0;
    bool made = cdf != NULL && guide != NULL && start(trace, ZIPF_IDS, 20000000, limit);
    if (made) {
        zipf_cdf(ZIPF_IDS, 1.0, cdf);
        for (uint32_t j = 0; j < 1u << GUIDE_BITS; j++)
            guide[j] = rank = zipf_rank(cdf, ZIPF_IDS, rank, (double)j / (1 << GUIDE_BITS));
        for (uint64_t i = 0; i < trace->count; i++) {
            double u = unit(1, i);
            rank = zipf_rank(cdf, ZIPF_IDS, guide[(uint32_t)(u * (1 << GUIDE_BITS))], u);
            trace->ids[i] = (uint32_t)((uint64_t)rank * ZIPF_STRIDE % ZIPF_IDS);
        }
    }
    free(cdf);
    free(guide);
    return made;
}

/* What a layer's experts did for the token before, -1: nothing yet, and which expert has which popularity. */
struct moe_layer {
    int first, second;
    uint32_t by_rank[EXPERTS];
};

/* A layer's order of popularity: a shuffle (Fisher, Yates) drawn from a stream of its own. */
static void moe_layer_start(struct moe_layer *layer, uint64_t seed)
{
    layer->first = layer->second = -1;
    for (uint32_t i = 0; i < EXPERTS; i++)
        layer->by_rank[i] = i;
    for (uint32_t i = EXPERTS - 1, t = 0; i > 0; i--, t++) {
        uint32_t j = (uint32_t)(draw(seed, t) % (i + 1)), expert = layer->by_rank[i];
        layer->by_rank[i] = layer->by_rank[j];
        layer->by_rank[j] = expert;
    }
}

/* Each of a token's two experts is that of the token before with chance 0.35, else drawn; the second never the first.
 */
static void moe_layer_choose(struct moe_layer *layer, const double *cdf, uint64_t seed, uint64_t first_draw)
{
    const double keep = 0.35;
    bool keep_first = unit(seed, first_draw) < keep, keep_second = unit(seed, first_draw + 2) < keep;
    if (!keep_first || layer->first < 0)
        layer->first = (int)layer->by_rank[zipf_rank(cdf, EXPERTS, 0, unit(seed, first_draw + 1))];
    if (!keep_second || layer->second < 0 || layer->second == layer->first) {
        uint32_t rank = zipf_rank(cdf, EXPERTS, 0, unit(seed, first_draw + 3));
        layer->second = (int)layer->by_rank[rank];
        if (layer->second == layer->first)
            layer->second = (int)layer->by_rank[(rank + 1) % EXPERTS];
    }
}

static bool make_moe(uint64_t limit, struct bench_trace *trace)
{
    const uint64_t seed = 1, layer_stream = 0x5EED;
    struct moe_layer layers[LAYERS];
    double cdf[EXPERTS];
    if (!start(trace, LAYERS * EXPERTS, 10000000, limit))
        return false;
    zipf_cdf(EXPERTS, 0.8, cdf);
    for (uint32_t l = 0; l < LAYERS; l++)
        moe_layer_start(&layers[l], seed ^ (layer_stream + l));
    for (uint64_t i = 0; i < trace->count; i++) {
        uint32_t l = (uint32_t)(i / 2 % LAYERS);
        if (i % 2 == 0)
            moe_layer_choose(&layers[l], cdf, seed, i / 2 * 4);
        trace->ids[i] = l * EXPERTS + (uint32_t)(i % 2 == 0 ? layers[l].first : layers[l].second);
    }
    return true;
}

bool bench_trace_make(const char *name, uint64_t limit, struct bench_trace *trace)
{
    static const struct {
        const char *name;
        bool (*make)(uint64_t limit, struct bench_trace *trace);
    } traces[] = {
        {"cyclic", make_cyclic}, {"dense-embed", make_dense}, {"moe", make_moe},
        {"zipf1.0", make_zipf},  {"page-scan", make_scan},
    };
    *trace = (struct bench_trace){0};
    for (size_t t = 0; t < sizeof traces / sizeof traces[0]; t++)
        if (strcmp(name, traces[t].name) == 0) {
            if (traces[t].make(limit, trace))
                return true;
            bench_trace_free(trace);
        }
    return false;
}

void bench_trace_free(struct bench_trace *trace)
{
    free(trace->ids);
    free(trace->sizes);
    *trace = (struct bench_trace){0};
}
