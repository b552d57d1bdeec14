/* What depends on several keys of [device]: derived values and checks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/experiment_parts.h"
#include "sim/option_tables.h"

static bool check_required(const struct selection *selection, struct error *err)
{
    const struct settings_reader *reader = &selection->experiment->reader;
    for (size_t i = 0; i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (option->required && !selection->chosen[i].setting) {
            char text[128];
            snprintf(text, sizeof text, "missing; expected a %s.profile, or the key (%s)", option->section,
                     option_type_texts[option->type]);
            return fail_at(selection, option->section, option->key, err, text);
        }
    }
    return true;
}

/* Which of the device's keys whose values do not fit together was set last: the one to blame. */
static const char *latest_of(const struct selection *selection, const char *const *keys, size_t count)
{
    const char *latest = keys[0];
    for (size_t i = 1; i < count; i++)
        if (chosen_of(selection, "device", keys[i])->setting->level >
            chosen_of(selection, "device", latest)->setting->level)
            latest = keys[i];
    return latest;
}

static bool check_memory(const struct selection *selection, struct device *device, struct error *err)
{
    static const char *const keys[] = {"ram", "os_reserve", "other_apps"};
    char text[256], rest_text[UNITS_TEXT], own_text[UNITS_TEXT];
    uint64_t taken = device->os_reserve_bytes + device->other_apps_bytes; /* each at most 2^50 */
    if (taken >= device->ram_bytes) {
        snprintf(text, sizeof text, "os_reserve and other_apps, %s, leave nothing of ram, %s",
                 format_bytes(taken, own_text), format_bytes(device->ram_bytes, rest_text));
        return fail_at(selection, "device", latest_of(selection, keys, sizeof keys / sizeof *keys), err, text);
    }
    uint64_t rest = device->ram_bytes - taken;
    if (device->pressure.threshold_bytes > rest) {
        snprintf(text, sizeof text, "%s is above what ram leaves after os_reserve and other_apps; expected at most %s",
                 print_bytes(device->pressure.threshold_bytes, own_text), print_bytes(rest, rest_text));
        return fail_at(selection, "device", "kill_threshold", err, text);
    }
    if (device->pressure.threshold_bytes == 0)
        device->pressure.threshold_bytes = rest;
    return true;
}

static bool check_flash(const struct selection *selection, const struct device *device, struct error *err)
{
    static const char *const keys[] = {"flash_stream", "flash_max"};
    if (device->flash.stream_bps <= device->flash.max_bps)
        return true;
    const char *blamed = latest_of(selection, keys, sizeof keys / sizeof *keys);
    return fail_at(selection, "device", blamed, err,
                   blamed == keys[0] ? "above device.flash_max; expected a rate of one read that is at most that of all"
                                     : "below device.flash_stream; expected a rate of all reads, at least that of one");
}

/* ---- Limits ---- */

enum { JETSAM_TEXT = 127 * 8 + 1, JETSAM_ITEMS_MAX = JETSAM_TEXT / 7 }; /* an item is "1:1B:1B" at least */
#define JETSAM_MAX_BYTES (UINT64_C(1) << 50)

/* The number of an option without a field; 0 where nobody set it. */
static uint64_t number_of(const struct selection *selection, const char *key)
{
    const struct chosen *chosen = chosen_of(selection, "device", key);
    return chosen->setting ? chosen->setting->values[chosen->item].number : 0;
}

/* Compares versions part by part, "17.4" < "17.10": -1, 0 or 1. Missing parts are 0. */
static int compare_versions(const char *a, const char *b)
{
    while (*a || *b) {
        char *a_end = (char *)a, *b_end = (char *)b;
        const unsigned long a_part = strtoul(a, &a_end, 10), b_part = strtoul(b, &b_end, 10);
        if (a_part != b_part)
            return a_part < b_part ? -1 : 1;
        a = a_end + (*a_end == '.');
        b = b_end + (*b_end == '.');
    }
    return 0;
}

/* Numbers of at most six digits, joined by dots. */
static bool is_version(const char *text)
{
    for (;;) {
        const size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 6)
            return false;
        if (text[digits] == '\0')
            return true;
        if (text[digits] != '.')
            return false;
        text += digits + 1;
    }
}

bool version_check(const char *text, struct error *err)
{
    return is_version(text) ||
           fail(err, STATUS_USAGE, "\"%.40s\" is no version; expected numbers joined by dots: 17.4", text);
}

struct version_limit {
    char *version;
    uint64_t limit_bytes, entitled_bytes;
};

/* One item of jetsam_by_os, cut up in place. */
static bool read_version(char *item, struct version_limit *out, struct error *err)
{
    char *limit = strchr(item, ':'), *entitled = limit ? strchr(limit + 1, ':') : NULL;
    char *const whole = item;
    struct error why;
    if (!entitled)
        return fail(err, STATUS_USAGE, "\"%s\" is not VERSION:LIMIT:ENTITLED: 17:3GB:6GB", item);
    *limit = *entitled = '\0';
    *out = (struct version_limit){.version = whole};
    if (!is_version(whole))
        return fail(err, STATUS_USAGE, "\"%s\" is no version; expected numbers joined by dots: 17.4", whole);
    if (!parse_bytes(limit + 1, &out->limit_bytes, &why) || !parse_bytes(entitled + 1, &out->entitled_bytes, &why))
        return fail(err, STATUS_USAGE, "version %s: %s", whole, why.text);
    if (out->limit_bytes == 0 || out->entitled_bytes == 0 || out->limit_bytes > JETSAM_MAX_BYTES ||
        out->entitled_bytes > JETSAM_MAX_BYTES)
        return fail(err, STATUS_USAGE, "version %s: a limit is out of range; expected 1B to 1024TiB", whole);
    return true;
}

/* The limits of the highest version that is not above the system's take the place of the plain ones. lowest gets the
 * lowest version listed when the system's is below all, else "". */
static bool limits_by_version(const char *list, const char *version, uint64_t *limit, uint64_t *entitled,
                              char lowest[JETSAM_TEXT], struct error *err)
{
    char text[JETSAM_TEXT], best[JETSAM_TEXT] = "", *rest = text;
    const char *versions[JETSAM_ITEMS_MAX];
    *lowest = '\0';
    must(strlen(list) < sizeof text);
    strcpy(text, list);
    for (unsigned number = 1;; number++) {
        struct version_limit item;
        char *word = strtok_r(rest, " ", &rest);
        if (!word)
            break;
        if (!read_version(word, &item, err))
            return fail_in(err, "item %u", number);
        for (unsigned before = 1; before < number; before++)
            if (compare_versions(versions[before - 1], item.version) == 0)
                return fail(err, STATUS_USAGE, "item %u: version %s is that of item %u already; expected each once",
                            number, item.version, before);
        must(number <= JETSAM_ITEMS_MAX);
        versions[number - 1] = item.version;
        if (!*lowest || compare_versions(item.version, lowest) < 0)
            strcpy(lowest, item.version);
        if (!version || compare_versions(item.version, version) > 0 ||
            (*best && compare_versions(item.version, best) < 0))
            continue;
        strcpy(best, item.version);
        *limit = item.limit_bytes;
        *entitled = item.entitled_bytes;
    }
    if (!version || *best)
        *lowest = '\0';
    return true;
}

static bool finish_jetsam(const struct selection *selection, struct run_config *config, struct error *err)
{
    uint64_t *limit = &config->device.pressure.jetsam_limit_bytes;
    uint64_t entitled = number_of(selection, "jetsam_limit_entitled");
    const struct chosen *by_os = chosen_of(selection, "device", "jetsam_by_os");
    char lowest[JETSAM_TEXT] = "", text[256];
    struct error why;
    if (by_os->setting && !limits_by_version(by_os->setting->values[by_os->item].text, config->os_version, limit,
                                             &entitled, lowest, &why))
        return fail_at(selection, "device", "jetsam_by_os", err, why.text);
    /* A profile may know more than is asked of it; a config that lists versions means to use them. */
    if (by_os->setting && by_os->setting->level > LEVEL_PROFILE && !config->os_version)
        return fail_at(selection, "device", "jetsam_by_os", err,
                       "device.os_version, which chooses among its versions, is missing; expected it too");
    if (*lowest && (config->entitled ? entitled : *limit) == 0) {
        snprintf(text, sizeof text, "%.40s is below all versions of device.jetsam_by_os; expected at least %.40s",
                 config->os_version, lowest);
        return fail_at(selection, "device", "os_version", err, text);
    }
    config->limit_by_version = by_os->setting && config->os_version && !*lowest;
    if (config->entitled && entitled == 0)
        return fail_at(selection, "device", "entitled", err,
                       "the limit of an entitled app is not known; expected device.jetsam_limit_entitled too");
    config->device.jetsam_entitled_bytes = entitled;
    if (config->entitled)
        *limit = entitled;
    return *limit > 0 || fail_at(selection, "device", "jetsam_limit", err,
                                 "missing; expected a size for kill = jetsam, or jetsam_by_os with os_version");
}

static bool finish_limiter(const struct selection *selection, struct device *device, struct error *err)
{
    struct pressure_spec *pressure = &device->pressure;
    char text[256], own[UNITS_TEXT], most[UNITS_TEXT];
    if (pressure->max_bytes == 0)
        pressure->max_bytes = device->ram_bytes;
    if (pressure->max_bytes > device->ram_bytes) {
        snprintf(text, sizeof text, "%s is above device.ram; expected at most %s",
                 print_bytes(pressure->max_bytes, own), print_bytes(device->ram_bytes, most));
        return fail_at(selection, "device", "memory_max", err, text);
    }
    if (pressure->high_bytes > pressure->max_bytes) {
        snprintf(text, sizeof text, "%s is above device.memory_max; expected at most %s",
                 print_bytes(pressure->high_bytes, own), print_bytes(pressure->max_bytes, most));
        return fail_at(selection, "device", "memory_high", err, text);
    }
    return true;
}

/* ---- Pressure ---- */

/* Where the high watermark is not below what system and other apps leave, memory is always short. Of a min watermark
 * that the kernel chooses nothing is asked: it is small. */
static bool check_watermarks(const struct selection *selection, const struct device *device, struct error *err)
{
    const struct pressure_spec *pressure = &device->pressure;
    if (!chosen_of(selection, "device", "min_free")->used)
        return true;
    char text[256], own[UNITS_TEXT], most[UNITS_TEXT];
    const uint64_t min = pressure->min_free_bytes; /* at most 2^50, as ram */
    const uint64_t by_scale = device->ram_bytes / 10000 * pressure->watermark_scale;
    const uint64_t high = min + 2 * (min / 4 > by_scale ? min / 4 : by_scale);
    const uint64_t rest = device->ram_bytes - device->os_reserve_bytes - device->other_apps_bytes;
    if (high < rest)
        return true;
    snprintf(text, sizeof text,
             "the high watermark, %s, is not below what ram leaves after os_reserve and other_apps, %s",
             format_bytes(high, own), format_bytes(rest, most));
    return fail_at(selection, "device", min > 0 ? "min_free" : "watermark_scale", err, text);
}

/* The apps that run from the start have to fit beside the system. */
static bool check_apps(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct device *device = &config->device;
    if (!config->apps)
        return true;
    device->pressure.apps = config->apps->apps;
    device->pressure.app_count = config->apps->count;
    uint64_t taken = 0; /* at most 64 times 2^50 */
    for (uint32_t i = 0; i < config->apps->count; i++)
        if (config->apps->apps[i].start_ns == 0)
            taken += config->apps->apps[i].bytes;
    const uint64_t rest = device->ram_bytes - device->os_reserve_bytes - device->other_apps_bytes;
    if (taken < rest)
        return true;
    char text[256], own[UNITS_TEXT], most[UNITS_TEXT];
    snprintf(text, sizeof text,
             "those that run at the start take %s; expected less than what os_reserve and "
             "other_apps leave of ram, %s",
             format_bytes(taken, own), format_bytes(rest, most));
    return fail_at(selection, "device", "apps", err, text);
}

static bool finish_pressure(const struct selection *selection, struct run_config *config, struct error *err)
{
    const enum kill_rule rule = config->device.pressure.rule;
    return (rule != KILL_JETSAM || finish_jetsam(selection, config, err)) &&
           finish_limiter(selection, &config->device, err) && check_watermarks(selection, &config->device, err) &&
           check_apps(selection, config, err);
}

bool finish_device(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct device *device = &config->device;
    if (!check_required(selection, err) || !check_memory(selection, device, err) ||
        !check_flash(selection, device, err) || !finish_pressure(selection, config, err))
        return false;
    finish_file_system(device);
    const struct profile *profile = profile_of(selection, "device");
    if (!*device->name)
        snprintf(device->name, sizeof device->name, "%s", profile ? profile->name : "device");
    return true;
}
