/* What `policy check` finds: nothing in the built-ins, and the defect of each plug-in that has one. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policies/check.h"
#include "policies/plugin.h"
#include "tests/cmocka_fixed.h"

static void check_text(const char *text, struct check_report *report)
{
    struct policy_part part;
    struct error err = {0};
    if (!policy_parse_alone(text, &part, &err) || !policy_check(&part, report, &err))
        fail_because("%s: %s", text, err.text);
}

static void expect_kept(const char *text)
{
    struct check_report report;
    check_text(text, &report);
    for (int rule = 0; rule < CHECK_RULES; rule++)
        if (report.rules[rule].verdict == CHECK_BROKEN)
            fail_because("%s: %s: %s", text, report.rules[rule].rule, report.rules[rule].why);
    assert_int_equal(report.broken, 0);
    assert_in_range(report.asked, 5, CHECK_RULES);
    assert_true(report.calls > 100);
}

static void built_ins_keep_the_rules(void **unused)
{
    (void)unused;
    size_t count;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++) {
        char text[64];
        bool names = all[i]->param_count > 0 && all[i]->params[0].unit == POLICY_BLOCKS;
        snprintf(text, sizeof text, "%s%s", all[i]->name, names ? "(0)" : "");
        expect_kept(text);
    }
    expect_kept("next:64");
}

static void build(const char *folder, const char *name, const char *source, const char *flags, char path[128])
{
    char command[512];
    const char *cc = getenv("CC");
    snprintf(path, 128, "%s/%s.so", folder, name);
    snprintf(command, sizeof command, "%.100s -std=c17 -fPIC -shared -I. %s %s -o %s",
             cc != NULL && *cc != '\0' ? cc : "cc", flags, source, path);
    assert_int_equal(system(command), 0);
}

/* tests/cli/plugins/bad.c with a defect. */
static void build_bad(const char *folder, const char *defect, char path[128])
{
    char flags[96];
    snprintf(flags, sizeof flags, "-O1 -w -D_GNU_SOURCE -DDEFECT=%s", defect);
    build(folder, defect, "tests/cli/plugins/bad.c", flags, path);
}

/* What users start from compiles without a warning and keeps the rules. */
static void examples_keep_the_rules(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mru", "template_evict", "template_pin", "template_prefetch", "template_admit"};
    char folder[] = "/tmp/pocketload-check-XXXXXX", path[128], source[64];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(source, sizeof source, "policies/example/%s.c", names[i]);
        build(folder, names[i], source,
              "-O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror",
              path);
        expect_kept(path);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void defects_are_found(void **unused)
{
    (void)unused;
    static const struct {
        const char *defect;
        enum check_rule rule;
        const char *why; /* part of what is said */
    } cases[] = {
        {"CRASH", CHECK_RETURNS,
         "victim() crashed: signal 11 (Segmentation fault); scene \"equal blocks\", seed 1, step "},
        {"ENDS", CHECK_RETURNS, "victim() ended the process (exit code 3); scene "},
        {"LOOP", CHECK_RETURNS, "victim() took longer than 5.0 s; scene "},
        {"PINNED", CHECK_VICTIM, "victim() answers with block 0: it is pinned; scene "},
        {"ABSENT", CHECK_VICTIM, ": it is not resident; scene "},
        {"OUTSIDE", CHECK_VICTIM, "victim() answers with block 24: there are 24 blocks; scene "},
        {"SILENT", CHECK_ANSWERS, "victim() answers BLOCK_NONE although block "},
        {"BEFORE", CHECK_GUARDS, "on_insert() writes before its state memory; scene "},
        {"BEHIND", CHECK_GUARDS, "on_insert() writes behind its "},
        {"VIEW", CHECK_VIEW, "on_insert() changes view->state; scene "},
        {"SHARED", CHECK_REPEATS, "another answer than in the run before"},
        {"RELEASE", CHECK_RELEASE, ": the running step uses it; scene "},
        {"REMARK", CHECK_REMARK, "remark() writes the byte 0x0A"},
        {"REMARK_LONG", CHECK_REMARK, "remark() writes behind the "},
        {"GREEDY", CHECK_STATE_SIZE, "state_size() asks for "},
        {"MOODY", CHECK_STATE_SIZE, "state_size() answers "},
    };
    char folder[] = "/tmp/pocketload-check-XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    build_bad(folder, "NONE", path);
    expect_kept(path);
    unlink(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check_report report;
        build_bad(folder, cases[i].defect, path);
        check_text(path, &report);
        const char *why = report.rules[cases[i].rule].why;
        if (report.rules[cases[i].rule].verdict != CHECK_BROKEN || strstr(why, cases[i].why) == NULL)
            fail_because("%s: expected \"%s\", found \"%s\"", cases[i].defect, cases[i].why, why);
        assert_true(report.broken >= 1);
        /* What a crash leaves open is not called kept. */
        if (cases[i].rule == CHECK_RETURNS)
            assert_int_equal(report.rules[CHECK_VIEW].verdict, CHECK_UNFINISHED);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* ---- Other kinds, with tables made here ---- */

static size_t no_state(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return 0;
}

static void no_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
}

static uint32_t plan_twice(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)view;
    for (uint32_t i = 0; i < 2 && i < max; i++)
        out[i] = 0;
    return max < 2 ? max : 2;
}

static uint32_t plan_nobody(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)max;
    out[0] = view->block_count;
    return 1;
}

static uint32_t plan_too_many(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)view;
    for (uint32_t i = 0; i <= max; i++)
        out[i] = i;
    return max;
}

static uint32_t plan_too_much(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)view, (void)out;
    return max + 1;
}

static uint32_t reach_one(const void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 1;
}

static uint32_t reach_nothing(const void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 0;
}

static bool admit_by_lot(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view, (void)b;
    static unsigned lots;
    return ++lots % 3 == 0;
}

static struct policy table_of(enum policy_kind kind)
{
    return (struct policy){.abi = POLICY_ABI,
                           .size = sizeof(struct policy),
                           .kind = kind,
                           .name = "made",
                           .summary = "made for a test",
                           .state_size = no_state,
                           .init = no_init};
}

static void expect_broken(const struct policy *policy, enum check_rule rule, const char *why)
{
    struct policy_part part = {.policy = policy};
    struct check_report report;
    struct error err;
    assert_true(policy_check(&part, &report, &err));
    if (report.rules[rule].verdict != CHECK_BROKEN || strstr(report.rules[rule].why, why) == NULL)
        fail_because("expected \"%s\", found \"%s\"", why, report.rules[rule].why);
}

static void plans_are_checked(void **unused)
{
    (void)unused;
    struct policy pin = table_of(POLICY_PIN), prefetch = table_of(POLICY_PREFETCH), admit = table_of(POLICY_ADMIT);
    pin.ops.pin.plan = plan_twice;
    expect_broken(&pin, CHECK_PLAN, "plan() names block 0 twice; scene ");
    pin.ops.pin.plan = plan_nobody;
    expect_broken(&pin, CHECK_PLAN, "plan() names block 24: there are 24 blocks");
    pin.ops.pin.plan = plan_too_many;
    expect_broken(&pin, CHECK_PLAN, "plan() writes more than the ");
    pin.ops.pin.plan = plan_too_much;
    expect_broken(&pin, CHECK_PLAN, "plan() answers ");
    prefetch.ops.prefetch = (struct prefetch_ops){reach_one, plan_nobody};
    expect_broken(&prefetch, CHECK_PLAN, "plan() names block 24: there are 24 blocks");
    prefetch.ops.prefetch = (struct prefetch_ops){reach_nothing, plan_nobody};
    expect_broken(&prefetch, CHECK_REACH, "reach() answers 0, expected 1 to 64");
    admit.ops.admit.admit = admit_by_lot;
    expect_broken(&admit, CHECK_REPEATS, "another answer than in the run before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_ins_keep_the_rules),
        cmocka_unit_test(examples_keep_the_rules),
        cmocka_unit_test(defects_are_found),
        cmocka_unit_test(plans_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
