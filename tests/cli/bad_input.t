#!/bin/sh
# Bad input: one line on stderr that helps, the right exit code, and nothing half-written.
. tests/cli/lib.sh

config=$scratch/config.ini
db=$scratch/bad.db
small_config >"$scratch/small.ini"

# edit SED-SCRIPT: the small config, changed.
edit() {
    sed "$1" "$scratch/small.ini" >"$config"
}

# bad_config CODE PATTERN NAME SED-SCRIPT [OPTION...]
bad_config() {
    b_code=$1 b_pattern=$2 b_name=$3
    edit "$4"
    shift 4
    bad "$b_code" "$b_pattern" "$b_name" run "$config" --db "$db" "$@"
}

# ---- Config ----
bad_config 2 'config\.ini:[0-9]+: .*devise.*device' 'unknown section' 's/^\[device\]/[devise]/'
bad_config 2 'config\.ini:[0-9]+: .*budgt.*budget' 'unknown key' 's/^budget/budgt/'
is 'its line' "$(sed 's/.*config\.ini:\([0-9]*\):.*/\1/' "$scratch/.err")" "$(grep -n budgt "$config" | cut -d: -f1)"
bad_config 2 'config\.ini:[0-9]+: .*chunkd.*chunked' 'unknown value' 's/chunked/chunkd/'
bad_config 2 'config\.ini:[0-9]+: .*lur.*lru' 'unknown policy' 's/lru, fifo/lur/'
bad_config 2 'config\.ini:[0-9]+: .*generic-6bg.*generic-6gb' 'unknown profile' 's/generic-6gb/generic-6bg/'
bad_config 2 'config\.ini:[0-9]+: .*"no-such-phone\.ini": tried .*/no-such-phone\.ini and no-such-phone\.ini$' 'a profile file that is not there' 's/generic-6gb/no-such-phone.ini/'
bad_config 2 'config\.ini:[0-9]+: .*512.*unit' 'a size without a unit' 's/2MiB, 3MiB/512/'
bad_config 2 'config\.ini:[0-9]+: .*99999999999999999999' 'a size that overflows' 's/2MiB, 3MiB/99999999999999999999GiB/'
bad_config 2 'config\.ini:[0-9]+: ' 'a size that overflows by its unit' 's/2MiB, 3MiB/18014398509481984KiB/'
bad_config 2 'config\.ini:[0-9]+: .*0' 'a budget of 0' 's/2MiB, 3MiB/0B/'
bad_config 2 'config\.ini:[0-9]+: .*' 'a budget above RAM' 's/2MiB, 3MiB/64GiB/'
bad_config 2 'config\.ini:[0-9]+: ' 'an empty item in a list' 's/2MiB, 3MiB/2MiB,,3MiB/'
bad_config 2 'config\.ini:[0-9]+: .*' 'a key twice' 's/^name = lru.*/&\nname = fifo/'
bad_config 2 'config\.ini:[0-9]+: .*' 'a line that is neither key nor section' 's/^mode = chunked/&\nnonsense/'
bad_config 2 '^pocketload: --set .*budgt.*budget' 'an unknown key in --set' '' --set loader.budgt=1MiB
bad_config 2 '^pocketload: --set .*' '--set without a value' '' --set loader.budget
edit ''
printf 'x = %0250d\n' 1 >>"$config"
bad 2 'config\.ini:[0-9]+: .*19[0-9]|config\.ini:[0-9]+: .*200' 'a line over the limit' run "$config" --db "$db"
bad 2 'nowhere\.ini' 'a config that is not there' run "$scratch/nowhere.ini" --db "$db"
bad 2 '' 'a folder as a config' run "$scratch" --db "$db"

# ---- Workload and trace ----
trace=$scratch/trace.txt
with_trace() { # the small config with a trace in place of the sequence
    sed "s|^sequence.*|trace = $trace|" "$scratch/small.ini" >"$config"
}
bad_trace() { # CODE PATTERN NAME, for `run` and for `replay`
    with_trace
    bad "$1" "$2" "$3 (run)" run "$config" --db "$db"
}
: >"$trace"
bad_trace 3 'trace\.txt.*empty|trace\.txt.*no ' 'an empty trace'
bad 3 'trace\.txt' 'an empty trace (replay)' replay "$trace" --policy lru --capacity 5obj
printf '0\n1\n2x\n3\n' >"$trace"
bad_trace 3 'trace\.txt:3: .*"2x"' 'a trace line that is not a number'
bad 3 'trace\.txt:3: .*"2x"' 'a trace line that is not a number (replay)' replay "$trace" --policy lru --capacity 5obj
printf '0\n9.5\n' >"$trace"
bad_trace 3 'trace\.txt:2: .*"9\.5"' 'a fraction in a trace'
printf '0 1\n1 9.5\n' >"$trace"
bad_trace 3 'trace\.txt:2: .*"9\.5"' 'a fraction among ids'
printf 'block,step\n0,0\n1,1\n2,0\n' >"$trace"
bad_trace 3 'trace\.txt:4: step 0 behind step 1: ' 'steps out of order'
printf '0\n1\n6\n' >"$trace"
bad_trace 3 'trace\.txt:3: .*6' 'a block id that the model lacks'
printf '0\n99999999999999999999999\n' >"$trace"
bad 3 'trace\.txt:2: ' 'a block id that overflows' replay "$trace" --policy lru --capacity 5obj
bad_config 2 'b9' 'a block name that the model lacks' 's/^sequence = /&b9 /'
rm -f "$trace"
bad 4 'trace\.txt: ' 'a trace that is not there' replay "$trace" --policy lru --capacity 5obj
printf '\050\265\057\375rest that is no frame' >"$trace"
bad 3 'trace\.txt' 'a damaged zstd archive' replay "$trace" --policy lru --capacity 5obj

# CRLF, a BOM and no final newline are all fine, in traces and in configs.
printf '\357\273\2770\r\n1\r\n2\r\n0' >"$trace"
"$POCKETLOAD" replay "$trace" --policy lru --capacity 3obj --format json >"$scratch/crlf.json" 2>&1
is 'a trace with CRLF, BOM and no final newline' "$(json hits "$scratch/crlf.json") $(json misses "$scratch/crlf.json")" '1 3'
{ printf '\357\273\277' && sed 's/$/\r/' "$scratch/small.ini" | head -c -2; } >"$config"
"$POCKETLOAD" run "$scratch/small.ini" --db none --format csv >"$scratch/lf.csv"
"$POCKETLOAD" run "$config" --db none --format csv >"$scratch/crlf.csv" 2>&1
same 'a config with CRLF, BOM and no final newline' "$scratch/crlf.csv" "$scratch/lf.csv"

# ---- Model files ----
gguf=$scratch/model.gguf
# Version 3, one tensor, one key whose length is beyond the file.
printf 'GGUF\003\000\000\000\001\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\377\377\377\177\000\000\000\000abc' >"$gguf"
bad 3 'model\.gguf.*' 'a GGUF file with a length beyond its end' model show "$gguf"
sed "s|^blocks = .*|file = $gguf|" "$scratch/small.ini" >"$config"
bad 3 'model\.gguf.*' 'the same in a config' run "$config" --db "$db"
printf 'not a model' >"$gguf"
bad 3 'model\.gguf.*' 'a file that is no GGUF' model show "$gguf"
bad 4 'nowhere\.gguf.*' 'a GGUF file that is not there' model show "$scratch/nowhere.gguf"

# ---- Databases ----
small=$scratch/small.ini
echo 'this is a letter, not a database' >"$scratch/letter.db"
cp "$scratch/letter.db" "$scratch/letter.copy"
bad 4 'letter\.db' 'a file that is no database' run "$small" --db "$scratch/letter.db"
same 'which stays as it was' "$scratch/letter.db" "$scratch/letter.copy"
bad 4 'letter\.db' 'a file that is no database (plot)' plot "$scratch/letter.db" --out "$scratch/plots"
sqlite3 "$scratch/foreign.db" 'PRAGMA application_id = 77; CREATE TABLE music(title); INSERT INTO music VALUES(1)'
cp "$scratch/foreign.db" "$scratch/foreign.copy"
bad 4 'foreign\.db' "another program's database" run "$small" --db "$scratch/foreign.db"
same 'which stays as it was too' "$scratch/foreign.db" "$scratch/foreign.copy"
bad 4 '' 'a folder as a database' run "$small" --db "$scratch"
bad 4 'nowhere\.db' 'a database that is not there (plot)' plot "$scratch/nowhere.db" --out "$scratch/plots"
"$POCKETLOAD" run "$small" --db "$scratch/newer.db" --quiet >/dev/null
sqlite3 "$scratch/newer.db" 'PRAGMA user_version = 9999'
bad 4 'newer\.db' 'a database of a newer program' run "$small" --db "$scratch/newer.db"

is 'no database, journal or figure was left behind' "$(cd "$scratch" && ls | grep -E 'bad\.db|-wal|-shm|-journal|plots|nowhere')" ''

# ---- Full disks ----
full() { # NAME ARGUMENT...: one line and exit code 4 when stdout is full
    name=$1
    shift
    "$POCKETLOAD" "$@" >/dev/full 2>"$scratch/.err"
    is "$name" "$? $(wc -l <"$scratch/.err")" '4 1'
}
full 'a full disk under the table' run "$small" --db none --quiet
for format in csv json jsonl markdown; do
    full "a full disk under $format" run "$small" --db none --format $format
done
full 'a full disk under a list' device list
full 'a full disk under a help text' run --help
full 'a full disk under the version' --version
for blocks in 16 100 150 250; do # of 512 bytes: too few for the schema, for some of the runs, for their journal
    (
        trap '' XFSZ
        ulimit -f $blocks
        exec "$POCKETLOAD" run "$small" --db "$scratch/tiny$blocks.db" --jobs 1 --format csv >"$scratch/.out" 2>"$scratch/.err"
    )
    is "a disk that fills up at $blocks blocks" "$? $(wc -l <"$scratch/.err")" '4 1'
    is "leaves a sound database" "$(sqlite3 "$scratch/tiny$blocks.db" 'PRAGMA integrity_check' 2>&1)" ok
done

# ---- The command line ----
bad 2 'did you mean run' 'an unknown command' rnu
bad 2 'command' 'no command'
bad 2 'did you mean --jobs' 'an unknown option' run "$small" --jbos 4
bad 2 'option' 'an unknown short option' run "$small" -x
bad 2 '--db.*value' 'an option without its value' run "$small" --db
bad 2 'no value' 'a value too many' run "$small" --force=yes
bad 2 '--jobs' 'a number that is none' run "$small" --jobs many
bad 2 '--jobs' 'no jobs' run "$small" --jobs 0
bad 2 '--shard' 'a shard that is none' run "$small" --shard 3/2
bad 2 'did you mean json' 'an unknown format' run "$small" --format jsno
bad 2 'config' 'run without a config' run
bad 2 'unexpected' 'two configs' run "$small" "$small"
bad 2 'did you mean show' 'an unknown action' device shwo
bad 2 '^pocketload: unknown device "generic-6gbb": did you mean generic-6gb\?$' 'an unknown device' device show generic-6gbb
bad 2 '^pocketload: unknown device "generic-6gbb": did' 'an unknown device (flash)' device flash generic-6gbb --lanes 1 --block 4KiB
bad 2 '^pocketload: unknown model "llama3.2-1b": did you mean llama-3.2-1b\?$' 'an unknown model' model show llama3.2-1b
bad 2 'did you mean lru' 'an unknown policy' policy show lur
bad 2 '--lanes' 'no lanes' device flash generic-6gb --lanes 0 --block 4KiB
bad 2 'unit' 'a block without a unit' device flash generic-6gb --lanes 1 --block 4096
bad 2 '--block' 'no block' device flash generic-6gb --lanes 1

printf '0\n1\n0\n' >"$trace"
bad 2 'no sizes' 'bytes on a trace without sizes' replay "$trace" --policy lru --capacity 1MiB
bad 2 'prefetch-next' 'no note before an error' replay "$trace" --policy prefetch-next,prefetch-nxt --capacity 1obj
bad 2 '--capacity' 'no note before an error of another option' replay "$trace" --policy prefetch-next --capacity 1
bad 2 '--capacity.*missing' 'a replay without a capacity' replay "$trace" --policy lru
bad 2 '--capacity' 'a capacity of nothing' replay "$trace" --policy lru --capacity 0obj
bad 2 'unit' 'a capacity without a unit' replay "$trace" --policy lru --capacity 500
bad 2 '--evict-when.*before_insert' 'an unknown moment' replay "$trace" --policy lru --capacity 1obj --evict-when before_insrt
bad 2 'csv' 'an unknown trace format' replay "$trace" --policy lru --capacity 1obj --trace-format cvs

finish
