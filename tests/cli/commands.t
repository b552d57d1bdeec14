#!/bin/sh
# replay, device, model, policy, trace, help: what they print.
. tests/cli/lib.sh
data=../shared/data
program=$(realpath "$POCKETLOAD")

# ---- Help ----
is 'the version' "$("$POCKETLOAD" --version | grep -Ec '^pocketload [0-9]+\.[0-9]+\.[0-9]+$')" 1
for command in run replay plot device calibrate model policy validate trace; do
    ok "help lists $command" sh -c '"$1" help | grep -q "^  $2 "' - "$POCKETLOAD" "$command"
    ok "$command --help" "$POCKETLOAD" "$command" --help
    is "help $command is the same" "$("$POCKETLOAD" help "$command")" "$("$POCKETLOAD" "$command" --help)"
done
for action in 'device list' 'device show' 'device flash' 'model list' 'model show' 'model quants' 'policy list' 'policy show' 'policy new' 'policy check' 'policy profile' 'trace list' 'trace show'; do
    # shellcheck disable=SC2086 # two words
    ok "$action --help says how it is used" sh -c '"$0" $1 --help | grep -q "^Usage: pocketload $1"' "$POCKETLOAD" "$action"
done
ok 'help config lists the keys' sh -c '"$0" help config --format csv | grep -q "^loader,budget,"' "$POCKETLOAD"

# ---- Lists and shows, in every format ----
records() { # how many records a JSON array holds
    perl -MJSON::PP -e 'local $/; print scalar @{decode_json(<STDIN>)}'
}
for list in device model policy trace; do
    for format in table csv json jsonl markdown; do
        "$POCKETLOAD" $list list --format $format >"$scratch/$list.$format"
    done
    ok "$list list holds something" test -s "$scratch/$list.table"
    is "$list list: json, jsonl and csv have the same records" \
        "$(records <"$scratch/$list.json") $(wc -l <"$scratch/$list.jsonl")" \
        "$(wc -l <"$scratch/$list.jsonl") $(($(wc -l <"$scratch/$list.csv") - 1))"
done
ok 'devices' grep -q '"oneplus-15r"' "$scratch/device.json"
ok 'models' grep -q '"qwen3-30b-a3b"' "$scratch/model.json"
ok 'policies' grep -q '"prefetch-next"' "$scratch/policy.json"
for format in ids csv route passes; do
    ok "trace format $format" grep -q "\"$format\"" "$scratch/trace.json"
done

"$POCKETLOAD" device show oneplus-15r --format json >"$scratch/device.json"
is 'a device' "$(json ram_bytes "$scratch/device.json") $(json flash_setup_ns "$scratch/device.json") $(json flash_max_bytes_per_s "$scratch/device.json")" \
    '11640000000 205000 2420000000'
"$POCKETLOAD" device flash oneplus-15r --lanes 1 --block 1MiB --format json >"$scratch/flash.json"
# One reader: L / (setup + L / stream), here 1 MiB in 205 us + 529.584 us.
is 'the flash alone' "$(json latency_ns "$scratch/flash.json")" 734584
ok 'and its rate' perl -e 'exit !(abs($ARGV[0] - 1048576 / 734584e-9) < 1e4)' "$(json bytes_per_s "$scratch/flash.json")"

"$POCKETLOAD" model show llama-2-7b --quant q4_0 --format json >"$scratch/model.json"
is 'a model' "$(json blocks "$scratch/model.json") $(json layers "$scratch/model.json") $(json kv_bytes_per_token "$scratch/model.json")" '35 32 524288'
"$POCKETLOAD" model show llama-2-7b --quant q4_0 --blocks --format csv >"$scratch/blocks.csv"
is 'its blocks add up to its weights' "$(awk -F, 'NR > 1 { sum += $6 } END { printf "%.0f", sum }' "$scratch/blocks.csv")" "$(json weights_bytes "$scratch/model.json")"
ok 'for people' sh -c '"$0" model show llama-3.2-3b | grep -Eq "^weights_bytes +[0-9.]+ GiB"' "$POCKETLOAD"
"$POCKETLOAD" policy show 'prefetch-next' --format json >"$scratch/policy.json"
is 'the parts of a preset' "$(records <"$scratch/policy.json")" "$(grep -c '"policy"' "$scratch/policy.json")"
ok 'and their parameters' grep -q '"depth"' "$scratch/policy.json"

# A profile of one's own is a path.
sed '/^name/d' configs/devices/generic-6gb.ini >"$scratch/mine.ini"
is "a device of one's own" "$(cd "$scratch" && "$program" device show mine.ini --format csv | sed -n 2p | cut -d, -f1)" mine
mkdir "$scratch/there"
small_config | sed 's/^profile = .*/profile = mine.ini/' >"$scratch/there/config.ini"
cp "$scratch/mine.ini" "$scratch/there/mine.ini"
is 'beside the config' "$("$POCKETLOAD" run "$scratch/there/config.ini" --db none --format csv | sed -n 2p | cut -d, -f3)" mine

# ---- Plots of one run ----
small_config >"$scratch/small.ini"
"$POCKETLOAD" run "$scratch/small.ini" --db "$scratch/keys.db" --quiet >"$scratch/keys.out"
key=$(sql "$scratch/keys.db" 'SELECT run_key FROM run ORDER BY id DESC LIMIT 1')
"$POCKETLOAD" plot "$scratch/keys.db" --out "$scratch/whole" --run "$key" >"$scratch/whole.out"
ok 'a run by the first digits of its key' "$POCKETLOAD" plot "$scratch/keys.db" --out "$scratch/prefix" --run "$(printf %.6s "$key")"
same 'is the run' "$scratch/prefix/memory_over_time.csv" "$scratch/whole/memory_over_time.csv"
bad 2 'no run with the key 12345; .* 6 digits' 'too few digits' plot "$scratch/keys.db" --out "$scratch/none" --run 12345
bad 2 'no run with the key nobody$' 'a key that is none' plot "$scratch/keys.db" --out "$scratch/none" --run nobody
bad 2 'no run with the key 0123456789$' 'a key that no run has' plot "$scratch/keys.db" --out "$scratch/none" --run 0123456789
sqlite3 "$scratch/keys.db" "UPDATE run SET run_key = 'abcdef' || substr(run_key, 7)"
bad 2 'keys of several runs begin with abcdef; expected more digits' 'digits of several keys' plot "$scratch/keys.db" --out "$scratch/none" --run abcdef

# ---- Replay ----
printf '1000000007\n5\n1000000007\n9\n5\n1000000007\n' >"$scratch/ids"
replay() {
    "$POCKETLOAD" replay "$@"
}
replay "$scratch/ids" --policy lru,fifo --capacity 2obj,3obj,50% --format csv >"$scratch/replay.csv"
is 'a record for each policy and capacity' "$(wc -l <"$scratch/replay.csv")" 7
# LRU with room for 2: ids a b a c b a -> only the third is a hit; FIFO keeps b, too; with room for 3 both hit 3 times.
is 'hits' "$(tail -n +2 "$scratch/replay.csv" | cut -d, -f2,3,6 | tr -d '\r' | paste -sd' ' -)" \
    'lru,2obj,1 fifo,2obj,2 lru,3obj,3 fifo,3obj,3 lru,50%,0 fifo,50%,0'
replay - --trace-format ids --policy lru --capacity 2obj --format csv <"$scratch/ids" | cut -d, -f2- >"$scratch/stdin.csv"
is 'from standard input' "$(sed -n 2p "$scratch/stdin.csv")" "$(sed -n 2p "$scratch/replay.csv" | cut -d, -f2-)"
gzip -c "$scratch/ids" >"$scratch/ids.gz"
replay "$scratch/ids.gz" --policy lru --capacity 2obj --format csv | cut -d, -f2- >"$scratch/gz.csv"
is 'from gzip' "$(sed -n 2p "$scratch/gz.csv")" "$(sed -n 2p "$scratch/stdin.csv")"
printf 'block,bytes\n1,1048576\n2,2097152\n1,1048576\n3,1048576\n2,2097152\n' >"$scratch/sized.csv"
replay "$scratch/sized.csv" --policy lru --capacity 3MiB,4MiB,50% --format csv >"$scratch/sized.out"
is 'sizes count' "$(tail -n +2 "$scratch/sized.out" | cut -d, -f4,6,9 | tr -d '\r' | paste -sd' ' -)" \
    '3145728,1,6291456 4194304,2,4194304 2097152,0,7340032'
# Room for two blocks of any size: 1 2 1 3 2 -> the third hits; with 1 and 2 pinned, all hit but 3.
replay "$scratch/sized.csv" --policy lru --capacity 2obj --format json >"$scratch/blocks.json"
is 'blocks of any size count as one, and have no bytes' "$(json capacity_bytes "$scratch/blocks.json") $(json misses "$scratch/blocks.json") $(json bytes_read "$scratch/blocks.json") $(json evictions "$scratch/blocks.json")" \
    'null 4 6291456 2'
replay "$scratch/sized.csv" --policy 'lru+blocks(1,2)' --capacity 2obj --format json >"$scratch/blocks.json"
is 'pinned ones too' "$(json misses "$scratch/blocks.json") $(json bytes_read "$scratch/blocks.json")" '1 4194304'
is 'blocks of one size have bytes' "$(printf 'block,bytes\n1,4096\n2,4096\n' | replay - --trace-format csv --policy lru --capacity 3obj --format csv | sed -n 2p | cut -d, -f4)" 12288
is 'and without sizes are counted' "$(sed -n 2p "$scratch/replay.csv" | cut -d, -f4)" 2
replay "$scratch/ids" --policy 'prefetch-next,lru,lru+next(depth=3)' --capacity 2obj --format csv >"$scratch/note.csv" 2>"$scratch/note.err"
is 'a prefetcher is left out' "$(tail -n +2 "$scratch/note.csv" | cut -d, -f2,6 | paste -sd' ' -)" 'prefetch-next,1 lru,1 lru+next(depth=3),1'
is 'which is said once for each policy' "$(cat "$scratch/note.err")" \
    'note: prefetch-next: a replay has no time, so next is left out
note: lru+next(depth=3): a replay has no time, so next(depth=3) is left out'
"$POCKETLOAD" trace show "$scratch/sized.csv" --format json >"$scratch/trace.json"
is 'what is in a trace' "$(json accesses "$scratch/trace.json") $(json blocks "$scratch/trace.json") $(json working_set_bytes "$scratch/trace.json")" '5 3 4194304'

# ---- Against what others measured ----
if [ -d "$data" ]; then
    replay "$data/lirs/cs.trace" --policy lru,fifo --capacity 500obj,1000obj --format csv >"$scratch/lirs.csv"
    truth=$(grep -E '^cs,(500|1000),' "$data/lirs/truth.csv" | awk -F, '{ print $3; print $4 }' | paste -sd' ' -)
    is 'LIRS, cs' "$(tail -n +2 "$scratch/lirs.csv" | cut -d, -f6 | paste -sd' ' -)" "$truth"
    replay "$data/routes/qwen3-30b-a3b.route.csv" --policy lru --capacity 500MiB,1000MiB,2000MiB,4000MiB \
        --evict-when after_step --format csv >"$scratch/route.csv"
    truth=$(grep -E '^[0-9]+,lru,' "$data/routes/truth.csv" | cut -d, -f3 | paste -sd' ' -)
    is 'the qwen route' "$(tail -n +2 "$scratch/route.csv" | cut -d, -f6 | paste -sd' ' -)" "$truth"
else
    echo '# no ../shared/data here: rows against measured truths skipped'
fi

finish
