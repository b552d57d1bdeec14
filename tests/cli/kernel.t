#!/bin/sh
# The page cache of a real kernel, as `run` shows it: each row of ../shared/data/kernel/truth.csv, with the config that a
# user would write and one device profile for all rows.
. tests/cli/lib.sh

data=../shared/data/kernel
if [ ! -f $data/truth.csv ]; then
    echo "1..0 # SKIP no $data"
    exit 0
fi
seq -s ' ' 0 31 >"$scratch/one.txt"
for pass in 1 2 3 4 5 6; do cat "$scratch/one.txt"; done >"$scratch/cyclic.txt"
cp $data/hot4.txt $data/moe_s1.0.txt "$scratch/"

# passes TRACE BLOCKS LIMIT_MIB MADVISE [--set ...]: a line for each pass: major faults, pages read.
passes() {
    trace=$1 blocks=$2 ram=$3 madvise=$4
    shift 4
    [ "$ram" = 0 ] && ram=8192
    cat >"$scratch/k.ini" <<END
[device]
profile = linux-cgroup
ram = ${ram}MiB
[model]
blocks = $blocks
[workload]
kind = trace
trace = $trace
trace_format = passes
[loader]
mode = mmap
madvise = $madvise
END
    rm -f "$scratch/k.db"
    "$POCKETLOAD" run "$scratch/k.ini" --db "$scratch/k.db" --quiet "$@" >"$scratch/out" 2>&1 || cat "$scratch/out" >&2
    sqlite3 -separator ' ' "$scratch/k.db" 'SELECT major_faults, bytes_read / 4096 FROM token ORDER BY token'
}

# check NAME SCOPE TOUCHED MIN MAX LEAST MOST TOLERANCE: do the passes of the scope, or their sum, lie between?
check() {
    ok "$1" perl -e '
        my ($scope, $touched, $min, $max, $least, $most, $tolerance, $file) = @ARGV;
        open my $in, "<", $file or die; my @rows = map { [split] } <$in>; die "no passes" unless @rows;
        my $whole = [0, 0]; $whole->[$_ % 2] += $rows[$_ / 2][$_ % 2] for 0 .. 2 * @rows - 1;
        @rows = $scope eq "cold" ? $rows[0] : $scope eq "steady" ? @rows[1 .. $#rows] : $whole;
        die "no later pass" unless @rows;
        my $wide = $tolerance eq "exact" ? 0 : $tolerance;
        for (@rows) {
            my ($faults, $read) = ($_->[0], sprintf "%.4f", $_->[1] / $touched);
            print "$faults major faults, $read read\n";
            exit 1 if $faults < $min * (1 - $wide) || $faults > $max * (1 + $wide);
            exit 1 if $least ne "" && ($read < $least * (1 - $wide) || $read > $most * (1 + $wide));
        }' "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$scratch/passes"
}

rows=0
grep -v '^#\|^order,' $data/truth.csv >"$scratch/truth"
while IFS=, read -r order limit advice scope min max least most tolerance; do
    file=$scratch/cyclic.txt blocks='32 x 8MiB' touched=65536 more=
    case $order in
    hot4.txt) file=$scratch/hot4.txt touched=90112 ;;
    moe_s1.0.txt) file=$scratch/moe_s1.0.txt blocks='256 x 1MiB' touched=$((256 * $(wc -w <"$scratch/moe_s1.0.txt"))) ;;
    *mlock*) more='policy.pin=blocks(0,1)' ;;
    stride*) # "stride 64 KiB ..."
        file=$scratch/one.txt
        more=workload.stride=$(echo "$order" | cut -d ' ' -f 2,3 | tr -d ' ')
        ;;
    esac
    passes "$file" "$blocks" "$limit" "$advice" ${more:+--set "$more"} >"$scratch/passes"
    check "$order, $limit MiB, $advice, $scope" "$scope" "$touched" "$min" "$max" "$least" "$most" "$tolerance"
    rows=$((rows + 1))
done <"$scratch/truth"
is 'every row was looked at' "$rows" "$(wc -l <"$scratch/truth")"

finish
