/* Single values of options: from text, into their field, and out of it. */
#include "sim/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/units.h"
#include "sim/apps.h"
#include "sim/model_choice.h"
#include "sim/perplexity.h"
#include "workloads/chunks.h"

enum { OWN_ADJ_MAX = 1000 };

/* A number of the option's type, as people write it. */
static const char *print_number(const struct option *option, uint64_t number, char out[UNITS_TEXT])
{
    switch (option->type) {
    case OPTION_BYTES:
        return print_bytes(number, out);
    case OPTION_TIME:
        return print_time((int64_t)number, out);
    case OPTION_SHARE:
    case OPTION_DECIMAL:
        return print_decimal(number, out);
    default:
        snprintf(out, UNITS_TEXT, "%llu", (unsigned long long)number);
        return out;
    }
}

static bool parse_number(const struct option *option, const char *text, uint64_t *number, struct error *err)
{
    uint32_t ppm;
    int64_t ns;
    switch (option->type) {
    case OPTION_BYTES:
        return parse_bytes(text, number, err);
    case OPTION_RATE:
        return parse_rate(text, number, err);
    case OPTION_FLOPS:
        return parse_flops(text, number, err);
    case OPTION_DECIMAL:
        return parse_decimal(text, number, err);
    case OPTION_TIME:
        if (!parse_time(text, &ns, err))
            return false;
        *number = (uint64_t)ns;
        return true;
    case OPTION_SHARE:
        if (!parse_share_to(text, option->max > 1000000 ? (uint32_t)option->max : 1000000, &ppm, err))
            return false;
        *number = ppm;
        return true;
    default:
        return parse_count(text, option->min, option->max, number, err);
    }
}

/* What other programs' configs write for yes and no; one edit from "on" is "no". NULL: text is neither, or yes and no
 * are not what there is to choose from. */
static const char *yes_or_no(const char *text, const char *const *names, size_t count)
{
    static const char *const words[2][7] = {{"no", "off", "false", "0", "n", "f", "disabled"},
                                            {"yes", "on", "true", "1", "y", "t", "enabled"}};
    bool known = count == 2;
    for (size_t i = 0; known && i < count; i++)
        known = strcmp(names[i], "yes") == 0 || strcmp(names[i], "no") == 0;
    for (size_t answer = 0; known && answer < 2; answer++)
        for (size_t i = 0; i < sizeof *words / sizeof **words; i++)
            if (strcasecmp(text, words[answer][i]) == 0)
                return words[answer][0];
    return NULL;
}

static bool parse_name(const char *text, const char *const *names, size_t count, uint64_t *index, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return true;
        }
    char near[512];
    const char *meant = yes_or_no(text, names, count);
    if (meant)
        return fail(err, STATUS_USAGE, "unknown value \"%s\": did you mean %s?", text, meant);
    return fail(err, STATUS_USAGE, "unknown value \"%s\"%s", text, suggest_text(text, names, count, near, sizeof near));
}

/* A size of a short list of sizes, which follow one another in it. */
static bool check_size(const struct option *option, const char *text, uint64_t bytes, struct error *err)
{
    char list[128] = "";
    size_t length = 0;
    for (size_t i = 0; i < option->name_count && length < sizeof list; i++) {
        uint64_t allowed;
        must(parse_bytes(option->names[i], &allowed, err));
        if (bytes == allowed)
            return true;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                   i == 0                        ? ""
                                   : i + 1 == option->name_count ? " or "
                                                                 : ", ",
                                   option->names[i]);
    }
    return fail(err, STATUS_USAGE, "\"%s\" is none of the sizes there are; expected %s", text, list);
}

static bool parse_adj(const char *text, uint64_t *number, struct error *err)
{
    char near[512];
    int32_t adj;
    if (!adj_parse(text, OWN_ADJ_MAX, &adj))
        return fail(err, STATUS_USAGE, "\"%s\" is neither a number from %d to %d nor a word for one%s", text,
                    APP_ADJ_MIN, OWN_ADJ_MAX, suggest_text(text, adj_names, ADJ_NAMES, near, sizeof near));
    *number = (uint32_t)adj;
    return true;
}

static bool parse_chunk(const char *text, uint64_t *code, struct error *err)
{
    struct chunk_rule rule;
    if (!chunk_parse(text, &rule, err))
        return false;
    *code = chunk_code(&rule);
    return true;
}

/* Texts that are read once here, so that a grid of runs need not read them again. */
static bool parse_apps(const char *text, struct arena *arena, union option_value *value, struct error *err)
{
    struct app_list *list = arena_alloc(arena, 1, sizeof *list);
    struct app_spec *apps;
    if (!list || !(list->text = arena_strdup(arena, text)))
        return fail(err, STATUS_IO, "out of memory");
    if (!apps_parse(text, arena, &apps, &list->count, err))
        return false;
    list->apps = apps;
    value->apps = list;
    return true;
}

static bool parse_policy(const struct option *option, const char *text, struct arena *arena, union option_value *value,
                         struct error *err)
{
    struct policy_choice *choice = arena_alloc(arena, 1, sizeof *choice);
    if (!choice)
        return fail(err, STATUS_IO, "out of memory");
    if (option->type == OPTION_POLICY) {
        value->policy = choice;
        return policy_parse(text, choice, err);
    }
    for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++)
        if (strcmp(option->key, policy_kind_names[kind]) == 0)
            return policy_parse_part((enum policy_kind)kind, text, choice, err);
    must(false);
}

static bool parse_text(const struct option *option, const char *text, struct arena *arena, union option_value *value,
                       struct error *err)
{
    const size_t length = strlen(text);
    struct trace_format format;
    if (length < option->min)
        return fail(err, STATUS_USAGE, "no value; expected %s", option_type_texts[option->type]);
    if (length > option->max)
        return fail(err, STATUS_USAGE, "%zu bytes are too long; expected at most %llu", length,
                    (unsigned long long)option->max);
    if (option->type == OPTION_POLICY)
        return parse_policy(option, text, arena, value, err);
    if (option->type == OPTION_APPS)
        return parse_apps(text, arena, value, err);
    if (option->type == OPTION_FORMAT && !trace_format_parse(text, &format, err))
        return false;
    if (option->type == OPTION_QUALITY && !perplexity_check(text, err))
        return false;
    if (option->check && !option->check(text, err))
        return false;
    if (option->type == OPTION_PART && !parse_policy(option, text, arena, value, err))
        return false;
    value->text = arena_strdup(arena, text);
    return value->text || fail(err, STATUS_IO, "out of memory");
}

bool option_parse(const struct option *option, const char *text, struct arena *arena, union option_value *value,
                  struct error *err)
{
    *value = (union option_value){0};
    if (option->word && strcmp(text, option->word) == 0) {
        value->number = (uint64_t)option->word_value;
        return true;
    }
    if (option->other_word && strcmp(text, option->other_word) == 0) {
        value->number = (uint64_t)option->other_value;
        return true;
    }
    switch (option->type) {
    case OPTION_CHUNK:
        return parse_chunk(text, &value->number, err);
    case OPTION_CHOICE:
        return parse_name(text, option->names, option->name_count, &value->number, err);
    case OPTION_ADJ:
        return parse_adj(text, &value->number, err);
    case OPTION_TEXT:
    case OPTION_PATH:
    case OPTION_PROFILE:
    case OPTION_MODEL:
    case OPTION_FORMAT:
    case OPTION_POLICY:
    case OPTION_PART:
    case OPTION_APPS:
    case OPTION_QUALITY:
        return parse_text(option, text, arena, value, err);
    default:
        break;
    }
    struct error why;
    uint64_t number = 0;
    if (!parse_number(option, text, &number, &why)) {
        const char *words[] = {option->word, option->other_word};
        const size_t count = option->other_word ? 2 : 1;
        const char *near = option->word && !isdigit((unsigned char)*text) ? suggest(text, words, count) : NULL;
        if (near)
            return fail(err, STATUS_USAGE, "unknown value \"%s\": did you mean %s?", text, near);
        return option->word ? fail(err, STATUS_USAGE, "%s (or the word %s%s%s)", why.text, option->word,
                                   option->other_word ? " or " : "", option->other_word ? option->other_word : "")
                            : fail(err, STATUS_USAGE, "%s", why.text);
    }
    value->number = number;
    if (option->names)
        return check_size(option, text, number, err);
    if (number < option->min || number > option->max) {
        char least[UNITS_TEXT], most[UNITS_TEXT];
        return fail(err, STATUS_USAGE, "\"%s\" is out of range; expected %s to %s", text,
                    print_number(option, option->min, least), print_number(option, option->max, most));
    }
    return true;
}

bool option_is_text(const struct option *option)
{
    return option->width &&
           (option->type == OPTION_TEXT || option->type == OPTION_PATH || option->type == OPTION_FORMAT ||
            option->type == OPTION_APPS || option->type == OPTION_QUALITY || option->type == OPTION_MODEL);
}

void option_store(const struct option *option, union option_value value, struct run_config *config)
{
    char *field = (char *)config + option->offset;
    if (!option->width)
        return;
    if (option->type == OPTION_APPS) {
        memcpy(field, &value.apps, sizeof value.apps);
        return;
    }
    if (option->type == OPTION_MODEL) {
        memcpy(field, &value.model, sizeof value.model);
        return;
    }
    if (option_is_text(option)) {
        if (option->width == sizeof value.text) {
            memcpy(field, &value.text, sizeof value.text);
        } else {
            must(strlen(value.text) < option->width);
            memset(field, 0, option->width);
            memcpy(field, value.text, strlen(value.text));
        }
        return;
    }
    if (option->width == 8) {
        memcpy(field, &value.number, 8);
    } else if (option->width == 4) {
        uint32_t narrow = (uint32_t)value.number;
        memcpy(field, &narrow, 4);
    } else {
        must(option->width == sizeof(bool));
        bool yes = value.number != 0;
        memcpy(field, &yes, sizeof yes);
    }
}

union option_value option_load(const struct option *option, const struct run_config *config)
{
    union option_value value = {0};
    const char *field = (const char *)config + option->offset;
    must(option->width);
    if (option->type == OPTION_APPS) {
        memcpy(&value.apps, field, sizeof value.apps);
        value.text = value.apps ? value.apps->text : NULL;
    } else if (option->type == OPTION_MODEL) {
        const struct model_choice *model;
        memcpy(&model, field, sizeof model);
        value.text = model ? model->text : NULL;
    } else if (option_is_text(option)) {
        if (option->width == sizeof value.text)
            memcpy(&value.text, field, sizeof value.text);
        else
            value.text = field;
    } else if (option->width == 8) {
        memcpy(&value.number, field, 8);
    } else if (option->width == 4) {
        uint32_t narrow;
        memcpy(&narrow, field, 4);
        value.number = narrow;
    } else {
        bool yes;
        memcpy(&yes, field, sizeof yes);
        value.number = yes;
    }
    return value;
}
