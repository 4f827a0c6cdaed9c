#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of scr drill share; sourced with the script's arguments, SCR …: $work, a directory that is
# removed at the end, and the checks. `finish NAME` is the last command.
set -uo pipefail
scr=$1

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-drill-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
tests=0 bad=0 pids=

wrong() {
    bad=$((bad + 1))
    echo "FAIL: $*; output:"
    sed 's/^/    /' "$work/out"
}

# expect NAME STATUS REGEX ARGS...: exit status and a line of the output.
expect() {
    local name=$1 status=$2 regex=$3 got
    shift 3
    tests=$((tests + 1))
    "$scr" drill "$@" >"$work/out" 2>&1 &
    pids+=" $!"
    wait $!
    got=$?
    [ $got = "$status" ] && grep -Eq -- "$regex" "$work/out" ||
        wrong "$name: status $got, expected $status and a line like '$regex'"
}

# said NAME REGEX: another line of the output.
said() {
    grep -Eq -- "$2" "$work/out" || wrong "$1: no line like '$2'"
}

# refused REGEX ARGS...: nothing is begun, and one line says why.
refused() {
    local regex=$1
    shift
    expect "$*" 2 "error: .*$regex" "$@"
    [ "$(grep -c error: "$work/out")" = 1 ] && ! grep -q "^drill:" "$work/out" || wrong "$*: not one line"
}

# json NAME EXPRESSION: true of the output, which Python has as v.
json() {
    python3 -c "import json, sys; v = json.load(sys.stdin); assert $2, v" <"$work/out" 2>/dev/null ||
        wrong "$1: not $2"
}

# Directories and processes of drills. Other drills may run beside these: a directory in memory has the process in
# its name.
left() {
    local pid
    find "$work" -maxdepth 1 -name 'scr-drill.*'
    for pid in $pids; do
        find /dev/shm -maxdepth 1 -name "scr-drill.$pid.*" -user "$(id -un)"
    done
    grep -als -- "SCR_PREFIX=$work/" /proc/[0-9]*/environ
}

# Those that were killed may still be ending.
nothing_left() {
    local i
    for i in $(seq 600); do
        [ -n "$(left)" ] || return
        sleep 0.1
    done
    wrong "$1: left $(left) after $i looks"
}

# interrupt NAME SEEN FILE ARGS...: SIGINT once a line of FILE, a pattern below $work, has SEEN. It cleans up, then it
# dies of the signal.
interrupt() {
    local name=$1 seen=$2 file=$3 pid got
    shift 3
    tests=$((tests + 1))
    set -m # else SIGINT is ignored in the background
    "$scr" drill --dir "$work" "$@" >"$work/out" 2>&1 &
    pid=$!
    set +m
    pids+=" $pid"
    for _ in $(seq 1200); do
        # shellcheck disable=SC2086 # a pattern
        ! grep -qs "$seen" "$work"/$file || break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    got=$?
    [ $got = 130 ] || wrong "$name: status $got, expected 130"
    nothing_left "$name"
}

finish() {
    nothing_left "$1"
    echo "$1: $tests cases, $bad wrong"
    [ $bad = 0 ]
}
