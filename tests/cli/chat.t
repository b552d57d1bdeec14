#!/bin/sh
# Conversations on the command line: configs/chat.ini and what its record, its turns and its text say.
. tests/cli/lib.sh

run() { # OUT [ARGUMENT]...: the record of a run of the config into $scratch/OUT.json
    out=$1
    shift
    "$POCKETLOAD" run configs/chat.ini --db "$scratch/$out.db" --format json --quiet "$@" >"$scratch/$out.json" ||
        echo '[{}]' >"$scratch/$out.json"
}
of() { # FIELD OUT
    json "$1" "$scratch/$2.json"
}
true_that() { # NAME EXPRESSION
    ok "$1: $2" perl -e 'use strict; exit !eval $ARGV[0]' "$2"
}

chunked='--set loader.mode=chunked'
# shellcheck disable=SC2086
{
    run stays $chunked --set workload.background=none
    run half $chunked --set workload.background=50%
    run anew $chunked --set workload.background=restart
    run pinned $chunked --set workload.background=50% --set policy.name=pinned-lru
}
run mapped --set loader.mode=mmap --set workload.background=restart
run mapped_half --set loader.mode=mmap --set workload.background=50%

is 'six turns of 96 tokens' "$(of turns stays) $(of tokens stays) $(of restarts stays)" '6 576 0'
is 'a hundred seconds of thinking' "$(of idle_ns stays)" 100000000000
true_that 'what others take is read again' "$(of bytes_read half) - $(of bytes_read stays) == $(of bytes_reclaimed half)"
true_that 'and makes the user wait' "$(of turn_ttft_mean_ns half) > 1.2 * $(of turn_ttft_mean_ns stays)"
true_that 'pinned blocks stay' "$(of bytes_reclaimed pinned) < $(of bytes_reclaimed half) / 2"
true_that 'faults are slower than own reads' "$(of turn_ttft_mean_ns mapped_half) > $(of turn_ttft_mean_ns half)"
is 'five restarts' "$(of restarts anew) $(of restarts mapped)" '5 5'
true_that 'each reads all again' "$(of bytes_read anew) == 6 * $(of bytes_read stays)"
is 'but for a mapped file, which stays' "$(of bytes_reclaimed mapped) $(of refaults mapped)" '0 0'
true_that 'the conversation is computed again' "$(of turn_ttft_mean_ns mapped) > 5 * $(of turn_ttft_mean_ns stays)"

sum() { # EXPRESSION OUT: over the table of turns
    sql "$scratch/$2.db" "SELECT sum($1) FROM turn"
}
is 'turns add up to the run' "$(sum 'idle_ns + latency_ns' half) $(sum bytes_read half) $(sum stall_ns half)" \
    "$(of virtual_time_ns half) $(of bytes_read half) $(of stall_ns half)"
is 'and so do their tokens' "$(sql "$scratch/half.db" 'SELECT count(*), count(DISTINCT turn), max(turn) FROM token')" \
    '576|6|6'
is 'the view of turns' "$(sql "$scratch/anew.db" 'SELECT count(*), sum(restarted) FROM turns')" '6|5'

"$POCKETLOAD" run configs/chat.ini --db none --quiet >"$scratch/text"
ok 'the text tells the turns' grep -Eq '^6 turns: first token after [0-9.]+ s, in later turns after [0-9.]+ m?s \(' "$scratch/text"
ok 'and what was lost' grep -Eq 'lost [0-9.]+ GiB of weights in the background$' "$scratch/text"
ok 'and restarts' grep -Eq '; started anew 5 times' "$scratch/text"

# ---- Drafts, two models, adapters ----
cat >"$scratch/draft.ini" <<'END'
[device]
profile = oneplus-15r
[model]
profile = llama-3.2-3b
[workload]
output_tokens = 32
draft = llama-3.2-1b:q4_0
[loader]
mode = read
END
"$POCKETLOAD" run "$scratch/draft.ini" --db none --quiet >"$scratch/text"
ok 'both models are named' grep -q '^llama-3.2-3b + llama-3.2-1b q4_0 on oneplus-15r, dense, read' "$scratch/text"
ok 'drafts are told' grep -Eq '^[0-9]+ tokens drafted, [0-9]+ of them accepted \([0-9.]+ %\)$' "$scratch/text"
"$POCKETLOAD" run "$scratch/draft.ini" --db "$scratch/draft.db" --quiet >/dev/null
is 'blocks of both are stored' \
    "$(sql "$scratch/draft.db" "SELECT count(*), sum(name LIKE 'draft/%') FROM block")" '48|18'
bad 2 'set workload.draft: unknown model "llama-3.2-1": did you mean llama-3.2-1b' 'the nearest draft' \
    run "$scratch/draft.ini" --db none --set workload.draft=llama-3.2-1
bad 2 'set workload.second: given beside workload.draft; expected one of them' 'draft and second' \
    run "$scratch/draft.ini" --db none --set workload.kind=chat --set workload.second=llama-3.2-1b
bad 2 'compute_per_token and prompt_compute are times of one model' 'measured times beside a draft' \
    run "$scratch/draft.ini" --db none --set workload.compute_per_token=30ms
finish
