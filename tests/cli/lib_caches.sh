#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # used by the scripts that source it, after lib.sh
# Datasets in the caches of virtual nodes.
p=$tmp/p
export SCR_CNTL_BASE="$tmp/base" SCR_CACHE_BASE="$tmp/base" SCR_USER_NAME=user SCR_JOB_ID=job
export SCR_PREFIX="$p"

clean() {
    rm -rf base p sums
    mkdir base p
}

# at NODE: its control and cache directory
at() { echo "$tmp/base/vnode.n$1/user/scr.job"/prefix.*; }

# job ID SCHEME RANKS SET_SIZE [output]: a dataset in the caches of nodes n0, n1, …
job() {
    id=$1 scheme=$2 ranks=$3 set_size=$4
    shift 4
    cli_cache "$tmp/base" user job "$id" "$scheme" "$ranks" "$set_size" "$p" "$@" || exit 99
    export SCR_VNODES="n[0-$((ranks - 1))]"
    for r in $(seq 0 $((ranks - 1))); do
        cksum <"$(at "$r")/scr.dataset.$id/rank.$r/rank_$r.dat"
    done >"sums.$id"
}
