/* The parts of `policy check`: what a policy is shown, and the calls that it gets. Inside this folder only. */
#ifndef POCKETLOAD_POLICIES_CHECK_DRIVE_H
#define POCKETLOAD_POLICIES_CHECK_DRIVE_H

#include "base/rng.h"
#include "policies/check.h"
#include "policies/check_child.h"

enum {
    CHECK_BLOCKS = 40,
    CHECK_STEPS = 60,
    CHECK_USES = 12, /* of one step */
    CHECK_ACCESSES = CHECK_STEPS * CHECK_USES,
    CHECK_GUARD = 4096, /* bytes before the state and behind it */
    CHECK_TEXT = 128,
};

enum check_sizes { SIZES_UNIT, SIZES_MIXED, SIZES_MODEL };

struct check_scene {
    const char *name;
    uint32_t blocks;
    enum check_sizes sizes;
    uint32_t budget_percent; /* of all blocks; 0: budget_bytes instead */
    uint64_t budget_bytes;
    uint32_t uses_max;        /* of a step */
    uint32_t pin_percent;     /* of the blocks */
    uint32_t fills_max;       /* prefetches after a step */
    bool after_step, instant; /* instant: blocks are there at once, as in a replay */
};

extern const struct check_scene check_scenes[];
extern const uint32_t check_scene_count;

/* All that the policy can see, in one piece, so that it can be compared with a copy. */
struct check_shown {
    struct policy_view view;
    struct policy_block blocks[CHECK_BLOCKS];
    uint8_t state[CHECK_BLOCKS];
    uint64_t heat[CHECK_BLOCKS], profile[CHECK_BLOCKS];
    uint32_t next_use[CHECK_BLOCKS];
    block_id ahead[CHECK_ACCESSES];
    uint32_t ahead_end[POLICY_REACH_MAX];
    block_id used[CHECK_USES];
    int64_t values[POLICY_PARAMS_MAX];
    block_id named[CHECK_BLOCKS];
};

struct check_step {
    uint32_t count;
    block_id uses[CHECK_USES]; /* the same block again: a further use */
};

/* A trace, fixed before the first call. */
struct check_world {
    struct check_scene scene;
    struct check_shown shown;
    struct check_step steps[CHECK_STEPS];
    uint32_t next[CHECK_ACCESSES]; /* by access: the access that uses its block next */
};

/* Makes blocks, budget and trace of a scene. */
void check_world_make(const struct check_scene *scene, uint64_t seed, struct check_world *world);

/* What both processes see. */
struct check_memory {
    struct child_shared shared;
    struct policy_part part;
    struct check_report report;
    /* Where the child is, for a call that does not come back. */
    const char *call;
    char place[2 * CHECK_TEXT]; /* scene and parameters */
    uint64_t seed;
    uint32_t step;
    bool no_memory;
};

/* A policy in its place. */
struct check_seat {
    struct policy table; /* completed */
    const struct policy *policy;
    void *self;
    uint8_t *memory; /* with guards */
    size_t size, mapped;
    int64_t values[POLICY_PARAMS_MAX];
    uint32_t named;
};

/* One run of one trace. */
struct check_drive {
    struct check_memory *memory;
    struct check_world *world; /* its own */
    struct check_shown *before;
    struct rng rng; /* of the driver's choices: they depend on the policy's answers alone */
    struct check_seat seats[POLICY_KINDS_COUNT];
    enum policy_kind tested;
    uint64_t seed;
    uint32_t step;
    uint64_t access;
    uint64_t trail; /* a hash of all answers */
    uint32_t reach;
    bool streamed[CHECK_BLOCKS];
    bool over; /* a breach after which nothing can follow */
};

/* Seats the tested policy with these parameters, LRU where another is needed, and starts all. False without memory. */
bool check_drive_start(struct check_drive *drive, struct check_memory *memory, const struct check_world *world,
                       const struct policy *tested, const int64_t *values, uint32_t named, uint64_t seed);
/* The next step; nothing when the drive is over. */
void check_drive_step(struct check_drive *drive);
void check_drive_end(struct check_drive *drive);

/* Around each call of a policy: check_ask() before, check_told() after it, which looks at guards and view. */
void check_ask(struct check_drive *drive, const char *call);
void check_told(struct check_drive *drive, const struct check_seat *seat);

/* Notes an answer for the comparison of runs. */
void check_note(struct check_drive *drive, uint64_t answer);

/* The first breach of a rule, with its place. */
void check_broken(struct check_drive *drive, enum check_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The questions to a policy that is seated, checked. */
bool check_seat_start(struct check_drive *drive, enum policy_kind kind, const struct policy *policy,
                      const int64_t *values, uint32_t named);
void check_seat_end(struct check_seat *seat);
void check_remark(struct check_drive *drive, size_t size);
void check_reach(struct check_drive *drive);
/* The plan of a pin rule or a prefetcher; how many of its blocks are good. */
uint32_t check_plan(struct check_drive *drive, enum policy_kind kind, block_id out[CHECK_BLOCKS]);

#endif
