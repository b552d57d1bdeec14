/* Which runs `policy check` makes, and what it concludes. */
#include "policies/check_drive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/plugin.h"
#include "policies/text.h"

enum { SEEDS = 20, SEEDS_OF_VARIANT = 5, OTHER_SEED = 1000 };

static const char *const rule_texts[CHECK_RULES] = {
    [CHECK_RETURNS] = "every call returns",
    [CHECK_STATE_SIZE] = "state_size() asks for an amount that is given, and for the same each time",
    [CHECK_GUARDS] = "writes stay within the state memory",
    [CHECK_VIEW] = "the view and its arrays are left as they are",
    [CHECK_REPEATS] = "equal runs get equal answers: all that is known is in the state memory",
    [CHECK_VICTIM] = "victim() names only blocks that may be evicted",
    [CHECK_ANSWERS] = "victim() names a block whenever one may be evicted",
    [CHECK_RELEASE] = "release() names only blocks that may be evicted",
    [CHECK_REMARK] = "remark() writes one printable line into its buffer",
    [CHECK_REACH] = "reach() answers 1 to 64 steps",
    [CHECK_PLAN] = "plan() names blocks that exist, as many as it may",
};

static bool is_asked(const struct policy *policy, enum check_rule rule)
{
    struct policy whole;
    policy_table_complete(policy, &whole);
    switch (rule) {
    case CHECK_VICTIM:
    case CHECK_ANSWERS:
        return whole.kind == POLICY_EVICT;
    case CHECK_RELEASE:
        return whole.kind == POLICY_EVICT && whole.ops.evict.release != NULL;
    case CHECK_REMARK:
        return whole.kind == POLICY_EVICT && whole.ops.evict.remark != NULL;
    case CHECK_REACH:
        return whole.kind == POLICY_PREFETCH;
    case CHECK_PLAN:
        return whole.kind == POLICY_PREFETCH || whole.kind == POLICY_PIN;
    default:
        return true;
    }
}

/* One set of parameters to try. */
struct variant {
    int64_t values[POLICY_PARAMS_MAX];
    uint32_t named;
    uint32_t seeds;
    char text[CHECK_TEXT];
};

static void go_on(struct check_drive *drive)
{
    if (drive->tested == POLICY_PIN) {
        block_id plan[CHECK_BLOCKS];
        if (!drive->over)
            check_plan(drive, POLICY_PIN, plan);
        drive->over = true;
    } else {
        check_drive_step(drive);
    }
}

/* A run alone; then the same again, in turns with another one, which a policy that shares memory between runs, or goes
 * by addresses, would notice. */
static bool run_twice(struct check_memory *memory, const struct check_world *world, const struct check_world *other,
                      const struct variant *variant, uint64_t seed)
{
    const struct policy *policy = memory->part.policy;
    uint64_t trails[CHECK_STEPS];
    struct check_drive first, again, beside;
    bool good = check_drive_start(&first, memory, world, policy, variant->values, variant->named, seed);
    for (uint32_t s = 0; good && s < CHECK_STEPS; s++) {
        go_on(&first);
        trails[s] = first.trail;
    }
    check_drive_end(&first);
    if (!good || first.over != (policy->kind == POLICY_PIN))
        return good; /* no memory, or a breach that ended it */
    good = check_drive_start(&beside, memory, other, policy, variant->values, variant->named, seed + OTHER_SEED);
    if (good) {
        good = check_drive_start(&again, memory, world, policy, variant->values, variant->named, seed);
        for (uint32_t s = 0; good && s < CHECK_STEPS; s++) {
            go_on(&beside);
            go_on(&again);
            if (again.trail != trails[s]) {
                check_broken(&again, CHECK_REPEATS, "another answer than in the run before, which was the same");
                break;
            }
        }
        check_drive_end(&again);
    }
    check_drive_end(&beside);
    return good;
}

static bool run_variant(struct check_memory *memory, const struct variant *variant)
{
    struct check_world *world = malloc(2 * sizeof *world);
    bool good = world != NULL;
    for (uint32_t s = 0; good && s < check_scene_count; s++) {
        snprintf(memory->place, sizeof memory->place, "scene \"%s\"%s", check_scenes[s].name, variant->text);
        for (uint64_t seed = 1; good && seed <= variant->seeds; seed++) {
            check_world_make(&check_scenes[s], seed, &world[0]);
            check_world_make(&check_scenes[s], seed + OTHER_SEED, &world[1]);
            good = run_twice(memory, &world[0], &world[1], variant, seed);
        }
    }
    free(world);
    return good;
}

/* Sets a parameter to the least (end 0) or the most (end 1) that it takes. */
static void extreme(const struct policy_param *param, int end, struct variant *variant, uint32_t p)
{
    if (param->unit == POLICY_BLOCKS) {
        variant->named = end == 0 ? 1 : CHECK_BLOCKS;
        snprintf(variant->text, sizeof variant->text, ", %s: %s", param->name, end == 0 ? "one" : "all");
        return;
    }
    int64_t value = end == 0 ? param->min : param->max;
    if (param->unit == POLICY_KINDS)
        value = end == 0 ? 1 : (1 << BLOCK_KINDS) - 1;
    char text[POLICY_VALUE_TEXT];
    variant->values[p] = value;
    snprintf(variant->text, sizeof variant->text, ", %s=%s", param->name, policy_value_text(param, value, text));
}

static bool run_variants(struct check_memory *memory)
{
    const struct policy *policy = memory->part.policy;
    struct variant given = {.seeds = SEEDS};
    memcpy(given.values, memory->part.values, sizeof given.values);
    for (uint32_t p = 0; p < policy->param_count; p++)
        if (policy->params[p].unit == POLICY_BLOCKS)
            given.named = 1;
    bool good = run_variant(memory, &given);
    for (uint32_t p = 0; good && p < policy->param_count; p++)
        for (int end = 0; good && end <= 1; end++) {
            struct variant variant = given;
            variant.seeds = SEEDS_OF_VARIANT;
            extreme(&policy->params[p], end, &variant, p);
            good = run_variant(memory, &variant);
        }
    return good;
}

static void work(struct child_shared *shared)
{
    struct check_memory *memory = (struct check_memory *)shared;
    memory->no_memory = !run_variants(memory);
}

static void conclude(struct check_memory *memory, const char *end)
{
    struct check_report *report = &memory->report;
    if (end[0] != '\0') {
        for (int rule = 0; rule < CHECK_RULES; rule++)
            if (report->rules[rule].verdict == CHECK_KEPT)
                report->rules[rule].verdict = CHECK_UNFINISHED;
        report->rules[CHECK_RETURNS].verdict = CHECK_BROKEN;
        snprintf(report->rules[CHECK_RETURNS].why, CHECK_WHY_TEXT, "%s() %s; %s, seed %" PRIu64 ", step %u",
                 memory->call, end, memory->place, memory->seed, memory->step);
    }
    for (int rule = 0; rule < CHECK_RULES; rule++) {
        report->asked += report->rules[rule].verdict != CHECK_NOT_ASKED;
        report->broken += report->rules[rule].verdict == CHECK_BROKEN;
    }
}

bool policy_check(const struct policy_part *part, struct check_report *report, struct error *err)
{
    must(part->policy != NULL);
    struct check_memory *memory = (struct check_memory *)child_memory(sizeof *memory);
    if (memory == NULL)
        return fail(err, STATUS_IO, "out of memory");
    memory->part = *part;
    memory->call = "init";
    for (int rule = 0; rule < CHECK_RULES; rule++) {
        memory->report.rules[rule].rule = rule_texts[rule];
        memory->report.rules[rule].verdict =
            is_asked(part->policy, (enum check_rule)rule) ? CHECK_KEPT : CHECK_NOT_ASKED;
    }
    char end[CHILD_END_TEXT];
    bool good = child_run(work, &memory->shared, false, CHECK_CALL_MS, end, err);
    if (good && memory->no_memory)
        good = fail(err, STATUS_IO, "out of memory");
    if (good) {
        conclude(memory, end);
        *report = memory->report;
    }
    child_memory_free(&memory->shared, sizeof *memory);
    return good;
}
