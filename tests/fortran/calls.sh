#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# calls.sh MPIRUN PROGRAM: runs a program of calls on 4 ranks, and counts what SCR says of its errors.
set -uo pipefail
mpirun=$1 program=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-fortran.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
mkdir "$work/prefix" "$work/cache"
cd "$work/prefix" || exit 1
export SCR_PREFIX=$PWD SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_JOB_ID=calls
export SCR_VNODES=4 SCR_FLUSH=0 SCR_USER_NAME=u

# Each process has a file of its own: launchers may put a line into the middle of another's.
# shellcheck disable=SC2016 # for the shell of each process
"$mpirun" -n 4 sh -c 'exec "$0" 2>"$1.$$"' "$program" "$work/err" >"$work/out" 2>"$work/launcher"
status=$?
cat "$work"/err.* >"$work/err"
want=$(sed -n 's/^lines of errors: *//p' "$work/out")
got=$(grep -c '^SCR: error: ' "$work/err")
if [ $status != 0 ] || [ "$want" != "$got" ] || ! grep -q '^failed: *0$' "$work/out"; then
    echo "FAIL: status $status, $got lines of errors, expected ${want:-an end}; output:"
    cat "$work/out" "$work/launcher" "$work/err"
    exit 1
fi
echo "ok: $got errors, each told in one line"
