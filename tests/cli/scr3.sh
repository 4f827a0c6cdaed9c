#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# A prefix directory of the existing SCR 3.x, as the commands see it.
. "${0%/*}/lib.sh"
cp -r "$SCR_TEST_SOURCE/tests/golden/prefix/scr3/." . || exit 99
chmod -R u+w .

run scr_index --list
is 0 "   DSET VALID FLUSHED             NAME
      4 NO    -                   ckpt.4
*     3 YES   2011-02-28T12:37:14 ckpt.3
      1 YES   2011-02-28T12:36:50 ckpt.1"
run scr why --no-cache
has 0 "a restart takes dataset 3 (ckpt.3) from the prefix directory"
run scr_have_restart --no-cache
is 0 ckpt.3

# what it has in cache is told by those who look there, once, and stays
export SCR_CACHE_BASE="$tmp/cache" SCR_CNTL_BASE="$tmp/cache" SCR_USER_NAME=u SCR_JOB_ID=7
job=$tmp/cache/u/scr.7
mkdir -p "$job/scr.dataset.5/.scr"
echo list >"$job/cindex.scrinfo"
echo data >"$job/scr.dataset.5/ckpt.0"
for command in "scr why" scr_inspect scr_have_restart scr_postrun; do
    # shellcheck disable=SC2086 # two words
    run $command
    warns 0 "SCR 3.x or older has datasets in cache ($job): they stay there"
    [ "$(grep -c "datasets in cache" "$err")" = 1 ] || fail "told more than once"
done
run cat "$job/cindex.scrinfo" "$job/scr.dataset.5/ckpt.0"
is 0 "list
data"
rm -r "$job"

# scr_halt waits for who locks the halt file as its commands and jobs do
run scr_halt --seconds 5
mkfifo end
flock .scr/halt.scr sh -c ': >held; cat end' >/dev/null &
until [ -e held ]; do sleep 0.05; done
run timeout 1 scr_halt --checkpoints 3
has_status 124
echo >end
wait
run scr_halt --checkpoints 3
has 0 "CheckpointsLeft = 3"
has 0 "HaltSeconds = 5"
run scr_halt --remove
run scr verify
has 0 "verified 2 datasets, 16 files, 1.80 KiB: no problems; 16 files have no recorded CRC32"
run scr_index --add 3
is 0 "dataset 3: 8 files checked, added to the index"
rm step.3/file0.1
run scr why --no-cache
has 0 "a restart takes dataset 1 (ckpt.1) from the prefix directory"
run scr verify
has 1 "dataset 3 (ckpt.3): rank 1: stat $tmp/step.3/file0.1: no such file or directory"
run scr_index --current ckpt.1
is 0 ""
run scr_index --drop-after ckpt.1
is 0 ""
run scr_index
has 0 "*     1 YES "
