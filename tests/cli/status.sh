#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr status: each state of a job, by the files of its prefix directory alone and with its caches,
# and files that are damaged or missing.
. "${0%/*}/lib.sh"
# scr status warns about every SCR_* variable that is no parameter: the tests' own are not exported
source=$SCR_TEST_SOURCE version=$SCR_TEST_VERSION
unset SCR_TEST_BIN SCR_TEST_HELPERS SCR_TEST_SOURCE SCR_TEST_VERSION
SCR_TEST_VERSION=$version
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
base=$tmp/node golden=$source/tests/golden
mkdir "$base" prefix
cd prefix || exit 99
export SCR_CNTL_BASE="$base" SCR_CACHE_BASE="$base" SCR_USER_NAME=tester SCR_JOB_ID=1234

holder=
trap '[ -z "$holder" ] || kill "$holder"; cd /; rm -rf "$tmp"' EXIT

# hold PATH [KEY]: a process holds that lock, until let_go
hold() {
    cli_hold "$@" &
    holder=$!
    until_true grep -q "process $holder" "$1"
}

let_go() {
    kill "$holder"
    wait "$holder" 2>/dev/null
    holder=
}

# status ARGUMENT…: with the rows of one item joined to one line, as they may be wrapped anywhere
status_is() {
    run scr status
    sed -e ':again' -e '$!N' -e 's/\n            / /' -e 'tagain' -e 'P;D' "$out" >.joined
    mv .joined "$out"
    has_status "$1"
}

# row LABEL TEXT: a row that has the text
row() {
    grep -E "^$1 " "$out" >.row || fail "no row $1"
    grep -qF -- "$2" .row || fail "expected in the row $1: $2"
    rm .row
}

no_row() {
    ! grep -qE "^$1 " "$out" || fail "no row $1 expected"
}

# json EXPRESSION: what Python makes of the status s
json() {
    run scr status --json
    python3 -c "import json, sys; s = json.load(sys.stdin); sys.exit(not ($1))" <"$out" ||
        fail "expected of the JSON: $1"
}

# log SECONDS-AGO EVENT MEMBERS: a line of the event log
log() {
    printf '{"time":"%s","host":"n1","jobid":"1234","event":"%s"%s}\n' \
        "$(date -u -d "@$(($(date +%s) - $1))" +%Y-%m-%dT%H:%M:%S.000000+00:00)" "$2" "${3:+,$3}" >>.scr/log
}

# --- no run yet ---
status_is 1
[ "$(cat "$out")" = "directory   $PWD
state       no run yet
cache       nothing
prefix      nothing
restart     from nothing" ] || fail "another text expected"
fails 1 "scr status: no SCR data in $PWD: give the prefix directory with --prefix"
check "asking makes nothing" ! -e .scr
run scr status --prometheus
check "no note with metrics" ! -s "$err"
json 's["state"] == "none" and s["restart"] is None and s["notes"] == [] and s["version"] == 1'
has_status 1
check "no note with JSON" ! -s "$err"
run scr status --line
is 1 "none"
run scr status --prefix "$tmp/none"
fails 2 "$tmp/none"
run scr status --json --line
fails 2 "options --json and --line exclude each other"
SCR_FLSUH=1 run scr status
warns 1 "scr status: warning: unknown parameter SCR_FLSUH (environment): did you mean SCR_FLUSH?"
SCR_FLSUH=1 run scr status --line
is 1 "none"
check "no warning with a line" ! -s "$err"
run scr status --watch=soon
fails 2 'option --watch: "soon" is no time'
run scr status --watch soon
fails 2 'option --watch: "soon" is no time'
run scr status --watch --json
fails 2 "options --json and --watch exclude each other"
run scr status extra
fails 2 'unexpected argument "extra"'

# --- a run that ended, without and with its log ---
for id in 1 2; do
    cli_scavenge "$PWD" "$id" XOR 3 3
    scr_index --build "$id" >/dev/null || exit 99
done
cp "$golden/nodes/good-4.scr" .scr/nodes.scr
common scr_status
status_is 0
row state ended
row prefix "dataset 2 (ckpt.2), "
row restart "from dataset 2 in the prefix directory"
no_row "so far"
log 7200 RUN_START '"ranks":8,"nodes":4,"nodelist":"n[1-4]","run":1,"config":"SCR_FLUSH=1"'
log 7100 CHECKPOINT_END '"dset":1,"secs":0.5'
log 7000 RUN_END '"secs":200'
status_is 0
row state "ended by SCR_Finalize; job 1234, run 1, 8 ranks on 4 nodes"
has 0 ", 117 min ago"
row "so far" "1 run, 0 failures"
json 's["state"] == "ended" and s["run"]["ended"] - s["run"]["began"] == 200 and s["run"]["nodelist"] == "n[1-4]"'

# --- a run that is to follow it is stopped where jobs can be told apart ---
finalized() {
    PYTHONPATH=$golden python3 -B -c 'import sys, encode
sys.stdout.buffer.write(encode.hash_file({"ExitReason": "SCR_FINALIZE_CALLED", "ExitJobId": sys.argv[1]}))' "$1" \
        >.scr/halt.scr
}
finalized 1234
status_is 0
row halt "a new run of the job stops: exit reason is SCR_FINALIZE_CALLED"
sed -i.with_id 's/"jobid":"1234"/"jobid":"defjobid"/' .scr/log
finalized defjobid
status_is 0
row halt "a run loop starts no other run: exit reason is SCR_FINALIZE_CALLED"
mv .scr/log.with_id .scr/log
rm .scr/halt.scr

# --- halted ---
log 6900 RUN_START '"ranks":8,"nodes":4,"nodelist":"n[1-4]"'
log 6800 HALT '"note":"no checkpoints left to take"'
log 6800 RUN_END '"note":"halt"'
scr_halt --checkpoints 0 >/dev/null
status_is 0
row state "halted: no checkpoints left to take; job 1234, run 2"
row halt "after 0 more checkpoints; a new run of the job stops: no checkpoints left to take"
scr_halt --unset-checkpoints --before 2030-01-02T03:04:05 --seconds 600 >/dev/null
status_is 0
row halt "before 2030-01-02 03:04:05 +0000, 600 s before the allocation ends"
json 's["halt"]["halt_seconds"] == 600 and s["halt"]["satisfied"] is None'
scr_halt --remove

# --- it died; a job whose caches are elsewhere ---
cli_cache "$base" tester 1234 20 XOR 4 4 "$PWD"
log 600 RUN_START '"ranks":8,"nodes":4,"nodelist":"n[1-4]","run":3,"config":"CKPT=0 TYPE=RS SET_FAILURES=3; SCR_FLUSH=1"'
log 500 INTERVAL '"secs":780,"note":"MTBF 4 h"'
log 400 ENCODE '"dset":20,"to":"RS"'
log 400 CHECKPOINT_END '"dset":20'
log 60 NODE_FAIL '"note":"n3: no answer"'
log 60 RUN_END '"note":"run 1: exit status 9"'
status_is 0
row state "died: its run has no end, and no process holds its lock: run 1: exit status 9; job 1234, run 3"
row cache "dataset 20 (ckpt.20), "
row cache "on nodes n[1-4]; survives the loss of 1 more node (XOR)"
row prefix "1 dataset in cache only"
row restart "from dataset 20 in cache"
row "so far" "3 runs, the newest died, 0 failures before it, 1 node lost (n3)"
json 's["cache"]["missing"] == 0 and not s["cache"]["mendable"]'
lost=$(echo "$base"/vnode.n2/tester/scr.1234/prefix.*)/scr.dataset.20/rank.2/rank_2.dat
mv "$lost" away
status_is 0
row cache "on nodes n[1-4], some of its files lost: can be rebuilt, survives no further loss of a node (XOR)"
json 's["cache"]["missing"] == 0 and s["cache"]["mendable"] and s["cache"]["survives"] == 0'
mv away "$lost"
SCR_VNODES='n[1-3]' status_is 0 # as to scr why, n4 is no node of the next run
row cache "on nodes n[1-4], 1 of them lost: can be rebuilt, survives no further loss of a node (XOR)"
rm -r "$base/vnode.n2"
status_is 0
row cache "on nodes n[1-4], 1 of them lost: can be rebuilt, survives no further loss of a node (XOR)"
json 's["cache"]["seen"] and s["cache"]["survives"] == 0'
json 's["cache"]["missing"] == 1 and s["cache"]["mendable"] and not s["cache"]["lost"]'
rm -r "$base/vnode.n3"
status_is 0 # as on a node of the job, which has its own part only
row cache "; other nodes have the rest, this is what flush.scr and the event log say"
row restart "from dataset 20 in cache"
# no other node has the rest
SCR_VNODES='n[1-4]' status_is 0
row cache "on nodes n[1-4]; more of it is lost than XOR can rebuild"
row restart "from dataset 2 in the prefix directory"
SCR_VNODES='n[1-4]' json 's["cache"]["lost"] and s["restart"]["id"] == 2'
SLURM_JOBID=1234 SLURM_NODELIST='a[1-2]' SCR_VNODES='n[1-4]' status_is 0 # nor are those of other hosts
row cache "; other nodes have the rest, this is what flush.scr and the event log say"
mkdir "$tmp/elsewhere"
SCR_CNTL_BASE=$tmp/elsewhere SCR_CACHE_BASE=$tmp/elsewhere status_is 0
row cache "on nodes n[1-4]; survives the loss of 2 more nodes (RS); the caches were not looked at"
row restart "from dataset 20 in cache while the allocation lasts, else from 2 in the prefix directory"
export SCR_CNTL_BASE="$tmp/elsewhere" SCR_CACHE_BASE="$tmp/elsewhere"
sed -i.nodes "s/n\[1-4\]/$(uname -n)/" .scr/log # this host was the only node
status_is 0
row cache "; no cache in reach has any of it, this is what flush.scr and the event log say"
mv .scr/log.nodes .scr/log
json 's["restart"] == {"id": 20, "name": "ckpt.20", "from": "cache"} and not s["cache"]["seen"]'
json 's["cache"]["survives"] == 2 and s["history"]["nodes_lost"] == ["n3"] and s["only_in_cache"] == 1'

# --- it runs, under scr_srun or not ---
hold .scr/runs.lock 1234
status_is 0
row state "running; job 1234, run 3, 8 ranks on 4 nodes"
has 0 ", process $holder on "
has 0 "last sign of life"
row checkpoint "the next in "
row checkpoint "MTBF 4 h"
SCR_END_TIME=$(($(date +%s) + 9000)) SCR_HALT_SECONDS=9100 status_is 0
row "time left" "2.5 h, the allocation ends "
row halt "as soon as it can: less than 9100 seconds left"
json 's["run"]["process"].startswith("process") and 370 < s["checkpoint"]["next"] - s["time"] < 390'
export SLURM_JOBID=1234 SLURM_NODELIST='n[1-6]'
SCR_JOB_ID='' PATH=$source/tests/fixtures/rm/slurm/bin:$PATH status_is 0 # it is this job's allocation
row "so far" "1 node lost (n3), 1 spare node"
json 's["history"]["spares"] == 1 and s["run"]["job"] == "1234"'
unset SLURM_JOBID SLURM_NODELIST
run scr status --line
has 0 "running 1234, cache 20, prefix 2, next in 6."
let_go
hold .scr/run.scr.lock
status_is 0
row state "the run loop starts or ends a run"
json 's["state"] == "starting"'
let_go

# --- a flush that was interrupted, and one that is under way ---
cli_scavenge "$PWD" 3 XOR 3 3
scr_index --build 3 >/dev/null || exit 99
cli_arrive "$PWD" 3 pending
mv ckpt.3/rank_1.dat away
status_is 0
row flush "dataset 3 (ckpt.3), 66 % of "
row flush "was interrupted"
hold .scr/scr.dataset.3/flushing.lock
status_is 0
row flush "66 % of "
row flush "(in the background)"
json '0 < s["flush"]["done"] < s["flush"]["bytes"] and s["flush"]["running"] and s["flush"]["async"]'
# It was asked for 1000 s ago, and waited until the flush before it had ended.
touch -d "1000 seconds ago" .scr/scr.dataset.2/summary.scr .scr/scr.dataset.3/flushing.lock
json '0 < s["flush"]["rate"] <= s["flush"]["done"] / 1000'
touch -d "10 seconds ago" .scr/scr.dataset.2/summary.scr
json 's["flush"]["done"] / 20 < s["flush"]["rate"] <= s["flush"]["done"] / 10'
run scr status --line
has 0 ", flush "
grep -q "wait" "$out" && fail "a line without reason"
mkdir .scr/scr.dataset.4
cli_hold .scr/scr.dataset.4/flushing.lock &
second=$!
until_true grep -q "process $second" .scr/scr.dataset.4/flushing.lock
status_is 0
row flush "dataset 3 (ckpt.3), 66 % of "
row flush "(in the background); 1 more waits"
json 's["flush"]["id"] == 3 and s["flush"]["waiting"] == 1'
kill "$second"
wait "$second" 2>/dev/null
rm -r .scr/scr.dataset.4
let_go
mv away ckpt.3/rank_1.dat

# --- for programs ---
run scr status --prometheus
has 0 'scr_state{directory="'"$PWD"'",state="died"} 1'
has 0 'scr_cache_dataset{directory="'"$PWD"'"} 20'
has 0 'scr_failures{directory="'"$PWD"'",class="node"} 0'
has 0 'scr_nodes_lost{directory="'"$PWD"'"} 1'
python3 - "$out" <<'END' || fail "not in the text format"
import re, sys
kind = {}
for line in open(sys.argv[1], encoding="utf-8"):
    head = re.match(r"# (HELP|TYPE) (scr_[a-z_]+) (.+)\n", line)
    if head:
        kind.setdefault(head[2], []).append(head[1])
        assert head[1] == "HELP" or head[3] == "gauge", line
        continue
    value = re.match(r'(scr_[a-z_]+)\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\} (\S+)\n', line)
    assert value and kind.get(value[1]) == ["HELP", "TYPE"], line
    float(value[3])
END

# a directory with a name that would end the label, and the line (S11)
odd='a"} 1\b
scr_state{x="'
mkdir "../$odd"
run scr status --prefix "../$odd" --prometheus
has 1 'a\"} 1\\b\nscr_state{x=\"",state="none"} 1'
check "lines" "$(grep -cv '^#\|^scr_[a-z_]*{directory="' "$out")" = 0
rmdir "../$odd"

# --- again and again: blocks where there is no terminal, one place on a terminal ---
(scr status --watch 0.1 >watched & watcher=$!
 until_true sh -c '[ "$(grep -c "^state" watched)" -ge 3 ]'
 kill -INT $watcher
 wait $watcher) || fail "scr status --watch: exit status $?"
! grep -q "$(printf '\033')" watched || fail "no escapes without a terminal"
[ "$(grep -c '^$' watched)" -ge 3 ] || fail "a blank line after each"
[ "$(awk '{ if (length($0) > 80) print }' watched | grep -cv "$PWD")" -eq 0 ] || fail "80 columns"

# --- damaged files: a note each, and the rest is known ---
for file in index.scr flush.scr halt.scr nodes.scr autopilot.scr; do
    cp -r .scr kept
    printf 'no hash file' >".scr/$file"
    status_is 0
    row note "$PWD/.scr/$file"
    row state "died"
    [ "$(grep -c '^note' "$out")" -eq 1 ] || fail "one note expected"
    [ ! -s "$err" ] || fail "nothing expected on stderr"
    rm -r .scr
    mv kept .scr
done
cp "$golden/autopilot/bad-corrupt-uptime.scr" .scr/autopilot.scr
status_is 0
row note "$PWD/.scr/autopilot.scr: autopilot file: bad UPTIME"
cp "$golden/autopilot/good-manual.scr" .scr/autopilot.scr
status_is 0
row "so far" "3 runs, the newest died, 3 failures before it (2 of a process, 1 of a node, 0 beyond the cache)"
printf 'half a line' >>.scr/log
status_is 0
row note "$PWD/.scr/log: 1 damaged line passed over"
json 'len(s["notes"]) == 1 and s["run"]["number"] == 3'
rm .scr/log

# Where no checkpoint in cache survives the loss of a node, the advice counts lost nodes as the library does.
for scheme in XOR SINGLE; do
    log 400 RUN_START '"ranks":8,"nodes":4,"run":3'
    log 300 ENCODE '"dset":20,"to":"'$scheme'"'
    json 's["checkpoint"]["interval"] > 0'
    python3 -c 'import json, sys; print(json.load(sys.stdin)["checkpoint"]["interval"])' <"$out" >>.intervals
    rm .scr/log
done
[ "$(sort -u .intervals | wc -l)" -eq 2 ] || fail "the advice does not tell SINGLE from XOR: $(cat .intervals)"
status_is 0 # by autopilot.scr
row state "died"
row cache "this is what flush.scr says"
printf 'SCR_FLUSH=sometimes\n' >.scrconf
status_is 0
row note "configuration: SCR_FLUSH=sometimes"
run scr status --line
has 0 ", 1 note"

# --- caches of one run in reach, those of a later run elsewhere: as scr why says ---
mkdir ../apart
cd ../apart || exit 99
export SCR_CNTL_BASE="$base" SCR_CACHE_BASE="$base"
cli_cache "$base" tester 1234 10 XOR 4 4 "$PWD"
rm .scr/flush.scr # a run that did not find it
status_is 0
row cache "dataset 10 (ckpt.10), "
row cache "survives the loss of 1 more node (XOR)"
row prefix "nothing; 1 dataset in cache only"
row restart "from dataset 10 in cache"
run scr why
has 0 "a restart takes dataset 10 (ckpt.10) from cache"
cli_cache "$tmp/elsewhere" tester 1234 20 XOR 4 4 "$PWD"
log 400 RUN_START '"ranks":4,"nodes":4,"nodelist":"m[1-4]"'
status_is 0
row cache "dataset 10 (ckpt.10), "
! grep -qE "^cache .*on nodes" "$out" || fail "nodes of another run"
row restart "from dataset 10 in cache"
row note "dataset 20 (ckpt.20) is in cache on nodes m[1-4] of job 1234, by flush.scr, and not found in the caches in"
run scr why
has 0 "    20 cache  unseen     ckpt.20: in cache on nodes m[1-4] of job 1234, by flush.scr: not found in the caches in reach"
has 0 "a restart that finds these caches takes dataset 20 (ckpt.20); without them"
has 0 "a restart takes dataset 10 (ckpt.10) from cache"
rm -r "$base"/vnode.n*/tester/scr.1234/prefix.*/scr.dataset.10
status_is 0
row cache "dataset 20 (ckpt.20), "
row cache "; no cache in reach has any of it, this is what flush.scr and the event log say"
row restart "from dataset 20 in cache while the allocation lasts"
run scr why
has 1 "a restart that finds these caches takes dataset 20 (ckpt.20); without them"
has 1 "a restart finds nothing"
