/* The replay once more, with plain lists: the twin of sim/replay.c. */
#ifndef POCKETLOAD_TESTS_NAIVE_REPLAY_H
#define POCKETLOAD_TESTS_NAIVE_REPLAY_H

#include "sim/replay.h"
#include "tests/reference/naive_policy.h"

/* Replays with `choice` in place of the spec's policies; prefetchers play no part. */
void naive_replay(const struct replay_spec *spec, const struct naive_choice *choice, struct replay_result *result);

#endif
