#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# What one who can write the prefix directory may put in the place of each file there (S2): FIFOs stop no command, and
# no command changes what a link leads to.
. "${0%/*}/lib.sh"
export SCR_USER_NAME=user1 SCR_JOB_ID=9 SCR_CACHE_BASE="$tmp" SCR_CNTL_BASE="$tmp" SCR_NODELIST=localhost
mkdir whole
cli_scavenge "$tmp/whole" 12 XOR 3 3
(cd whole && scr_index --build 12 && scr_halt && scr_log_event --type HALT) >/dev/null || exit 99
echo precious >precious

# with_each KIND COMMAND…: in a directory where one file after the other is of that kind
with_each() {
    kind=$1
    shift
    (cd whole && find . -type f) >files
    while read -r file; do
        rm -rf prefix
        cp -a whole prefix
        rm "prefix/$file"
        if [ "$kind" = fifo ]; then mkfifo "prefix/$file"; else ln -s "$tmp/precious" "prefix/$file"; fi
        cd prefix || exit 99
        run timeout 300 "$@"
        cd ..
        [ "$status" -lt 124 ] || fail "it hangs or dies, $file is a $kind"
        [ "$(cat precious)" = precious ] || fail "it follows the link $file"
    done <files
    check "files" "$(wc -l <files)" -gt 15
}
for kind in fifo link; do
    with_each $kind scr_index --build 12
    with_each $kind scr verify --repair
    with_each $kind scr_index --delete 12
    with_each $kind scr_halt
    with_each $kind scr_log_event --type HALT
done
with_each fifo scr_status
with_each fifo scr why --crc
with_each fifo scr_report
