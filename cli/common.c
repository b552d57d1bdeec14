/* Errors, colour and the end of standard output: the small conventions that all commands follow. */
#include "cli/common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/units.h"

int report(const struct error *err)
{
    fprintf(stderr, "pocketload: %s\n", err->text);
    return (int)err->code;
}

const char *short_name(const char *name)
{
    static const char program[] = "pocketload ";
    return strncmp(name, program, sizeof program - 1) == 0 ? name + sizeof program - 1 : name;
}

bool wants_color(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0')
        return false;
    return term != NULL && strcmp(term, "dumb") != 0 && isatty(fileno(file)) == 1;
}

bool parse_format(const char *text, enum format *format, struct error *err)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *format = (enum format)i;
            return true;
        }
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "--format: unknown format \"%.80s\"%s", text,
                suggest_text(text, format_names, FORMATS, near, sizeof near));
}

bool parse_timeout(const char *text, int64_t *timeout_ms, struct error *err)
{
    int64_t ns;
    if (!parse_time(text, &ns, err))
        return fail_in(err, "--timeout");
    *timeout_ms = ns / 1000000;
    return *timeout_ms > 0 || fail(err, STATUS_USAGE, "--timeout: %.80s is less than 1ms", text);
}

bool finish_stdout(struct error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    return fail(err, STATUS_IO, "standard output: %s", errno != 0 ? strerror(errno) : "write error");
}
