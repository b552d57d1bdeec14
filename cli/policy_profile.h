/* `pocketload policy profile`: how often a stored run used each block. */
#ifndef POCKETLOAD_CLI_POLICY_PROFILE_H
#define POCKETLOAD_CLI_POLICY_PROFILE_H

/* As struct command's run. */
int policy_profile(int argc, char **argv);

#endif
