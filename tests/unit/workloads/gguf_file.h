/* GGUF files for tests, written byte by byte into a folder of their own. */
#ifndef POCKETLOAD_TESTS_GGUF_FILE_H
#define POCKETLOAD_TESTS_GGUF_FILE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka_fixed.h"
#include "workloads/model.h"

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12 };                              /* tensor types */
enum { U8 = 0, U16 = 2, I32 = 5, U32 = 4, BOOL = 7, STRING = 8, ARRAY = 9, U64 = 10 }; /* value types */

struct bytes {
    unsigned char data[1 << 14];
    size_t size;
};

/* A file under construction: keys, descriptions of tensors, and how far the data reach. */
struct file {
    struct bytes keys, tensors;
    uint64_t key_count, tensor_count, data;
    uint64_t offsets[64]; /* of each tensor, in the data */
    uint32_t version;
    uint64_t start; /* of the data, once it is written */
};

static char folder[64];

static inline void put(struct bytes *bytes, uint64_t number, unsigned size)
{
    assert_true(bytes->size + size <= sizeof bytes->data);
    for (unsigned i = 0; i < size; i++)
        bytes->data[bytes->size++] = (unsigned char)(number >> (8 * i));
}

static inline void put_string(struct bytes *bytes, const char *text)
{
    size_t length = strlen(text);
    put(bytes, length, 8);
    assert_true(bytes->size + length <= sizeof bytes->data);
    memcpy(bytes->data + bytes->size, text, length);
    bytes->size += length;
}

static inline void key(struct file *file, const char *name, uint32_t type)
{
    file->key_count++;
    put_string(&file->keys, name);
    put(&file->keys, type, 4);
}

static inline void key_u32(struct file *file, const char *name, uint32_t value)
{
    key(file, name, U32);
    put(&file->keys, value, 4);
}

static inline void key_string(struct file *file, const char *name, const char *value)
{
    key(file, name, STRING);
    put_string(&file->keys, value);
}

static inline void key_array(struct file *file, const char *name, uint32_t type, uint64_t count)
{
    key(file, name, ARRAY);
    put(&file->keys, type, 4);
    put(&file->keys, count, 8);
}

/* A tensor of up to three dimensions (0: not there), of `bytes` bytes, right behind the one before. */
static inline void tensor(struct file *file, const char *name, uint32_t type, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t bytes)
{
    put_string(&file->tensors, name);
    put(&file->tensors, c != 0 ? 3 : b != 0 ? 2 : 1, 4);
    put(&file->tensors, a, 8);
    if (b != 0)
        put(&file->tensors, b, 8);
    if (c != 0)
        put(&file->tensors, c, 8);
    put(&file->tensors, type, 4);
    file->data = (file->data + 31) / 32 * 32;
    put(&file->tensors, file->data, 8);
    file->offsets[file->tensor_count++] = file->data;
    file->data += bytes;
}

/* Header and (zeroed) data into out. */
static inline void assemble(struct file *file, uint64_t alignment, struct bytes *out)
{
    out->size = 0;
    memcpy(out->data, "GGUF", 4);
    out->size = 4;
    put(out, file->version != 0 ? file->version : 3, 4);
    put(out, file->tensor_count, 8);
    put(out, file->key_count, 8);
    memcpy(out->data + out->size, file->keys.data, file->keys.size);
    out->size += file->keys.size;
    memcpy(out->data + out->size, file->tensors.data, file->tensors.size);
    out->size += file->tensors.size;
    file->start = (out->size + alignment - 1) / alignment * alignment;
    assert_true(file->start + file->data <= sizeof out->data);
    if (file->tensor_count > 0) {
        memset(out->data + out->size, 0, file->start + file->data - out->size);
        out->size = file->start + file->data;
    }
}

/* Without truncating to nothing first, which some file systems answer with a flush. */
static inline void save(const char *name, const void *data, size_t size, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    assert_int_equal(write(out, data, size), size);
    assert_int_equal(ftruncate(out, (off_t)size), 0);
    assert_int_equal(close(out), 0);
}

static inline bool load(const void *data, size_t size, struct model *model, struct error *err)
{
    char path[128];
    *err = (struct error){.code = STATUS_OK};
    save("model.gguf", data, size, path);
    return model_from_gguf(path, model, err);
}

/* Two layers of width 64, grouped queries, q4_0 with an output head in q8_0. */
static inline void dense_keys(struct file *file)
{
    key_string(file, "general.architecture", "llama");
    key_u32(file, "general.file_type", 2);
    key_u32(file, "llama.block_count", 2);
    key_u32(file, "llama.embedding_length", 64);
    key_u32(file, "llama.attention.head_count", 4);
    key(file, "llama.attention.head_count_kv", U64);
    put(&file->keys, 2, 8);
    key_u32(file, "llama.feed_forward_length", 128);
    key(file, "llama.rope.freq_base", 6);
    put(&file->keys, 0, 4);
    key(file, "tokenizer.ggml.add_bos_token", 7);
    put(&file->keys, 1, 1);
    key_array(file, "tokenizer.ggml.tokens", STRING, 3);
    put_string(&file->keys, "<s>");
    put_string(&file->keys, "");
    put_string(&file->keys, "abc");
    key_array(file, "tokenizer.ggml.scores", 6, 3);
    put(&file->keys, 0, 4);
    put(&file->keys, 0, 8);
}

static inline void dense_layer(struct file *file, int layer)
{
    static const struct {
        const char *name;
        uint64_t a, b, bytes;
    } parts[] = {{"attn_norm", 64, 0, 256}, {"attn_q", 64, 64, 2304}, {"attn_k", 64, 32, 1152},
                 {"attn_v", 64, 32, 1152},  {"ffn_gate", 64, 8, 288}, {"ffn_up", 64, 8, 288},
                 {"ffn_down", 32, 2, 36}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].name);
        tensor(file, name, parts[i].b != 0 ? Q4_0 : F32, parts[i].a, parts[i].b, 0, parts[i].bytes);
    }
}

static inline void dense(struct file *file)
{
    dense_keys(file);
    tensor(file, "token_embd.weight", Q4_0, 64, 3, 0, 108);
    tensor(file, "rope_freqs.weight", F32, 8, 0, 0, 32);
    dense_layer(file, 0);
    dense_layer(file, 1);
    tensor(file, "output_norm.weight", F32, 64, 0, 0, 256);
    tensor(file, "output.weight", Q8_0, 64, 3, 0, 204);
}

/* Experts stacked in tensors, tied embedding, an alignment of 64, KV heads by layer, K and V of different length. */
static inline void moe(struct file *file)
{
    key_string(file, "general.architecture", "qwen3moe");
    key_u32(file, "qwen3moe.block_count", 2);
    key_u32(file, "qwen3moe.embedding_length", 32);
    key_u32(file, "qwen3moe.attention.head_count", 4);
    key_array(file, "qwen3moe.attention.head_count_kv", I32, 2);
    put(&file->keys, 2, 4);
    put(&file->keys, 1, 4);
    key_u32(file, "qwen3moe.attention.key_length", 16);
    key_u32(file, "qwen3moe.attention.value_length", 8);
    key_u32(file, "qwen3moe.expert_count", 4);
    key_u32(file, "qwen3moe.expert_used_count", 2);
    key_u32(file, "qwen3moe.expert_feed_forward_length", 64);
    tensor(file, "token_embd.weight", F16, 32, 5, 0, 320);
    tensor(file, "blk.0.attn_norm.weight", F32, 32, 0, 0, 128);
    tensor(file, "blk.0.ffn_down_exps.weight", Q8_0, 64, 32, 4, 8704);
    tensor(file, "blk.0.ffn_up_exps.bias", F32, 8, 4, 0, 128);
    tensor(file, "blk.0.ffn_gate_inp.weight", F32, 32, 4, 0, 512);
    tensor(file, "blk.0.attn_q_norm.weight", F32, 16, 0, 0, 64);
    tensor(file, "blk.1.ffn_gate.0.weight", F32, 4, 2, 0, 32); /* experts apart, as in files of early 2024 */
    tensor(file, "blk.1.ffn_gate.1.weight", F32, 4, 2, 0, 32);
    tensor(file, "blk.1.ffn_up.1.weight", F32, 4, 2, 0, 32);
    tensor(file, "blk.1.ffn_down.0.weight", F32, 4, 2, 0, 32);
    tensor(file, "output_norm.weight", F32, 32, 0, 0, 128);
}

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pocketload-gguf-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"model.gguf", "bad.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

#endif
