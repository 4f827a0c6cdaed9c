#!/usr/bin/env bash
# shellcheck disable=SC2154 # set by lib.sh
# SPDX-License-Identifier: BSD-3-Clause
# calls.sh SCR MPIRUN LIBRARY NO_LINKS PROGRAM...: whatever calls of the C library a program writes its files
# by, it finds in them what belongs there, at once, after checkpoints were made of them, and
# without SCR when it has ended; also where the stage cannot have hard links.
. "$(dirname "$0")/lib.sh"
no_links=$4
shift 4
export SCR_INTERPOSE_CALLS=1 SCR_FLUSH=1 SCR_CACHE_SIZE=2

# calls PROGRAM HOW
calls() {
    fresh "$(basename "$1").$cases"
    # A process id is used again: its stage goes, that of a living process and what was kept stay.
    # Gives the prefix directory its identity.
    env -u SCR_VNODES "$scr" transfer --status >/dev/null || true
    stages=$(SCR_VNODES=n1 "$scr" cntl_dir)/interpose
    mkdir -p "$stages/999999999.0" "$stages/$$.0"
    chmod -R 700 "$storage"
    echo kept >"$stages/kept.1.0"
    export SCR_INTERPOSE_PATTERN='state.%d.*'
    good "$1"
    says "23 cases"
    says "it is a symbolic link"
    says "a pattern for its first name"
    [ ! -e "$stages/999999999.0" ] || fail "the stage of a process that is gone"
    [ -e "$stages/$$.0" ] || fail "the stage of a living process is gone"
    [ -s "$stages/kept.1.0" ] || fail "what was kept is gone"
    "$1" --check 4 >"$work/log" 2>&1 || fail "files in the prefix directory"
    says "92 files as they should be"
    "$scr" index --list >"$work/log" 2>&1 || fail "scr index"
    for n in 0 3 6 9 12 13 14 15 18 19 20 21; do says "ckpt.$n"; done
    ok "$(basename "$1"): 23 ways to write a file$2"
}

for program in "$@"; do calls "$program" ""; done

fresh starved
SCR_FLUSH=0 SCR_INTERPOSE_PATTERN='state.%d.*' good "$1" --starved
says "without a stage"
says "without a collective call of all processes"
says_not "becomes"
ok "files that are not staged"

export NO_LINKS_NOTE=$work/no_links
LD_PRELOAD="$no_links${LD_PRELOAD:+:$LD_PRELOAD}" calls "$1" ", without hard links"
[ -e "$NO_LINKS_NOTE" ] || fail "no link was refused"
echo "interpose.calls: $cases cases"
