/* What a machine says of itself: sysconf, /proc, and /sys for the file's block device. On a phone much of this is
 * closed to apps; what cannot be read stays unknown. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sim/calibrate_parts.h"

enum { LINE_BYTES = 256, PATH_BYTES = 160, KIB = 1024 };

/* The number at the start of a file such as /proc/sys/vm/swappiness. */
static bool read_number(const char *path, uint64_t *value)
{
    FILE *file = fopen(path, "re");
    bool good = file != NULL && fscanf(file, "%" SCNu64, value) == 1;
    if (file != NULL)
        fclose(file);
    return good;
}

/* A line "MemTotal:  24600 kB" of /proc/meminfo. */
static void read_meminfo(struct machine *machine)
{
    char line[LINE_BYTES], key[LINE_BYTES];
    uint64_t kib;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%255[^:]: %" SCNu64, key, &kib) != 2 || kib > UINT64_MAX / KIB)
            continue;
        if (strcmp(key, "MemTotal") == 0)
            machine->ram_bytes = kib * KIB;
        else if (strcmp(key, "MemAvailable") == 0)
            machine->available_bytes = kib * KIB;
        else if (strcmp(key, "SwapTotal") == 0)
            machine->swap_bytes = kib * KIB;
    }
    fclose(file);
}

/* Android swaps to zram alone; elsewhere /proc/swaps tells. */
static bool swaps_to_zram(bool android)
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/swaps", "re");
    size_t areas = 0, zram = 0;
    if (file == NULL)
        return android;
    for (bool header = true; fgets(line, sizeof line, file) != NULL; header = false) {
        areas += !header;
        zram += !header && strstr(line, "zram") != NULL;
    }
    fclose(file);
    return areas > 0 && zram == areas;
}

/* A setting of the queue of the device that a file system lies on; a partition's queue is its disk's. */
static bool read_queue(dev_t device, const char *setting, uint64_t *kib)
{
    static const char *const forms[] = {"/sys/dev/block/%u:%u/queue/%s", "/sys/dev/block/%u:%u/../queue/%s"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, i == 0 ? forms[0] : forms[1], major(device), minor(device), setting);
        if (read_number(path, kib) && *kib <= UINT64_MAX / KIB)
            return true;
    }
    return false;
}

static void read_device(int file, struct machine *machine)
{
    struct stat status;
    char path[PATH_BYTES];
    uint64_t kib;
    if (fstat(file, &status) != 0)
        return;
    machine->has_device = major(status.st_dev) != 0; /* 0: tmpfs, overlay, FUSE: no device is named */
    snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(status.st_dev), minor(status.st_dev));
    machine->has_readahead = read_number(path, &kib) && kib <= UINT64_MAX / KIB;
    if (!machine->has_readahead)
        machine->has_readahead = read_queue(status.st_dev, "read_ahead_kb", &kib);
    if (machine->has_readahead)
        machine->readahead_bytes = kib * KIB;
    machine->has_request_max = read_queue(status.st_dev, "max_sectors_kb", &kib);
    if (machine->has_request_max)
        machine->request_max_bytes = kib * KIB;
}

static void name_system(struct machine *machine)
{
    struct utsname names;
    if (uname(&names) != 0)
        return;
    snprintf(machine->system, sizeof machine->system, "%.40s %.60s %.40s", names.sysname, names.release, names.machine);
    snprintf(machine->processor, sizeof machine->processor, "%.60s", names.machine);
    for (char *c = machine->system; *c != '\0'; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

static uint64_t positive(long value, uint64_t otherwise)
{
    return value > 0 ? (uint64_t)value : otherwise;
}

void calibrate_machine(const struct test_file *file, struct machine *machine)
{
    struct rlimit limit;
    uint64_t kib;
    *machine = (struct machine){.memlock_bytes = UINT64_MAX};
    name_system(machine);
    machine->android = access("/system/build.prop", F_OK) == 0;
    machine->cores = positive(sysconf(_SC_NPROCESSORS_ONLN), 1);
    machine->page_bytes = positive(sysconf(_SC_PAGESIZE), 4 * KIB);
    machine->ram_bytes = positive(sysconf(_SC_PHYS_PAGES), 1) * machine->page_bytes;
    machine->available_bytes = positive(sysconf(_SC_AVPHYS_PAGES), 1) * machine->page_bytes;
    read_meminfo(machine);
    machine->swap_is_zram = machine->swap_bytes > 0 && swaps_to_zram(machine->android);
    if (read_number("/proc/sys/vm/min_free_kbytes", &kib) && kib <= UINT64_MAX / KIB)
        machine->min_free_bytes = kib * KIB;
    machine->has_watermark_scale = read_number("/proc/sys/vm/watermark_scale_factor", &machine->watermark_scale);
    machine->has_swappiness = read_number("/proc/sys/vm/swappiness", &machine->swappiness);
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        machine->memlock_bytes = (uint64_t)limit.rlim_cur;
    read_device(file->file, machine);
}
