#!/bin/sh
# `replay`: bounds, words, worker processes, lots.
. tests/cli/lib.sh

replay() {
    "$POCKETLOAD" replay "$@"
}
awk 'BEGIN { for (i = 0; i < 320; i++) print i % 32 }' >"$scratch/loop"
# A skewed choice among 500, by a generator of its own: the same everywhere.
awk 'BEGIN { x = 12345; for (i = 0; i < 20000; i++) { x = (x * 1103 + 12345) % 1048573; y = (x * 7 + i) % 499 + 1;
    print 1 + x % y } }' >"$scratch/skewed"
printf 'block,bytes\n1,1048576\n2,2097152\n1,1048576\n3,1048576\n2,2097152\n' >"$scratch/sized.csv"

# ---- Bounds ----
replay "$scratch/loop" --policy lru,sieve --capacity 24obj,48obj >"$scratch/table"
is 'each capacity ends with the bounds' "$(grep -o ' \(lru\|sieve\|belady (bound)\|infinite (bound)\) ' "$scratch/table" | tr -d ' ' | paste -sd' ' -)" \
    'lru sieve belady(bound) infinite(bound) lru sieve belady(bound) infinite(bound)'
is 'the infinite cache misses each block once' "$(awk '/infinite/ { print $6 }' "$scratch/table" | paste -sd' ' -)" '288 288'
ok 'a loop under its cycle is told in words' grep -qx 'capacity 24obj is 0.75 of the cycle (32 blocks): LRU and FIFO hit nothing on a pure loop' "$scratch/table"
ok 'cycle and working set' grep -q 'working set 32 blocks; cycle 32 blocks (a pure loop)' "$scratch/table"
ok 'policies that hit the same are told' grep -qx 'both policies hit the same at 48obj: none is better here' "$scratch/table"
is '--no-bounds' "$(replay "$scratch/loop" --policy lru --capacity 24obj --no-bounds | grep -c bound)" 0
is 'belady is not there twice' "$(replay "$scratch/loop" --policy lru,belady --capacity 24obj | grep -c belady)" 1
is 'and stands at the end, wherever it was named' "$(replay "$scratch/loop" --policy belady,lru,fifo --capacity 24obj | awk 'f { print $2 } /^trace / { f = 1 }' | paste -sd' ' -)" \
    'lru fifo belady infinite'
is 'alone it is a policy like others' "$(replay "$scratch/loop" --policy belady --capacity 24obj | awk 'f { print $2 } /^trace / { f = 1 }' | paste -sd' ' -)" 'belady infinite'
replay "$scratch/loop" --policy lru --capacity 24obj --format csv >"$scratch/plain.csv"
is 'records have no bounds' "$(wc -l <"$scratch/plain.csv")" 2
replay "$scratch/loop" --policy lru --capacity 24obj,1obj --format csv --bounds >"$scratch/bounds.csv"
is 'unless asked for' "$(tail -n +2 "$scratch/bounds.csv" | cut -d, -f2,3 | paste -sd' ' -)" \
    'lru,24obj belady,24obj infinite,24obj lru,1obj belady,1obj infinite,1obj'
ok 'for unequal sizes belady is no bound, which is said' sh -c '"$0" replay "$1" --policy lru --capacity 3MiB | grep -q "and is no bound"' "$POCKETLOAD" "$scratch/sized.csv"
ok 'a pin rule may pass the bounds, which is said' sh -c '"$0" replay "$1" --policy pinned-lru --capacity 9obj | grep -q "bounds do not hold"' "$POCKETLOAD" "$scratch/skewed"
ok 'so may a policy that refuses blocks' sh -c '"$0" replay "$1" --policy belady-bypass --capacity 3obj | grep -q "belady-bypass hits more than belady at 3obj"' "$POCKETLOAD" "$scratch/skewed"
ok 'markdown has words and a table' sh -c '"$0" replay "$1" --policy lru --capacity 24obj --format markdown | grep -A1 "^capacity 24obj is" | tail -1 | grep -qx ""' "$POCKETLOAD" "$scratch/loop"

# ---- Jobs ----
policies=lru,fifo,sieve,s3-fifo,arc,random,belady
for jobs in 1 2 5; do
    replay "$scratch/skewed" --policy $policies --capacity 5obj,10%,50%,80% --jobs $jobs --format csv >"$scratch/jobs$jobs.csv"
done
is 'a record for each policy and capacity' "$(wc -l <"$scratch/jobs1.csv")" 29
is 'in the order asked for' "$(tail -n +2 "$scratch/jobs5.csv" | cut -d, -f3 | uniq | paste -sd' ' -)" '5obj 10% 50% 80%'
same 'the same with 2 jobs' "$scratch/jobs1.csv" "$scratch/jobs2.csv"
same 'and with 5' "$scratch/jobs1.csv" "$scratch/jobs5.csv"

# ---- Lots ----
hits() { # of random with these options
    replay "$scratch/skewed" --policy random --capacity 10% --format json "$@" >"$scratch/random.json"
    json hits "$scratch/random.json"
}
is 'the same seed draws the same lots' "$(hits --seed 7)" "$(hits --seed 7)"
is 'the default is 1' "$(hits)" "$(hits --seed 1)"
ok 'another seed draws others' test "$(hits --seed 1) $(hits --seed 2) $(hits --seed 3)" != "$(hits) $(hits) $(hits)"

# ---- What a policy says of itself ----
replay "$scratch/loop" --policy s3-fifo --capacity 10obj,12obj,48obj --format json >"$scratch/note.json"
ok 'is in the record' test -n "$(json note "$scratch/note.json" | grep kept)"
is 'at the capacities where it holds' "$(grep -o '"note": null' "$scratch/note.json" | wc -l)" 1
ok 'and once below the table' sh -c '"$0" replay "$1" --policy s3-fifo --capacity 10obj,12obj,48obj | tail -1 | grep -q "^note: s3-fifo at 10obj .. 12obj (2 capacities): "' "$POCKETLOAD" "$scratch/loop"

# ---- Bad input ----
bad 2 '--jobs.*0' 'no jobs' replay "$scratch/loop" --policy lru --capacity 1obj --jobs 0
bad 2 '--timeout' 'a limit of nothing' replay "$scratch/loop" --policy lru --capacity 1obj --timeout 10us
bad 2 '--seed' 'a seed that is no number' replay "$scratch/loop" --policy lru --capacity 1obj --seed x
bad 2 '--no-bounds is given beside --bounds' 'both' replay "$scratch/loop" --policy lru --capacity 1obj --bounds --no-bounds
bad 2 'lru.blocks.nobody. at 1obj: .*nobody' 'a policy that does not fit the trace, before any record' \
    replay "$scratch/loop" --policy 'fifo,lru+blocks(nobody)' --capacity 1obj
# A policy that releases blocks may hold fewer at a token's end than at its start: no count may go below 0 for it.
awk 'BEGIN { print "block,bytes,token"; x = 1
    for (t = 0; t < 600; t++) { x = (x * 1103515245 + 12345) % 2147483648
        printf "b%d,3,%d\n", int(x / 65536) % (int(x / 7) % 3 ? 12 : 30), t } }' >"$scratch/tokens.csv"
"$POCKETLOAD" replay "$scratch/tokens.csv" --policy 'lirs(hir=40%),2q,slru' --capacity 12obj --format csv >"$scratch/tokens.out"
is 'evictions add up over tokens' "$(awk -F, 'NR > 1 { print ($11 > 0 && $11 < $7) }' "$scratch/tokens.out" | sort | uniq -c | tr -s ' ')" ' 3 1'

finish
