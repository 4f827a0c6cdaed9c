#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# patterns.sh MPIRUN PROGRAM NAME: three runs of a program on two processes in one prefix directory,
# with the cache, then without. Both processes have to say that all is as expected, and to end with 0, but that a
# launcher may complain of a process that did not finalize MPI.
set -uo pipefail
mpirun=$1 program=$2 name=$3
for setting in $(env | sed -n 's/^\(SCR_[A-Z_]*\)=.*/\1/p'); do unset "$setting"; done
work=$(mktemp -d "${TMPDIR:-/tmp}/scr-patterns.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
export SCR_COPY_TYPE=SINGLE SCR_QUIET=1

for bypass in 0 1; do
    export SCR_CACHE_BYPASS=$bypass SCR_CACHE_BASE=$work/cache.$bypass SCR_CNTL_BASE=$work/cache.$bypass
    mkdir "$work/cache.$bypass" "$work/prefix.$bypass" && cd "$work/prefix.$bypass" || exit 99
    for step in 1 2 3; do
        timeout 300 "$mpirun" -n 2 "$program" "$name" "$step" >"$work/log" 2>&1
        status=$?
        [ "$name" != exit_without_any_finalize ] || status=0
        if [ "$status" -ne 0 ] || [ "$(grep -o 'as expected' "$work/log" | wc -l)" != 2 ]; then # lines of two may mix
            echo "FAIL: $name, step $step, SCR_CACHE_BYPASS=$bypass, status $status"
            cat "$work/log"
            exit 1
        fi
    done
done
echo "ok: $name"
