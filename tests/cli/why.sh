#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr why, scr_have_restart and scr_inspect: what a restart would take, and why not the others.
. "${0%/*}/lib.sh"
# scr why warns about every SCR_* variable that is no parameter: the tests' own are not exported
source=$SCR_TEST_SOURCE version=$SCR_TEST_VERSION
unset SCR_TEST_BIN SCR_TEST_HELPERS SCR_TEST_SOURCE SCR_TEST_VERSION
SCR_TEST_VERSION=$version
base=$tmp/node
mkdir "$base" prefix
cd prefix || exit 99
export SCR_CNTL_BASE="$base" SCR_CACHE_BASE="$base" SCR_USER_NAME=tester SCR_JOB_ID=7

# whole ID…: complete datasets of 3 ranks
whole() {
    for id in "$@"; do
        cli_scavenge "$PWD" "$id" XOR 3 3
        scr_index --build "$id" >/dev/null || exit 99
    done
}

# bare ID: without what could rebuild it
bare() {
    rm -f .scr/scr.dataset."$1"/*.xor .scr/scr.dataset."$1"/*.scrfilemap
}

# one WHERE ID STATE [TEXT]: a line of the explanation
one() {
    grep -E "^(->|  ) *$2 $1 +$3 " "$out" >.line || fail "expected: dataset $2 in $1 $3"
    [ $# -lt 4 ] || grep -qF -- "$4" .line || fail "expected of dataset $2: $4"
}

# nothing at all
run scr why
has 1 "a restart finds nothing"
warns 1 "no SCR data in"
check "asking makes nothing" ! -e .scr
run scr_inspect
warns 1 "scr_inspect: no SCR data in $PWD: give the prefix directory with --prefix"
run scr_have_restart
is 1 ""
run scr_inspect
has 1 "DSET WHERE"
run scr why --json
is 1 "[]"
run scr_have_restart --json
has 1 '"found": false'

whole 1
common scr_why
common scr_have_restart
common scr_inspect

# --- one of each kind in one directory ---
whole 2 3 4 5 6 7 8 9 10 18
cli_mark "$PWD" 10                          # failed
rm ckpt.9/rank_1.dat; bare 9                # a file is gone
printf X | dd of=ckpt.8/rank_0.dat bs=1 seek=5 conv=notrunc 2>/dev/null; bare 8
printf 'no hash file' >.scr/scr.dataset.7/summary.scr; bare 7
printf 'no hash file' >.scr/scr.dataset.6/rank2file.0.0; bare 6
rm .scr/scr.dataset.5/rank2file; bare 5
scr_index --drop ckpt.4
rm ckpt.3/rank_2.dat; bare 3
scr_index --add 3 >/dev/null 2>&1           # incomplete
cp "$source"/tests/golden/summary/bad-version-7.scr .scr/scr.dataset.18/summary.scr
cli_scavenge "$PWD" 17 XOR 4 4              # of four ranks
scr_index --build 17 >/dev/null
scr_index --current ckpt.1

run scr why --crc
has 0 "a restart takes dataset 1 (ckpt.1) from the prefix directory"
one prefix 18 version "newer than this reader"
one prefix 17 complete "newer than the one a restart starts from, dataset 1"
one prefix 10 failed "a restart could not read it at 20"
one prefix 9 corrupt "ckpt.9/rank_1.dat: no such file"
one prefix 8 corrupt "ckpt.8/rank_0.dat has the CRC32"
one prefix 7 corrupt "scr.dataset.7/summary.scr"
one prefix 6 corrupt "scr.dataset.6/rank2file.0.0"
one prefix 5 corrupt "rank2file"
# Not told how to add it: the list of a newer one is damaged, whose files a rebuild might write over.
one prefix 4 dropped "not in the index"
one prefix 3 incomplete "the index says that it is incomplete"
one prefix 2 complete "newer than the one a restart starts from"
one prefix 1 complete "current, complete"
[ "$(grep -c -- '^->' "$out")" -eq 1 ] || fail "one dataset is taken"

# sizes alone do not show a flipped byte
run scr why
one prefix 8 complete

# the order: current, then what is older; without a current one the newest
scr_index --current ckpt.9
run scr why --crc
has 0 "a restart takes dataset 2 (ckpt.2)"
one prefix 17 complete "newer than"
run scr_have_restart --crc
is 0 ckpt.2
cli_mark "$PWD" 9 # and CURRENT goes
run scr why --crc
has 0 "a restart takes dataset 17 (ckpt.17)"
one prefix 2 complete "older than dataset 17"

# of a run with another number of ranks
run scr why --crc --ranks 3
one prefix 17 complete "not offered without SCR_RESTART_ANY_RANKS=1; written by 4 ranks, the run has 3"
has 0 "a restart takes dataset 2 (ckpt.2)"
run scr_have_restart --crc --ranks 3
is 0 ckpt.2
SCR_CURRENT=ckpt.17 run scr_have_restart --crc --ranks 3
is 0 ckpt.2
SCR_RESTART_ANY_RANKS=1 run scr why --crc --ranks 3
one prefix 17 complete "written by 4 ranks, the run has 3"
has 0 "a restart takes dataset 17 (ckpt.17)"
run scr why --crc --ranks 4
has 0 "a restart takes dataset 17 (ckpt.17)"
one prefix 2 complete "written by 3 ranks, the run has 4"

# one rank, one file
mkdir ../alone ../alone/flat
cd ../alone || exit 99
echo x >flat/f.0
run scr_index --add-directory flat f.%r
has 0 'dataset 1: "flat", 1 file of 1 rank, 2 bytes, added to the index'
run scr_index --add-directory flat f.%r --ranks 2 --name other
fails 2 "files of 1 rank, not of 2"
run scr why --ranks 2
one prefix 1 complete "written by 1 rank, the run has 2"
cd ../prefix || exit 99

# SCR_CURRENT is the first to be tried, SCR_FETCH=0 keeps from all
SCR_CURRENT=ckpt.2 run scr_have_restart --crc
is 0 ckpt.2
SCR_FETCH=0 run scr why
has 1 "SCR_FETCH=0"

# JSON
run scr why --crc --json
has 0 '"state": "version"'
has 0 '"taken": true'
run scr_have_restart --crc --json
has 0 '"name": "ckpt.17"'

# the list without the choice
run scr_inspect --crc
has 0 "     8 prefix corrupt    ckpt.8: rank 0"
has 0 "     2 prefix complete   ckpt.2"

# --- caches: of virtual nodes, by configuration and by directory ---
cntl() { echo "$base/vnode.n$1/tester/scr.7"/prefix.*; }
cli_cache "$base" tester 7 20 XOR 4 4
run scr why
has 0 "a restart takes dataset 20 (ckpt.20) from cache"
one cache 20 complete "in cache"
run scr why --cntl "$(cntl 0)"
one cache 20 partial "1 of the 4 members of set 0 are here"
run scr why --no-cache
! grep -q "cache" "$out" || fail "nothing of a cache expected"
rm -rf "$base/vnode.n2"
run scr why
one cache 20 mendable "1 of the 4 members of set 0 can be rebuilt by XOR"
run scr_inspect
has 0 "    20 cache  mendable   ckpt.20: 1 of the 4"
run scr_have_restart
is 0 ckpt.20
rm -rf "$base/vnode.n3"
run scr why
one cache 20 partial "2 of the 4 members"
has 0 "a restart takes dataset 20 (ckpt.20) from cache if other nodes have the rest of what is partial, which is not known \
here; else it takes dataset 17 (ckpt.17) from the prefix directory"
run scr_have_restart
is 0 ckpt.20

# the nodes of the run are known: what others have does not count, and what none of them has is lost
export SCR_VNODES='n[0-3]'
run scr why
one cache 20 corrupt "2 of the 4 members of set 0 are here; the run has no other nodes"
has 0 "a restart takes dataset 17 (ckpt.17) from the prefix directory"
run scr_have_restart
is 0 ckpt.17
SCR_VNODES='n[2-5]' run scr why
! grep -q cache "$out" || fail "these nodes have nothing"
SCR_NODELIST='n[0-7]' run scr why
one cache 20 partial "2 of the 4 members"
# other hosts of the job have virtual nodes, too
SLURM_JOBID=7 SLURM_NODELIST='a[1-2]' run scr why
one cache 20 partial "2 of the 4 members of set 0 are here"
has 0 "which is not known here; else it takes dataset 17 (ckpt.17) from the prefix directory"
SLURM_JOBID=7 SLURM_NODELIST=a1 run scr why
one cache 20 corrupt "2 of the 4 members of set 0 are here; the run has no other nodes"
cli_cache "$base" tester 7 20 XOR 4 4
SCR_VNODES=n0,n1,n2,s1 run scr why
one cache 20 mendable "1 of the 4 members of set 0 can be rebuilt by XOR"
run scr why --ranks 3 # n3 has none
one cache 20 mendable "1 of the 4 members of set 0 can be rebuilt by XOR"
run scr why --ranks 2
one cache 20 corrupt "2 of the 4 members of set 0 are here; the run has no other nodes"
run scr why --ranks 4
one cache 20 complete
SCR_VNODES='n[' run scr why
fails 2 "SCR_VNODES=n["
unset SCR_VNODES

# a damaged byte in cache, and something newer that was lost
cli_cache "$base" tester 7 20 XOR 4 4
printf X | dd of="$(cntl 1)/scr.dataset.20/rank.1/rank_1.dat" bs=1 seek=9 \
    conv=notrunc 2>/dev/null
run scr why
one cache 20 complete
run scr why --crc
one cache 20 mendable
cli_cache "$base" tester 7 21 SINGLE 4 1
rm "$(cntl 1)/scr.dataset.21/rank.1/rank_1.dat"
run scr why
one cache 21 corrupt "lost or damaged on ranks 1"
has 0 "a restart takes dataset 20 (ckpt.20) from cache"
whole 21
run scr why
has 0 "a restart takes dataset 21 (ckpt.21) from the prefix directory"
run scr why --ranks 8
one cache 20 complete "not offered without SCR_RESTART_ANY_RANKS=1; written by 4 ranks"
has 1 "a restart finds nothing"
export SCR_RESTART_ANY_RANKS=1
run scr why --ranks 8
one cache 21 corrupt "written by 4 ranks, the run has 8"
one prefix 21 complete "the newest that can be read; written by 3 ranks, the run has 8"
has 0 "a restart takes dataset 21 (ckpt.21) from the prefix directory"
scr_index --drop ckpt.21
run scr why --ranks 8
one cache 20 complete "in cache; written by 4 ranks, the run has 8"
has 0 "a restart takes dataset 20 (ckpt.20) from cache"
unset SCR_RESTART_ANY_RANKS

# a control directory that others can write to is not believed
chmod o+w "$(cntl 0)"
run scr why
fails 2 "$(cntl 0): others can write to it"
run scr why --cntl "$(cntl 0)"
fails 2 "others can write to it"
run scr verify --cache --repair
fails 2 "others can write to it"
chmod o-w "$(cntl 0)"

# --- a cache that another job has left behind: CURRENT, or the newest where there is none ---
rm -rf "$base"/vnode.*
mkdir ../behind
cd ../behind || exit 99
whole 1 2 3
cli_cache "$base" tester 7 1 SINGLE 3 1
for global in 0 1; do
    export SCR_GLOBAL_RESTART=$global
    run scr why
    has 0 "a restart takes dataset 3 (ckpt.3) from the prefix directory"
    scr_index --current ckpt.2 >/dev/null || exit 99
    run scr_have_restart
    is 0 ckpt.2
    scr_index --current ckpt.1 >/dev/null || exit 99
    run scr why
    has 0 "a restart takes dataset 1 (ckpt.1) from "
    # To be flushed, which it is not where the index has another dataset of its number.
    [ $global = 1 ] && text="another dataset has its number" || text="in cache"
    one cache 1 complete "$text"
    scr_index --drop ckpt.1 >/dev/null || exit 99
    run scr_have_restart
    is 0 ckpt.3
    scr_index --add ckpt.1 >/dev/null || exit 99
done
unset SCR_GLOBAL_RESTART

# --- what the start leaves in cache, what it deletes, what belongs to another prefix directory ---
cli_cache "$base" tester 7 4 SINGLE 3 1
run scr why
has 0 "a restart takes dataset 4 (ckpt.4) from cache"
SCR_DISTRIBUTE=0 run scr why
one cache 4 kept "SCR_DISTRIBUTE=0: a start leaves it as it is"
has 0 "a restart takes dataset 3 (ckpt.3) from the prefix directory"
SCR_DISTRIBUTE=0 SCR_CURRENT=ckpt.4 run scr why
one prefix 3 complete "a restart does not come to it after dataset 4"
has 1 "a restart finds nothing"
SCR_DISTRIBUTE=0 run scr_inspect
has 0 "     4 cache  kept       ckpt.4: SCR_DISTRIBUTE=0"
SCR_CACHE_PURGE=1 run scr why
one cache 4 complete "SCR_CACHE_PURGE=1: a start deletes it"
has 0 "a restart takes dataset 3 (ckpt.3) from the prefix directory"
run scr why --json
has 0 '"reason": "taken"'
has 0 '"reason": "older"'
SCR_GLOBAL_RESTART=1 SCR_FETCH=0 run scr why
one cache 4 complete "the program reads the prefix directory itself"
has 1 "a restart finds nothing"
mkdir ../neighbour
cd ../neighbour || exit 99
run scr why
warns 1 "no SCR data in"
[ "$(cat "$out")" = "    DSET WHERE  STATE      NAME: WHY
a restart finds nothing" ] || fail "nothing of the other prefix directory expected"
whole 1

# --- caches that this host does not have ---
mkdir ../login
cd ../login || exit 99
whole 1
cli_cache "$base" tester 7 4 XOR 4 4 "$PWD"
mkdir "$tmp/elsewhere"
where="in cache on nodes that the event log does not name of job 7, by flush.scr: not looked at"
export SCR_CNTL_BASE="$tmp/elsewhere" SCR_CACHE_BASE="$tmp/elsewhere"
run scr why
one cache 4 unseen "ckpt.4: $where"
has 0 "a restart that finds these caches takes dataset 4 (ckpt.4); without them"
has 0 "a restart takes dataset 1 (ckpt.1) from the prefix directory"
run scr_inspect
has 0 "     4 cache  unseen     ckpt.4: $where"
run scr why --json
has 0 '"reason": "unseen"'
run scr_have_restart
is 0 ckpt.1
run scr why --no-cache
! grep -q unseen "$out" || fail "nothing of a cache expected"
run scr_index --list
warns 0 "dataset 4 (ckpt.4) is only in cache on nodes that the event log does not name of job 7, by flush.scr"
printf '{"time":"2026-01-31T12:00:00+01:00","host":"n1","jobid":"7","event":"RUN_START","nodelist":"n[0-3]"}\n' >.scr/log
scr_index --drop ckpt.1 >/dev/null
sed -i.nodes "s/n\[0-3\]/$(uname -n)/" .scr/log
run scr why
one cache 4 unseen "in cache on nodes $(uname -n) of job 7, by flush.scr: not found on this node, its only one"
mv .scr/log.nodes .scr/log
run scr why
one cache 4 unseen "in cache on nodes n[0-3] of job 7, by flush.scr"
has 1 "a restart that finds these caches takes dataset 4 (ckpt.4); without them"
has 1 "a restart finds nothing"
run scr_inspect
has 1 "unseen"
run scr_index
warns 0 "is only in cache on nodes n[0-3] of job 7, by flush.scr"
printf 'no hash file' >.scr/flush.scr
run scr why
has 1 "a restart finds nothing"
! grep -q unseen "$out" || fail "a damaged flush file lists nothing"
export SCR_CNTL_BASE="$base" SCR_CACHE_BASE="$base"
cd ../neighbour || exit 99

# --- runs with virtual nodes and without: two copies of a dataset, each judged by itself ---
rm -rf "$base"/vnode.*
mkdir ../copies
cd ../copies || exit 99
cli_cache "$base" tester 7 70 XOR 4 4 "$PWD"
cli_cache "$base" tester 7 70 SINGLE 4 1 "$PWD" host
host=$(echo "$base"/tester/scr.7/prefix.*)/scr.dataset.70
other="another copy with other redundancy sets"
own="a run takes the copy on the nodes it runs on"
run scr why
one cache 70 complete "in cache; $other, complete, is in $(cntl 0)/scr.dataset.70: $own"
run scr_inspect
has 0 "    70 cache  complete   ckpt.70"
run scr_have_restart
is 0 ckpt.70
run scr verify --cache
has 0 "verified 2 datasets"
run scr status
has 0 "(SINGLE)"

# the better one counts, and verify looks at both
rm "$host/rank.1/rank_1.dat"
run scr why
one cache 70 complete "in cache; $other, corrupt, is in $host: $own"
run scr verify --cache
has 1 "$host/rank.1/rank_1.dat: no such file"
run scr status
has 0 "(XOR)"
rm -rf "$base/vnode.n2"
run scr_inspect
has 0 "    70 cache  mendable   ckpt.70: 1 of the 4 members of set 0 can be rebuilt by XOR; $other, corrupt, is in $host"
run scr why --json
has 0 "$other, corrupt, is in $host"
rm -rf "$base/vnode.n1"
run scr why
one cache 70 partial "2 of the 4 members of set 0 are here; $other, corrupt, is in $host"
rm -rf "$base"/vnode.* "$base/tester"
cd ../neighbour || exit 99

# --- one that a flush left without its record ---
mv ckpt.1/rank_1.dat away
bare 1
scr_index --add 1 >/dev/null 2>&1
run scr why
has 1 "a restart finds nothing"
mv away ckpt.1/rank_1.dat
run scr why
one prefix 1 incomplete "the index says that it is incomplete; all its files exist: the next start enters it"
has 0 "a restart takes dataset 1 (ckpt.1) from the prefix directory"

# --- output that is lost: a restart goes back before it ---
rm -rf "$base"/vnode.*
mkdir ../lost
cd ../lost || exit 99
whole 1 2
cli_cache "$base" tester 7 3 XOR 3 3 "$PWD" output
whole 4
run scr why
has 0 "a restart takes dataset 4 (ckpt.4) from the prefix directory"
! grep -q lost "$out" || fail "nothing is lost"
rm -rf "$base"/vnode.n1
run scr_have_restart
is 0 ckpt.4

rm -rf "$base"/vnode.n2 # one of three is in reach: others decide
run scr_have_restart
is 0 ckpt.4
lost="output is lost: ckpt.3 (dataset 3); a run from a newer checkpoint does not write it again"
rm -rf "$base"/vnode.*
run scr why
has 0 "$lost: a restart goes back to ckpt.2, with SCR_RESTART_PAST_LOST_OUTPUT=1 it would not"
has 0 "a restart takes dataset 2 (ckpt.2) from the prefix directory"
one prefix 4 complete "newer than output that is lost, dataset 3"
one prefix 2 complete "the newest before output that is lost"
run scr why --json
has 0 "newer than output that is lost, dataset 3"
run scr_have_restart
is 0 ckpt.2
run scr_have_restart --no-cache
is 0 ckpt.2
scr_index --current ckpt.4
run scr_have_restart
is 0 ckpt.2

# who goes past it, or has chosen
SCR_RESTART_PAST_LOST_OUTPUT=1 run scr why
has 0 "$lost: SCR_CURRENT=ckpt.2 goes back before it"
has 0 "a restart takes dataset 4 (ckpt.4)"
SCR_CURRENT=ckpt.4 run scr why
has 0 "a restart takes dataset 4 (ckpt.4)"
SCR_CURRENT=ckpt.1 run scr_have_restart
is 0 ckpt.1
SCR_FETCH=0 run scr why
has 1 "$lost: SCR_CURRENT=ckpt.2 goes back before it"
SCR_JOB_ID=8 run scr why
has 0 "a restart takes dataset 4 (ckpt.4)"
! grep -q "is lost" "$out" || fail "it is another job's"
run scr why --ranks 4
has 1 "a restart finds nothing"

# one that is damaged gives way to an older one, and if there is none to the newest
rm ckpt.2/rank_1.dat; bare 2
run scr_have_restart
is 0 ckpt.1
rm ckpt.1/rank_1.dat; bare 1
run scr_have_restart
is 0 ckpt.4
scr_index --drop ckpt.1
scr_index --drop ckpt.2
run scr why
has 0 "$lost, and no older one exists: a restart takes the newest"
has 0 "a restart takes dataset 4 (ckpt.4)"
rm -rf ckpt.4
scr_index --drop ckpt.4
run scr why
has 1 "output is lost: ckpt.3 (dataset 3); no newer checkpoint exists: it is written again"
printf 'no hash file' >.scr/flush.scr
run scr why
has 1 "a restart finds nothing"
! grep -q "is lost" "$out" || fail "the flush file is damaged"
cd ../prefix || exit 99

# --- a name that counts for nothing, as in a run ---
SCR_FLSUH=1 run scr why --no-cache
[ "$(grep -c "scr why: warning: unknown parameter SCR_FLSUH (environment): did you mean SCR_FLUSH?" "$err")" -eq 1 ] ||
    fail "one warning expected"
SCR_FLSUH=1 run scr why --no-cache --json
check "no warning with JSON" ! -s "$err"

# --- wrong use ---
run scr why --ranks none
fails 2 "option --ranks"
run scr why --cntl /no/such/dir
fails 2 "/no/such/dir: no such file or directory"
run scr why --cntl "$tmp" --no-cache
fails 2 "options --cntl and --no-cache exclude each other"
run scr why --prefix /no/such/dir
fails 2 "/no/such/dir: no such file or directory"
run scr why here
fails 2 'unexpected argument "here"'

# an index of the future is the reason for everything
cp "$source"/tests/golden/index/bad-version-*.scr .scr/index.scr
run scr why
fails 2 "newer than this reader"
