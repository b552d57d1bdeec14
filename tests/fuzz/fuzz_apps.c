/* Fuzzes the parser of the list of other apps: no text may crash it, what it accepts is within its bounds and has a
 * timeline that moves forward, and what it refuses comes with one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/apps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_app(const struct app_spec *app)
{
    size_t length = strlen(app->name);
    must(length > 0 && length <= APP_NAME_MAX && !strpbrk(app->name, ":@+ \t\n"));
    must(app->adj >= APP_ADJ_MIN && app->adj <= APP_ADJ_MAX && app->start_ns >= 0);
    must(app->bytes <= app->most_bytes && app->most_bytes <= UINT64_C(1) << 50);
    int64_t before_ns = app->start_ns;
    uint64_t bytes = app->bytes;
    must(app_step_bytes(app, 0) == bytes);
    for (uint64_t k = 1; k < 20; k++) {
        int64_t at_ns = app_step_ns(app, k);
        must(at_ns >= before_ns);
        if (at_ns == INT64_MAX)
            return;
        must(app->growth_bps > 0 && app_step_bytes(app, k) > bytes && app_step_bytes(app, k) <= app->most_bytes);
        bytes = app_step_bytes(app, k);
        before_ns = at_ns;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';

    struct arena arena = {0};
    struct error err = {0};
    struct app_spec *apps;
    uint32_t count;
    if (apps_parse(text, &arena, &apps, &count, &err)) {
        must(count <= PRESSURE_APPS_MAX && (count > 0) == (apps != NULL));
        for (uint32_t i = 0; i < count; i++) {
            check_app(&apps[i]);
            for (uint32_t j = 0; j < i; j++)
                must(strcmp(apps[i].name, apps[j].name) != 0);
        }
    } else {
        must(err.code == STATUS_USAGE && err.text[0] != '\0' && !strpbrk(err.text, "\r\n"));
    }
    arena_free(&arena);
    free(text);
    return 0;
}
