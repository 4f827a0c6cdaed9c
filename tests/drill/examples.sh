#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# examples.sh SCR MPIRUN HEAT2D QUICKSTART STEP4: the examples do what their comments say.
set -euo pipefail
scr=$1 mpirun=$2 heat2d=$3 quickstart=$4 step4=$5

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-examples.XXXXXX")
trap 'rm -rf "$work"' EXIT
export SCR_CACHE_BASE=$work SCR_CNTL_BASE=$work SCR_COPY_TYPE=SINGLE SCR_USER_NAME=u

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# field RANKS FILE ARGS...: a run of its own that writes FILE.
field() {
    local ranks=$1 file=$2
    shift 2
    mkdir -p "$work/$file.d"
    (cd "$work/$file.d" && SCR_PREFIX=$PWD SCR_JOB_ID=$file \
        "$mpirun" -n "$ranks" "$heat2d" --size 50 --steps 60 --output "../$file" "$@") \
        >"$work/$file.log" 2>&1 || fail "$(cat "$work/$file.log")"
}

# The field does not depend on the number of ranks, on checkpoints, nor on SCR at all.
field 1 one --every 1000
field 3 three --every 7
SCR_ENABLE=0 field 2 without --every 10
cmp "$work/one" "$work/three" || fail "1 and 3 ranks differ"
cmp "$work/one" "$work/without" || fail "with and without SCR differ"
[ "$(stat -c %s "$work/one")" = $((50 * 50 * 8)) ] || fail "size of the field"
echo "ok: heat2d gives one field"

# A run that goes on after a shorter one ends in the same field.
mkdir "$work/again"
cd "$work/again"
export SCR_PREFIX=$PWD SCR_JOB_ID=again SCR_FLUSH=1
"$mpirun" -n 2 "$heat2d" --size 50 --steps 35 --every 10 >../log1
rm -rf "$work/u/scr.again"
"$mpirun" -n 2 "$heat2d" --size 50 --steps 60 >../log2 2>&1 # does nothing: the job has finished
grep -q SCR_FINALIZE_CALLED ../log2 || fail "a finished job starts again: $(cat ../log2)"
"$scr" halt --remove
"$mpirun" -n 2 "$heat2d" --size 50 --steps 60 --every 10 --output ../again.bin >../log2
grep -q "restarted from heat2d.step.30 at step 30" ../log2 || fail "$(cat ../log2)"
cmp "$work/one" "$work/again.bin" || fail "a restarted run differs"
echo "ok: heat2d goes on from the prefix directory"

mkdir "$work/quick"
cd "$work/quick"
export SCR_PREFIX=$PWD SCR_JOB_ID=quick
"$mpirun" -n 2 "$quickstart" 0 || fail "quickstart"
[ "$(cat step.100/rank_1.txt)" = "100 5050" ] || fail "quickstart left no step.100/rank_1.txt"
"$scr" halt --remove
"$mpirun" -n 2 "$quickstart" 0 || fail "quickstart a second time"
[ ! -e step.110 ] || fail "quickstart did not go on from step 100"
echo "ok: quickstart"

# Where SCR does not run, a program of the guide writes its files, or ends if the user wants that.
mkdir "$work/off"
cd "$work/off"
SCR_ENABLE=0 "$mpirun" -n 2 "$quickstart" 0 2>../log.off || fail "$(cat ../log.off)"
[ "$(cat step.100/rank_1.txt)" = "100 5050" ] || fail "SCR_ENABLE=0: no step.100/rank_1.txt"
[ "$(grep -c "this run makes no checkpoints" ../log.off)" = 1 ] || fail "$(cat ../log.off)"
rm -rf step.*
status=0
SCR_CHECKPOINT_AUTO=0 SCR_PREFIX=/no/such/directory "$mpirun" -n 2 "$step4" 20 >../log.off 2>&1 || status=$?
[ "$status" = 0 ] || fail "step4 without SCR: $(cat ../log.off)"
[ -s ckpt.20/rank_1.dat ] || fail "step4 without SCR: no ckpt.20/rank_1.dat"
rm -rf ckpt.*
SCR_CHECKPOINT_AUTO=0 SCR_REQUIRED=1 SCR_PREFIX=/no/such/directory "$mpirun" -n 2 "$step4" 20 >../log.off 2>&1 && fail "SCR_REQUIRED=1"
[ ! -e ckpt.20 ] || fail "SCR_REQUIRED=1: it goes on"
echo "ok: without SCR"

status=0
"$mpirun" -n 2 "$heat2d" --steps many >/dev/null 2>&1 || status=$?
[ $status != 0 ] || fail "heat2d --steps many"
"$mpirun" -n 4 "$heat2d" --size 3 >/dev/null 2>&1 && fail "heat2d with more ranks than rows"
echo "ok: wrong use"
