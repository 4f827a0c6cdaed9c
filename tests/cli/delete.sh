#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_index --delete: a dataset goes with its files, and nothing else does.
. "${0%/*}/lib.sh"

# a prefix with datasets 6, 12 and 18, the last one current
fill() {
    rm -rf .scr ckpt.*
    for id in 6 12 18; do
        cli_scavenge "$PWD" $id XOR 3 3
        scr_index --build $id --current ckpt.$id >/dev/null || exit 1
    done
}

# rows ID…: the datasets listed are those
rows() {
    want="$*"
    run scr_index
    has_status 0
    [ "$(sed 1d "$out" | cut -c 2-7 | tr -d ' ' | paste -sd' ')" = "$want" ] || fail "rows expected: $want"
}

# by its name, with its directory
fill
run scr_index --delete ckpt.12
is 0 "dataset 12: 6 files deleted"
rows 18 6
check "its files are gone" ! -e ckpt.12
check "its records are gone" ! -e .scr/scr.dataset.12
check "it is recorded" "$(grep -c '"event":"DELETE","dset":12,"from":"prefix"' .scr/log)" -eq 1
check "others have theirs" -f ckpt.6/rank_0.dat -a -f ckpt.18/rank_0.dat
run scr_index --delete ckpt.12
fails 2 'no dataset "ckpt.12" in the index of'
run scr_index --delete 99
fails 2 'no dataset "99" in the index of'
run scr_verify
has_status 0

# by number, also one that was dropped from the index
scr_index --drop ckpt.6
run scr_index --delete 6
is 0 "dataset 6: 6 files deleted"
check "files of a dropped one" ! -e ckpt.6 -a ! -e .scr/scr.dataset.6

# the current one: not without being asked
run scr_index --delete ckpt.18
fails 2 '"ckpt.18" (dataset 18) is current: a restart begins with it; to delete it all the same, give --force'
check "nothing is done" -f ckpt.18/rank_0.dat
run scr_index --delete ckpt.18 --force
is 0 "dataset 18: 6 files deleted"
rows
run scr_index --force
fails 2 "option --force goes with --delete"

# files that do not exist are not counted
fill
rm ckpt.6/* ckpt.12/rank_0.dat
run scr_index --delete ckpt.6
is 0 "dataset 6: no file of it existed, its records are deleted"
check "the empty directory is gone" ! -e ckpt.6 -a ! -e .scr/scr.dataset.6
run scr_index --delete ckpt.12
is 0 "dataset 12: 5 files deleted"

# files that another dataset lists stay
fill
scr_index --add-directory ckpt.6 'rank_%r.dat' --name again >/dev/null || fail "add-directory"
n=$(find ckpt.6 -name 'rank_?.dat' | wc -l)
run scr_index --delete ckpt.6
is 0 "dataset 6: $((6 - n)) files deleted, $n left to other datasets"
run scr_index --add again
has 0 "dataset 19: $n files checked"

# one whose flush is under way, or may go on
fill
cli_arrive "$tmp" 12
rm .scr/scr.dataset.12/arrived.*
run scr_index --delete ckpt.12
fails 2 "the flush of dataset 12 is not over: a job or transfer process may complete it; to"
cli_hold "$tmp/.scr/scr.dataset.6/flushing.lock" &
holder=$!
until_true grep -q process .scr/scr.dataset.6/flushing.lock
run scr_index --delete ckpt.6
fails 2 "dataset 6 is being flushed; to delete it all the same, give --force"
check "nothing is done" -f ckpt.6/rank_0.dat -a -f ckpt.12/rank_0.dat
kill $holder
wait $holder 2>/dev/null
: >ckpt.12/.scr-part.0123456789abcdef.0
run scr_index --delete ckpt.12 --force
is 0 "dataset 12: 6 files deleted"
check "what is not of its files stays" -e ckpt.12/.scr-part.0123456789abcdef.0
rows 18 6

# the number of a name that looks like one
fill
scr_index --add-directory ckpt.6 'rank_%r.dat' --name 12 >/dev/null || fail "add-directory"
run scr_index --delete 12 --force
has 0 "dataset 19:"
check "dataset 12 stays" -f ckpt.12/rank_0.dat

# all datasets of one name, and none if one of them may not be deleted
fill
for id in 19 20; do
    scr_index --add-directory ckpt.6 'rank_%r.dat' --name twin >/dev/null || fail "add-directory"
    scr_index --drop twin
done
scr_index --add 19 >/dev/null
scr_index --add 20 >/dev/null
scr_index --current ckpt.18
rows 20 19 18 12 6
cli_hold "$tmp/.scr/scr.dataset.19/flushing.lock" &
holder=$!
until_true grep -q process .scr/scr.dataset.19/flushing.lock
run scr_index --delete twin
fails 2 "dataset 19 is being flushed"
rows 20 19 18 12 6
kill $holder
wait $holder 2>/dev/null
run scr_index --delete twin
is 0 "dataset 20: 0 files deleted, $n left to other datasets
dataset 19: 0 files deleted, $n left to other datasets"
rows 18 12 6

# what a deletion on a full file system leaves if it is killed: no summary, and an index that could not
# be written
fill
rm .scr/scr.dataset.18/summary.scr
run scr_index
warns 0 "dataset 18 (ckpt.18) has no summary, its deletion may have been interrupted: no restart takes it; to complete the deletion: scr_index --prefix $PWD --delete 18; to check and keep it: --add 18"
grep -q '^\*    18 NO ' "$out" || fail "dataset 18 is listed as valid"
grep -q '^     12 YES ' "$out" || fail "dataset 12 is not listed as valid"
run scr_index --json
has 0 '"complete": false'
run scr_index --add 18
has 0 "dataset 18: 6 files checked"
run scr_index
has 0 "*    18 YES"
rm .scr/scr.dataset.18/summary.scr
run scr_index --delete 18 --force
is 0 "dataset 18: 6 files deleted"
rows 12 6

# no room for a new index, which takes less than a summary, or more: deletion still makes some
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=256k none full 2>/dev/null; then
    trap 'cd /; umount "$tmp/full"; rm -rf "$tmp"' EXIT
    cd full || exit 99
    for more in "" "1 2"; do
        fill
        for id in $more; do
            scr_index --add-directory ckpt.18 'rank_%r.dat' --name "$(printf %01000d "$id")" >/dev/null || fail "add-directory"
        done
        dd if=/dev/zero of=filler bs=4k 2>/dev/null
        run scr_index --delete ckpt.6
        is 0 "dataset 6: 6 files deleted"
        rows ${more:+20 19} 18 12
        rm filler
        run scr_verify
        has_status 0
    done
    cd "$tmp" || exit 99
fi
