#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# scr_copy: what a node has of a dataset goes to the prefix, checked; scr_index makes it whole.
# scr_rebuild_xor and its siblings: one set of it.
. "${0%/*}/lib.sh"
dir=$tmp/p/.scr/scr.dataset.7

# job SCHEME RANKS SET_SIZE: dataset 7 in the caches of nodes n0, n1, … and an empty prefix
job() {
    rm -rf base p sums
    mkdir -p base p
    cli_cache "$tmp/base" user job 7 "$@" || exit 99
    ranks=$2
    for r in $(seq 0 $((ranks - 1))); do
        cksum <"$(cntl "$r")/scr.dataset.7/rank.$r/rank_$r.dat"
    done >sums
}

cntl() { echo "$tmp/base/vnode.n$1/user/scr.job"/prefix.*; }

# copy NODE [OPTION…]
copy() {
    node=$1
    shift
    run scr_copy --cntldir "$(cntl "$node")" --id 7 --prefix "$tmp/p" "$@"
}

# copy_all [OPTION…]: from all nodes that are left
copy_all() {
    for n in $(seq 0 $((ranks - 1))); do
        [ -d "$(cntl "$n")" ] || continue
        copy "$n" "$@"
        has 0 "dataset 7: "
    done
}

whole() {
    run scr_index --prefix p --build 7
    has 0 "dataset 7: $ranks files checked"
    for r in $(seq 0 $((ranks - 1))); do
        cksum <p/ckpt.7/rank_"$r".dat
    done | diff sums - >/dev/null || fail "files differ from those in cache"
    check "nothing waits any more" ! -e "$dir/files" -a ! -e "$dir/placing.scr"
    run scr_index --prefix p
    has 0 "      7 YES   "
}

job XOR 4 4
common scr_copy --cntldir "$(cntl 0)" --id 7 --prefix "$tmp/p"

# --- all nodes are there ---
job XOR 4 4
copy 0
is 0 "dataset 7: 2 files of 1 rank copied, $(stat -c %s "$(cntl 0)"/scr.dataset.7/rank.0/* \
    "$(cntl 0)"/scr.dataset.7/.scr/*.xor | awk '{ n += $1 } END { printf "%.2f KiB", int(n * 100 / 1024) / 100 }')"
check "the file waits" -f "$dir/files/ckpt.7/rank_0.dat"
check "nothing is in place" ! -e p/ckpt.7
run scr_print "$dir/0.scrfilemap"
has 0 "FILES = 2"
has 0 "1_of_4_in_0.xor"
has 0 "TYPE = XOR"
has 0 "ckpt.7/rank_0.dat"
check "no descriptor" "$(grep -c REDDESC "$out")" -eq 0
copy_all
whole
copy 0
is 0 "dataset 7: is complete in $tmp/p"

# --- again: what is there is not copied again ---
job XOR 4 4
copy 1
has 0 "2 files of 1 rank copied"
copy 1
is 0 "dataset 7: 0 files of 1 rank copied, 0 B; 2 were there"
rm "$dir/2_of_4_in_0.xor"
copy 1
has 0 "1 file of 1 rank copied"
run scr_print "$dir/1.scrfilemap"
has 0 "FILES = 2"

# --- one node lost, every scheme and every node ---
for scheme in PARTNER XOR RS; do
    for lost in 0 1 2; do
        job $scheme 3 3
        rm -rf "base/vnode.n$lost"
        copy_all --partner
        whole
    done
done

# --- copies for others are left out unless somebody lost his own ---
job PARTNER 3 3
copy_all
has 0 "1 kept for other nodes left out"
check "no copies" "$(find "$dir" -name '*.partner' | wc -l)" -eq 0
whole
job PARTNER 3 3
rm -rf base/vnode.n1
copy_all
run scr_index --prefix p --build 7
warns 2 "rank 1: nothing is known of its files"
copy_all --partner n1
whole

# --- a link on the way leads out of the prefix: nothing follows it, and everything waits ---
job XOR 3 3
mkdir -p elsewhere
ln -s "$tmp/elsewhere" p/ckpt.7
copy_all
run scr_index --prefix p --build 7
fails 2 "$tmp/p/ckpt.7 leads to $tmp/elsewhere, which is outside the prefix directory"
check "nothing went there" -z "$(ls elsewhere)"
check "the file waits" -f "$dir/files/ckpt.7/rank_0.dat"
rm p/ckpt.7
mkdir p/real
ln -s real p/ckpt.7 # one that stays inside is followed
whole

# --- without redundancy ---
job SINGLE 3 1
copy_all
whole

# --- damage in cache: named, left out, rebuilt; a good copy stays ---
job XOR 4 4
printf X | dd of="$(cntl 2)/scr.dataset.7/rank.2/rank_2.dat" bs=1 seek=50 conv=notrunc 2>/dev/null
copy 2
warns 1 "rank_2.dat: its CRC is"
has 1 "1 could not be copied"
check "it is not there" ! -e "$dir/files/ckpt.7/rank_2.dat"
for n in 0 1 3; do copy "$n"; has_status 0; done
whole
job XOR 3 3
copy 1
echo short >"$(cntl 1)/scr.dataset.7/rank.1/rank_1.dat"
cksum <"$dir/files/ckpt.7/rank_1.dat" >before
touch -d 2001-01-01 "$dir/files/ckpt.7/rank_1.dat"
copy 1
warns 1 "it has 6 bytes, 2007 were recorded"
cksum <"$dir/files/ckpt.7/rank_1.dat" | diff before - || fail "the good copy is gone"
rm "$(cntl 0)/scr.dataset.7/rank.0/rank_0.dat"
copy 0
warns 1 "no such file"

# --- beyond repair: nothing under the prefix is touched ---
job XOR 4 4
mkdir -p p/ckpt.7
echo old >p/ckpt.7/rank_0.dat
rm -rf base/vnode.n1 base/vnode.n2
copy_all
run scr_index --prefix p --build 7
warns 2 "dataset 7 is not whole"
check "what was there" "$(cat p/ckpt.7/rank_0.dat)" = old
check "and nothing else" "$(ls p/ckpt.7)" = rank_0.dat

# --- files of the same names: the older dataset is complete until it is replaced ---
job XOR 3 3
mkdir -p p/ckpt.7
for r in 0 1 2; do echo old >p/ckpt.7/rank_$r.dat; done
run scr_index --prefix p --add-directory ckpt.7 'rank_%r.dat' --name old --id 5
has_status 0
copy_all
run scr_index --prefix p
has 0 "     5 YES   "
run scr_index --prefix p --build 7
warns 0 "dataset 5 is no longer complete"
run scr_index --prefix p
has 0 "      7 YES   "
check "of the older one, all of whose files are gone, no row" -z "$(grep ' old$' "$out")"

# --- nor is it replaced if only a newer version can tell what it lists ---
job XOR 3 3
mkdir -p p/ckpt.7
echo old >p/ckpt.7/rank_0.dat
run scr_index --prefix p --add-directory ckpt.7 'rank_%r.dat' --name old --id 5
has_status 0
cp "$SCR_TEST_SOURCE"/tests/golden/hashfile/bad-version-2.scr p/.scr/scr.dataset.5/rank2file.0.0
copy_all
run scr_index --prefix p --build 7
fails 2 "rank_0.dat exists, and may be a file of dataset 5, whose list is of a newer version of SCR"
check "it is left alone" "$(cat p/ckpt.7/rank_0.dat)" = old
rm -r p/ckpt.7 # and where nothing is replaced there is nothing to be told
whole

# --- the other positions and names of arguments ---
job XOR 3 3
run scr_copy -c "$(cntl 0)" -i 7 --dstdir "$dir" --buf 64 --crc --partner --containers n1 n2
has 0 "2 files of 1 rank copied"
run scr_copy -c "$(cntl 0)" -i 7 -d "$tmp/p/elsewhere"
fails 2 "is not the directory of dataset 7"
run scr_copy -c "$(cntl 0)" -i 7 -d "$dir" -p p
fails 2 "exclude each other"
run scr_copy -c "$(cntl 0)" -p p
fails 2 "which dataset? option --id is missing"
run scr_copy -c "$(cntl 0)" -i 7 -p p --buf much
fails 2 "\"much\" is not a number of bytes"
run scr_copy -c "$(cntl 0)" -i 7 -p p 'n[1'
fails 2 "failed nodes: "
run scr_copy -c "$(cntl 0)" -i 8 -p p
is 0 "dataset 8: nothing of it is in cache on this node"
run scr_copy -c "$(cntl 9)" -i 7 -p p
fails 2 "no such file or directory"
run scr_copy -c "$(cntl 0)" -i 7 -p p/none
fails 2 "p/none"

# --- rebuilding one set by hand ---
for scheme in PARTNER XOR RS; do
    suffix=$(echo $scheme | tr A-Z a-z)
    job $scheme 3 3
    rm -rf base/vnode.n1
    copy_all --partner
    case $scheme in
    XOR) run scr_rebuild_xor 3 1 "$dir/2_of_3_in_0.xor" "$dir/1_of_3_in_0.xor" "$dir/3_of_3_in_0.xor" ;;
    *) run scr_rebuild_$suffix "$dir/"*.$suffix ;;
    esac
    has 0 "member 2 rebuilt: $dir/2_of_3_in_0.$suffix"
    run scr_rebuild_$suffix "$dir/"*.$suffix
    is 0 "all 3 members are whole"
    ran="in its own directory"
    (cd "$dir" && "scr_rebuild_$suffix" ./*.$suffix) >"$out" 2>"$err"
    status=$?
    is 0 "all 3 members are whole"
    whole
done
run scr_rebuild_xor "$dir/"*.rs
fails 2 "the set is protected by RS, use scr_rebuild_rs"
run scr_rebuild_rs 4 0 "$dir/"*.rs
fails 2 "a set of 4 members, its files say 3"
run scr_rebuild_rs 3 3 "$dir/"*.rs
fails 2 "member 3: there are 0 to 2"
run scr_rebuild_rs "$dir/0.scrfilemap"
fails 2 "is not the name of a redundancy file"
run scr_rebuild_rs "$dir/1_of_3_in_0.rs" "$dir/1_of_4_in_0.rs"
fails 2 "is not of the same set"
