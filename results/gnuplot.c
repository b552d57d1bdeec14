/* Runs gnuplot on a script that lies in a folder, and checks what it drew. */
#include "results/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

extern char **environ;

enum { COMPLAINT_TEXT = 600, FIGURE_LIMIT = 256 << 20 };

/* What gnuplot says on stderr: the start is kept, the rest read and dropped. */
static void read_complaint(int fd, char text[COMPLAINT_TEXT])
{
    size_t used = 0;
    char chunk[512];
    for (;;) {
        const ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        const size_t room = COMPLAINT_TEXT - 1 - used;
        const size_t take = (size_t)got < room ? (size_t)got : room;
        memcpy(text + used, chunk, take);
        used += take;
    }
    text[used] = '\0';
}

/* Without the user's own ~/.gnuplot (-d), so that a figure is the same everywhere. */
static int spawn(const char *folder, const char *script, int error_fd, pid_t *child)
{
    char *const args[] = {(char *)(uintptr_t) "gnuplot", (char *)(uintptr_t) "-d", (char *)(uintptr_t)script, NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    if ((code = posix_spawn_file_actions_addchdir_np(&actions, folder)) == 0 &&
        (code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)) == 0 &&
        (code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)) == 0 &&
        (code = posix_spawn_file_actions_adddup2(&actions, error_fd, STDERR_FILENO)) == 0)
        code = posix_spawnp(child, args[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static bool execute(const char *folder, const char *script, char complaint[COMPLAINT_TEXT], struct error *err)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(err, STATUS_IO, "cannot run gnuplot: %s", strerror(errno));
    const int code = spawn(folder, script, ends[1], &child);
    close(ends[1]);
    if (code == 0)
        read_complaint(ends[0], complaint);
    close(ends[0]);
    if (code == ENOENT)
        return fail(err, STATUS_IO, "gnuplot is not installed: install gnuplot-nox and fonts-dejavu-core");
    if (code != 0)
        return fail(err, STATUS_IO, "cannot run gnuplot: %s", strerror(code));
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail(err, STATUS_IO, "cannot wait for gnuplot: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(err, STATUS_IO, "%s/%s: gnuplot failed: %.400s", folder, script,
                    complaint[0] != '\0' ? complaint : "it said nothing");
    return true;
}

/* The figure is there, of its kind, and not empty. */
static bool check_figure(const char *path, const char *magic, const char *content, const char *complaint,
                         struct error *err)
{
    char *data;
    size_t size;
    if (!file_read(path, FIGURE_LIMIT, false, &data, &size, err))
        return fail_in(err, "gnuplot drew nothing");
    const bool good =
        size > 1000 && memcmp(data, magic, strlen(magic)) == 0 && memmem(data, size, content, strlen(content));
    free(data);
    if (!good)
        return fail(err, STATUS_IO,
                    "%s: gnuplot drew no figure with text (is a font such as fonts-dejavu-core installed?)%s%.300s",
                    path, complaint[0] != '\0' ? ": " : "", complaint);
    return true;
}

static bool mentions_fonts(const char *complaint)
{
    static const char *const signs[] = {"Fontconfig", "fontconfig", "Pango", "Could not find/open font", "no fonts"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(complaint, signs[i]))
            return true;
    return false;
}

bool gnuplot_run(const char *folder, const char *name, struct error *err)
{
    char script[GNUPLOT_NAME_MAX + 8], complaint[COMPLAINT_TEXT];
    must(strlen(name) < GNUPLOT_NAME_MAX);
    const size_t size = strlen(folder) + sizeof script + 8;
    char *svg = malloc(size), *png = malloc(size);
    bool ok = svg && png;
    if (!ok)
        fail(err, STATUS_IO, "out of memory for a figure");
    if (ok) {
        snprintf(script, sizeof script, "%s.gp", name);
        snprintf(svg, size, "%s/%s.svg", folder, name);
        snprintf(png, size, "%s/%s.png", folder, name);
        unlink(svg);
        unlink(png);
        ok = execute(folder, script, complaint, err) && check_figure(svg, "<?xml", "<text", complaint, err) &&
             check_figure(png, "\x89PNG", "IEND", complaint, err);
    }
    if (ok && mentions_fonts(complaint))
        ok = fail(err, STATUS_IO, "%s: gnuplot finds no font for text, install fonts-dejavu-core: %.300s", png,
                  complaint);
    free(svg);
    free(png);
    return ok;
}
