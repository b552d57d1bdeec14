#!/bin/sh
# `model show`: what a context needs beside the weights. Numbers worked out by hand.
. tests/cli/lib.sh

show() { # MODEL [OPTION]...: into $scratch/model.json
    "$POCKETLOAD" model show "$@" --format json >"$scratch/model.json"
}
of() { # FIELD...: of what was shown last
    for field in "$@"; do
        json "$field" "$scratch/model.json"
        echo
    done | paste -sd ' ' -
}

show llama-3.2-3b
is 'the usual context, batch and type' "$(of context_tokens batch kv_type)" '4096 512 f16'
is 'the KV cache of 4096 tokens: 114,688 bytes each' "$(of kv_bytes_per_token kv_bytes window window_layers)" \
    "114688 $((4096 * 114688)) null null"
logits=$((4 * 128256))
is 'activations' "$(of prompt_activation_bytes token_activation_bytes)" \
    "$((4 * 512 * (2 * 3072 + 2 * 8192) + logits)) $((4 * (2 * 3072 + 2 * 8192) + logits))"
show llama-3.2-3b --context 100 --batch 64 --kv-type q8_0
is 'a short one in small pieces' "$(of context_tokens kv_bytes prompt_activation_bytes)" \
    "100 $((100 * 28 * 2 * 1088)) $((4 * 64 * (2 * 3072 + 2 * 8192) + logits))"
show llama-3.2-3b --no-flash-attention
is 'with scores' "$(of prompt_activation_bytes)" "$((4 * 512 * (2 * 3072 + 24 * (128 + 4096) + 4096) + logits))"

show gemma-2-2b --context 4096
is 'Gemma 2 up to its window' "$(of kv_bytes_per_token kv_bytes window window_layers)" \
    "106496 $((4096 * 106496)) 4096 13"
show gemma-2-2b --context 4097
is 'one token more: half of the layers' "$(of kv_bytes)" $((4096 * 106496 + 53248))
ok 'for people' sh -c '"$0" model show gemma-2-2b --context 8192 | grep -Eq "^kv_bytes +624 MiB$"' "$POCKETLOAD"

# By parts. A layer of Qwen3 30B in f16: q and o 2048 x 4096, k and v 2048 x 512; a router of 128 rows in f32; 128 experts
# of 3 x 2048 x 768; norms of 2 x 2048 + 2 x 128 in f32.
show qwen3-30b-a3b --quant f16
is 'weights by part' \
    "$(of embedding_bytes attention_bytes feed_forward_bytes expert_bytes all_norms_bytes output_bytes rest_bytes)" \
    "$((2 * 151936 * 2048)) $((48 * 2 * 2048 * 9216)) $((48 * 4 * 2048 * 128)) $((48 * 2 * 128 * 3 * 2048 * 768)) $((
        4 * (48 * (2 * 2048 + 2 * 128) + 2048))) $((2 * 151936 * 2048)) null"
is 'they are all' "$(of weights_bytes)" "$(($(of embedding_bytes attention_bytes feed_forward_bytes expert_bytes \
    all_norms_bytes output_bytes | tr ' ' +)))"
ok 'shares for people' sh -c \
    '"$0" model show qwen3-30b-a3b --quant f16 | grep -Eq "^expert_share +94\.9 %$"' "$POCKETLOAD"
show smollm2-1.7b --context 2048
is 'compute buffer and total' "$(of compute_buffer_bytes total_bytes largest_block)" \
    "$((104 << 20)) $(($(of weights_bytes) + (384 << 20) + (104 << 20))) token_embd"
show smollm2-1.7b --context 2048 --batch 256
is 'half the batch' "$(of compute_buffer_bytes)" "$((52 << 20))"
show deepseek-v2-lite
is 'latent attention has no known buffer' "$(of compute_buffer_bytes total_bytes)" 'null null'

# A checkpoint of Hugging Face: a layer of width 4 in bf16, 8 rows of vocabulary, and its config.
mkdir "$scratch/tiny"
cat >"$scratch/tiny/config.json" <<'END'
{"architectures": ["LlamaForCausalLM"], "hidden_size": 4, "intermediate_size": 2, "num_attention_heads": 1,
 "num_hidden_layers": 1, "vocab_size": 8, "tie_word_embeddings": true}
END
cat >"$scratch/header" <<'END'
{"model.embed_tokens.weight": {"dtype": "BF16", "shape": [8, 4], "data_offsets": [0, 64]},
 "model.layers.0.self_attn.q_proj.weight": {"dtype": "BF16", "shape": [4, 4], "data_offsets": [64, 96]},
 "model.norm.weight": {"dtype": "BF16", "shape": [4], "data_offsets": [96, 104]}}
END
size=$(wc -c <"$scratch/header")
{
    printf "\\$(printf %o $((size % 256)))\\$(printf %o $((size / 256)))\\0\\0\\0\\0\\0\\0"
    cat "$scratch/header"
    head -c 104 /dev/zero
} >"$scratch/tiny/model.safetensors"
show "$scratch/tiny/model.safetensors"
is 'a safetensors file' "$(of name quant layers vocab blocks weights_bytes file_bytes embedding_bytes layer_bytes)" \
    "tiny bf16 1 8 3 104 $((8 + size + 104)) 64 32"
show "$scratch/tiny/config.json" --quant f32
is 'a config: embedding, two norms and 64 + 24 weights of a layer, a norm' \
    "$(of name quant weights_bytes kv_bytes_per_token)" "tiny f32 $((4 * (32 + 8 + 64 + 24 + 4))) 16"
bad 2 '^pocketload: --quant: a file has a quantisation of its own$' 'a quantisation of a safetensors file' \
    model show "$scratch/tiny/model.safetensors" --quant q8_0
cat >"$scratch/qwen.json" <<'END'
{"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128,
 "hidden_size": 2048, "intermediate_size": 6144, "mlp_only_layers": [], "moe_intermediate_size": 768,
 "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
 "num_key_value_heads": 4, "tie_word_embeddings": false, "vocab_size": 151936}
END
show qwen3-30b-a3b --quant q4_k_m
cp "$scratch/model.json" "$scratch/profile.json"
show "$scratch/qwen.json" --quant q4_k_m
sed 's/"name": "[^"]*"//' "$scratch/profile.json" >"$scratch/expected"
sed 's/"name": "[^"]*"//' "$scratch/model.json" >"$scratch/found"
same 'a config is as the profile of the same numbers' "$scratch/found" "$scratch/expected"
sed 's/Llama/Lama/' "$scratch/tiny/config.json" >"$scratch/bad.json"
bad 3 'bad.json: architectures: "LamaForCausalLM" is not modelled: did you mean LlamaForCausalLM' \
    'an unknown architecture' model show "$scratch/bad.json"
small_config | sed 's/^blocks = .*/file = tiny\/config.json\nquant = f16, f32/; s/^kind = .*/kind = dense/; /^sequence/d
    s/^budget = .*/budget = 2MiB/' >"$scratch/config.ini"
"$POCKETLOAD" run "$scratch/config.ini" --db none --format csv >"$scratch/runs.csv"
is 'its quantisations can be swept' \
    "$(cut -d, -f4,5 "$scratch/runs.csv" | sort -u | paste -sd ' ' -)" \
    'model,quant tiny/config.json,f16 tiny/config.json,f32'
"$POCKETLOAD" run "$scratch/config.ini" --set model.file="$scratch/tiny/model.safetensors" --db none --format csv |
    cut -d, -f4,5 | sort -u | paste -sd ' ' - >"$scratch/names"
is 'a file in place of it displaces the quantisation' "$(cat "$scratch/names")" \
    'model,quant tiny/model.safetensors,bf16'
bad 2 'model.quant: applies to the weights of a profile or a config.json' 'both' run "$scratch/config.ini" --db none \
    --set model.file="$scratch/tiny/model.safetensors" --set model.quant=f16

bad 2 '^pocketload: --context: "0"' 'no context' model show llama-3.2-3b --context 0
bad 2 '^pocketload: --batch: "x"' 'a batch that is no number' model show llama-3.2-3b --batch x
bad 2 '^pocketload: --kv-type: unknown type "q8"; expected f16, f32, q8_0 or q4_0$' 'a type that a cache cannot have' \
    model show llama-3.2-3b --kv-type q8

"$POCKETLOAD" model quants llama-3.2-1b --format csv >"$scratch/quants.csv"
is 'what is said of a quantisation' "$(head -n 1 "$scratch/quants.csv")" \
    quant,bits_per_weight,weights_bytes,file_bytes,largest_block_bytes,perplexity
is 'every one once' "$(tail -n +2 "$scratch/quants.csv" | cut -d , -f 1 | sort -u | wc -l | tr -d ' ')" 35
show llama-3.2-1b --quant iq3_xxs
is 'the sizes that show has' "$(grep '^iq3_xxs,' "$scratch/quants.csv" | cut -d , -f 3-5)" \
    "$(of weights_bytes file_bytes largest_block_bytes | tr ' ' ,)"
# 1,235,814,400 weights, the largest block being the tied embedding of 2048 x 128256.
is 'in f32 the embedding is the largest block' "$(grep '^f32,' "$scratch/quants.csv" | cut -d , -f 3,5)" \
    "$((1235814400 * 4)),$((2048 * 128256 * 4))"
ok 'bits of the file for each of its weights' awk -F , \
    '$1 == "q4_k_m" { found = 1; exit !($2 > 5.20 && $2 < 5.22 && $2 == $4 * 8 / 1235814400) } END { exit !found }' \
    "$scratch/quants.csv"
ok 'for people' sh -c '"$0" model quants llama-3.2-1b | grep -Eq "^q8_0 +8[.][0-9]+ +1[.]2[0-9] GiB"' "$POCKETLOAD"
bad 2 '^pocketload: unknown model "llama-3.2-1": did you mean' 'an unknown model' model quants llama-3.2-1
bad 2 'config.json is missing' 'no model' model quants
"$POCKETLOAD" model quants "$scratch/tiny/config.json" --format csv >"$scratch/tiny.csv"
for quant in q4_0 f32; do
    show "$scratch/tiny/config.json" --quant $quant
    is "a config.json in $quant, and no perplexity" "$(grep "^$quant," "$scratch/tiny.csv" | cut -d , -f 3,4,6)" \
        "$(of weights_bytes),$(of file_bytes),"
done
bad 4 'nothing.json: No such file' 'a config.json that is not there' model quants nothing.json

ok 'the many names of quant do not widen the table of keys' sh -c \
    '"$0" help config | grep -Eq "^model +quant +iq1_s [|] [.]{3} [|] f32 +q4_0 "' "$POCKETLOAD"
ok 'a machine gets them all' sh -c '"$0" help config --format csv | grep -q "^model,quant,iq1_s .*q4_k_m.* f32,"' \
    "$POCKETLOAD"
cat >"$scratch/quants.ini" <<END
[experiment]
name = quants
[device]
profile = oneplus-15r
[model]
profile = llama-3.2-1b
quant = q2_k, int8
[workload]
prompt_tokens = 4
output_tokens = 2
[loader]
mode = read
END
"$POCKETLOAD" run "$scratch/quants.ini" --db none --format json >"$scratch/runs.json"
found=$(tr -d ' \n' <"$scratch/runs.json" |
    grep -oE '"(quant|peak_weights_bytes)":[^,]*' | cut -d : -f 2 | paste -sd ' ' -)
expected=
for quant in q2_k int8; do
    show llama-3.2-1b --quant "$quant"
    expected="$expected${expected:+ }\"$quant\" $(of weights_bytes)"
done
is 'runs of two quantisations hold their weights' "$found" "$expected"
sed '/^profile = llama/a\
perplexity = q2_k:15.25 f16:13.2' "$scratch/quants.ini" >"$scratch/quality.ini"
"$POCKETLOAD" run "$scratch/quality.ini" --db none --format json >"$scratch/runs.json"
found=$(tr -d ' \n' <"$scratch/runs.json" | grep -oE '"perplexity":[^,}]*' | cut -d : -f 2 | paste -sd ' ' -)
is 'a record has the quality of its quantisation where it is known' "$found" '15.25 null'
sed 's/q2_k:15/q2k:15/' "$scratch/quality.ini" >"$scratch/bad-quality.ini"
bad 2 'quality.ini:[0-9]+: model.perplexity: .*unknown quantisation "q2k": did you mean q2_k\?$' 'a quality of nothing' \
    run "$scratch/bad-quality.ini" --db none
printf '%s\n' '[model]' 'layers = 1' 'width = 64' 'vocab = 64' 'heads = 1' 'kv_heads = 1' 'head_size = 64' 'ffn = 64' \
    'perplexity = q2_k:15.25 f16:13.2' >"$scratch/one.ini"
"$POCKETLOAD" model quants "$scratch/one.ini" --format csv >"$scratch/known.csv"
is 'a list has it too' "$(grep -E '^(q2_k|f16|q8_0),' "$scratch/known.csv" | cut -d , -f 6 | paste -sd , -)" 15.25,,13.2
bad 2 'quant.*unknown value "q4_k": did you mean q4_k_s\?$' 'a quantisation half said' \
    run "$scratch/quants.ini" --db none --set model.quant=q4_k
bad 2 'output_copy: expected tied = yes beside it$' 'a copy of what is not tied' \
    run "$scratch/quants.ini" --db none --set model.tied=no --set model.output_copy=file

finish
