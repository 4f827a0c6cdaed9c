#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --nodes=4 --exclusive --no-kill --time=00:30:00
# What to run after an update of the system, of MPI, Slurm or a file system, and before users do:
#
#     sbatch /usr/share/scr/slurm/canary.sh DIR [SOLVER]
#
# Below DIR, on the parallel file system, a solver runs on three of the nodes. All its processes are killed once, and it
# has to continue from its newest checkpoint in cache; at the end every checksum is compared. The solver is that of
# scr drill. The last line is "canary: passed", and nothing is left in DIR, or "canary: FAILED" and where to look.
set -u
work=$(mktemp -d "${1:-.}/scr-canary.XXXXXX") && cd "$work" || exit 1
solver=${2:-$(dirname "$(command -v scr)")/../libexec/scr/heat2d}
export SCR_PREFIX=$PWD SCR_PHASE_FILE=$PWD/phases SCR_RUNS=2 SCR_MIN_NODES=3 SCR_FLUSH=3 SCR_RUN_SLEEP=5

fail() {
    echo "canary: FAILED: $*; see $SCR_PREFIX"
    exit 1
}

kill_once() {
    until [ "$(grep -c compute phases 2>/dev/null)" -ge 3 ]; do sleep 0.2; done
    srun --overlap -N4 -n4 sh -c "pkill -9 -x $(basename "$solver") || :"
}

scr_test_runtime || fail "a program is missing that scr_srun needs"
srun -N4 -n4 scr_check_node || fail "directories of a node"
kill_once &
scr_srun -N3 -n6 "$solver" --steps 400 --every 20 --sleep-ms 50 --output field || fail "the solver"
wait
grep -q restart phases || fail "no restart from cache"
scr_index && scr_verify || fail "what was flushed"
cd / && rm -rf "$SCR_PREFIX" && echo "canary: passed"
