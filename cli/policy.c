/* `pocketload policy`: the policies and presets, and their parameters. */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "policies/registry.h"

enum { NAMES_MAX = 256, VALUE_BYTES = 64 };

static const char *const policy_kind_names[] = {"evict", "pin", "prefetch"};

struct policy_row {
    const char *name, *kind, *parts, *summary;
};

static int list(int argc, char **argv)
{
    static const struct column columns[] = {
        {"name", COLUMN_TEXT, offsetof(struct policy_row, name), false, "name"},
        {"kind", COLUMN_TEXT, offsetof(struct policy_row, kind), false, "evict, pin, prefetch or preset"},
        {"parts", COLUMN_TEXT, offsetof(struct policy_row, parts), true, "what a preset stands for"},
        {"summary", COLUMN_TEXT, offsetof(struct policy_row, summary), false, "what it does"},
    };
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the policies and the presets that join them.", &input, &status))
        return status;
    size_t count, preset_count;
    const struct policy *const *policies = policy_all(&count);
    const struct policy_preset *presets = policy_presets(&preset_count);
    struct error err;
    struct policy_row *rows = calloc(count + preset_count, sizeof *rows);
    if (rows == NULL) {
        fail(&err, STATUS_IO, "out of memory");
        return report(&err);
    }
    for (size_t i = 0; i < count; i++)
        rows[i] =
            (struct policy_row){policies[i]->name, policy_kind_names[policies[i]->kind], "", policies[i]->summary};
    for (size_t i = 0; i < preset_count; i++)
        rows[count + i] = (struct policy_row){presets[i].name, "preset", presets[i].parts, presets[i].summary};
    bool good = show_records(input.format, columns, sizeof columns / sizeof columns[0], rows, sizeof *rows,
                             count + preset_count, &err);
    free(rows);
    return good ? STATUS_OK : report(&err);
}

struct param_row {
    const char *policy, *kind, *parameter, *unit, *minimum, *maximum, *fallback, *help;
    char texts[3][VALUE_BYTES];
};

static const char *value_text(enum policy_unit unit, int64_t value, char out[VALUE_BYTES])
{
    char text[UNITS_TEXT];
    if (unit == POLICY_BYTES && value >= 0)
        snprintf(out, VALUE_BYTES, "%s", print_bytes((uint64_t)value, text));
    else if (unit == POLICY_PPM && value >= 0)
        snprintf(out, VALUE_BYTES, "%s", print_decimal((uint64_t)value, text));
    else
        snprintf(out, VALUE_BYTES, "%lld", (long long)value);
    return out;
}

static void fill_param(const struct policy *policy, uint32_t i, struct param_row *row)
{
    static const char *const units[] = {"count", "bytes", "share", "kinds", "blocks"};
    *row =
        (struct param_row){policy->name, policy_kind_names[policy->kind], "", "", "", "", "", policy->summary, {{0}}};
    if (i >= policy->param_count)
        return;
    const struct policy_param *param = &policy->params[i];
    row->parameter = param->name;
    row->unit = units[param->unit];
    row->help = param->help;
    if (param->unit == POLICY_KINDS || param->unit == POLICY_BLOCKS)
        return;
    row->minimum = value_text(param->unit, param->min, row->texts[0]);
    row->maximum = value_text(param->unit, param->max, row->texts[1]);
    row->fallback = value_text(param->unit, param->fallback, row->texts[2]);
}

static bool find(const char *name, const struct policy *found[3], size_t *found_count, struct error *err)
{
    size_t count, preset_count, name_count = 0;
    const struct policy *const *policies = policy_all(&count);
    const struct policy_preset *presets = policy_presets(&preset_count);
    const char *names[NAMES_MAX];
    must(count + preset_count <= NAMES_MAX);
    *found_count = 0;
    for (size_t i = 0; i < count; i++) {
        names[name_count++] = policies[i]->name;
        if (strcmp(name, policies[i]->name) == 0)
            found[(*found_count)++] = policies[i];
    }
    for (size_t i = 0; i < preset_count; i++) {
        names[name_count++] = presets[i].name;
        if (*found_count > 0 || strcmp(name, presets[i].name) != 0)
            continue;
        struct policy_choice choice;
        if (!policy_parse(presets[i].parts, &choice, err))
            return false;
        const struct policy *const parts[] = {choice.evict.policy, choice.pin.policy, choice.prefetch.policy};
        for (int k = 0; k < 3; k++)
            if (parts[k] != NULL)
                found[(*found_count)++] = parts[k];
    }
    char near[ERROR_PART];
    return *found_count > 0 || fail(err, STATUS_USAGE, "unknown policy \"%.80s\"%s", name,
                                    suggest_text(name, names, name_count, near, sizeof near));
}

static int show(int argc, char **argv)
{
    static const struct column columns[] = {
        {"policy", COLUMN_TEXT, offsetof(struct param_row, policy), false, "policy"},
        {"kind", COLUMN_TEXT, offsetof(struct param_row, kind), false, "evict, pin or prefetch"},
        {"parameter", COLUMN_TEXT, offsetof(struct param_row, parameter), true, "parameter; none when empty"},
        {"unit", COLUMN_TEXT, offsetof(struct param_row, unit), true, "how its value is written"},
        {"min", COLUMN_TEXT, offsetof(struct param_row, minimum), true, "smallest value"},
        {"max", COLUMN_TEXT, offsetof(struct param_row, maximum), true, "largest value"},
        {"default", COLUMN_TEXT, offsetof(struct param_row, fallback), true, "value when none is given"},
        {"help", COLUMN_TEXT, offsetof(struct param_row, help), false, "what it means"},
    };
    struct action_input input;
    int status;
    if (!action_start(argc, argv, "POLICY", "Shows the parameters of a policy, or of the parts of a preset.", &input,
                      &status))
        return status;
    struct error err;
    const struct policy *found[3];
    size_t found_count, count = 0;
    if (!find(input.name, found, &found_count, &err))
        return report(&err);
    struct param_row rows[3 * POLICY_PARAMS_MAX];
    for (size_t k = 0; k < found_count; k++)
        for (uint32_t i = 0; i == 0 || i < found[k]->param_count; i++)
            fill_param(found[k], i, &rows[count++]);
    bool good =
        show_records(input.format, columns, sizeof columns / sizeof columns[0], rows, sizeof rows[0], count, &err);
    return good ? STATUS_OK : report(&err);
}

int command_policy(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the policies and presets", list},
        {"show", "POLICY", "the parameters of one", show},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
