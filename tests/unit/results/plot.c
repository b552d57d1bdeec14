/* Figures: what is made, what stands in it, and names that would be commands. */
#include "made_up.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/files.h"
#include "results/plot.h"
#include "tests/cmocka_fixed.h"

static struct error err;

static int set_up(void **state)
{
    *state = test_folder();
    return 0;
}

static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            remove(path);
    }
    if (dir)
        closedir(dir);
}

static int tear_down(void **state)
{
    char path[256];
    empty(test_path(*state, "figures", path));
    empty(*state);
    remove(path);
    rmdir(*state);
    free(*state);
    return 0;
}

static bool has_gnuplot(void)
{
    if (system("gnuplot --version >/dev/null 2>&1") == 0)
        return true;
    print_message("# skipped: gnuplot is not installed\n");
    return false;
}

static const char *const names[] = {"hit_rate", "stall_per_token", "peak_memory", "memory_over_time", "token_latency"};

static void count_made(void *context, const char *path)
{
    assert_int_equal(access(path, R_OK), 0);
    ++*(unsigned *)context;
}

static char *read_figure(const char *folder, const char *name, const char *ending)
{
    char path[300], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/figures/%s%s", folder, name, ending);
    good(file_read(path, 1 << 24, false, &data, &size, &err), &err);
    return data;
}

static void contains(const char *folder, const char *name, const char *ending, const char *text)
{
    char *data = read_figure(folder, name, ending);
    if (!strstr(data, text))
        flunk("%s%s lacks \"%s\"", name, ending, text);
    free(data);
}

/* Four policies over four budgets; plots them. */
static void plot(const char *folder, const char *const policies[4], const char *experiment, unsigned expected)
{
    char path[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(folder, "runs.db", path), &store, &err), &err);
    for (unsigned i = 0; i < 16; i++) {
        make_up(&run, i, policies[i % 4], (512 + 512 * (i / 4)) * MADE_MIB, i % 4 * 10 + i / 4 * 5);
        run.record.experiment = experiment;
        good(put_made_up(store, &run, &err), &err);
    }
    unsigned made = 0;
    const struct plot_spec spec = {.folder = test_path(folder, "figures", path)};
    good(plot_all(store, &spec, count_made, &made, &err), &err);
    assert_int_equal(made, expected);
    good(store_close(store, &err), &err);
}

static void five_figures_with_their_data_and_scripts(void **state)
{
    if (!has_gnuplot())
        skip();
    static const char *const policies[] = {"lru", "fifo", "pinned-lru", "prefetch-next"};
    plot(*state, policies, "demo", 10);
    for (size_t i = 0; i < 5; i++) {
        char *script = read_figure(*state, names[i], ".gp");
        free(script);
        contains(*state, names[i], ".svg", "demo \xC2\xB7 llama-3.2-3b \xC2\xB7 q4_0 \xC2\xB7 oneplus-15r");
        contains(*state, names[i], ".svg", names[i]); /* ids that do not collide in one page */
        contains(*state, names[i], ".png", "PNG");
    }
    contains(*state, "hit_rate", ".svg", "<text>prefetch-next</text>");
    contains(*state, "hit_rate", ".svg", "budget for weights (GiB)");
    contains(
        *state, "hit_rate", ".csv",
        "budget_bytes,\"fifo\",\"lru\",\"pinned-lru\",\"prefetch-next\",\"killed: fifo\",\"killed: lru\",\"killed: "
        "pinned-lru\",\"killed: prefetch-next\",title,subtitle\n536870912,");
    contains(*state, "peak_memory", ".svg", "1.50 GiB");
    contains(*state, "memory_over_time", ".svg", "weights being read");
    contains(*state, "memory_over_time", ".svg", "<text>mapped file</text>");
    contains(*state, "memory_over_time", ".svg", "<text>zram, of all apps</text>");
    contains(*state, "memory_over_time", ".csv", ",12582912,11534336,13631488,"); /* page tables, file, zram */
    contains(*state, "peak_memory", ".svg", "<text>mapped file</text>");
    contains(*state, "peak_memory", ".csv", ",7340032,"); /* file and page tables */
    contains(*state, "memory_over_time", ".svg", "prefetch-next \xC2\xB7 budget 2.00 GiB");
    contains(*state, "memory_over_time", ".svg", "memory (GiB)");
    contains(*state, "peak_memory", ".csv", ",34603008,"); /* streamed, at one sample only */
    contains(*state, "memory_over_time", ".csv", ",34603008,");
    contains(*state, "token_latency", ".svg", "lru \xC2\xB7 first after ");
}

/* If a shell, gnuplot's macros, its markup, its formats or its escapes saw these, a file would appear, or the text
 * would change. */
static void names_are_data(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256], shell[600], call[600];
    test_path(*state, "figures/ran", path);
    snprintf(shell, sizeof shell, "`touch %s` $(touch %s)", path, path);
    snprintf(call, sizeof call, "'.system('touch %s').'", path);
    const char *const policies[] = {shell, "%s %d %n @x {/Symbol a}_b^c", "a \"q\", b\nc \\n # ; <&>", call};
    plot(*state, policies, "e'; system(\"touch ran\") #\n\xFF\xE9\x95\xBF", 10);
    assert_false(test_exists(path, ""));
    test_path(*state, "ran", path);
    assert_false(test_exists(path, ""));
    contains(*state, "hit_rate", ".svg", "<text>%s %d %n @x {/Symbol a}_b^c</text>");
    contains(*state, "hit_rate", ".svg", "a 'q', b c /n # ; &lt;&amp;>");
    contains(*state, "peak_memory", ".svg", "%s %d %n @x");
    contains(*state, "hit_rate", ".csv", "\"'.system('touch ");
    for (size_t i = 0; i < 5; i++) {
        char *script = read_figure(*state, names[i], ".gp");
        if (strstr(script, "touch") || strstr(script, "Symbol"))
            flunk("a name stands in %s.gp", names[i]);
        free(script);
    }
}

static void one_run_and_one_budget(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256], folder[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    make_up(&run, 1, "lru", 512 * MADE_MIB, 0);
    for (unsigned i = 0; i < MADE_SAMPLES; i++)
        run.samples[i].class_bytes[MEMORY_FILE] = run.samples[i].class_bytes[MEMORY_ZRAM] = 0;
    good(put_made_up(store, &run, &err), &err);
    unsigned made = 0;
    struct plot_spec spec = {.folder = test_path(*state, "figures", folder), .run_key = run.key};
    good(plot_all(store, &spec, count_made, &made, &err), &err);
    assert_int_equal(made, 10);
    char *script = read_figure(*state, "memory_over_time", ".gp");
    assert_null(strstr(script, "mapped file"));
    assert_null(strstr(script, "zram"));
    assert_non_null(strstr(script, "page tables"));
    free(script);

    /* Killed before its first token: nothing to say about hits, stalls, tokens or time; older figures go. */
    run.record.numbers.outcome = OUTCOME_KILLED;
    run.record.numbers.killed_by = "threshold";
    record_finish(&run.record);
    run.result.token_count = 0;
    run.result.sample_count = 1;
    good(put_made_up(store, &run, &err), &err);
    made = 0;
    good(plot_all(store, &spec, count_made, &made, &err), &err);
    assert_int_equal(made, 2);
    assert_true(test_exists(folder, "/peak_memory.png"));
    assert_false(test_exists(folder, "/hit_rate.png"));
    assert_false(test_exists(folder, "/hit_rate.gp"));
    contains(*state, "peak_memory", ".svg", "killed: lru");

    spec.run_key = "nobody";
    assert_false(plot_all(store, &spec, NULL, NULL, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    spec = (struct plot_spec){.folder = folder, .experiment = "none such"};
    assert_false(plot_all(store, &spec, NULL, NULL, &err));
    assert_int_equal(err.code, STATUS_IO);
    spec = (struct plot_spec){.folder = path}; /* a file */
    assert_false(plot_all(store, &spec, NULL, NULL, &err));
    assert_int_equal(err.code, STATUS_IO);
    good(store_close(store, &err), &err);
}

/* Plots the experiment; what plot had to note. */
static char *plot_notes(struct store *store, const char *folder, const char *run_key)
{
    char path[256], *notes;
    size_t size;
    unsigned made = 0;
    FILE *file = open_memstream(&notes, &size);
    assert_non_null(file);
    const struct plot_spec spec = {.folder = test_path(folder, "figures", path), .run_key = run_key, .notes = file};
    good(plot_all(store, &spec, count_made, &made, &err), &err);
    fclose(file);
    return notes;
}

/* Killed runs are on the axis, not on the curve; the stall is that of later tokens. */
static void curves_tell_what_was_simulated(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    for (unsigned i = 0; i < 4; i++) {
        make_up(&run, i, i % 2 ? "lru" : "kinds(embedding,output)", (1 + i / 2) * 1024 * MADE_MIB, 20);
        run.record.numbers.outcome = i == 3 ? OUTCOME_KILLED : OUTCOME_COMPLETED;
        run.record.numbers.killed_by = i == 3 ? "threshold" : "";
        record_finish(&run.record);
        for (unsigned t = 0; t < MADE_TOKENS; t++)
            run.tokens[t].stall_ns = t == 0 ? 99000000 : 5000000 + i % 2;
        good(put_configured(store, &run, "\"kill\":\"threshold\",\"kill_threshold\":3221225472", &err), &err);
    }
    free(plot_notes(store, *state, NULL));
    contains(*state, "stall_per_token", ".csv", "\n1073741824,5000000,5000001,,,\"");
    contains(*state, "stall_per_token", ".csv", "\n2147483648,5000000,,,1,\"");
    contains(*state, "stall_per_token", ".svg", "<text>killed</text>");
    contains(*state, "stall_per_token", ".svg", "stall per later token (ms)");
    contains(*state, "hit_rate", ".svg", "<text>kinds(embedding,output)</text>");
    contains(*state, "peak_memory", ".svg", "<text>killed: lru</text>");
    contains(*state, "peak_memory", ".svg", "<text>killed above 3.00 GiB</text>");
    good(store_close(store, &err), &err);
}

/* Configs of one name that differ: never a mean of both. */
static void an_edited_config_is_no_repeat(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    for (unsigned i = 0; i < 4; i++) { /* two seeds before the edit, two after it */
        make_up(&run, i, "lru", 1024 * MADE_MIB, 0);
        run.record.seed = 1 + i % 2;
        run.record.hit_rate = 0.125 * (double)(i + 1);
        run.record.numbers.peak_memory_bytes = i == 2 ? 77 : 50;
        good(put_configured(store, &run, i < 2 ? "\"flash_max\":1" : "\"flash_max\":2", &err), &err);
    }
    make_up(&run, 0, "lru", 1024 * MADE_MIB, 0); /* for its key */
    char *notes = plot_notes(store, *state, NULL);
    assert_non_null(strstr(notes, "note: the experiment has 2 configs"));
    free(notes);
    contains(*state, "hit_rate", ".csv", "\n1073741824,43.75,");
    contains(*state, "peak_memory", ".csv", "subtitle\n1,1,"); /* one bar for both seeds, with the higher peak */
    contains(*state, "peak_memory", ".csv", ",77,\"lru\"");
    char *csv = read_figure(*state, "peak_memory", ".csv");
    assert_null(strstr(csv, "\n2,"));
    free(csv);
    contains(*state, "hit_rate", ".svg", "(1 of 2 configs: the last)");
    free(plot_notes(store, *state, run.key));
    contains(*state, "hit_rate", ".csv", "\n1073741824,18.75,");
    contains(*state, "hit_rate", ".svg", "(1 of 2 configs: of the run)");
    good(store_close(store, &err), &err);
}

/* Long names are cut within their parts, so that what differs is still there. */
static void labels_name_what_differs(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256];
    struct store *store;
    static struct made_up run;
    static const char *const quants[] = {"q4_0", "q8_0"};
    static const char *const workloads[] = {"dense(prompt_tokens=64)", "dense(prompt_tokens=128)"};
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    for (unsigned i = 0; i < 4; i++) {
        make_up(&run, i, "lru", 1024 * MADE_MIB, 0);
        run.record.model =
            i < 2 ? "a-model-with-a-name-that-is-far-too-long-1b" : "a-model-with-a-name-that-is-far-too-long-8b";
        run.record.quant = quants[i / 2];
        run.record.workload = workloads[i % 2];
        run.record.numbers.outcome = OUTCOME_COMPLETED;
        good(put_made_up(store, &run, &err), &err);
    }
    free(plot_notes(store, *state, NULL));
    contains(*state, "peak_memory", ".svg",
             "made-up \xC2\xB7 oneplus-15r \xC2\xB7 dense \xC2\xB7 chunked \xC2\xB7 lru");
    contains(*state, "peak_memory", ".svg", "-8b \xC2\xB7 q8_0 \xC2\xB7 ");
    contains(*state, "peak_memory", ".svg", "=128</text>");
    contains(*state, "hit_rate", ".svg", "-1b \xC2\xB7 q4_0 \xC2\xB7 prompt_tokens=64</text>");
    good(store_close(store, &err), &err);
}

/* A single token has no latency after the first: no empty figure, and a word on it. A killed run's last row is no
 * token.
 */
static void one_token_has_no_curve(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256], folder[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    make_up(&run, 1, "lru", 512 * MADE_MIB, 0);
    run.record.numbers.outcome = OUTCOME_KILLED;
    run.record.numbers.killed_by = "threshold";
    run.record.numbers.tokens = 1;
    record_finish(&run.record);
    run.result.token_count = 2;
    good(put_made_up(store, &run, &err), &err);
    char *notes = plot_notes(store, *state, NULL);
    assert_non_null(strstr(notes, "note: token_latency: not drawn: no run has a second token\n"));
    free(notes);
    assert_false(test_exists(test_path(*state, "figures", folder), "/token_latency.png"));
    good(store_close(store, &err), &err);
}

/* A gnuplot that is missing, fails, or draws nothing and exits with 0. */
static void a_bad_gnuplot_is_an_error(void **state)
{
    static const struct {
        const char *script, *expected;
    } cases[] = {
        {NULL, "gnuplot is not installed"},
        {"echo 'line 3: bad' >&2; exit 1", "gnuplot failed: line 3: bad"},
        {"exit 0", "gnuplot drew nothing"},
        {"for i in hit_rate; do echo '<?xml' >$i.svg; echo x >$i.png; done", "no figure with text"},
    };
    char path[256], folder[256], tool[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    assert_false(plot_all(store, &(struct plot_spec){.folder = *state}, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "no run to plot"));
    make_up(&run, 1, "lru", 512 * MADE_MIB, 0);
    good(put_made_up(store, &run, &err), &err);
    char *old = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", *state, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].script) {
            FILE *file = fopen(test_path(*state, "gnuplot", tool), "w");
            assert_non_null(file);
            fprintf(file, "#!/bin/sh\n%s\n", cases[i].script);
            fclose(file);
            assert_int_equal(chmod(tool, 0755), 0);
        }
        const struct plot_spec spec = {.folder = test_path(*state, "figures", folder)};
        assert_false(plot_all(store, &spec, NULL, NULL, &err));
        assert_int_equal(err.code, STATUS_IO);
        if (!strstr(err.text, cases[i].expected))
            flunk("expected \"%s\" in \"%s\"", cases[i].expected, err.text);
    }
    setenv("PATH", old, 1);
    free(old);
    good(store_close(store, &err), &err);
}

/* gnuplot itself exits with 0 and says nothing. */
static void a_missing_font_is_an_error(void **state)
{
    if (!has_gnuplot())
        skip();
    char path[256], folder[256], fonts[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    make_up(&run, 1, "lru", 512 * MADE_MIB, 0);
    good(put_made_up(store, &run, &err), &err);
    const char config[] = "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">"
                          "<fontconfig><dir>/nonexistent</dir></fontconfig>";
    good(file_write(test_path(*state, "fonts.conf", fonts), config, sizeof config - 1, &err), &err);
    assert_int_equal(setenv("FONTCONFIG_FILE", fonts, 1), 0);
    const struct plot_spec spec = {.folder = test_path(*state, "figures", folder)};
    assert_false(plot_all(store, &spec, NULL, NULL, &err));
    unsetenv("FONTCONFIG_FILE");
    assert_int_equal(err.code, STATUS_IO);
    assert_non_null(strstr(err.text, "fonts-dejavu-core"));
    assert_null(strchr(err.text, '\n'));
    good(store_close(store, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(five_figures_with_their_data_and_scripts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_run_and_one_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(curves_tell_what_was_simulated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_edited_config_is_no_repeat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_name_what_differs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_token_has_no_curve, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_gnuplot_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_font_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
