/* What prefetches cost demands. Beside the run, the commands that a step demands are issued once more on a device that
 * is idle when the step begins and sees no other: the shadow. Reads of the step may be done later than there by the
 * time of one whole command (docs/models.md, section 4).
 *
 * A step that demands a block of which a prefetch has commands in flight is compared only where that one read is all
 * that the step waits for: the shadow then reads what is left of it. */
#include "tests/reference/naive_state.h"

enum { NS_PER_S = 1000000000 };

static int64_t one_command_ns(const struct naive_twin *twin)
{
    const struct flash_spec *flash = &twin->spec->device.flash;
    uint64_t align = twin->spec->loader.align_bytes, bytes = flash->command_bytes / align * align;
    /* Each prefetch command in flight may round its time up by a nanosecond. */
    return flash->setup_ns + twin->spec->device.fs_read_ns +
           naive_ceil(bytes > align ? bytes : align, NS_PER_S, flash->stream_bps) + twin->spec->loader.prefetch_lanes;
}

static void compare(struct naive_twin *twin, int64_t done_ns, int64_t shadow_ns)
{
    twin->delays->reads++;
    twin->delays->delayed += done_ns > shadow_ns;
    if (done_ns > shadow_ns + one_command_ns(twin)) {
        naive_log(twin, "too late by", BLOCK_NONE, (uint64_t)(done_ns - shadow_ns - one_command_ns(twin)));
        twin->delays->too_late++;
    }
}

/* Reads of an app that was ended are in flight: they are no prefetches. */
static bool has_orphans(const struct naive_twin *twin)
{
    bool any = false;
    for (uint32_t i = 0; i < twin->command_count; i++)
        any |= twin->commands[i].orphan;
    return any;
}

void naive_delay_step(struct naive_twin *twin)
{
    const struct flash_spec *flash = &twin->spec->device.flash;
    struct naive_shadow *shadow = twin->shadow;
    uint32_t lanes = twin->spec->loader.lanes;
    *shadow = (struct naive_shadow){.follows = flash->hot_after_ns == 0 && twin->spec->loader.warm_ppm == 0 &&
                                               !naive_by_compute(twin) && !has_orphans(twin),
                                    .start_ns = twin->now_ns,
                                    .lone = BLOCK_NONE};
    shadow->lane_count = lanes < flash->queue_depth ? lanes : flash->queue_depth;
    for (uint32_t i = 0; i < shadow->lane_count; i++)
        shadow->lane_free_ns[i] = twin->now_ns;
    shadow->link_free_ns = shadow->last_issue_ns = twin->now_ns;
}

void naive_delay_promote(struct naive_twin *twin, block_id b)
{
    for (uint32_t i = 0; i < twin->command_count; i++)
        if (twin->commands[i].block == b && twin->commands[i].drop == 0) {
            twin->shadow->lone = twin->shadow->follows ? b : BLOCK_NONE;
            twin->shadow->follows = false;
        }
}

void naive_delay_looked_up(struct naive_twin *twin)
{
    struct naive_shadow *shadow = twin->shadow;
    const struct flash_spec *flash = &twin->spec->device.flash;
    uint32_t reads = 0;
    uint64_t left = 0;
    if (shadow->lone == BLOCK_NONE)
        return;
    for (uint32_t i = 0; i < twin->step_block_count; i++) {
        const struct naive_block *block = &twin->blocks[twin->step_blocks[i]];
        for (uint32_t r = 0; r < block->read_count && (block->where == NAIVE_LOADING || block->streamed); r++) {
            reads += block->reads[r].moved < block->reads[r].bytes;
            left += block->reads[r].bytes - block->reads[r].moved;
        }
    }
    if (reads != 1 || twin->now_ns != shadow->start_ns)
        shadow->lone = BLOCK_NONE;
    shadow->lone_done_ns = shadow->start_ns + flash->setup_ns + twin->spec->device.fs_read_ns +
                           naive_ceil(left, NS_PER_S, flash->stream_bps);
}

void naive_delay_issue(struct naive_twin *twin, uint64_t before_bytes, uint64_t bytes, int64_t done_ns)
{
    struct naive_shadow *shadow = twin->shadow;
    if (!shadow->follows)
        return;
    uint32_t lane = 0;
    for (uint32_t i = 1; i < shadow->lane_count; i++)
        lane = shadow->lane_free_ns[i] < shadow->lane_free_ns[lane] ? i : lane;
    if (shadow->lane_free_ns[lane] > shadow->last_issue_ns)
        shadow->last_issue_ns = shadow->lane_free_ns[lane];
    /* The device as naive_flash has it, from the shadow's own state. */
    struct naive_flash device = {.spec = twin->flash.spec, .link_free_ns = shadow->link_free_ns};
    shadow->lane_free_ns[lane] = naive_flash_issue(&device, shadow->last_issue_ns, before_bytes, bytes);
    shadow->link_free_ns = device.link_free_ns;
    naive_flash_free(&device);
    compare(twin, done_ns, shadow->lane_free_ns[lane]);
}

void naive_delay_arrive(struct naive_twin *twin, block_id b)
{
    if (twin->shadow->lone != b || twin->shadow->lone_done_ns == 0) /* there before the look-ups were done */
        return;
    twin->delays->promoted++;
    compare(twin, twin->now_ns, twin->shadow->lone_done_ns);
}
