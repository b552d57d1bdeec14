/* What the actions of `pocketload policy` share. */
#ifndef POCKETLOAD_CLI_POLICY_H
#define POCKETLOAD_CLI_POLICY_H

#include "base/error.h"
#include "policies/policy.h"

/* The built-in of that name, or the plug-in of that path; NULL when it is neither. STATUS_USAGE: a plug-in that cannot
 * be used. */
bool policy_named(const char *name, const struct policy **policy, struct error *err);

int policy_new(int argc, char **argv);
int policy_check_command(int argc, char **argv);

#endif
