/* The text of a composition, "pinned-lru(512MiB)+next(depth=2)", to parts with checked parameters, and back to its
 * canonical form. */
#include "policies/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "policies/names.h"
#include "policies/plugin.h"
#include "policies/text.h"

enum { TARGETS_MAX = POLICY_KINDS_COUNT };

/* One item between two '+': a part, or a preset that stands for several. */
struct item {
    const char *name;
    char *arguments; /* what the parentheses hold, or NULL */
    struct policy_part *targets[TARGETS_MAX];
    uint32_t target_count;
    uint32_t given[TARGETS_MAX];               /* bit p: the user gave parameter p */
    const char *names[POLICY_BLOCK_NAMES_MAX]; /* for the list parameter that is being read */
    uint32_t name_count;
};

/* ---- Text ---- */

static bool copy_text(const char *text, char copy[POLICY_TEXT_MAX], struct error *err)
{
    size_t length = strlen(text);
    if (length >= POLICY_TEXT_MAX)
        return fail(err, STATUS_USAGE, "policy \"%.40s...\" has %zu characters, expected at most %d", text, length,
                    POLICY_TEXT_MAX - 1);
    memcpy(copy, text, length + 1);
    return true;
}

/* The ':' of "name:value", or NULL. Paths may hold one: theirs follows the ".so". */
static char *find_colon(char *text)
{
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return NULL;
    *colon = '\0';
    bool in_path = policy_is_path(text) && strchr(text, '(') == NULL;
    *colon = ':';
    if (in_path && (colon = strstr(text, ".so:")) != NULL)
        colon += strlen(".so");
    return colon;
}

static bool split_parentheses(char *text, struct item *item, struct error *err)
{
    char *open = strchr(text, '(');
    if (open == NULL && strchr(text, ')') != NULL)
        return fail(err, STATUS_USAGE, "policy \"%s\": a ')' without its '('", text);
    if (open == NULL)
        return true;
    char *close = strchr(open, ')');
    if (close == NULL)
        return fail(err, STATUS_USAGE, "policy \"%s\": expected ')' at the end", text);
    if (close[1] != '\0')
        return fail(err, STATUS_USAGE, "policy \"%s\": expected '+' or nothing after ')'%s", text,
                    strchr(text, '/') != NULL ? "; " PLUGIN_PATH_RULE : "");
    if (strchr(open + 1, '(') != NULL)
        return fail(err, STATUS_USAGE, "policy \"%s\": a '(' within parentheses", text);
    *open = *close = '\0';
    item->arguments = trim_text(open + 1);
    return true;
}

/* "name", "name(arguments)" or "name:arguments". */
static bool split_item(char *text, struct item *item, struct error *err)
{
    memset(item, 0, sizeof *item);
    char *colon = find_colon(text), *open = strchr(text, '(');
    if (colon != NULL && (open == NULL || colon < open)) {
        item->arguments = trim_text(colon + 1);
        if (open != NULL || strchr(text, ')') != NULL)
            return fail(err, STATUS_USAGE, "policy \"%s\": expected NAME:VALUE or NAME(VALUE), found both", text);
        if (*item->arguments == '\0')
            return fail(err, STATUS_USAGE, "policy \"%s\": expected a value after ':'", text);
        *colon = '\0';
    } else if (!split_parentheses(text, item, err)) {
        return false;
    }
    item->name = trim_text(text);
    if (*item->name == '\0')
        return fail(err, STATUS_USAGE, "a policy without a name: expected for example lru or lru+hot(64MiB)");
    return true;
}

/* ---- Parts ---- */

/* Makes `part` the policy with its defaults, and a target of the item's parameters. */
static void start_part(struct item *item, struct policy_part *part, const struct policy *policy)
{
    must(item->target_count < TARGETS_MAX && policy->param_count <= POLICY_PARAMS_MAX);
    memset(part, 0, sizeof *part);
    part->policy = policy;
    for (uint32_t i = 0; i < policy->param_count; i++)
        part->values[i] = policy->params[i].fallback;
    if (policy_is_path(item->name))
        snprintf(part->file, sizeof part->file, "%s", item->name); /* it was in a text of this size */
    item->targets[item->target_count++] = part;
}

/* The policy of that name or file into *policy, which is NULL when nothing is called that. */
static bool look_up(const char *name, const struct policy **policy, struct error *err)
{
    if (policy_is_path(name))
        return policy_plugin_load(name, policy, err);
    *policy = policy_find(name);
    return true;
}

static bool add_part(struct policy_choice *choice, struct item *item, const struct policy *policy, struct error *err)
{
    struct policy_part *part = policy_choice_part(choice, policy->kind);
    if (part->policy != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" brings a second %s: there is %s already", item->name,
                    policy_kind_titles[policy->kind], policy_part_name(part));
    start_part(item, part, policy);
    return true;
}

/* Adds what the item's name stands for. */
static bool add_parts(struct policy_choice *choice, struct item *item, struct error *err)
{
    const struct policy *policy;
    if (!look_up(item->name, &policy, err))
        return false;
    if (policy != NULL)
        return add_part(choice, item, policy, err);
    const struct policy_preset *preset = policy_preset_find(item->name);
    if (preset == NULL)
        return policy_unknown(item->name, err);
    char parts[POLICY_TEXT_MAX];
    if (!copy_text(preset->parts, parts, err))
        return false;
    for (char *name = parts, *rest; name != NULL; name = rest) {
        policy = policy_find(cut_text(name, '+', &rest));
        must(policy != NULL);
        if (!add_part(choice, item, policy, err))
            return false;
    }
    return true;
}

/* ---- Parameters ---- */

/* The parameter `name` of the item, or with NULL its first one. */
static bool find_param(const struct item *item, const char *name, uint32_t *target, uint32_t *param, struct error *err)
{
    const char *names[TARGETS_MAX * POLICY_PARAMS_MAX];
    size_t count = 0;
    for (*target = 0; *target < item->target_count; ++*target) {
        const struct policy *policy = item->targets[*target]->policy;
        for (*param = 0; *param < policy->param_count; ++*param) {
            if (name == NULL || strcmp(policy->params[*param].name, name) == 0)
                return true;
            names[count++] = policy->params[*param].name;
        }
    }
    if (count == 0)
        return fail(err, STATUS_USAGE, "policy %s takes no parameters", item->name);
    char near[512];
    return fail(err, STATUS_USAGE, "policy %s has no parameter \"%s\"%s", item->name, name,
                suggest_text(name, names, count, near, sizeof near));
}

static bool set_value(struct item *item, struct policy_part *part, uint32_t param, const char *text, struct error *err)
{
    const struct policy_param *declared = &part->policy->params[param];
    if (*text == '\0')
        return fail(err, STATUS_USAGE, "policy %s: %s without a value", item->name, declared->name);
    if (declared->unit == POLICY_BLOCKS) {
        if (item->name_count == POLICY_BLOCK_NAMES_MAX)
            return fail(err, STATUS_USAGE, "policy %s: more than %d names of blocks", item->name,
                        POLICY_BLOCK_NAMES_MAX);
        item->names[item->name_count++] = text;
        return true;
    }
    int64_t value = 0;
    if (!policy_value_parse(declared, text, &value, err))
        return fail_in(err, "policy %s: %s", item->name, declared->name);
    part->values[param] = declared->unit == POLICY_KINDS ? part->values[param] | value : value;
    return true;
}

/* Reads "value", "name=value" and, once a list parameter has begun, its further values. */
static bool read_arguments(struct item *item, struct error *err)
{
    bool in_list = false, first = true;
    uint32_t target = 0, param = 0;
    for (char *argument = item->arguments, *rest; argument != NULL; argument = rest, first = false) {
        char *value = cut_text(argument, ',', &rest);
        char *equals = in_list ? NULL : strchr(value, '=');
        if (equals != NULL) {
            *equals = '\0';
            char *name = trim_text(value);
            value = trim_text(equals + 1);
            if (!find_param(item, name, &target, &param, err))
                return false;
        } else if (!in_list) {
            if (!first)
                return fail(err, STATUS_USAGE, "policy %s: expected NAME=VALUE after the first value, found \"%s\"",
                            item->name, value);
            if (!find_param(item, NULL, &target, &param, err))
                return false;
        }
        struct policy_part *part = item->targets[target];
        const struct policy_param *declared = &part->policy->params[param];
        if (!in_list) {
            if (item->given[target] >> param & 1)
                return fail(err, STATUS_USAGE, "policy %s: %s is given twice", item->name, declared->name);
            item->given[target] |= UINT32_C(1) << param;
            in_list = policy_is_list(declared);
            if (in_list)
                part->values[param] = 0;
        }
        if (!set_value(item, part, param, value, err))
            return false;
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of blocks into the part, sorted and without duplicates: their order means nothing, so one text is enough. */
static bool store_names(struct item *item, struct error *err)
{
    for (uint32_t t = 0; t < item->target_count; t++) {
        struct policy_part *part = item->targets[t];
        for (uint32_t p = 0; p < part->policy->param_count; p++) {
            if (part->policy->params[p].unit != POLICY_BLOCKS)
                continue;
            if (item->name_count == 0)
                return fail(err, STATUS_USAGE, "policy %s needs names or numbers of blocks, as in %s(embed,layer1)",
                            item->name, item->name);
            qsort(item->names, item->name_count, sizeof *item->names, compare_names);
            struct writer writer = {.out = part->names, .size = sizeof part->names};
            for (uint32_t i = 0; i < item->name_count; i++) {
                if (i > 0 && strcmp(item->names[i], item->names[i - 1]) == 0)
                    continue;
                write_text(&writer, "%s%c", item->names[i], '\0');
                part->name_count++;
            }
            must(!writer.cut); /* they were in a text of this size, with a comma each */
        }
    }
    return true;
}

static bool finish_item(struct item *item, struct error *err)
{
    if (item->arguments != NULL && *item->arguments != '\0' && !read_arguments(item, err))
        return false;
    return store_names(item, err);
}

/* ---- Canonical text ---- */

static bool label_too_long(struct error *err)
{
    return fail(err, STATUS_USAGE, "policy is too long: expected at most %d characters in all", POLICY_TEXT_MAX - 1);
}

static bool write_parts(struct policy_choice *choice, struct error *err)
{
    for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++) {
        struct policy_part *part = policy_choice_part(choice, (enum policy_kind)kind);
        struct writer writer = {.out = policy_text_of(choice, (enum policy_kind)kind), .size = POLICY_TEXT_MAX};
        if (part->policy != NULL)
            write_item(&writer, policy_part_name(part), &part, 1);
        else
            write_text(&writer, "none");
        if (writer.cut)
            return label_too_long(err);
    }
    return true;
}

/* ---- Entry points ---- */

bool policy_parse(const char *text, struct policy_choice *choice, struct error *err)
{
    char copy[POLICY_TEXT_MAX];
    if (!copy_text(text, copy, err))
        return false;
    memset(choice, 0, sizeof *choice);
    struct writer label = {.out = choice->label, .size = POLICY_TEXT_MAX};
    for (char *part = copy, *rest; part != NULL; part = rest) {
        struct item item;
        if (!split_item(cut_text(part, '+', &rest), &item, err) || !add_parts(choice, &item, err) ||
            !finish_item(&item, err))
            return false;
        if (label.length != 0)
            write_text(&label, "+");
        write_item(&label, item.name, item.targets, item.target_count);
    }
    if (choice->evict.policy == NULL)
        return fail(err, STATUS_USAGE, "policy \"%s\" has no eviction policy: write for example lru+%s", text,
                    choice->label);
    return label.cut ? label_too_long(err) : write_parts(choice, err);
}

/* One part from its text, which is no preset. `kind`: the kind that it must have, or NULL. */
static bool parse_single(const char *text, const enum policy_kind *kind, struct policy_part *part, struct error *err)
{
    char copy[POLICY_TEXT_MAX], *rest;
    struct item item;
    if (!copy_text(text, copy, err))
        return false;
    char *only = cut_text(copy, '+', &rest);
    if (rest != NULL)
        return fail(err, STATUS_USAGE, "expected one %s, found '+' in \"%s\"",
                    kind != NULL ? policy_kind_titles[*kind] : "policy", text);
    if (!split_item(only, &item, err))
        return false;
    const struct policy *policy;
    if (kind != NULL && *kind != POLICY_EVICT && item.arguments == NULL && strcmp(item.name, "none") == 0) {
        memset(part, 0, sizeof *part);
        return true;
    }
    if (!look_up(item.name, &policy, err))
        return false;
    if (kind != NULL && (policy == NULL || policy->kind != *kind))
        return policy_wrong_kind(item.name, policy, *kind, err);
    const struct policy_preset *preset = policy_preset_find(item.name);
    if (policy == NULL && preset != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" is a preset; expected one of its parts: %s", item.name, preset->parts);
    if (policy == NULL)
        return policy_unknown(item.name, err);
    start_part(&item, part, policy);
    return finish_item(&item, err);
}

bool policy_parse_alone(const char *text, struct policy_part *part, struct error *err)
{
    return parse_single(text, NULL, part, err);
}

bool policy_parse_part(enum policy_kind kind, const char *text, struct policy_choice *choice, struct error *err)
{
    if (!parse_single(text, &kind, policy_choice_part(choice, kind), err) || !write_parts(choice, err))
        return false;
    struct writer label = {.out = choice->label, .size = POLICY_TEXT_MAX};
    for (int k = 0; k < POLICY_KINDS_COUNT; k++) {
        const char *part = policy_text_of(choice, (enum policy_kind)k);
        if (strcmp(part, "none") != 0)
            write_text(&label, "%s%s", label.length != 0 ? "+" : "", part);
    }
    if (label.length == 0)
        write_text(&label, "none");
    return label.cut ? label_too_long(err) : true;
}
