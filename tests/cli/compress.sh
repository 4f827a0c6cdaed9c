#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # lib.sh sets out, err and tmp, and prints ran
# Datasets with compressed files: scr verify, scr why, scr_index --add, and --extract for users
# without SCR, which replaces nothing (invariant P19). And progress bars of long commands.
. "${0%/*}/lib.sh"
# scr why warns about every SCR_* variable that is no parameter: the tests' own are not exported
source=$SCR_TEST_SOURCE bin=$SCR_TEST_BIN helpers=$SCR_TEST_HELPERS
unset SCR_TEST_BIN SCR_TEST_HELPERS SCR_TEST_SOURCE SCR_TEST_VERSION

# plain: the files of the dataset as the program wrote them, in keep/
mkdir -p step/deep keep/step/deep
for r in 0 1 2; do
    seq 1 $((3000 + r)) >step/big.$r
    echo "rank $r" >step/deep/small.$r
done
cp -r step keep/
run scr_index --add-directory step 'big.%r' 'deep/small.%r'
has 0 'dataset 1: "step", 6 files of 3 ranks'

# --- bars, of plain files too: only where stderr is a terminal ---
case $(ldd "$bin/scr" 2>/dev/null) in
*asan*) clock= ;; # wants to be preloaded first
*) clock=$(find "$helpers" -name 'libcli_clock.so') ;;
esac
bar() {
    ran="a bar of $*"
    LD_PRELOAD=$clock python3 "$source/tests/cli/on_tty.py" "$@" >"$out" 2>"$err"
    status=$?
    has 0 "% "
    has 0 " KiB of "
    LD_PRELOAD=$clock "$@" >"$out" 2>"$err"
    status=$? ran="no bar of $*"
    has_status 0
    check "nothing on stderr" ! -s "$err"
}
if [ -n "$clock" ]; then
    bar scr verify
    bar scr why --no-cache --crc
    bar scr_index --add 1
    bar scr_index --build 1
    bar scr_index --extract step --to bars
    rm -rf bars
fi

# --- extraction of what is stored as it is ---
run scr_index --extract step --to "$tmp/copy"
is 0 "dataset 1: 6 files, 41715 bytes, extracted to $tmp/copy"
run diff -r keep copy
is 0 ""
run scr_index --extract step
is 0 "dataset 1: 0 files, 0 bytes, extracted to $tmp, 6 were there already"
run scr_index --extract 1 --to copy
has 0 "6 were there already"
echo other >copy/step/big.1
run scr_index --extract 1 --to copy
fails 2 "copy/step/big.1 is there and is another file: move it away"
check "it is left alone" "$(cat copy/step/big.1)" = other
rm -rf copy

# --- compressed ---
run cli_pack "$tmp" 1
[ "$status" -eq 77 ] && exit 0
is 0 3
check "no plain file" ! -e step/big.0
run scr_print .scr/scr.dataset.1/rank2file.0.0
has 0 "ZSTD"
run zstd -q -d -c step/big.2.zst
is 0 "$(cat keep/step/big.2)"
run scr verify
has 0 "verified 1 dataset, 6 files, 40.73 KiB: no problems"
run scr why --no-cache --crc
has 0 "a restart takes dataset 1 (step) from the prefix directory"
run scr_index --add 1
is 0 "dataset 1: 6 files checked, added to the index"
[ -z "$clock" ] || bar scr verify
run scr_index --extract step --to copy
has 0 "dataset 1: 6 files, 41715 bytes, extracted to copy"
run diff -r keep copy
is 0 ""
check "times are kept" ! copy/step/big.0 -nt step/big.0.zst
run scr_index --extract step
is 0 "dataset 1: 3 files, $(cat step/big.? | wc -c) bytes, extracted to $tmp, 3 were there already"
run cmp step/big.1 keep/step/big.1
is 0 ""
check "the stored one stays" -e step/big.1.zst
rm -rf copy step/big.0 step/big.1 step/big.2

# --- behind a link that leads out of the prefix directory: read, and nothing is written there ---
away=$(mktemp -d "${TMPDIR:-/tmp}/scr-cli.XXXXXX") || exit 99
trap 'cd /; rm -rf "$tmp" "$away"' EXIT
mv step "$away/step"
ln -s "$away/step" step
run scr_index --extract step
fails 2 "extract $tmp/step/big.0: $tmp/step leads to "
warns 2 "outside the prefix directory $tmp; extract to a directory (--to)"
check "no plain file there" "$(echo "$away"/step/big.*)" = "$(echo "$away"/step/big.*.zst)"
run scr_index --extract step --to copy
has 0 "extracted to copy"
run diff -r keep copy
is 0 ""
rm -r step copy
mv "$away/step" step

# --- damaged: found, and the rest is extracted all the same ---
cp step/big.1.zst good.zst
printf 'x' | dd of=step/big.1.zst bs=1 seek=2000 conv=notrunc 2>/dev/null
run scr verify
has 1 "rank 1: unpack $tmp/step/big.1.zst: zstd: "
run scr why --no-cache
has 0 "a restart takes" # sizes only
run scr why --no-cache --crc
has 1 "corrupt    step: rank 1: unpack"
run scr_index --extract step --to copy
fails 2 "dataset 1: unpack $tmp/step/big.1.zst: zstd: "
run ls copy/step
is 0 "$(printf 'big.0\nbig.2\ndeep')"
run scr_index --add 1
fails 2 "dataset 1 is not whole: rank 1: unpack"
head -c 1000 good.zst >step/big.1.zst
run scr verify 1
has 1 "step/big.1.zst has 1000 bytes, $(wc -c <good.zst) are recorded"
rm step/big.1.zst
run scr verify 1
has 1 "no such file or directory"
rm -rf copy
run scr_index --extract step --to copy
fails 2 "dataset 1: "
mv good.zst step/big.1.zst
run scr_index --add 1
has 0 "6 files checked"

# --- misuse ---
run scr_index --extract nobody
fails 2 'no dataset "nobody" in'
run scr_index --to copy
fails 2 "option --to goes with --extract"
run scr_index --extract step --list
fails 2 "--list"
rm .scr/scr.dataset.1/summary.scr
run scr_index --extract 1
fails 2 "dataset 1 is not complete: see scr_index --add 1"
echo "compress: ok"
