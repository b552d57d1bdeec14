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

bad 2 '^pocketload: --context: "0"' 'no context' model show llama-3.2-3b --context 0
bad 2 '^pocketload: --batch: "x"' 'a batch that is no number' model show llama-3.2-3b --batch x
bad 2 '^pocketload: --kv-type: unknown type "q8"; expected f16, f32, q8_0 or q4_0$' 'a type that a cache cannot have' \
    model show llama-3.2-3b --kv-type q8

finish
