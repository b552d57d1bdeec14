#!/bin/sh
# `policy new`, `policy check`, and plug-ins in `replay` and `run`: built-ins as plug-ins give the same records, and a bad
# one ends its own runs alone.
. tests/cli/lib.sh

root=$PWD
program=$(realpath "$POCKETLOAD")
work=$scratch/work
mkdir "$work"
# What `policy new` and `run` look for beside a program that lies outside the source tree.
ln -s "$root/policies" "$root/configs" "$work/"
small_config >"$work/small.ini"
perl -e 'srand 1; print int(rand(12)) * int(rand(12)), "\n" for 1 .. 4000' >"$work/ids"
cd "$work" || exit 1
# A sanitizer would report a plug-in's crash at length, as its own.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0" UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}handle_segv=0"
POCKETLOAD=$program

compile() { # SOURCE OBJECT FLAG...
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086 # CC may be several words
    ${CC:-cc} -std=c17 -O2 -w -D_GNU_SOURCE -fPIC -shared -I "$root" "$@" "$root/$source" -o "$object"
}

# ---- A new policy ----
for kind in evict pin prefetch admit; do
    mine=my-$kind
    "$POCKETLOAD" policy new "$mine" --kind $kind >"$mine.out" 2>"$mine.err"
    is "policy new --kind $kind" $? 0
    is "$kind: nothing on stderr" "$(cat "$mine.err")" ''
    ok "$kind: has its name" grep -q "\.name = \"$mine\"" "$mine.c"
    ok "$kind: no trace of the template's" sh -c '! grep -q template "$1"' - "$mine.c"
    # The three commands that it prints: build, check, run.
    sed -n 's/^  \(cc \)/\1/p' "$mine.out" >build.sh
    sed -n 's/^  \(.* policy check \)/\1/p' "$mine.out" >check.sh
    sed -n 's/^  \(.* run \)/\1/p' "$mine.out" >run.sh
    ok "$kind: the command that builds it" sh build.sh
    ok "$kind: builds $mine.so" test -s "$mine.so"
    [ "$(sed 's/ .*//' check.sh)" = pocketload ] || ok "$kind: the command that checks it" sh check.sh
    ok "$kind: keeps the rules" "$POCKETLOAD" policy check "./$mine.so"
    [ "$(sed 's/ .*//' run.sh)" = pocketload ] || ok "$kind: the command that runs it" sh run.sh
    parts=./$mine.so
    [ $kind = evict ] || parts=lru+$parts
    "$POCKETLOAD" run small.ini --set "policy.name=lru,$parts" --db none --format csv >"$mine.csv" 2>"$mine.err"
    is "$kind: appears in a comparison" "$(grep -c ",$parts," "$mine.csv") $(grep -c ',lru,lru,' "$mine.csv")" '4 4'
    "$POCKETLOAD" policy show "./$mine.so" --format json >"$mine.json"
    is "$kind: policy show" "$(json policy "$mine.json") $(json kind "$mine.json")" "$mine $kind"
done
is 'an eviction policy of one command is LRU' \
    "$(grep ',./my-evict.so,' my-evict.csv | cut -d, -f12- | sort)" "$(grep ',lru,lru,' my-evict.csv | cut -d, -f12- | sort)"
cp my-evict.c kept.c
bad 2 'my-evict\.c is there already' 'nothing is overwritten' policy new my-evict
same 'nor changed' my-evict.c kept.c
for name in Mine 9lives my_own a/b '' a-name-of-more-than-31-characters; do
    bad 2 'is no name; expected a letter, then' "not a name: \"$name\"" policy new -- "$name"
done
bad 2 'NAME is missing' 'no name' policy new
bad 2 'unknown kind "admin": did you mean admit\?' 'not a kind' policy new mine --kind admin
ok 'then nothing is written' test ! -e mine.c


# ---- Check ----
for policy in lru 'next(depth=64)' hot blocks 'probabilistic:10%'; do
    "$POCKETLOAD" policy check "$policy" >check.out 2>&1
    is "policy check $policy" "$? $(grep -c '^ok - ' check.out) $(grep -c '^not ok' check.out)" \
        "0 $(($(wc -l <check.out) - 1)) 0"
done
bad 2 'unknown policy "lruu": did you mean lru\?' 'check of nobody' policy check lruu
bad 2 'policy \./nobody\.so: no such file' 'check of no file' policy check ./nobody.so
bad 2 'is a preset; expected one of its parts: lru\+hot' 'check of a preset' policy check pinned-lru
bad 2 'POLICY is missing' 'check of nothing' policy check
for defect in CRASH LOOP ENDS PINNED VERSION CONSTRUCTOR; do
    extra=
    [ $defect != CONSTRUCTOR ] || extra=-DWANTS_CONSTRUCTOR
    # shellcheck disable=SC2086 # none or one word
    compile tests/cli/plugins/bad.c $defect.so -DDEFECT=$defect $extra
done
compile tests/cli/plugins/bad.c NO_SYMBOL.so -DWANTS_NO_SYMBOL
while IFS='|' read -r defect pattern; do
    "$POCKETLOAD" policy check "./$defect.so" >check.out 2>check.err
    is "policy check finds $defect" "$? $(grep -Ec "^not ok - .*$pattern" check.out) $(wc -l <check.err)" '1 1 0'
done <<'END'
CRASH|: victim\(\) crashed: signal 11 \(Segmentation fault\); scene "equal blocks", seed 1, step [0-9]+$
LOOP|: victim\(\) took longer than 5\.0 s; scene
ENDS|: victim\(\) ended the process \(exit code 3\); scene
PINNED|: victim\(\) answers with block 0: it is pinned; scene
VERSION|: contract version 7, this program speaks 1$
CONSTRUCTOR|: loading it crashed: signal 11 \(Segmentation fault\)$
NO_SYMBOL|: it exports no symbol `policy`, expected `const struct policy policy`$
END

compile tests/cli/plugins/bad.c NAMES.so -DDEFECT=NAMES -O0
ok "a plug-in's functions are its own, whatever the program's are called" "$POCKETLOAD" policy check ./NAMES.so

# ---- Built-ins as plug-ins ----
# The same source with its table under the name that is looked up: records are equal but for names and keys.
compile policies/lru.c lru.so -Dpolicy_lru=policy
compile policies/fifo.c fifo.so -Dpolicy_fifo=policy
compile policies/arc.c arc.so -Dpolicy_arc=policy -ffp-contract=off
compile policies/pin_hot.c hot.so -Dpolicy_hot=policy
compile policies/prefetch_next.c next.so -Dpolicy_next=policy
compile policies/admit_large.c bypass-large.so -Dpolicy_bypass_large=policy
plain() {
    sed 's/\.\/\([a-z-]*\)\.so/\1/g'
}
capacities='1obj,5obj,20obj,10%,50%'
"$POCKETLOAD" replay ids --policy 'lru,fifo,arc,lru+hot' --capacity "$capacities" --format csv >built-in.csv
"$POCKETLOAD" replay ids --policy './lru.so,fifo.so,./arc.so,./lru.so+./hot.so' --capacity "$capacities" --format csv >plug-in.csv
sed 's/^\(ids\),fifo\.so,/\1,fifo,/' plug-in.csv | plain >plain.csv
is 'a replay has records' "$(wc -l <built-in.csv)" 21
same 'built-ins as plug-ins in a replay' plain.csv built-in.csv
policies='lru,fifo,arc+hot+next(depth=2),lru+next+bypass-large(share=0.1)'
"$POCKETLOAD" run small.ini --set "policy.name=$policies" --db none --format csv | cut -d, -f2- >built-in.csv
"$POCKETLOAD" run small.ini --db none --format csv \
    --set 'policy.name=./lru.so,./fifo.so,./arc.so+./hot.so+./next.so(depth=2),./lru.so+./next.so:1+./bypass-large.so:10%' |
    cut -d, -f2- | plain >plug-in.csv
is 'a run has records' "$(wc -l <built-in.csv)" 17
same 'built-ins as plug-ins in a run' plug-in.csv built-in.csv
# By parts, as a config may give them, in the current folder without a slash.
"$POCKETLOAD" run small.ini --db none --format csv --set policy.evict=lru --set policy.pin=hot | cut -d, -f2- >built-in.csv
"$POCKETLOAD" run small.ini --db none --format csv --set policy.evict=./lru.so --set policy.pin=./hot.so |
    cut -d, -f2- | plain >plug-in.csv
same 'by parts' plug-in.csv built-in.csv
bad 2 'is an eviction policy, not a pin rule' 'a plug-in of another kind' run small.ini --set policy.evict=lru --set policy.pin=./lru.so --db none

# ---- Bad ones in replay and run ----
hostile() { # NAME DEFECT PATTERN ARGUMENT...
    what=$1 defect=$2 reason=$3
    shift 3
    "$POCKETLOAD" "$@" --format csv >bad.out 2>bad.err </dev/null
    is "$what: exit code, lines on stderr, the others' records" \
        "$? $(wc -l <bad.err) $(grep -c ',lru,' bad.out) $(grep -c ',fifo,' bad.out)" '1 1 1 1'
    ok "$what: says why" grep -Eq "^pocketload: .*($defect\.so|'bad').*$reason" bad.err
}
while IFS='|' read -r defect parts reason; do
    hostile "replay with $defect" $defect "$reason" replay ids --policy "lru,./$defect.so$parts,fifo" --capacity 20obj --timeout 2s
    hostile "run with $defect" $defect "$reason" run small.ini --set "policy.name=lru,./$defect.so$parts,fifo" \
        --set loader.budget=3MiB --db none --timeout 2s --quiet
done <<'END'
CRASH||signal 11
LOOP||took longer than 2s
ENDS||exit code 3
PINNED|+blocks(0)|it is pinned
END
# For machines a replay that failed is a record too, with the reason in place of numbers.
"$POCKETLOAD" replay ids --policy './CRASH.so,lru' --capacity 20obj --format csv >failed.csv 2>failed.err
is 'a replay that failed has a record' "$(grep -c '^ids,./CRASH.so,20obj,20,,,,,,,,failed: .*signal 11' failed.csv)" 1
for defect in VERSION CONSTRUCTOR NO_SYMBOL; do
    bad 2 "policy \./$defect\.so: " "replay with $defect: nothing runs" replay ids --policy "lru,./$defect.so" --capacity 20obj
    bad 2 "policy \./$defect\.so: " "run with $defect: nothing runs" run small.ini --set "policy.name=lru,./$defect.so" --db none
done
finish
