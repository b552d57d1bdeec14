#!/bin/sh
# `run`: results, the database, and what must not change them: jobs, shards, interruptions.
. tests/cli/lib.sh

small_config >"$scratch/small.ini"
run() {
    "$POCKETLOAD" run "$@"
}
count_runs() {
    sql "$1" 'SELECT count(*) FROM run'
}

# ---- The smallest teaching case ----
run configs/five-blocks.ini --set loader.budget=1536MB --set policy.name=lru --db none --format json >"$scratch/five.json"
is 'five blocks at 1536 MB: hits, misses, peak' "$(json hits "$scratch/five.json") $(json misses "$scratch/five.json") $(json peak_weights_bytes "$scratch/five.json")" '0 11 1536000000'
run configs/five-blocks.ini --set loader.budget=2816MB --set policy.name=lru --db none --format json >"$scratch/five.json"
is 'five blocks at 2816 MB: hits, misses' "$(json hits "$scratch/five.json") $(json misses "$scratch/five.json")" '7 4'

# ---- Jobs ----
for jobs in 1 4; do
    for format in csv json jsonl markdown; do
        run "$scratch/small.ini" --db "$scratch/jobs$jobs.db" --force --jobs $jobs --format $format >"$scratch/jobs$jobs.$format"
    done
    run "$scratch/small.ini" --db none --jobs $jobs --quiet >"$scratch/jobs$jobs.table"
done
for format in csv json jsonl markdown table; do
    same "$format is the same with 1 and 4 jobs" "$scratch/jobs1.$format" "$scratch/jobs4.$format"
done
dump() { # all but the order in which runs were stored
    sql "$1" 'SELECT run_key, policy, budget_bytes, hits, misses, evictions, bytes_read, virtual_time_ns, peak_memory_bytes
        FROM run ORDER BY run_key; SELECT * FROM token ORDER BY run_key, token'
}
dump "$scratch/jobs1.db" >"$scratch/jobs1.dump"
dump "$scratch/jobs4.db" >"$scratch/jobs4.dump"
ok 'the databases hold something' test -s "$scratch/jobs1.dump"
same 'and the same' "$scratch/jobs1.dump" "$scratch/jobs4.dump"

# ---- Formats ----
ok 'json is valid' perl -MJSON::PP -e 'local $/; my $v = decode_json(<STDIN>); exit !(@$v == 8)' <"$scratch/jobs1.json"
ok 'each line of jsonl is valid' perl -MJSON::PP -ne 'decode_json($_); $n++; END { exit !($n == 8) }' <"$scratch/jobs1.jsonl"
is 'json and csv have the columns of the table run' \
    "$(perl -MJSON::PP -e 'local $/; print join ",", sort keys %{decode_json(<STDIN>)->[0]}' <"$scratch/jobs1.json")" \
    "$(sed 1q "$scratch/jobs1.csv" | tr -d '\r' | tr , '\n' | LC_ALL=C sort | paste -sd, -)"
is 'csv has a line for each run' "$(wc -l <"$scratch/jobs1.csv")" 9
is 'times add up in every run' "$(sql "$scratch/jobs1.db" \
    'SELECT count(*) FROM run WHERE virtual_time_ns = load_ns + compute_ns + stall_ns + idle_ns AND accesses = hits + delayed_hits + misses')" 8

# ---- Records read back ----
run "$scratch/small.ini" --db "$scratch/back.db" --format json >"$scratch/fresh.json"
run "$scratch/small.ini" --db "$scratch/back.db" --format json >"$scratch/stored.json"
same 'records that are read back are those that were computed' "$scratch/fresh.json" "$scratch/stored.json"
is 'the database is one file' "$(cd "$scratch" && ls back.db*)" back.db
run "$scratch/small.ini" --db "$scratch/pipe.db" --force --format jsonl | sed 1q >"$scratch/first.jsonl"
is 'nor when the reader of the output goes away' "$(cd "$scratch" && ls pipe.db*)" pipe.db
run "$scratch/small.ini" --db "$scratch/back.db" >"$scratch/second.table" 2>"$scratch/second.err"
ok 'a second run says that it ran nothing' grep -q '8 of 8' "$scratch/second.err"
same 'and prints the same table' "$scratch/second.table" "$scratch/jobs1.table"
sqlite3 "$scratch/back.db" 'UPDATE run SET evictions = evictions + 1000'
run "$scratch/small.ini" --db "$scratch/back.db" --format csv >"$scratch/kept.csv"
ok 'without --force what is stored is believed' test "$(cmp -s "$scratch/kept.csv" "$scratch/jobs1.csv" && echo same)" != same
run "$scratch/small.ini" --db "$scratch/back.db" --force --format csv >"$scratch/forced.csv"
same '--force runs again' "$scratch/forced.csv" "$scratch/jobs1.csv"
is 'and stores each run once' "$(count_runs "$scratch/back.db")" 8
run "$scratch/small.ini" --db "$scratch/back.db" --set 'policy.name=lru,fifo,pinned-lru' --format csv >"$scratch/more.csv"
is 'a larger grid adds what is new' "$(count_runs "$scratch/back.db")" 12

# ---- A run that fails is its own matter ----
printf '0\n1\n0\n' >"$scratch/good.txt"
printf '0\n1\nzero\n' >"$scratch/bad.txt"
printf '0\n1\n2\n' >"$scratch/also_good.txt"
sed "s/^sequence.*/trace = good.txt, bad.txt, also_good.txt/" "$scratch/small.ini" >"$scratch/some.ini"
run "$scratch/some.ini" --db "$scratch/some.db" --format csv >"$scratch/some.csv" 2>"$scratch/some.err"
is 'the exit code is that of the runs that failed, which tell why, once' \
    "$? $(wc -l <"$scratch/some.err") $(grep -c 'bad.txt:3: ' "$scratch/some.err")" '3 1 1'
is 'the others are there' "$(tail -n +2 "$scratch/some.csv" | wc -l) $(count_runs "$scratch/some.db")" '16 16'

# ---- Shards ----
for i in 1 2 3; do
    run "$scratch/small.ini" --db "$scratch/shards.db" --shard $i/3 --format csv >"$scratch/shard$i.csv"
done
is 'shards together are the whole' "$(count_runs "$scratch/shards.db")" 8
tail -q -n +2 "$scratch/shard1.csv" "$scratch/shard2.csv" "$scratch/shard3.csv" | LC_ALL=C sort >"$scratch/union.csv"
tail -n +2 "$scratch/jobs1.csv" | LC_ALL=C sort >"$scratch/whole.csv"
same 'and each run is in one of them' "$scratch/union.csv" "$scratch/whole.csv"
(
    run "$scratch/small.ini" --db "$scratch/both.db" --shard 1/2 --quiet >/dev/null 2>"$scratch/one.err" &
    run "$scratch/small.ini" --db "$scratch/both.db" --shard 2/2 --quiet >/dev/null 2>"$scratch/two.err" &
    wait
)
is 'two processes write one database' "$(count_runs "$scratch/both.db")$(cat "$scratch/one.err" "$scratch/two.err")" 8

# ---- Plots ----
"$POCKETLOAD" plot "$scratch/back.db" --out "$scratch/figures" >"$scratch/figures.list"
is 'plot ends well' $? 0
ok 'and names figures' test -s "$scratch/figures.list"
lacking=
while read -r figure; do
    [ -s "$figure" ] || lacking="$lacking $figure"
done <"$scratch/figures.list"
is 'that are there' "$lacking" ''
for figure in "$scratch"/figures/*.svg; do
    base=${figure%.svg}
    ok "${base##*/} has text, and its script and data beside it" \
        sh -c 'grep -q "<text" "$1.svg" && test -s "$1.png" -a -s "$1.gp" -a -s "$1.csv"' - "$base"
done
bad 4 'smal"' 'plot of an experiment that is not there' plot "$scratch/back.db" --out "$scratch/nothing" --experiment smal
ok 'makes no folder' test ! -e "$scratch/nothing"

# The same runs under another name are found in the database, and plotted under that name.
run "$scratch/small.ini" --set experiment.name=other --db "$scratch/back.db" --quiet >/dev/null
"$POCKETLOAD" plot "$scratch/back.db" --out "$scratch/other" >"$scratch/other.list"
ok 'stored runs belong to a second experiment too' sh -c 'grep -q "other" "$1"/other/hit_rate.svg' - "$scratch"

# ---- Kills ----
run configs/five-blocks.ini --set device.kill=threshold --set device.kill_threshold=1GB --db none --format json >"$scratch/killed.json"
is 'a kill is a result' "$? $(json outcome "$scratch/killed.json") $(json killed_by "$scratch/killed.json")" '0 killed threshold'
run configs/five-blocks.ini --set device.kill=threshold --set device.kill_threshold=1GB --db none --quiet --fail-on-kill >/dev/null
is 'and an exit code with --fail-on-kill' $? 5

# ---- kill -9 in the middle, then again ----
cat >"$scratch/long.ini" <<END
[experiment]
name = long
seed = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16

[device]
profile = generic-6gb

[model]
blocks = 64 x 1MiB

[workload]
kind = dense
prompt_tokens = 0
output_tokens = 1500

[loader]
mode = chunked
budget = 8MiB, 16MiB

[policy]
name = lru, fifo
END
total=$(run "$scratch/long.ini" --db none --shard 1/1 --format csv --set experiment.seed=1 | tail -n +2 | wc -l)
wait_for_runs() { # FILE COUNT
    for _ in $(seq 200); do
        stored=$(sql "$1" 'SELECT count(*) FROM run' 2>/dev/null) || stored=0
        [ "${stored:-0}" -ge "$2" ] && break
        sleep 0.05
    done
}
"$POCKETLOAD" run "$scratch/long.ini" --db "$scratch/long.db" --jobs 2 --quiet >/dev/null 2>&1 &
pid=$!
wait_for_runs "$scratch/long.db" 2
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
is 'it was killed in the middle' "$?" 137
is 'the database is sound after kill -9' "$(sqlite3 "$scratch/long.db" 'PRAGMA integrity_check')" ok
is 'every run in it is whole' "$(sqlite3 "$scratch/long.db" 'SELECT count(*) FROM run r WHERE tokens != (SELECT count(*) FROM token t WHERE t.run_key = r.run_key)')" 0
before=$(count_runs "$scratch/long.db")
ok 'it holds some runs and not all' test "$before" -ge 2 -a "$before" -lt $((total * 16))
run "$scratch/long.ini" --db "$scratch/long.db" --quiet >/dev/null
is 'the next run does the rest' "$? $(count_runs "$scratch/long.db")" "0 $((total * 16))"
is 'and leaves one file' "$(cd "$scratch" && ls long.db*)" long.db

# ---- Signals ----
# A shell lets its background jobs ignore SIGINT; they get it back here. For the background alone.
with_signals() {
    exec perl -e '$SIG{$_} = "DEFAULT" for qw(INT TERM HUP PIPE); exec @ARGV or die' "$@"
}
for signal in INT:130 TERM:143 HUP:129; do
    sig=${signal%:*} jobs=1
    [ "$sig" = INT ] && jobs=2
    db=$scratch/$sig.db
    with_signals "$POCKETLOAD" run "$scratch/long.ini" --db "$db" --jobs $jobs >"$scratch/$sig.out" 2>"$scratch/$sig.err" &
    pid=$!
    wait_for_runs "$db" 2
    workers=$(sed -n "/^Pid:/{s/.*\t//;h};/^PPid:\t$pid\$/{g;p}" /proc/[0-9]*/status 2>/dev/null | tr '\n' ' ')
    kill -"$sig" "$pid"
    wait "$pid" 2>/dev/null
    is "SIG$sig ends a run, and is what the caller sees" $? "${signal#*:}"
    is "SIG$sig: the database is one file" "$(cd "$scratch" && ls "$sig".db*)" "$sig.db"
    is "SIG$sig: it is told in one line, with the runs that are stored" "$(cat "$scratch/$sig.err" "$scratch/$sig.out")" \
        "pocketload: stopped by SIG$sig: $(count_runs "$db") of 64 runs are stored in $db; the same command goes on"
    ok "SIG$sig: not all are" test "$(count_runs "$db")" -lt 64
    is "SIG$sig: there were $jobs workers" "$(echo "$workers" | wc -w)" "$jobs"
    # shellcheck disable=SC2086 # a list of processes
    ok "SIG$sig: they are gone" sh -c '! kill -0 "$@" 2>/dev/null' - $workers
done
run "$scratch/long.ini" --db "$scratch/INT.db" --quiet >/dev/null
is 'the same command goes on' "$? $(count_runs "$scratch/INT.db")" '0 64'

sed 's/output_tokens.*/output_tokens = 400000/; s/^seed.*/seed = 1/; s/^budget.*/budget = 8MiB/' "$scratch/long.ini" >"$scratch/endless.ini"
with_signals "$POCKETLOAD" run "$scratch/endless.ini" --db "$scratch/none.db" --jobs 1 2>"$scratch/endless.err" &
pid=$!
sleep 0.5
kill -INT "$pid"
before=$(date +%s%N)
wait "$pid" 2>/dev/null
status=$?
took=$((($(date +%s%N) - before) / 1000000))
is 'a single long run is stopped, too' "$status $(cat "$scratch/endless.err")" '130 pocketload: stopped by SIGINT before a run was finished'
ok "at once ($took ms)" test "$took" -lt 1000
ok 'and leaves no file behind' test ! -e "$scratch/none.db"
(
    trap '' INT
    "$POCKETLOAD" run "$scratch/endless.ini" --db none --set workload.output_tokens=100000 --set policy.name=lru --quiet \
        --format csv >"$scratch/ignored.csv" &
    pid=$!
    sleep 0.1
    kill -INT "$pid" && wait "$pid"
    echo $? >"$scratch/ignored.status"
)
is 'who ignores SIGINT is not stopped by it' "$(cat "$scratch/ignored.status") $(wc -l <"$scratch/ignored.csv")" '0 2'

# A reader in a transaction keeps `run` waiting for the database: long enough for a second signal.
mkfifo "$scratch/statements"
sqlite3 "$scratch/INT.db" <"$scratch/statements" >/dev/null &
reader=$!
exec 3>"$scratch/statements"
echo 'BEGIN; SELECT count(*) FROM run;' >&3
for _ in $(seq 200); do
    sqlite3 "$scratch/INT.db" 'BEGIN EXCLUSIVE' 2>/dev/null || break
    sleep 0.05
done
for signals in 'INT INT 130' 'INT TERM 143'; do
    # shellcheck disable=SC2086 # three words
    set -- $signals
    with_signals "$POCKETLOAD" run "$scratch/long.ini" --db "$scratch/INT.db" --quiet >/dev/null 2>&1 3>&- &
    pid=$!
    sleep 0.5
    kill -"$1" "$pid"
    sleep 0.3
    ok "SIG$1 waits for the database" kill -0 "$pid"
    before=$(date +%s%N)
    kill -"$2" "$pid"
    (sleep 5 && kill -9 "$pid") >/dev/null 2>&1 3>&- &
    guard=$!
    wait "$pid" 2>/dev/null
    status=$?
    took=$((($(date +%s%N) - before) / 1000000))
    kill "$guard" 2>/dev/null
    is "a SIG$2 after it ends the run" "$status" "$3"
    ok "at once ($took ms)" test "$took" -lt 1000
done
with_signals "$POCKETLOAD" run "$scratch/long.ini" --db "$scratch/INT.db" --quiet >/dev/null 2>&1 3>&- &
pid=$!
sleep 0.5
exec 3>&-
wait "$reader"
wait "$pid"
is 'it goes on when the reader is gone' "$? $(cd "$scratch" && ls INT.db*)" '0 INT.db'

# timeout(1) sends its signal twice, to the process and to its group; that is one wish.
hasty=0
for _ in $(seq 30); do
    timeout 0.2 "$POCKETLOAD" run "$scratch/endless.ini" --db none --jobs 1 --quiet 2>"$scratch/twice.err"
    grep -q 'stopped by SIGTERM' "$scratch/twice.err" || hasty=$((hasty + 1))
done
is 'a signal that comes twice at the same moment is one' "$hasty" 0

{
    sleep 0.3
    (with_signals "$POCKETLOAD" run "$scratch/some.ini" --db "$scratch/deaf.db" --jobs 1 --format csv >"$scratch/deaf.csv")
    echo $? >"$scratch/deaf.status"
} 2>&1 | true
is 'who reads the errors may go away in the middle' \
    "$(cat "$scratch/deaf.status") $(count_runs "$scratch/deaf.db") $(cd "$scratch" && ls deaf.db*)" '3 16 deaf.db'

# ---- A limit of time ----
bad 2 'timeout.*"soon"' 'a time limit that is none' run "$scratch/small.ini" --timeout soon
bad 2 'timeout.*0s is less than 1ms' 'a time limit of nothing' run "$scratch/small.ini" --timeout 0s
bad 1 'long: run 1 \(lru\): took longer than 300ms' 'a run that takes too long is an error' \
    run "$scratch/endless.ini" --set policy.name=lru --db none --timeout 300ms
run "$scratch/endless.ini" --set 'workload.output_tokens=400000,10' --set policy.name=lru --db none --timeout 300ms --jobs 1 \
    --format csv >"$scratch/limited.csv" 2>"$scratch/limited.err"
is 'of that run alone' \
    "$? $(wc -l <"$scratch/limited.csv") $(wc -l <"$scratch/limited.err") $(grep -c 'failed,took longer than 300ms' "$scratch/limited.csv")" '1 3 1 1'

# ---- Defaults ----
ln -s "$PWD/configs" "$scratch/configs"
(cd "$scratch" && run small.ini --quiet >/dev/null)
is 'the default database' "$? $(count_runs "$scratch/results/runs.db")" '0 8'
NO_COLOR=1 run "$scratch/small.ini" --db none 2>"$scratch/notes" >"$scratch/plain"
ok 'no colours in a file' test "$(grep -c "$(printf '\033')" "$scratch/plain")" = 0
ok 'a budget below the cycle is noted' grep -q 'cycle' "$scratch/notes"

finish
