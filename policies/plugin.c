/* Loading a shared object, and checking the table that it exports. */
#include "policies/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "policies/check_child.h"
#include "policies/names.h"
#include "policies/text.h"

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

bool policy_is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length >= 3 && strcmp(name + length - 3, ".so") == 0);
}

/* ---- Tables ---- */

void policy_table_complete(const struct policy *table, struct policy *whole)
{
    memset(whole, 0, sizeof *whole);
    memcpy(whole, table, table->size < sizeof *whole ? table->size : sizeof *whole);
}

static bool check_name(const char *what, const char *name, struct error *err)
{
    if (name == NULL)
        return fail(err, STATUS_USAGE, "its table has no %s", what);
    size_t length = strnlen(name, POLICY_NAME_MAX + 1);
    if (length == 0 || length > POLICY_NAME_MAX || strspn(name, name_characters) != length)
        return fail(err, STATUS_USAGE, "its %s is \"%.32s\", expected 1 to %d characters of a-z, 0-9 and '-'", what,
                    name, POLICY_NAME_MAX);
    return true;
}

/* One line that a terminal can show. */
static bool check_line(const char *what, const char *line, struct error *err)
{
    if (line == NULL || *line == '\0')
        return fail(err, STATUS_USAGE, "its table has no %s", what);
    if (strnlen(line, POLICY_SUMMARY_MAX + 1) > POLICY_SUMMARY_MAX)
        return fail(err, STATUS_USAGE, "its %s has more than %d bytes", what, POLICY_SUMMARY_MAX);
    while (*line != '\0') {
        uint32_t code;
        size_t length = utf8_character(line, &code);
        if (length == 0 || utf8_is_control(code))
            return fail(err, STATUS_USAGE, "its %s holds the byte 0x%02X, expected one line of printable UTF-8", what,
                        (unsigned char)*line);
        line += length;
    }
    return true;
}

static bool check_range(const struct policy_param *param, struct error *err)
{
    enum { PPM = 1000000, KINDS = (1 << BLOCK_KINDS) - 1 };
    if ((uint32_t)param->unit > POLICY_BLOCKS)
        return fail(err, STATUS_USAGE, "its parameter %s has unit %u, expected one of enum policy_unit", param->name,
                    (unsigned)param->unit);
    if (param->unit == POLICY_KINDS && (param->fallback < 0 || param->fallback > KINDS))
        return fail(err, STATUS_USAGE, "its parameter %s has the default %" PRId64 ", expected bits of kinds, to %d",
                    param->name, param->fallback, KINDS);
    if (policy_is_list(param))
        return true;
    int64_t most = param->unit == POLICY_PPM ? PPM : INT64_MAX;
    if (param->min < 0 || param->min > param->max || param->max > most)
        return fail(err, STATUS_USAGE,
                    "its parameter %s ranges from %" PRId64 " to %" PRId64 ", expected 0 <= min <= max%s", param->name,
                    param->min, param->max, param->unit == POLICY_PPM ? " <= 1000000 parts per million" : "");
    if (param->fallback < param->min || param->fallback > param->max)
        return fail(err, STATUS_USAGE,
                    "its parameter %s has the default %" PRId64 ", expected from %" PRId64 " to %" PRId64, param->name,
                    param->fallback, param->min, param->max);
    return true;
}

static bool check_params(const struct policy *table, struct error *err)
{
    uint32_t lists = 0;
    if (table->param_count > POLICY_PARAMS_MAX)
        return fail(err, STATUS_USAGE, "it has %u parameters, expected at most %d", table->param_count,
                    POLICY_PARAMS_MAX);
    if (table->param_count > 0 && table->params == NULL)
        return fail(err, STATUS_USAGE, "it has %u parameters, and no table of them", table->param_count);
    for (uint32_t i = 0; i < table->param_count; i++) {
        const struct policy_param *param = &table->params[i];
        if (!check_name("parameter's name", param->name, err) || !check_line("parameter's help", param->help, err) ||
            !check_range(param, err))
            return false;
        lists += policy_is_list(param);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(table->params[j].name, param->name) == 0)
                return fail(err, STATUS_USAGE, "it has two parameters of the name %s", param->name);
    }
    return lists <= 1 || fail(err, STATUS_USAGE, "it has %u parameters that are lists, expected at most one", lists);
}

const char *policy_missing_function(const struct policy *table)
{
    struct policy whole;
    policy_table_complete(table, &whole);
    if (whole.state_size == NULL)
        return "state_size";
    if (whole.init == NULL)
        return "init";
    switch (whole.kind) {
    case POLICY_EVICT:
        return whole.ops.evict.victim == NULL      ? "victim"
               : whole.ops.evict.on_insert == NULL ? "on_insert"
               : whole.ops.evict.on_remove == NULL ? "on_remove"
                                                   : NULL;
    case POLICY_PIN:
        return whole.ops.pin.plan == NULL ? "plan" : NULL;
    case POLICY_PREFETCH:
        return whole.ops.prefetch.reach == NULL ? "reach" : whole.ops.prefetch.plan == NULL ? "plan" : NULL;
    case POLICY_ADMIT:
        return whole.ops.admit.admit == NULL ? "admit" : NULL;
    default:
        return "kind";
    }
}

bool policy_table_check(const struct policy *table, size_t room, struct error *err)
{
    enum { NEEDS_KNOWN = POLICY_NEEDS_HEAT | POLICY_NEEDS_FUTURE | POLICY_NEEDS_PROFILE | POLICY_MAY_EXCEED };
    if (room < offsetof(struct policy, kind))
        return fail(err, STATUS_USAGE, "its symbol `policy` has %zu bytes, expected a struct policy", room);
    if (table->abi != POLICY_ABI)
        return fail(err, STATUS_USAGE, "contract version %u, this program speaks %u", table->abi, POLICY_ABI);
    if (table->size < offsetof(struct policy, ops) || table->size > room) {
        char most[32] = "";
        if (room != SIZE_MAX)
            snprintf(most, sizeof most, " to %zu", room);
        return fail(err, STATUS_USAGE, "its table says it has %u bytes, expected %zu%s", table->size,
                    offsetof(struct policy, ops), most);
    }
    if ((uint32_t)table->kind >= POLICY_KINDS_COUNT)
        return fail(err, STATUS_USAGE, "its table is of kind %u, expected one of enum policy_kind",
                    (unsigned)table->kind);
    if (!check_name("name", table->name, err) || !check_line("summary", table->summary, err))
        return false;
    if ((table->needs & ~(uint32_t)NEEDS_KNOWN) != 0)
        return fail(err, STATUS_USAGE, "it needs 0x%x, of which this program knows 0x%x", table->needs,
                    (unsigned)NEEDS_KNOWN);
    if (!check_params(table, err))
        return false;
    const char *missing = policy_missing_function(table);
    return missing == NULL || fail(err, STATUS_USAGE, "its table lacks %s(), which %s %s must have", missing,
                                   policy_kind_article(table->kind), policy_kind_titles[table->kind]);
}

/* ---- Shared objects ---- */

struct probe {
    struct child_shared shared;
    const char *path; /* to open */
    bool good;
    struct error error;
};

/* Opens the object and checks its table; *policy only where it is good. *object is for dlclose(), NULL: not opened. */
static bool open_object(const char *path, const struct policy **policy, void **object, struct error *err)
{
    *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*object == NULL) {
        const char *why = dlerror();
        size_t length = strlen(path);
        if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0)
            why += length + 2;
        return fail(err, STATUS_USAGE, "cannot be loaded: %s", why);
    }
    const struct policy *table = dlsym(*object, "policy");
    if (table == NULL)
        return fail(err, STATUS_USAGE, "it exports no symbol `policy`, expected `const struct policy policy`");
    Dl_info info;
    void *extra = NULL;
    size_t room = SIZE_MAX;
    if (dladdr1(table, &info, &extra, RTLD_DL_SYMENT) != 0 && extra != NULL) {
        const ElfW(Sym) *symbol = extra;
        room = symbol->st_size;
    }
    if (!policy_table_check(table, room, err))
        return false;
    *policy = table;
    return true;
}

static void probe_object(struct child_shared *shared)
{
    struct probe *probe = (struct probe *)shared;
    const struct policy *policy;
    void *object;
    probe->good = open_object(probe->path, &policy, &object, &probe->error);
    if (object != NULL) /* its destructors, which the program's end calls too */
        dlclose(object);
}

/* Loads the object in a child, and gives it back. */
static bool survives(const char *path, struct error *err)
{
    struct probe *probe = (struct probe *)child_memory(sizeof *probe);
    if (probe == NULL)
        return fail(err, STATUS_IO, "out of memory");
    char end[CHILD_END_TEXT];
    probe->path = path;
    bool good = child_run(probe_object, &probe->shared, true, PLUGIN_LOAD_MS, end, err);
    if (good && end[0] != '\0')
        good = fail(err, STATUS_USAGE, "%s it %s", probe->good ? "unloading" : "loading", end);
    else if (good && !probe->good) {
        *err = probe->error;
        good = false;
    }
    child_memory_free(&probe->shared, sizeof *probe);
    return good;
}

static bool is_file(const char *path, struct error *err)
{
    struct stat status;
    size_t length = strlen(path);
    if (strpbrk(path, ",+()") != NULL)
        return fail(err, STATUS_USAGE, PLUGIN_PATH_RULE);
    if (stat(path, &status) != 0)
        return fail(err, STATUS_USAGE, "no such file%s",
                    length > 3 && strcmp(path + length - 3, ".so") == 0 ? "" : " (" PLUGIN_PATH_RULE ")");
    return S_ISREG(status.st_mode) || fail(err, STATUS_USAGE, "no regular file, expected a shared object");
}

bool policy_plugin_load(const char *path, const struct policy **policy, struct error *err)
{
    char here[POLICY_TEXT_MAX + 2];
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    /* What the program has loaded already has been through the child. */
    if (!is_file(here, err) || (dlopen(here, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == NULL && !survives(here, err)))
        return fail_in(err, "policy %s", path);
    void *object; /* stays open */
    return open_object(here, policy, &object, err) || fail_in(err, "policy %s", path);
}
