#!/bin/sh
# The way from the file to the first token: keys, what they change, and what is said of them.
. tests/cli/lib.sh

cat >"$scratch/run.ini" <<'END'
[experiment]
name = cold
[device]
profile = oneplus-15r
[model]
profile = llama-3.2-1b
quant = q4_0
[workload]
kind = dense
prompt_tokens = 4
output_tokens = 3
[loader]
mode = read
END
run() { "$POCKETLOAD" run "$scratch/run.ini" --db none -q "$@"; }
# field NAME OPTION...: that field of the only run.
field() {
    name=$1
    shift
    run --format json "$@" | tr ',{' '\n\n' | sed -n "s/^ *\"$name\": *//p" | tr -d '"}]\n '
}
less() { [ "$1" -gt 0 ] && [ "$1" -lt "$2" ]; }

stages='--set loader.stages=alloc+parse+checksum+repack'
plain=$(field ttft_ns)
sync=$(field ttft_ns $stages)
threads=$(field ttft_ns $stages --set loader.loader_threads=2)
first=$(field ttft_ns $stages --set loader.loader_threads=2 --set loader.first_chunk=embedding+2)
ok 'stages take time' less "$plain" "$sync"
ok 'loader threads hide some of it' less "$threads" "$sync"
ok 'so does beginning before all is there' less "$first" "$threads"
ok 'half of the weights come before all of them' less "$(field load_50_ns)" "$(field load_100_ns)"
ok 'with part of them there a layer can run' less "$(field first_layer_ns --set loader.first_chunk=embedding+1)" "$(field load_100_ns)"
ok 'a warm start reads less' less "$(field bytes_read --set loader.warm=60%)" "$(field bytes_read)"
is 'a warm mapped file is read no more' "$(field bytes_read --set loader.mode=mmap --set loader.warm=100%)" 0
ok 'a file system costs time' less "$(field ttft_ns --set device.fs=ext4)" "$(field ttft_ns --set device.fs=fuse)"
is 'stages in any order are one run' "$(field run_key --set loader.stages=copy+alloc)" "$(field run_key --set loader.stages=alloc+copy)"
is 'of a mapped file parsing alone is left' "$(field run_key --set loader.mode=mmap $stages)" "$(field run_key --set loader.mode=mmap --set loader.stages=parse)"
is 'without stages threads do not matter' "$(field run_key --set loader.loader_threads=3)" "$(field run_key)"

field estimates >"$scratch/none"
field estimates $stages >"$scratch/some"
ok 'rates of stages are estimates' grep -q 'device.repack_rate' "$scratch/some"
ok 'where there are stages' sh -c "! grep -q repack_rate '$scratch/none'"

"$POCKETLOAD" run "$scratch/run.ini" --db none --set loader.warm=50% --set loader.align=4KiB >/dev/null 2>"$scratch/notes"
ok 'direct I/O passes the page cache by' grep -q 'loader.warm has no effect: loader.align = 4KiB' "$scratch/notes"

# The line below the table, with the numbers of the record.
ms() { awk -v ms="$(field "$1")" 'BEGIN { ms /= 1e6; printf "%.*f ms", ms < 10 ? 2 : ms < 100 ? 1 : 0, ms }'; }
is 'a table tells when the weights were there' "$(run | grep '^loaded:')" \
    "loaded: 10 % after $(ms load_10_ns), 50 % after $(ms load_50_ns), all after $(ms load_100_ns); first layer after $(ms first_layer_ns)"
loaded() {
    run "$@" | grep -c 'loaded:'
}
chunked='--set loader.mode=chunked --set loader.budget=1GiB'
is 'of each policy' "$(run $chunked --set loader.preload=all --set policy.name=lru,fifo | sed -n 's/: loaded:.*//p' | sort | tr '\n' ' ')" 'fifo lru '
is 'where keys of loading vary' "$(loaded $chunked --set loader.preload=none,dense)" 2
is 'where a mapped file is parsed' "$(loaded --set loader.mode=mmap --set loader.stages=parse)" 1
is 'where a mapped file is warm' "$(loaded --set loader.mode=mmap --set loader.warm=40%)" 1
is 'not of weights that come on demand' "$(loaded $chunked --set policy.name=lru,pinned-lru)" 0
is 'nor of a mapped file' "$(loaded --set loader.mode=mmap)" 0
is 'an app that dies while it loads never has all' "$(run --set device.kill_threshold=500MiB | grep -c '^loaded: 10 % after .*, never all$')" 1

# refused NAME MESSAGE OPTION...
refused() {
    name=$1 message=$2
    shift 2
    run "$@" >/dev/null 2>"$scratch/err"
    status=$?
    is "$name" "$status $(grep -cF -- "$message" "$scratch/err")" '2 1'
}
refused 'a stage that is none' 'unknown stage "aloc": did you mean alloc?' --set loader.stages=aloc+copy
refused 'a stage twice' 'copy is there twice' --set loader.stages=copy+copy
refused 'a stage missing' 'unknown stage ""' --set loader.stages=copy+
refused 'a first chunk that is none' 'expected embedding+2 or 256MiB' --set loader.first_chunk=embeding+2
refused 'layers that are no number' 'expected the number of layers' --set loader.first_chunk=embedding+x
chunked='--set loader.mode=chunked --set loader.budget=512MiB'
refused 'a preload that is none' 'did you mean dense?' $chunked --set loader.preload=dens
refused 'a block that is none' 'unknown block "layer_3": did you mean layer3?' $chunked '--set' 'loader.preload=blocks:layer1;layer_3'
refused 'a text that the loader has no use for' '"banana" is neither all nor embedding+LAYERS nor a size' --set loader.mode=mmap --set loader.first_chunk=banana
refused 'a list of no blocks' '"blocks:;" names no block' $chunked '--set' 'loader.preload=blocks:;'
refused 'too many threads' 'loader_threads' --set loader.loader_threads=65
finish
