/* Growth of heap arrays with checked sizes. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

bool array_reserve(void **data, size_t *capacity, size_t need, size_t size, struct error *err)
{
    must(size > 0 && (*data != NULL || *capacity == 0));
    if (need <= *capacity && *data)
        return true;
    size_t bytes;
    if (__builtin_mul_overflow(need, size, &bytes) || bytes > PTRDIFF_MAX)
        return fail(err, STATUS_INPUT, "%zu elements of %zu bytes are more than this machine can address", need, size);

    size_t wanted = *capacity + *capacity / 2; /* no overflow: capacity * size fits half the address space */
    if (wanted < 16)
        wanted = 16;
    if (wanted < need || wanted > PTRDIFF_MAX / size)
        wanted = need > 0 ? need : 1;
    void *grown = realloc(*data, wanted * size);
    if (!grown)
        return fail(err, STATUS_IO, "out of memory: %zu elements of %zu bytes", wanted, size);
    *data = grown;
    *capacity = wanted;
    return true;
}

void array_trim(void **data, size_t *capacity, size_t count, size_t size)
{
    must(size > 0 && count <= *capacity);
    if (!*data)
        return;
    const size_t kept = count > 0 ? count : 1;
    void *less = realloc(*data, kept * size);
    if (less) { /* when shrinking fails the old block is still good */
        *data = less;
        *capacity = kept;
    }
}
