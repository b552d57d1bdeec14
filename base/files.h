/* Whole files in and out, with errors that name the file, and transparent zstd and gzip. */
#ifndef POCKETLOAD_BASE_FILES_H
#define POCKETLOAD_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads a whole file ("-" is standard input) of at most limit_bytes into *data (malloc, caller frees),
 * followed by one NUL that is not counted in *size. A directory, an unreadable file or one over the limit is
 * STATUS_IO (`usage` false) or STATUS_USAGE (`usage` true, for configs). */
bool file_read(const char *path, uint64_t limit_bytes, bool usage, char **data, size_t *size, struct error *err);

/* Writes a file whole or not at all: into a temporary name beside it, fsync, rename. STATUS_IO. */
bool file_write(const char *path, const void *data, size_t size, struct error *err);

/* A stream of decompressed bytes; the format is known by magic number (zstd 28 B5 2F FD, gzip 1F 8B). */
struct stream;
bool stream_open(const char *path, struct stream **stream, struct error *err);

/* The next bytes: *data and *size (a view, valid until the next call), *size == 0 at the end. A damaged or
 * truncated archive is STATUS_INPUT with the offset. Chunks have at most 1 MiB. */
bool stream_next(struct stream *stream, const char **data, size_t *size, struct error *err);

/* The bytes that are next, without taking them, so that a pipe can be looked at and then read: at least `wanted`, or
 * all that is left. A view, valid until the next call. */
bool stream_peek(struct stream *stream, size_t wanted, const char **data, size_t *size, struct error *err);
const char *stream_path(const struct stream *stream); /* as messages name it */
void stream_close(struct stream *stream);             /* NULL is fine */

/* Lines over a stream, which stays the caller's to close, after the lines: strips "\n" and "\r\n", a UTF-8 BOM at the
 * start; the last line needs no newline. A line of more than `LINE_LIMIT` bytes, or one that holds a NUL, is
 * STATUS_INPUT. */
enum { LINE_LIMIT = 1 << 24 };
struct lines;
bool lines_open(struct stream *stream, struct lines **lines, struct error *err);
/* *line is NUL-terminated, writable, valid until the next call; NULL at the end. *number counts from 1. */
bool lines_next(struct lines *lines, char **line, size_t *length, uint64_t *number, struct error *err);
void lines_close(struct lines *lines); /* NULL is fine */

#endif
