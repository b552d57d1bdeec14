/* Chats run from end to end: what a pause in the background costs, what a restart does, and how turns add up. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};

/* 3B in 4 bits, 1.78 GiB; turns of 64 tokens and 16. */
#define MODEL "[device]\nprofile = oneplus-15r\n[model]\nprofile = llama-3.2-3b\n"
#define CHAT MODEL "[workload]\nkind = chat\nturns = 3\nprompt_tokens = 64\noutput_tokens = 16\nthink = 5s\n"

enum { SETS_MAX = 8 };

struct outcome_of {
    struct arena arena;
    struct prepared cache;
    struct run_result result;
    struct experiment *experiment;
};

static void run(struct outcome_of *o, const char *text, const char *const *sets)
{
    struct error err;
    size_t count = 0;
    while (count < SETS_MAX && sets[count])
        count++;
    *o = (struct outcome_of){0};
    if (!experiment_parse("x.ini", text, strlen(text), sets, count, dirs, &o->experiment, &err) ||
        !experiment_execute(o->experiment, 0, &o->cache, &o->arena, &o->result, &err))
        fail_because("%s", err.text);
    assert_int_equal(o->result.numbers.outcome, OUTCOME_COMPLETED);
}

#define RUN(o, text, ...) run(o, text, (const char *const[SETS_MAX]){__VA_ARGS__})

static void done(struct outcome_of *o)
{
    arena_free(&o->arena);
    prepared_free(&o->cache);
    experiment_free(o->experiment);
}

static void turns_add_up(const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    int64_t time_ns = 0, stall_ns = 0;
    uint64_t tokens = 0, read = 0, reclaimed = 0;
    for (uint32_t i = 0; i < result->turn_count; i++) {
        const struct turn_numbers *turn = &result->turns[i];
        time_ns += turn->idle_ns + turn->latency_ns;
        stall_ns += turn->stall_ns;
        tokens += turn->tokens;
        read += turn->bytes_read;
        reclaimed += turn->bytes_reclaimed;
    }
    assert_int_equal(time_ns, n->virtual_time_ns);
    assert_int_equal(n->virtual_time_ns, n->load_ns + n->compute_ns + n->stall_ns + n->idle_ns);
    assert_int_equal(stall_ns, n->stall_ns);
    assert_int_equal(tokens, n->tokens);
    assert_int_equal(read, n->bytes_read);
    assert_int_equal(reclaimed, n->bytes_reclaimed);
}

static void three_turns(void **state)
{
    (void)state;
    struct outcome_of o;
    RUN(&o, CHAT, "loader.mode=read");
    const struct run_result *r = &o.result;
    turns_add_up(r);
    assert_int_equal(r->numbers.turns, 3);
    assert_int_equal(r->turn_count, 3);
    assert_int_equal(r->numbers.tokens, 48);
    assert_int_equal(r->numbers.idle_ns, 10000000000);
    assert_int_equal(r->numbers.tpot_count, 45); /* the first of each turn comes from its prompt */
    assert_int_equal(r->turns[0].start_ns, 0);
    assert_int_equal(r->turns[0].ttft_ns, r->numbers.ttft_ns);
    assert_int_equal(r->turns[1].start_ns, r->turns[0].latency_ns + 5000000000);
    assert_int_equal(r->turns[1].idle_ns, 5000000000);
    assert_int_equal(r->numbers.turn_ttft_max_ns, r->turns[2].ttft_ns); /* the context grows */
    assert_int_equal(r->numbers.turn_ttft_mean_ns, (r->turns[1].ttft_ns + r->turns[2].ttft_ns) / 2);
    for (uint32_t i = 0; i < 48; i++) {
        assert_int_equal(r->tokens[i].turn, i / 16 + 1);
        assert_int_equal(r->tokens[i].token, i);
    }
    done(&o);
}

/* Without a KV cache a turn computes what a prompt of the whole conversation would. */
static void without_a_cache(void **state)
{
    (void)state;
    struct outcome_of chat, dense;
    RUN(&chat, CHAT, "loader.mode=read", "workload.keep_kv=no");
    RUN(&dense, MODEL "[workload]\nprompt_tokens = 224\noutput_tokens = 16\n", "loader.mode=read");
    assert_int_equal(chat.result.turns[2].ttft_ns, dense.result.numbers.ttft_ns - dense.result.numbers.load_ns);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(chat.result.tokens[32 + i].latency_ns, dense.result.tokens[i].latency_ns);
    assert_int_equal(chat.result.numbers.peak_kv_bytes, dense.result.numbers.peak_kv_bytes);
    done(&chat);
    done(&dense);
}

/* After a restart a turn is a launch whose prompt is the whole conversation, to the nanosecond. */
static void a_restart_is_a_launch(void **state)
{
    (void)state;
    static const char *const modes[] = {"loader.mode=read", "loader.mode=chunked"};
    for (size_t m = 0; m < 2; m++) {
        struct outcome_of chat, dense;
        RUN(&chat, CHAT, modes[m], "loader.budget=1GiB", "policy.name=pinned-lru+next", "workload.background=restart");
        RUN(&dense, MODEL "[workload]\nprompt_tokens = 224\noutput_tokens = 16\n", modes[m], "loader.budget=1GiB",
            "policy.name=pinned-lru+next");
        const struct turn_numbers *turn = &chat.result.turns[2];
        turns_add_up(&chat.result);
        assert_true(turn->restarted && !chat.result.turns[0].restarted);
        assert_int_equal(turn->ttft_ns, dense.result.numbers.ttft_ns);
        assert_int_equal(turn->latency_ns, dense.result.numbers.virtual_time_ns);
        assert_int_equal(turn->stall_ns, dense.result.numbers.stall_ns);
        assert_int_equal(turn->bytes_read, dense.result.numbers.bytes_read);
        assert_true(turn->bytes_reclaimed > 0);
        assert_int_equal(chat.result.numbers.restarts, 2);
        assert_int_equal(chat.result.numbers.load_ns, 3 * dense.result.numbers.load_ns);
        done(&chat);
        done(&dense);
    }
}

/* The page cache outlives the app: its faults are minor, and nothing is read again. */
static void a_mapped_file_stays(void **state)
{
    (void)state;
    struct outcome_of o;
    RUN(&o, CHAT, "loader.mode=mmap", "workload.background=restart", "policy.pin=kinds(norm)");
    turns_add_up(&o.result);
    assert_int_equal(o.result.numbers.restarts, 2);
    assert_int_equal(o.result.numbers.bytes_reclaimed, 0);
    assert_int_equal(o.result.turns[1].bytes_read, 0);
    assert_int_equal(o.result.numbers.refaults, 0);
    const struct token_numbers *first = &o.result.tokens[16];
    assert_int_equal(first->major_faults, 0);
    /* Each group of 16 pages is mapped by one fault (fault-around of 64 KiB). */
    assert_in_range(first->minor_faults, 1909000000 / 65536 - 200, 1909000000 / 65536 + 200);
    assert_true(o.result.turns[1].ttft_ns < o.result.turns[0].ttft_ns);
    done(&o);
}

static void a_share_is_read_again(void **state)
{
    (void)state;
    struct outcome_of o;
    RUN(&o, CHAT, "loader.mode=chunked", "loader.budget=4GiB", "policy.name=lru", "workload.background=30%");
    const struct run_result *r = &o.result;
    uint64_t largest = 0;
    for (uint32_t b = 0; b < o.cache.model.block_count; b++)
        largest = o.cache.model.blocks[b].bytes > largest ? o.cache.model.blocks[b].bytes : largest;
    turns_add_up(r);
    for (uint32_t i = 1; i < 3; i++) {
        const uint64_t wanted = o.cache.model.weights_bytes * 3 / 10;
        assert_in_range(r->turns[i].bytes_reclaimed, wanted, wanted + largest);
        assert_int_equal(r->turns[i].bytes_read, r->turns[i].bytes_reclaimed);
        assert_true(r->turns[i].stall_ns > 0);
    }
    assert_int_equal(r->numbers.restarts, 0);
    done(&o);
    RUN(&o, CHAT, "loader.mode=chunked", "loader.budget=4GiB", "policy.name=lru+kinds(layer,embedding,norm)",
        "workload.background=100%");
    assert_int_equal(o.result.numbers.bytes_reclaimed, 0); /* pinned blocks stay */
    done(&o);
    RUN(&o, CHAT, "loader.mode=mmap", "workload.background=30%", "workload.background_every=2");
    assert_int_equal(o.result.turns[1].bytes_reclaimed, 0);
    assert_in_range(o.result.turns[2].bytes_reclaimed, o.cache.model.file_bytes * 3 / 10 - 8192 - 5600000,
                    o.cache.model.file_bytes * 3 / 10 + 262144);
    assert_int_equal(o.result.numbers.refaults * 4096, o.result.turns[2].bytes_reclaimed);
    done(&o);
}

/* Weights in anonymous memory go nowhere, but into zram. */
static void anonymous_memory_is_compressed(void **state)
{
    (void)state;
    struct outcome_of plain, zram;
    RUN(&plain, CHAT, "loader.mode=read", "workload.background=50%");
    assert_int_equal(plain.result.numbers.bytes_reclaimed, 0);
    RUN(&zram, CHAT, "loader.mode=read", "workload.background=50%", "device.zram=4GiB");
    turns_add_up(&zram.result);
    const struct run_numbers *n = &zram.result.numbers;
    const uint64_t half = zram.cache.model.weights_bytes / 2;
    assert_in_range(n->bytes_reclaimed, 2 * (half - 4096), 2 * half);
    assert_int_equal(n->bytes_swapped_out, n->bytes_reclaimed);
    assert_int_equal(n->bytes_swapped_in, n->bytes_reclaimed);
    /* Each page that comes back is waited for. */
    const struct run_config *config = experiment_run(zram.experiment, 0);
    const int64_t pages = (int64_t)(zram.result.turns[1].bytes_reclaimed / 4096);
    assert_int_equal(zram.result.turns[1].ttft_ns - plain.result.turns[1].ttft_ns,
                     pages * config->device.pressure.swap_in_ns);
    done(&plain);
    done(&zram);
}

static void rounds_of_drafts(void **state)
{
    (void)state;
    struct outcome_of o;
    RUN(&o, CHAT, "loader.mode=read", "workload.draft=llama-3.2-1b", "workload.accept=100%", "workload.turns=2");
    const struct run_numbers *n = &o.result.numbers;
    turns_add_up(&o.result);
    assert_int_equal(n->tokens, 32);
    /* A turn: a prompt's token, then three rounds of four drafts that are all accepted. */
    assert_int_equal(n->drafted_tokens, 24);
    assert_int_equal(n->accepted_tokens, 24);
    assert_int_equal(n->tpot_count, 30);
    int64_t round_ns = 0;
    for (uint32_t i = 1; i <= 5; i++) {
        round_ns += o.result.tokens[i].latency_ns;
        assert_in_range(o.result.tokens[i].latency_ns, o.result.tokens[1].latency_ns,
                        o.result.tokens[1].latency_ns + 1);
    }
    int64_t sum_ns = 0;
    for (uint32_t i = 1; i < 16; i++)
        sum_ns += o.result.tokens[i].latency_ns;
    assert_true(round_ns > 0);
    assert_int_equal(sum_ns + o.result.numbers.ttft_ns, o.result.turns[0].latency_ns);
    assert_string_equal(o.cache.model.name, "llama-3.2-3b + llama-3.2-1b");
    assert_string_equal(o.cache.model.quant, "q4_0");
    done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_turns),           cmocka_unit_test(without_a_cache),
        cmocka_unit_test(a_restart_is_a_launch), cmocka_unit_test(a_mapped_file_stays),
        cmocka_unit_test(a_share_is_read_again), cmocka_unit_test(anonymous_memory_is_compressed),
        cmocka_unit_test(rounds_of_drafts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
