# SPDX-License-Identifier: BSD-3-Clause
# scr param: values, origins, explanations, checks, and the documents made from the table.
# shellcheck shell=sh disable=SC2154
. "${0%/*}/lib.sh"
# scr param warns about every SCR_* variable that is no parameter: keep the tests' own to ourselves
version=$SCR_TEST_VERSION source=$SCR_TEST_SOURCE
unset SCR_LOG_TIME SCR_TEST_BIN SCR_TEST_HELPERS SCR_TEST_SOURCE SCR_TEST_VERSION
SCR_TEST_VERSION=$version
mkdir -p p/.scr q
cd p || exit 99
here=$PWD

common scr_param SCR_FLUSH

# --- NAME ---
run scr_param SCR_FLUSH
is 0 10
run scr_param scr_flush
is 0 10
run scr_param flush
is 0 10
run scr_param prefix
is 0 "$here"
run scr_param --explain copy-type
fails 2 "unknown parameter copy-type; did you mean SCR_COPY_TYPE?"
run scr_param Set_Size
is 0 8
run scr_param SCR_HALT_EXIT
is 0 1
run scr_param SCR_CURRENT
is 1 ""
run scr_param SCR_PREFIX
is 0 "$here"
run scr_param SCR_FLSUH
fails 2 "scr_param: error: unknown parameter SCR_FLSUH; did you mean SCR_FLUSH?"
run scr_param flushh
fails 2 "scr_param: error: unknown parameter flushh; did you mean SCR_FLUSH?"
run scr_param storee
fails 2 "unknown parameter storee; did you mean STORE?"
run scr_param nonsense
[ "$(cat "$err")" = "scr_param: error: unknown parameter nonsense" ] || fail "no other name expected"
run scr_param
fails 2 "NAME is missing, for example SCR_FLUSH; --list prints all; see scr_param --help"
run scr_param --list SCR_FLUSH
fails 2 "--list takes no NAME"
run scr_param --list --explain
fails 2 "--"

printf 'SCR_FLUSH=7\nSTORE=/ssd COUNT=3\nSCR_SET_SIZE=0\n' >.scrconf
run scr_param SCR_FLUSH
is 0 7
run scr_param SCR_SET_SIZE
fails 2 "SCR_SET_SIZE=0 ($here/.scrconf:3): expected an integer from 1"
run scr_param STORE
is 0 "STORE=\"/ssd\" COUNT=\"3\"                    # $here/.scrconf:2"
run scr_param CKPT
is 1 ""
run scr_param --prefix ../q SCR_FLUSH
is 0 10

# --- --explain ---
echo 'SCR_FLUSH="5"' >.scr/app.conf
export SCR_FLUSH=3
run scr_param --explain SCR_FLUSH
has 0 "SCR_FLUSH=3
  * environment  3
    user file    7  ($here/.scrconf:1)
    SCR_Config   5  ($here/.scr/app.conf:1)
    system file  -
    default      10"
has 0 "Since SCR 1.1."
unset SCR_FLUSH
run scr_param --explain CKPT
has 0 "no CKPT lines"
has 0 "INTERVAL (default 1)"
run scr_param --json --explain SCR_DEBUG
has 0 '"expected": "an integer from 0 to 2147483647"'
run scr_param --json STORE
has 0 '"COUNT": "3"'
rm .scr/app.conf

# --- --list ---
unset SCR_QUIET # of the tests
run scr_param --list
has 0 "SCR_FLUSH=7                               # $here/.scrconf:1"
has 0 "# SCR_CURRENT is not set"
has 0 "# error: SCR_SET_SIZE=0"
has 0 "STORE=\"/ssd\" COUNT=\"3\"                    # "
run scr_param --list --changed
has 0 "SCR_FLUSH=7                               # $here/.scrconf:1"
has 0 "# error: SCR_SET_SIZE=0"
has 0 "STORE=\"/ssd\" COUNT=\"3\"                    # "
check "three lines" "$(wc -l <"$out")" -eq 3
run scr_param --changed
check "the same" "$(wc -l <"$out")" -eq 3
run scr_param --changed SCR_FLUSH
fails 2 "--changed takes no NAME"
run scr_param --changed --json
has 0 '"value": "7"'
check "nothing but these" "$(grep -c '"name"' "$out")" -eq 3
run env SCR_FLUSH=10 scr_param --changed
check "a value that is set to the default" "$(grep -c SCR_FLUSH "$out")" -eq 0
run scr_param --json --list
has 0 '"origin": "default"'
rm .scrconf
run scr_param --list
has_status 0
sed '/^SCR_PREFIX=/d' "$out" >../again.conf
run scr_param --check ../again.conf
is 0 "../again.conf: 0 errors, 0 warnings"

# --- bad surroundings ---
export SCR_CONF_FILE="$here/none.conf"
run scr_param SCR_FLUSH
fails 2 "SCR_CONF_FILE=$here/none.conf (environment): no such file"
unset SCR_CONF_FILE
export SCR_FLSUH=1
run scr_param SCR_FLUSH
has 0 10
warns 0 "unknown parameter SCR_FLSUH (environment): did you mean SCR_FLUSH?"
run scr_param SCR_FETCH_TYPE
fails 2 "SCR_FETCH_TYPE has no effect: files are fetched by SCR itself"
unset SCR_FLSUH
echo 'SCR_FLUSH 10' >.scrconf
run scr_param SCR_FLUSH
fails 2 "$here/.scrconf:1: \"SCR_FLUSH 10\": expected NAME=VALUE"
rm .scrconf
run env -u USER scr_param SCR_USER_NAME
is 0 "$(id -un 2>/dev/null || id -u)"
run env -u SLURM_JOBID -u SLURM_JOB_ID LSB_JOBID=42 scr_param SCR_JOB_ID
is 0 42

# --- --check ---
cat >bad.conf <<'END'
SCR_FLUSH=x
hello
SCR_SET_SIZ=3
CKPT=0 TYPE=RAID
END
run scr_param --check bad.conf
has 1 "bad.conf: 3 errors, 2 warnings"
warns 1 "CKPT lines (the first: bad.conf:4) have no effect with SCR_COPY_TYPE=XOR (default): set SCR_COPY_TYPE=FILE"
warns 1 "SCR_FLUSH=x (bad.conf:1): expected an integer"
warns 1 "bad.conf:2: \"hello\": expected NAME=VALUE"
warns 1 "SCR_SET_SIZ (bad.conf:3): did you mean SCR_SET_SIZE?"
warns 1 "CKPT=0 TYPE=RAID (bad.conf:4): expected one of"
printf 'SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=2\n' >bad.conf
run scr_param --check bad.conf
has 1 "bad.conf: 1 error, 0 warnings"
warns 1 "INTERVAL=1"
printf '\357\273\277SCR_FLUSH=1\nCKPT=0 TYPE=XOR INTERVAL=1\nCKPT=0 TYPE=SINGLE TYPE=SINGLE\n' >bad.conf
run scr_param --check bad.conf
has 0 "bad.conf: 0 errors, 4 warnings"
warns 0 "bad.conf:1: begins with a byte order mark, which is skipped"
warns 0 "CKPT=0 (bad.conf:3) was given before (bad.conf:2): both apply"
warns 0 "CKPT=0 (bad.conf:3) has TYPE more than once: the last one is used"
echo 'SCR_FLUSH=1' >good.conf
run env SCR_SET_SIZE=0 SCR_NONSENSE=1 scr_param --check good.conf
is 0 "good.conf: 0 errors, 0 warnings"
run scr_param --check none.conf
fails 2 "none.conf"

# --- documents ---
run scr_param --example
has_status 0
cp "$out" example.conf
run scr_param --check example.conf
is 0 "example.conf: 0 errors, 0 warnings"
sed 's/^#\([A-Z_]*=\)/\1/' example.conf >all.conf
run scr_param --check all.conf
has 0 "all.conf: 0 errors, 1 warning"
warns 0 "have no effect with SCR_COPY_TYPE=XOR"

run scr_param --help
has 0 "--explain"
if grep -q -e --markdown "$out"; then
    fail "--markdown is not for users"
fi

# Builds with other default directories make another page.
run scr_param --explain SCR_CACHE_BASE
cat "$out" >defaults
run scr_param --explain SCR_CNTL_BASE
cat "$out" >>defaults
if [ "$(grep -c 'default  *\/tmp$' defaults)" -eq 2 ]; then
    run scr_param --markdown
    has_status 0
    diff -u "$source/doc/man5/scr_params.5.md" "$out" ||
        fail "make doc/man5/scr_params.5.md anew with: scr param --markdown"
fi
