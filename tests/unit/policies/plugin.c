/* Shared objects as parts of a composition: what is loaded, what is refused, and with which words. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies/plugin.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

static char folder[32]; /* for the tests of this program only */

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pocketload-plugin-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void build(const char *source, const char *name, const char *flags, char path[128])
{
    char command[512];
    const char *cc = getenv("CC");
    snprintf(path, 128, "%s/%s.so", folder, name);
    snprintf(command, sizeof command, "%.100s -std=c17 -O1 -w -D_GNU_SOURCE -fPIC -shared -I. %s %s -o %s",
             cc != NULL && *cc != '\0' ? cc : "cc", flags, source, path);
    assert_int_equal(system(command), 0);
}

static void parts_of_files(void **unused)
{
    (void)unused;
    char mru[128], pin[128], text[POLICY_TEXT_MAX], expected[POLICY_TEXT_MAX];
    struct policy_choice choice, again;
    struct error err = {0};
    const char *path = NULL;
    build("policies/example/mru.c", "mru", "", mru);
    build("policies/example/template_pin.c", "pin", "", pin);

    snprintf(text, sizeof text, "%s( age = 2 ) + %s:10%%+next", mru, pin);
    snprintf(expected, sizeof expected, "%s(age=2)+%s(share=0.1)+next", mru, pin);
    if (!policy_parse(text, &choice, &err))
        fail_because("%s", err.text);
    assert_string_equal(choice.label, expected);
    assert_string_equal(choice.evict.policy->name, "mru");
    assert_int_equal(choice.evict.values[0], 2);
    assert_int_equal(choice.pin.values[0], 100000);
    assert_string_equal(choice.prefetch_text, "next");
    assert_true(policy_plugin_file(&choice.evict, &path));
    assert_string_equal(path, mru);
    assert_true(policy_plugin_file(&choice.pin, &path));
    assert_string_equal(path, pin);
    assert_false(policy_plugin_file(&choice.prefetch, &path));
    assert_false(policy_plugin_file(&choice.admit, &path));
    assert_true(policy_parse(choice.label, &again, &err));
    assert_memory_equal(&choice, &again, sizeof choice);

    /* Its own table bounds its parameters, and its kind its place. */
    snprintf(text, sizeof text, "%s(age=1000001)", mru);
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "mru.so: age: "));
    snprintf(text, sizeof text, "%s(aeg=1)", mru);
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "has no parameter \"aeg\": did you mean age?"));
    snprintf(text, sizeof text, "lru+%s", mru);
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "brings a second eviction policy: there is lru already"));
    snprintf(text, sizeof text, "%s+fifo", mru);
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "there is /tmp/pocketload-plugin-"));
    assert_false(policy_parse_part(POLICY_PIN, mru, &choice, &err));
    assert_non_null(strstr(err.text, "is an eviction policy, not a pin rule"));
    unlink(mru);
    unlink(pin);
}

/* A path without a folder is one of the current folder, never of those that the linker searches. */
static void current_folder(void **unused)
{
    (void)unused;
    char path[128], here[4096];
    struct policy_part part;
    struct error err = {0};
    build("policies/example/mru.c", "here", "", path);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    bool good = policy_parse_alone("here.so(1)", &part, &err);
    assert_false(policy_parse_alone("libc.so", &part, &err));
    assert_string_equal(err.text, "policy libc.so: no such file");
    assert_int_equal(chdir(here), 0);
    assert_true(good);
    unlink(path);
}

/* Opening a pipe would wait for who writes to it. */
static void a_pipe_is_not_opened(void **unused)
{
    (void)unused;
    char path[128], expected[256];
    struct policy_part part;
    struct error err = {0};
    snprintf(path, sizeof path, "%s/pipe.so", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_false(policy_parse_alone(path, &part, &err));
    alarm(0);
    snprintf(expected, sizeof expected, "policy %s: no regular file, expected a shared object", path);
    assert_string_equal(err.text, expected);
    unlink(path);
}

static void bad_objects(void **unused)
{
    (void)unused;
    static const struct {
        const char *defect, *flags, *message;
    } cases[] = {
        {"VERSION", "", ": contract version 7, this program speaks 1"},
        {"NO_SYMBOL", "-DDEFECT=NONE -DWANTS_NO_SYMBOL",
         ": it exports no symbol `policy`, expected `const struct policy policy`"},
        {"CONSTRUCTOR", "-DDEFECT=CONSTRUCTOR -DWANTS_CONSTRUCTOR",
         ": loading it crashed: signal 11 (Segmentation fault)"},
        {"CONSTRUCTOR_LOOP", "-DDEFECT=CONSTRUCTOR_LOOP -DWANTS_CONSTRUCTOR", ": loading it took longer than 5.0 s"},
        {"DESTRUCTOR", "-DDEFECT=NONE -DWANTS_DESTRUCTOR", ": unloading it crashed: signal 11 (Segmentation fault)"},
        {"WILD_NAME", "", ": loading it crashed: signal 11 (Segmentation fault)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], flags[96], expected[256];
        struct policy_choice choice;
        struct error err = {0};
        snprintf(flags, sizeof flags, "-DDEFECT=%s", cases[i].defect);
        build("tests/cli/plugins/bad.c", cases[i].defect, *cases[i].flags != '\0' ? cases[i].flags : flags, path);
        assert_false(policy_parse(path, &choice, &err));
        snprintf(expected, sizeof expected, "policy %s%s", path, cases[i].message);
        assert_string_equal(err.text, expected);
        assert_int_equal(err.code, STATUS_USAGE);
        unlink(path);
    }
}

/* ---- Tables ---- */

static size_t no_state(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return 0;
}

static void no_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
}

static bool admit_all(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view, (void)b;
    return true;
}

static struct policy sound(const struct policy_param *params, uint32_t param_count)
{
    return (struct policy){.abi = POLICY_ABI,
                           .size = sizeof(struct policy),
                           .kind = POLICY_ADMIT,
                           .name = "sound",
                           .summary = "keeps to the contract",
                           .param_count = param_count,
                           .params = params,
                           .state_size = no_state,
                           .init = no_init,
                           .ops.admit = {admit_all}};
}

static void refuse(const struct policy *table, size_t room, const char *message)
{
    struct error err = {0};
    if (policy_table_check(table, room, &err))
        fail_because("taken; expected \"%s\"", message);
    assert_int_equal(err.code, STATUS_USAGE);
    if (strstr(err.text, message) == NULL)
        fail_because("expected \"%s\" in \"%s\"", message, err.text);
}

static void tables_are_checked(void **unused)
{
    (void)unused;
    struct error err;
    struct policy table = sound(NULL, 0);
    assert_true(policy_table_check(&table, sizeof table, &err));
    refuse(&table, sizeof table - 1, "its table says it has ");
    refuse(&table, 4, "its symbol `policy` has 4 bytes");
#define REFUSE(member, value, message)                                                                                 \
    do {                                                                                                               \
        struct policy bad = table;                                                                                     \
        bad.member = value;                                                                                            \
        refuse(&bad, sizeof bad, message);                                                                             \
    } while (false)
    REFUSE(abi, 0, "contract version 0, this program speaks 1");
    REFUSE(size, 8, "its table says it has 8 bytes, expected ");
    REFUSE(kind, (enum policy_kind)9, "its table is of kind 9");
    REFUSE(name, NULL, "its table has no name");
    REFUSE(name, "", "its name is \"\", expected 1 to 31 characters of a-z, 0-9 and '-'");
    REFUSE(name, "Sound", "its name is \"Sound\"");
    REFUSE(name, "a-name-of-more-than-31-characters", "expected 1 to 31 characters");
    REFUSE(summary, NULL, "its table has no summary");
    REFUSE(summary, "two\nlines", "its summary holds the byte 0x0A");
    REFUSE(summary, "\xff", "its summary holds the byte 0xFF");
    REFUSE(needs, 64, "it needs 0x40, of which this program knows 0xf");
    REFUSE(param_count, 9, "it has 9 parameters, expected at most 8");
    REFUSE(param_count, 1, "it has 1 parameters, and no table of them");
    REFUSE(state_size, NULL, "its table lacks state_size(), which an admission rule must have");
    REFUSE(init, NULL, "lacks init()");
    REFUSE(ops.admit.admit, NULL, "lacks admit()");
    REFUSE(kind, POLICY_PREFETCH, "lacks plan(), which a prefetcher must have");
    REFUSE(kind, POLICY_EVICT, "lacks victim(), which an eviction policy must have");
    REFUSE(size, offsetof(struct policy, ops), "lacks admit()");
#undef REFUSE
    /* One that ends with the first function that it needs is as good as a whole one. */
    table.size = offsetof(struct policy, ops) + sizeof table.ops.admit;
    assert_true(policy_table_check(&table, table.size, &err));
    struct policy whole;
    memset(&whole, 0xFF, sizeof whole);
    policy_table_complete(&table, &whole);
    assert_ptr_equal(whole.ops.admit.admit, table.ops.admit.admit);
    assert_null(whole.ops.evict.remark);
}

static void parameters_are_checked(void **unused)
{
    (void)unused;
    static const struct {
        struct policy_param params[2];
        const char *message; /* NULL: good */
    } cases[] = {
        {{{"a", POLICY_COUNT, 0, 5, 5, "help"}, {"b", POLICY_PPM, 0, 1000000, 0, "help"}}, NULL},
        {{{"a", POLICY_KINDS, 0, 0, 63, "help"}, {"b", POLICY_BYTES, 0, INT64_MAX, 0, "help"}}, NULL},
        {{{"a", POLICY_COUNT, 0, 5, 5, "help"}, {"a", POLICY_COUNT, 0, 5, 5, "help"}}, "two parameters of the name a"},
        {{{"a", POLICY_COUNT, 0, 5, 6, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}},
         "has the default 6, expected from 0 to 5"},
        {{{"a", POLICY_COUNT, -1, 5, 5, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}}, "ranges from -1 to 5"},
        {{{"a", POLICY_COUNT, 6, 5, 5, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}}, "ranges from 6 to 5"},
        {{{"a", POLICY_PPM, 0, 1000001, 5, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}},
         "<= 1000000 parts per million"},
        {{{"a", (enum policy_unit)7, 0, 5, 5, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}}, "has unit 7"},
        {{{"a", POLICY_KINDS, 0, 0, 64, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}},
         "has the default 64, expected bits of kinds, to 63"},
        {{{"a", POLICY_KINDS, 0, 0, 1, "help"}, {"b", POLICY_BLOCKS, 0, 0, 0, "help"}}, "2 parameters that are lists"},
        {{{"a b", POLICY_COUNT, 0, 5, 5, "help"}, {"b", POLICY_COUNT, 0, 5, 5, "help"}},
         "its parameter's name is \"a b\""},
        {{{"a", POLICY_COUNT, 0, 5, 5, ""}, {"b", POLICY_COUNT, 0, 5, 5, "help"}}, "its table has no parameter's help"},
        {{{"a", POLICY_COUNT, 0, 5, 5, NULL}, {"b", POLICY_COUNT, 0, 5, 5, "help"}},
         "its table has no parameter's help"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy table = sound(cases[i].params, 2);
        struct error err;
        if (cases[i].message != NULL)
            refuse(&table, sizeof table, cases[i].message);
        else if (!policy_table_check(&table, sizeof table, &err))
            fail_because("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_files),     cmocka_unit_test(current_folder),
        cmocka_unit_test(bad_objects),        cmocka_unit_test(a_pipe_is_not_opened),
        cmocka_unit_test(tables_are_checked), cmocka_unit_test(parameters_are_checked),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
