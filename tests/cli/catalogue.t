#!/bin/sh
# The shipped phones, models and truth files: every profile is shown, every constant of a phone carries a mark, all
# tiers of storage and both systems are there, and a phone runs a small model.
. tests/cli/lib.sh

count() { # PATTERN FILE...: how many of the files have a line that matches
    pattern=$1
    shift
    grep -lE -- "$pattern" "$@" | wc -l | tr -d ' '
}

# at_least NAME FOUND MINIMUM
at_least() {
    if [ "$2" -ge "$3" ]; then
        pass "$1"
    else
        echo "found $2, expected at least $3" >"$scratch/.why"
        not_ok "$1"
    fi
}

for file in configs/devices/*.ini; do
    name=${file##*/}
    name=${name%.ini}
    ok "device $name is shown" "$POCKETLOAD" device show "$name"
done
for file in configs/models/*.ini; do
    name=${file##*/}
    name=${name%.ini}
    ok "model $name is shown" "$POCKETLOAD" model show "$name"
done

# generic-6gb is a class of phones, linux-cgroup a machine.
set -- configs/devices/*.ini
at_least "phones" $(($# - 2)) 18
set -- configs/models/*.ini
at_least "models" $# 19
at_least "models with experts" "$(count '^experts = [1-9]' configs/models/*.ini)" 5

# A value is marked, whatever stands before it.
unmarked=$(grep -nE '^[a-z_0-9]+ *=' configs/devices/*.ini |
    grep -vE ' \[(measured|published|estimated)\]( *;.*)?$')
is "every constant of a phone carries a mark" "$unmarked" ""
is "a mark stands behind a value alone" "$(grep -nE '^;.*\[(measured|published|estimated)\]' configs/devices/*.ini)" ""
for mark in measured published estimated; do
    at_least "phones with constants that are $mark" "$(count "\\[$mark\\]" configs/devices/*.ini)" 5
done

for tier in 'eMMC 5\.1' 'UFS 2\.1' 'UFS 2\.2' 'UFS 3\.0' 'UFS 3\.1' 'UFS 4\.' NVMe; do
    found=0
    for file in configs/devices/*.ini; do
        if sed -n '/^\[device\]/q;p' "$file" | tr '\n' ' ' | grep -q -- "$tier"; then found=$((found + 1)); fi
    done
    at_least "phones with $(echo "$tier" | tr -d '\\')" "$found" 1
done
for rule in lmkd threshold jetsam; do
    at_least "phones that kill by $rule" "$(count "^kill = $rule " configs/devices/*.ini)" 3
done
is "iPhones have pages of 16 KiB" "$(count '^kill = jetsam ' configs/devices/*.ini)" \
    "$(count '^page = 16KiB ' configs/devices/*.ini)"

# Each truth file: what and from where at its head, as many cells in each row as in its header, known models.
for file in configs/truth/*.csv; do
    is "$file says what it is" "$(sed -n '1s/^# .*/comment/p' "$file")" comment
    is "$file is a table" "$(grep -v '^#' "$file" | awk -F, 'NR == 1 {n = NF} NF != n {print FNR ": " $0}')" ""
done
unknown=$(grep -v '^#' configs/truth/gguf-sizes.csv | sed 1d | cut -d, -f1 | sort -u | while read -r model; do
    [ -f "configs/models/$model.ini" ] || echo "$model"
done)
is "sizes are of models of the catalogue" "$unknown" ""
at_least "published sizes" "$(grep -vc '^#' configs/truth/gguf-sizes.csv)" 61

# The ends of the catalogue run a small model, read under a budget and mapped.
for phone in galaxy-a15 xiaomi-mi-9 galaxy-s23 oneplus-12 iphone-12 ipad-pro-m1; do
    for mode in chunked mmap; do
        {
            printf '[device]\nprofile = %s\n[model]\nprofile = llama-3.2-1b\nquant = q4_0\n' "$phone"
            printf '[workload]\nprompt_tokens = 16\noutput_tokens = 4\n[loader]\nmode = %s\n' "$mode"
            [ "$mode" = mmap ] || printf 'budget = 900MiB\n[policy]\nname = lru\n'
        } >"$scratch/small.ini"
        "$POCKETLOAD" run "$scratch/small.ini" --db none --format json >"$scratch/small.json" 2>"$scratch/small.err"
        is "$phone runs a model of 1B, $mode" "$(json outcome "$scratch/small.json")" completed
    done
done

finish
