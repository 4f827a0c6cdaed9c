#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_index: listing and editing the index.
. "${0%/*}/lib.sh"
header="   DSET VALID FLUSHED             NAME"

# list [MARK ID VALID NAME]…: the listing expected, times left out
listing() {
    printf '%s\n' "   DSET VALID NAME"
    while [ $# -gt 0 ]; do
        printf '%s%6d %-5s %s\n' "$1" "$2" "$3" "$4"
        shift 4
    done
}

# lists ARGS…: checks the listing of the current directory
lists() {
    run scr_index
    has_status 0
    [ "$(cut -c 1-13,34- "$out")" = "$(listing "$@")" ] || fail "listing expected: $*"
}

# a prefix with datasets 6, 12 and 18
fill() {
    rm -rf .scr ckpt.*
    for id in 6 12 18; do
        cli_scavenge "$tmp" $id XOR 3 3
        scr_index --build $id --current ckpt.$id >/dev/null || exit 1
    done
}

# nothing there yet
run scr_index
warns 0 "no SCR data in $tmp: give the prefix directory with --prefix"
has 0 "$header"
check "listing makes nothing" ! -e .scr
run scr_index --json
is 0 "[]"
run scr_index --current x
fails 2 "no SCR data in"

# the listing, to the letter
fill
common scr_index --list
touch -d '2014-01-14T11:26:06' .scr/scr.dataset.18/summary.scr
touch -d '2014-01-14T10:28:23' .scr/scr.dataset.12/summary.scr
touch -d '2014-01-14T09:27:15' .scr/scr.dataset.6/summary.scr
for id in 18 12 6; do scr_index --add $id >/dev/null; done
run scr_index --current ckpt.18
is 0 ""
run scr_index
is 0 "$header
*    18 YES   2014-01-14T11:26:06 ckpt.18
     12 YES   2014-01-14T10:28:23 ckpt.12
      6 YES   2014-01-14T09:27:15 ckpt.6"
run scr_index --list
has 0 "*    18 YES"
run scr_index -l --format=3
is 0 "DSET VALID FLUSHED             CUR NAME
  18 YES   2014-01-14T11:26:06  *  ckpt.18
  12 YES   2014-01-14T10:28:23     ckpt.12
   6 YES   2014-01-14T09:27:15     ckpt.6"
run scr_index --format=2
fails 2 "option --format"
run scr_index --json
has 0 '"name": "ckpt.18"'
has 0 '"current": true'
has 0 '"flushed": "2014-01-14T11:26:06"'

# size, ranks, kind, age and place
run scr_index --long
has 0 "   DSET VALID FLUSHED                   SIZE   RANKS KIND         AGE PLACE        NAME"
[ "$(sed -n 's/  *[0-9]*d / OLD /; s/  */ /gp' "$out" | tail -n +2)" = "* 18 YES 2014-01-14T11:26:06 5.91 KiB 3 checkpoint OLD prefix ckpt.18
 12 YES 2014-01-14T10:28:23 5.89 KiB 3 checkpoint OLD prefix ckpt.12
 6 YES 2014-01-14T09:27:15 5.87 KiB 3 checkpoint OLD prefix ckpt.6" ] || fail "another listing expected"
cli_cache "$tmp/base" u j 12 XOR 2 2 "$tmp" || exit 99
run scr_index --long
has 0 " cache,prefix ckpt.12"
run scr_index --json
has 0 '"kind": "checkpoint"'
check "one is in cache" "$(grep -c '"in_cache": true' "$out")" -eq 1
check "all are in the prefix" "$(grep -c '"in_prefix": true' "$out")" -eq 3
check "no look into each" "$(grep -c '"ranks"' "$out")" -eq 0
mv .scr/scr.dataset.6/rank2file .
run scr_index --json --long
check "ranks of two" "$(grep -c '"ranks": 3' "$out")" -eq 2
has 0 '"ranks": null'
mv rank2file .scr/scr.dataset.6
rm -r base .scr/flush.scr

# from elsewhere
mkdir elsewhere
cd elsewhere || exit 99
run scr_index --prefix ..
has 0 "ckpt.12"
run scr_index -p "$tmp"
has 0 "ckpt.12"
SCR_PREFIX=$tmp run scr_index
has 0 "ckpt.12"
cd "$tmp" || exit 99
run scr_index --prefix /no/such/directory
fails 2 "/no/such/directory: no such file or directory"

# current, remove, drop
run scr_index --current ckpt.12
is 0 ""
lists " " 18 YES ckpt.18 "*" 12 YES ckpt.12 " " 6 YES ckpt.6
run scr_index --current ckpt.99
fails 2 'no dataset "ckpt.99" in the index of'

# a checkpoint in cache that a restart takes before the current one
cli_cache "$tmp/base" u j 12 XOR 2 2 "$tmp" || exit 99
run scr_index --current ckpt.12
is 0 ""
cli_cache "$tmp/base" u j 20 XOR 2 2 "$tmp" output || exit 99
run scr_index --current ckpt.12
is 0 ""
cli_cache "$tmp/base" u j 19 XOR 2 2 "$tmp" || exit 99
run scr_index --current ckpt.12
fails 0 "scr_index: dataset 19 (ckpt.19) is newer and in cache on nodes that the event log does not name of job j, by flush.scr: a restart of that job takes it; set SCR_CURRENT=ckpt.12 to restart from ckpt.12"
run scr_index --add 6 --current ckpt.6
fails 0 "set SCR_CURRENT=ckpt.6 to restart from ckpt.6"
SCR_CNTL_BASE="$tmp/base" SCR_CACHE_BASE="$tmp/base" SCR_USER_NAME=u SCR_JOB_ID=j SCR_VNODES='n[0-1]' run scr why
has 0 "dataset 19"
scr_index --current ckpt.12 2>/dev/null
rm -r base .scr/flush.scr
run scr_index --remove ckpt.12
is 0 ""
lists " " 18 YES ckpt.18 " " 6 YES ckpt.6
check "files stay" -f ckpt.12/rank_0.dat
run scr_index --drop ckpt.12
fails 2 'no dataset "ckpt.12"'
run scr_index --add 12
is 0 "dataset 12: 6 files checked, added to the index"
run scr_index --drop-after ckpt.6
is 0 ""
lists " " 6 YES ckpt.6
run scr_index --drop-after ckpt.6
is 0 ""
run scr_index --drop ckpt.6
is 0 ""
lists

# all datasets of a name, as SCR_Drop does
for id in 19 20; do
    scr_index --add-directory ckpt.6 'rank_%r.dat' --name twin --id $id >/dev/null || fail "add-directory"
    scr_index --drop twin
done
scr_index --add 19 >/dev/null
scr_index --add 20 >/dev/null
lists " " 20 YES twin " " 19 YES twin
run scr_index --drop twin
is 0 ""
lists
rm -r .scr/scr.dataset.19 .scr/scr.dataset.20

# add by id, by directory name, by the name in the summary
run scr_index --add ckpt.12
has 0 "dataset 12:"
run scr_index --add scr.dataset.6
has 0 "dataset 6:"
run scr_index --add 18
has 0 "dataset 18:"
lists " " 18 YES ckpt.18 " " 12 YES ckpt.12 " " 6 YES ckpt.6
run scr_index --add nonsense
fails 2 'no dataset "nonsense" in'
run scr_index --add 99
fails 2 "scr.dataset.99"

# which is the current one is for somebody to say
run scr_index --add 12 --current ckpt.12
has 0 "dataset 12:"
run scr_index --add 18
has 0 "dataset 18:"
lists " " 18 YES ckpt.18 "*" 12 YES ckpt.12 " " 6 YES ckpt.6
run scr_index -b 99 -c ckpt.18
fails 2 "scr.dataset.99"
lists " " 18 YES ckpt.18 "*" 12 YES ckpt.12 " " 6 YES ckpt.6
run scr_index -b 18 -c ckpt.18
lists "*" 18 YES ckpt.18 " " 12 YES ckpt.12 " " 6 YES ckpt.6

# one that lacks nothing but its summary, and has nothing to be rebuilt from
rm -f .scr/scr.dataset.18/*_of_* .scr/scr.dataset.18/*.scrfilemap .scr/scr.dataset.18/summary.scr
run scr_index --add 18
has 0 "summary written, added to the index"
check "the summary is there" -e .scr/scr.dataset.18/summary.scr
rm .scr/scr.dataset.18/summary.scr
printf x | dd of=ckpt.18/rank_1.dat conv=notrunc 2>/dev/null
run scr_index --add 18
fails 2 "dataset 18 is not whole"
lists "*" 18 NO ckpt.18 " " 12 YES ckpt.12 " " 6 YES ckpt.6
grep -q "^\*    18 NO    -                   ckpt.18" "$out" || fail "it is not complete, but was flushed"
run scr_index --long
has 0 "*    18 NO    -    "
run scr_index --json
has 0 '"flushed": "'
check "no summary is written" ! -e .scr/scr.dataset.18/summary.scr

# what is on its way to the same paths is given up, and nothing else
fill
rm -f .scr/scr.dataset.18/*_of_* .scr/scr.dataset.18/*.scrfilemap
cp .scr/scr.dataset.18/rank2file* .scr/scr.dataset.12/
cli_arrive "$PWD" 12 pending
cli_arrive "$PWD" 6 pending
rm .scr/scr.dataset.18/summary.scr
run scr_index --add 18
has 0 "dataset 18: 6 files checked, summary written"
check "one is given up" ! -e .scr/scr.dataset.12/outgoing.scr
check "the other is not" -e .scr/scr.dataset.6/outgoing.scr

# what is dropped while it is on its way is not entered again
fill
cli_arrive "$PWD" 12 pending
cli_arrive "$PWD" 18 pending
run scr_index --drop ckpt.12
is 0 ""
check "its plan is given up" ! -e .scr/scr.dataset.12/outgoing.scr
check "no other plan is" -e .scr/scr.dataset.18/outgoing.scr
run scr_index --drop-after ckpt.6
is 0 ""
check "likewise" ! -e .scr/scr.dataset.18/outgoing.scr
run scr_index --adopt
is 0 "0 datasets entered"
lists " " 6 YES ckpt.6

# what was complete is not copied from a cache again, though the run that copied it died before it said so
for drop in "--drop ckpt.17" "--drop-after ckpt.12"; do
    fill
    cli_scavenge "$PWD" 17 XOR 3 3
    scr_index --build 17 >/dev/null || exit 1
    cp "$SCR_TEST_SOURCE/tests/golden/flush/good-outputs.scr" .scr/flush.scr
    # shellcheck disable=SC2086 # two words
    run scr_index $drop
    is 0 ""
    run scr_flush_file --location 17
    is 0 "CACHE PFS"
    run scr_flush_file --location 16
    is 0 CACHE # never complete there
    rm .scr/flush.scr
done

# scripts that run when a job has ended complete what it left, one by one
fill
cli_arrive "$PWD" 12 pending
cli_arrive "$PWD" 18
run scr_flush_file -r -s 12 --dir .
is 1 ""
run scr_flush_file -r -s 18 --dir .
is 0 ""
run scr_flush_file -s 18 -S --dir .
is 0 ""
lists "*" 18 YES ckpt.18 " " 12 NO ckpt.12 " " 6 YES ckpt.6
run scr_flush_file --resume
fails 2 "option --resume goes with --name ID"

# over ID: dataset 18 has written over its files
over() {
    cp .scr/scr.dataset.18/rank2file* ".scr/scr.dataset.$1"
    cli_arrive "$PWD" "$1" pending
    rm ".scr/scr.dataset.$1/outgoing.scr"
}

# names overwritten again leave one row, however the newer dataset becomes complete
for how in --adopt "--add 18" "--build 18"; do
    fill
    over 6
    over 12
    [ "$how" != --adopt ] || cli_arrive "$PWD" 18
    # shellcheck disable=SC2086 # an option and its value
    run scr_index $how
    has_status 0
    lists "*" 18 YES ckpt.18
    check "nor records" ! -e .scr/scr.dataset.6 -a ! -e .scr/scr.dataset.12
done
fill
over 12
run scr_index --add 18
has_status 0
lists "*" 18 YES ckpt.18 " " 6 YES ckpt.6

# that one has failed, or is being deleted, stays so; of the latter a summary may be left
fill
rm -f .scr/scr.dataset.18/*_of_* .scr/scr.dataset.18/*.scrfilemap
cli_mark "$PWD" 18 deleting
run scr_index --add 18
fails 2 "ckpt.18 (dataset 18) is being deleted"
rm .scr/scr.dataset.18/summary.scr
run scr_index --add 18
fails 2 "ckpt.18 (dataset 18) is being deleted"
check "no summary is written" ! -e .scr/scr.dataset.18/summary.scr
cli_mark "$PWD" 12
rm -f .scr/scr.dataset.12/*_of_* .scr/scr.dataset.12/*.scrfilemap .scr/scr.dataset.12/summary.scr
run scr_index --add 12
fails 2 "ckpt.12 (dataset 12) is marked as failed"
check "no summary is written" ! -e .scr/scr.dataset.12/summary.scr
fill

# a mark of a restart that could not read it: what is to be done is named, and does it
cli_mark "$PWD" 6
run scr_index --current ckpt.6
warns 0 "ckpt.6\" is marked failed, as a restart could not read it: restarts skip it; scr_index --prefix $PWD --add 6 checks its files and removes the mark"
lists " " 18 YES ckpt.18 " " 12 YES ckpt.12 "*" 6 NO ckpt.6
run scr_index --add 6
has_status 0
lists " " 18 YES ckpt.18 " " 12 YES ckpt.12 "*" 6 YES ckpt.6
fill

# wrong use
run scr_index --build ckpt.6
fails 2 'option --build: "ckpt.6" is not the id of a dataset'
run scr_index --build 0
fails 2 "is not the id of a dataset"
run scr_index --current a --drop b
fails 2 "options --current and --drop exclude each other"
run scr_index --add 6 --drop b
fails 2 "options --add and --drop exclude each other"
run scr_index ckpt.6
fails 2 'unexpected argument "ckpt.6"'
run scr_index --curent ckpt.6
fails 2 "did you mean --current?"

# a damaged index: kept aside, nothing forgotten
for damage in "" "garbage instead of an index"; do
    fill
    printf '%s' "$damage" >.scr/index.scr
    run scr_index --adopt
    warns 0 "index.scr.damaged.1"
    run scr_index
    has 0 "ckpt.18"
    lists "*" 18 YES ckpt.18 " " 12 YES ckpt.12 " " 6 YES ckpt.6
    check "kept" "$(cat .scr/index.scr.damaged.1)" = "$damage"
    check "once" ! -e .scr/index.scr.damaged.2
done

# an index of the future is left alone
cp "$SCR_TEST_SOURCE"/tests/golden/index/bad-version-*.scr .scr/index.scr
sum=$(scr_crc32 .scr/index.scr)
run scr_index
fails 2 "newer than this reader"
run scr_index --add 6
fails 2 "newer than this reader"
run scr_crc32 .scr/index.scr
is 0 "$sum"

# what is dropped may have lost its records
fill
rm -r .scr/scr.dataset.6
run scr_index --drop ckpt.6
is 0 ""
lists "*" 18 YES ckpt.18 " " 12 YES ckpt.12

# two commands at once lose nothing
fill
for id in 6 12 18; do scr_index --drop ckpt.$id; done
pids=
for id in 6 12 18; do
    scr_index --add $id >/dev/null &
    pids="$pids $!"
done
# shellcheck disable=SC2086
for pid in $pids; do wait "$pid" || fail "a concurrent scr_index failed"; done
lists " " 18 YES ckpt.18 " " 12 YES ckpt.12 " " 6 YES ckpt.6
