#!/bin/sh
# Two builds of the program give the same results, byte for byte: POCKETLOAD_OTHER names the second one, made by another
# compiler. `make test` compares clang's with gcc's.
if [ -z "${POCKETLOAD_OTHER:-}" ]; then
    echo '1..0 # SKIP POCKETLOAD_OTHER names no second program'
    exit 0
fi
. tests/cli/lib.sh
ok 'the second program runs' "$POCKETLOAD_OTHER" --version
ok 'it is another one' sh -c '! cmp -s "$1" "$2"' - "$POCKETLOAD" "$POCKETLOAD_OTHER"

# compare CONFIG [--set SECTION.KEY=VALUE]...
compare() {
    "$POCKETLOAD" run "$@" --db none --format json >"$scratch/one.json" 2>"$scratch/one.err"
    one=$?
    "$POCKETLOAD_OTHER" run "$@" --db none --format json >"$scratch/two.json" 2>"$scratch/two.err"
    is "both run: $*" "$one $? $(cat "$scratch/one.err")" "0 0 $(cat "$scratch/two.err")"
    ok 'results are there' grep -q '"virtual_time_ns"' "$scratch/one.json"
    same 'and the same' "$scratch/one.json" "$scratch/two.json"
}

# Those whose trace is a file that may not be here are left out.
for config in configs/*.ini; do
    grep -q '^trace *=.*shared' "$config" || compare "$config"
done
compare configs/quickstart.ini --set loader.mode=read
compare configs/quickstart.ini --set loader.overlap=none,prefetch,blocks --set loader.lanes=1,8
compare configs/quickstart.ini --set loader.read_size=300KiB,1MiB --set loader.align=1B,64KiB
compare configs/demo.ini --set loader.evict_when=after_step --set loader.overlap=blocks
compare configs/demo.ini --set loader.lanes=4 --set loader.prefetch_lanes=1,3 --set 'policy.name=prefetch-next(depth=3)'
compare configs/demo.ini --set device.kill=threshold --set device.kill_threshold=1GiB
compare configs/moe-streaming-cached.ini --set experiment.seed=1,2,3 --set workload.output_tokens=32 --set workload.zipf=0.7,1.3
compare configs/moe-streaming.ini --set workload.prompt_tokens=16 --set workload.output_tokens=8 --set workload.sticky=0%,55%

finish
