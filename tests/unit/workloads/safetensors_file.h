/* safetensors files for tests: a header as text, and zeroed data, in a folder of their own. */
#ifndef POCKETLOAD_TESTS_SAFETENSORS_FILE_H
#define POCKETLOAD_TESTS_SAFETENSORS_FILE_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka_fixed.h"
#include "workloads/model.h"

static char folder[64];

static inline const char *in_folder(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static inline void put_text(const char *name, const char *text)
{
    char path[128];
    FILE *file = fopen(in_folder(name, path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* `header_bytes` is what the file says of its header's length. */
static inline void put_file(const char *name, uint64_t header_bytes, const char *header, size_t data_bytes)
{
    char path[128];
    FILE *file = fopen(in_folder(name, path), "wb");
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        assert_int_not_equal(fputc((int)(header_bytes >> (8 * i) & 255), file), EOF);
    assert_int_equal(fwrite(header, 1, strlen(header), file), strlen(header));
    for (size_t i = 0; i < data_bytes; i++)
        assert_int_equal(fputc(0, file), 0);
    assert_int_equal(fclose(file), 0);
}

/* A header under construction: tensors one behind the other. */
struct header {
    char text[1 << 14];
    size_t length;
    uint64_t data_bytes;
};

static inline void add_tensor(struct header *header, const char *name, const char *dtype, const char *shape,
                              uint64_t bytes)
{
    header->length += (size_t)snprintf(
        header->text + header->length, sizeof header->text - header->length,
        "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}", header->length == 0 ? "{" : ",",
        name, dtype, shape, (unsigned long long)header->data_bytes, (unsigned long long)(header->data_bytes + bytes));
    assert_true(header->length + 2 < sizeof header->text);
    header->data_bytes += bytes;
}

static inline void put_header(const char *name, struct header *header)
{
    memcpy(header->text + header->length, "}", 2);
    put_file(name, header->length + 1, header->text, (size_t)header->data_bytes);
}

static inline bool load(const char *name, struct model *model, struct error *err)
{
    char path[128];
    *err = (struct error){.code = STATUS_OK};
    return model_from_file(in_folder(name, path), QUANT_F16, model, err);
}

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pocketload-hf-XXXXXX");
    return mkdtemp(folder) == NULL;
}

/* Between tests: what one has left is another's config.json. */
static inline int empty_folder(void **state)
{
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    return dir == NULL || closedir(dir);
}

static inline int remove_folder(void **state)
{
    return empty_folder(state) || rmdir(folder);
}

#endif
