/* One parameter's value, from text and back to the text that gives it again. */
#include "policies/text.h"

#include <inttypes.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

/* The one kind of that name, as a bit. */
static bool parse_kind(const char *text, int64_t *value, struct error *err)
{
    for (unsigned kind = 0; kind < BLOCK_KINDS; kind++) {
        if (strcmp(text, block_kind_names[kind]) == 0) {
            *value = INT64_C(1) << kind;
            return true;
        }
    }
    char near[256];
    return fail(err, STATUS_USAGE, "unknown kind of block \"%s\"%s", text,
                suggest_text(text, block_kind_names, BLOCK_KINDS, near, sizeof near));
}

bool policy_value_parse(const struct policy_param *param, const char *text, int64_t *value, struct error *err)
{
    must(param->unit != POLICY_BLOCKS && param->min >= 0 && param->min <= param->max);
    uint64_t number = 0;
    uint32_t ppm = 0;
    switch (param->unit) {
    case POLICY_COUNT:
        if (!parse_count(text, (uint64_t)param->min, (uint64_t)param->max, &number, err))
            return false;
        break;
    case POLICY_BYTES:
        if (!parse_bytes(text, &number, err))
            return false;
        break;
    case POLICY_PPM:
        if (!parse_share(text, &ppm, err))
            return false;
        number = ppm;
        break;
    case POLICY_KINDS:
        return parse_kind(text, value, err);
    case POLICY_BLOCKS: /* excluded above */
        break;
    }
    if (number < (uint64_t)param->min || number > (uint64_t)param->max) {
        char low[POLICY_VALUE_TEXT], high[POLICY_VALUE_TEXT];
        return fail(err, STATUS_USAGE, "%s is out of range: from %s to %s", text,
                    policy_value_text(param, param->min, low), policy_value_text(param, param->max, high));
    }
    *value = (int64_t)number;
    return true;
}

const char *policy_value_text(const struct policy_param *param, int64_t value, char out[POLICY_VALUE_TEXT])
{
    char number[UNITS_TEXT];
    struct writer writer = {.out = out, .size = POLICY_VALUE_TEXT};
    out[0] = '\0';
    switch (param->unit) {
    case POLICY_COUNT:
        write_text(&writer, "%" PRId64, value);
        break;
    case POLICY_BYTES:
        write_text(&writer, "%s", print_bytes((uint64_t)value, number));
        break;
    case POLICY_PPM:
        write_text(&writer, "%s", print_decimal((uint64_t)value, number));
        break;
    case POLICY_KINDS:
        for (unsigned kind = 0; kind < BLOCK_KINDS; kind++)
            if (value >> kind & 1)
                write_text(&writer, "%s%s", writer.length != 0 ? "," : "", block_kind_names[kind]);
        break;
    case POLICY_BLOCKS: /* their names are in the part */
        break;
    }
    must(!writer.cut);
    return out;
}
