/* The keys of a config as a table. Apart from the commands, because argp and the option table both have a `struct
 * option`. */
#ifndef POCKETLOAD_CLI_CONFIG_KEYS_H
#define POCKETLOAD_CLI_CONFIG_KEYS_H

#include "cli/common.h"

/* Shows section, key, values, default and meaning of every option. */
bool show_config_keys(enum format format, struct error *err);

#endif
