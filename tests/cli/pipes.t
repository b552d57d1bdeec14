#!/bin/sh
# Traces that can be read only once, what a run says to them, and names that a terminal must not act on.
. tests/cli/lib.sh

seq 0 99999 >"$scratch/ids"
printf 'block,bytes\na,5\nb,6\na,5\n' >"$scratch/csv"
mkfifo "$scratch/fifo"

accesses() { # of one replay, its trace on standard input too
    "$POCKETLOAD" replay "$1" --policy lru --capacity 10obj --format json 2>"$scratch/.err" >"$scratch/.json" &&
        json accesses "$scratch/.json"
}
for given in - /dev/stdin; do
    # shellcheck disable=SC2002 # a pipe, not a file
    is "ids by a pipe ($given)" "$(cat "$scratch/ids" | accesses "$given")" 100000
    # shellcheck disable=SC2002
    is "csv by a pipe ($given)" "$(cat "$scratch/csv" | accesses "$given")" 3
    is "a file as standard input ($given)" "$(accesses "$given" <"$scratch/ids")" 100000
done
cat "$scratch/ids" >"$scratch/fifo" &
is 'ids by a named pipe' "$(accesses "$scratch/fifo")" 100000
# shellcheck disable=SC2002
is 'trace show -' "$(cat "$scratch/ids" | "$POCKETLOAD" trace show - | awk '$1 == "steps" { print $2 }')" 100000
bad_place=$(printf '1\n2\nx\n' | "$POCKETLOAD" replay - --policy lru --capacity 1obj 2>&1)
is 'an error names standard input' "${bad_place%%: found*}" 'pocketload: standard input:3'

# A run reads its trace more than once: for its key, and for each worker.
for trace in "$scratch/fifo" /dev/null; do
    small_config | sed "s|^sequence.*|trace = $trace|" >"$scratch/fifo.ini"
    bad 4 'fifo\.ini:[0-9]+: workload\.trace: .*not a regular file' "a run refuses $(basename "$trace")" \
        run "$scratch/fifo.ini" --db none
done

printf 'block,bytes\na\302\2332Jb,0\n' >"$scratch/names"
bad 3 'names:2: ' 'C1 in a name' replay "$scratch/names" --policy lru --capacity 1obj
printf 'block,token\na\302\2332Jb\377,x\n' >"$scratch/names"
bad 3 'names:2: ' 'C1 and no UTF-8 in a name' replay "$scratch/names" --policy lru --capacity 1obj
is 'no C1 and no byte above ASCII on stderr' "$(LC_ALL=C tr -d '\0-\177' <"$scratch/.err" | wc -c)" 0
bad 2 '' 'C1 in an argument' replay "$scratch/names" --policy "$(printf 'l\302\233\377ru')" --capacity 1obj
is 'nor of an argument' "$(LC_ALL=C tr -d '\0-\177' <"$scratch/.err" | wc -c)" 0

sed 's|^flash_stream.*|flash_stream = 1B/s|' configs/devices/generic-6gb.ini >"$scratch/slow.ini"
bad 2 '18 minutes' 'a read that takes for ever' device flash "$scratch/slow.ini" --lanes 1 --block 16GiB

finish
