/* Text taken apart, and the canonical text of a part or a preset with its parameters. */
#include "policies/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

char *trim_text(char *text)
{
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

char *cut_text(char *text, char separator, char **rest)
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
    return trim_text(text);
}

void write_text(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = writer->size - writer->length;
    int length = vsnprintf(writer->out + writer->length, room, format, arguments);
    va_end(arguments);
    must(length >= 0);
    if ((size_t)length >= room) {
        writer->cut = true;
        length = (int)room - 1;
    }
    writer->length += (size_t)length;
}

/* A size or names say by themselves what they are, unless the first name would read like NAME=VALUE. */
static bool stands_bare(const struct policy_part *part, const struct policy_param *param)
{
    return param->unit == POLICY_BYTES || param->unit == POLICY_KINDS ||
           (param->unit == POLICY_BLOCKS && strchr(part->names, '=') == NULL);
}

static void write_value(struct writer *writer, const struct policy_part *part, uint32_t param)
{
    char text[POLICY_VALUE_TEXT];
    const char *name = part->names;
    for (uint32_t i = 0; i < part->name_count && part->policy->params[param].unit == POLICY_BLOCKS; i++) {
        write_text(writer, "%s%s", i != 0 ? "," : "", name);
        name += strlen(name) + 1;
    }
    write_text(writer, "%s", policy_value_text(&part->policy->params[param], part->values[param], text));
}

void write_item(struct writer *writer, const char *name, struct policy_part *const *parts, uint32_t count)
{
    uint32_t written = 0;
    write_text(writer, "%s", name);
    for (int lists = 0; lists <= 1; lists++) {
        uint32_t declared = 0;
        for (uint32_t t = 0; t < count; t++) {
            const struct policy *policy = parts[t]->policy;
            for (uint32_t p = 0; p < policy->param_count; p++, declared++) {
                const struct policy_param *param = &policy->params[p];
                bool given = param->unit == POLICY_BLOCKS || parts[t]->values[p] != param->fallback;
                if (policy_is_list(param) != (lists == 1) || !given)
                    continue;
                write_text(writer, "%s", written++ == 0 ? "(" : ",");
                if (declared != 0 || written != 1 || !stands_bare(parts[t], param))
                    write_text(writer, "%s=", param->name);
                write_value(writer, parts[t], p);
            }
        }
    }
    if (written != 0)
        write_text(writer, ")");
}
