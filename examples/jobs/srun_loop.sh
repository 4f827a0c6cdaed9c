#!/bin/bash
#SBATCH --no-kill
# SPDX-License-Identifier: BSD-3-Clause
# A batch script that takes the steps of scr_srun itself: srun with the arguments it is given, RUNS times
# (5) at most, each time without the nodes that were lost; then what is only in cache is saved.
#
#     sbatch --nodes=6 --time=12:00:00 srun_loop.sh -N4 -n8 ./my_job

export SCR_PREFIX=${SCR_PREFIX:-$PWD}
left=${RUNS:-5} status=1 down=''

# A node that was down stays down, also if the others cannot be asked.
find_down() {
    found=$(scr_list_down_nodes -j srun --log --down "$down")
    [ $? -gt 1 ] || down=$found
}

scr_prerun || exit
while find_down; ! scr_should_exit --down "$down" --runs "$left"; do
    srun ${down:+--exclude="$down"} --kill-on-bad-exit=1 "$@"
    status=$? left=$((left - 1))
    if [ "$status" -eq 0 ] || scr_should_exit --runs "$left"; then break; fi
    sleep "${SCR_RUN_SLEEP:-60}" # nodes clean up
done
scr_postrun -j srun
exit "$status"
