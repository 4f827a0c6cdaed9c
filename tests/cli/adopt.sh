#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_index --add-directory: files written without SCR become a dataset.
. "${0%/*}/lib.sh"

# put FILE…: files with contents of their own
put() {
    for file in "$@"; do
        mkdir -p "$(dirname "$file")"
        printf 'contents of %s\n' "$file" >"$file"
    done
}

put old/ckpt.0.dat old/ckpt.1.dat old/ckpt.2.dat old/readme
run scr_index --add-directory old 'ckpt.%r.dat'
has 0 'dataset 1: "old", 3 files of 3 ranks, 81 bytes, added to the index'
warns 0 "1 other file there matches no pattern and is not part of it"
run scr_index
has 0 "*     1 YES "
run scr_print .scr/scr.dataset.1/rank2file.0.0
has 0 "old/ckpt.2.dat"
has 0 "CRC = 0x$(scr_crc32 old/ckpt.2.dat)"
run scr verify
has 0 "verified 1 dataset, 3 files, 81 B: no problems"
run scr why --no-cache --crc
has 0 "a restart takes dataset 1 (old) from the prefix directory"

# a directory a rank, any depth, zeros in front, ranks in any order, the name and id given
put new/rank_00/a new/rank_00/deep/b new/rank_01/a new/rank_1/c new/rank_10/a
for r in 2 3 4 5 6 7 8 9; do put new/rank_0$r/a; done
run scr_index --add-directory "$tmp/new" 'rank_%r/**' --name step.9 --id 9 --ranks 11
has 0 'dataset 9: "step.9", 13 files of 11 ranks'
run scr_index
has 0 "*     9 YES "
has 0 " step.9"
run scr_print .scr/scr.dataset.9/rank2file.0.0
has 0 "new/rank_00/deep/b"

# several patterns, one without a rank; the prefix itself
put p.0 p.1 common
run scr_index --add-directory . 'p.%r' common --name flat --output
has 0 'dataset 10: "flat", 3 files of 2 ranks'
run scr_index --json
has 0 '"output": true'
run scr_index
has 0 "*     9 YES " # output does not become current

# --- what is refused, and leaves nothing behind ---
put gap/f.0 gap/f.1 gap/f.3
run scr_index --add-directory gap 'f.%r'
fails 2 "gap: rank 2 has no file, but rank 3 has: the set is not whole"
put gap/f.2
run scr_index --add-directory gap 'f.%r' --ranks 8
fails 2 "gap: files of 4 ranks, not of 8"
run scr_index --add-directory gap 'g.%r'
fails 2 "no file below $tmp/gap matches a pattern"
run scr_index --add-directory gap 'f.%q'
fails 2 'pattern "f.%q" not understood'
run scr_index --add-directory gap '../f.%r'
fails 2 'pattern "../f.%r" not understood'
run scr_index --add-directory gap '/f.%r'
fails 2 'not understood'
run scr_index --add-directory gap 'f.%r' --name old
fails 2 'dataset 1 is called "old" already: choose another --name'
run scr_index --add-directory gap 'f.%r' --id 9
fails 2 "id 9 may have been used: choose one above 10, or none"
run scr_index --add-directory . 'p.%r'
fails 2 "give the dataset a name with --name"
run scr_index --add-directory /etc 'host%r'
fails 2 "/etc is not below the prefix directory"
run scr_index --add-directory nowhere 'f.%r'
fails 2 "nowhere: no such file or directory"
run scr_index --add-directory p.0 'f.%r'
fails 2 "p.0: not a directory"
run scr_index --add-directory .scr 'f.%r'
fails 2 "this directory is SCR's own"
ln -s /etc/passwd gap/f.4
run scr_index --add-directory gap 'f.%r'
fails 2 "gap/f.4: not a regular file"
rm gap/f.4
run scr_index --add-directory gap
fails 2 "which files? a pattern is missing"
run scr_index --add-directory gap 'f.%r' --list
fails 2 "exclude each other"
run scr_index --name gap
fails 2 "option --name goes with --add-directory"
run scr_index --add-directory gap 'f.%r' --ranks 0
fails 2 "option --ranks"
check "no trace" ! -e .scr/scr.dataset.11
run scr_index --add-directory gap 'f.%r'
has 0 "dataset 11:"

# where no job has ever run
mkdir fresh
put fresh/c/x.0
run scr_index --prefix fresh --add-directory c 'x.%r'
has 0 'dataset 1: "c", 1 file of 1 rank'

# a job has dataset 20 in its caches, and may be writing more
mkdir base
put beside/c/x.0
cli_cache "$tmp/base" user job 20 XOR 4 4 "$tmp/beside" || exit 99
run scr_index --prefix beside --add-directory c 'x.%r' --output
has 0 'dataset 1021: "c", 1 file of 1 rank'
