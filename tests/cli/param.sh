#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# scr param: values, origins, explanations, checks, and the documents made from the table.
# Usage: param.sh PROGRAM SOURCE_DIR, in an environment of its own.
set -u
scr=$1
source_dir=$2
tmp=$(mktemp -d "${TMPDIR:-/tmp}/scr-cli.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# Nothing of the caller's configuration.
for name in $(env | sed -n 's/^\(SCR_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
mkdir -p "$tmp/p/.scr" && cd "$tmp/p" || exit 1

# run ARG...: status, and the outputs in $tmp/out and $tmp/err
run() {
    "$scr" param "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# check NAME STATUS: the last run ended so
check() {
    [ "$status" -eq "$2" ] && return
    failed=1
    echo "FAILED $1: exit status $status, expected $2"
    cat "$tmp/out" "$tmp/err"
}

# has out|err TEXT
has() {
    grep -F -q -e "$2" "$tmp/$1" && return
    failed=1
    echo "FAILED: \"$2\" is not in $1:"
    cat "$tmp/$1"
}

lacks() {
    grep -F -q -e "$2" "$tmp/$1" || return
    failed=1
    echo "FAILED: \"$2\" is in $1:"
    cat "$tmp/$1"
}

# --- NAME ---
run SCR_FLUSH
check default 0
has out 10
run scr_flush
check "lower case" 0
has out 10
run SCR_CURRENT
check unset 1
run SCR_FLSUH
check unknown 2
has err "unknown parameter SCR_FLSUH; did you mean SCR_FLUSH?"
run
check "no name" 2
run --list SCR_FLUSH
check "list with a name" 2
run --list --explain
check "two actions" 2

printf 'SCR_FLUSH=7\nSTORE=/ssd COUNT=3\nSCR_SET_SIZE=0\n' >.scrconf
run SCR_FLUSH
check "user file" 0
has out 7
run SCR_SET_SIZE
check "bad value" 2
has err "SCR_SET_SIZE=0 ($tmp/p/.scrconf:3): expected an integer from 1"
run STORE
check lines 0
has out 'STORE="/ssd" COUNT="3"'
run CKPT
check "no lines" 1
mkdir "$tmp/q"
run --prefix "$tmp/q" SCR_FLUSH
check prefix 0
has out 10

# --- --explain ---
echo 'SCR_FLUSH="5"' >.scr/app.conf
export SCR_FLUSH=3
run --explain SCR_FLUSH
check explain 0
has out "SCR_FLUSH=3"
has out "  * environment  3"
has out "    user file    7  ($tmp/p/.scrconf:1)"
has out "    SCR_Config   5  ($tmp/p/.scr/app.conf:1)"
has out "    default      10"
has out "Since SCR 1.1."
unset SCR_FLUSH
run --explain CKPT
check "explain lines" 0
has out "no CKPT lines"
has out "INTERVAL (default 1)"
run --json --explain SCR_DEBUG
check "explain as JSON" 0
has out '"expected": "an integer from 0 to 2147483647"'
rm .scr/app.conf

# --- --list ---
run --list
check list 0
has out "SCR_FLUSH=7  # $tmp/p/.scrconf:1"
has out "# SCR_CURRENT is not set"
has out "# error: SCR_SET_SIZE=0"
has out 'STORE="/ssd" COUNT="3"  # '
rm .scrconf
"$scr" param --list >"$tmp/list.conf" 2>"$tmp/err"
sed '/^SCR_PREFIX=/d' "$tmp/list.conf" >"$tmp/again.conf"
run --check "$tmp/again.conf"
check "the list is a configuration file" 0

# --- bad surroundings ---
export SCR_CONF_FILE="$tmp/none.conf"
run SCR_FLUSH
check "missing SCR_CONF_FILE" 2
has err "SCR_CONF_FILE=$tmp/none.conf (environment): no such file"
unset SCR_CONF_FILE
export SCR_FLSUH=1
run SCR_FLUSH
check "unknown variable" 0
has err "unknown parameter SCR_FLSUH (environment): did you mean SCR_FLUSH?"
unset SCR_FLSUH
echo 'SCR_FLUSH 10' >.scrconf
run SCR_FLUSH
check "line without =" 2
has err "$tmp/p/.scrconf:1: \"SCR_FLUSH 10\": expected NAME=VALUE"
rm .scrconf
(unset USER && "$scr" param SCR_USER_NAME >"$tmp/out" 2>"$tmp/err")
status=$?
check "USER unset" 0

# --- --check ---
cat >"$tmp/bad.conf" <<'END'
SCR_FLUSH=x
hello
SCR_SET_SIZ=3
CKPT=0 TYPE=RAID
END
run --check "$tmp/bad.conf"
check "check of a bad file" 1
has err "SCR_FLUSH=x ($tmp/bad.conf:1): expected an integer"
has err "$tmp/bad.conf:2: \"hello\": expected NAME=VALUE"
has err "SCR_SET_SIZ ($tmp/bad.conf:3): did you mean SCR_SET_SIZE?"
has err "CKPT=0 TYPE=RAID ($tmp/bad.conf:4): expected one of"
has out "$tmp/bad.conf: 3 errors, 1 warning"
printf 'SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=2\n' >"$tmp/bad.conf"
run --check "$tmp/bad.conf"
check "check of descriptors" 1
has err "INTERVAL=1"
printf 'SCR_FLUSH=1\n' >"$tmp/good.conf"
export SCR_SET_SIZE=0 SCR_NONSENSE=1
run --check "$tmp/good.conf"
check "check ignores the environment" 0
has out "$tmp/good.conf: 0 errors, 0 warnings"
unset SCR_SET_SIZE SCR_NONSENSE
run --check "$tmp/none.conf"
check "check of a missing file" 2

# --- documents ---
run --example
check example 0
cp "$tmp/out" "$tmp/example.conf"
run --check "$tmp/example.conf"
check "the example is good" 0
has out "0 errors, 0 warnings"
sed 's/^#\([A-Z_]*=\)/\1/' "$tmp/example.conf" >"$tmp/all.conf"
run --check "$tmp/all.conf"
check "the example without its comment signs is good" 0
has out "0 errors, 0 warnings"

run --help
check help 0
has out "--explain"
lacks out "--markdown"
run --markdown
check markdown 0
# Builds with other defaults make another page.
if "$scr" param --explain SCR_CACHE_BASE | grep -q 'default */tmp$' &&
    "$scr" param --explain SCR_CNTL_BASE | grep -q 'default */tmp$'; then
    if ! diff -u "$source_dir/doc/man5/scr_params.5.md" "$tmp/out"; then
        failed=1
        echo "FAILED: make doc/man5/scr_params.5.md again with: scr param --markdown"
    fi
fi

exit "$failed"
