#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# Names are bytes and JSON is UTF-8: what is none stands as \xHH, and nothing is left out.
. "${0%/*}/lib.sh"
latin=$(printf 'caf\351') # e with an acute accent in Latin-1
mkdir prefix "prefix/$latin"
cd prefix || exit 99
export SCR_CNTL_BASE="$PWD/../node" SCR_CACHE_BASE="$PWD/../node" SCR_USER_NAME=tester SCR_JOB_ID=7
echo one >"$latin/f.0"
echo two >"$latin/f.1"
run scr_index --add-directory "$latin" 'f.%r'
has 0 "2 files of 2 ranks"

for list in "scr_index --json" "scr why --json" "scr_inspect --json" "scr_have_restart --json"; do
    # shellcheck disable=SC2086 # command and option
    run $list
    has 0 '"name": "caf\\xE9"'
done
rm "$latin/f.1"
run scr why --json
has 1 'caf\\xE9/f.1'
run scr_print_hash_file --json .scr/index.scr
has 0 '"caf\\xE9"'
SCR_JOB_NAME=$latin run scr param --json SCR_JOB_NAME
has 0 '"value": "caf\\xE9"'
# What is UTF-8 stays.
mkdir café
echo one >café/f.0
run scr_index --add-directory café 'f.%r'
run scr_have_restart --json
has 0 '"name": "café"'
# Control characters stay in the name, but no terminal gets them.
odd=$(printf '\033[31mred\nline')
mkdir odd
echo one >odd/f.0
run scr_index --add-directory odd --name "$odd" 'f.%r'
has 0 '"?[31mred?line"'
for list in scr_index scr_inspect scr_why scr_have_restart; do
    run $list
    has 0 '?[31mred?line'
done
run scr_why --json
has 0 '"\u001B[31mred\nline"'
python3 - "$SCR_TEST_SOURCE/tests/golden/flush/good-outputs.scr" .scr/flush.scr <<'END'
import sys
import zlib
with open(sys.argv[1], "rb") as golden, open(sys.argv[2], "wb") as odd:
    hashed = golden.read()[:-4].replace(b"ckpt.17", b"\x1b[31m\nx")
    odd.write(hashed + zlib.crc32(hashed).to_bytes(4, "big"))
END
run scr_flush_file --name 17
is 0 '?[31m?x'

# S10: whatever texts those who can write the prefix directory put into state files.
odd_state() { # FROM TO WORD…: TO is FROM with each word replaced by one with control characters
    python3 - "$@" <<'END'
import sys
import zlib
golden, odd, *words = sys.argv[1:]
with open(golden, "rb") as file:
    hashed = file.read()[:-4]
for word in words:
    marked = b"\x1b[31m\n" + b"x" * (len(word) - 6)
    assert word.encode() in hashed and len(marked) == len(word)
    hashed = hashed.replace(word.encode(), marked)
with open(odd, "wb") as file:
    file.write(hashed + zlib.crc32(hashed).to_bytes(4, "big"))
END
}
masked() { # COMMAND…: prints no control characters, but the text
    run "$@"
    grep -qF '?[31m?x' "$out" "$err" || fail "the text is missing"
    [ -z "$(LC_ALL=C tr -d '\012\040-\377' <"$out")$(LC_ALL=C tr -d '\012\040-\377' <"$err")" ] || fail "control characters"
    ! grep -q '^x' "$out" || fail "a line of its own"
}
scr_halt >"$tmp/.null"
odd_state .scr/halt.scr .scr/halt.scr JOB_HALTED
masked scr_halt --list
masked scr_should_exit
masked scr_status
rm .scr/halt.scr
golden=$SCR_TEST_SOURCE/tests/golden/flush/good-outputs.scr
odd_state "$golden" .scr/flush.scr ckpt.17
masked scr_flush_file --name 17
rm .scr/flush.scr
masked env SCR_JOB_NAME="$(printf '\033[31m\nx')" scr_param --explain SCR_JOB_NAME

# … and a user who can write a configuration file, or chooses the name of a file or directory
odd=$(printf '\033[31m\nx')
mkdir "$odd" out
{
    printf 'SCR_JOB_NAME="\033[31m\r?[31m?x"\n'
    printf 'CKPT=0 INTERVAL=1 STORE="/\033[31m\r?[31m?x" TYPE=SINGLE\n'
} >"$odd/conf"
masked env SCR_CONF_FILE="$odd/conf" scr_param --list
masked env SCR_CONF_FILE="$odd/conf" scr_param --changed
masked env SCR_CONF_FILE="$odd/conf" scr_param CKPT
echo SCR_DEBUG=1 >"$odd/conf"
masked scr_param --check "$odd/conf"
masked scr_crc32 "$odd/conf" "$odd/conf"
cp "$golden" "$odd/hash.scr"
masked scr_print_hash_file "$odd/hash.scr" "$odd/hash.scr"
cp -R . "$tmp/$odd"
masked scr_index --prefix "$tmp/$odd" --extract 2
masked scr_index --extract 2 --to "$tmp/prefix/$odd/out"
