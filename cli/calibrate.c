/* `pocketload calibrate`: measures this machine into a device profile; `calibrate fit`: the flash law of a table. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/units.h"
#include "cli/action.h"
#include "cli/calibrate_rows.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "sim/calibrate_table.h"

enum { KEY_DIR = KEY_OWN, KEY_SIZE, KEY_SECONDS, KEY_OUT, KEY_NAME, KEY_QUIET };
enum { NAME_BYTES = 127, PATH_BYTES = 4096, SECONDS_MAX = 3600, PPM = 1000000, NS_PER_PPM_SECOND = 1000 };
#define LEAST_POINT_NS INT64_C(1000000)

struct calibrate_input {
    struct arguments arguments;
    struct calibrate_options options;
    const char *out, *name;
    enum format format;
    bool format_given, quiet;
};

/* A name stands in a profile and in records: a word that no reader of either takes for something else. */
static bool check_name(const char *name, struct error *err)
{
    size_t length = strlen(name);
    bool good = length > 0 && length <= NAME_BYTES;
    for (const char *c = name; *c != '\0'; c++)
        good = good && (isalnum((unsigned char)*c) || strchr("._-+", *c) != NULL);
    return good || fail(err, STATUS_USAGE, "--name: \"%.80s\": expected letters, digits, and . _ - + alone", name);
}

static bool parse_seconds(const char *text, int64_t *ns, struct error *err)
{
    uint64_t ppm;
    if (!parse_decimal(text, &ppm, err))
        return fail_in(err, "--seconds");
    if (ppm > (uint64_t)SECONDS_MAX * PPM || (int64_t)ppm * NS_PER_PPM_SECOND < LEAST_POINT_NS)
        return fail(err, STATUS_USAGE, "--seconds: %.80s: expected 0.001 to %d", text, SECONDS_MAX);
    *ns = (int64_t)ppm * NS_PER_PPM_SECOND;
    return true;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct calibrate_input *input = state->input;
    struct error *err = input->arguments.err;
    bool good = true;
    switch (key) {
    case KEY_DIR:
        input->options.folder = text;
        break;
    case KEY_SIZE:
        good = parse_bytes(text, &input->options.file_bytes, err) || fail_in(err, "--size");
        break;
    case KEY_SECONDS:
        good = parse_seconds(text, &input->options.point_ns, err);
        break;
    case KEY_OUT:
        input->out = text;
        break;
    case KEY_NAME:
        input->name = text;
        good = check_name(text, err);
        break;
    case KEY_FORMAT:
        input->format_given = true;
        good = parse_format(text, &input->format, err);
        break;
    case KEY_QUIET:
        input->quiet = true;
        break;
    case ARGP_KEY_ARG:
        good = fail(err, STATUS_USAGE, "calibrate: unexpected argument \"%.80s\"; expected options, or fit FILE.csv",
                    text);
        break;
    case ARGP_KEY_SUCCESS:
        if (input->format_given && input->out == NULL)
            good = fail(err, STATUS_USAGE,
                        "--format is of the table of measurements, which is shown when the profile "
                        "goes into a file: add --out FILE.ini");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return good ? 0 : EINVAL;
}

static void show_progress(void *context, size_t done, size_t total)
{
    struct progress *progress = context;
    (void)total;
    progress_show(progress, done);
}

/* Measures, with a bar. */
static bool measure(struct calibrate_input *input, struct calibration *calibration, struct error *err)
{
    struct progress progress;
    progress_start(&progress, calibrate_steps(input->options.file_bytes), !input->quiet);
    progress.unit = "measurements";
    input->options.stop = interrupts_catch();
    input->options.progress = show_progress;
    input->options.context = &progress;
    bool good = calibrate(&input->options, calibration, err);
    progress_hide(&progress);
    if (!good && *input->options.stop != 0)
        fail(err, STATUS_IO, "stopped by %s: nothing was written", interrupt_name(*input->options.stop));
    return good;
}

/* What a reader of the numbers has to know, one line each. */
static void warn(const struct calibration *c)
{
    if (!c->direct)
        fputs("note: O_DIRECT was refused here: pages were dropped before each read instead, with readahead off\n",
              stderr);
    if (!c->machine.has_device)
        fputs(
            "note: the folder lies on no block device that the system names (tmpfs, overlay, FUSE): what was measured "
            "may not be flash\n",
            stderr);
    if (!c->fit.reaches_max)
        fputs("note: no point was held by the shared rate: flash_max is the highest rate of the fitted law\n", stderr);
}

/* A measurement takes a minute: that its result has a place is checked before. */
static bool check_out(const char *out, struct error *err)
{
    char folder[PATH_BYTES];
    const char *slash = strrchr(out, '/');
    int length = slash == NULL  ? snprintf(folder, sizeof folder, ".")
                 : slash == out ? snprintf(folder, sizeof folder, "/")
                                : snprintf(folder, sizeof folder, "%.*s", (int)(slash - out), out);
    if (length < 0 || length >= (int)sizeof folder)
        return fail(err, STATUS_USAGE, "--out: the path is too long: %.80s...", out);
    return access(folder, W_OK | X_OK) == 0 || fail(err, STATUS_IO, "cannot write %s: %s", out, strerror(errno));
}

static bool write_profile(const struct calibrate_input *input, const struct calibration *calibration, struct error *err)
{
    char *text;
    size_t size;
    const char *name = input->name != NULL || input->out != NULL ? input->name : "this-machine";
    if (!calibrate_profile(calibration, name, &text, &size, err))
        return false;
    bool good = true;
    if (input->out != NULL)
        good = file_write(input->out, text, size, err);
    else
        fwrite(text, 1, size, stdout); /* finish_stdout checks */
    free(text);
    return good;
}

static int fit_table(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, "FILE.csv",
                      "Fits the flash law, rate(L, q) = min(max, q * L / (setup + L / stream)), to measured rates: a "
                      "table with the columns lanes, block_kib, mib_per_s and perhaps latency_ms.",
                      &input, &status))
        return status;
    struct flash_table table;
    struct flash_fit fit;
    struct error err;
    bool good = flash_table_read(input.name, &table, &err) &&
                (flash_fit(table.points, table.count, &fit, &err) || fail_in(&err, "%s", input.name)) &&
                show_fit(input.format, table.points, table.count, &fit, &err);
    flash_table_free(&table);
    return good ? STATUS_OK : report(&err);
}

int command_calibrate(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"dir", KEY_DIR, "FOLDER", 0, "where the test file is made (default: here)", 0},
        {"size", KEY_SIZE, "SIZE", 0, "of the test file (default: 1GiB; at most half of the free space)", 0},
        {"seconds", KEY_SECONDS, "S", 0, "for each point, all repetitions together (default: 0.5)", 0},
        {"out", KEY_OUT, "FILE.ini", 0, "write the profile there, and show the measurements", 0},
        {"name", KEY_NAME, "NAME", 0, "of the device (default: the file's)", 0},
        {"quiet", KEY_QUIET, NULL, 0, "no progress bar", 0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "\nfit FILE.csv",
        "Measures this machine's flash, page faults and memory, and writes a device profile, to stdout unless --out "
        "names a file. One file is written meanwhile; it has no name and is gone at the end. `calibrate fit` only fits "
        "the flash law to a table of rates.",
        NULL,
        NULL,
        NULL};
    if (argc >= 2 && strcmp(argv[1], "fit") == 0) {
        char name[] = "pocketload calibrate fit";
        argv[1] = name;
        return fit_table(argc - 1, argv + 1);
    }
    struct calibrate_input input = {
        .options = {.folder = ".", .file_bytes = UINT64_C(1) << 30, .point_ns = INT64_C(500000000)}};
    static struct calibration calibration;
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &input.arguments, &err))
        return report(&err);
    if (input.arguments.helped)
        return STATUS_OK;
    int status = STATUS_OK;
    bool good = (input.out == NULL || check_out(input.out, &err)) && measure(&input, &calibration, &err);
    interrupts_release();
    if (good) {
        warn(&calibration);
        good = write_profile(&input, &calibration, &err) &&
               (input.out == NULL || show_calibration(input.format, &calibration, &err));
    }
    if (!good)
        status = report(&err);
    interrupts_raise();
    return status;
}
