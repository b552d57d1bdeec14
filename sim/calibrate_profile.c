/* A calibration as a device profile: each value with what it comes from, its spread, and a mark. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/calibrate.h"

enum { VALUE_BYTES = 48, KIB = 1024 };

/* As sim/settings.h reads them. */
static const char *const measured = "measured", *const published = "published", *const estimated = "estimated";

/* A line of the profile, with the comment above it. */
__attribute__((format(printf, 5, 6))) static void put(FILE *out, const char *key, const char *value, const char *mark,
                                                      const char *comment, ...)
{
    va_list arguments;
    fputs("\n; ", out);
    va_start(arguments, comment);
    vfprintf(out, comment, arguments);
    va_end(arguments);
    fprintf(out, "\n%s = %s [%s]\n", key, value, mark);
}

/* Three digits: what a measurement of seconds is good for. */
static const char *rate_text(double bps, char out[VALUE_BYTES])
{
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
    size_t unit = 0;
    while (bps >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bps /= 1000.0;
        unit++;
    }
    if (unit == 0)
        snprintf(out, VALUE_BYTES, "%.0f%s", bps < 1.0 ? 1.0 : bps, units[unit]);
    else
        snprintf(out, VALUE_BYTES, "%.*f%s", bps < 9.995 ? 2 : bps < 99.95 ? 1 : 0, bps, units[unit]);
    return out;
}

static const char *time_text(double ns, char out[UNITS_TEXT])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    while (ns >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        ns /= 1000.0;
        unit++;
    }
    if (unit == 0)
        snprintf(out, UNITS_TEXT, "%.0f%s", ns, units[unit]);
    else
        snprintf(out, UNITS_TEXT, "%.*f%s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[unit]);
    return out;
}

/* "median 205us of 198us to 230us", and the same of rates. */
static const char *times_text(const struct spread *spread, char out[2 * VALUE_BYTES])
{
    char median[UNITS_TEXT], least[UNITS_TEXT], most[UNITS_TEXT];
    snprintf(out, 2 * VALUE_BYTES, "median %s of %s to %s", time_text(spread->median, median),
             time_text(spread->least, least), time_text(spread->most, most));
    return out;
}

static const char *rates_text(const struct spread *spread, char out[2 * VALUE_BYTES])
{
    char median[VALUE_BYTES], least[VALUE_BYTES], most[VALUE_BYTES];
    snprintf(out, 2 * VALUE_BYTES, "median %s of %s to %s", rate_text(spread->median, median),
             rate_text(spread->least, least), rate_text(spread->most, most));
    return out;
}

static void put_bytes(FILE *out, const char *key, uint64_t bytes, const char *mark, const char *comment)
{
    char value[UNITS_TEXT];
    put(out, key, print_bytes(bytes, value), mark, "%s", comment);
}

/* A run needs some memory to be left, also where the system had next to none. */
enum { LEFT_LEAST = 8, WATERMARK_MOST = 16 }; /* shares of RAM: 1/8 and 1/16 */

static void put_memory(FILE *out, const struct machine *m)
{
    const bool known = m->available_bytes >= m->ram_bytes / LEFT_LEAST && m->available_bytes <= m->ram_bytes;
    put_bytes(out, "ram", m->ram_bytes, measured, "What the system reports (MemTotal).");
    if (known)
        put_bytes(out, "os_reserve", m->ram_bytes - m->available_bytes, measured,
                  "System and other apps together: RAM less what was available (MemAvailable) at that time.");
    else
        put_bytes(out, "os_reserve", m->ram_bytes / 2, estimated,
                  "System and other apps together: half, as what was available was not known, or next to nothing.");
    put_bytes(out, "other_apps", 0, estimated, "Part of os_reserve.");
    put_bytes(out, "runtime", 150000000, estimated, "An inference app without weights, KV cache and activations.");
    if (m->android)
        put(out, "kill", "lmkd", estimated, "Android's rule; its thresholds are the defaults.");
    else
        put(out, "kill", "threshold", estimated, "Above RAM less os_reserve. No rule was measured.");
    if (m->swap_is_zram)
        put_bytes(out, "zram", m->swap_bytes, measured, "SwapTotal; its compression and times are the defaults.");
    else
        put_bytes(out, "zram", 0, m->swap_bytes > 0 ? estimated : measured,
                  m->swap_bytes > 0 ? "Swap on a disk, or one that could not be looked at: not modelled."
                                    : "No swap is on.");
}

/* What only matters when memory is short: settings of the system that the default knows too. */
static void put_watermarks(FILE *out, const struct machine *m)
{
    char number[VALUE_BYTES];
    if (m->min_free_bytes > 0 && m->min_free_bytes < m->ram_bytes / WATERMARK_MOST)
        put_bytes(out, "min_free", m->min_free_bytes, measured, "vm.min_free_kbytes.");
    if (m->has_watermark_scale && m->watermark_scale <= 1000) {
        snprintf(number, sizeof number, "%" PRIu64, m->watermark_scale);
        put(out, "watermark_scale", number, measured, "vm.watermark_scale_factor.");
    }
    if (m->has_swappiness && m->swappiness <= 200) {
        snprintf(number, sizeof number, "%" PRIu64, m->swappiness);
        put(out, "swappiness", number, measured, "vm.swappiness.");
    }
    if (m->memlock_bytes != UINT64_MAX)
        put_bytes(out, "memlock", m->memlock_bytes, measured, "RLIMIT_MEMLOCK of this process.");
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

static void put_pages(FILE *out, const struct calibration *c)
{
    const struct machine *m = &c->machine;
    const bool modelled = m->page_bytes == 4 * KIB || m->page_bytes == 16 * KIB;
    const bool x86 = strstr(m->processor, "86") != NULL;
    put_bytes(out, "page", modelled ? m->page_bytes : 16 * KIB, modelled ? measured : estimated,
              modelled ? "sysconf(_SC_PAGESIZE)." : "The system's pages have another size, which is not modelled.");
    const uint64_t window = m->has_readahead ? at_most(m->readahead_bytes, 128U * KIB * KIB) : 128U * KIB;
    put_bytes(out, "readahead", window, m->has_readahead ? measured : estimated,
              m->has_readahead ? "read_ahead_kb of the file's device." : "Linux's default: /sys did not tell.");
    /* At least the window: sim/options_device.c. */
    uint64_t request = m->has_request_max ? at_most(m->request_max_bytes, 1024U * KIB * KIB) : 512U * KIB;
    put_bytes(out, "willneed_max", request > window ? request : window, m->has_request_max ? measured : estimated,
              m->has_request_max ? "max_sectors_kb of the file's device, at least readahead." : "/sys did not tell.");
    uint64_t around = 64U * KIB;
    if (c->fault_around.known) /* a power of two */
        for (around = m->page_bytes; (double)around * 1.4 < c->fault_around.median && around < 1024U * KIB * KIB;)
            around *= 2;
    put_bytes(out, "fault_around", around, c->fault_around.known ? measured : estimated,
              c->fault_around.known ? "Bytes of a file in the page cache for each fault that touching all of it took."
                                    : "Linux's default.");
    put(out, "prefault", x86 ? "young" : "old", published,
        "By the processor (%s): Linux, arch_wants_old_prefaulted_pte.", m->processor);
}

static void put_costs(FILE *out, const struct calibration *c)
{
    char value[UNITS_TEXT], spread[2 * VALUE_BYTES], other[2 * VALUE_BYTES], third[2 * VALUE_BYTES];
    if (c->mapped_fault.known)
        put(out, "minor_fault", time_text(c->mapped_fault.median, value), measured,
            "A fault that maps what is in the page cache around it:\n; %s. (Of anonymous memory: %s.)",
            times_text(&c->mapped_fault, spread),
            c->anonymous_fault.known ? times_text(&c->anonymous_fault, other) : "not measured");
    else
        put(out, "minor_fault", "1us", estimated, "Could not be measured here.");
    if (c->major_fault.known)
        put(out, "major_fault", time_text(c->major_fault.median, value), measured,
            "A fault that reads one page takes the processor a %s,\n; a read of one page past the "
            "page cache a %s;\n; the first less the second, at least 0: %s.",
            times_text(&c->major_whole, other), times_text(&c->one_read, third), times_text(&c->major_fault, spread));
    else
        put(out, "major_fault", "2us", estimated,
            "Could not be measured: no O_DIRECT, or pages that do not leave the page cache.");
    if (c->take_back.known)
        put(out, "scan_page", time_text(c->take_back.median, value), measured,
            "Looking at a mapped, clean page of a file and taking it back (MADV_PAGEOUT):\n; %s.\n"
            "; A page that reclaim looks at and keeps costs less: an upper bound.",
            times_text(&c->take_back, spread));
    else
        put(out, "scan_page", "30ns", estimated, "Could not be measured here (MADV_PAGEOUT).");
    put(out, "tlb_miss", "10ns", estimated, "A page walk whose last levels lie in the processor's caches.");
}

static void put_flash(FILE *out, const struct calibration *c)
{
    char value[UNITS_TEXT], rate[VALUE_BYTES], spread[2 * VALUE_BYTES];
    fprintf(
        out,
        "\n; Flash: rate(L, q) = min(max, q * L / (setup + L / stream)), least squares over %zu points of %s reads\n"
        "; (random and sequential; 1 to %d readers): rms error %.1f %%, median %.1f %%, worst %+.1f %%.\n"
        "; The spread of each constant is that of the fits of %d repetitions.\n",
        c->points, c->direct ? "direct" : "buffered", 32, 100.0 * c->fit.rms, 100.0 * c->fit.median,
        100.0 * c->fit.worst, CALIBRATE_REPEATS);
    if (!c->direct)
        fprintf(out, "; O_DIRECT was refused: pages were dropped before each read, as far as the system does so.\n");
    if (!c->machine.has_device)
        fprintf(out, "; The folder lies on no block device that the system names: this may be memory, not flash.\n");
    put(out, "flash_setup", time_text(c->fit.setup_ns, value), measured, "%s.", times_text(&c->setup, spread));
    put(out, "flash_stream", rate_text(c->fit.stream_bps, rate), measured, "%s.", rates_text(&c->stream, spread));
    put(out, "flash_max", rate_text(c->fit.max_bps, rate), c->fit.reaches_max ? measured : estimated, "%s%s.",
        rates_text(&c->max, spread),
        c->fit.reaches_max ? "" : "; no point was held by it: the highest rate of the law");
    put(out, "queue_depth", "32", estimated, "More than 32 readers were not tried.");
    put(out, "command", "1MiB", estimated, "A prefetch is cut into commands of this size.");
    put(out, "hot_after", "never", estimated, "The measurement is too short to heat a device.");
}

static void put_compute(FILE *out, const struct calibration *c)
{
    char rate[VALUE_BYTES], spread[2 * VALUE_BYTES], flops[VALUE_BYTES];
    put(out, "memory", rate_text(c->memory.median, rate), measured, "All %" PRIu64 " cores reading: %s.",
        c->machine.cores, rates_text(&c->memory, spread));
    snprintf(flops, sizeof flops, "%" PRIu64 "GFLOPS", at_most(c->machine.cores, 1024) * 25);
    put(out, "flops", flops, estimated,
        "25 GFLOPS a core, about what profiles of phones have for eight. Better: 2 * parameters *\n"
        "; the prompt tokens a second that your runtime reaches.");
}

static void put_all(FILE *out, const struct calibration *c, const char *name)
{
    char bytes[UNITS_TEXT];
    fprintf(out,
            "; Measured by pocketload calibrate on %s, %" PRIu64 " cores,\n"
            "; with a file of %s; each value %d times.\n"
            "; What is marked as estimated is not of this machine, and is worth replacing.\n\n[device]\n",
            c->machine.system, c->machine.cores, format_bytes(c->file_bytes, bytes), CALIBRATE_REPEATS);
    if (name != NULL)
        fprintf(out, "\nname = %s\n", name);
    put_memory(out, &c->machine);
    put_watermarks(out, &c->machine);
    put_pages(out, c);
    put_costs(out, c);
    put_flash(out, c);
    put_compute(out, c);
}

bool calibrate_profile(const struct calibration *calibration, const char *name, char **text, size_t *size,
                       struct error *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    bool good = out != NULL;
    if (good) {
        put_all(out, calibration, name);
        good = !ferror(out);
        good = fclose(out) == 0 && good;
    }
    if (good)
        return true;
    free(*text);
    *text = NULL;
    return fail(err, STATUS_IO, "out of memory");
}
