#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Helpers of the command tests. Source it first: it enters a fresh directory, removed at the end,
# with the commands in PATH and none of the user's SCR_* settings.
#
#     run scr_halt --list          runs it; keeps its status, its stdout and its stderr
#     is 0 "no halt conditions"    checks the status, and stdout as a whole; stderr must be empty
#     has 0 "part of stdout"       … or a part of stdout
#     fails 2 "part of stderr"     checks the status and that stderr is one line holding the text
set -u
: "${SCR_TEST_BIN:?directory of the commands}" "${SCR_TEST_SOURCE:?}"
for name in $(env | sed -n 's/^\(SCR_[A-Z_]*\)=.*/\1/p'); do
    case $name in SCR_TEST_*) ;; *) unset "$name" ;; esac
done
export SCR_QUIET=1 SCR_LOG_TIME=0 LC_ALL=C TZ=UTC PATH="$SCR_TEST_BIN:${SCR_TEST_HELPERS:-$SCR_TEST_BIN}:$PATH"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/scr-cli.XXXXXX") || exit 99
out=$tmp/.out err=$tmp/.err status=0 ran=
: >"$out"
: >"$err"
trap 'cd /; rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
cd "$tmp" || exit 99

fail() {
    echo "FAIL: $ran: $*"
    echo "  exit status $status, stdout:"; sed 's/^/    /' "$out"
    echo "  stderr:"; sed 's/^/    /' "$err"
    exit 1
}

run() {
    ran="$*"
    "$@" >"$out" 2>"$err"
    status=$?
}

has_status() {
    [ "$status" -eq "$1" ] || fail "exit status $1 expected"
}

is() {
    has_status "$1"
    [ ! -s "$err" ] || fail "nothing expected on stderr"
    [ "$(cat "$out")" = "$2" ] || fail "stdout expected: $2"
}

has() {
    has_status "$1"
    grep -qF -- "$2" "$out" || fail "expected on stdout: $2"
}

warns() {
    has_status "$1"
    grep -qF -- "$2" "$err" || fail "expected on stderr: $2"
}

fails() {
    has_status "$1"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "one line expected on stderr"
    grep -qF -- "$2" "$err" || fail "expected on stderr: $2"
}

# check TEXT CONDITION…: a test(1) condition that must hold
check() {
    what=$1
    shift
    [ "$@" ] || fail "$what"
}

# until_true COMMAND…: waits for that, as long as anything may take on a busy machine
until_true() {
    for _ in $(seq 1200); do
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    fail "after two minutes still not: $*"
}

# What every command does alike. common COMMAND ARGUMENTS-THAT-WORK…
common() {
    run "$1" --help
    has 0 "Usage: $1 "
    has 0 "--help"
    cp "$out" "$tmp/.help"
    if grep -q '^  -h, --help' "$tmp/.help"; then # elsewhere it is what it is in SCR 3.x
        run "$1" -h
        is 0 "$(cat "$tmp/.help")"
    fi
    run "$1" --version
    is 0 "$1 (SCR) $SCR_TEST_VERSION"
    run "$1" --no-such-option
    fails 2 "$1: error: unknown option --no-such-option; see $1 --help"
    run "$1" -%
    fails 2 "unknown option -%"
    run "$1" --help=yes
    fails 2 "option --help takes no value"
    if [ -e /dev/full ]; then
        "$@" >/dev/full 2>"$err"
        status=$? ran="$* >/dev/full"
        fails 2 "write stdout: no space left on device"
    fi
    "$@" >&- 2>"$err"
    status=$? ran="$* >&-"
    fails 2 "write stdout: bad file descriptor"
}
