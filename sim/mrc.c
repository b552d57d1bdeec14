/* From stack distances to hits at capacities. */
#include "sim/mrc.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sim/mrc_stack.h"

/* What to do with the distance of an access to a block of so many bytes. */
typedef bool take_distance(void *context, uint64_t distance, uint64_t bytes, struct error *err);

struct pass {
    const struct trace *trace;
    const struct policy_block *blocks;
    bool by_objects;
    uint64_t limit; /* blocks above this size play no part */
    struct mrc_stack stack;
};

bool mrc_applies(const struct trace *trace)
{
    return trace->step_uses_max <= 1;
}

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the stack distances");
}

static bool start(struct pass *pass, const struct model *model, const struct trace *trace, bool by_objects,
                  struct arena *arena, struct error *err)
{
    if (!mrc_applies(trace))
        return fail(err, STATUS_USAGE, "steps of this trace use several blocks: its curve is that of replays");
    *pass = (struct pass){.trace = trace, .blocks = model->policy_blocks, .by_objects = by_objects};
    return mrc_stack_init(&pass->stack, by_objects ? NULL : model->policy_blocks, model->block_count, arena) ||
           no_memory(err);
}

static bool run(struct pass *pass, take_distance *take, void *context, struct error *err)
{
    const struct trace *trace = pass->trace;
    mrc_stack_clear(&pass->stack);
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment *segment = &trace->segments[s];
        const uint32_t *uses = trace->uses + segment->first_step; /* a step is a use */
        for (uint32_t repeat = 0; repeat < segment->repeat; repeat++)
            for (uint32_t i = 0; i < segment->step_count; i++) {
                const block_id b = uses[i] & USE_BLOCK;
                const uint64_t bytes = pass->blocks[b].bytes;
                if (!pass->by_objects && bytes > pass->limit)
                    continue;
                const uint64_t distance = mrc_stack_access(&pass->stack, b);
                if (distance != MRC_FIRST_USE && !take(context, distance, bytes, err))
                    return false;
            }
    }
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* ---- At capacities that are given ---- */

struct counted_points {
    struct mrc_point *points;
    size_t count;
};

/* The first point whose capacity is at least the distance has one hit more, and so have all that follow: they are added
 * up at the end. */
static bool count_hit(void *context, uint64_t distance, uint64_t bytes, struct error *err)
{
    const struct counted_points *counted = context;
    struct mrc_point *first = counted->points;
    (void)err;
    for (size_t left = counted->count; left > 0;) {
        const size_t half = left / 2;
        const bool above = first[half].capacity < distance;
        first += above ? half + 1 : 0;
        left = above ? left - half - 1 : half;
    }
    if (first < counted->points + counted->count) {
        first->hits++;
        first->bytes_hit += bytes;
    }
    return true;
}

static void add_up(struct mrc_point *points, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        points[i].hits += points[i - 1].hits;
        points[i].bytes_hit += points[i - 1].bytes_hit;
    }
}

/* The largest block size that is at most `capacity`; 0: there is none. */
static uint64_t largest_that_fits(const uint64_t *sizes, size_t count, uint64_t capacity)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sizes[middle] <= capacity)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? sizes[low - 1] : 0;
}

static bool pass_each_bracket(struct pass *pass, const uint64_t *sizes, size_t size_count, struct mrc_point *points,
                              size_t count, struct error *err)
{
    for (size_t first = 0, end; first < count; first = end) {
        pass->limit = largest_that_fits(sizes, size_count, points[first].capacity);
        for (end = first + 1; end < count; end++)
            if (largest_that_fits(sizes, size_count, points[end].capacity) != pass->limit)
                break;
        if (pass->by_objects)
            end = count;
        struct counted_points counted = {points + first, end - first};
        if ((pass->limit > 0 || pass->by_objects) && !run(pass, count_hit, &counted, err))
            return false;
        add_up(points + first, end - first);
    }
    return true;
}

bool mrc_lru(const struct model *model, const struct trace *trace, bool by_objects, struct mrc_point *points,
             size_t count, struct error *err)
{
    struct arena arena = {0};
    struct pass pass;
    uint64_t *sizes = malloc(model->block_count * sizeof *sizes);
    for (uint32_t b = 0; sizes && b < model->block_count; b++)
        sizes[b] = model->policy_blocks[b].bytes;
    if (sizes)
        qsort(sizes, model->block_count, sizeof *sizes, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        must(points[i].capacity > (i > 0 ? points[i - 1].capacity : 0));
        points[i].hits = points[i].bytes_hit = 0;
    }
    const bool good = (sizes || no_memory(err)) && start(&pass, model, trace, by_objects, &arena, err) &&
                      pass_each_bracket(&pass, sizes, model->block_count, points, count, err);
    free(sizes);
    arena_free(&arena);
    return good;
}

/* ---- At all that make a difference ---- */

/* Distances with their hits, in no order and some more than once, until they are joined. */
struct distances {
    void *list;                     /* of struct mrc_point */
    size_t count, capacity, joined; /* the first `joined` are ascending and distinct */
};

enum { JOIN_MIN = 1 << 16 };

static int compare_points(const void *a, const void *b)
{
    return compare_numbers(&((const struct mrc_point *)a)->capacity, &((const struct mrc_point *)b)->capacity);
}

static void join(struct distances *distances)
{
    struct mrc_point *list = distances->list;
    size_t kept = 0;
    if (distances->count == distances->joined)
        return;
    qsort(list, distances->count, sizeof *list, compare_points);
    for (size_t i = 0; i < distances->count; i++) {
        if (kept > 0 && list[kept - 1].capacity == list[i].capacity) {
            list[kept - 1].hits += list[i].hits;
            list[kept - 1].bytes_hit += list[i].bytes_hit;
        } else {
            list[kept++] = list[i];
        }
    }
    distances->count = distances->joined = kept;
}

static bool add_point(struct distances *distances, struct mrc_point point, struct error *err)
{
    if (!array_reserve(&distances->list, &distances->capacity, distances->count + 1, sizeof point, err))
        return false;
    ((struct mrc_point *)distances->list)[distances->count++] = point;
    return true;
}

static bool keep_distance(void *context, uint64_t distance, uint64_t bytes, struct error *err)
{
    struct distances *distances = context;
    if (distances->count >= 3 * distances->joined + JOIN_MIN)
        join(distances);
    return add_point(distances, (struct mrc_point){.capacity = distance, .hits = 1, .bytes_hit = bytes}, err);
}

/* Hits by capacity in blocks, where all are of one size. */
struct counted_blocks {
    uint64_t *hits;
    uint64_t size;
};

static bool count_distance(void *context, uint64_t distance, uint64_t bytes, struct error *err)
{
    const struct counted_blocks *counted = context;
    (void)bytes;
    (void)err;
    counted->hits[distance / counted->size]++;
    return true;
}

static uint64_t largest_used(const struct pass *pass)
{
    uint64_t largest = 0;
    for (uint32_t u = 0; u < pass->trace->use_count; u++) {
        const uint64_t bytes = pass->blocks[pass->trace->uses[u] & USE_BLOCK].bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return pass->by_objects ? 1 : largest;
}

/* Hits below `smallest`, which no capacity of the curve tells alone, count there. */
static bool start_at(struct distances *distances, uint64_t smallest, struct error *err)
{
    struct mrc_point first = {.capacity = smallest};
    struct mrc_point *list = distances->list;
    size_t below = 0;
    for (; below < distances->count && list[below].capacity <= smallest; below++) {
        first.hits += list[below].hits;
        first.bytes_hit += list[below].bytes_hit;
    }
    const size_t kept = distances->count - below;
    if (below == 0 && !array_reserve(&distances->list, &distances->capacity, kept + 1, sizeof first, err))
        return false;
    list = distances->list;
    memmove(list + 1, list + below, kept * sizeof first);
    list[0] = first;
    distances->count = kept + 1;
    return true;
}

/* All blocks are of one size: by far the most common case, and then an array does. */
static bool find_equal(struct pass *pass, uint64_t size, struct distances *distances, struct error *err)
{
    const uint32_t n = pass->stack.block_count;
    struct counted_blocks counted = {calloc((size_t)n + 1, sizeof *counted.hits), size};
    bool good = (counted.hits || no_memory(err)) && run(pass, count_distance, &counted, err);
    for (uint64_t i = 1; good && i <= n; i++)
        if (counted.hits[i] > 0)
            good = add_point(distances, (struct mrc_point){i * size, counted.hits[i], counted.hits[i] * size}, err);
    free(counted.hits);
    return good;
}

static uint64_t size_of_all(const struct pass *pass)
{
    for (uint32_t b = 1; b < pass->stack.block_count; b++)
        if (pass->blocks[b].bytes != pass->blocks[0].bytes)
            return 0;
    return pass->blocks[0].bytes;
}

bool mrc_lru_all(const struct model *model, const struct trace *trace, bool by_objects, struct mrc_point **points,
                 size_t *count, struct error *err)
{
    struct arena arena = {0};
    struct pass pass;
    struct distances distances = {0};
    bool good = start(&pass, model, trace, by_objects, &arena, err);
    if (good) {
        const uint64_t size = size_of_all(&pass);
        pass.limit = UINT64_MAX;
        good = size > 0 && !by_objects ? find_equal(&pass, size, &distances, err)
                                       : run(&pass, keep_distance, &distances, err);
    }
    if (good) {
        join(&distances);
        good = start_at(&distances, largest_used(&pass), err);
    }
    arena_free(&arena);
    if (!good) {
        free(distances.list);
        return false;
    }
    *points = distances.list;
    *count = distances.count;
    add_up(*points, *count);
    return true;
}
