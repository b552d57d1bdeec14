/* Text that is cut in place or grows in a buffer of fixed size, and the canonical text of a part. Inside this folder
 * only. */
#ifndef POCKETLOAD_POLICIES_TEXT_H
#define POCKETLOAD_POLICIES_TEXT_H

#include "policies/registry.h"

/* Drops blanks on both sides, in place. */
char *trim_text(char *text);

/* Cuts the text at the first `separator` outside parentheses, and trims it; *rest is what follows, or NULL. */
char *cut_text(char *text, char separator, char **rest);

/* Invariant: out is terminated and length < size. Writing past the end sets `cut`. */
struct writer {
    char *out;
    size_t size, length;
    bool cut;
};

void write_text(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "name(parameters that are not at their defaults)", of `count` parts that `name` stands for. A list comes last, as it
 * takes all that follows it; the first parameter goes without its name where its value says what it is: a size, or
 * names. */
void write_item(struct writer *writer, const char *name, struct policy_part *const *parts, uint32_t count);

/* A list parameter takes all values up to the closing parenthesis. */
static inline bool policy_is_list(const struct policy_param *param)
{
    return param->unit == POLICY_KINDS || param->unit == POLICY_BLOCKS;
}

#endif
