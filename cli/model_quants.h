/* The action `model quants`. */
#ifndef POCKETLOAD_CLI_MODEL_QUANTS_H
#define POCKETLOAD_CLI_MODEL_QUANTS_H

/* As the actions of cli/command.h: prints its own errors, returns the exit code. */
int model_quants(int argc, char **argv);

#endif
