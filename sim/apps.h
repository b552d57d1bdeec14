/* Other apps of the phone, as a config lists them, and when they grow. docs/models.md section 12, the last rule. */
#ifndef POCKETLOAD_SIM_APPS_H
#define POCKETLOAD_SIM_APPS_H

#include "sim/pressure.h"

enum { APP_ADJ_MIN = -1000, APP_ADJ_MAX = 1001, APP_STEP_BYTES = 1 << 20 };
#define APP_GROWTH_MAX_BYTES (UINT64_C(1) << 40) /* a growth is gone through MiB by MiB */

/* Words for an oom_score_adj, with their numbers (Android, ProcessList.java: FOREGROUND_APP_ADJ ...
 * CACHED_APP_MIN_ADJ). */
enum { ADJ_NAMES = 5 };
extern const char *const adj_names[ADJ_NAMES];
extern const int32_t adj_numbers[ADJ_NAMES];

/* A word, or a number from APP_ADJ_MIN to `most`. False: it is neither. */
bool adj_parse(const char *text, int32_t most, int32_t *adj);

/* Parses items NAME:ADJ:SIZE[@START][+RATE/s..MAX] that blanks separate, at most PRESSURE_APPS_MAX of them:
 *   mail:900:200MiB camera:0:900MiB@2s sync:905:50MiB@1s+20MiB/s..400MiB
 * *apps (from the arena) and *count are set; a blank text has none, and NULL. STATUS_USAGE for a text that is wrong,
 * with the item's number and what was expected; STATUS_IO without memory. ADJ may be one of adj_names. Sizes are at
 * most 2^50 bytes, growths 2^40.
 */
bool apps_parse(const char *text, struct arena *arena, struct app_spec **apps, uint32_t *count, struct error *err);

/* When the app has its k-th step of growth, k >= 1; INT64_MAX: it has none. */
int64_t app_step_ns(const struct app_spec *app, uint64_t k);

/* Its size after k steps. */
uint64_t app_step_bytes(const struct app_spec *app, uint64_t k);

#endif
