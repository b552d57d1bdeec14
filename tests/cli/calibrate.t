#!/bin/sh
# calibrate: in small, as what it measures here is of no interest. It must work on any file system, leave nothing, and write
# a profile that run accepts.
. tests/cli/lib.sh
data=../shared/data
mkdir "$scratch/there"
small='--size 8MiB --seconds 0.01 --quiet' tiny='--size 2MiB --seconds 0.005 --quiet'

# left NAME: nothing is left in the folder.
left() {
    is "$1 leaves nothing" "$(ls -A "$scratch/there")" ''
}

# ---- Measuring ----
# shellcheck disable=SC2086 # words
"$POCKETLOAD" calibrate --dir "$scratch/there" $small --out "$scratch/mine.ini" --format json >"$scratch/rows.json" 2>"$scratch/notes"
is 'it measures' "$?" 0
left 'it'
is 'what it says on the way are notes' "$(grep -vc '^note: ' "$scratch/notes")" 0
# Sizes to half of the file and no more in flight than it holds.
is 'a row for each point' "$(grep -Eo '"quantity": ?"(random|sequential)_read"' "$scratch/rows.json" | wc -l)" \
    "$(grep -Eo '"fitted_bytes_per_s": ?[0-9]+' "$scratch/rows.json" | wc -l)"
for quantity in random_read sequential_read flash_setup flash_stream fit_rms fit_worst minor_fault_anonymous memory; do
    ok "$quantity is in the table" grep -q "\"$quantity\"" "$scratch/rows.json"
done
"$POCKETLOAD" device show "$scratch/mine.ini" --format json >"$scratch/device.json"
is 'the profile has the name of its file' "$(json name "$scratch/device.json")" mine
is 'and the RAM of this machine' "$(json ram_bytes "$scratch/device.json")" \
    "$(awk '$1 == "MemTotal:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)"
is 'every value of it has a mark' "$(grep -E '^[a-z_]+ = ' "$scratch/mine.ini" | grep -Evc ' \[(measured|published|estimated)\]$')" 0
ok 'the flash was measured' grep -Eq '^flash_setup = .* \[measured\]$' "$scratch/mine.ini"
ok 'a rate of compute was not' grep -Eq '^flops = .* \[estimated\]$' "$scratch/mine.ini"
for mode in chunked mmap; do
    small_config | sed -e 's/^profile = .*/profile = mine.ini/' -e "s/^mode = .*/mode = $mode/" \
        -e "$([ $mode = mmap ] && echo '/^budget/d;/^\[policy\]/,$d')" >"$scratch/run.ini"
    ok "run accepts it, $mode" "$POCKETLOAD" run "$scratch/run.ini" --db none
done
# shellcheck disable=SC2086
"$POCKETLOAD" calibrate --dir "$scratch/there" $tiny --name my-phone.1 >"$scratch/stdout.ini" 2>"$scratch/notes"
is 'without --out the profile is all that is said' "$(grep -Evc '^($|;|\[device\]$|[a-z_]+ = .+$)' "$scratch/stdout.ini")" 0
"$POCKETLOAD" device show "$scratch/stdout.ini" --format json >"$scratch/device.json"
is 'with the name that was asked for' "$(json name "$scratch/device.json")" my-phone.1
left 'that'
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
    # shellcheck disable=SC2086
    ok 'in memory, too' "$POCKETLOAD" calibrate --dir /dev/shm $tiny --out "$scratch/memory.ini"
    ok 'and that is said' grep -q '^; The folder lies on no block device' "$scratch/memory.ini"
fi

# ---- Ends before the end ----
# perl undoes that a shell's background jobs ignore SIGINT, which the program respects.
for number in 2 15 1 9; do
    signal=$(kill -l $number)
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV or die' "$POCKETLOAD" calibrate --dir "$scratch/there" --size 64MiB --seconds 20 \
        --quiet --out "$scratch/never.ini" 2>"$scratch/stopped" &
    sleep 1
    found=$(ls -A "$scratch/there")
    kill -s $signal $!
    wait $! 2>/dev/null
    is "SIG$signal ends it as a signal does" "$?" "$((128 + number))"
    is "SIG$signal: no name was there" "$found" ''
    left "SIG$signal"
    is "SIG$signal: no profile" "$([ -e "$scratch/never.ini" ] && echo there)" ''
    [ $signal = KILL ] || is "SIG$signal: why is said" "$(cat "$scratch/stopped")" \
        "pocketload: stopped by SIG$signal: nothing was written"
done

# ---- Refusals ----
bad 2 'at most half of the free space' 'more than the disk has' calibrate --dir "$scratch/there" --size 4000000GiB
bad 2 'at least 1MiB' 'too small' calibrate --size 1KiB
bad 2 '^pocketload: --size: "5" has no unit' 'a size without unit' calibrate --size 5
bad 2 'expected 0.001 to 3600' 'no time' calibrate --seconds 0
bad 2 '--name: "a b"' 'a name that is no word' calibrate --name 'a b'
bad 2 'add --out FILE.ini' 'a format of nothing' calibrate --format csv
bad 2 'unexpected argument "fitt"' 'a word too many' calibrate fitt
bad 4 'cannot look at the folder' 'no folder' calibrate --dir "$scratch/nowhere"
# shellcheck disable=SC2086
bad 4 'never.ini' 'nowhere to write' calibrate --dir "$scratch/there" $tiny --out "$scratch/nowhere/never.ini"
left 'a refusal'

# ---- The fit of a table ----
# Setup 100 us, stream 1 GiB/s, max 2 GiB/s.
perl -e 'print "lanes,block_kib,mib_per_s\n"; for my $q (1, 2, 4, 8) { for my $k (4, 64, 256, 1024, 4096) {
    my $r = $q * $k / 1048576 / (100e-6 + $k / 1048576); $r = 2 if $r > 2; printf "%d,%d,%.6f\n", $q, $k, $r * 1024 } }' >"$scratch/table.csv"
"$POCKETLOAD" calibrate fit "$scratch/table.csv" --format csv >"$scratch/fit.csv"
row() { # QUANTITY COLUMN
    awk -F, -v name="$1" -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i } $1 == name { print $at }' "$scratch/fit.csv"
}
is 'setup' "$(row flash_setup time_ns)" 100000
ok 'stream' perl -e 'exit abs($ARGV[0] / 2**30 - 1) > 1e-5' "$(row flash_stream bytes_per_s)"
ok 'max' perl -e 'exit abs($ARGV[0] / 2**31 - 1) > 1e-5' "$(row flash_max bytes_per_s)"
ok 'without error' perl -e 'exit $ARGV[0] > 1e-5' "$(row fit_rms error)"
is 'a row for each line' "$(grep -c '^read,' "$scratch/fit.csv")" 20
"$POCKETLOAD" calibrate fit - --format csv <"$scratch/table.csv" >"$scratch/stdin.csv"
same 'from standard input' "$scratch/stdin.csv" "$scratch/fit.csv"
ok 'for people' sh -c '"$0" calibrate fit "$1" | grep -Eq "^flash_setup +100 us"' "$POCKETLOAD" "$scratch/table.csv"
ok 'its error as a percentage' sh -c '"$0" calibrate fit "$1" | grep -Eq "^fit_worst +0\.0 %$"' "$POCKETLOAD" "$scratch/table.csv"
printf 'lanes,block_kib,mib_per_s\n1,4,x\n' >"$scratch/bad.csv"
bad 3 'bad.csv:2: mib_per_s: "x"' 'no number' calibrate fit "$scratch/bad.csv"
printf 'lanes,block_kib,mib_per_s\n1,4,5\n2,4,6\n3,4,7\n' >"$scratch/bad.csv"
bad 3 'bad.csv: all 3 reads have 4096 bytes' 'one size alone' calibrate fit "$scratch/bad.csv"
bad 4 'nowhere.csv' 'no table' calibrate fit "$scratch/nowhere.csv"
bad 2 'FILE.csv is missing' 'no name of a table' calibrate fit
if [ -d $data ]; then
    "$POCKETLOAD" calibrate fit $data/phones/iobench-oneplus-15r.csv --format csv >"$scratch/fit.csv"
    is 'the OnePlus 15R: setup, stream, max, rms as in its profile' \
        "$(perl -e 'printf "%.0f us %.2f GB/s %.2f GB/s %.1f %%", $ARGV[0] / 1e3, $ARGV[1] / 1e9, $ARGV[2] / 1e9, 100 * $ARGV[3]' \
            "$(row flash_setup time_ns)" "$(row flash_stream bytes_per_s)" "$(row flash_max bytes_per_s)" "$(row fit_rms error)")" \
        '205 us 1.98 GB/s 2.42 GB/s 7.4 %'
else
    echo '# no ../shared/data here: the fit of the OnePlus 15R skipped'
fi

# ---- The comparison with a real kernel, which is a target of its own ----
said=$(KERNEL_CHECK_SKIP='as the test wishes' sh tests/kernel/check)
is 'kernel-check skips itself' "$? $said" '0 kernel-check: skipped: as the test wishes'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
    said=$(setpriv --reuid 65534 --clear-groups sh tests/kernel/check)
    is 'without root' "$? $said" '0 kernel-check: skipped: not root: control groups and loop devices are for root alone'
elif [ "$(id -u)" != 0 ]; then
    said=$(sh tests/kernel/check)
    is 'without root' "$? $said" '0 kernel-check: skipped: not root: control groups and loop devices are for root alone'
fi

finish
