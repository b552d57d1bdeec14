/* Pages of blocks: extents that share pages, and the order of heat. */
#include <string.h>

#include "sim/mapped_layout.h"
#include "tests/cmocka_fixed.h"

struct fixture {
    struct model model;
    struct trace trace;
    struct arena arena;
    struct mapped_layout layout;
    struct error err;
};

static void add_block(struct fixture *f, const char *name, const struct extent *extents, int count)
{
    assert_true(model_add_block(&f->model, name, BLOCK_LAYER, -1, -1, &f->err));
    for (int i = 0; i < count; i++)
        assert_true(model_add_extent(&f->model, extents[i].offset_bytes, extents[i].bytes, &f->err));
    assert_true(model_add_matter(&f->model, 0, 1, &f->err));
}

/* Three blocks: one of three extents of which two share a page, one of a whole page, one that shares the next. Each is
 * named once, the last twice. */
static void make(struct fixture *f)
{
    static const struct extent spread[] = {{40000, 5000}, {5000, 3000}, {8100, 50}};
    static const struct extent page[] = {{12288, 4096}}, part[] = {{16384, 100}};
    memset(f, 0, sizeof *f);
    model_start(&f->model, "three", "");
    add_block(f, "spread", spread, 3);
    add_block(f, "page", page, 1);
    add_block(f, "part", part, 1);
    f->model.file_bytes = 50000;
    assert_true(model_finish(&f->model, &f->err));
    struct trace_builder builder;
    const struct segment segment = {.repeat = 1, .phase = PHASE_DECODE};
    assert_true(trace_start(&builder, &f->trace, "four", &f->err));
    assert_true(trace_add_segment(&builder, &segment, &f->err));
    for (block_id b = 0; b < 4; b++) {
        assert_true(trace_add_step(&builder, 0, &f->err));
        assert_true(trace_add_use(&builder, b < 3 ? b : 2, 0, &f->err));
    }
    assert_true(trace_finish(&builder, &f->model, &f->err));
}

static bool lay_out(struct fixture *f, enum file_layout order, uint64_t page_bytes)
{
    return mapped_layout_make(&f->layout, &f->model, &f->trace, order, page_bytes, &f->arena, &f->err);
}

static void expect_ranges(const struct fixture *f, block_id b, const struct page_range *expected, uint32_t count)
{
    assert_int_equal(f->layout.first[b + 1] - f->layout.first[b], count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(f->layout.ranges[f->layout.first[b] + i].first, expected[i].first);
        assert_int_equal(f->layout.ranges[f->layout.first[b] + i].end, expected[i].end);
    }
}

static void done(struct fixture *f)
{
    arena_free(&f->arena);
    trace_free(&f->trace);
    model_free(&f->model);
}

static void file_order_keeps_offsets(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    assert_true(lay_out(&f, LAYOUT_FILE, 4096));
    assert_int_equal(f.layout.pages, 13); /* of 50000 bytes */
    expect_ranges(&f, 0, (const struct page_range[]){{1, 2}, {9, 11}}, 2);
    expect_ranges(&f, 1, (const struct page_range[]){{3, 4}}, 1);
    expect_ranges(&f, 2, (const struct page_range[]){{4, 5}}, 1);
    assert_int_equal(mapped_layout_touches(&f.layout, 0, 1), 3);
    assert_int_equal(mapped_layout_touches(&f.layout, 0, 2), 1); /* pages 1, 9 and 10: only the last is even */
    assert_true(lay_out(&f, LAYOUT_FILE, 16384));
    assert_int_equal(f.layout.pages, 4);
    expect_ranges(&f, 0, (const struct page_range[]){{0, 1}, {2, 3}}, 2);
    done(&f);
}

static void hot_blocks_come_first(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    assert_true(lay_out(&f, LAYOUT_HOT_FIRST, 4096));
    /* Behind 5000 bytes of header: part at 5024 to 5124, spread at 5152 to 13202, page at 13216 to 17312. */
    expect_ranges(&f, 2, (const struct page_range[]){{1, 2}}, 1);
    expect_ranges(&f, 0, (const struct page_range[]){{1, 4}}, 1);
    expect_ranges(&f, 1, (const struct page_range[]){{3, 5}}, 1);
    assert_int_equal(f.layout.pages, 5);
    done(&f);
}

static void file_of_too_many_pages(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    f.model.file_bytes = ((uint64_t)PAGES_MAX << 12) + 1;
    assert_false(lay_out(&f, LAYOUT_FILE, 4096));
    assert_string_equal(f.err.text, "the mapped file has more than 268435456 pages of 4096 bytes");
    assert_int_equal(f.err.code, STATUS_USAGE);
    f.model.file_bytes = UINT64_MAX;
    assert_false(lay_out(&f, LAYOUT_FILE, 4096));
    f.model.file_bytes = (uint64_t)PAGES_MAX << 12;
    assert_true(lay_out(&f, LAYOUT_FILE, 4096));
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_order_keeps_offsets),
        cmocka_unit_test(hot_blocks_come_first),
        cmocka_unit_test(file_of_too_many_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
