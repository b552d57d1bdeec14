#!/bin/sh
# Marks of a profile's values, estimates of a run, rates by tensor type, heat, and quality beside speed.
. tests/cli/lib.sh

cat >"$scratch/mine.ini" <<'END'
[device]
ram = 6GB [measured]
os_reserve = 1GB
kill = none
flash_setup = 100us	[published]
flash_stream = 1GB/s [published]
flash_max = 1GB/s [estimated]
memory = 20GB/s [estimated]
flops = 200GFLOPS [measured]
END
cat >"$scratch/run.ini" <<'END'
[device]
profile = mine.ini
[model]
profile = llama-3.2-1b
[workload]
prompt_tokens = 4
output_tokens = 33
[loader]
mode = read
END
run() { "$POCKETLOAD" run "$scratch/run.ini" --db none -q "$@"; }

"$POCKETLOAD" device show "$scratch/mine.ini" >"$scratch/shown"
ok 'a value has its mark beside it' grep -Eq '^ram_bytes +5\.59 GiB +measured$' "$scratch/shown"
ok 'and so after a tab' grep -Eq '^flash_setup_ns +100 us +published$' "$scratch/shown"
ok 'what has none says nothing' grep -Eq '^os_reserve_bytes +954 MiB$' "$scratch/shown"
ok 'a default is told as such' grep -Eq '^queue_depth +32 +default$' "$scratch/shown"
ok 'a default may be an estimate' grep -Eq '^major_fault_ns +2\.00 us +estimated$' "$scratch/shown"
"$POCKETLOAD" device show "$scratch/mine.ini" --format json >"$scratch/shown.json"
ok 'machines get them by column' grep -q '"marks": "ram_bytes:measured flash_setup_ns:published ' "$scratch/shown.json"

mkdir -p "$scratch/configs/devices"
cp "$scratch/mine.ini" "$scratch/configs/devices/"
case $POCKETLOAD in /*) program=$POCKETLOAD ;; *) program=$PWD/$POCKETLOAD ;; esac
(cd "$scratch" && "$program" device list --format json) >"$scratch/list.json"
{ echo "["; sed -n '/"mine"/{s/,$//;p;}' "$scratch/list.json"; echo "]"; } >"$scratch/listed.json"
is 'and a list counts them' \
    "$(for key in measured published estimated unmarked; do json $key "$scratch/listed.json"; done)" 2222

run >"$scratch/table"
ok 'a table ends with the estimates' grep -q '^estimates: device.flash_max device.memory device.flops_f16 ' "$scratch/table"
run --set device.flash_max=1GB/s --set device.memory=20GB/s --set device.flops=200GFLOPS >"$scratch/table"
is 'a value of your own is none' "$(grep -c estimates "$scratch/table")" 0
ok 'no column that no run has anything for' sh -c '! grep -Eq "cold|perplexity|weights" "$0"' "$scratch/table"

run --format json | sed 's/"run_key": "[^"]*"/"run_key": ""/' >"$scratch/plain.json"
run --set device.memory_q4_0=20GB/s --format json | sed 's/"run_key": "[^"]*"/"run_key": ""/' >"$scratch/equal.json"
same 'the common rate as a type'"'"'s own changes nothing' "$scratch/plain.json" "$scratch/equal.json"
run --set device.memory_q4_0=10GB/s --format json >"$scratch/slow.json"
ok 'a slower type is slower' perl -e 'exit !($ARGV[1] > 1.5 * $ARGV[0] && $ARGV[1] < 2 * $ARGV[0])' \
    "$(json tpot_mean_ns "$scratch/plain.json")" "$(json tpot_mean_ns "$scratch/slow.json")"
"$POCKETLOAD" run "$scratch/run.ini" --db none -q --set device.memory_q4_o=1GB/s >"$scratch/out" 2>&1
is 'an unknown type has a nearest one' "$? $(grep -c 'did you mean memory_q4_0?' "$scratch/out")" '2 1'

hot='--set device.soc_hot_after=2s --set device.soc_hot_factor=50%'
# shellcheck disable=SC2086 # options
run $hot --set device.heat=hot --format json >"$scratch/hot.json"
is 'a hot phone computes at half speed' "$(json compute_ns "$scratch/hot.json")" \
    "$(($(json compute_ns "$scratch/plain.json") * 2))"
is 'and is hot all the time' "$(json hot_at_ns "$scratch/hot.json") $(json hot_ns "$scratch/hot.json")" \
    "0 $(json virtual_time_ns "$scratch/hot.json")"
# shellcheck disable=SC2086
run $hot --set device.heat=from_cold,hot >"$scratch/table"
ok 'a table of both has both columns' grep -Eq 'tok/s +cold +hot +waiting' "$scratch/table"
notes() { "$POCKETLOAD" run "$scratch/run.ini" --db none "$@" 2>&1 >/dev/null | grep -c '^note: device.heat = hot has no effect'; }
# shellcheck disable=SC2086
is 'a phone that cannot get hot is told, one that can is not' \
    "$(notes --set device.heat=from_cold,hot) $(notes --set device.heat=from_cold) $(notes $hot --set device.heat=hot) $(notes --set device.hot_after=1s --set device.heat=hot)" \
    '1 0 0 0'
# shellcheck disable=SC2086
run --set device.soc_hot_after=1h --format json >"$scratch/cold.json"
is 'no number of what did not happen' "$(json tokens_per_s_hot "$scratch/cold.json") $(json hot_at_ns "$scratch/cold.json")" 'null null'
ok 'all of it was cold' sh -c '[ "$(grep -o "tokens_per_s_cold\": [0-9.]*" "$0" | cut -d" " -f2)" = "$(grep -o "tokens_per_s\": [0-9.]*" "$0" | cut -d" " -f2)" ]' "$scratch/cold.json"

run --set model.quant=q4_0,q8_0 --set 'model.perplexity=q8_0:9.5 q4_0:9.8001' >"$scratch/table"
ok 'size and quality stand beside speed' grep -Eq 'weights +perplexity +verdict' "$scratch/table"
ok 'each of its quantisation' grep -Eq '1\.2[0-9] GiB +9\.5000$' "$scratch/table"
ok 'and of the other' grep -Eq '7[0-9]{2} MiB +9\.8001$' "$scratch/table"

# A TLB miss of a second for each page of 1 TB, 100 times as long on a hot phone: more than a clock holds.
cat >"$scratch/huge.ini" <<'END'
[device]
profile = mine.ini
tlb_miss = 1s
soc_hot_after = 1ns
soc_hot_factor = 1%
heat = hot
[model]
blocks = a:1TB
[workload]
kind = trace
sequence = a
[loader]
mode = mmap
END
bad 2 '^pocketload: .*huge.ini: a step computes for over 208 days \(device.tlb_miss\)$' 'a step beyond all clocks' \
    run "$scratch/huge.ini" --db none -q

finish
