/* The files of a figure: its texts, its data, its script. */
#include "results/plot_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "results/gnuplot.h"
#include "results/text.h"

/* Latin, Greek, Cyrillic, punctuation, arrows and signs: what every font for plots has. */
static bool is_common(uint32_t c)
{
    return c < 0x530 || (c >= 0x2000 && c <= 0x22FF);
}

/* Characters of a text in UTF-8. */
static size_t characters_of(const char *text, const char *end)
{
    size_t count = 0;
    for (; text < end; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static const char *part_end(const char *part)
{
    const char *end = strstr(part, PLOT_BETWEEN);
    return end ? end : part + strlen(part);
}

/* Characters of the text when none of its parts has more than `limit`. */
static size_t cut_length(const char *text, size_t limit)
{
    size_t total = 0;
    for (const char *part = text, *end;; part = end + strlen(PLOT_BETWEEN)) {
        end = part_end(part);
        const size_t length = characters_of(part, end);
        total += length < limit ? length : limit;
        if (*end == '\0')
            return total;
        total += sizeof PLOT_BETWEEN - 2; /* one of its characters takes two bytes */
    }
}

static void write_character(FILE *file, const char *text, size_t length, uint32_t c, bool common)
{
    if (c == ',')
        fputs("\xE2\x80\x9A", file);
    else if (length > 1 && (!common || is_common(c)))
        fwrite(text, 1, length, file);
    else
        putc(length > 1 ? '?' : c == '"' ? '\'' : c == '\\' ? '/' : *text, file);
}

bool plot_text(FILE *file, const char *text, size_t characters, bool common)
{
    char *clean = text_clean(text, true);
    if (!clean)
        return false;
    size_t limit = characters;
    while (limit > 1 && cut_length(clean, limit) > characters)
        limit--;
    putc('"', file);
    for (const char *part = clean, *end;; part = end + strlen(PLOT_BETWEEN)) {
        end = part_end(part);
        /* Of a part that is too long, two thirds are its start; an ellipsis stands for the middle. */
        const size_t count = characters_of(part, end);
        const size_t head = count <= limit ? count : limit * 2 / 3, tail = count <= limit ? 0 : limit - head - 1;
        size_t at = 0, length;
        for (const char *p = part; p < end; p += length, at++) {
            uint32_t c;
            length = utf8_character(p, &c);
            if (at < head || at >= count - tail)
                write_character(file, p, length, c, common);
            else if (at == head)
                fputs("\xE2\x80\xA6", file);
        }
        if (*end == '\0')
            break;
        fputs(PLOT_BETWEEN, file);
    }
    putc('"', file);
    free(clean);
    return true;
}

bool plot_titles(FILE *file, const struct plot_runs *runs, const char *subtitle)
{
    putc(',', file);
    bool ok = plot_text(file, runs->title, TITLE_CHARACTERS, false);
    putc(',', file);
    ok = ok && plot_text(file, subtitle, TITLE_CHARACTERS, false);
    putc('\n', file);
    return ok;
}

static FILE *open_beside(const char *folder, const char *name, const char *ending, struct error *err)
{
    const size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(size);
    if (!path) {
        plot_no_memory(err);
        return NULL;
    }
    snprintf(path, size, "%s/%s%s", folder, name, ending);
    FILE *file = fopen(path, "we");
    if (!file)
        fail(err, STATUS_IO, "%s: cannot write: %s", path, strerror(errno));
    free(path);
    return file;
}

bool figure_begin(struct figure *figure, const char *folder, const char *name, struct error *err)
{
    *figure = (struct figure){.folder = folder, .name = name};
    figure->data = open_beside(folder, name, ".csv", err);
    figure->script = figure->data ? open_beside(folder, name, ".gp", err) : NULL;
    return figure->script != NULL;
}

static bool close_file(FILE *file, const struct figure *figure, struct error *err)
{
    if (!file)
        return true;
    const bool bad = ferror(file) != 0;
    const bool closed = fclose(file) == 0;
    return (closed && !bad) || fail(err, STATUS_IO, "%s/%s: cannot write the figure's files: %s", figure->folder,
                                    figure->name, errno != 0 ? strerror(errno) : "write error");
}

bool figure_end(struct figure *figure, bool ok, void (*made)(void *context, const char *path), void *context,
                struct error *err)
{
    struct error close_error;
    const bool data_closed = close_file(figure->data, figure, &close_error);
    const bool script_closed = close_file(figure->script, figure, &close_error);
    if (ok && !(data_closed && script_closed)) {
        *err = close_error;
        ok = false;
    }
    ok = ok && gnuplot_run(figure->folder, figure->name, err);
    const size_t size = strlen(figure->folder) + strlen(figure->name) + 8;
    char *path = ok ? malloc(size) : NULL;
    for (int i = 0; path && i < 2; i++) {
        snprintf(path, size, "%s/%s%s", figure->folder, figure->name, i == 0 ? ".svg" : ".png");
        if (made)
            made(context, path);
    }
    free(path);
    return ok;
}

void figure_abandon(struct figure *figure)
{
    fclose(figure->data);
    fclose(figure->script);
}
