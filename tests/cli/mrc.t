#!/bin/sh
# `mrc`: curves against replays, every breakpoint, tables, figures.
. tests/cli/lib.sh
data=../shared/data

mrc() {
    "$POCKETLOAD" mrc "$@"
}
awk 'BEGIN { for (i = 0; i < 320; i++) print i % 32 }' >"$scratch/loop"
awk 'BEGIN { x = 12345; for (i = 0; i < 20000; i++) { x = (x * 1103 + 12345) % 1048573; y = (x * 7 + i) % 499 + 1;
    print 1 + x % y } }' >"$scratch/skewed"
awk 'BEGIN { print "block,bytes"; x = 12345; for (i = 0; i < 5000; i++) { x = (x * 1103 + 12345) % 1048573;
    b = x % (1 + x * 7 % 97); print b "," 1000 * (1 + b * 5 % 13) } }' >"$scratch/sized.csv"

# Capacities and misses of each record but the bounds': equal to those of replays at the same capacities.
against_replay() { # NAME TRACE POLICIES [UNIT]
    mrc "$2" --policy "$3" --format csv >"$scratch/curve.csv"
    tail -n +2 "$scratch/curve.csv" | awk -F, '{ print $2 "," $3 "," $6 }' | sort >"$scratch/curve"
    capacities=$(tail -n +2 "$scratch/curve.csv" | cut -d, -f3 | sort -nu | sed "s/\$/${4:-obj}/" | paste -sd, -)
    "$POCKETLOAD" replay "$2" --policy "$3" --capacity "$capacities" --format csv |
        tail -n +2 | awk -F, '{ print $2 "," $4 "," $7 }' | sort >"$scratch/replayed"
    same "$1" "$scratch/replayed" "$scratch/curve"
}
against_replay 'a loop' "$scratch/loop" lru,fifo
against_replay 'a skewed choice' "$scratch/skewed" lru,s3-fifo,belady
is 'at 50 capacities' "$(cut -d, -f3 "$scratch/curve.csv" | sort -u | wc -l)" 51
against_replay 'unequal sizes' "$scratch/sized.csv" lru,gdsf B
mrc "$scratch/sized.csv" --policy lru --capacity 5obj,4000B,1000B,20obj,50%,3000B --format csv >"$scratch/some.csv"
is 'capacities of any kind, in the order given' "$(tail -n +2 "$scratch/some.csv" | cut -d, -f6 | paste -sd' ' -)" \
    "$("$POCKETLOAD" replay "$scratch/sized.csv" --policy lru --capacity 5obj,4000B,1000B,20obj,50%,3000B --format csv | tail -n +2 | cut -d, -f7 | paste -sd' ' -)"
if [ -d "$data/routes" ]; then
    route=$data/routes/qwen3-30b-a3b.route.csv
    mrc "$route" --policy lru --points 3 --format csv >"$scratch/route.csv" 2>"$scratch/route.err"
    is 'steps of several blocks are replayed, which is said' "$(grep -c 'lru: steps of this trace use several blocks' "$scratch/route.err")" 1
    capacities=$(tail -n +2 "$scratch/route.csv" | cut -d, -f3 | sed 's/$/B/' | paste -sd, -)
    is 'with what replays have' "$(tail -n +2 "$scratch/route.csv" | cut -d, -f6 | paste -sd' ' -)" \
        "$("$POCKETLOAD" replay "$route" --policy lru --capacity "$capacities" --format csv | tail -n +2 | cut -d, -f7 | paste -sd' ' -)"
else
    echo '# no ../shared/data here: a trace whose steps use several blocks is skipped'
fi

# ---- Every breakpoint ----
mrc "$scratch/loop" --policy lru --points all --format csv >"$scratch/all.csv"
is 'a loop has one' "$(tail -n +2 "$scratch/all.csv" | cut -d, -f3,6 | paste -sd' ' -)" '1,320 32,32'
mrc "$scratch/skewed" --policy lru --points all --format csv >"$scratch/all.csv"
is 'misses fall from each to the next' "$(tail -n +2 "$scratch/all.csv" | cut -d, -f6 | sort -nru | wc -l)" "$(tail -n +2 "$scratch/all.csv" | wc -l)"
is 'down to each block once' "$(tail -1 "$scratch/all.csv" | cut -d, -f6)" "$(sort -u "$scratch/skewed" | wc -l)"
ok 'with unequal sizes it begins at the largest block, which is said' sh -c \
    '"$0" mrc "$1" --policy lru --points all 2>&1 >/dev/null | grep -q "begins at the largest block"' "$POCKETLOAD" "$scratch/sized.csv"

# ---- Output ----
mrc "$scratch/skewed" --policy lru,fifo >"$scratch/table"
is 'a table is short' "$(grep -c '^ *[0-9]* .*%' "$scratch/table")" 17
ok 'and has a column for each policy and bound' grep -Eq '^blocks +share +lru +fifo +belady \(bound\) +infinite \(bound\)$' "$scratch/table"
is 'json has the columns' "$(mrc "$scratch/loop" --policy lru --points 4 --format json |
    perl -MJSON::PP -e 'local $/; my $v = decode_json(<STDIN>); print scalar @$v, " ", join ",", sort keys %{$v->[0]}')" \
    '4 accesses,byte_miss_ratio,capacity_bytes,capacity_share,miss_ratio,misses,note,policy,trace'
is 'records have bounds when asked for' "$(mrc "$scratch/loop" --policy lru --points 2 --bounds --format csv | tail -n +2 | cut -d, -f2 | paste -sd' ' -)" \
    'lru lru belady belady infinite infinite'
mrc "$scratch/skewed" --policy lru,arc,random --jobs 1 --format csv >"$scratch/jobs1.csv"
mrc "$scratch/skewed" --policy lru,arc,random --jobs 3 --format csv >"$scratch/jobs3.csv"
same 'the same with 1 and 3 jobs' "$scratch/jobs1.csv" "$scratch/jobs3.csv"

# ---- Figures ----
if command -v gnuplot >/dev/null; then
    cp "$scratch/skewed" "$scratch/it's \"a\", trace"
    mrc "$scratch/it's \"a\", trace" --policy 'lru,clock(bits=2)' --plot "$scratch/fig.png" >"$scratch/.out" 2>"$scratch/plot.err"
    is 'figure, script and data' "$(cd "$scratch" && ls fig.* | paste -sd' ' -)" 'fig.csv fig.gp fig.png fig.svg'
    ok 'with the names of the policies' grep -q 'clock(bits=2)' "$scratch/fig.svg"
    ok 'the script draws it again' sh -c 'cd "$1" && rm fig.svg && gnuplot fig.gp && test -s fig.svg' - "$scratch"
else
    echo '# no gnuplot here: figures skipped'
fi

# ---- Bad input ----
bad 2 'which trace' 'no trace' mrc --policy lru
bad 2 '--policy is missing' 'no policy' mrc "$scratch/loop"
bad 2 '--points.*0' 'no points' mrc "$scratch/loop" --policy lru --points 0
bad 2 'beside --capacity' 'points and capacities' mrc "$scratch/loop" --policy lru --points 5 --capacity 1obj
bad 2 'of lru alone' 'every breakpoint of another policy' mrc "$scratch/loop" --policy lru,fifo --points all
bad 2 'of lru alone' 'every breakpoint with bounds' mrc "$scratch/loop" --policy lru --points all --bounds
bad 2 '--plot.*FILE.svg' 'a figure of another kind' mrc "$scratch/loop" --policy lru --plot "$scratch/fig.pdf"
bad 2 '--plot.*letters' 'a name that gnuplot could take for more' mrc "$scratch/loop" --policy lru --plot "$scratch/a'b.svg"
bad 3 'quickstart.ini:1: ' 'a trace that is none' mrc configs/quickstart.ini --policy lru --trace-format ids
finish
