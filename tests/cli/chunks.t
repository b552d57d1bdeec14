#!/bin/sh
# loader.chunk: how blocks are cut, in every mode.
. tests/cli/lib.sh

# Embedding and head of 1 MiB, layers of 4.5 MiB: 2,359,296 weights in f16, and norms.
config() {
    cat <<END
[experiment]
name = chunks

[device]
profile = generic-6gb

[model]
layers = 4
width = 512
vocab = 1024
heads = 8
kv_heads = 4
head_size = 64
ffn = 1024
quant = f16

[workload]
kind = dense
prompt_tokens = 4
output_tokens = 8

[loader]
mode = chunked
budget = 8MiB
chunk = layer, 1MiB, layers:2, heads:4

[policy]
name = cyclic
END
}
config >"$scratch/c.ini"
run() { # DATABASE [OPTION]...
    db=$1
    shift
    "$POCKETLOAD" run "$scratch/c.ini" --db "$db" "$@" >"$scratch/out" 2>"$scratch/err"
}
of() { # COLUMNS of the run of that rule: of RULE COLUMNS
    sql "$scratch/runs.db" "select $2 from run where json_extract(config, '\$.loader.chunk') = '$1'"
}
ok 'a run of each rule' run "$scratch/runs.db"
is 'blocks of each' "$(for rule in layer 1MiB layers:2 heads:4; do
    sql "$scratch/runs.db" "select count(*) from block where run_key = (select run_key from run
        where json_extract(config, '\$.loader.chunk') = '$rule')"
done | paste -sd ' ' -)" '7 23 5 11'
is 'pieces and merged layers have names' "$(sql "$scratch/runs.db" "select distinct name from block
    where name like 'layer0#%' or name like 'layers%' order by name" | paste -sd ' ' -)" \
    'layer0#0 layer0#1 layer0#2 layer0#3 layer0#4 layers0-1 layers2-3'
is 'the same bytes are used' "$(of 1MiB bytes_accessed) $(of heads:4 bytes_accessed)" \
    "$(of layer bytes_accessed) $(of layer bytes_accessed)"
is 'smaller chunks use a budget better' "$(sql "$scratch/runs.db" "select
    (select byte_hit_rate from run where json_extract(config, '\$.loader.chunk') = '1MiB') >
    (select byte_hit_rate from run where json_extract(config, '\$.loader.chunk') = 'layer')")" 1
is 'what is computed is the same' "$(sql "$scratch/runs.db" "select count(distinct compute_ns) from run")" 1
is 'records tell the runs apart' "$(of 1MiB loader)" 'chunked(chunk=1MiB)'

# One run alone is what it is among others, whose model and trace it shares.
sql "$scratch/runs.db" "select run_key, virtual_time_ns, hits, evictions, bytes_read from run order by run_key" >"$scratch/all"
for rule in heads:4 layers:2 1MiB layer; do
    ok "alone: $rule" run "$scratch/alone.db" --set "loader.chunk=$rule"
done
sql "$scratch/alone.db" "select run_key, virtual_time_ns, hits, evictions, bytes_read from run order by run_key" >"$scratch/each"
same 'the same results' "$scratch/each" "$scratch/all"
ok 'a rule that changes nothing is no run of its own' sh -c \
    '[ "$("$0" run "$1" --set loader.chunk=layer,layers:1 --db none --format csv | wc -l)" = 2 ]' \
    "$POCKETLOAD" "$scratch/c.ini"

# Policies name the chunks.
ok 'a pinned piece' run "$scratch/pin.db" --set 'loader.chunk=1MiB' --set 'policy.name=lru+blocks(layer0#1)'
is 'is loaded once' "$(sql "$scratch/pin.db" "select loads from block where name = 'layer0#1'")" 1
bad 2 '^pocketload: --set policy.name: .*layer0#1' 'a piece that there is not' run "$scratch/c.ini" --db none \
    --set loader.chunk=layer --set 'policy.name=lru+blocks(layer0#1)'

# A mapped file has its pages whatever they are counted by; a file that is read whole its bytes.
ok 'mapped' run "$scratch/mapped.db" --set loader.mode=mmap --set policy.name=lru
is 'the same reads, and but for the order of heads the same faults' "$(sql "$scratch/mapped.db" \
    "select count(*), count(distinct bytes_read), count(distinct major_faults) filter
    (where json_extract(config, '\$.loader.chunk') <> 'heads:4') from run")" '4|1|1'
ok 'read' run "$scratch/read.db" --set loader.mode=read
is 'the same bytes' "$(sql "$scratch/read.db" 'select count(*), count(distinct bytes_read) from run')" '4|1'
ok 'with an allocator, and computing as blocks come' run "$scratch/overlap.db" --set loader.overlap=blocks \
    --set loader.allocator=buddy

# A trace that brings its own blocks; experts are cut by size, and stay whole when layers are merged.
printf 'block,bytes\nlayer0,3000000\nlayer1,3000000\nlayer0,3000000\n' >"$scratch/t.csv"
small_config | sed 's/^sequence.*/trace = t.csv/; /^\[model\]/d; /^blocks/d; s/^budget.*/budget = 4MiB/
    s/^name = lru, fifo/name = lru/' >"$scratch/t.ini"
ok 'blocks of a trace' sh -c '"$0" run "$1" --set loader.chunk=1MB --db "$2"' "$POCKETLOAD" "$scratch/t.ini" \
    "$scratch/t.db"
is 'in pieces' "$(sql "$scratch/t.db" 'select count(*), min(accesses), max(accesses) from block')" '6|1|2'
ok 'experts' sh -c '"$0" run "$1" --db "$2" --set model.experts=4 --set model.experts_used=2 --set model.expert_ffn=64 \
    --set workload.kind=moe --set loader.chunk=64KiB,layers:2' "$POCKETLOAD" "$scratch/c.ini" "$scratch/moe.db"
is 'cut and whole' "$(sql "$scratch/moe.db" "select
    sum(name glob 'expert0.0#*'), sum(name = 'expert0.0') from block")" '3|1'

bad 2 '^pocketload: --set loader.chunk: unknown rule "layes": did you mean layer' 'no such rule' run "$scratch/c.ini" \
    --set loader.chunk=layes --db none
bad 2 '^pocketload: --set loader.chunk: 3 heads a chunk: expected a number that divides the 8 heads of .* multiple of 2' \
    'heads that do not fit' run "$scratch/c.ini" --set loader.chunk=heads:3 --db none
bad 2 '^pocketload: --set loader.chunk: the model .* does not say its attention heads' 'a list has no heads' \
    run "$scratch/c.ini" --set loader.chunk=heads:2 --set 'model.blocks=4 x 1MiB' --db none
bad 2 '^pocketload: --set loader.chunk: more than 1048576 chunks' 'too many' run "$scratch/c.ini" \
    --set loader.chunk=4B --db none

finish
