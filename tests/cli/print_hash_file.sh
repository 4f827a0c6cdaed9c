#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_print_hash_file: state files for people to read.
. "${0%/*}/lib.sh"

# unhex FILE: the bytes given as hexadecimal digits on stdin
unhex() {
    # shellcheck disable=SC2059 # the format is the data
    printf "$(tr -d ' \n' | sed 's/../&\n/g' |
        while read -r byte; do printf '\\%03o' "0x$byte"; done)" >"$1"
}

# the 44 bytes of the format's description: NODES → 3
unhex nodes.scr <<'HEX'
951fc3f5 0001 0001 000000000000002c 00000001
00000001 4e4f44455300 00000001 3300 00000000 d64a1f79
HEX
check "44 bytes" "$(wc -c <nodes.scr)" -eq 44

common scr_print_hash_file nodes.scr
common scr_print nodes.scr
common kvtree_print nodes.scr

run scr_print_hash_file nodes.scr
is 0 "NODES = 3"
run scr_print nodes.scr
is 0 "NODES = 3"
run scr_print -m keyval nodes.scr
is 0 "NODES = 3"
run scr_print -m tree nodes.scr
is 0 "NODES
  3"
run scr_print --mode list nodes.scr
fails 2 'option --mode: "list" is neither tree nor keyval'
run scr_print --json nodes.scr
is 0 '{
  "NODES": "3"
}'
run scr_print nodes.scr nodes.scr
is 0 "nodes.scr:
  NODES = 3
nodes.scr:
  NODES = 3"

# what the commands write can be read
scr_halt --checkpoints 5 >/dev/null
run scr_print .scr/halt.scr
is 0 "CheckpointsLeft = 5"

# a tree, and data after the hash of a redundancy file
red=$SCR_TEST_SOURCE/tests/golden/redundancy/example/1_of_2_in_0.xor
run scr_print "$red"
has 0 "  RANKS = 2"
has 0 "bytes of data follow the hash"
run scr_print --json "$red"
has 0 '"RANKS": "2"'

# an empty file is an empty hash
: >empty
run scr_print empty
is 0 ""

# bad input
run scr_print
fails 2 "too few arguments"
run scr_print none.scr
fails 2 "none.scr: no such file or directory"
run scr_print .
fails 2 "not a regular file"
run scr_print --json nodes.scr empty
fails 2 "option --json takes one file"
echo "this is no hash file, though it is longer than a header" >text
run scr_print text
fails 2 "read text: hash file: bad magic number"
head -c 30 nodes.scr >"cut"
run scr_print cut
fails 2 "shorter than its header says"
{ head -c 20 nodes.scr; printf 'X'; tail -c 23 nodes.scr; } >flipped
run scr_print flipped
fails 2 "checksum does not match"
newer=$SCR_TEST_SOURCE/tests/golden/hashfile/bad-version-2.scr
run scr_print "$newer"
fails 2 "newer than this reader"
{ cat "$newer"; echo parity; } >newer.xor
run scr_print newer.xor
fails 2 "newer than this reader"
