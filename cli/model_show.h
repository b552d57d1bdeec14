/* The action `model show`. */
#ifndef POCKETLOAD_CLI_MODEL_SHOW_H
#define POCKETLOAD_CLI_MODEL_SHOW_H

/* As the actions of cli/command.h: prints its own errors, returns the exit code. */
int model_show(int argc, char **argv);

#endif
