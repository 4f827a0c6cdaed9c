#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr verify: finds every damaged file, repairs what can be repaired, touches nothing else.
. "${0%/*}/lib.sh"
base=$tmp/node
mkdir "$base" prefix
cd prefix || exit 99
export SCR_CNTL_BASE="$base" SCR_CACHE_BASE="$base" SCR_USER_NAME=tester SCR_JOB_ID=7

# flip FILE OFFSET: changes one byte
flip() {
    printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# sums DIR…: checksum, size, mode and time of all files
sums() {
    find "$@" -type f ! -name 'index.scr*' ! -name 'rank2file*' ! -name summary.scr \
        -exec cksum {} + -exec stat -c '%n %a %y' {} + | sort
}

fill() {
    rm -rf .scr ckpt.*
    for id in 6 12; do
        cli_scavenge "$PWD" $id XOR 3 3
        scr_index --build $id >/dev/null || exit 99
    done
}

# --- the prefix directory ---
run scr verify
warns 0 "no SCR data in $tmp/prefix: give the prefix directory with --prefix"
has 0 "verified 0 datasets, 0 files, 0 B: no problems"
check "looking makes nothing" ! -e .scr
fill
common scr_verify
run scr verify
is 0 "verified 2 datasets, 12 files, 11.77 KiB: no problems"
run scr verify ckpt.6
has 0 "verified 1 dataset, 6 files"
run scr verify 12 6
has 0 "verified 2 datasets"

# every kind of damage has its line; nothing is changed
flip ckpt.6/rank_1.dat 77
rm ckpt.12/rank_2.dat
: >ckpt.12/rank_0.dat
flip .scr/scr.dataset.12/2_of_3_in_0.xor 2900
sums . >../before
run scr verify
has 1 "dataset 6 (ckpt.6): rank 1: $PWD/ckpt.6/rank_1.dat has the CRC32 0x"
has 1 "dataset 12 (ckpt.12): rank 2: stat $PWD/ckpt.12/rank_2.dat: no such file"
has 1 "dataset 12 (ckpt.12): rank 0: $PWD/ckpt.12/rank_0.dat has 0 bytes, 1012 are recorded"
has 1 "dataset 12 (ckpt.12): rank 1: $PWD/.scr/scr.dataset.12/2_of_3_in_0.xor has parity of"
has 1 "verified 2 datasets, 12 files, 11.77 KiB: 4 problems"
[ "$(wc -l <"$out")" -eq 5 ] || fail "a line a problem and one at the end"
sums . | cmp -s - ../before || fail "a look changed something"
run scr verify 12
has 1 ": 3 problems"

# repair: 6 becomes what it was; 12 lost too much and stays as it is
run scr verify --repair
has 1 "dataset 6 (ckpt.6): repaired"
has 1 "dataset 12 (ckpt.12): beyond repair, marked incomplete"
has 1 "3 problems left"
run scr verify
has 0 "no problems; 1 incomplete dataset skipped"
run scr_index
has 0 "    12 NO "
sums . >../after
grep -e ckpt.12 -e dataset.12 ../before >../twelve
grep -e ckpt.12 -e dataset.12 ../after | cmp -s - ../twelve || fail "files of the lost dataset were changed"

# a redundancy file alone, and one that is gone
fill
sums ckpt.6 .scr/scr.dataset.6 | grep -v 2_of_3 >../before
crc=$(scr_crc32 .scr/scr.dataset.6/2_of_3_in_0.xor)
flip .scr/scr.dataset.6/2_of_3_in_0.xor 2500
run scr verify --repair
has 0 "1 problem, repaired"
run scr_crc32 .scr/scr.dataset.6/2_of_3_in_0.xor
is 0 "$crc"
sums ckpt.6 .scr/scr.dataset.6 | grep -v 2_of_3 | cmp -s - ../before ||
    fail "good files were changed"

# without redundancy there is nothing to repair from
fill
rm .scr/scr.dataset.6/*.xor .scr/scr.dataset.6/*.scrfilemap
flip ckpt.6/rank_0.dat 1
run scr verify --repair 6
has 1 "beyond repair"

# records that cannot be read
fill
printf 'no hash file' >.scr/scr.dataset.6/rank2file.0.0
run scr verify
has 1 "scr.dataset.6/rank2file.0.0"
run scr verify --repair
has 0 "1 problem, repaired"
run scr verify
has 0 "no problems"

# redundancy files that are gone, or another member's, or another dataset's
fill
red=.scr/scr.dataset.6
crc=$(scr_crc32 $red/2_of_3_in_0.xor)
mended() {
    run scr verify --repair
    has 0 "1 problem, repaired"
    run scr_crc32 $red/2_of_3_in_0.xor
    is 0 "$crc"
}
rm $red/2_of_3_in_0.xor
run scr verify
has 1 "$PWD/$red/2_of_3_in_0.xor is gone"
mended
cp $red/1_of_3_in_0.xor $red/2_of_3_in_0.xor
run scr verify
has 1 "$red/2_of_3_in_0.xor is of member 1 of the 3 of XOR set 0"
mended
cp .scr/scr.dataset.12/2_of_3_in_0.xor $red/2_of_3_in_0.xor
run scr verify
has 1 "$red/2_of_3_in_0.xor belongs to dataset 12"
rm $red/2_of_3_in_0.xor
mended

# a repair does not make a dataset one to restart from that was not: CURRENT and FAILED stay
for what in .scr/scr.dataset.%d/2_of_3_in_0.xor ckpt.%d/rank_1.dat; do
    fill
    for id in 6 12; do
        # shellcheck disable=SC2059 # the id's place is in it
        file=$(printf "$what" $id)
        cli_mark "$PWD" $id
        truncate -s 77 "$file"
        run scr verify --repair
        has 0 "1 problem, repaired"
        run scr_index
        grep -q " $id NO  " "$out" || fail "it failed, and was not written anew"
        scr_index --add $id >/dev/null
        scr_index --current ckpt.6
        truncate -s 77 "$file"
        run scr verify --repair
        has 0 "1 problem, repaired"
        run scr_index
        has 0 "*     6 YES   "
    done
done

# behind a link that leads out of the prefix directory files are read, and not repaired
fill
mv ckpt.6 ../away
ln -s ../away ckpt.6
run scr verify
has 0 "no problems"
flip ../away/rank_1.dat 77
sums ../away >../before
run scr verify --repair 6
has 1 "dataset 6 is not whole, and could not be repaired: rebuild $PWD/ckpt.6/rank_1.dat: $PWD/ckpt.6 leads to"
has 1 "/away, which is outside the prefix directory $PWD"
sums ../away | cmp -s - ../before || fail "something was written there"
rm ckpt.6
mv ../away ckpt.6
run scr verify --repair
has 0 "repaired"
run scr verify
has 0 "verified 2 datasets, 12 files, 11.77 KiB: no problems"

# files that a newer dataset wrote over are its
fill
echo newer >ckpt.6/rank_0.dat
scr_index --add-directory ckpt.6 'rank_%r.dat' --name newer >/dev/null 2>&1 || exit 99
scr_index --current newer
sums ckpt.6 >../before
run scr verify --repair
has 1 "dataset 6 (ckpt.6): its files were written over by dataset 13, nothing is rebuilt; marked incomplete"
sums ckpt.6 | cmp -s - ../before || fail "files of the newer dataset were changed"
run scr verify
has 0 "no problems; 1 incomplete dataset skipped"
run scr_index
has 0 "*    13 YES   "

# wrong use: found before anything is repaired
fill
flip ckpt.6/rank_1.dat 77
run scr verify --repair 6 typo
fails 2 'no dataset "typo" in'
run scr verify
has 1 "1 problem"
run scr verify ckpt.99
fails 2 'no dataset "ckpt.99" in'
run scr verify --prefix /no/such/dir
fails 2 "/no/such/dir: no such file or directory"
run scr verify --cache --cntl /no/such/dir
fails 2 "/no/such/dir: no such file or directory"

# --- caches ---
run scr verify --cache
is 0 "verified 0 datasets, 0 files, 0 B: no problems"
for id in 20 21; do cli_cache "$base" tester 7 $id XOR 4 2; done
cntl() { echo "$base/vnode.n$1/tester/scr.7"/prefix.*; }
at() {
    echo "$(cntl "$1")/scr.dataset.$2"
}
run scr verify --cache
is 0 "verified 2 datasets, 8 files, 19.69 KiB: no problems"
run scr verify --cntl "$(cntl 0)"
has 0 "verified 2 datasets, 2 files"
sums "$base" >../before
flip "$(at 1 20)/rank.1/rank_1.dat" 5
flip "$(at 2 21)/.scr/1_of_2_in_2.xor" 3000
run scr verify --cache
has 1 "dataset 20 (ckpt.20): rank 1: $(at 1 20)/rank.1/rank_1.dat has the CRC32"
has 1 "dataset 21 (ckpt.21): rank 2: $(at 2 21)/.scr/1_of_2_in_2.xor has parity"
has 1 "2 problems"
run scr verify --cntl "$(cntl 1)" --repair
has 1 "redundancy set 0: 1 of its 2 members are here, a restart can rebuild it"
has 1 "dataset 20 (ckpt.20): not repaired"
run scr verify --cache --repair
has 0 "dataset 20 (ckpt.20): repaired"
has 0 "2 problems, repaired"
run scr verify --cache
has 0 "no problems"
sums "$base" | sed 's/ [0-9-]* [0-9:.]* +0000$//' >../after
sed 's/ [0-9-]* [0-9:.]* +0000$//' ../before | cmp -s - ../after || fail "files differ from what they were"

# more than a set can stand: beyond repair, nothing is changed
flip "$(at 0 20)/rank.0/rank_0.dat" 5
flip "$(at 1 20)/.scr/2_of_2_in_0.xor" 3000
sums "$base" >../before
run scr verify --cache --repair
has 1 "lost or damaged on ranks 0, 1"
has 1 "2 problems left"
sums "$base" | cmp -s - ../before || fail "files beyond repair were changed"
run scr verify --cache --repair 21 typo
fails 2 'no dataset "typo" in the caches in reach'

# a filemap that cannot be read is a problem, and so is a dataset that contradicts itself
map=$(cntl 3)/filemap_0.scrinfo
cp "$map" ../map
echo garbage >"$map"
run scr verify --cache 21
has 1 "filemaps: "
has 1 "$map"
has 1 "1 problem"
cp ../map "$map"
rm -rf "${base:?}"/*
cli_cache "$base" tester 7 20 XOR 4 2
cp "$(cntl 3)/filemap_0.scrinfo" ../map
name=$(basename "$(cntl 3)")
rm -r "${base:?}"/*
cli_cache "$base" tester 7 20 XOR 3 3
cli_cache "$base" tester 7 21 XOR 4 2
mkdir "$base/vnode.n4" "$base/vnode.n4/tester"
mkdir -m 700 "$base/vnode.n4/tester/scr.7" "$base/vnode.n4/tester/scr.7/$name"
cp ../map "$(cntl 4)/filemap_0.scrinfo"
run scr verify --cache
has 1 "dataset 20 (ckpt.20): dataset 20 in cache: what rank 3 remembers"
has 1 "verified 2 datasets"
