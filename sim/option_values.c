/* Single values of options: from text, into their field, and out of it. */
#include "sim/options.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

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
        if (!parse_share(text, &ppm, err))
            return false;
        *number = ppm;
        return true;
    default:
        return parse_count(text, option->min, option->max, number, err);
    }
}

static bool parse_name(const char *text, const char *const *names, size_t count, uint64_t *index, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return true;
        }
    char near[512];
    return fail(err, STATUS_USAGE, "unknown value \"%s\"%s", text, suggest_text(text, names, count, near, sizeof near));
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

bool option_parse(const struct option *option, const char *text, struct arena *arena, union option_value *value,
                  struct error *err)
{
    *value = (union option_value){0};
    if (option->word && strcmp(text, option->word) == 0) {
        value->number = (uint64_t)option->word_value;
        return true;
    }
    size_t length = strlen(text);
    switch (option->type) {
    case OPTION_CHOICE:
        return parse_name(text, option->names, option->name_count, &value->number, err);
    case OPTION_TEXT:
    case OPTION_PATH:
    case OPTION_PROFILE:
    case OPTION_FORMAT:
    case OPTION_POLICY:
    case OPTION_PART:
        if (length < option->min)
            return fail(err, STATUS_USAGE, "no value; expected %s", option_type_texts[option->type]);
        if (length > option->max)
            return fail(err, STATUS_USAGE, "%zu bytes are too long; expected at most %llu", length,
                        (unsigned long long)option->max);
        struct trace_format format;
        if (option->type == OPTION_FORMAT && !trace_format_parse(text, &format, err))
            return false;
        if (option->type == OPTION_POLICY && !parse_policy(option, text, arena, value, err))
            return false;
        if (option->type == OPTION_POLICY)
            return true;
        if (option->type == OPTION_PART && !parse_policy(option, text, arena, value, err))
            return false;
        value->text = arena_strdup(arena, text);
        return value->text || fail(err, STATUS_IO, "out of memory");
    default:
        break;
    }
    struct error why;
    uint64_t number = 0;
    if (!parse_number(option, text, &number, &why))
        return option->word ? fail(err, STATUS_USAGE, "%s (or the word %s)", why.text, option->word)
                            : fail(err, STATUS_USAGE, "%s", why.text);
    if (number < option->min || number > option->max) {
        char least[UNITS_TEXT], most[UNITS_TEXT];
        return fail(err, STATUS_USAGE, "\"%s\" is out of range; expected %s to %s", text,
                    print_number(option, option->min, least), print_number(option, option->max, most));
    }
    value->number = number;
    return true;
}

bool option_is_text(const struct option *option)
{
    return option->width &&
           (option->type == OPTION_TEXT || option->type == OPTION_PATH || option->type == OPTION_FORMAT);
}

void option_store(const struct option *option, union option_value value, struct run_config *config)
{
    char *field = (char *)config + option->offset;
    if (!option->width)
        return;
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
    if (option_is_text(option)) {
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
