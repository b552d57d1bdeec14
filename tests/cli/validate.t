#!/bin/sh
# `pocketload validate`: the table that the project ships, files of one's own, and what is refused.
. tests/cli/lib.sh

# ---- What comes with the program ----
"$POCKETLOAD" validate --format markdown >"$scratch/validation.md" 2>"$scratch/err"
code=$?
is 'no row of the shipped measurements is outside its limit' "$code $(cat "$scratch/err")" '0 '
same 'docs/validation.md is what the program prints (make validation writes it)' "$scratch/validation.md" docs/validation.md
"$POCKETLOAD" validate --format json >"$scratch/all.json"
ok 'each row has a source, a family and a quantity or a reason' perl -MJSON::PP -e 'local $/; my $rows = decode_json(<STDIN>);
    die "no rows" unless @$rows > 100;
    for (@$rows) {
        die "$_->{source}: no file" unless -f "configs/truth/" . ($_->{source} =~ s/:\d+$//r);
        die "$_->{source}: no family" unless length $_->{family};
        die "$_->{source}: no reason" if ($_->{verdict} // "") eq "skipped" && !length($_->{note} // "");
        next if ($_->{verdict} // "") eq "skipped";
        die "$_->{source}: no number" unless defined $_->{measured} && length $_->{quantity};
        die "$_->{source}: a limit without a verdict" if defined $_->{limit_percent} && !defined $_->{verdict};
    }' <"$scratch/all.json"
"$POCKETLOAD" validate --format csv >"$scratch/all.csv"
"$POCKETLOAD" validate --format jsonl >"$scratch/all.jsonl"
is 'csv and jsonl have the same rows' "$(($(wc -l <"$scratch/all.csv") - 1))" "$(wc -l <"$scratch/all.jsonl")"
is 'the columns' "$(sed 1q "$scratch/all.csv")" \
    'source,family,subject,quantity,measured,measured_high,simulated,error_percent,limit_percent,verdict,note'
"$POCKETLOAD" validate --family kv-sizes,flash --format csv >"$scratch/two.csv"
is 'two families' "$(sed 1d "$scratch/two.csv" | cut -d, -f2 | sort -u | tr '\n' ' ')" 'flash kv-sizes '

# ---- One's own ----
mkdir -p "$scratch/mine/deeper"
cat >"$scratch/mine/deeper/iobench-oneplus-15r.csv" <<END
# made up
lanes,block_kib,mib_per_s,latency_ms
1,1024,1361.3,0.734584
END
cat >"$scratch/mine/kv.csv" <<END
model,kv_type,context_tokens,kv_bytes,source
llama-2-7b,f16,512,268435456,made up
moonshot,f16,512,268435456,made up
END
echo 'no truth' >"$scratch/mine/notes.txt"
"$POCKETLOAD" validate "$scratch/mine" --format csv >"$scratch/mine.csv"
is 'a folder, with the folders in it' "$? $(sed 1d "$scratch/mine.csv" | cut -d, -f2 | tr '\n' ' ')" '0 flash flash kv-sizes kv-sizes '
"$POCKETLOAD" validate "$scratch/mine" >"$scratch/table"
ok 'the table ends with the sum' grep -q '^4 rows, 1 skipped, 0 off$' "$scratch/table"
ok 'and says why a row was skipped' grep -q 'skipped  no profile of the model "moonshot"' "$scratch/table"
"$POCKETLOAD" validate "$scratch/mine" --format markdown >"$scratch/page"
is 'a page of them, which says nothing of the files of the project' \
    "$(grep -c '^## By family and quantity$' "$scratch/page") $(grep -c configs/truth "$scratch/page")" '1 0'
sed 's/268435456/268435457/' "$scratch/mine/kv.csv" >"$scratch/off.csv"
"$POCKETLOAD" validate "$scratch/off.csv" --format csv >"$scratch/off.out" 2>"$scratch/err"
is 'a row outside its limit: 1, and the row stays' "$? $(grep -c ',off,' "$scratch/off.out") $(cat "$scratch/err")" \
    '1 1 pocketload: 1 of 2 rows and medians are outside their limits'
sed 1,1d "$scratch/mine/deeper/iobench-oneplus-15r.csv" >"$scratch/a.csv"
is 'a phone by --device' "$("$POCKETLOAD" validate "$scratch/a.csv" --device OnePlus_15R --format csv | sed 1d | cut -d, -f5- | head -1 | cut -d, -f1)" \
    "$("$POCKETLOAD" validate "$scratch/mine" --family flash --format csv | sed 1d | cut -d, -f5- | head -1 | cut -d, -f1)"

# ---- What is refused ----
printf 'lanes,block_kb,mib_per_s,latency_ms\n1,1,1,1\n' >"$scratch/bad.csv"
bad 3 'bad.csv:1: not the columns of a family; of the nearest, flash, missing: block_kib; unknown: "block_kb" \(did you mean block_kib\?\)' \
    'an unknown column' validate "$scratch/bad.csv"
printf 'year,price\n1,1\n' >"$scratch/bad.csv"
bad 3 'bad.csv:1: .*columns of no family; expected those of flash, ' 'no family' validate "$scratch/bad.csv"
printf 'lanes,block_kib,mib_per_s,latency_ms\n1,1,quick,1\n' >"$scratch/bad.csv"
bad 3 'bad.csv:2: column mib_per_s: "quick" is no number' 'no number' validate "$scratch/bad.csv"
: >"$scratch/bad.csv"
bad 3 'bad.csv:1: no line of column names' 'an empty file' validate "$scratch/bad.csv"
mkdir "$scratch/empty"
bad 3 'empty: no file \*\.csv in it' 'an empty folder' validate "$scratch/empty"
bad 4 'none.csv: No such file' 'no such file' validate "$scratch/none.csv"
bad 2 'unknown family "flsh": did you mean flash\?' 'an unknown family' validate --family flsh
bad 2 'unknown device "oneplus": ' 'an unknown phone' validate --device oneplus
printf 'order,limit_mib,madvise,scope,majflt_min,majflt_max,read_over_touched_min,read_over_touched_max,tolerance\n%s\n' \
    'cyclic,0,norml,cold,1,1,1,1,exact' >"$scratch/bad.csv"
bad 3 'bad.csv:2: column madvise: "norml"; expected normal, sequential or random' 'a word of a row' validate "$scratch/bad.csv"
sed 's/norml/normal/; s/exact/0x1p-3/' "$scratch/bad.csv" >"$scratch/worse.csv"
bad 3 'worse.csv:2: column tolerance: "0x1p-3"; expected exact' 'a share that is not decimal' validate "$scratch/worse.csv"

finish
