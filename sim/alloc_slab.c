/* Slabs: each holds objects of one size class, and goes back to the space when its last object does (Bonwick, "The Slab
 * Allocator: An Object-Caching Kernel Memory Allocator", USENIX Summer 1994). The classes, eight to a doubling, are
 * ours. */
#include "sim/allocator_parts.h"

enum {
    CLASSES_LOG2 = 3,                                /* classes to a doubling */
    SLAB_BYTES_MIN = 1 << 20,                        /* as many objects as make up this much */
    OBJECTS_MAX = SLAB_BYTES_MIN / ALLOC_PAGE_BYTES, /* the smallest class has the most */
    WORD_BITS = 64,
};

struct slab {
    uint64_t offset, object_bytes, bytes;
    uint64_t free[OBJECTS_MAX / WORD_BITS]; /* a bit an object */
    uint32_t objects, live;
    uint32_t segment; /* of the space; of an unused slab the next unused one */
};

struct slabs {
    struct space space;
    struct order partial; /* slabs with a free object: class, offset; tag: the slab */
    struct slab *slabs;
    uint32_t unused;
};

/* The class of a request: the next multiple of an eighth of the power of two below it. */
static uint64_t class_bytes(uint64_t bytes)
{
    if (bytes <= ALLOC_PAGE_BYTES)
        return ALLOC_PAGE_BYTES;
    unsigned k = 63u - (unsigned)__builtin_clzll(bytes - 1);
    uint64_t unit = UINT64_C(1) << (k - CLASSES_LOG2);
    return (bytes + unit - 1) & ~(unit - 1);
}

static uint64_t objects_of(uint64_t object_bytes)
{
    return (SLAB_BYTES_MIN + object_bytes - 1) / object_bytes;
}

static bool slab_init(struct allocator *allocator, struct arena *arena, struct error *err)
{
    uint32_t most = allocator->spec.ranges_max; /* each slab has a live object */
    struct slabs *self = arena_alloc(arena, 1, sizeof *self);
    if (!self || !(self->slabs = arena_alloc(arena, most, sizeof *self->slabs)) ||
        !space_init(&self->space, allocator->spec.space_bytes, most, arena) || !order_init(&self->partial, most, arena))
        return fail(err, STATUS_IO, "out of memory");
    allocator->self = self;
    self->unused = SEGMENT_NONE;
    for (uint32_t i = most; i > 0; i--) {
        self->slabs[i - 1].segment = self->unused;
        self->unused = i - 1;
    }
    return true;
}

static bool slab_new(struct allocator *allocator, uint64_t object_bytes, uint32_t *made)
{
    struct slabs *self = allocator->self;
    uint64_t objects = objects_of(object_bytes);
    *made = self->unused;
    uint32_t segment = space_take(&self->space, objects * object_bytes, 0);
    if (segment == SEGMENT_NONE)
        return false;
    must(*made != SEGMENT_NONE);
    struct slab *slab = &self->slabs[*made];
    self->unused = slab->segment;
    *slab = (struct slab){.offset = self->space.segments[segment].offset,
                          .object_bytes = object_bytes,
                          .bytes = objects * object_bytes,
                          .objects = (uint32_t)objects,
                          .segment = segment};
    for (uint32_t i = 0; i < slab->objects; i++)
        slab->free[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    allocator->state.taken_bytes += slab->bytes;
    order_add(&self->partial, object_bytes, slab->offset, *made);
    return true;
}

static bool slab_take(struct allocator *allocator, uint64_t bytes, uint32_t id, uint64_t *moved_bytes)
{
    (void)moved_bytes;
    struct slabs *self = allocator->self;
    uint64_t object_bytes = class_bytes(bytes);
    const struct order_node *fit = order_first(&self->partial, object_bytes);
    uint32_t used;
    if (fit && fit->size == object_bytes)
        used = fit->tag;
    else if (!slab_new(allocator, object_bytes, &used))
        return false;
    struct slab *slab = &self->slabs[used];
    uint32_t word = 0;
    while (slab->free[word] == 0)
        word++;
    uint32_t object = word * WORD_BITS + (uint32_t)__builtin_ctzll(slab->free[word]);
    slab->free[word] &= slab->free[word] - 1;
    slab->live++;
    if (slab->live == slab->objects)
        order_remove(&self->partial, object_bytes, slab->offset);
    allocator->ranges[id] =
        (struct live_range){.taken_bytes = object_bytes, .offset = slab->offset + object * object_bytes, .place = used};
    return true;
}

static void slab_give_back(struct allocator *allocator, uint32_t id)
{
    struct slabs *self = allocator->self;
    const struct live_range *range = &allocator->ranges[id];
    struct slab *slab = &self->slabs[range->place];
    uint64_t object = (range->offset - slab->offset) / slab->object_bytes;
    if (slab->live == slab->objects)
        order_add(&self->partial, slab->object_bytes, slab->offset, range->place);
    slab->free[object / WORD_BITS] |= UINT64_C(1) << object % WORD_BITS;
    slab->live--;
    if (slab->live > 0)
        return;
    order_remove(&self->partial, slab->object_bytes, slab->offset);
    space_free(&self->space, slab->segment);
    allocator->state.taken_bytes -= slab->bytes;
    slab->segment = self->unused;
    self->unused = range->place;
}

/* The largest class that a new slab could hold, else that of the largest free object. Slabs are never smaller than
 * SLAB_BYTES_MIN, and only classes below it have free objects in a slab that is not empty. */
static uint64_t slab_largest(const struct allocator *allocator)
{
    const struct slabs *self = allocator->self;
    uint64_t hole = space_largest_hole(&self->space);
    if (hole >= SLAB_BYTES_MIN) {
        unsigned k = 63u - (unsigned)__builtin_clzll(hole);
        return hole & ~((UINT64_C(1) << (k - CLASSES_LOG2)) - 1);
    }
    const struct order_node *last = order_last(&self->partial);
    return last ? last->size : 0;
}

static bool slab_unit(const struct allocator_spec *spec, uint64_t bytes, uint64_t *unit_bytes, uint64_t *unit_ranges)
{
    (void)spec;
    uint64_t object_bytes = class_bytes(bytes);
    *unit_ranges = objects_of(object_bytes);
    *unit_bytes = *unit_ranges * object_bytes;
    return true;
}

const struct allocator_ops allocator_slab = {slab_init, slab_take, slab_give_back, slab_largest, slab_unit};
