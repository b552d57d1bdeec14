/* `pocketload policy check`: a line for each rule of the contract. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/common.h"
#include "cli/policy.h"
#include "policies/check.h"
#include "policies/plugin.h"

struct check_input {
    struct arguments arguments;
    const char *name;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct check_input *input = state->input;
    if (key == ARGP_KEY_ARG)
        return take_argument(&input->arguments, &input->name, text);
    if (key != ARGP_KEY_NO_ARGS)
        return ARGP_ERR_UNKNOWN;
    fail(input->arguments.err, STATUS_USAGE, "which one? POLICY is missing");
    return EINVAL;
}

/* A name alone stands for the policy with its defaults, also where a composition would want names of blocks. */
static bool find_part(const char *text, struct policy_part *part, struct error *err)
{
    const struct policy *policy;
    if (!policy_named(text, &policy, err))
        return false;
    if (policy == NULL)
        return policy_parse_alone(text, part, err);
    memset(part, 0, sizeof *part);
    part->policy = policy;
    for (uint32_t i = 0; i < policy->param_count; i++)
        part->values[i] = policy->params[i].fallback;
    return true;
}

/* True for the path of a file that is there: then what is wrong with it is a finding, not a mistake of the user's. */
static bool is_there(const char *text)
{
    return policy_is_path(text) && access(text, F_OK) == 0;
}

static void print_rules(const struct check_report *found)
{
    for (int i = 0; i < CHECK_RULES; i++) {
        const char *rule = found->rules[i].rule;
        switch (found->rules[i].verdict) {
        case CHECK_KEPT:
            printf("ok - %s\n", rule);
            break;
        case CHECK_BROKEN:
            printf("not ok - %s: %s\n", rule, found->rules[i].why);
            break;
        case CHECK_UNFINISHED:
            printf("ok - %s # SKIP kept until the call that did not return\n", rule);
            break;
        case CHECK_NOT_ASKED:
            break;
        }
    }
}

int policy_check_command(int argc, char **argv)
{
    static const struct argp_option options[] = {HELP_OPTION, {0}};
    static const struct argp argp = {
        options,
        parse,
        "POLICY",
        "Drives a policy against a hand-made view, without a simulator, and prints a line for each rule of the "
        "contract: `ok - RULE`, or `not ok - RULE: ` with the first breach. POLICY is a built-in or the path of a "
        "plug-in, with parameters as in a composition: ./mine.so(bits=2). Exit code 1 when a rule is broken.",
        NULL,
        NULL,
        NULL};
    struct check_input input = {0};
    struct policy_part part;
    struct check_report found;
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &input.arguments, &err))
        return report(&err);
    if (input.arguments.helped)
        return STATUS_OK;
    if (!find_part(input.name, &part, &err)) {
        if (err.code != STATUS_USAGE || !is_there(input.name))
            return report(&err);
        printf("not ok - the object loads, and its table is sound: %s\n", err.text);
        return STATUS_CHECK;
    }
    if (!policy_check(&part, &found, &err))
        return report(&err);
    printf("ok - the object loads, and its table is sound\n");
    print_rules(&found);
    if (found.broken > 0)
        printf("# %s breaks %u of %u rules\n", input.name, found.broken, found.asked + 1);
    else
        printf("# %s keeps all %u rules, in %llu calls\n", input.name, found.asked + 1,
               (unsigned long long)found.calls);
    return found.broken > 0 ? STATUS_CHECK : STATUS_OK;
}
