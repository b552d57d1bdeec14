/* GGUF headers that are damaged: one line for each, and never a crash. */
#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/unit/workloads/gguf_file.h"

static void test_truncated(void **state)
{
    (void)state;
    struct file files[2] = {{.version = 3}, {.version = 2}};
    dense(&files[0]);
    moe(&files[1]);
    for (int i = 0; i < 2; i++) {
        struct bytes bytes;
        struct model model;
        struct error err;
        char path[128];
        assemble(&files[i], 32, &bytes);
        save("model.gguf", bytes.data, bytes.size, path);
        for (size_t size = bytes.size; size-- > 0;) {
            assert_int_equal(truncate(path, (off_t)size), 0);
            err = (struct error){.code = STATUS_OK};
            assert_false(model_from_gguf(path, &model, &err));
            assert_int_equal(err.code, STATUS_INPUT);
            assert_non_null(strstr(err.text, "model.gguf"));
            assert_non_null(strstr(err.text, "offset"));
        }
    }
}

/* Any byte may have any value: an answer either way, and never a block outside the file. */
static void test_altered(void **state)
{
    (void)state;
    struct file file = {.version = 3};
    struct bytes good;
    struct rng rng;
    uint32_t accepted = 0, refused = 0;
    dense(&file);
    assemble(&file, 32, &good);
    rng_seed(&rng, 1, 0);
    for (uint64_t at = 0; at < file.start; at++)
        for (int i = 0; i < 3; i++) {
            static struct bytes bad;
            struct model model;
            struct error err;
            bad = good;
            bad.data[at] = i == 0 ? 0xff : (unsigned char)rng_below(&rng, 256);
            if (!load(bad.data, bad.size, &model, &err)) {
                assert_int_equal(err.code, STATUS_INPUT);
                refused++;
                continue;
            }
            accepted++;
            for (uint32_t e = 0; e < model.extent_count; e++)
                assert_true(model.extents[e].offset_bytes + model.extents[e].bytes <= bad.size);
            model_free(&model);
        }
    assert_true(accepted > 100 && refused > 100);
}

enum damage {
    MAGIC,
    VERSION_1,
    VERSION_4,
    OTHER_ENDIAN,
    MANY_TENSORS,
    MANY_KEYS,
    KEY_LENGTH,
    KEY_EMPTY,
    KEY_NUL,
    VALUE_TYPE,
    ARRAY_LENGTH,
    ARRAY_OF_ARRAYS,
    STRINGS_LENGTH,
    ALIGNMENT_0,
    ALIGNMENT_3,
    ALIGNMENT_TYPE,
    KEY_TWICE,
    LAYERS_NEGATIVE,
    LAYERS_HUGE,
    NO_DIMS,
    FIVE_DIMS,
    ZERO_DIM,
    DIMS_OVERFLOW,
    BYTES_OVERFLOW,
    TYPE_GONE,
    TYPE_UNKNOWN,
    ROW_BROKEN,
    OFFSET_ODD,
    OFFSET_BEYOND,
    OFFSET_OVERFLOW,
    TENSOR_TWICE,
    TENSORS_OVERLAP,
    NAME_LONG,
    EXPERTS_DIFFER,
    EXPERTS_BROKEN,
    NO_TENSORS,
    SPLIT_NEGATIVE,
    MANY_EXPERTS,
    DAMAGES
};

/* A tensor with everything said freely. */
static void raw_tensor(struct file *file, const char *name, uint32_t dims, uint64_t a, uint64_t b, uint32_t type,
                       uint64_t offset)
{
    file->tensor_count++;
    put_string(&file->tensors, name);
    put(&file->tensors, dims, 4);
    for (uint32_t i = 0; i < dims; i++)
        put(&file->tensors, i == 0 ? a : i == 1 ? b : 1, 8);
    put(&file->tensors, type, 4);
    put(&file->tensors, offset, 8);
}

static void damage_keys(struct file *file, enum damage damage)
{
    switch (damage) {
    case KEY_LENGTH:
        file->key_count++;
        put(&file->keys, (uint64_t)1 << 63, 8);
        break;
    case KEY_EMPTY:
        key(file, "", U8);
        put(&file->keys, 0, 1);
        break;
    case KEY_NUL:
        file->key_count++;
        put(&file->keys, 3, 8);
        put(&file->keys, 0x620061, 3);
        put(&file->keys, U8, 4);
        put(&file->keys, 0, 1);
        break;
    case VALUE_TYPE:
        key(file, "k", 13);
        break;
    case ARRAY_LENGTH:
        key_array(file, "k", U64, UINT64_MAX / 4);
        break;
    case ARRAY_OF_ARRAYS:
        key_array(file, "k", ARRAY, 1);
        break;
    case STRINGS_LENGTH:
        key_array(file, "k", STRING, 1000000);
        break;
    case ALIGNMENT_0:
    case ALIGNMENT_3:
        key_u32(file, "general.alignment", damage == ALIGNMENT_0 ? 0 : 3);
        break;
    case ALIGNMENT_TYPE:
        key_string(file, "general.alignment", "32");
        break;
    case KEY_TWICE:
        key_u32(file, "k", 1);
        key_u32(file, "k", 1);
        break;
    case LAYERS_NEGATIVE:
    case LAYERS_HUGE:
        key_string(file, "general.architecture", "a");
        key(file, "a.block_count", damage == LAYERS_HUGE ? U64 : I32);
        put(&file->keys, damage == LAYERS_HUGE ? (uint64_t)1 << 40 : UINT32_MAX, damage == LAYERS_HUGE ? 8 : 4);
        break;
    case SPLIT_NEGATIVE:
        key(file, "split.count", I32);
        put(&file->keys, UINT32_MAX, 4);
        break;
    default:
        break;
    }
}

static void damage_tensors(struct file *file, enum damage damage)
{
    char long_name[200];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    switch (damage) {
    case NO_DIMS:
        raw_tensor(file, "t", 0, 0, 0, F32, 0);
        break;
    case FIVE_DIMS:
        raw_tensor(file, "t", 5, 1, 1, F32, 0);
        break;
    case ZERO_DIM:
        raw_tensor(file, "t", 2, 4, 0, F32, 0);
        break;
    case DIMS_OVERFLOW:
        raw_tensor(file, "t", 2, (uint64_t)1 << 33, (uint64_t)1 << 33, F32, 0);
        break;
    case BYTES_OVERFLOW:
        raw_tensor(file, "t", 1, (uint64_t)1 << 62, 0, F32, 0);
        break;
    case TYPE_GONE:
    case TYPE_UNKNOWN:
        raw_tensor(file, "t", 1, 32, 0, damage == TYPE_GONE ? 4 : 999, 0);
        break;
    case ROW_BROKEN:
        raw_tensor(file, "t", 2, 128, 2, Q4_K, 0);
        break;
    case OFFSET_ODD:
        raw_tensor(file, "t", 1, 4, 0, F32, 8);
        break;
    case OFFSET_BEYOND:
        raw_tensor(file, "t", 1, 9, 0, F32, 128 - 32);
        break;
    case OFFSET_OVERFLOW:
        raw_tensor(file, "t", 1, 4, 0, F32, UINT64_MAX - 31);
        break;
    case TENSOR_TWICE:
        raw_tensor(file, "t", 1, 4, 0, F32, 0);
        raw_tensor(file, "t", 1, 4, 0, F32, 32);
        break;
    case TENSORS_OVERLAP:
        raw_tensor(file, "u", 1, 9, 0, F32, 0);
        raw_tensor(file, "t", 1, 4, 0, F32, 32);
        break;
    case NAME_LONG:
        raw_tensor(file, long_name, 1, 4, 0, F32, 0);
        break;
    case EXPERTS_DIFFER:
        raw_tensor(file, "blk.0.ffn_up_exps.weight", 2, 2, 4, F32, 0);
        raw_tensor(file, "blk.0.ffn_down_exps.weight", 2, 4, 2, F32, 32);
        break;
    case EXPERTS_BROKEN:
        raw_tensor(file, "blk.0.ffn_up_exps.weight", 1, 32, 0, Q4_0, 0);
        break;
    default:
        raw_tensor(file, "t", 1, 4, 0, F32, 0);
        break;
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const messages[DAMAGES] = {
        [MAGIC] = "not a GGUF file",
        [VERSION_1] = "version 1: expected 2 or 3",
        [VERSION_4] = "version 4",
        [OTHER_ENDIAN] = "big-endian",
        [MANY_TENSORS] = "expected at most",
        [MANY_KEYS] = "expected at most",
        [KEY_LENGTH] = "length of 9223372036854775808",
        [KEY_EMPTY] = "length of 0",
        [KEY_NUL] = "NUL",
        [VALUE_TYPE] = "value type 13",
        [ARRAY_LENGTH] = "but the file ends",
        [ARRAY_OF_ARRAYS] = "value type 9",
        [STRINGS_LENGTH] = "1000000 elements",
        [ALIGNMENT_0] = "power of two",
        [ALIGNMENT_3] = "power of two",
        [ALIGNMENT_TYPE] = "power of two",
        [KEY_TWICE] = "\"k\" stands there a second time",
        [LAYERS_NEGATIVE] = "a.block_count",
        [LAYERS_HUGE] = "a.block_count",
        [NO_DIMS] = "0 dimensions",
        [FIVE_DIMS] = "5 dimensions",
        [ZERO_DIM] = "dimension of 0",
        [DIMS_OVERFLOW] = "2^64 elements",
        [BYTES_OVERFLOW] = "2^64 bytes",
        [TYPE_GONE] = "type 4",
        [TYPE_UNKNOWN] = "type 999",
        [ROW_BROKEN] = "128",
        [OFFSET_ODD] = "multiple of the alignment",
        [OFFSET_BEYOND] = "beyond the end",
        [OFFSET_OVERFLOW] = "beyond the end",
        [TENSOR_TWICE] = "second tensor \"t\"",
        [TENSORS_OVERLAP] = "overlaps",
        [NAME_LONG] = "length of 199",
        [EXPERTS_DIFFER] = "of equal size",
        [EXPERTS_BROKEN] = "of equal size",
        [NO_TENSORS] = "without a block",
        [SPLIT_NEGATIVE] = "split.count",
        [MANY_EXPERTS] = "more than 1048576 blocks",
    };
    for (enum damage damage = 0; damage < DAMAGES; damage++) {
        struct file file = {.version = damage == VERSION_1 ? 1 : damage == VERSION_4 ? 4 : 3};
        struct bytes bytes;
        struct model model;
        struct error err;
        char path[128];
        damage_keys(&file, damage);
        if (damage == MANY_EXPERTS)
            raw_tensor(&file, "blk.0.ffn_up_exps.weight", 2, 1, MODEL_BLOCKS_MAX + 1, F32, 0);
        else if (damage != NO_TENSORS)
            damage_tensors(&file, damage);
        file.data = 128; /* of which only OFFSET_BEYOND's tensor asks for more */
        assemble(&file, 32, &bytes);
        if (damage == MAGIC)
            bytes.data[0] = 'g';
        if (damage == OTHER_ENDIAN)
            memcpy(bytes.data + 4, "\0\0\0\3", 4);
        if (damage == MANY_TENSORS)
            bytes.data[15] = 0x80;
        if (damage == MANY_KEYS)
            bytes.data[20] = 1;
        save("bad.gguf", bytes.data, bytes.size, path);
        if (damage == MANY_EXPERTS) /* a file with holes */
            assert_int_equal(truncate(path, 8 << 20), 0);
        err = (struct error){.code = STATUS_OK};
        bool ok = model_from_gguf(path, &model, &err);
        if (ok || strstr(err.text, messages[damage]) == NULL)
            print_error("damage %d: \"%s\" without \"%s\"\n", damage, err.text, messages[damage]);
        assert_false(ok);
        assert_int_equal(err.code, STATUS_INPUT);
        assert_non_null(strstr(err.text, messages[damage]));
        assert_non_null(strstr(err.text, "bad.gguf"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_altered),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
