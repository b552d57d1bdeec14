/* Drives a policy against a hand-made view, without a simulator, and tells which rules of policy.h it keeps.
 *
 * Random sequences of steps, each with a seed, over scenes that bring out the corners: equal and unequal sizes, one
 * block, one place, blocks larger than the budget, all blocks pinned, prefetches that arrive, wait or are cancelled,
 * eviction after the step, steps that use all that is there; with the parameters as given, and each at its least and
 * at its most. All runs in a child process, so that a crash or an endless loop is a finding. */
#ifndef POCKETLOAD_POLICIES_CHECK_H
#define POCKETLOAD_POLICIES_CHECK_H

#include "policies/registry.h"

enum { CHECK_CALL_MS = 5000 }; /* the longest that one call may take */

/* The rules, in the order of their lines. */
enum check_rule {
    CHECK_RETURNS,
    CHECK_STATE_SIZE,
    CHECK_GUARDS,
    CHECK_VIEW,
    CHECK_REPEATS,
    CHECK_VICTIM,
    CHECK_ANSWERS,
    CHECK_RELEASE,
    CHECK_REMARK,
    CHECK_REACH,
    CHECK_PLAN,
    CHECK_RULES
};

enum check_verdict { CHECK_NOT_ASKED, CHECK_KEPT, CHECK_BROKEN, CHECK_UNFINISHED };

enum { CHECK_WHY_TEXT = 400 };

struct check_report {
    struct {
        const char *rule; /* a sentence without its end */
        enum check_verdict verdict;
        char why[CHECK_WHY_TEXT]; /* the first breach, with scene, parameters, seed and step; "" when kept */
    } rules[CHECK_RULES];
    uint32_t asked, broken;
    uint64_t calls; /* of the policy's functions */
};

/* Checks a part whose table is sound. STATUS_IO: no process or no memory; breaches are in the report. */
bool policy_check(const struct policy_part *part, struct check_report *report, struct error *err);

#endif
