/* How fast each eviction policy is in a replay, on the traces of bench/traces.h, beside a bare array LRU in the same
 * run; and what libCacheSim reached on such a machine, where ../shared has its figures. */
#include <string.h>

#include "bench/floor.h"
#include "bench/traces.h"
#include "policies/registry.h"
#include "sim/replay.h"

enum { TRIES = 5, PEERS_MAX = 16, LINE_MAX_BYTES = 512 };
#define PEER_FILE "data/cachesim/peer-speed.csv"
#define MIB UINT64_C(1048576)

static const struct bench_case {
    const char *trace, *capacity;
    uint64_t amount; /* blocks, or bytes where the trace has sizes */
} cases[] = {
    {"cyclic", "24obj", 24},          {"dense-embed", "2GiB", 2048 * MIB}, {"moe", "128obj", 128},
    {"zipf1.0", "100000obj", 100000}, {"page-scan", "450000obj", 450000},
};

/* ---- The peer's figures ---- */

struct peers {
    char head[LINE_MAX_BYTES], row[LINE_MAX_BYTES];
};

/* The head and the row of one trace; false where there is no such file. */
static bool peers_read(const char *trace, struct peers *peers)
{
    char path[4096];
    const char *shared = getenv("POCKETLOAD_SHARED");
    snprintf(path, sizeof path, "%s/" PEER_FILE, shared != NULL ? shared : "../shared");
    FILE *file = fopen(path, "r");
    bool found = false;
    *peers = (struct peers){0};
    if (file == NULL)
        return false;
    while (!found && fgets(peers->row, sizeof peers->row, file) != NULL) {
        size_t length = strcspn(peers->row, ",");
        if (peers->row[0] != '#' && peers->head[0] == '\0')
            memcpy(peers->head, peers->row, sizeof peers->head);
        found = length == strlen(trace) && memcmp(peers->row, trace, length) == 0;
    }
    fclose(file);
    return found;
}

/* Millions of accesses a second of one policy, or of a bare array LRU (floor_lru); 0: none. */
static double peer_speed(const struct peers *peers, const char *policy)
{
    const char *name = peers->head, *value = peers->row;
    while (*name != '\0' && *value != '\0') {
        size_t length = strcspn(name, ",\n");
        if (length == strlen(policy) && memcmp(name, policy, length) == 0)
            return strtod(value, NULL);
        name += length + (name[length] != '\0');
        value += strcspn(value, ",\n");
        value += *value != '\0';
    }
    return 0.0;
}

/* ---- One trace ---- */

struct subject {
    struct model model;
    struct trace trace;
    struct segment segment;
    struct future future;
    uint32_t *sizes; /* NULL: all are 1 */
};

static void subject_make(const struct bench_case *bench, struct subject *subject)
{
    struct bench_trace made;
    struct error err;
    if (!bench_trace_make(bench->trace, 0, &made))
        give_up(bench->trace, "cannot make the trace");
    *subject = (struct subject){.segment = {.step_count = (uint32_t)made.count, .repeat = 1}};
    bool sized = false;
    struct policy_block *blocks = calloc(made.id_count, sizeof *blocks);
    if (blocks == NULL)
        give_up(bench->trace, "out of memory");
    for (uint32_t b = 0; b < made.id_count; b++) {
        blocks[b] = (struct policy_block){.bytes = made.sizes[b], .layer = -1, .kind = BLOCK_OTHER};
        sized = sized || made.sizes[b] != made.sizes[0];
    }
    subject->model = (struct model){.block_count = made.id_count, .policy_blocks = blocks};
    subject->trace = (struct trace){.block_count = made.id_count,
                                    .use_count = (uint32_t)made.count,
                                    .step_count = (uint32_t)made.count,
                                    .segment_count = 1,
                                    .uses = made.ids,
                                    .segments = &subject->segment,
                                    .access_count = made.count};
    for (uint64_t i = 0; i < made.count; i++)
        subject->trace.accessed_bytes += made.sizes[made.ids[i]];
    made.ids = NULL;
    if (sized) {
        subject->sizes = made.sizes;
        made.sizes = NULL;
    }
    bench_trace_free(&made);
    if (!future_make(&subject->trace, &subject->future, &err))
        give_up(bench->trace, err.text);
}

static void subject_free(struct subject *subject)
{
    free(subject->model.policy_blocks);
    free(subject->trace.uses);
    free(subject->sizes);
    future_free(&subject->future);
}

/* Seconds of the bare LRU, and its hits. */
static double time_floor(const struct bench_case *bench, const struct subject *subject, uint64_t *hits)
{
    double start = now_seconds();
    *hits = subject->sizes != NULL ? floor_lru_bytes(&subject->trace, subject->sizes, bench->amount)
                                   : floor_lru(&subject->trace, (uint32_t)bench->amount);
    return now_seconds() - start;
}

static double time_policy(const struct bench_case *bench, const struct subject *subject,
                          const struct policy_choice *choice, struct replay_result *result, uint64_t *memory_bytes)
{
    struct arena arena = {0};
    struct error err;
    struct replay_spec spec = {
        .model = &subject->model,
        .trace = &subject->trace,
        .capacity_bytes = bench->amount,
        .evict = {choice->evict.policy, {choice->evict.values, NULL, 0}},
        .seed = 1,
        .future = &subject->future,
    };
    double start = now_seconds();
    if (!replay_run(&spec, &arena, result, &err))
        give_up(choice->label, err.text);
    double seconds = now_seconds() - start;
    *memory_bytes = arena.used_bytes;
    arena_free(&arena);
    return seconds;
}

static double middle(double seconds[TRIES])
{
    qsort(seconds, TRIES, sizeof *seconds, compare_seconds);
    return seconds[TRIES / 2];
}

static void bench_policy(const struct bench_case *bench, const struct subject *subject, const char *name,
                         const struct peers *peers)
{
    static const char *const at_half_the_floor[] = {"lru", "fifo", "clock", "sieve"};
    struct policy_choice choice;
    struct error err;
    struct replay_result result;
    double ours[TRIES], floor[TRIES], ratios[TRIES];
    uint64_t floor_hits, memory_bytes;
    if (!policy_parse(name, &choice, &err))
        give_up(name, err.text);
    for (int i = 0; i < TRIES; i++) { /* by turns, so that both see the same machine */
        floor[i] = time_floor(bench, subject, &floor_hits);
        ours[i] = time_policy(bench, subject, &choice, &result, &memory_bytes);
        ratios[i] = ours[i] / floor[i]; /* of one moment: what the machine does to both is left out */
    }
    if (strcmp(name, "lru") == 0 && result.hits != floor_hits)
        give_up(bench->trace, "the replay and the bare arrays do not count the same hits");
    bool half = false;
    for (size_t i = 0; i < sizeof at_half_the_floor / sizeof *at_half_the_floor; i++)
        half = half || strcmp(name, at_half_the_floor[i]) == 0;
    double millions = (double)subject->trace.access_count / 1e6, speed = millions / middle(ours);
    double ratio = middle(ratios), peer = peer_speed(peers, name);
    /* Two machines are best compared by what a bare LRU does on each. */
    double peer_floor = peer_speed(peers, "floor_lru"), times = peer > 0.0 ? speed / peer : 0.0;
    const char *met = half ? (ratio <= 2.0 ? "yes" : "no") : peer <= 0.0 ? "" : times >= 3.0 ? "yes" : "no";
    printf("%-18s %8.1f | %9.1f %6.2f | ", name, speed, millions / middle(floor), ratio);
    if (peer > 0.0)
        printf("%6.1f %6.1f ", peer, times);
    else
        printf("%14s", "");
    if (peer > 0.0 && peer_floor > 0.0)
        printf("%8.1f", peer_floor / peer / ratio);
    else
        printf("%8s", "");
    printf(" | %-3s | %9.5f | %7.1f\n", met, (double)result.misses / (double)result.accesses,
           (double)memory_bytes / (double)subject->model.block_count);
    fflush(stdout);
}

static void bench_trace(const struct bench_case *bench)
{
    struct subject subject;
    struct peers peers;
    size_t count;
    const struct policy *const *policies = policy_all(&count);
    subject_make(bench, &subject);
    peers_read(bench->trace, &peers);
    printf("\n%s at %s: %.1f M accesses, %u blocks\n", bench->trace, bench->capacity,
           (double)subject.trace.access_count / 1e6, subject.model.block_count);
    printf("%-18s %8s | %9s %6s | %6s %6s %8s | %-3s | %9s | %s\n", "policy", "M/s", "floor M/s", "ratio", "peer",
           "times", "by floor", "met", "misses", "B a block");
    for (size_t i = 0; i < count; i++)
        if (policies[i]->kind == POLICY_EVICT)
            bench_policy(bench, &subject, policies[i]->name, &peers);
    subject_free(&subject);
}

int main(int argc, char **argv)
{
    printf("replay of every eviction policy, one core, trace in memory (middle of %d rounds)\n"
           "floor: a bare array LRU in the same run; peer: libCacheSim, millions a second on such a machine;\n"
           "times: how many times that; by floor: how many times, each in units of the bare LRU on its machine\n"
           "met: lru, fifo, clock and sieve at half the floor's speed, others at three times the peer's\n",
           TRIES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strcmp(argv[1], cases[i].trace) == 0)
            bench_trace(&cases[i]);
    return 0;
}
