/* The flash rule of docs/models.md, section 3, written down term by term: the twin of sim/flash.c.
 *
 * It remembers every command that was ever issued, and works out busy time from that list. */
#ifndef POCKETLOAD_TESTS_NAIVE_FLASH_H
#define POCKETLOAD_TESTS_NAIVE_FLASH_H

#include <stddef.h>
#include <stdint.h>

#include "sim/flash.h"
#include "tests/reference/naive_heat.h"

struct naive_interval {
    int64_t issue_ns, done_ns;
    int64_t link_start_ns, link_free_ns;
    uint64_t bytes;
};

struct naive_flash {
    struct flash_spec spec;
    int64_t link_free_ns;
    struct naive_interval *history;
    size_t count, capacity;
    /* Heat beside the device's own keys; pauses NULL: there are none. */
    enum heat_mode mode;
    uint32_t cool_ppm;
    const struct naive_pauses *pauses;
};

/* An empty history. The caller frees with naive_flash_free. */
void naive_flash_start(struct naive_flash *flash, const struct flash_spec *spec);
void naive_flash_free(struct naive_flash *flash);

/* Issues a command and returns when it is done; issue times never go back. */
int64_t naive_flash_issue(struct naive_flash *flash, int64_t now_ns, uint64_t before_bytes, uint64_t bytes);

/* Length of the time before now_ns in which at least one command was in flight. */
int64_t naive_flash_busy(const struct naive_flash *flash, int64_t now_ns);

/* What the shared rate has moved by then, of all commands. */
uint64_t naive_flash_moved(const struct naive_flash *flash, int64_t now_ns);

/* ceil(a * b / c). */
int64_t naive_ceil(uint64_t a, uint64_t b, uint64_t c);

#endif
