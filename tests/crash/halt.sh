#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# halt.sh MPIRUN CKPT_LOOP SCR: a job stopped by scr_halt ends with status 0 after the asked number of
# checkpoints, its last one on the prefix; it does not start again until the halt file is removed.
set -uo pipefail
mpirun=$1 program=$2 scr=$3

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-halt.XXXXXX")
trap 'rm -rf "$work"' EXIT
bad=0
export SCR_PREFIX=$work/prefix SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_VNODES=2
export SCR_JOB_ID=halt SCR_USER_NAME=tester SCR_FLUSH=0
mkdir "$SCR_PREFIX" "$SCR_CACHE_BASE"

check() {
    local what=$1
    shift
    "$@" || {
        bad=$((bad + 1))
        echo "FAIL: $what; output of the last run:"
        sed 's/^/    /' "$work/out"
    }
}

# run STATUS COUNT: the job is to end with this status.
run() {
    (cd "$SCR_PREFIX" && timeout 300 "$mpirun" -n 2 "$program" "$work/ledger" "$2" 1000) >"$work/out" 2>&1
    check "status of the job" test $? -eq "$1"
}

done_count() {
    grep -c '^done' "$work/ledger"
}

"$scr" halt --checkpoints 2 --prefix "$SCR_PREFIX" >"$work/out" 2>&1
check "scr_halt" test $? -eq 0
run 0 50
check "two checkpoints were written" test "$(done_count)" -eq 1
check "why is said" grep -q "halting after this checkpoint" "$work/out"
rm -rf "$SCR_CACHE_BASE"/vnode.*
check "the last one is on the prefix" sh -c "'$scr' index --prefix '$SCR_PREFIX' | grep -q 'YES.*step.2'"

run 0 50
check "it does not start again" test "$(done_count)" -eq 1
check "the remedy is said" grep -q "scr_halt --remove" "$work/out"

"$scr" halt --remove --prefix "$SCR_PREFIX" >"$work/out" 2>&1
check "scr_halt --remove" test $? -eq 0
run 0 1
check "it goes on from the last checkpoint" grep -q '^restart 2' "$work/ledger"
check "one more checkpoint" test "$(done_count)" -eq 2

SCR_HALT_SECONDS=60 SCR_END_TIME=$(($(date +%s) + 30)) run 0 50
check "near the end of the allocation it stops" grep -q "halt" "$work/out"
echo "halt: $bad failed"
exit $((bad > 0))
