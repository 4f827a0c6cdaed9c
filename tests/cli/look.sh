#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # tmp is set by lib.sh
# Commands that only look write nothing: they show what the next job would find, and name the
# command that makes it so (invariant D5).
. "${0%/*}/lib.sh"
mkdir prefix node
cd prefix || exit 99
export SCR_CNTL_BASE="$tmp/node" SCR_CACHE_BASE="$tmp/node" SCR_USER_NAME=tester SCR_JOB_ID=7

state() {
    find . -exec ls -ld --time-style=full-iso {} + | sort -k9
    find . -type f -exec cksum {} + | sort
}

# looks COMMAND…: it runs, and everything is as before
looks() {
    state >"$tmp/before"
    run "$@"
    state >"$tmp/after"
    cmp -s "$tmp/before" "$tmp/after" || fail "changed: $(diff "$tmp/before" "$tmp/after")"
}

for id in 1 2 3; do
    cli_scavenge "$PWD" "$id" XOR 3 3
    scr_index --build "$id" >/dev/null || exit 99
done

# --- a damaged index ---
cp .scr/index.scr "$tmp/good"
printf 'garbage' >.scr/index.scr
for command in "scr_index" "scr_index --list --json" "scr why" "scr_have_restart" "scr_inspect" "scr verify"; do
    # shellcheck disable=SC2086 # command and options
    looks $command
    warns 0 "to rebuild it: scr_index --prefix $PWD --adopt"
done
looks scr_have_restart
has 0 ckpt.3
run scr_index --adopt
warns 0 "index.scr.damaged.1"
has 0 "0 datasets entered"
looks scr_have_restart
is 0 ckpt.3

# --- one that was copied and not entered ---
cli_arrive "$PWD" 3
looks scr_index
warns 0 "1 dataset has been copied and will be entered by the next job, or by scr_index --prefix $PWD --adopt"
grep -q '^\*     3 YES ' "$tmp/.out" || fail "dataset 3 is not listed as valid and current"
looks scr_have_restart --crc
is 0 ckpt.3
looks scr why
has 0 "copied, not in the index yet: scr_index --prefix $PWD --adopt"
has 0 "a restart takes dataset 3 (ckpt.3) from the prefix directory"
looks scr_inspect
looks scr_inspect -v -j n1 -u n1 -f "$tmp"
has 0 "     3 prefix complete   ckpt.3"
# Of a plan that cannot be read nothing is concluded.
cp .scr/scr.dataset.3/outgoing.scr "$tmp/plan"
printf 'garbage' >.scr/scr.dataset.3/outgoing.scr
looks scr_have_restart
warns 0 "outgoing.scr"
has 0 ckpt.2
run scr_index --adopt
fails 2 "outgoing.scr"
cp "$tmp/plan" .scr/scr.dataset.3/outgoing.scr
run scr_index --adopt
is 0 "1 dataset entered"
check "no plan" ! -e .scr/scr.dataset.3/outgoing.scr
looks scr_index
has 0 "ckpt.3"
[ ! -s "$tmp/.err" ] || fail "nothing expected on stderr"
run scr_index --adopt
is 0 "0 datasets entered"
# A change enters it as well.
cli_arrive "$PWD" 3
run scr_index --current ckpt.2
check "entered" -e .scr/scr.dataset.3/summary.scr

# --- the flush file ---
looks scr_flush_file --need-flush 3
has_status 1
run scr_index --prefix /nonexistent --adopt
fails 2 "/nonexistent"
mkdir "$tmp/empty"
run scr_index --prefix "$tmp/empty" --adopt
fails 2 "no SCR data in"
