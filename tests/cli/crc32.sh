#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_crc32: checksums of files.
. "${0%/*}/lib.sh"
printf 123456789 >nine
: >empty

common scr_crc32 nine

run scr_crc32 nine
is 0 cbf43926
run scr_crc32 nine empty
is 0 "cbf43926  nine
0  empty"
run scr_crc32 -- nine
is 0 cbf43926

run scr_crc32
fails 2 "too few arguments; see scr_crc32 --help"
run scr_crc32 none
fails 2 "none: no such file or directory"
run scr_crc32 .
fails 2 "not a regular file"
