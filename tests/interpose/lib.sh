#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# For the tests of libscr_interpose; sourced. SCR MPIRUN LIBRARY are the program scr, the
# launcher and libscr_interpose.so. Jobs run on the virtual nodes n1 to n4, one process each.
set -uo pipefail
scr=$1 mpirun=$2 library=$3
for name in $(env | sed -n 's/^\(SCR_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
work=$(mktemp -d "${TMPDIR:-/tmp}/scr-interpose.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
storage=$work/storage
mkdir "$storage"
export SCR_CACHE_BASE=$storage SCR_CNTL_BASE=$storage SCR_USER_NAME=u SCR_JOB_ID=j
export SCR_VNODES=n1,n2,n3,n4 LC_ALL=C SCR_QUIET=1
export OMPI_MCA_orte_tmpdir_base=$work OMPI_MCA_btl_vader_backing_directory=$work
cases=0

fail() {
    echo "FAIL: $*"
    [ ! -s "$work/log" ] || sed 's/^/    /' "$work/log"
    exit 1
}

ok() {
    cases=$((cases + 1))
    echo "ok: $*"
}

# fresh NAME: a prefix directory of its own, and empty nodes.
fresh() {
    rm -rf "${storage:?}"/*
    mkdir -p "$work/$1" && cd "$work/$1" || fail "mkdir $1"
}

launch=("$mpirun" -n 4)

# job PROGRAM ARGS…: intercepted, on four processes; its output is in $work/log.
job() {
    timeout 300 "${launch[@]}" env LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}" "$@" >"$work/log" 2>&1
}

good() {
    job "$@" || fail "status $?: $*"
}

says() {
    grep -qF -- "$1" "$work/log" || fail "expected: $1"
}

says_not() {
    ! grep -F -- "$1" "$work/log" || fail "not expected: $1"
}

# Those that are there, one after another.
is_there() {
    local file
    for file in "$@"; do
        [ -s "$file" ] || fail "no file $file in $PWD: $(ls)"
    done
}

is_gone() {
    local file
    for file in "$@"; do
        [ ! -e "$file" ] || fail "file $file is in $PWD: $(ls)"
    done
}

# What a node holds dies with it.
lose_storage() {
    rm -rf "$storage/vnode.$1"
}

# pids NODE: of its processes.
pids() {
    local file
    for file in "$storage/vnode.$1"/u/scr.j/prefix.*/pid.*; do
        [ -e "$file" ] && cut -d' ' -f1 "$file"
    done
}

# struck NODE LINE PROGRAM ARGS…: a job that holds somewhere, and whose node dies when LINE
# comes up in the phase file.
struck() {
    local node=$1 line=$2 left=4800 pid
    shift 2
    export SCR_PHASE_FILE=$work/phases
    rm -f "$work/phases"
    job "$@" &
    local launcher=$!
    until grep -qx -- "$line" "$work/phases" 2>/dev/null; do
        left=$((left - 1))
        if [ $left -eq 0 ] || ! kill -0 "$launcher" 2>/dev/null; then
            kill "$launcher" 2>/dev/null
            wait "$launcher"
            fail "no phase '$line': $(cat "$work/phases")"
        fi
        sleep 0.05
    done
    for pid in $(pids "$node"); do kill -KILL "$pid"; done
    wait "$launcher" && fail "the job outlived its node: $*"
    lose_storage "$node"
    unset SCR_PHASE_FILE
}

# The next job is not kept from starting by the one that ended well.
again() {
    "$scr" halt --remove >/dev/null 2>&1 || fail "scr halt --remove"
}
