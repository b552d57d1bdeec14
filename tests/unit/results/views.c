/* What the views of the database take for one group. */
#include "made_up.h"
#include "tests/cmocka_fixed.h"

static struct error err;

#define ok(call) good(call, &err)

/* A config that was edited between two runs of an experiment is no repeat; seed, policy and budget are no part of
 * a setting. */
static void the_ranking_keeps_settings_apart(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    (void)state;
    char *folder = test_folder();
    ok(store_open(test_path(folder, "runs.db", path), &store, &err));
    for (unsigned i = 0; i < 6; i++) {
        make_up(&run, i, i % 2 ? "fifo" : "lru", 512 * MADE_MIB, 10 * i);
        run.record.seed = 1 + i / 4;
        ok(put_configured(store, &run, i / 2 == 1 ? "\"flash_max\":2" : "\"flash_max\":1", &err));
    }
    make_up(&run, 6, "lru", 1024 * MADE_MIB, 0);
    ok(put_configured(store, &run, "\"flash_max\":1", &err));
    assert_int_equal(query(store, "SELECT count(DISTINCT setting) FROM run"), 2);
    assert_int_equal(query(store,
                           "SELECT count(*) FROM run WHERE setting LIKE '%\"flash_max\":2%' AND setting NOT LIKE "
                           "'%made-up%' AND setting LIKE '%\"lanes\":4%' AND setting NOT LIKE '%budget%'"),
                     2);
    assert_int_equal(query(store, "SELECT count(*) FROM ranking WHERE place = 1"), 4);
    ok(store_close(store, &err));
    unlink(path);
    rmdir(folder);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_ranking_keeps_settings_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
