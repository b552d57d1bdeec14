/* Which type each tensor of a quantised file gets: the rules of llama.cpp's quantiser. See quant_type in quant.h for
 * the version. There, `has_imatrix`, `n_gqa` and `n_expert` are the names of what is looked at here. */
#include "workloads/quant.h"

#include "base/units.h"

/* The layers that some mixes give more bits: the first and last eighth, and every third between (use_more_bits). */
static bool favoured(uint32_t layer, uint32_t layers)
{
    const uint32_t eighth = layers / 8;
    return layer < eighth || layer >= (uint64_t)7 * layers / 8 || (layer - eighth) % 3 == 2;
}

/* Four query heads or more share a key and a value, so that these are small and more bits cost little. */
static bool grouped(const struct quant_model *model)
{
    return model->kv_heads != 0 && model->heads / model->kv_heads >= 4;
}

/* Llama 2 70B as the quantiser knows it: 80 layers, and not every head has keys of its own (LLM_TYPE_70B). */
static bool is_70b(const struct quant_model *model)
{
    return model->layers == 80 && model->heads != model->kv_heads;
}

/* Mixtral-8x7B, whose attention is small beside its experts. */
static bool eight_experts(const struct quant_model *model)
{
    return model->experts == 8;
}

/* Quantisations below three bits with a mix of their own. */
static bool is_tiny(enum quant quant)
{
    return quant == QUANT_IQ1_S || quant == QUANT_IQ1_M || quant == QUANT_IQ2_XXS || quant == QUANT_IQ2_XS ||
           quant == QUANT_IQ2_S || quant == QUANT_IQ2_M;
}

static enum tensor_type output_type(enum quant quant, enum tensor_type base, uint64_t row_elements)
{
    if (quant == QUANT_MXFP4_MOE || base == TYPE_Q8_0 || row_elements % tensor_types[base].block_elements != 0)
        return TYPE_Q8_0;
    return is_tiny(quant) || quant == QUANT_IQ3_XXS ? TYPE_Q5_K : TYPE_Q6_K;
}

static enum tensor_type embedding_type(enum quant quant, enum tensor_type base)
{
    switch (quant) {
    case QUANT_IQ1_S:
    case QUANT_IQ1_M:
    case QUANT_IQ2_XXS:
    case QUANT_IQ2_XS:
        return TYPE_Q2_K;
    case QUANT_IQ2_S:
    case QUANT_IQ2_M:
    case QUANT_IQ3_XXS:
        return TYPE_IQ3_S;
    case QUANT_TQ1_0:
    case QUANT_TQ2_0:
        return TYPE_Q4_K;
    default:
        return base;
    }
}

static enum tensor_type tiny_type(const struct quant_model *model, const struct quant_tensor *tensor,
                                  enum tensor_type base)
{
    const bool larger = model->quant == QUANT_IQ2_S || model->quant == QUANT_IQ2_M;
    const enum tensor_type more = larger ? TYPE_IQ3_S : TYPE_Q2_K;
    switch (tensor->role) {
    case ROLE_ATTN_V:
        return grouped(model) || model->experts >= 4 ? TYPE_Q4_K : more;
    case ROLE_ATTN_K:
        return eight_experts(model) ? TYPE_Q4_K : base;
    case ROLE_FFN_DOWN: /* counts tensors where all other rules count layers */
        return tensor->downs < model->layers / 8 ? more : base;
    case ROLE_ATTN_OUTPUT:
        if (eight_experts(model))
            return TYPE_Q5_K;
        if (larger)
            return TYPE_IQ3_S;
        return model->quant == QUANT_IQ1_S || model->quant == QUANT_IQ1_M ? TYPE_IQ2_XXS : base;
    default:
        return base;
    }
}

static enum tensor_type value_type_by_quant(const struct quant_model *model, uint32_t layer, enum tensor_type base)
{
    const bool few = grouped(model);
    switch (model->quant) {
    case QUANT_Q2_K:
        return few ? TYPE_Q4_K : TYPE_Q3_K;
    case QUANT_Q2_K_S:
    case QUANT_IQ3_XXS:
    case QUANT_IQ3_XS:
    case QUANT_IQ3_S:
        return few ? TYPE_Q4_K : base;
    case QUANT_IQ3_M:
        return TYPE_Q4_K;
    case QUANT_Q3_K_M:
        return layer < 2 ? TYPE_Q5_K : TYPE_Q4_K;
    case QUANT_Q3_K_L:
        return TYPE_Q5_K;
    case QUANT_IQ4_NL:
    case QUANT_IQ4_XS:
        return few ? TYPE_Q5_K : base;
    case QUANT_Q4_K_S:
        return layer < 4 ? TYPE_Q5_K : base;
    case QUANT_Q4_K_M:
    case QUANT_Q5_K_M:
        return favoured(layer, model->layers) ? TYPE_Q6_K : base;
    default:
        return base;
    }
}

static enum tensor_type value_type(const struct quant_model *model, uint32_t layer, enum tensor_type base)
{
    const enum tensor_type type = value_type_by_quant(model, layer, base);
    if (eight_experts(model))
        return TYPE_Q8_0;
    return is_70b(model) && (type == TYPE_Q3_K || type == TYPE_Q4_K) ? TYPE_Q5_K : type;
}

static enum tensor_type key_or_query_type(const struct quant_model *model, enum tensor_role role, enum tensor_type base)
{
    if (role == ROLE_ATTN_K && eight_experts(model))
        return TYPE_Q8_0;
    if (model->quant == QUANT_IQ3_XS)
        return TYPE_IQ3_XXS;
    return model->quant == QUANT_IQ3_XXS ? TYPE_IQ2_S : base;
}

static enum tensor_type fused_type(enum quant quant, enum tensor_type base)
{
    switch (quant) {
    case QUANT_IQ3_M:
    case QUANT_Q3_K_M:
    case QUANT_Q3_K_L:
        return TYPE_Q4_K;
    case QUANT_Q4_K_M:
        return TYPE_Q5_K;
    case QUANT_Q5_K_M:
        return TYPE_Q6_K;
    default:
        return base;
    }
}

static enum tensor_type attention_output_type(const struct quant_model *model, enum tensor_type base)
{
    const bool eight = eight_experts(model);
    switch (model->quant) {
    case QUANT_Q2_K:
        return eight ? TYPE_Q5_K : TYPE_Q3_K;
    case QUANT_IQ3_XXS:
        return eight ? TYPE_Q5_K : TYPE_IQ3_S;
    case QUANT_IQ3_M:
    case QUANT_Q3_K_M:
        return eight ? TYPE_Q5_K : TYPE_Q4_K;
    case QUANT_Q3_K_L:
        return eight ? base : TYPE_Q5_K;
    case QUANT_IQ3_XS:
    case QUANT_IQ3_S:
    case QUANT_Q3_K_S:
    case QUANT_IQ4_NL:
    case QUANT_IQ4_XS:
    case QUANT_Q4_K_S:
    case QUANT_Q4_K_M:
        return eight ? TYPE_Q5_K : base;
    default:
        return base;
    }
}

static enum tensor_type down_type(const struct quant_model *model, uint32_t layer, enum tensor_type base)
{
    const bool first = layer < model->layers / 8, more = favoured(layer, model->layers);
    switch (model->quant) {
    case QUANT_Q2_K:
        return TYPE_Q3_K;
    case QUANT_Q2_K_S:
        return first ? TYPE_Q4_K : base;
    case QUANT_Q3_K_M:
        return layer < model->layers / 16 ? TYPE_Q5_K : TYPE_Q4_K;
    case QUANT_IQ3_M:
        return first || (eight_experts(model) && more) ? TYPE_Q4_K : base;
    case QUANT_Q3_K_L:
        return TYPE_Q5_K;
    case QUANT_Q4_K_M:
    case QUANT_Q5_K_M:
        return more ? TYPE_Q6_K : base;
    case QUANT_IQ4_NL:
    case QUANT_IQ4_XS:
        return first && !model->imatrix ? TYPE_Q5_K : base;
    case QUANT_Q4_K_S:
        return first ? TYPE_Q5_K : base;
    case QUANT_Q4_0:
        return first && model->imatrix ? TYPE_Q4_1 : base;
    case QUANT_Q5_0:
        return first && model->imatrix ? TYPE_Q5_1 : base;
    default:
        return base;
    }
}

/* The gate and up of the middle layers of iq3_xs have fewer bits. */
static enum tensor_type up_type(const struct quant_model *model, uint32_t layer, enum tensor_type base)
{
    const bool middle = layer >= model->layers / 8 && layer < (uint64_t)7 * model->layers / 8;
    return model->quant == QUANT_IQ3_XS && middle ? TYPE_IQ3_XXS : base;
}

/* Before fallbacks, of a quantisation by llama.cpp. */
static enum tensor_type mixed_type(const struct quant_model *model, const struct quant_tensor *tensor,
                                   enum tensor_type base)
{
    const enum quant quant = model->quant;
    if (tensor->role == ROLE_OUTPUT || tensor->role == ROLE_EMBEDDING_TIED)
        return output_type(quant, base, tensor->row_elements);
    if (quant == QUANT_MXFP4_MOE)
        return tensor->stacked ? TYPE_MXFP4 : TYPE_Q8_0;
    if (tensor->role == ROLE_EMBEDDING)
        return embedding_type(quant, base);
    if (is_tiny(quant))
        return tiny_type(model, tensor, base);
    switch (tensor->role) {
    case ROLE_ATTN_V:
        return value_type(model, tensor->layer, base);
    case ROLE_ATTN_K:
    case ROLE_ATTN_Q:
        return key_or_query_type(model, tensor->role, base);
    case ROLE_ATTN_QKV:
        return fused_type(quant, base);
    case ROLE_ATTN_OUTPUT:
        return attention_output_type(model, base);
    case ROLE_FFN_DOWN:
        return down_type(model, tensor->layer, base);
    case ROLE_FFN_UP:
        return up_type(model, tensor->layer, base);
    default:
        return base;
    }
}

/* A type of blocks of 32 in place of one of 256. */
static enum tensor_type fallback(enum tensor_type type)
{
    switch (type) {
    case TYPE_Q4_K:
        return TYPE_Q5_0;
    case TYPE_Q5_K:
        return TYPE_Q5_1;
    case TYPE_Q6_K:
        return TYPE_Q8_0;
    case TYPE_TQ1_0:
    case TYPE_TQ2_0:
        return TYPE_Q4_0;
    case TYPE_Q2_K:
    case TYPE_Q3_K:
    case TYPE_IQ1_S:
    case TYPE_IQ1_M:
    case TYPE_IQ2_XXS:
    case TYPE_IQ2_XS:
    case TYPE_IQ2_S:
    case TYPE_IQ3_XXS:
    case TYPE_IQ3_S:
    case TYPE_IQ4_XS:
        return TYPE_IQ4_NL;
    default:
        return type;
    }
}

static bool fits(enum tensor_type type, uint64_t row_elements)
{
    return row_elements % tensor_types[type].block_elements == 0;
}

enum tensor_type quant_type(const struct quant_model *model, const struct quant_tensor *tensor)
{
    const enum quant quant = model->quant;
    enum tensor_type type = quant_base_type(quant);
    if (tensor->role == ROLE_NORM || tensor->role == ROLE_BIAS || tensor->role == ROLE_ROUTER)
        return quant == QUANT_INT4 ? TYPE_F16 : TYPE_F32;
    if (quant != QUANT_F32 && quant != QUANT_F16 && quant != QUANT_BF16 && quant != QUANT_INT8 && quant != QUANT_INT4)
        type = mixed_type(model, tensor, type);
    if (!fits(type, tensor->row_elements))
        type = fallback(type);
    return fits(type, tensor->row_elements) ? type : TYPE_F16;
}
