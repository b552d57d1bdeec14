/* The KV cache: layers x kv heads x head size x 2 x bytes of an element, for each position that a layer keeps; or what
 * latent attention keeps instead. */
#include "workloads/kv.h"

#include "base/units.h"

const char *const kv_type_names[KV_TYPES] = {"f16", "f32", "q8_0", "q4_0"};

enum tensor_type kv_tensor_type(enum kv_type type)
{
    static const enum tensor_type types[KV_TYPES] = {TYPE_F16, TYPE_F32, TYPE_Q8_0, TYPE_Q4_0};
    must(type < KV_TYPES);
    return types[type];
}

uint32_t kv_window_layers(const struct shape *shape)
{
    if (shape->window == 0)
        return 0;
    return shape->window_layers < shape->layers ? shape->window_layers : shape->layers;
}

bool kv_layer_is_windowed(const struct shape *shape, uint32_t layer)
{
    const uint64_t windowed = kv_window_layers(shape), layers = shape->layers;
    if (layer >= layers)
        return false;
    /* How many of the first n layers are windowed: ceil(n * windowed / layers). */
    const uint64_t before = (layer * windowed + layers - 1) / layers;
    return ((layer + UINT64_C(1)) * windowed + layers - 1) / layers > before;
}

/* One row of that many elements. */
static bool row_bytes(enum kv_type type, uint64_t elements, uint64_t *bytes)
{
    const struct tensor_type_info *info = &tensor_types[kv_tensor_type(type)];
    const uint64_t blocks = elements / info->block_elements + (elements % info->block_elements != 0);
    return multiply(blocks, info->block_bytes, bytes);
}

/* Of one layer: two rows of keys and values, or a latent one. */
static uint64_t layer_row(const struct shape *shape)
{
    return shape->latent != 0 ? (uint64_t)shape->latent + shape->latent_rope
                              : (uint64_t)shape->kv_heads * shape->head_size;
}

static uint64_t layer_rows(const struct shape *shape)
{
    return shape->latent != 0 ? 1 : 2;
}

bool kv_elements(const struct shape *shape, uint64_t *elements)
{
    return multiply(layer_row(shape), layer_rows(shape), elements) && multiply(*elements, shape->layers, elements);
}

uint64_t kv_layer_bytes(const struct shape *shape, enum kv_type type)
{
    uint64_t bytes;
    /* Below 2^24 * 2^24 elements of at most 4 bytes. */
    must(shape->kv_heads <= SHAPE_MAX && shape->head_size <= SHAPE_MAX);
    must(row_bytes(type, layer_row(shape), &bytes));
    return layer_rows(shape) * bytes;
}

bool kv_bytes(const struct kv_growth *growth, uint64_t tokens, uint64_t *bytes)
{
    const uint64_t kept = tokens < growth->window ? tokens : growth->window;
    uint64_t windowed;
    return multiply(tokens, growth->bytes, bytes) && multiply(kept, growth->window_bytes, &windowed) &&
           add(*bytes, windowed, bytes) && *bytes <= INT64_MAX;
}

bool kv_growth(const struct model *model, enum kv_type type, struct kv_growth *growth, struct error *err)
{
    const struct shape *shape = &model->shape;
    const uint64_t windowed = kv_window_layers(shape), layers = shape->layers;
    uint64_t elements, bytes;
    *growth = (struct kv_growth){.window = windowed != 0 ? shape->window : 0};
    if (kv_elements(shape, &elements) && elements == model->kv_bytes_per_token / 2) {
        const uint64_t layer_bytes = kv_layer_bytes(shape, type);
        if (multiply(layer_bytes, layers - windowed, &growth->bytes) &&
            multiply(layer_bytes, windowed, &growth->window_bytes))
            return true;
    } else if (row_bytes(type, model->kv_bytes_per_token / 2, &bytes)) {
        growth->window_bytes = layers != 0 ? bytes / layers * windowed + bytes % layers * windowed / layers : 0;
        growth->bytes = bytes - growth->window_bytes;
        return true;
    }
    return fail(err, STATUS_INPUT, "the KV cache of one token takes more than 2^64 bytes");
}
