/* Errors for people: one code and one line, built where the fault is found and given context on the way up.
 *
 * Convention: a function that can fail returns bool and takes `struct error *err` last. On failure it
 * returns false and err holds one line without a newline; on success err is untouched. err is never NULL.
 * The text says where (file:line, key, offset), what was found, what was expected, and the nearest valid
 * spelling. */
#ifndef POCKETLOAD_BASE_ERROR_H
#define POCKETLOAD_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* The process exit codes of the command line. */
enum status {
    STATUS_OK = 0,
    STATUS_CHECK = 1,  /* a check or an assertion failed */
    STATUS_USAGE = 2,  /* command line or config */
    STATUS_INPUT = 3,  /* trace, model file or other input data */
    STATUS_IO = 4,     /* file system or database */
    STATUS_KILLED = 5, /* a simulated kill, with --fail-on-kill */
};

struct error {
    enum status code;
    char text[1024]; /* truncated with "..." when longer; control characters and invalid UTF-8 are replaced by '?' */
};

/* Sets code and text; always returns false, so that callers write `return fail(err, ...)`. */
bool fail(struct error *err, enum status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text that err already holds; keeps the code; always returns false. */
bool fail_in(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For our own mistakes. Stays on in release: prints file, line and expression, then aborts. */
#define must(condition) ((condition) ? (void)0 : must_failed(#condition, __FILE__, __LINE__))
_Noreturn void must_failed(const char *condition, const char *file, int line);

#endif
