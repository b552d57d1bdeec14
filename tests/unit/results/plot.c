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
        return;
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
    contains(*state, "hit_rate", ".csv",
             "budget_bytes,\"fifo\",\"lru\",\"pinned-lru\",\"prefetch-next\",title\n536870912,");
    contains(*state, "peak_memory", ".svg", "1.50 GiB");
    contains(*state, "memory_over_time", ".svg", "weights in flight");
    contains(*state, "token_latency", ".svg", "lru (first: ");
}

/* If a shell, gnuplot's macros, its markup, its formats or its escapes saw these, a file would appear, or the text
 * would change. */
static void names_are_data(void **state)
{
    if (!has_gnuplot())
        return;
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
    contains(*state, "hit_rate", ".svg", "a 'q'  b c /n # ; &lt;&amp;>");
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
        return;
    char path[256], folder[256];
    struct store *store;
    static struct made_up run;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    make_up(&run, 1, "lru", 512 * MADE_MIB, 0);
    good(put_made_up(store, &run, &err), &err);
    unsigned made = 0;
    struct plot_spec spec = {.folder = test_path(*state, "figures", folder), .run_key = run.key};
    good(plot_all(store, &spec, count_made, &made, &err), &err);
    assert_int_equal(made, 10);

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
    contains(*state, "peak_memory", ".svg", "lru: killed");

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
        return;
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
        cmocka_unit_test_setup_teardown(a_bad_gnuplot_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_font_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
