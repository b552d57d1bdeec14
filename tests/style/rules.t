#!/bin/sh
# The rules of style that a machine can check: which folder includes which, how long files and functions are, nothing left
# open.
set -u
tests=0 failures=0

report() { # NAME FOUND: nothing found is good
    tests=$((tests + 1))
    if [ -z "$2" ]; then
        echo "ok $tests - $1"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

folders='base policies workloads sim results cli'

# Headers of other folders than those to the left and the folder's own.
allowed=
for folder in $folders; do
    allowed="$allowed|$folder"
    others=$(grep -n '^#include "' "$folder"/*.[ch] 2>/dev/null | grep -Ev "#include \"(${allowed#|})/|#include \"[a-z_]+\.inc\"")
    report "$folder includes its own headers and those of folders to its left" "$others"
done

# A plug-in needs policy.h and nothing else.
report "policies/policy.h includes no other header of ours" "$(grep -n '^#include "' policies/policy.h)"

# A file that one can read in one go. Tests may be a little longer: tables of cases are read by the line. Exceptions, with
# the reason: none.
exceptions='^$'
long=$(find $folders bench tests -name '*.[ch]' -o -name '*.sh' -o -name '*.t' | xargs wc -l |
    awk '$2 != "total" && $1 > ($2 ~ /^tests/ ? 500 : 400) { print $2 ": " $1 " lines" }' | grep -Ev "$exceptions")
report "files have at most 400 lines, tests 500" "$long"

# A function that one can see at once, from its opening brace to its closing one, which clang-format puts at the start of
# a line.
# shellcheck disable=SC2046 # a list of files
long=$(awk '
    FNR == 1 || /^}/ { if (FNR > 1 && start && FNR - start + 1 > (FILENAME ~ /^tests/ ? 100 : 70))
        print FILENAME ":" start ": " FNR - start + 1 " lines"; start = 0 }
    /^{/ { start = FNR }' $(find $folders bench tests -name '*.c' -o -name '*.h'))
report "functions have at most 70 lines, those of tests 100" "$long"

# Not what runs and figures left behind: results/ is where they land.
sources=$(find $folders bench tests configs docs .ci Makefile -type f \
    ! -name rules.t ! -path 'results/*/*' ! -name '*.db' ! -name '*.db-*')
# shellcheck disable=SC2086 # a list of files
report "nothing is left to do" "$(grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $sources)"
# shellcheck disable=SC2086
report "lines end without blanks" "$(grep -nE '[[:blank:]]+$' $sources | grep -v '\.md:' | sed 20q)"

# Every file says first what it is for.
silent=
for file in $(find $folders bench -name '*.[ch]'); do
    case $(sed 1q "$file") in
    '/*'*) ;;
    *) silent="$silent $file" ;;
    esac
done
report "C files begin with what they are for" "$silent"

echo "1..$tests"
[ "$failures" = 0 ]
