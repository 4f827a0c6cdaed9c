#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_transfer: copies what a transfer file lists, under the commands and limits in it.
. "${0%/*}/lib.sh"

mkdir -m 700 ctl src dst
dir=$tmp/ctl
file=$dir/transfer.scrinfo

# field WORDS…: what the file has there, empty for nothing
field() { scr_print_hash_file "$file" | sed -n "s|^ *$1 = ||p"; }
# Waits until the process has gone.
is_idle() { ! scr_transfer --status "$dir" >"$out"; }
gone() { until_true is_idle; }
# Waits until the file says so.
has_field() { [ "$(field "$1")" = "$2" ]; }
becomes() { until_true has_field "$1" "$2"; }

common scr_transfer --status ctl

# --- misuse ---
run scr_transfer --status nowhere
fails 2 "nowhere"
run scr_transfer --run --stop ctl
fails 2 "options --run and --stop exclude each other"
run scr_transfer --idle soon ctl
fails 2 "option --idle: \"soon\" is not a time"
run scr_transfer a b
fails 2 "see scr_transfer --help"
mkdir -m 777 open
chmod 777 open
run scr_transfer --once open
fails 2 "others can write to it"
run env SCR_VNODES=2 scr_transfer --once
fails 2 "with SCR_VNODES the control directory must be given"

# --- nothing to do ---
run scr_transfer --status ctl
is 1 "no process; 0 files listed, 0 B left to copy"
run scr_transfer --exit ctl
is 1 ""
run scr_transfer --once ctl
is 0 ""

# --- files as the developer's manual lists them ---
head -c 300000 /dev/urandom >src/a
head -c 5 /dev/urandom >src/b
chmod 640 src/a
touch -d "2020-02-02 02:02:02" src/a
cli_transfer list "$file" "$tmp/src/a" "$tmp/dst/sub/a" 300000
cli_transfer list "$file" "$tmp/src/b" "$tmp/dst/b" 5
run scr_transfer --once ctl # nobody says RUN
is 0 ""
check "nothing is copied without a command" ! -e dst/b
run scr_transfer --run ctl
is 0 ""
run scr_transfer --once "$file"
is 0 ""
cmp src/a dst/sub/a || fail "a differs"
cmp src/b dst/b || fail "b differs"
check "mode and time are kept" "$(stat -c '%a %Y' dst/sub/a)" = "$(stat -c '%a %Y' src/a)"
check "no temporaries" -z "$(find dst -name '.scr-part*')"
becomes WRITTEN "300000
5"
becomes FLAG DONE
becomes STATE STOPPED
run scr_transfer --status ctl
is 1 "no process; 2 files listed, 0 B left to copy"
run scr_transfer --json ctl
has 1 '"bytes_left": 0'

# --- what cannot be copied is told, the rest is ---
cli_transfer list "$file" "$tmp/src/none" "$tmp/dst/none" 7
cli_transfer list "$file" "$tmp/src/b" "$tmp/dst/b2" 6
run scr_transfer --once ctl
has_status 2
grep -q "src/" "$err" || fail "no cause"
check "a file of another size is not copied" ! -e dst/b2
rm -f "$file"
echo rubbish >"$file"
run scr_transfer --once ctl
has_status 2
grep -q "transfer.scrinfo" "$err" || fail "which file?"
run scr_transfer --status ctl
fails 2 "transfer.scrinfo"
rm -f "$file"

# --- one process a directory, in the background, until it is told to end ---
run scr_transfer --background ctl
is 0 ""
run scr_transfer --background ctl
is 0 ""
run scr_transfer --status ctl
has 0 "waiting; 0 files listed"
run scr_transfer --once ctl
fails 2 "still held"
head -c 3000000 /dev/urandom >src/big
cli_transfer list "$file" "$tmp/src/big" "$tmp/dst/big" 3000000
cli_transfer bw "$file" 1000 # 50 minutes
run scr_transfer --run ctl
becomes STATE RUNNING
run scr_transfer --stop ctl
becomes STATE STOPPED
check "nothing while it is stopped" ! -e dst/big
cli_transfer bw "$file" 1000000
begin=$(date +%s%N)
run scr_transfer --run ctl
becomes FLAG DONE
cmp src/big dst/big || fail "big differs"
check "the limit is kept" $((($(date +%s%N) - begin) / 1000000)) -ge 2500
run scr_transfer --exit ctl
gone
rm -f "$file"

# --- it ends when it has been idle, and when its directory goes ---
run scr_transfer --background --idle 1 ctl
is 0 ""
gone
run scr_transfer --background ctl
is 0 ""
pid=$(scr_transfer --status ctl | sed 's/process \([0-9]*\),.*/\1/')
mv ctl ctl.gone
has_ended() { ! kill -0 "$1"; }
until_true has_ended "$pid"

# --- the directory of this job ---
export SCR_CNTL_BASE="$tmp/base" SCR_CACHE_BASE="$tmp/base" SCR_JOB_ID=7 SCR_USER_NAME=me
mkdir base
run scr_transfer --once
is 0 ""
check "it is made" -d base/me/scr.7
echo "transfer: passed"
