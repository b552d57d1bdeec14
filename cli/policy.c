/* `pocketload policy`: the policies and presets, and their parameters. */
#include "cli/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/policy_profile.h"
#include "policies/plugin.h"
#include "policies/registry.h"

enum { NAMES_MAX = 256 };

struct policy_row {
    const char *name, *kind, *parts, *summary;
};

static int list(int argc, char **argv)
{
    static const struct column columns[] = {
        {"name", COLUMN_TEXT, offsetof(struct policy_row, name), false, "name"},
        {"kind", COLUMN_TEXT, offsetof(struct policy_row, kind), false, "evict, pin, prefetch, admit or preset"},
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
    char texts[3][POLICY_VALUE_TEXT];
};

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
    row->fallback = policy_value_text(param, param->fallback, row->texts[2]);
    if (param->unit == POLICY_KINDS || param->unit == POLICY_BLOCKS)
        return;
    row->minimum = policy_value_text(param, param->min, row->texts[0]);
    row->maximum = policy_value_text(param, param->max, row->texts[1]);
}

bool policy_named(const char *name, const struct policy **policy, struct error *err)
{
    size_t count;
    const struct policy *const *policies = policy_all(&count);
    *policy = NULL;
    if (policy_is_path(name) && strpbrk(name, "(:") == NULL)
        return policy_plugin_load(name, policy, err);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, policies[i]->name) == 0)
            *policy = policies[i];
    return true;
}

/* The parts of a preset. */
static bool find_parts(const char *name, const struct policy *found[POLICY_KINDS_COUNT], size_t *found_count,
                       struct error *err)
{
    size_t count, preset_count, name_count = 0;
    const struct policy *const *policies = policy_all(&count);
    const struct policy_preset *presets = policy_presets(&preset_count);
    const char *names[NAMES_MAX];
    must(count + preset_count <= NAMES_MAX);
    for (size_t i = 0; i < count; i++)
        names[name_count++] = policies[i]->name;
    for (size_t i = 0; i < preset_count; i++) {
        names[name_count++] = presets[i].name;
        struct policy_choice choice;
        if (strcmp(name, presets[i].name) != 0)
            continue;
        if (!policy_parse(presets[i].parts, &choice, err))
            return false;
        for (int kind = 0; kind < POLICY_KINDS_COUNT; kind++) {
            const struct policy_part *part = policy_choice_part(&choice, (enum policy_kind)kind);
            if (part->policy != NULL)
                found[(*found_count)++] = part->policy;
        }
        return true;
    }
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "unknown policy \"%.80s\"%s", name,
                suggest_text(name, names, name_count, near, sizeof near));
}

static int show(int argc, char **argv)
{
    static const struct column columns[] = {
        {"policy", COLUMN_TEXT, offsetof(struct param_row, policy), false, "policy"},
        {"kind", COLUMN_TEXT, offsetof(struct param_row, kind), false, "evict, pin, prefetch or admit"},
        {"parameter", COLUMN_TEXT, offsetof(struct param_row, parameter), true, "parameter; none when empty"},
        {"unit", COLUMN_TEXT, offsetof(struct param_row, unit), true, "how its value is written"},
        {"min", COLUMN_TEXT, offsetof(struct param_row, minimum), true, "smallest value"},
        {"max", COLUMN_TEXT, offsetof(struct param_row, maximum), true, "largest value"},
        {"default", COLUMN_TEXT, offsetof(struct param_row, fallback), true, "value when none is given"},
        {"help", COLUMN_TEXT, offsetof(struct param_row, help), false, "what it means"},
    };
    struct action_input input;
    int status;
    if (!action_start(
            argc, argv, "POLICY",
            "Shows the parameters of a policy (a name, or the path of a plug-in), or of the parts of a preset.", &input,
            &status))
        return status;
    struct error err;
    const struct policy *found[POLICY_KINDS_COUNT];
    size_t found_count = 1, count = 0;
    if (!policy_named(input.name, &found[0], &err))
        return report(&err);
    if (found[0] == NULL) {
        found_count = 0;
        if (!find_parts(input.name, found, &found_count, &err))
            return report(&err);
    }
    struct param_row rows[POLICY_KINDS_COUNT * POLICY_PARAMS_MAX];
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
        {"new", "NAME [--kind KIND]", "write a policy to start from, as a C file", policy_new},
        {"check", "POLICY", "drive a policy, and tell which rules of the contract it keeps", policy_check_command},
        {"profile", "[DB] --run KEY", "how often a stored run used each block", policy_profile},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
