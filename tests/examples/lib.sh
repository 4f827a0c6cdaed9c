#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of examples share; sourced with the script's arguments, SCR MPIRUN PROGRAM REFUSE.
# It enters a fresh directory, removed at the end.
set -euo pipefail
scr=$1 mpirun=$2 program=$3 refuse=$4

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-example.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# drill OPTIONS… -- ARGS…: a drill of the program with four ranks on four nodes. What it keeps is
# then in ./reference and ./drill, the last one's output in ./log.last.
drill() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf reference drill log.* scr-drill.*
    "$scr" drill --mpirun "$mpirun" --timeout 300 --nodes 4 --ranks 4 --dir . --keep "${options[@]}" \
        -- "$program" "$@" >log.drill 2>&1 || fail "$(cat log.drill)"
    mv scr-drill.*/reference scr-drill.*/drill scr-drill.*/log.* .
    rm -rf scr-drill.*
    grep '^verdict' log.drill
}

# job NAME RANKS ARGS…: one run as job NAME, its prefix ./NAME, its output log.NAME. The processes write
# their errors there themselves: what a launcher has not passed on when a run aborts, it may drop.
job() {
    local name=$1 ranks=$2
    shift 2
    mkdir -p "$name" nodes
    rm -f "log.$name"
    (cd "$name" && SCR_PREFIX=$PWD SCR_JOB_ID=$name SCR_USER_NAME=u SCR_CACHE_BASE=$work/nodes \
        SCR_CNTL_BASE=$work/nodes SCR_COPY_TYPE=${SCR_COPY_TYPE:-SINGLE} \
        "$mpirun" -n "$ranks" sh -c 'exec "$@" 2>>"$0"' "$work/log.$name" "$program" "$@") \
        >>"log.$name" 2>&1
}

# refused VARIABLES… -- NAME RANKS ARGS…: the same, with something that cannot be opened (refuse.c).
refused() {
    local settings=()
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    (
        export "${settings[@]}" LD_PRELOAD="$refuse${LD_PRELOAD:+:$LD_PRELOAD}"
        job "$@"
    )
}

# A job that SCR cannot serve: it says so once, and then no more.
told_once() {
    [ "$(grep -c '^SCR: error: ' "$1")" = 1 ] || fail "SCR repeats itself: $(cat "$1")"
    [ "$(grep -c "going on without" "$1")" = 1 ] || fail "not told once: $(cat "$1")"
}

# The next run of a job that has ended.
again() {
    "$scr" halt --prefix "$1" --remove >/dev/null
}
