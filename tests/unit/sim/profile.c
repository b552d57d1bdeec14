/* Profiles by name and by path: where a file is looked for, and the line that is said when it is not there. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

#define DEVICE "flash_setup = 1us\nflash_stream = 1GB/s\nflash_max = 1GB/s\nmemory = 10GB/s\nflops = 1GFLOPS\nram = "

/* Tests run in the root of the repository. */
static const char *const dirs[] = {"configs", NULL};
static char start[512], folder[64];
static const char *const files[][2] = {
    {"there/mine.ini", "[device]\n" DEVICE "3GB\n"}, /* beside the config */
    {"mine.ini", "[device]\n" DEVICE "5GB\n"},       /* as given */
    {"here.ini", "[device]\n" DEVICE "7GB\n"},       {"a,b.ini", "[device]\n" DEVICE "9GB\n"},
    {"shape.ini", "[model]\nlayers = 2\n"},
};
enum { FILES = sizeof files / sizeof *files };

/* A folder of the test's own is the current one. */
static int enter(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pocketload-unit-XXXXXX");
    if (!getcwd(start, sizeof start) || !mkdtemp(folder) || chdir(folder) != 0 || mkdir("there", 0700) != 0)
        return -1;
    for (size_t i = 0; i < FILES; i++) {
        FILE *file = fopen(files[i][0], "w");
        if (!file || fputs(files[i][1], file) < 0 || fclose(file) != 0)
            return -1;
    }
    return 0;
}

static int leave(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++)
        unlink(files[i][0]);
    return rmdir("there") == 0 && chdir(start) == 0 ? rmdir(folder) : -1;
}

static bool parse(const char *profile, struct experiment **experiment, struct error *err)
{
    char text[512];
    snprintf(text, sizeof text,
             "[device]\nprofile = %s\n[model]\nblocks = a:1MiB\n[workload]\nkind = trace\nsequence = a\n[loader]\n"
             "budget = 1MiB\n",
             profile);
    return experiment_parse("there/x.ini", text, strlen(text), NULL, 0, dirs, experiment, err);
}

static void loads(const char *profile, const char *name, uint64_t gigabytes)
{
    struct experiment *experiment;
    struct error err;
    if (!parse(profile, &experiment, &err))
        fail_because("%s: %s", profile, err.text);
    const struct device *device = &experiment_run(experiment, 0)->device;
    assert_string_equal(device->name, name);
    assert_int_equal(device->ram_bytes, gigabytes * 1000000000);
    experiment_free(experiment);
}

static void refuses(const char *profile, const char *expected)
{
    struct experiment *experiment;
    struct error err;
    assert_false(parse(profile, &experiment, &err));
    assert_string_equal(err.text, expected);
    assert_int_equal(err.code, STATUS_USAGE);
}

static void a_path_ends_in_ini_or_has_a_slash(void **state)
{
    (void)state;
    loads("mine.ini", "mine", 3);
    loads("./mine.ini", "mine", 3);
    loads("../mine.ini", "mine", 5);
    loads("here.ini", "here", 7);
    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/here.ini", folder);
    loads(absolute, "here", 7);
}

static void what_was_tried(void **state)
{
    (void)state;
    refuses("no.ini", "there/x.ini:2: device.profile: no profile file \"no.ini\": tried there/no.ini and no.ini");
    refuses("./no", "there/x.ini:2: device.profile: no profile file \"./no\": tried there/./no and ./no");
    refuses("/no/no.ini", "there/x.ini:2: device.profile: no profile file \"/no/no.ini\"");
    refuses("mine", "there/x.ini:2: device.profile: unknown device \"mine\": no folder of profiles was found");
}

/* No config, so no key to name. */
static void alone(void **state)
{
    (void)state;
    char configs[600];
    snprintf(configs, sizeof configs, "%s/configs", start);
    const char *const own_dirs[] = {configs, NULL};
    struct device device;
    struct shape shape;
    char label[128];
    struct error err;
    assert_true(profile_read_device("here.ini", own_dirs, &device, &err));
    assert_int_equal(device.ram_bytes, 7000000000);
    assert_true(profile_read_device("a,b.ini", own_dirs, &device, &err));
    assert_string_equal(device.name, "a,b");
    assert_true(profile_read_model("shape.ini", own_dirs, &shape, label, &err));
    assert_string_equal(label, "shape");
    assert_false(profile_read_model("llama3.2-1b", own_dirs, &shape, label, &err));
    assert_string_equal(err.text, "unknown model \"llama3.2-1b\": did you mean llama-3.2-1b?");
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(profile_read_device("generic-6bg", own_dirs, &device, &err));
    assert_string_equal(err.text, "unknown device \"generic-6bg\": did you mean generic-6gb?");
    assert_false(profile_read_device("no.ini", own_dirs, &device, &err));
    assert_string_equal(err.text, "no profile file \"no.ini\"");
    assert_false(profile_read_device("", own_dirs, &device, &err));
    assert_memory_equal(err.text, "unknown device \"\"; expected ", 28);
    assert_false(profile_read_device("\xff", own_dirs, &device, &err));
    assert_string_equal(err.text, "name of a device: byte 1 of the value is not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_ends_in_ini_or_has_a_slash),
        cmocka_unit_test(what_was_tried),
        cmocka_unit_test(alone),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
