/* A file as a stream of bytes, decompressed on the way where its first bytes say so. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/files.h"

enum { CHUNK = 1 << 18, MAGIC_BYTES = 4 };

enum format { PLAIN, ZSTD, GZIP };

struct stream {
    char *path; /* as messages name it */
    int fd;
    enum format format;
    bool input_ended;
    bool inside;        /* a compressed frame has begun and not ended */
    uint64_t read_size; /* compressed bytes read from the file */
    unsigned char *input;
    size_t input_used, input_size; /* input[used..size) waits to be decompressed */
    char *output;
    void *head; /* head[used..size) was looked at and not taken */
    size_t head_used, head_size, head_capacity;
    ZSTD_DStream *zstd;
    z_stream zlib;
    bool zlib_ready;
};

/* Appends what one read gives to the input. */
static bool fill(struct stream *s, struct error *err)
{
    if (s->input_used == s->input_size)
        s->input_used = s->input_size = 0;
    must(s->input_size < CHUNK);
    ssize_t got;
    do
        got = read(s->fd, s->input + s->input_size, CHUNK - s->input_size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail(err, STATUS_IO, "cannot read %s: %s", s->path, strerror(errno));
    s->input_ended = got == 0;
    s->input_size += (size_t)got;
    s->read_size += (uint64_t)got;
    return true;
}

/* A frame, or one to skip, which may stand in front (RFC 8878, sections 3.1.1 and 3.1.2). */
static bool is_zstd(const unsigned char *head)
{
    static const unsigned char frame[MAGIC_BYTES] = {0x28, 0xB5, 0x2F, 0xFD};
    static const unsigned char skippable[MAGIC_BYTES - 1] = {0x2A, 0x4D, 0x18};
    return memcmp(head, frame, sizeof frame) == 0 ||
           ((head[0] & 0xF0) == 0x50 && memcmp(head + 1, skippable, sizeof skippable) == 0);
}

static bool prepare(struct stream *s, struct error *err)
{
    while (s->input_size < MAGIC_BYTES && !s->input_ended) { /* a pipe may give one byte at a time */
        if (!fill(s, err))
            return false;
    }
    if (s->input_size >= MAGIC_BYTES && is_zstd(s->input)) {
        s->format = ZSTD;
        s->zstd = ZSTD_createDStream();
    } else if (s->input_size >= 2 && s->input[0] == 0x1F && s->input[1] == 0x8B) {
        s->format = GZIP;
        s->zlib_ready = inflateInit2(&s->zlib, 16 + MAX_WBITS) == Z_OK; /* 16: expect a gzip header */
    }
    if (s->format != PLAIN)
        s->output = malloc(CHUNK);
    if ((s->format != PLAIN && !s->output) || (s->format == ZSTD && !s->zstd) || (s->format == GZIP && !s->zlib_ready))
        return fail(err, STATUS_IO, "cannot read %s: out of memory", s->path);
    return true;
}

bool stream_open(const char *path, struct stream **stream, struct error *err)
{
    const bool standard_input = strcmp(path, "-") == 0;
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return fail(err, STATUS_IO, "cannot read %s: out of memory", path);
    s->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const int reason = errno;
    s->path = strdup(standard_input ? "standard input" : path);
    s->input = malloc(CHUNK);
    struct stat status;
    bool good = false;
    if (s->fd < 0)
        fail(err, STATUS_IO, "cannot read %s: %s", path, strerror(reason));
    else if (!s->path || !s->input)
        fail(err, STATUS_IO, "cannot read %s: out of memory", path);
    else if (fstat(s->fd, &status) == 0 && S_ISDIR(status.st_mode))
        fail(err, STATUS_IO, "cannot read %s: it is a directory", path);
    else
        good = prepare(s, err);
    if (!good) {
        stream_close(s);
        return false;
    }
    *stream = s;
    return true;
}

static bool fail_damaged(const struct stream *s, const char *reason, struct error *err)
{
    const uint64_t offset = s->read_size - (s->input_size - s->input_used);
    return fail(err, STATUS_INPUT, "%s: damaged %s data before byte %llu of the compressed file: %s", s->path,
                s->format == ZSTD ? "zstd" : "gzip", (unsigned long long)offset, reason);
}

static bool next_zstd(struct stream *s, size_t *made, struct error *err)
{
    ZSTD_inBuffer in = {s->input, s->input_size, s->input_used};
    ZSTD_outBuffer out = {s->output, CHUNK, 0};
    const size_t left = ZSTD_decompressStream(s->zstd, &out, &in);
    s->input_used = in.pos;
    if (ZSTD_isError(left))
        return fail_damaged(s, ZSTD_getErrorName(left), err);
    s->inside = left != 0;
    *made = out.pos;
    return true;
}

static bool next_gzip(struct stream *s, size_t *made, struct error *err)
{
    if (!s->inside && s->input_used < s->input_size && inflateReset(&s->zlib) != Z_OK) /* the next member */
        return fail_damaged(s, "cannot go on", err);
    s->zlib.next_in = s->input + s->input_used;
    s->zlib.avail_in = (uInt)(s->input_size - s->input_used);
    s->zlib.next_out = (unsigned char *)s->output;
    s->zlib.avail_out = CHUNK;
    const int code = inflate(&s->zlib, Z_NO_FLUSH);
    s->input_used = s->input_size - s->zlib.avail_in;
    *made = CHUNK - s->zlib.avail_out;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return fail_damaged(s, s->zlib.msg ? s->zlib.msg : "unknown reason", err);
    s->inside = code != Z_STREAM_END;
    return true;
}

/* Decompresses until there is output. Within a frame the decompressor is asked even without new input, because it may
 * hold output back; at the end of the file that shows whether the frame is whole. */
static bool next_compressed(struct stream *s, size_t *made, struct error *err)
{
    for (;;) {
        if (s->input_used == s->input_size && !s->input_ended && !fill(s, err))
            return false;
        const bool starved = s->input_used == s->input_size;
        if (starved && !s->inside)
            return true; /* *made is 0: the end */
        if (!(s->format == ZSTD ? next_zstd(s, made, err) : next_gzip(s, made, err)))
            return false;
        if (*made > 0)
            return true;
        if (starved && s->inside)
            return fail_damaged(s, "it ends too early", err);
    }
}

static bool next_chunk(struct stream *s, const char **data, size_t *size, struct error *err)
{
    size_t made = 0;
    if (s->format != PLAIN) {
        if (!next_compressed(s, &made, err))
            return false;
        *data = s->output;
        *size = made;
        return true;
    }
    if (s->input_used == s->input_size && !s->input_ended && !fill(s, err))
        return false;
    *data = (const char *)s->input + s->input_used;
    *size = s->input_size - s->input_used;
    s->input_used = s->input_size;
    return true;
}

bool stream_next(struct stream *stream, const char **data, size_t *size, struct error *err)
{
    struct stream *s = stream;
    if (s->head_used == s->head_size)
        return next_chunk(s, data, size, err);
    *data = (const char *)s->head + s->head_used;
    *size = s->head_size - s->head_used;
    *size = *size < CHUNK ? *size : CHUNK;
    s->head_used += *size;
    return true;
}

bool stream_peek(struct stream *stream, size_t wanted, const char **data, size_t *size, struct error *err)
{
    struct stream *s = stream;
    const char *chunk;
    size_t got = 1;
    while (s->head_size - s->head_used < wanted && got > 0) {
        if (!next_chunk(s, &chunk, &got, err))
            return false;
        if (!array_reserve(&s->head, &s->head_capacity, s->head_size + got, 1, err))
            return fail_in(err, "%s", s->path);
        if (got > 0)
            memcpy((char *)s->head + s->head_size, chunk, got);
        s->head_size += got;
    }
    *data = s->head != NULL ? (const char *)s->head + s->head_used : "";
    *size = s->head_size - s->head_used;
    return true;
}

const char *stream_path(const struct stream *stream)
{
    return stream->path;
}

void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    if (stream->fd > STDIN_FILENO)
        close(stream->fd);
    ZSTD_freeDStream(stream->zstd);
    if (stream->zlib_ready)
        inflateEnd(&stream->zlib);
    free(stream->output);
    free(stream->head);
    free(stream->input);
    free(stream->path);
    free(stream);
}
