/* The text of a composition, "pinned-lru(512MiB)+next(depth=2)", to parts with checked parameters, and back to its
 * canonical form. */
#include "policies/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "policies/names.h"
#include "policies/text.h"

enum { TARGETS_MAX = 3 };

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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Drops blanks on both sides, in place. */
static char *trim(char *text)
{
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

/* Cuts the text at the first `separator` outside parentheses; *rest is what follows, or NULL. */
static char *cut(char *text, char separator, char **rest)
{
    int depth = 0;
    *rest = NULL;
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '(')
            depth++;
        else if (*c == ')')
            depth--;
        else if (*c == separator && depth <= 0) {
            *c = '\0';
            *rest = c + 1;
            break;
        }
    }
    return trim(text);
}

static bool copy_text(const char *text, char copy[POLICY_TEXT_MAX], struct error *err)
{
    size_t length = strlen(text);
    if (length >= POLICY_TEXT_MAX)
        return fail(err, STATUS_USAGE, "policy \"%.40s...\" has %zu characters, expected at most %d", text, length,
                    POLICY_TEXT_MAX - 1);
    memcpy(copy, text, length + 1);
    return true;
}

/* "name" or "name(arguments)". */
static bool split_item(char *text, struct item *item, struct error *err)
{
    memset(item, 0, sizeof *item);
    char *open = strchr(text, '(');
    if (open == NULL && strchr(text, ')') != NULL)
        return fail(err, STATUS_USAGE, "policy \"%s\": a ')' without its '('", text);
    if (open != NULL) {
        char *close = strchr(open, ')');
        if (close == NULL)
            return fail(err, STATUS_USAGE, "policy \"%s\": expected ')' at the end", text);
        if (close[1] != '\0')
            return fail(err, STATUS_USAGE, "policy \"%s\": expected '+' or nothing after ')'", text);
        if (strchr(open + 1, '(') != NULL)
            return fail(err, STATUS_USAGE, "policy \"%s\": a '(' within parentheses", text);
        *open = *close = '\0';
        item->arguments = trim(open + 1);
    }
    item->name = trim(text);
    if (*item->name == '\0')
        return fail(err, STATUS_USAGE, "a policy without a name: expected for example lru or lru+hot(64MiB)");
    return true;
}

/* ---- Parts ---- */

static struct policy_part *slot_of(struct policy_choice *choice, enum policy_kind kind)
{
    return kind == POLICY_EVICT ? &choice->evict : kind == POLICY_PIN ? &choice->pin : &choice->prefetch;
}

/* Makes `part` the policy with its defaults, and a target of the item's parameters. */
static void start_part(struct item *item, struct policy_part *part, const struct policy *policy)
{
    must(item->target_count < TARGETS_MAX && policy->param_count <= POLICY_PARAMS_MAX);
    memset(part, 0, sizeof *part);
    part->policy = policy;
    for (uint32_t i = 0; i < policy->param_count; i++)
        part->values[i] = policy->params[i].fallback;
    item->targets[item->target_count++] = part;
}

static bool add_part(struct policy_choice *choice, struct item *item, const struct policy *policy, struct error *err)
{
    struct policy_part *part = slot_of(choice, policy->kind);
    if (part->policy != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" brings a second %s: there is %s already", item->name,
                    policy_kind_titles[policy->kind], part->policy->name);
    start_part(item, part, policy);
    return true;
}

/* Adds what the item's name stands for. */
static bool add_parts(struct policy_choice *choice, struct item *item, struct error *err)
{
    const struct policy *policy = policy_find(item->name);
    if (policy != NULL)
        return add_part(choice, item, policy, err);
    const struct policy_preset *preset = policy_preset_find(item->name);
    if (preset == NULL)
        return policy_unknown(item->name, err);
    char parts[POLICY_TEXT_MAX];
    if (!copy_text(preset->parts, parts, err))
        return false;
    for (char *name = parts, *rest; name != NULL; name = rest) {
        policy = policy_find(cut(name, '+', &rest));
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
        char *value = cut(argument, ',', &rest);
        char *equals = in_list ? NULL : strchr(value, '=');
        if (equals != NULL) {
            *equals = '\0';
            char *name = trim(value);
            value = trim(equals + 1);
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

static void write_part(struct writer *writer, struct policy_part *part)
{
    if (part->policy != NULL)
        write_item(writer, part->policy->name, &part, 1);
    else
        write_text(writer, "none");
}

static bool write_parts(struct policy_choice *choice, struct error *err)
{
    struct writer evict = {.out = choice->evict_text, .size = POLICY_TEXT_MAX};
    struct writer pin = {.out = choice->pin_text, .size = POLICY_TEXT_MAX};
    struct writer prefetch = {.out = choice->prefetch_text, .size = POLICY_TEXT_MAX};
    write_part(&evict, &choice->evict);
    write_part(&pin, &choice->pin);
    write_part(&prefetch, &choice->prefetch);
    if (evict.cut || pin.cut || prefetch.cut)
        return fail(err, STATUS_USAGE, "policy is too long: expected at most %d characters a part",
                    POLICY_TEXT_MAX - 1);
    return true;
}

static bool label_too_long(struct error *err)
{
    return fail(err, STATUS_USAGE, "policy is too long: expected at most %d characters in all", POLICY_TEXT_MAX - 1);
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
        if (!split_item(cut(part, '+', &rest), &item, err) || !add_parts(choice, &item, err) ||
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

bool policy_parse_part(enum policy_kind kind, const char *text, struct policy_choice *choice, struct error *err)
{
    char copy[POLICY_TEXT_MAX], *rest;
    struct item item;
    struct policy_part *part = slot_of(choice, kind);
    if (!copy_text(text, copy, err))
        return false;
    char *only = cut(copy, '+', &rest);
    if (rest != NULL)
        return fail(err, STATUS_USAGE, "expected one %s, found '+' in \"%s\"", policy_kind_titles[kind], text);
    if (!split_item(only, &item, err))
        return false;
    if (kind != POLICY_EVICT && item.arguments == NULL && strcmp(item.name, "none") == 0) {
        memset(part, 0, sizeof *part);
    } else {
        const struct policy *policy = policy_find(item.name);
        if (policy == NULL || policy->kind != kind)
            return policy_wrong_kind(item.name, kind, err);
        start_part(&item, part, policy);
        if (!finish_item(&item, err))
            return false;
    }
    if (!write_parts(choice, err))
        return false;
    struct writer label = {.out = choice->label, .size = POLICY_TEXT_MAX};
    const char *texts[] = {choice->evict_text, choice->pin_text, choice->prefetch_text};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i], "none") != 0)
            write_text(&label, "%s%s", label.length != 0 ? "+" : "", texts[i]);
    if (label.length == 0)
        write_text(&label, "none");
    return label.cut ? label_too_long(err) : true;
}
