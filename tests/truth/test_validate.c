/* `validate` on all measured data that is there: no row outside its limit, and the limits that were promised. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "results/validate.h"
#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

static const struct validation_summary *summary_of(const struct validation *validation, const char *family,
                                                   const char *quantity)
{
    for (size_t i = 0; i < validation->summary_count; i++)
        if (strcmp(validation->summaries[i].family, family) == 0 &&
            strcmp(validation->summaries[i].quantity, quantity) == 0)
            return &validation->summaries[i];
    fail_because("no rows of %s, %s", family, quantity);
    return NULL;
}

/* At least so many rows, and none further off than that. */
static void all_within(const struct validation *validation, const char *family, const char *quantity, size_t rows,
                       double percent)
{
    const struct validation_summary *summary = summary_of(validation, family, quantity);
    print_message("# %s, %s: %zu rows, median %.2f %%, worst %.2f %% (%s)\n", family, quantity, summary->rows,
                  summary->median_percent, summary->worst_percent, summary->worst);
    assert_true(summary->rows >= rows && summary->off == 0);
    assert_true(summary->worst_percent <= percent);
}

static void each_limit_holds(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    static const char *const paths[] = {TRUTH_FOLDER}, *const profiles[] = {"configs", NULL};
    const struct validate_options options = {.paths = paths, .path_count = 1, .profile_dirs = profiles};
    struct validation validation;
    struct error err;
    size_t off, skipped;
    if (!validate(&options, &validation, &err))
        fail_because("%s", err.text);
    for (size_t i = 0; i < validation.row_count; i++)
        if (strcmp(validation.rows[i].verdict, "off") == 0)
            print_message("# %s: %s, %s: %.6g, measured %.6g\n", validation.rows[i].source, validation.rows[i].subject,
                          validation.rows[i].quantity, validation.rows[i].simulated, validation.rows[i].measured);
    assert_true(validation_good(&validation, &off, &skipped));
    all_within(&validation, "in-ram", "weights_bytes", 21, 5);
    all_within(&validation, "in-ram", "kv_bytes", 21, 0);
    all_within(&validation, "in-ram", "compute_bytes", 21, 1);
    all_within(&validation, "in-ram", "decode_tokens_per_s_from_others", 15, 20);
    assert_true(summary_of(&validation, "flash", "bytes_per_s")->median_percent <= 10);
    all_within(&validation, "streaming", "tokens_per_s", 2, 10);
    all_within(&validation, "larger-than-ram", "ns_per_token", 3, 10);
    all_within(&validation, "page-cache", "major_faults", 19, 3);
    all_within(&validation, "policies", "misses", 252, 0);
    all_within(&validation, "policies", "hits", 19, 0);
    for (size_t i = 0; i < validation.row_count; i++) {
        const struct validation_row *row = &validation.rows[i];
        if (strcmp(row->quantity, "bytes_read_per_token") == 0 && strstr(row->subject, "cache 0 MiB") != NULL)
            assert_true(fabs(row->error_percent) <= 1 && row->limit_percent == 1);
    }
    validation_free(&validation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_limit_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
