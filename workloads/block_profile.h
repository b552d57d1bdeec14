/* How often an earlier run accessed each block: a CSV file with the columns block and accesses, as `pocketload policy
 * profile` writes it. */
#ifndef POCKETLOAD_WORKLOADS_BLOCK_PROFILE_H
#define POCKETLOAD_WORKLOADS_BLOCK_PROFILE_H

#include "workloads/model.h"

/* Fills accesses[model->block_count]; a block that the file does not name has 0. STATUS_INPUT with file:line for an
 * unknown column or block, a block named twice, a number that is none, a file without rows; STATUS_IO. */
bool block_profile_read(const char *path, const struct model *model, uint64_t *accesses, struct error *err);

#endif
