/* Growth of heap arrays with checked sizes, for readers that do not know how much will come. */
#ifndef POCKETLOAD_BASE_ARRAY_H
#define POCKETLOAD_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Makes room for at least `need` elements of `size` bytes in *data (from malloc, or NULL with *capacity
 * 0). Grows by half as much again, so that appending is amortised O(1). Fails with STATUS_INPUT when
 * need * size overflows, STATUS_IO when there is no memory; *data is then unchanged. */
bool array_reserve(void **data, size_t *capacity, size_t need, size_t size, struct error *err);

/* Gives back what is not used: *data holds exactly `count` elements (at least one). Never fails. */
void array_trim(void **data, size_t *capacity, size_t count, size_t size);

#endif
