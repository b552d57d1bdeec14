# Shared by the tests of the command line: TAP output, a scratch folder, and checks. Source it from the root of the
# repository: . tests/cli/lib.sh
# shellcheck shell=sh

set -u
: "${POCKETLOAD:=build/pocketload}"
"$POCKETLOAD" --version >/dev/null 2>&1 || {
    echo "Bail out! $POCKETLOAD does not run"
    exit 1
}
tests=0 failures=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/pocketload-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
unset NO_COLOR

pass() {
    tests=$((tests + 1))
    echo "ok $tests - $1"
}

# not_ok NAME: what was found is in $scratch/.why
not_ok() {
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    sed 's/^/# /' "$scratch/.why"
}

# ok NAME COMMAND...: the command succeeds.
ok() {
    name=$1
    shift
    if "$@" >"$scratch/.ok" 2>&1; then
        pass "$name"
    else
        { echo "failed: $*" && sed 20q "$scratch/.ok"; } >"$scratch/.why"
        not_ok "$name"
    fi
}

# is NAME FOUND EXPECTED
is() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        printf 'found:    %s\nexpected: %s\n' "$2" "$3" >"$scratch/.why"
        not_ok "$1"
    fi
}

# same NAME FILE FILE
same() {
    if cmp -s "$2" "$3"; then
        pass "$1"
    else
        diff "$2" "$3" | sed 20q >"$scratch/.why"
        not_ok "$1"
    fi
}

# bad CODE PATTERN NAME ARGUMENT...: the program ends with that code, says one line on stderr that begins with its name
# and matches the extended regular expression, and writes nothing to stdout.
bad() {
    code=$1 pattern=$2 name=$3
    shift 3
    "$POCKETLOAD" "$@" >"$scratch/.out" 2>"$scratch/.err" </dev/null
    found=$?
    lines=$(wc -l <"$scratch/.err")
    if [ "$found" = "$code" ] && [ "$lines" = 1 ] && grep -q '^pocketload: ' "$scratch/.err" &&
        grep -Eq -- "$pattern" "$scratch/.err" && [ ! -s "$scratch/.out" ]; then
        pass "$name"
    else
        {
            echo "pocketload $*"
            echo "exit code $found, expected $code; $lines lines on stderr, expected one like: $pattern"
            sed 5q "$scratch/.err"
            sed 's/^/stdout: /;5q' "$scratch/.out"
        } >"$scratch/.why"
        not_ok "$name"
    fi
}

# One value of the first record of a JSON array: json FIELD FILE
json() {
    perl -MJSON::PP -e 'my ($field, $file) = @ARGV; open my $f, "<", $file or die; local $/; my $v = decode_json(<$f>);
        print defined $v->[0]{$field} ? $v->[0]{$field} : "null"' "$1" "$2"
}

sql() { # FILE STATEMENT
    sqlite3 -readonly "$1" "$2"
}

# A small grid that runs in no time: 8 runs.
small_config() {
    cat <<END
[experiment]
name = small

[device]
profile = generic-6gb

[model]
blocks = 6 x 1MiB

[workload]
kind = trace
sequence = b0 b1 b2 b3 b4 b5 b0 b1 b2 b3 b4 b5 b0 b1 b0 b1

[loader]
mode = chunked
budget = 2MiB, 3MiB, 4MiB, 6MiB

[policy]
name = lru, fifo
END
}

finish() {
    echo "1..$tests"
    [ "$failures" = 0 ]
}
