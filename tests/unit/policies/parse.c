/* Compositions as users write them: what they mean, their canonical text, and what is said about wrong ones. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policies/plugin.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void good_texts(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *label, *evict, *pin, *prefetch, *admit;
    } cases[] = {
        {"lru", "lru", "lru", "none", "none", "none"},
        {" fifo ", "fifo", "fifo", "none", "none", "none"},
        {"lru()", "lru", "lru", "none", "none", "none"},
        {"pinned-lru", "pinned-lru", "lru", "hot", "none", "none"},
        {"pinned-lru(512MiB)", "pinned-lru(512MiB)", "lru", "hot(512MiB)", "none", "none"},
        {"pinned-lru( size = 1024 KiB )", "pinned-lru(1MiB)", "lru", "hot(1MiB)", "none", "none"},
        {"pinned-lru(0B)", "pinned-lru", "lru", "hot", "none", "none"},
        {"prefetch-next", "prefetch-next", "lru", "none", "next", "none"},
        {"prefetch-next(depth=1)", "prefetch-next", "lru", "none", "next", "none"},
        {"prefetch-next(2)", "prefetch-next(depth=2)", "lru", "none", "next(depth=2)", "none"},
        {"pinned-lru(64MB)+next(3)", "pinned-lru(64MB)+next(depth=3)", "lru", "hot(64MB)", "next(depth=3)", "none"},
        {"lru+hot(64MiB)+next", "lru+hot(64MiB)+next", "lru", "hot(64MiB)", "next", "none"},
        {"next + fifo", "next+fifo", "fifo", "none", "next", "none"},
        {"fifo+kinds", "fifo+kinds", "fifo", "kinds", "none", "none"},
        {"fifo+kinds(output,norm,embedding)", "fifo+kinds", "fifo", "kinds", "none", "none"},
        {"fifo+kinds(expert, layer)", "fifo+kinds(layer,expert)", "fifo", "kinds(layer,expert)", "none", "none"},
        {"fifo+kinds(kinds=norm)", "fifo+kinds(norm)", "fifo", "kinds(norm)", "none", "none"},
        {"lru+blocks(lm_head, embed,lm_head)", "lru+blocks(embed,lm_head)", "lru", "blocks(embed,lm_head)", "none",
         "none"},
        {"lru+blocks(blocks=7)", "lru+blocks(7)", "lru", "blocks(7)", "none", "none"},
        {"lru+blocks(a+b)", "lru+blocks(a+b)", "lru", "blocks(a+b)", "none", "none"},
        {"lru+blocks(blocks=x=y,a)", "lru+blocks(a,x=y)", "lru", "blocks(a,x=y)", "none", "none"},
        {"lru+blocks(blocks=x=y)", "lru+blocks(blocks=x=y)", "lru", "blocks(blocks=x=y)", "none", "none"},
        {"lru+hot+next+bypass-large(25%)", "lru+hot+next+bypass-large(share=0.25)", "lru", "hot", "next",
         "bypass-large(share=0.25)"},
        {"probabilistic:10%+fifo", "probabilistic(chance=0.1)+fifo", "fifo", "none", "none",
         "probabilistic(chance=0.1)"},
        {"pinned-lru+always", "pinned-lru+always", "lru", "hot", "none", "always"},
        /* The other spelling of a parameter. */
        {"lru+oracle:2", "lru+oracle(k=2)", "lru", "none", "oracle(k=2)", "none"},
        {"lru + oracle : 2", "lru+oracle(k=2)", "lru", "none", "oracle(k=2)", "none"},
        {"lru+next:depth=2", "lru+next(depth=2)", "lru", "none", "next(depth=2)", "none"},
        {"pinned-lru:512MiB", "pinned-lru(512MiB)", "lru", "hot(512MiB)", "none", "none"},
        {"fifo+kinds:norm,layer", "fifo+kinds(norm,layer)", "fifo", "kinds(norm,layer)", "none", "none"},
        {"lru+blocks(a:b,c)", "lru+blocks(a:b,c)", "lru", "blocks(a:b,c)", "none", "none"},
        {"lru+blocks:a/b.so", "lru+blocks(a/b.so)", "lru", "blocks(a/b.so)", "none", "none"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct policy_choice choice, again;
        struct error err = {0};
        if (!policy_parse(cases[i].text, &choice, &err))
            fail_because("%s: %s", cases[i].text, err.text);
        assert_string_equal(choice.label, cases[i].label);
        assert_string_equal(choice.evict_text, cases[i].evict);
        assert_string_equal(choice.pin_text, cases[i].pin);
        assert_string_equal(choice.prefetch_text, cases[i].prefetch);
        assert_string_equal(choice.admit_text, cases[i].admit);
        /* The canonical text means the same. */
        assert_true(policy_parse(choice.label, &again, &err));
        assert_memory_equal(&choice, &again, sizeof choice);
    }
}

static void values_arrive(void **unused)
{
    (void)unused;
    struct policy_choice choice;
    struct error err;
    assert_true(policy_parse("lru+hot(1.5GiB)+next(depth=64)", &choice, &err));
    assert_string_equal(choice.evict.policy->name, "lru");
    assert_string_equal(choice.pin.policy->name, "hot");
    assert_true(choice.pin.values[0] == INT64_C(3) << 29);
    assert_int_equal(choice.prefetch.values[0], 64);
    assert_true(policy_parse("fifo+kinds(layer,other)", &choice, &err));
    assert_int_equal(choice.pin.values[0], 1 << BLOCK_LAYER | 1 << BLOCK_OTHER);
    assert_null(choice.prefetch.policy);
    assert_true(policy_parse("fifo+blocks(b,a,c,a)", &choice, &err));
    assert_int_equal(choice.pin.name_count, 3);
    assert_memory_equal(choice.pin.names, "a\0b\0c\0", 7);
}

static void bad_texts(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *message; /* `message` is part of what is said */
    } cases[] = {
        {"", "without a name"},
        {"lru+", "without a name"},
        {"+lru", "without a name"},
        {"(2)", "without a name"},
        {"lruu", "unknown policy \"lruu\": did you mean lru?"},
        {"pined-lru", "did you mean pinned-lru?"},
        {"zzzzzzzz", "unknown policy \"zzzzzzzz\"; expected "},
        {"lru fifo", "unknown policy \"lru fifo\""},
        {"LRU", "did you mean lru?"},
        {"none", "unknown policy \"none\""},
        {"lru+fifo", "\"fifo\" brings a second eviction policy: there is lru already"},
        {"pinned-lru+kinds", "\"kinds\" brings a second pin rule: there is hot already"},
        {"prefetch-next+next", "a second prefetcher"},
        {"fifo+pinned-lru", "\"pinned-lru\" brings a second eviction policy: there is fifo already"},
        {"hot", "policy \"hot\" has no eviction policy: write for example lru+hot"},
        {"next(2)", "lru+next(depth=2)"},
        {"lru(", "expected ')' at the end"},
        {"lru)", "a ')' without its '('"},
        {"lru(1)x", "after ')'"},
        {"lru+hot((1MiB)", "a '(' within parentheses"},
        {"lru+next(2)(3)", "after ')'"},
        {"lru(2)", "policy lru takes no parameters"},
        {"lru(bits=2)", "policy lru takes no parameters"},
        {"prefetch-next(depht=2)", "policy prefetch-next has no parameter \"depht\": did you mean depth?"},
        {"prefetch-next(0)", "policy prefetch-next: depth: "},
        {"prefetch-next(65)", "policy prefetch-next: depth: "},
        {"prefetch-next(-1)", "policy prefetch-next: depth: "},
        {"prefetch-next(depth=two)", "policy prefetch-next: depth: "},
        {"prefetch-next(depth=)", "depth without a value"},
        {"prefetch-next(depth=1,depth=2)", "depth is given twice"},
        {"prefetch-next(1,2)", "expected NAME=VALUE after the first value, found \"2\""},
        {"prefetch-next(1,)", "expected NAME=VALUE"},
        {"lru+hot(512)", "policy hot: size: "},
        {"lru+hot(99999999TiB)", "policy hot: size: "},
        {"lru+kinds(norms)", "policy kinds: kinds: unknown kind of block \"norms\": did you mean norm?"},
        {"lru+kinds(norm,)", "kinds without a value"},
        {"lru+kinds(sort=norm)", "policy kinds has no parameter \"sort\""},
        {"lru+blocks", "policy blocks needs names or numbers of blocks"},
        {"lru+blocks()", "policy blocks needs names or numbers of blocks"},
        {"lru+blocks(a,,b)", "blocks without a value"},
        {"lru+always+probabilistic", "\"probabilistic\" brings a second admission rule: there is always already"},
        {"lru:", "policy \"lru:\": expected a value after ':'"},
        {"lru:2", "policy lru takes no parameters"},
        {"lru+next:(2)", "expected NAME:VALUE or NAME(VALUE), found both"},
        {":2", "without a name"},
        {"./no-such-file.so", "policy ./no-such-file.so: no such file"},
        {"no-such-file.so(bits=2)", "policy no-such-file.so: no such file"},
        {"./c++.so", "policy ./c: no such file (the path of a plug-in may not hold ',', '+', '(' or ')'"},
        {"./x(1).so", "the path of a plug-in may not hold ',', '+', '(' or ')'"},
        {"./a,b.so", "policy ./a,b.so: the path of a plug-in may not hold ',', '+', '(' or ')'"},
        {"./tests", "policy ./tests: no regular file, expected a shared object"},
        {"./Makefile", "policy ./Makefile: cannot be loaded: "},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct policy_choice choice;
        struct error err = {0};
        if (policy_parse(cases[i].text, &choice, &err))
            fail_because("\"%s\" was taken for %s", cases[i].text, choice.label);
        assert_int_equal(err.code, STATUS_USAGE);
        if (strstr(err.text, cases[i].message) == NULL)
            fail_because("\"%s\": expected \"%s\" in \"%s\"", cases[i].text, cases[i].message, err.text);
    }
}

static void lengths_are_bounded(void **unused)
{
    (void)unused;
    struct policy_choice choice;
    struct error err = {0};
    char text[2 * POLICY_TEXT_MAX];
    memset(text, 'x', sizeof text);
    text[POLICY_TEXT_MAX] = '\0';
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "has 512 characters, expected at most 511"));
    assert_false(policy_parse_part(POLICY_PIN, text, &choice, &err));

    /* 65 names are one too many; one name may take all the room, and is given back whole. */
    int length = snprintf(text, sizeof text, "lru+blocks(0");
    for (int i = 1; i <= 64; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, ",%d", i);
    snprintf(text + length, sizeof text - (size_t)length, ")");
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "more than 64 names"));
    memset(text, 'n', sizeof text);
    memcpy(text, "lru+blocks(", 11);
    memcpy(text + POLICY_TEXT_MAX - 2, ")", 2);
    assert_true(policy_parse(text, &choice, &err));
    assert_string_equal(choice.label, text);

    /* A canonical text that has grown too long: depth= is added. */
    memcpy(text + POLICY_TEXT_MAX - 10, ")+next(2)", 10);
    assert_false(policy_parse(text, &choice, &err));
    assert_non_null(strstr(err.text, "too long"));

    /* The parts fit, joined they do not. */
    memset(&choice, 0, sizeof choice);
    memset(text, 'n', sizeof text);
    memcpy(text, "blocks(", 7);
    memcpy(text + POLICY_TEXT_MAX - 2, ")", 2);
    assert_true(policy_parse_part(POLICY_PIN, text, &choice, &err));
    assert_false(policy_parse_part(POLICY_EVICT, "lru", &choice, &err));
    assert_non_null(strstr(err.text, "too long"));
}

static void parts_one_by_one(void **unused)
{
    (void)unused;
    struct policy_choice choice = {0};
    struct error err = {0};
    assert_true(policy_parse_part(POLICY_PIN, "none", &choice, &err));
    assert_string_equal(choice.label, "none");
    assert_true(policy_parse_part(POLICY_PREFETCH, "next(2)", &choice, &err));
    assert_string_equal(choice.label, "next(depth=2)");
    assert_string_equal(choice.evict_text, "none");
    assert_true(policy_parse_part(POLICY_EVICT, "fifo", &choice, &err));
    assert_true(policy_parse_part(POLICY_PIN, "hot(1GiB)", &choice, &err));
    assert_string_equal(choice.label, "fifo+hot(1GiB)+next(depth=2)");
    assert_string_equal(choice.pin_text, "hot(1GiB)");
    assert_true(policy_parse_part(POLICY_ADMIT, "probabilistic:0.25", &choice, &err));
    assert_string_equal(choice.label, "fifo+hot(1GiB)+next(depth=2)+probabilistic(chance=0.25)");
    assert_true(policy_parse_part(POLICY_ADMIT, "none", &choice, &err));
    assert_string_equal(choice.label, "fifo+hot(1GiB)+next(depth=2)");
    assert_string_equal(policy_choice_text(&choice, POLICY_ADMIT), "none");
    assert_ptr_equal(policy_choice_part(&choice, POLICY_PIN), &choice.pin);
    /* One part of a composition can be replaced. */
    assert_true(policy_parse("pinned-lru(2GiB)+next", &choice, &err));
    assert_true(policy_parse_part(POLICY_PIN, "none", &choice, &err));
    assert_string_equal(choice.label, "lru+next");
    assert_null(choice.pin.policy);

    static const struct {
        enum policy_kind kind;
        const char *text, *message;
    } cases[] = {
        {POLICY_EVICT, "none", "unknown eviction policy \"none\"; expected "},
        {POLICY_EVICT, "fifi", "unknown eviction policy \"fifi\": did you mean fifo?"},
        {POLICY_EVICT, "next", "\"next\" is a prefetcher, not an eviction policy; expected "},
        {POLICY_EVICT, "pinned-lru", "\"pinned-lru\" is a preset (lru+hot), not an eviction policy"},
        {POLICY_EVICT, "lru+fifo", "expected one eviction policy, found '+' in \"lru+fifo\""},
        {POLICY_PIN, "hott", "did you mean hot?"},
        {POLICY_PIN, "lru", "\"lru\" is an eviction policy, not a pin rule; expected "},
        {POLICY_PIN, "quantum", "unknown pin rule \"quantum\"; expected "},
        {POLICY_PREFETCH, "net", "did you mean next?"},
        {POLICY_PREFETCH, "none(1)", "unknown prefetcher \"none\""},
        {POLICY_PREFETCH, "next(0)", "policy next: depth: "},
        {POLICY_ADMIT, "alway", "unknown admission rule \"alway\": did you mean always?"},
        {POLICY_ADMIT, "lru", "\"lru\" is an eviction policy, not an admission rule"},
        {POLICY_EVICT, "always", "\"always\" is an admission rule, not an eviction policy"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct policy_choice part = {0};
        if (policy_parse_part(cases[i].kind, cases[i].text, &part, &err))
            fail_because("\"%s\" was taken for %s", cases[i].text, part.label);
        assert_int_equal(err.code, STATUS_USAGE);
        if (strstr(err.text, cases[i].message) == NULL)
            fail_because("\"%s\": expected \"%s\" in \"%s\"", cases[i].text, cases[i].message, err.text);
    }
}

static void parts_alone(void **unused)
{
    (void)unused;
    struct policy_part part;
    struct error err;
    const char *path;
    assert_true(policy_parse_alone("next:3", &part, &err));
    assert_string_equal(part.policy->name, "next");
    assert_int_equal(part.values[0], 3);
    assert_false(policy_plugin_file(&part, &path));
    assert_false(policy_parse_alone("pinned-lru", &part, &err));
    assert_string_equal(err.text, "\"pinned-lru\" is a preset; expected one of its parts: lru+hot");
    assert_false(policy_parse_alone("none", &part, &err));
    assert_false(policy_parse_alone("lru+hot", &part, &err));
    assert_string_equal(err.text, "expected one policy, found '+' in \"lru+hot\"");
}

/* The line for a name of no kind lists what there is of the kind: all, as long as they are few. */
static void the_choices_are_listed(void **unused)
{
    (void)unused;
    struct policy_choice choice = {0};
    struct error err;
    size_t count;
    const struct policy *const *all = policy_all(&count);
    assert_false(policy_parse_part(POLICY_PIN, "quantum", &choice, &err));
    for (size_t i = 0; i < count; i++) {
        bool listed = strstr(err.text, all[i]->name) != NULL;
        if (all[i]->kind == POLICY_PIN && !listed && strstr(err.text, "...") == NULL)
            fail_because("%s is not in \"%s\"", all[i]->name, err.text);
    }
}

/* A model of blocks b0 .. b9. */
static block_id find_block(const void *model, const char *name)
{
    assert_string_equal(model, "model");
    return name[0] == 'b' && name[1] >= '0' && name[1] <= '9' && name[2] == '\0' ? (block_id)(name[1] - '0')
                                                                                 : BLOCK_NONE;
}

static void names_become_ids(void **unused)
{
    (void)unused;
    struct policy_choice choice;
    struct error err = {0};
    block_id out[POLICY_BLOCK_NAMES_MAX];
    uint32_t count = 99;
    assert_true(policy_parse("lru+blocks(b7,b2,b7,b0)", &choice, &err));
    assert_true(policy_bind(&choice.pin, find_block, "model", out, &count, &err));
    assert_int_equal(count, 3);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], 7);
    assert_true(policy_bind(&choice.prefetch, find_block, "model", out, &count, &err));
    assert_int_equal(count, 0);
    assert_true(policy_parse("lru+blocks(b7,embed)", &choice, &err));
    assert_false(policy_bind(&choice.pin, find_block, "model", out, &count, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "policy blocks: the model has no block \"embed\"");
}

/* What plug-ins may declare and no built-in does. */
static void other_units(void **unused)
{
    (void)unused;
    const struct policy_param share = {"share", POLICY_PPM, 10000, 500000, 100000, "a share"};
    const struct policy_param bytes = {"size", POLICY_BYTES, 1 << 20, 1 << 30, 1 << 20, "a size"};
    char text[POLICY_VALUE_TEXT];
    struct error err = {0};
    int64_t value = -1;
    assert_true(policy_value_parse(&share, "25%", &value, &err));
    assert_int_equal(value, 250000);
    assert_string_equal(policy_value_text(&share, value, text), "0.25");
    assert_true(policy_value_parse(&share, text, &value, &err));
    assert_int_equal(value, 250000);
    assert_false(policy_value_parse(&share, "51%", &value, &err));
    assert_string_equal(err.text, "51% is out of range: from 0.01 to 0.5");
    assert_false(policy_value_parse(&share, "0.5%", &value, &err));
    assert_false(policy_value_parse(&bytes, "1023KiB", &value, &err));
    assert_string_equal(err.text, "1023KiB is out of range: from 1MiB to 1GiB");
    assert_true(policy_value_parse(&bytes, "1GiB", &value, &err));
    assert_int_equal(value, 1 << 30);
}

/* Every table keeps to what policy.h promises. */
static void tables_are_sound(void **unused)
{
    (void)unused;
    size_t count = 0, preset_count = 0;
    const struct policy *const *all = policy_all(&count);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        const struct policy *policy = all[i];
        struct error err;
        if (!policy_table_check(policy, SIZE_MAX, &err))
            fail_because("%s: %s", policy->name, err.text);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(policy->name, all[j]->name);
    }
    const struct policy_preset *presets = policy_presets(&preset_count);
    assert_true(preset_count >= 2);
    for (size_t i = 0; i < preset_count; i++) {
        struct policy_choice preset, parts;
        struct error err;
        assert_true(policy_parse(presets[i].name, &preset, &err));
        assert_true(policy_parse(presets[i].parts, &parts, &err));
        assert_string_equal(preset.label, presets[i].name);
        assert_memory_equal(&preset.evict, &parts.evict, sizeof parts.evict);
        assert_memory_equal(&preset.pin, &parts.pin, sizeof parts.pin);
        assert_memory_equal(&preset.prefetch, &parts.prefetch, sizeof parts.prefetch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts),          cmocka_unit_test(values_arrive),          cmocka_unit_test(bad_texts),
        cmocka_unit_test(lengths_are_bounded), cmocka_unit_test(parts_one_by_one),       cmocka_unit_test(parts_alone),
        cmocka_unit_test(names_become_ids),    cmocka_unit_test(the_choices_are_listed), cmocka_unit_test(other_units),
        cmocka_unit_test(tables_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
