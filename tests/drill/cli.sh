#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cli.sh SCR HEAT2D QUICKSTART: options of scr drill, right and wrong ones, and what it leaves.
# shellcheck source=tests/drill/lib.sh
. "$(dirname "$0")/lib.sh"
heat2d=$2 quickstart=$3

expect "help" 0 "during.*rebuild" --help
refused "schema" --schema XOR
refused "RAID6.*SINGLE, PARTNER, XOR or RS" --scheme RAID6
refused "sleep.*compute" --during sleep
refused "n9.*n1 to n4" --kill n9
refused "fewer than one" --ranks 3
refused "second node" --nodes 1
refused "many" --nodes many
refused "rebuilds nothing" --scheme SINGLE --during rebuild
refused "below the directory" --result ../x
expect "no such launcher" 2 "no-such-mpirun" --dir "$work" --mpirun /no-such-mpirun
refused "no/such" --dir "$work/no/such"
expect "program fails" 2 "undisturbed run failed" --dir "$work" -- /bin/false
refused "program ./no-such-program: no such executable file" -- ./no-such-program
refused "program /etc/passwd: no such executable file" -- /etc/passwd
expect "no such program in PATH" 2 "undisturbed run failed" --dir "$work" -- no-such-program
expect "no result" 2 "wrote no field.bin" --dir "$work" -- "$quickstart"
nothing_left "wrong use"

# In a job mpirun is not to see it; a launcher of the manager has to.
export SLURM_JOBID=7 SLURM_NODELIST="n[1-4]"
refused "--mpirun srun: starts processes on the nodes of job 7, n.1-4.; .* this node" --mpirun srun
SLURM_NODELIST=n1 refused "the nodes of job 7, n1; .* a job of one node" --mpirun /usr/bin/srun
# shellcheck disable=SC2016 # the started shell expands it
expect "in a job" 0 "verdict: PASSED" --dir "$work" --nodes 2 --ranks 2 -- \
    /bin/sh -c 'test -z "$SLURM_JOBID$SLURM_NODELIST" && exec "$@"' sh \
    "$heat2d" --steps 90 --every 20 --size 40 --output field.bin
said "in a job" "^drill: job 7 of SLURM: all processes run on this node, $(hostname), and no real node is lost"
unset SLURM_JOBID SLURM_NODELIST

# A program of one's own, by a relative path, with a result of another name.
cd "$(dirname "$heat2d")" || exit 1
expect "own program" 0 "verdict: PASSED" --dir "$work" --nodes 3 --ranks 3 --kill n3 \
    --during checkpoint --result out.bin -- "./$(basename "$heat2d")" \
    --steps 90 --every 20 --size 40 --sleep-ms 2 --output out.bin
expect "report" 0 "drill: report on these runs: $work/drill.html" --dir "$work" --nodes 2 --ranks 2 \
    --report "$work/drill.html" -- "$heat2d" --steps 90 --every 20 --size 40 --output field.bin
grep -q '"end":"failed"' "$work/drill.html" || wrong "the report has no run that failed"
expect "JSON" 0 '"restart": [1-9]' --json --dir "$work" --nodes 2 --ranks 2 -- \
    "$heat2d" --steps 90 --every 20 --size 40 --output field.bin
json "JSON" 'v["passed"] and v["lost"] == "n2" and v["fault"] is None'
expect "never gets there" 2 "before phase compute was entered 50 times" --dir "$work" \
    --nodes 2 --ranks 2 --at 50 --result out.bin -- "$heat2d" --steps 30 --every 10 \
    --output out.bin

# Verdicts that are not good.
SCR_FETCH=0 expect "from scratch" 1 "verdict: FAILED: .* from scratch" --dir "$work" --nodes 2 \
    --ranks 2 --scheme SINGLE
expect "another result" 1 "verdict: FAILED: the result differs" --dir "$work" --nodes 2 \
    --ranks 2 --result r -- /bin/sh -c "$heat2d --steps 80 --every 20 && date +%N >r"
expect "no SCR in it" 2 "the program wrote no checkpoint: .* SCR_CHECKPOINT_SECONDS=2" --dir "$work" --nodes 2 --ranks 2 --result r \
    -- /bin/sh -c "echo 1 >r"

interrupt "interrupted" compute "scr-drill.*/phases.reference" --nodes 2 --ranks 2 \
    --result r -- "$heat2d" --steps 50000 --sleep-ms 10 --output r

# Nobody reads on after the first line, which a pipe that is closed says.
tests=$((tests + 1))
"$scr" drill --dir "$work" --nodes 2 --ranks 2 --result r -- "$heat2d" --steps 90 --every 20 --size 40 --output r \
    > >(head -n 1 >"$work/out") 2>"$work/err" &
pids+=" $!"
wait $!
got=$?
[ $got = 141 ] || wrong "closed pipe: status $got, expected 141"
nothing_left "closed pipe"

expect "keep" 0 "kept $work/scr-drill" --dir "$work" --nodes 2 --ranks 2 --keep
[ -n "$(left)" ] || wrong "--keep kept nothing"
rm -rf "$work"/scr-drill.*

finish drill.cli
