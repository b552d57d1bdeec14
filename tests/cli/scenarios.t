#!/bin/sh
# What memory does to an app, each case a config of tests/scenarios that says what it teaches.
. tests/cli/lib.sh

# run OUT CONFIG [--set KEY=VALUE]...: one variant's record into $scratch/OUT.json.
run() {
    out=$1 config=$2
    shift 2
    "$POCKETLOAD" run "tests/scenarios/$config.ini" --db none --format json --quiet "$@" >"$scratch/$out.json" ||
        echo '[{}]' >"$scratch/$out.json"
}
of() { # FIELD OUT
    json "$1" "$scratch/$2.json"
}
end_of() { # OUT: how it ended
    echo "$(of outcome "$1") $(of killed_by "$1") $(of killed_phase "$1")"
}
true_that() { # NAME EXPRESSION: arithmetic; a value that is missing, "null", makes it fail
    ok "$1: $2" perl -e 'use strict; exit !eval $ARGV[0]' "$2"
}

for config in tests/scenarios/*.ini; do
    ok "$config says what it teaches" sh -c 'sed 1q "$1" | grep -q "^; ."' - "$config"
done

# ---- Read or mapped, 3 GiB free: killed against slow ----
run read read-or-mapped --set loader.mode=read
run mapped read-or-mapped --set loader.mode=mmap
run roomy read-or-mapped --set loader.mode=mmap --set device.ram=8GiB
run roomy_read read-or-mapped --set loader.mode=read --set device.ram=8GiB
is 'what does not fit is killed while it is read' "$(end_of read)" 'killed lmkd load'
is 'and no token of it was seen' "$(of tokens read)" 0
is 'mapped, it lives' "$(end_of mapped) $(of tokens mapped)" 'completed null null 4'
true_that 'but reads the file again with each token' "$(of bytes_read mapped) > 4 * 0.95 * 3825065984"
true_that 'and is slow' "$(of tpot_mean_ns mapped) > 10 * $(of tpot_mean_ns roomy)"
is 'with 2 GiB more both live' "$(end_of roomy) $(end_of roomy_read)" 'completed null null completed null null'
true_that 'and the mapped file is read once' "$(of bytes_read roomy) < 1.01 * 3826371040"
run huge read-or-mapped --set loader.mode=mmap --set device.ram=8GiB --set loader.hugepage=2MiB
true_that 'pages of 2 MiB save 511 of 512 TLB misses, 10 ns each' \
    "abs(($(of compute_ns roomy) - $(of compute_ns huge)) / (4 * 10 * 3825065984 * 511 / 512 / 4096) - 1) < 0.01"

# ---- Jetsam counts no clean pages ----
run mapped clean-pages-do-not-count --set loader.mode=mmap
run read clean-pages-do-not-count --set loader.mode=read
run measured clean-pages-do-not-count --set loader.mode=read --set device.jetsam_limit=3.12GB
is 'mapped weights live under a limit below their size' "$(end_of mapped)" 'completed null null'
true_that 'the footprint moves by less than 0.4 GB' "$(of peak_footprint_bytes mapped) - 97e6 < 0.4e9"
true_that 'resident memory by more than 1.7 GB' "$(of peak_resident_bytes mapped) - 97e6 > 1.7e9"
true_that 'close to what was measured, 328 MB' "abs($(of peak_footprint_bytes mapped) - 97e6 - 328e6) < 0.2 * 328e6"
is 'read weights do not' "$(end_of read)" 'killed jetsam load'
is 'they need the real limit' "$(end_of measured)" 'completed null null'
true_that 'as all of them are footprint' "$(of peak_footprint_bytes measured) > 1.83e9 + 97e6"

# ---- Other apps die before the one in front, by their adj ----
names_of() { # OUT: who died, in order
    of kills "$1" | tr ';' '\n' | sed 's/^ *//; s/).*/)/' | tr '\n' ' ' | sed 's/ $//'
}
run some others-die-first --set model.quant=q4_0
run all others-die-first --set model.quant=q8_0
is 'the smaller model costs two of them their life' "$(names_of some)" 'browser(930) game(905)'
is 'and lives' "$(end_of some) $(of apps_killed some)" 'completed null null 2'
is 'the larger one costs all of them theirs' "$(names_of all)" 'browser(930) game(905) mail(900) keyboard(500) music(200)'
is 'and then its own' "$(end_of all) $(of apps_killed all)" 'killed lmkd load 5'
run service others-die-first --set model.quant=q8_0 --set loader.oom_score_adj=service
is 'an app in the background dies before what is heard' "$(names_of service) $(end_of service)" \
    'browser(930) game(905) mail(900) killed lmkd load'

# ---- mlock of more than fits ----
run locked mlock-too-much --set device.memlock=unlimited
run limited mlock-too-much --set device.memlock=1GiB
run small mlock-too-much --set device.memlock=unlimited --set model.profile=llama-3.2-1b
is 'locking more than there is kills' "$(end_of locked)" 'killed lmkd load'
is 'a limit saves it' "$(end_of limited)" 'completed null null'
ok 'and is told' sh -c 'echo "$1" | grep -q "^mlock: 1.00 GiB of 3.39 GiB"' - "$(of note limited)"
true_that 'what is locked is not read again' \
    "$(of bytes_read limited) < 3826371040 + 2.1 * (3826371040 - 1024 ** 3)"
is 'locking what fits does not kill' "$(end_of small) $(of note small)" 'completed null null null'

# ---- A growing context ----
run short growing-context --set workload.output_tokens=2000 --set workload.kv_type=f16
run long growing-context --set workload.output_tokens=4000 --set workload.kv_type=f16
run half growing-context --set workload.output_tokens=4000 --set workload.kv_type=q8_0
is 'a session of 2000 tokens lives' "$(end_of short) $(of tokens short)" 'completed null null 2000'
is 'one of 4000 dies' "$(end_of long)" 'killed threshold decode'
true_that 'between the two' "2000 < $(of tokens long) && $(of tokens long) < 4000"
# The prompt is token 0, so n finished tokens are 16 + n - 1 in the cache, and the one that kills adds one more. Beside
# it: runtime, activations of a single token (4 * (2 * 3072 + 2 * 8192) + 4 * 128256 bytes), page tables.
rest="150000000 + 4 * (2 * 3072 + 2 * 8192) + 4 * 128256 + $(of peak_page_tables_bytes long)"
true_that 'at the token that can be worked out' "$rest + 114688 * (16 + $(of tokens long)) > 512 * 1024 ** 2"
true_that 'and not before' "$rest + 114688 * (16 + $(of tokens long) - 1) <= 512 * 1024 ** 2"
is 'half the cache, the same session lives' "$(end_of half) $(of tokens half)" 'completed null null 4000'
is 'and its size' "$(of peak_kv_bytes half)" $(((16 + 3999) * 28 * 2 * 1088))
# A windowed model stops growing: half of its layers at 4096 tokens.
run windowed growing-context --set model.profile=gemma-2-2b --set workload.output_tokens=5001 --set workload.kv_type=f16 \
    --set device.kill=none
is 'a windowed cache' "$(of peak_kv_bytes windowed)" $(((16 + 5000) * 53248 + 4096 * 53248))

# ---- Two processes, one file ----
run one two-processes --set loader.processes=1
run two two-processes --set loader.processes=2
is 'the flash reads the file once' "$(of bytes_read two)" "$(of bytes_read one)"
is 'memory holds it once' "$(of peak_file_bytes two)" "$(of peak_file_bytes one)"
true_that 'as a whole' "$(of peak_file_bytes two) > 700e6"
true_that 'the second finds the pages there' "$(of major_faults two) == $(of major_faults one) && $(of minor_faults two) > 1.5 * $(of minor_faults one)"
is 'each process has a row, and a line below the table' "$("$POCKETLOAD" run tests/scenarios/two-processes.ini \
    --set loader.processes=2 --db "$scratch/two.db" 2>&1 | grep -c '^process 1: 1 major .*; process 2: 0 major ') $(
    "$POCKETLOAD" run tests/scenarios/two-processes.ini --db "$scratch/two.db" 2>&1 | grep -c '^process 1: 1 major ') $(
    sqlite3 "$scratch/two.db" 'SELECT group_concat(process) FROM processes GROUP BY run_key ORDER BY 1 DESC LIMIT 1')" '1 1 1,2'
is 'each has a KV cache' "$(of peak_kv_bytes two)" $((2 * $(of peak_kv_bytes one)))
true_that 'and page tables, 8 bytes a page of 4 KiB' \
    "abs($(of peak_page_tables_bytes two) - $(of peak_page_tables_bytes one) - $(of peak_file_bytes one) / 512) < 16384"

# ---- 40 activations, reused or not ----
run reused activations-reused --set loader.reuse=yes
run kept activations-reused --set loader.reuse=no
activation=$((4 * 256 * (2 * 1024 + 2 * 4096) + 4 * 32000))
is 'reused: one' "$(of peak_activation_bytes reused)" $activation
is 'kept: 40' "$(of peak_activation_bytes kept)" $((40 * activation))
run bare activations-reused --set loader.reuse=no --set loader.allocator=none
is 'without an allocator too' "$(of peak_activation_bytes bare)" $((40 * activation))
is 'and nothing else differs in the peak' "$(($(of peak_memory_bytes kept) - $(of peak_memory_bytes reused)))" $((39 * activation))
is 'neither fails' "$(of alloc_failures reused) $(of alloc_failures kept)" '0 0'

# ---- A table tells of swap ----
swap() { "$POCKETLOAD" run tests/scenarios/read-or-mapped.ini --db none -q --set loader.mode=read --set device.kill=none "$@"; }
is 'a table tells what was compressed' \
    "$(swap --set device.zram=4GiB | grep -c '^swap, of all apps: .*iB compressed, .*iB of it brought back; it took .*iB at most$')" 1
is 'where anything was' "$(swap --set device.ram=8GiB --set device.zram=4GiB | grep -c '^swap')" 0

finish
