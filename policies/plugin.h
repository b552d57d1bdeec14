/* Policies in shared objects: `--policy ./mine.so`.
 *
 * A shared object is a stranger. Loading it runs its constructors, and reading its table follows its pointers, so both
 * happen first in a process of its own with a time limit; only what came through that is loaded for good, and checked
 * again. It is never unloaded: tables and functions are pointed to by choices that are plain values, and by workers. */
#ifndef POCKETLOAD_POLICIES_PLUGIN_H
#define POCKETLOAD_POLICIES_PLUGIN_H

#include "base/error.h"
#include "policies/policy.h"

enum {
    PLUGIN_LOAD_MS = 5000, /* the time limit of a load, by the wall clock */
    POLICY_NAME_MAX = 31,
    POLICY_SUMMARY_MAX = 200, /* bytes of a summary, and of a parameter's help */
};

/* What messages say of paths that a list or a composition has torn apart. */
#define PLUGIN_PATH_RULE "the path of a plug-in may not hold ',', '+', '(' or ')', which separate policies"

/* True for the name of a part that is a shared object's: it holds a '/' or ends in ".so". */
bool policy_is_path(const char *name);

/* Loads the object (a path without '/' is one of the current folder) and checks its table. *policy is the object's own
 * table, valid to the end of the program; loading it once more is cheap. STATUS_USAGE with "policy PATH: " in front: no
 * such file, no shared object, no symbol `policy`, a crash or a hang of a constructor, a table that breaks the
 * contract; STATUS_IO: no process could be started. */
bool policy_plugin_load(const char *path, const struct policy **policy, struct error *err);

/* Checks a table against policy.h: version, size (`room`: bytes that are really there, SIZE_MAX when that is not
 * known), kind, texts that can be shown, parameters with sound ranges, the functions that its kind must have.
 * STATUS_USAGE. */
bool policy_table_check(const struct policy *table, size_t room, struct error *err);

/* The first function that the contract requires and the table lacks, by its name; NULL: none. Of the table's size. */
const char *policy_missing_function(const struct policy *table);

/* A copy whose missing end is filled with NULLs: what to call functions through. */
void policy_table_complete(const struct policy *table, struct policy *whole);

#endif
