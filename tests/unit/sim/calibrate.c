/* A calibration in small: what it measures is there and in order, it leaves nothing, its profile is one, and it stops.
 */
#include <dirent.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "sim/calibrate.h"
#include "sim/calibrate_threads.h"
#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

#define FILE_BYTES (UINT64_C(4) << 20)
#define POINT_NS INT64_C(5000000)

static char folder[64];
static volatile sig_atomic_t stop;

static int make_folder(void **state)
{
    (void)state;
    stop = 0;
    strcpy(folder, "/tmp/pocketload-unit-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

/* Only an empty folder can be removed. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static size_t entries(void)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

struct steps {
    size_t calls, last, total, stop_at;
    bool seen; /* a file in the folder */
};

static void note_step(void *context, size_t done, size_t total)
{
    struct steps *steps = context;
    steps->calls++;
    steps->last = done;
    steps->total = total;
    steps->seen = steps->seen || entries() > 0;
    if (done == steps->stop_at)
        stop = SIGTERM;
}

static bool run(uint64_t bytes, struct steps *steps, struct calibration *calibration, struct error *err)
{
    const struct calibrate_options options = {.folder = folder,
                                              .file_bytes = bytes,
                                              .point_ns = POINT_NS,
                                              .stop = &stop,
                                              .progress = note_step,
                                              .context = steps};
    return calibrate(&options, calibration, err);
}

static void check_spread(const struct spread *spread)
{
    assert_true(spread->known && spread->least > 0.0);
    assert_true(spread->least <= spread->median && spread->median <= spread->most);
}

static void check_profile(const struct calibration *c)
{
    struct error err;
    struct device device;
    char *text, path[128];
    size_t size;
    assert_true(calibrate_profile(c, NULL, &text, &size, &err));
    assert_int_equal(strlen(text), size);
    snprintf(path, sizeof path, "%s/tiny.ini", folder);
    assert_true(file_write(path, text, size, &err));
    free(text);
    if (!profile_read_device(path, NULL, &device, &err))
        fail_because("%s", err.text);
    unlink(path);
    assert_string_equal(device.name, "tiny");
    assert_true(device.ram_bytes == c->machine.ram_bytes);
    assert_true(fabs((double)device.memory_bps / c->memory.median - 1.0) < 0.006);
    assert_true(fabs((double)device.flash.stream_bps / c->fit.stream_bps - 1.0) < 0.006);
    assert_true(fabs((double)device.flash.max_bps / c->fit.max_bps - 1.0) < 0.006);
    assert_true(fabs((double)device.flash.setup_ns - c->fit.setup_ns) <= 0.006 * c->fit.setup_ns + 0.5);
}

/* The law is fitted to the medians. */
static void check_fit(const struct calibration *c)
{
    static struct flash_point points[CALIBRATE_POINTS_MAX];
    struct flash_fit fit;
    struct error err;
    for (size_t i = 0; i < c->points; i++)
        points[i] = (struct flash_point){c->point[i].lanes, c->point[i].block_bytes, c->point[i].bps.median};
    assert_true(flash_fit(points, c->points, &fit, &err));
    assert_true(fit.setup_ns == c->fit.setup_ns && fit.stream_bps == c->fit.stream_bps &&
                fit.max_bps == c->fit.max_bps);
}

static void measures_and_leaves_nothing(void **state)
{
    (void)state;
    static struct calibration c;
    struct steps steps = {0};
    struct error err;
    if (!run(FILE_BYTES, &steps, &c, &err))
        fail_because("%s", err.text);
    assert_int_equal(entries(), 0);
    assert_false(steps.seen);
    assert_int_equal(steps.calls, calibrate_steps(FILE_BYTES));
    assert_true(steps.last == steps.total && steps.total == steps.calls);
    /* Sizes to half of the file, no more in flight than it holds: 6 + 6 + 6 + 6 + 4 + 3 of each kind. */
    assert_int_equal(c.points, 62);
    for (size_t i = 0; i < c.points; i++)
        check_spread(&c.point[i].bps);
    check_spread(&c.memory);
    check_spread(&c.stream);
    check_spread(&c.max);
    check_spread(&c.anonymous_fault);
    assert_true(c.machine.ram_bytes > FILE_BYTES && c.machine.cores > 0 && c.machine.page_bytes >= 4096);
    assert_true(c.fit.stream_bps <= c.fit.max_bps && c.fit.rms >= 0.0);
    assert_true(c.memory.median > 50e6); /* bytes a second: less is a wrong unit, not a slow machine */
    check_fit(&c);
    check_profile(&c);
}

static void stops_when_asked(void **state)
{
    (void)state;
    static struct calibration c;
    const size_t at[] = {1, 2, 40, calibrate_steps(FILE_BYTES) - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        struct steps steps = {.stop_at = at[i]};
        struct error err;
        stop = 0;
        assert_false(run(FILE_BYTES, &steps, &c, &err));
        assert_int_equal(steps.last, at[i]);
        assert_int_equal(err.code, STATUS_IO);
        assert_int_equal(entries(), 0);
    }
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    static struct calibration c;
    struct steps steps = {0};
    struct error err;
    assert_false(run(CALIBRATE_FILE_LEAST - 1, &steps, &c, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(run(UINT64_C(1) << 60, &steps, &c, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_non_null(strstr(err.text, "at most half of the free space"));
    assert_int_equal(rmdir(folder), 0);
    assert_false(run(FILE_BYTES, &steps, &c, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_non_null(mkdtemp(strcpy(folder, "/tmp/pocketload-unit-XXXXXX")));
    assert_int_equal(steps.calls, 0);
}

/* Estimates stand where nothing could be measured, and a profile of them is one too. */
static void profile_without_what_could_not_be_measured(void **state)
{
    (void)state;
    struct error err;
    const struct spread rate = {1e9, 1.2345e9, 2e9, true};
    struct calibration c = {
        .machine = {.ram_bytes = UINT64_C(4) << 30, .page_bytes = 65536, .cores = 8, .memlock_bytes = UINT64_MAX},
        .fit = {.setup_ns = 0.2, .stream_bps = 8.0, .max_bps = 9.996e14},
        .memory = rate,
        .stream = rate,
        .max = rate};
    check_profile(&c);
    char *text;
    size_t size;
    assert_true(calibrate_profile(&c, "a.b", &text, &size, &err));
    assert_non_null(strstr(text, "\nname = a.b\n"));
    assert_non_null(strstr(text, "\nmajor_fault = 2us [estimated]\n"));
    assert_non_null(strstr(text, "\npage = 16KiB [estimated]\n"));
    assert_non_null(strstr(text, "\nflash_max = 1000TB/s [estimated]\n"));
    assert_non_null(strstr(text, "\nmemory = 1.23GB/s [measured]\n"));
    assert_non_null(strstr(text, "O_DIRECT was refused"));
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        assert_true(end - line < 130);
    free(text);
}

static void mark(void *context)
{
    *(bool *)context = true;
}

static void threads_all_run(void **state)
{
    (void)state;
    enum { THREADS = 40 };
    bool ran[THREADS] = {false};
    void *contexts[THREADS];
    struct error err;
    for (size_t i = 0; i < THREADS; i++)
        contexts[i] = &ran[i];
    assert_true(threads_run(mark, contexts, THREADS, &err));
    for (size_t i = 0; i < THREADS; i++)
        assert_true(ran[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(measures_and_leaves_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(stops_when_asked, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(profile_without_what_could_not_be_measured, make_folder, remove_folder),
        cmocka_unit_test(threads_all_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
