#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_flush_file and scr_nodes_file: what the state files of a job say.
. "${0%/*}/lib.sh"
golden=$SCR_TEST_SOURCE/tests/golden

# nothing there: no answer, no error, and nothing is made
run scr_flush_file --latest
is 1 ""
run scr_nodes_file
is 1 ""
check "asking makes nothing" ! -e .scr

mkdir .scr
cp "$golden/flush/good-outputs.scr" .scr/flush.scr # outputs 15 16, checkpoints 17 18; 18 flushed
cp "$golden/nodes/good-4.scr" .scr/nodes.scr
common scr_flush_file --latest
common scr_nodes_file

# as scripts have called it for long, and as they do now
for dir in "--dir $tmp" "--dir=$tmp" "-d $tmp" "--prefix $tmp" "-p $tmp" ""; do
    # shellcheck disable=SC2086
    run scr_flush_file $dir --latest
    is 0 18
    # shellcheck disable=SC2086
    run scr_nodes_file $dir
    is 0 4
done
for option in --need-flush --needflush --id -n; do
    run scr_flush_file --dir "$tmp" $option 17
    is 0 ""
    run scr_flush_file --dir "$tmp" $option 18
    is 1 ""
    run scr_flush_file --dir "$tmp" $option 99
    is 1 ""
done

run scr_flush_file --location 17
is 0 CACHE
run scr_flush_file --location 18
is 0 "CACHE PFS"
run scr_flush_file --location 99
is 1 ""
run scr_flush_file --name 17
is 0 ckpt.17
run scr_flush_file --name 99
is 1 ""
run scr_flush_file --list-output
is 0 "15 16"
run scr_flush_file --list-ckpt
is 0 17
run scr_flush_file --list-ckpt --before 18
is 0 17
run scr_flush_file --list-ckpt --before 17
is 1 ""

# wrong use
run scr_flush_file
fails 2 "nothing to report: give --latest"
run scr_flush_file --latest --list-ckpt
fails 2 "options --latest and --list-ckpt exclude each other"
run scr_flush_file --latest --before 3
fails 2 "option --before goes with --list-ckpt"
run scr_flush_file --need-flush six
fails 2 'option --need-flush: "six" is not a whole number from 1 to'
run scr_flush_file --location
fails 2 "option --location"
run scr_flush_file --dir . --prefix . --latest
fails 2 "the prefix is given twice"
run scr_flush_file --dir /no/such/directory --latest
fails 2 "/no/such/directory: no such file or directory"
run scr_nodes_file --dir . --prefix .
fails 2 "the prefix is given twice"
run scr_nodes_file .
fails 2 'unexpected argument "."'

# damaged, or something else: told, and left alone
for bad in "$golden"/flush/bad-corrupt-*.scr; do
    cp "$bad" .scr/flush.scr
    run scr_flush_file --latest
    fails 2 "flush.scr"
    cmp -s "$bad" .scr/flush.scr || fail "the damaged file was changed"
done
cp "$golden"/nodes/bad-corrupt-text.scr .scr/nodes.scr
run scr_nodes_file
fails 2 "bad number of nodes"
cp "$golden"/nodes/bad-noent-other-format.scr .scr/nodes.scr
run scr_nodes_file
is 1 ""
cp "$golden"/hashfile/bad-version-2.scr .scr/nodes.scr
run scr_nodes_file
fails 2 "nodes.scr"
