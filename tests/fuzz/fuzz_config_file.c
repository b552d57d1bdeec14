/* Fuzzes the config reader and the list splitter: no bytes may crash them; what they accept has sections and keys, each
 * once, and reads back the same after it is written out plainly. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check_item(void *context, const char *text, struct error *err)
{
    (void)err;
    size_t *items = context;
    must(*text != '\0');
    ++*items;
    return true;
}

static void check_entry(const struct config_file *file, size_t index)
{
    const struct config_entry *entry = &file->entries[index];
    must(*entry->section != '\0' && *entry->key != '\0' && entry->value != NULL && entry->line > 0);
    must(strlen(entry->section) < 50 && strlen(entry->key) < 50);
    must(!strpbrk(entry->value, "\n"));
    if (index < 100) {
        for (size_t i = 0; i < index; i++)
            must(strcmp(file->entries[i].section, entry->section) != 0 ||
                 strcmp(file->entries[i].key, entry->key) != 0);
    }
    struct error err = {0};
    size_t items = 0;
    if (list_split(entry->value, check_item, &items, &err))
        must(items > 0);
    else
        must(err.code == STATUS_USAGE && err.text[0] != '\0');
}

/* The entry alone, on short lines, gives the same entry again. */
static void check_again(const struct config_entry *entry)
{
    char text[256];
    const int length = snprintf(text, sizeof text, "[%s]\n%s=%s", entry->section, entry->key, entry->value);
    if (length < 0 || length >= 150)
        return;
    struct config_file again;
    struct error err = {0};
    must(config_file_parse("again", text, (size_t)length, &again, &err) && again.count == 1);
    must(strcmp(again.entries[0].key, entry->key) == 0 && strcmp(again.entries[0].value, entry->value) == 0);
    must(again.entries[0].line == 2);
    config_file_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_file file;
    struct error err = {0};
    if (!config_file_parse("fuzz.ini", (const char *)data, size, &file, &err)) {
        must(err.code == STATUS_USAGE && strncmp(err.text, "fuzz.ini:", 9) == 0 && !strpbrk(err.text, "\r\n"));
        return 0;
    }
    for (size_t i = 0; i < file.count; i++) {
        check_entry(&file, i);
        check_again(&file.entries[i]);
    }
    config_file_free(&file);
    return 0;
}
