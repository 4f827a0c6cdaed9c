#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# The commands under valgrind: no invalid access, nothing lost, no descriptor left open.
. "${0%/*}/lib.sh"
if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi

# clean STATUS COMMAND…: the command's own status, and not a word from valgrind
clean() {
    want=$1
    shift
    program=$(command -v "$1")
    shift
    run valgrind --quiet --error-exitcode=77 --leak-check=full --show-leak-kinds=all \
        --track-fds=yes --log-file="$tmp/.valgrind" "$program" "$@"
    cat "$tmp/.valgrind" >>"$err"
    has_status "$want"
    ! grep -E "definitely|indirectly|possibly|still reachable|Invalid|uninitialised" \
        "$tmp/.valgrind" || fail "valgrind complains"
}

cli_scavenge "$tmp" 7 XOR 4 8
clean 0 scr_index --build 7
clean 0 scr_index
clean 0 scr_index --json
clean 2 scr_index --current nobody
clean 0 scr_print_hash_file .scr/index.scr
clean 0 scr_halt --checkpoints 3 --after "8:30am tomorrow"
clean 0 scr_halt --list
clean 0 scr_halt --remove
clean 0 scr_crc32 .scr/index.scr
clean 0 scr_hostlist --expand "atlas[3,5-7,009-011]"
clean 2 scr_hostlist --expand "atlas[3"
clean 0 scr_param --changed
clean 0 scr_param --list
clean 0 scr_param --explain SCR_FLUSH
printf 'SCR_FLUSH=abc\nnonsense\n' >bad.conf
clean 1 scr_param --check bad.conf
head -c 100 .scr/index.scr >torn.scr
clean 2 scr_print_hash_file torn.scr
cp "$SCR_TEST_SOURCE/tests/golden/flush/good-two.scr" .scr/flush.scr
clean 0 scr_flush_file --latest
clean 0 scr_flush_file --list-ckpt
clean 2 scr_flush_file
cp "$SCR_TEST_SOURCE/tests/golden/nodes/good-4.scr" .scr/nodes.scr
clean 0 scr_nodes_file
mkdir node adopted
export SCR_CNTL_BASE="$tmp/node" SCR_CACHE_BASE="$tmp/node" SCR_USER_NAME=tester SCR_JOB_ID=7
cli_cache "$tmp/node" tester 7 9 XOR 4 4
clean 0 scr_why --crc
clean 0 scr_why --json
clean 0 scr_have_restart
clean 0 scr_inspect
clean 0 scr_verify
clean 0 scr_verify --cache
clean 0 scr_clean --jobid 7 --ended --force --dry-run
clean 1 scr_clean --jobid 7 --ended
printf X >ckpt.7/rank_1.dat
printf X >"$(echo node/vnode.n2/tester/scr.7/prefix.*)"/scr.dataset.9/rank.2/rank_2.dat
clean 0 scr_why
clean 0 scr_verify --repair
clean 0 scr_verify --cache --repair
clean 2 scr_verify nobody
for r in 0 1 2; do echo $r >adopted/f.$r; done
clean 0 scr_index --add-directory adopted 'f.%r'
clean 2 scr_index --add-directory adopted 'g.%r'
