#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr completion: what bash completes, by its own machinery; the syntax of the scripts for other
# shells, where they are installed.
. "${0%/*}/lib.sh"

run scr completion
fails 2 "completion for a shell: give bash, zsh or fish"
run scr completion tcsh
fails 2 "give bash, zsh or fish"

for shell in zsh fish; do
    run scr completion $shell
    has 0 "scr_index"
    cp "$out" script.$shell
    command -v $shell >/dev/null || continue
    run $shell -n script.$shell
    is 0 ""
done
grep -q "'-p+\[prefix directory (default: the current one)\]:DIR:_files -/'" script.zsh || fail "a directory in zsh"
grep -q "^complete -c scr_index -l prefix -s p -xa '(__fish_complete_directories)' -d" script.fish || fail "a directory in fish"
grep -qF "'--watch=-[" script.zsh && grep -q "^ *'-w-\[.*\]::.SECONDS.: '" script.zsh || fail "an optional value in zsh"
grep -q "^complete -c scr_status -l watch -s w -d '" script.fish || fail "an optional value in fish"
[ -z "$(tail -c +1 script.zsh | awk '/_arguments/ { open = 1 } open && !/\\$/ && !/;;$/; /;;$/ { open = 0 }')" ] || fail "a line that does not continue"

command -v bash >/dev/null || exit 0
run scr completion bash
has 0 "complete -F _scr scr scr_index"
cp "$out" script.bash
run bash -n script.bash
is 0 ""

# completes WORD…: what bash offers for the last word, one a line, sorted
cat >complete.bash <<'EOT'
. ./script.bash
compopt() { :; } # there is no command line here
spec=$(complete -p "$1") || exit
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
f=${spec#*-F } f=${f%% *}
$f "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}" | sort
EOT
completes() { run bash complete.bash "$@"; }

mkdir dir dirt
: >data
completes scr hal
is 0 halt
completes scr 'prin'
is 0 print_hash_file
completes scr help why
is 0 why
completes scr halt --che
is 0 --checkpoints
completes scr_halt --che
is 0 --checkpoints
completes scr_halt --hel
is 0 --help
completes scr print-hash-file --m
is 0 --mode
completes scr_index --prefix d
is 0 "dir
dirt"
completes scr_index --prefix = dirt
is 0 dirt
completes scr_index --prefix =
is 0 "dir
dirt"
completes scr_index -p da
is 0 ""
completes scr_halt --checkpoints d
is 0 ""
completes scr_param --check dat
is 0 data
completes scr param SCR_CNTL_B
is 0 SCR_CNTL_BASE
completes scr_crc32 d
is 0 "data
dir
dirt"
completes scr_mpirun d
has 0 data
for link in $(sed -n 's/^X([a-z0-9_]*, *"\([^"]*\)".*/\1/p' "$SCR_TEST_SOURCE/src/defs/commands.def"); do
    completes "$link" --vers
    is 0 --version
done

mkdir "two words"
: >"two files"
completes scr_index --prefix two
is 0 "two words"
completes scr_crc32 two
is 0 "two files
two words"
completes scr_status --watch --js
is 0 --json
