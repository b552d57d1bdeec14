/* What depends on several keys of [loader] and [policy]. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/experiment_parts.h"

/* Rounded down to granules, at least one. */
static uint64_t whole_granules(uint64_t bytes, uint64_t granule)
{
    return bytes < granule ? granule : bytes / granule * granule;
}

/* The sizes of a mapped file in whole granules: those that faults map and reclaim takes at once. */
static bool finish_mapped(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct device *device = &config->device;
    struct loader *loader = &config->loader;
    if (loader->page_bytes == 0)
        loader->page_bytes = device->page_bytes;
    const uint64_t granule = loader->page_bytes;
    if (granule < device->page_bytes) {
        char text[256], own[UNITS_TEXT], page[UNITS_TEXT];
        snprintf(text, sizeof text, "%s is below device.page; expected at least %s", print_bytes(granule, own),
                 print_bytes(device->page_bytes, page));
        return fail_at(selection, "loader", "hugepage", err, text);
    }
    /* Linux: read_ahead_kb in whole pages, at least one here as a fault reads its page in any case; fault_around_bytes
     * is a power of two of pages (mm/memory.c, fault_around_bytes_set); one MADV_WILLNEED reads the larger of the
     * device's request and the window (mm/readahead.c, force_page_cache_ra). */
    device->readahead_bytes = whole_granules(device->readahead_bytes, granule);
    device->willneed_bytes = whole_granules(device->willneed_bytes, granule);
    if (device->willneed_bytes < device->readahead_bytes)
        device->willneed_bytes = device->readahead_bytes;
    uint64_t around = granule;
    while (around * 2 <= device->fault_around_bytes)
        around *= 2;
    device->fault_around_bytes = around;
    return true;
}

bool finish_loader(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct loader *loader = &config->loader;
    char text[256], budget[UNITS_TEXT], ram[UNITS_TEXT];
    if (loader->align_bytes & (loader->align_bytes - 1))
        return fail_at(selection, "loader", "align", err, "not a power of two; expected 1B, 512B, 4KiB or the like");
    if (loader->prefetch_lanes > loader->lanes) {
        snprintf(text, sizeof text, "%u is above loader.lanes = %u; expected at most that", loader->prefetch_lanes,
                 loader->lanes);
        return fail_at(selection, "loader", "prefetch_lanes", err, text);
    }
    if (loader->prefetch_lanes == 0)
        loader->prefetch_lanes = loader->lanes;
    if (!finish_loading(selection, config, err))
        return false;
    if (loader->mode == LOADER_MMAP)
        return finish_mapped(selection, config, err);
    if (loader->mode == LOADER_READ)
        return true;
    if (loader->budget_bytes == 0)
        return fail_at(selection, "loader", "budget", err, "missing; expected a size for mode = chunked: 1GiB");
    if (loader->budget_bytes > config->device.ram_bytes) {
        snprintf(text, sizeof text, "%s is above the device's ram; expected at most %s",
                 print_bytes(loader->budget_bytes, budget), print_bytes(config->device.ram_bytes, ram));
        return fail_at(selection, "loader", "budget", err, text);
    }
    return true;
}

/* ---- Policy ---- */

static bool read_policy(const struct selection *selection, struct policy_choice *choice, struct error *err)
{
    static const struct {
        const char *key;
        enum policy_kind kind;
    } parts[] = {{"evict", POLICY_EVICT}, {"pin", POLICY_PIN}, {"prefetch", POLICY_PREFETCH}, {"admit", POLICY_ADMIT}};
    const struct chosen *name = chosen_of(selection, "policy", "name");
    if (!selection->by_parts) {
        *choice = *name->setting->values[name->item].policy;
        return true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct chosen *chosen = chosen_of(selection, "policy", parts[i].key);
        if (is_given(selection, "policy", "name") && is_given(selection, "policy", parts[i].key))
            return fail_at(selection, "policy", parts[i].key, err,
                           "given beside policy.name; expected the name, or its parts");
        if (!policy_parse_part(parts[i].kind, chosen->setting->values[chosen->item].text, choice, err))
            return fail_in(err, "%s: policy.%s", selection->experiment->path, parts[i].key);
    }
    return true;
}

/* The profile matters where a part of the policy reads it. */
static bool check_profile(const struct selection *selection, struct run_config *config, struct error *err)
{
    const struct policy_part *parts[POLICY_KINDS_COUNT] = {&config->policy.evict, &config->policy.pin,
                                                           &config->policy.prefetch, &config->policy.admit};
    bool needed = false;
    for (size_t i = 0; i < POLICY_KINDS_COUNT; i++)
        needed = needed || (parts[i]->policy && parts[i]->policy->needs & POLICY_NEEDS_PROFILE);
    if (!needed)
        config->profile = NULL;
    return !needed || config->profile ||
           fail(err, STATUS_USAGE,
                "%s: policy %s needs to know how often an earlier run used each block; expected policy.profile = FILE, "
                "as `pocketload policy profile` writes it",
                selection->experiment->path, config->policy.label);
}

/* The parts and the label of a run in which no policy is asked anything. */
static void choose_nothing(struct policy_choice *choice)
{
    char *texts[] = {choice->label, choice->evict_text, choice->pin_text, choice->prefetch_text, choice->admit_text};
    memset(choice, 0, sizeof *choice);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        snprintf(texts[i], POLICY_TEXT_MAX, "none");
}

/* The kernel evicts and reads ahead; mlock pins what the pin rule names. */
static bool choose_mapped(const struct selection *selection, struct policy_choice *choice, struct error *err)
{
    static const char *const defaults[POLICY_KINDS_COUNT] = {
        [POLICY_EVICT] = "lru", [POLICY_PREFETCH] = "none", [POLICY_ADMIT] = "none"};
    const struct setting *mode = chosen_of(selection, "loader", "mode")->setting;
    bool mapped_alone = true; /* else the list of policies is there for the other loaders */
    struct policy_choice whole = {0};
    if (!read_policy(selection, &whole, err))
        return false;
    for (uint32_t i = 0; i < mode->count; i++)
        mapped_alone = mapped_alone && mode->values[i].number == LOADER_MMAP;
    for (int kind = 0; mapped_alone && kind < POLICY_KINDS_COUNT; kind++) {
        const char *part = policy_choice_text(&whole, (enum policy_kind)kind);
        char text[POLICY_TEXT_MAX + 128];
        if (!defaults[kind] || strcmp(part, defaults[kind]) == 0)
            continue;
        snprintf(text, sizeof text,
                 "loader.mode = mmap asks no %s, the kernel decides; expected a pin rule alone (mlock), "
                 "without %s",
                 policy_kind_titles[kind], part);
        return fail_at(selection, "policy", selection->by_parts ? policy_kind_names[kind] : "name", err, text);
    }
    choose_nothing(choice);
    choice->pin = whole.pin;
    memcpy(choice->pin_text, whole.pin_text, sizeof whole.pin_text);
    memcpy(choice->label, whole.pin_text, sizeof whole.pin_text);
    return true;
}

bool finish_policy(const struct selection *selection, struct run_config *config, struct error *err)
{
    switch (config->loader.mode) {
    case LOADER_READ:
        choose_nothing(&config->policy); /* everything is resident */
        return true;
    case LOADER_MMAP:
        return choose_mapped(selection, &config->policy, err) && check_profile(selection, config, err);
    case LOADER_CHUNKED:
        break;
    }
    return read_policy(selection, &config->policy, err) && check_profile(selection, config, err);
}
