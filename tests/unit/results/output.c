/* Every format of records and cells, and the ranking. */
#include "made_up.h"

#include <jansson.h>
#include <math.h>

#include "results/output.h"
#include "results/ranking.h"
#include "tests/cmocka_fixed.h"

static struct error err;

static struct replay_record records[2] = {
    {"a \"trace\", 1\n", "clock(bits=2,hand=1)", "50%", 1 << 20, 10, 7, 3, 0.7, 3 << 20, 0.1, 2},
    {"t|2", "lru", "1MiB", 1 << 20, 0, 0, 0, (double)NAN, 0, (double)NAN, 0},
};

static char *print(enum format format, size_t count, const size_t *shown, size_t shown_count)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    struct output *output;
    good(output_open(file, format, replay_columns, replay_column_count, shown, shown_count, &output, &err), &err);
    for (size_t i = 0; i < count; i++)
        good(output_record(output, &records[i], &err), &err);
    good(output_close(output, &err), &err);
    fclose(file);
    return data;
}

static void prints(enum format format, size_t count, const char *expected)
{
    char *text = print(format, count, NULL, 0);
    assert_string_equal(text, expected);
    free(text);
}

#define CSV_HEAD                                                                                                       \
    "trace,policy,capacity,capacity_bytes,accesses,hits,misses,hit_rate,bytes_read,byte_hit_rate,evictions\n"
#define JSON_1                                                                                                         \
    "{\"trace\": \"a \\\"trace\\\", 1\\n\", \"policy\": \"clock(bits=2,hand=1)\", \"capacity\": \"50%\", "             \
    "\"capacity_bytes\": 1048576, \"accesses\": 10, \"hits\": 7, \"misses\": 3, \"hit_rate\": 0.7, "                   \
    "\"bytes_read\": 3145728, \"byte_hit_rate\": 0.1, \"evictions\": 2}"
#define JSON_2                                                                                                         \
    "{\"trace\": \"t|2\", \"policy\": \"lru\", \"capacity\": \"1MiB\", \"capacity_bytes\": 1048576, "                  \
    "\"accesses\": 0, \"hits\": 0, \"misses\": 0, \"hit_rate\": null, \"bytes_read\": 0, \"byte_hit_rate\": null, "    \
    "\"evictions\": 0}"

static void machine_formats(void **state)
{
    (void)state;
    prints(FORMAT_CSV, 2,
           CSV_HEAD "\"a \"\"trace\"\", 1\n\",\"clock(bits=2,hand=1)\",50%,1048576,10,7,3,0.7,3145728,0.1,2\n"
                    "t|2,lru,1MiB,1048576,0,0,0,,0,,0\n");
    prints(FORMAT_CSV, 0, CSV_HEAD);
    prints(FORMAT_JSON, 2, "[\n" JSON_1 ",\n" JSON_2 "\n]\n");
    prints(FORMAT_JSON, 0, "[]\n");
    prints(FORMAT_JSONL, 2, JSON_1 "\n" JSON_2 "\n");
    prints(FORMAT_MARKDOWN, 2,
           "| trace | policy | capacity | capacity\\_bytes | accesses | hits | misses | hit\\_rate | bytes\\_read | "
           "byte\\_hit\\_rate | evictions |\n"
           "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
           "| a \"trace\", 1  | clock(bits=2,hand=1) | 50% | 1048576 | 10 | 7 | 3 | 0.7 | 3145728 | 0.1 | 2 |\n"
           "| t\\|2 | lru | 1MiB | 1048576 | 0 | 0 | 0 |  | 0 |  | 0 |\n");
}

static void a_table_for_people(void **state)
{
    (void)state;
    const size_t shown[] = {0, 1, 3, 7, 8};
    char *text = print(FORMAT_TABLE, 2, shown, 5);
    assert_string_equal(text, "trace          policy                capacity  hit rate  bytes read\n"
                              "a \"trace\", 1   clock(bits=2,hand=1)  1.00 MiB    70.0 %    3.00 MiB\n"
                              "t|2            lru                   1.00 MiB         -         0 B\n");
    free(text);
}

/* A whole run: what JSON says is what was stored, to the last bit. */
static void json_of_a_run(void **state)
{
    (void)state;
    struct made_up run;
    make_up(&run, 3, "l\xFFru", 512 * MADE_MIB, 33);
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    struct output *output;
    good(output_open(file, FORMAT_JSON, run_columns, run_column_count, NULL, 0, &output, &err), &err);
    good(output_record(output, &run.record, &err), &err);
    good(output_close(output, &err), &err);
    fclose(file);
    json_error_t why;
    json_t *array = json_loads(data, JSON_REJECT_DUPLICATES, &why);
    if (!array)
        flunk("%s: %s", why.text, data);
    json_t *object = json_array_get(array, 0);
    assert_int_equal(json_object_size(object), run_column_count);
    assert_true(json_real_value(json_object_get(object, "hit_rate")) == run.record.hit_rate);
    assert_true(json_real_value(json_object_get(object, "tokens_per_s")) == run.record.tokens_per_s);
    assert_int_equal(json_integer_value(json_object_get(object, "stall_ns")), run.record.numbers.stall_ns);
    assert_true(json_is_null(json_object_get(object, "killed_by")));
    assert_string_equal(json_string_value(json_object_get(object, "policy")), "l\xEF\xBF\xBDru");
    json_decref(array);
    free(data);
}

static void cells(void **state)
{
    (void)state;
    static const char *const names[] = {"name", "weights_bytes", "note"};
    static const char *const texts[] = {"llama", "1.70 GiB", "", "q\033[31m", "9 B", "x \"y\""};
    static const char *const expected[FORMATS] = {
        [FORMAT_TABLE] = "name     weights  note\nllama   1.70 GiB\nq [31m       9 B  x \"y\"\n",
        [FORMAT_CSV] = "name,weights_bytes,note\nllama,1.70 GiB,\nq\033[31m,9 B,\"x \"\"y\"\"\"\n",
        [FORMAT_JSON] = "[\n{\"name\": \"llama\", \"weights_bytes\": \"1.70 GiB\", \"note\": \"\"},\n"
                        "{\"name\": \"q\\u001B[31m\", \"weights_bytes\": \"9 B\", \"note\": \"x \\\"y\\\"\"}\n]\n",
        [FORMAT_JSONL] = "{\"name\": \"llama\", \"weights_bytes\": \"1.70 GiB\", \"note\": \"\"}\n"
                         "{\"name\": \"q\\u001B[31m\", \"weights_bytes\": \"9 B\", \"note\": \"x \\\"y\\\"\"}\n",
        [FORMAT_MARKDOWN] = "| name | weights\\_bytes | note |\n| --- | --- | --- |\n| llama | 1.70 GiB |  |\n"
                            "| q \\[31m | 9 B | x \"y\" |\n",
    };
    for (int format = 0; format < FORMATS; format++) {
        char *data;
        size_t size;
        FILE *file = open_memstream(&data, &size);
        good(output_cells(file, (enum format)format, names, 3, texts, 2, &err), &err);
        fclose(file);
        assert_string_equal(data, expected[format]);
        free(data);
    }
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    for (int format = 0; format < FORMATS; format++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        struct output *output;
        good(output_open(full, (enum format)format, replay_columns, replay_column_count, NULL, 0, &output, &err), &err);
        for (int i = 0; i < 1000; i++)
            good(output_record(output, &records[0], &err), &err);
        assert_false(output_close(output, &err));
        assert_int_equal(err.code, STATUS_IO);
        assert_non_null(strstr(err.text, "cannot write the output"));
        fclose(full);
    }
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    FILE *full = fopen("/dev/full", "w");
    assert_false(output_ranking(full, &run.record, 1, false, &err));
    assert_int_equal(err.code, STATUS_IO);
    fclose(full);
}

static char *rank(const struct run_record *runs, size_t count, bool color)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    good(output_ranking(file, runs, count, color, &err), &err);
    fclose(file);
    return data;
}

/* The word after a policy's name at the start of its line, up to the line's end: its verdict is the line's tail. */
static void verdict_is(const char *text, const char *policy, const char *verdict)
{
    const char *line = strstr(text, policy);
    assert_non_null(line);
    const char *end = strchr(line, '\n');
    const size_t length = strlen(verdict);
    if ((size_t)(end - line) < length || strncmp(end - length, verdict, length) != 0)
        flunk("expected \"%s\" at the end of \"%.*s\"", verdict, (int)(end - line), line);
}

static void the_ranking_names_the_best(void **state)
{
    (void)state;
    static struct made_up runs[7];
    struct run_record list[7];
    static const char *const policies[] = {"slow", "tie-a", "tie-b", "dies", "late", "never", "alone"};
    static const int64_t tpot[] = {300000000, 100000000, 100000000, 50000000, 100000000, -1, 5};
    static const int64_t ttft[] = {1000000, 2000000, 2000000, 1000000, 3000000, 7000000, 5};
    for (unsigned i = 0; i < 7; i++) {
        make_up(&runs[i], i, policies[i], (i == 6 ? 2048 : 1024) * MADE_MIB, 30);
        runs[i].record.numbers.tpot_mean_ns = tpot[i];
        runs[i].record.numbers.ttft_ns = ttft[i];
        list[i] = runs[i].record;
    }
    list[3].numbers.outcome = OUTCOME_KILLED;
    list[3].numbers.killed_by = "threshold";
    list[3].numbers.killed_phase = "decode";
    record_finish(&list[3]);
    char *text = rank(list, 7, false);
    assert_int_equal(strncmp(text, "llama-3.2-3b q4_0 on oneplus-15r, dense, chunked\n", 49), 0);
    static const char *const order[] = {"tie-a", "tie-b", "late", "slow", "never", "dies", "alone"};
    for (size_t i = 1; i < 7; i++)
        assert_true(strstr(text, order[i - 1]) < strstr(text, order[i]));
    verdict_is(text, "tie-a", "  ties for best");
    verdict_is(text, "tie-b", "  ties for best");
    verdict_is(text, "late", "  1.50x the TTFT");
    verdict_is(text, "slow", "  3.00x the time");
    verdict_is(text, "dies", "  killed by threshold in phase decode");
    const char *share = strstr(text, "dies") + strlen("dies");
    assert_int_equal(share[strspn(share, " ")], '-'); /* no hit rate of half a run */
    assert_non_null(strstr(text, "waiting  read/token"));
    verdict_is(text, "alone", "6.2500"); /* nothing to compare with */
    assert_null(strchr(text, '\033'));
    free(text);

    text = rank(list, 1, true);
    assert_non_null(strchr(text, '\033'));
    free(text);
    text = rank(list + 1, 2, true);
    verdict_is(text, "tie-a", "all tie\033[0m");
    free(text);
    text = rank(list, 0, false);
    assert_string_equal(text, "");
    free(text);

    /* Loading before the first token is waiting too. */
    list[1].numbers.load_ns = list[1].numbers.stall_ns = 300;
    list[1].numbers.virtual_time_ns = 800;
    text = rank(list + 1, 1, false);
    assert_non_null(strstr(text, "75.0 %"));
    free(text);

    list[1].policy = list[0].policy; /* two runs of one name */
    list[2].policy = "bad\n\033[31mname";
    list[2].seed = 2;
    text = rank(list, 3, false);
    char named[64];
    snprintf(named, sizeof named, "slow [%.8s]", list[1].run_key);
    assert_non_null(strstr(text, named));
    assert_non_null(strstr(text, "bad  [31mname"));
    assert_non_null(strstr(text, ", seed 2\n"));
    free(text);
}

static char *rank_with_sizes(const struct run_record *list, const struct ranking_bounds *known, size_t count)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    good(output_ranking_bounds(file, list, known, count, false, &err), &err);
    fclose(file);
    return data;
}

static void columns_are_those_that_runs_have(void **state)
{
    (void)state;
    static struct made_up runs[2];
    struct run_record list[2];
    for (unsigned i = 0; i < 2; i++) {
        make_up(&runs[i], i, i == 0 ? "lru" : "fifo", 1024 * MADE_MIB, 30);
        list[i] = runs[i].record;
        list[i].perplexity = list[i].tokens_per_s_cold = list[i].tokens_per_s_hot = (double)NAN;
        list[i].estimates = "";
    }
    const struct ranking_bounds known[2] = {{.weights_bytes = 0}, {.weights_bytes = 1536 * MADE_MIB}};
    char *text = rank(list, 2, false);
    assert_non_null(strstr(text, "tok/s  waiting  read/token  peak memory  verdict\n"));
    assert_null(strstr(text, "estimates"));
    free(text);
    list[0].tokens_per_s_cold = 2.5;
    list[0].perplexity = 6.4071;
    list[0].estimates = "device.runtime device.memory";
    list[1].estimates = "device.memory device.cool";
    text = rank_with_sizes(list, known, 2);
    assert_non_null(
        strstr(text, "tok/s  cold  hot  waiting  read/token  peak memory   weights  perplexity  verdict\n"));
    assert_non_null(strstr(text, "  2.50    -  "));
    assert_non_null(strstr(text, "         -      6.4071"));
    assert_non_null(strstr(text, "  1.50 GiB           -"));
    assert_non_null(
        strstr(text, "\nestimates: device.runtime device.memory device.cool (nobody measured or published these)\n"));
    free(text);
}

/* Many keys make lines of at most 110 characters, and not all are told. */
static void estimates_are_wrapped_and_cut(void **state)
{
    (void)state;
    static struct made_up run;
    char keys[1024] = "";
    make_up(&run, 0, "lru", 1024 * MADE_MIB, 30);
    for (unsigned i = 0; i < 24; i++)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%sdevice.key_%02u", i > 0 ? " " : "", i);
    run.record.estimates = keys;
    char *text = rank(&run.record, 1, false);
    const char *line = strstr(text, "\nestimates: device.key_00 ");
    assert_non_null(line);
    assert_non_null(strstr(line, "device.key_19\n           and 4 more: see the records' column estimates"));
    assert_null(strstr(line, "device.key_20"));
    for (line++; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 1, 110);
    free(text);
    strcpy(strrchr(keys, ' '), " ...");
    text = rank(&run.record, 1, false);
    assert_true(strstr(text, " ...") && !strstr(text, "more"));
    free(text);
}

static void memory_in_words(void **state)
{
    (void)state;
    static struct made_up runs[2];
    make_up(&runs[0], 0, "none", 0, 30);
    make_up(&runs[1], 1, "blocks(a)", 0, 30);
    struct run_record list[2] = {runs[0].record, runs[1].record};
    list[0].numbers.major_faults = 12;
    list[0].numbers.minor_faults = 34;
    list[0].numbers.refaults = 5;
    list[0].numbers.bytes_read = 256 * MADE_MIB;
    list[0].numbers.bytes_readahead_wasted = 2 * MADE_MIB;
    list[0].numbers.peak_resident_bytes = 200 * MADE_MIB;
    list[0].numbers.peak_file_bytes = 180 * MADE_MIB;
    list[0].numbers.peak_footprint_bytes = 20 * MADE_MIB;
    list[1].numbers.peak_file_bytes = 0;
    list[1].numbers.apps_killed = 1;
    list[1].kills = "mail(900) at 1.200 s by lmkd";
    char *text = rank(list, 1, false);
    assert_non_null(strstr(text,
                           "\n12 major and 34 minor faults, 5 pages came back; 256 MiB read, 2.00 MiB of it in vain; "
                           "peaks: 200 MiB resident, 180 MiB of it the file, 20.0 MiB footprint\n"));
    assert_non_null(strstr(text,
                           "\nprocess 1: 21 major and 22 minor faults, 23.0 MiB of page tables; process 2: 24 major "
                           "and 25 minor faults, 26.0 MiB of page tables\n"));
    assert_non_null(strstr(text, "\n2 apps were killed: mail(900) at 1.200 s by lmkd; camera(0) at 2.500 s by oom\n"));
    free(text);
    text = rank(list, 2, false);
    assert_non_null(strstr(text, "\nnone: 12 major and 34 minor faults, "));
    assert_non_null(strstr(text, "\nblocks(a): 1 app was killed: mail(900) at 1.200 s by lmkd\n"));
    assert_null(strstr(text, "blocks(a): 12"));
    free(text);
    list[1].numbers.apps_killed = 0;
    text = rank(list + 1, 1, false);
    assert_null(strstr(text, "killed"));
    assert_null(strstr(text, "faults"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_formats),
        cmocka_unit_test(a_table_for_people),
        cmocka_unit_test(json_of_a_run),
        cmocka_unit_test(cells),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(the_ranking_names_the_best),
        cmocka_unit_test(columns_are_those_that_runs_have),
        cmocka_unit_test(estimates_are_wrapped_and_cut),
        cmocka_unit_test(memory_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
