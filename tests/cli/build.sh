#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_index --build and --add: a scavenged dataset becomes one to restart from.
. "${0%/*}/lib.sh"
dir=.scr/scr.dataset.7

# scavenge SCHEME RANKS SET_SIZE: a fresh dataset 7; sums of all its files in .sums
scavenge() {
    rm -rf .scr ckpt.*
    cli_scavenge "$tmp" 7 "$@" || exit 99
    sums >.sums
    find ckpt.7 -type f -exec stat -c '%n %a %y' {} + | sort >.stats
}

sums() {
    find ckpt.7 "$dir" -type f ! -name summary.scr ! -name 'rank2file*' -exec cksum {} + |
        sort -k 3
}

same_bytes() {
    sums | diff .sums - >/dev/null || fail "files differ from what they were"
    find ckpt.7 -type f -exec stat -c '%n %a %y' {} + | sort | diff .stats - >/dev/null ||
        fail "modes or times differ from what they were"
}

# lose RANK…: everything the node of these ranks held
lose() {
    for r in "$@"; do
        rm -f ckpt.7/rank_"$r".dat ckpt.7/empty_"$r" $dir/"$r".scrfilemap
    done
}

# --- nothing is missing ---
scavenge XOR 4 4
run scr_index --build 7
is 0 "dataset 7: 8 files checked, summary written, added to the index"
run scr_index
has 0 "     7 YES   "
run scr_print $dir/summary.scr
has 0 "COMPLETE = 1"
has 0 "NAME = ckpt.7"
run scr_print $dir/rank2file
has 0 "LEVEL = 1"
run scr_print $dir/rank2file.0.0
has 0 "ckpt.7/rank_3.dat"
has 0 "SIZE = 4007"
has 0 "CRC = 0x$(scr_crc32 ckpt.7/rank_3.dat)"
same_bytes

# again: checked against the summary
run scr_index --build 7
is 0 "dataset 7: 8 files checked, added to the index"

# --- every single rank, every scheme ---
for scheme in PARTNER XOR RS; do
    for r in 0 1 2 3 4; do
        scavenge $scheme 5 5
        lose $r
        rm $dir/$((r + 1))_of_5_in_0.*
        run scr_index --build 7
        has 0 "dataset 7: 10 files checked, 1 rank rebuilt, summary written, added to the index"
        rm -f $dir/*.scrfilemap # the lost rank's is not needed and not made again
        sed -i /scrfilemap/d .sums
        same_bytes
    done
done

# --- two ranks of two sets; two of one for a scheme that stands it ---
scavenge XOR 6 3
lose 1 4
rm $dir/2_of_3_in_0.xor $dir/2_of_3_in_3.xor
run scr_index --add 7
has 0 "2 ranks rebuilt"
scavenge RS 6 6
lose 1 4
rm $dir/2_of_6_in_0.rs $dir/5_of_6_in_0.rs
run scr_index --add 7
has 0 "2 ranks rebuilt"

# --- that several ranks wrote a file is not forgotten, lost or not ---
for r in 1 0; do
    scavenge XOR 3 3 1 "" shared
    lose $r
    rm $dir/$((r + 1))_of_3_in_0.xor
    run scr_index --build 7
    has 0 "1 rank rebuilt"
    run scr_print $dir/rank2file.0.0
    has 0 "SHARED = 1"
    check "one is shared" "$(grep -c SHARED "$out")" -eq 1
done

# --- damage is found and repaired like a loss ---
scavenge XOR 4 4
printf X | dd of=ckpt.7/rank_2.dat bs=1 seek=100 conv=notrunc 2>/dev/null
run scr_index --build 7
has 0 "1 rank rebuilt"
warns 0 "ckpt.7/rank_2.dat"
same_bytes
scavenge XOR 4 4
printf X | dd of=ckpt.7/rank_2.dat bs=1 seek=100 conv=notrunc 2>/dev/null
: >ckpt.7/rank_2.dat
run scr_index --build 7
has 0 "1 rank rebuilt"
same_bytes

# after the summary was written, too
printf X | dd of=ckpt.7/rank_1.dat bs=1 seek=9 conv=notrunc 2>/dev/null
run scr_index --add ckpt.7
has 0 "1 rank rebuilt"
same_bytes

# --- too much is lost: listed as not valid, nothing written ---
scavenge XOR 4 4
lose 1 2
rm $dir/2_of_4_in_0.xor $dir/3_of_4_in_0.xor
run scr_index --build 7
warns 2 "scr_index: error: dataset 7 is not whole:"
run scr_index
has 0 "     7 NO    "
check "no summary" ! -e $dir/summary.scr
run scr_index --current ckpt.7
warns 0 "is incomplete"

# and becomes valid when the files come back
cli_scavenge "$tmp" 7 XOR 4 4
run scr_index --build 7
has 0 "8 files checked"
run scr_index
has 0 "     7 YES   "

# --- without redundancy: filemaps alone tell what there must be ---
scavenge XOR 3 3
rm $dir/*.xor
run scr_index --build 7
is 0 "dataset 7: 6 files checked, summary written, added to the index"
scavenge XOR 3 3
rm $dir/*.xor
lose 1
run scr_index --build 7
warns 2 "rank 1: nothing is known of its files"
scavenge SINGLE 3 1
run scr_index --build 7
has 0 "6 files checked"
scavenge SINGLE 3 1
rm ckpt.7/rank_1.dat
run scr_index --build 7
warns 2 "is not whole"

# --- a flushed dataset without redundancy that lost a file ---
scavenge XOR 3 3
scr_index --build 7 >/dev/null
rm $dir/*.xor $dir/*.scrfilemap
mv ckpt.7/rank_2.dat aside
run scr_index --add 7
fails 2 "rank 2: stat $tmp/ckpt.7/rank_2.dat: no such file or directory"
run scr_index
has 0 "     7 NO    "
mv aside ckpt.7/rank_2.dat
run scr_index --add 7
has 0 "added to the index"

# --- a newer dataset on the same paths is not written over ---
rm -rf .scr ckpt.*
cli_scavenge "$tmp" 7 XOR 3 3 || exit 99
run scr_index --build 7
has_status 0
echo newer >ckpt.7/rank_0.dat
run scr_index --add-directory ckpt.7 'rank_%r.dat' --name newer
has_status 0
for summary in there gone; do
    [ $summary = there ] || rm $dir/summary.scr $dir/rank2file*
    run scr_index --add 7
    fails 2 "its files were written over by dataset 8"
    check "what is newer stays" "$(cat ckpt.7/rank_0.dat)" = newer
done
run scr_index --add 8
has 0 "3 files checked"

# --- what is entered is current if that is asked for ---
rm -rf .scr ckpt.*
for id in 7 9 8; do
    cli_scavenge "$tmp" $id XOR 3 3 || exit 99
    case $id in
    9) run scr_index --build $id --current ckpt.$id ;;
    *) run scr_index --build $id ;;
    esac
    has 0 "added to the index"
done
run scr_print .scr/index.scr
has 0 "CURRENT = ckpt.9"
run scr_index --current ckpt.7
has_status 0
run scr_index --add 8
has 0 "added to the index"
run scr_print .scr/index.scr
has 0 "CURRENT = ckpt.7"

# --- a list without checksums, and no summary: sizes prove nothing ---
rm -rf .scr ckpt.*
cp -R "$SCR_TEST_SOURCE"/tests/golden/prefix/scr3/. .
chmod -R u+w .scr
rm .scr/scr.dataset.3/summary.scr
run scr_index --add 3
fails 2 "no CRC32 is recorded"
check "no summary" ! -e .scr/scr.dataset.3/summary.scr
run scr_index
has 0 "     3 NO    "
rm -rf .scr step.*

# --- nothing at all, or not what it says ---
rm -rf .scr ckpt.*
mkdir -p .scr/scr.dataset.5
run scr_index --build 5
fails 2 "scr.dataset.5: no usable summary, no redundancy files and no filemaps"
run scr_index --build 6
fails 2 "scr.dataset.6"
scavenge XOR 3 3
mv $dir .scr/scr.dataset.8
run scr_index --build 8
warns 2 "dataset 8 is not whole"
run scr_index
is 0 "   DSET VALID FLUSHED             NAME"

# --- meta data that lead out of the prefix are not followed ---
for path in ../evil /tmp a/../../b; do
    rm -rf .scr ckpt.*
    cli_scavenge "$tmp" 7 XOR 3 3 1 "$path"
    rm $dir/2_of_3_in_0.xor
    run scr_index --build 7
    warns 2 "dataset 7 is not whole"
    rm $dir/*.xor
    run scr_index --build 7
    warns 2 "no usable destination"
done

# --- many ranks, sets, files: the map of ranks to files has several parts ---
rm -rf .scr ckpt.*
cli_scavenge "$tmp" 7 XOR 64 8 90
lose 9 17 63
rm $dir/2_of_8_in_8.xor $dir/2_of_8_in_16.xor $dir/8_of_8_in_56.xor
run scr_index --build 7
has 0 "5824 files checked, 3 ranks rebuilt"
check "several parts" "$(find $dir -name 'rank2file.0.*' | wc -l)" -gt 1
run scr_index --add 7
is 0 "dataset 7: 5824 files checked, added to the index"
