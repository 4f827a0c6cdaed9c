#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # ran is used in it; out, err and tmp are set by lib.sh
# scr_scavenge alone, and with wrong settings.
. "${0%/*}/lib.sh"
. "${0%/*}/lib_caches.sh"

# --- caches that are not where the settings look for them ---
clean
job 7 XOR 3 3
ran="other bases" && SCR_CNTL_BASE=$tmp/p SCR_CACHE_BASE=$tmp/p scr_scavenge --id 7 >"$out" 2>"$err"
status=$?
fails 2 "no cache of job job below $tmp/p on 3 nodes; are SCR_CNTL_BASE and SCR_CACHE_BASE those of the run?"
ran="other bases" && SCR_CNTL_BASE=$tmp/p SCR_CACHE_BASE=$tmp/p scr_postrun >"$out" 2>"$err"
status=$?
warns 1 "dataset 7 (ckpt.7) is not saved: no cache of job job below $tmp/p on 3 nodes; are "
check "nothing is said to be copied" "$(cat "$out")" = "checkpoint 7 (ckpt.7) is in cache only: saving it"
run scr_scavenge --id 8
fails 2 "dataset 8: no node has files of it, and $p has none; "
has 2 "dataset 8: copied from no node"
check "no advice to build it" "$(grep -c 'scr_index --build' "$out")" = 0

# --- scr_scavenge alone ---
clean
job 7 PARTNER 3 3
rm -rf base/vnode.n1
run scr_scavenge --id 7
has 0 "dataset 7: something is lost, copying what 2 nodes keep for others"
has 0 "make it whole with scr_index --build 7"
run scr_index --build 7
has 0 "1 rank rebuilt"
run scr_scavenge --id 7
is 0 "dataset 7: is complete in $p"
run scr_scavenge
fails 2 "which dataset? option --id is missing"
run scr_scavenge --id 7 --up n1 --down n2
fails 2 "exclude each other"
run scr_flush --id 7 --to "$p"
is 0 "dataset 7: is complete in $p"
