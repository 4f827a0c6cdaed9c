#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# scr_run and its relatives: the decisions of the loop, with an mpirun that runs the program once.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done

mkdir bin store
cat >bin/mpirun <<'EOF'
#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }
while [ "${1#-}" != "$1" ]; do shift 2; done
exec "$@"
EOF
# job EXIT-STATUS…: ends with the next of them at each start; what has been run is in "runs"
cat >job <<'EOF'
#!/bin/sh
echo "$SCR_VNODES" >>runs
echo $$ >job.pid
n=$(wc -l <runs)
echo "job: run $n in $SCR_PREFIX"
eval "status=\${$n}"
# shellcheck disable=SC2154
[ ! -e "at.$n" ] || . "./at.$n"
exit "$status"
EOF
chmod +x bin/mpirun job
export PATH="$tmp/bin:$PATH" SCR_CACHE_BASE="$tmp/store" SCR_CNTL_BASE="$tmp/store" SCR_USER_NAME=user1
export SCR_VNODES='n[1-4]' SCR_MIN_NODES=3 SCR_RUN_SLEEP=0

again() {
    rm -rf runs job.pid at.* .scr .scrconf
}

# says TEXT…: lines of the log, in this order
says() {
    grep '^scr_' "$err" | sed 's/ after [0-9.]* s:/:/' >.log
    for text in "$@"; do
        grep -qF -- "$text" .log || fail "expected in the log: $text"
        sed -i "0,/$(printf '%s' "$text" | sed 's/[][\/.*^$]/\\&/g')/d" .log
    done
}

run scr_run --help
has 0 "Usage: scr_run [LAUNCHER]"
run scr_mpirun --version
is 0 "scr_mpirun (SCR) $SCR_TEST_VERSION"

# a program that ends well is run once, wherever
run scr_mpirun -n 4 ./job 0
has 0 "job: run 1 in $tmp"
says "run 1 of 1, 4 of 4 nodes can be used, 3 needed: $tmp/bin/mpirun -n 4 ./job 0" \
    "run 1 ended: exit status 0" "no other run: the program ended well"
check "three nodes of four" "$(cat runs)" = "n1,n2,n3"

# lines have the time where they do not go to a terminal, unless SCR_LOG_TIME decides
timed='^[0-9-]*T[0-9:.]*[+-][0-9][0-9]:[0-9][0-9] scr_mpirun: run 1 of 1, '
for setting in 1 AUTO; do
    again
    SCR_LOG_TIME=$setting run scr_mpirun ./job 0
    check "the time with SCR_LOG_TIME=$setting" "$(grep -c "$timed" "$err")" = 1
    check "on each line" "$(grep -c 'scr_mpirun: ' "$err")" = "$(grep -c '^20.* scr_mpirun: ' "$err")"
done

# its exit status is ours, and it is run as often as allowed
again
run scr_mpirun ./job 7
has_status 7
says "run 1 of 1" "no other run: SCR_RUNS=1 allows no more"
again
SCR_RUNS=3 run scr_run mpirun ./job 7 8 9
has_status 9
says "run 1 of 3" "run 2 of 3" "run 3 of 3" "SCR_RUNS=3"
again
SCR_RUN_SLEEP=1 SCR_RETRIES=1 run scr_mpirun ./job 7 8 9
has_status 8
grep -q 'the next run starts in 1 second$' "$err" || fail "1 second expected"
says "run 1 of 2" "run 2 of 2" "SCR_RUNS=2"
again
SCR_RETRIES=2 SCR_RUNS=1 run scr_mpirun ./job 7 8
has_status 7
says "run 1 of 1" "SCR_RUNS=1"
again
SCR_RUNS=-1 run scr_mpirun ./job 1 1 1 1 0
has_status 0
says "run 5, 4 of 4"

# a node that is lost is left out for good, and a spare takes its place
again
echo 'echo SCR_EXCLUDE_NODES=n2 >.scrconf' >at.1
echo 'rm .scrconf' >at.2
SCR_RUNS=-1 run scr_mpirun ./job 1 1 0
has_status 0
says "run 1" "node n2 is left out: listed in SCR_EXCLUDE_NODES" "run 2, 3 of 4" "run 3, 3 of 4"
check "spare used" "$(cat runs)" = "n1,n2,n3
n1,n3,n4
n1,n3,n4"

# until too few are left
again
echo 'echo SCR_EXCLUDE_NODES=n2 >.scrconf' >at.1
echo 'echo SCR_EXCLUDE_NODES=n3 >.scrconf' >at.2
SCR_RUNS=-1 run scr_mpirun ./job 1 5 0
has_status 5
says "node n3 is left out" "no run: 2 of 4 nodes are left, 3 are needed (SCR_MIN_NODES)"
again
SCR_EXCLUDE_NODES=n1,n2 run scr_mpirun ./job 0
has_status 2
check "not run" ! -e runs
again
SCR_MIN_NODES=0 SCR_EXCLUDE_NODES=n1 run scr_mpirun ./job 0
has_status 2
says "no run: 3 of 4 nodes are left, 4 are needed (size of the allocation)"

# halt conditions: before the first run, after one, while waiting
again
scr_halt --checkpoints 0 >/dev/null
run scr_mpirun ./job 0
has_status 0
says "no run: no checkpoints left to take (scr_halt --list"
check "not run" ! -e runs
again
echo 'scr_halt --after "1 minute ago" >/dev/null 2>&1' >at.1
SCR_RUNS=-1 run scr_mpirun ./job 1 0
has_status 1
says "run 1 ended" "no other run: it is past"
again
echo "(until grep -q 'the next run starts' $err; do sleep 0.1; done; scr_halt --checkpoints 0) >/dev/null 2>&1 &" >at.1
SCR_RUN_SLEEP=10 SCR_RUNS=-1 run scr_mpirun ./job 1 0
has_status 1
says "the next run starts in 10 seconds" "no other run: no checkpoints left"
again
SCR_HALT_SECONDS=100 SCR_END_TIME=$(($(date +%s) + 50)) run scr_mpirun ./job 0
has_status 0
says "no run: less than 100 seconds left before the end of the allocation, "
grep -q '(SCR_HALT_SECONDS, SCR_END_TIME)$' "$err" || fail "the settings, and no advice that does not help"
check "not run" ! -e runs
again
SCR_HALT_SECONDS=100 run scr_mpirun ./job 0
says "SCR_HALT_SECONDS has no effect: the end of the allocation is not known"

# what another job left behind stops nobody
again
mkdir .scr
SCR_JOB_ID=1 scr_halt --list >/dev/null
run scr_mpirun ./job 0
has_status 0

# signals: asked to stop, then ended
in_background() {
    scr_mpirun ./job "$@" >"$out" 2>"$err" &
    pid=$! ran="scr_mpirun ./job $*"
    until_true test -s job.pid
}
for signal in TERM USR1 INT; do
    again
    # what the library does at a checkpoint
    echo 'until scr_print .scr/halt.scr | grep -q "CheckpointsLeft = 1"; do sleep 0.1; done' >at.1
    SCR_RUNS=-1 in_background 3 0
    kill -$signal $pid
    wait $pid
    status=$?
    has_status 3
    says "the program stops after its next checkpoint" "run 1 ended: exit status 3" \
        "no other run"
    run scr_halt --list
    is 0 "no halt conditions"
done
again
echo 'exec sleep 600' >at.1
SCR_RUNS=-1 in_background 3 0
kill -TERM $pid
until_true grep -q 'after its next checkpoint' "$err"
kill -TERM $pid
wait $pid
status=$?
has_status 143
says "asked again to stop" "the run is ended"
again
echo 'exec sleep 600' >at.1
SCR_END_TIME=$(($(date +%s) + 16)) in_background 3 0
kill -TERM $pid
wait $pid
status=$?
has_status 143
says " seconds at the latest" "the run is ended"

# what a signal asked for is undone, also the checkpoints another one allowed
again
scr_halt --checkpoints 5 >/dev/null
echo 'until scr_print .scr/halt.scr | grep -q "CheckpointsLeft = 1"; do sleep 0.1; done' >at.1
in_background 3
kill -TERM $pid
wait $pid
run scr_halt --list
is 0 "CheckpointsLeft = 5"
check "no trace" -z "$(scr_print .scr/halt.scr | grep Before)"
# … by the next run if this one is killed; but not what somebody says after it
is_told_to_stop() { scr_print .scr/halt.scr | grep -q "CheckpointsLeft = 1"; }
killed_after_a_signal() {
    again
    echo 'exec sleep 600' >at.1
    SCR_RUNS=-1 in_background 3 0
    kill -TERM $pid
    until_true is_told_to_stop
    kill -KILL $pid
    wait $pid
    kill "$(cat job.pid)"
    rm -f runs at.1
}
killed_after_a_signal
run scr_mpirun ./job 0
has_status 0
check "run" -e runs
run scr_halt --list
is 0 "no halt conditions"
killed_after_a_signal
scr_halt --checkpoints 0 >/dev/null
run scr_mpirun ./job 0
says "no run: no checkpoints left to take"
check "not run" ! -e runs
scr_halt --remove

# nohup, and a parent that does not heed its children
again
echo 'kill -HUP "$PPID"; sleep 1.5' >at.1
(
    trap '' HUP
    run scr_mpirun ./job 3
    has_status 3
    check "SIGHUP ignored" -z "$(grep 'signal 1' "$err")"
) || exit 1
again
if env --ignore-signal=CHLD true 2>/dev/null; then
    run env --ignore-signal=CHLD scr_mpirun ./job 4
    has_status 4
fi

# scr_halt --immediate
again
echo 'exec sleep 600' >at.1
SCR_RUNS=-1 in_background 3 0
run scr_mpirun ./job 0
fails 2 "another scr_srun or the like runs in $tmp"
ran="scr_halt --immediate"
scr_halt --immediate >.halted
wait $pid
status=$?
has_status 143
grep -q "process $pid is asked to end the run" .halted || fail "$(cat .halted)"
says "scr_halt --immediate: the run is ended now" "no other run: exit reason is JOB_HALTED"
scr_halt --remove
# some launchers have status 0 then, which does not say that the program has ended well
again
echo 'trap "exit 0" TERM; sleep 600 & wait' >at.1
SCR_RUNS=-1 in_background 3 0
ran="scr_halt --immediate, status 0"
scr_halt --immediate >.halted
wait $pid
status=$?
has_status 0
says "the run is ended" "run 1 ended: exit status 0" "no other run: exit reason is JOB_HALTED"
scr_halt --remove
run scr_halt --immediate
has 0 "no run of scr_srun or the like is there"

# the watchdog; the second run may take its time
again
echo SCR_WATCHDOG_TIMEOUT=4 >.scrconf
echo 'echo SCR_WATCHDOG_TIMEOUT=100 >.scrconf; exec sleep 600' >at.1
SCR_WATCHDOG=1 SCR_RUNS=2 run scr_mpirun ./job 3 0
has_status 0
says "no new dataset for 4 seconds: the program hangs, the run is ended" \
    "run 1 ended: exit status 143" "run 2 ended: exit status 0"
again
echo 'exec sleep 600' >at.1
SCR_RUNS=2 in_background 3 0
SCR_WATCHDOG_TIMEOUT=1 scr_watchdog >.watched
wait $pid
status=$?
has_status 0
says "scr_watchdog: the program hangs" "run 1 ended: exit status 143" "run 2 ended: exit status 0"
grep -q "no new dataset for 1 second: process $pid is asked" .watched || fail "$(cat .watched)"
# while a dataset is copied to the prefix directory another limit applies
again
mkdir .scr
cp "$SCR_TEST_SOURCE/tests/golden/flush/good-outputs.scr" .scr/flush.scr
cli_mark "$PWD" 17 flushing || fail "no such mark"
echo 'exec sleep 600' >at.1
SCR_WATCHDOG=1 SCR_WATCHDOG_TIMEOUT=1 SCR_WATCHDOG_TIMEOUT_PFS=3 run scr_mpirun ./job 3
has_status 143
says "no new dataset for 3 seconds: the program hangs, the run is ended"
# one that hangs has failed, however it ends
again
echo 'trap "exit 0" TERM; sleep 600 & wait' >at.1
SCR_WATCHDOG=1 SCR_WATCHDOG_TIMEOUT=1 run scr_mpirun ./job 3
has_status 143
run scr_watchdog
fails 2 "SCR_WATCHDOG_TIMEOUT and SCR_WATCHDOG_TIMEOUT_PFS are not set"

# without SCR only the launcher is left
again
SCR_ENABLE=0 run scr_mpirun -n 4 ./job 6
is 6 "job: run 1 in "
again
echo 'exec sleep 600' >at.1
SCR_ENABLE=0 in_background 3
kill -TERM $pid
wait $pid
status=$?
has_status 143
SCR_ENABLE=0 run scr_run no-such-launcher ./job 0
fails 2 "no-such-launcher: no such program in PATH"

# a configuration that cannot be read any more: the old one stays
again
echo 'echo SCR_CACHE_SIZE=many >.scrconf' >at.1
echo 'rm .scrconf' >at.2
SCR_RUNS=2 run scr_mpirun ./job 1 0
has_status 0
says "run 1 ended" "the configuration of the last run is used: SCR_CACHE_SIZE=many" "run 2 of 2, 4 of 4 nodes" \
    "run 2 ended: exit status 0"
# what fails between two runs does not hide how the last one ended
again
echo 'echo "SCR_EXCLUDE_NODES=n[" >.scrconf' >at.1
SCR_RUNS=2 run scr_mpirun ./job 5 0
has_status 5
says "run 1 ended" "error: SCR_EXCLUDE_NODES=n["
check "once" "$(wc -l <runs)" -eq 1

# nodes that may not be used any more have still what they had in cache
for conf in SCR_EXCLUDE_NODES=n0,n1 "CNTLDIR=$tmp/store BYTES=8000P"; do
    again
    rm -rf store/* ckpt.7
    echo "cli_cache $tmp/store user1 job 7 XOR 4 4 $tmp; echo '$conf' >.scrconf" >at.1
    SCR_VNODES='n[0-3]' SCR_JOB_ID=job SCR_RUNS=2 run scr_mpirun ./job 1
    has 1 "dataset 7: copied from 4 nodes"
    has 1 "dataset 7 (ckpt.7): complete in"
    says "node n1 is left out: "
done
rm -rf store/* ckpt.7

# --- a command to begin with, and one to go on with, as with SCR 3.1 ---
export SCR_VNODES='n[0-3]' SCR_JOB_ID=job SCR_MIN_NODES=4
rm -rf store/* ckpt.7 ckpt.9
again
echo "cli_cache $tmp/store user1 job 7 XOR 4 4 $tmp" >at.1
echo "rm -rf store/*; cli_cache $tmp/store user1 job 9 XOR 4 4 $tmp; rm -rf store/vnode.n1" >at.2
SCR_RUNS=3 run scr_mpirun -n 4 -rc "./job 1  2" -rs "./job 0 4 0 --from=/p/SCR_CKPT_NAME SCR_CKPT_NAME"
has_status 0
says "mpirun -n 4 ./job 1 2" "run 1 ended: exit status 1" \
    "mpirun -n 4 ./job 0 4 0 --from=/p/ckpt.7 ckpt.7" "run 2 ended: exit status 4" \
    "mpirun -n 4 ./job 0 4 0 --from=/p/ckpt.9 ckpt.9" "run 3 ended: exit status 0"
# what is in the prefix directory counts in the first run; a program in place of the run command
rm -rf store/*
printf '%s\n' '#!/bin/sh' >job_ckpt.9
chmod +x job_ckpt.9
for options in "-rs=./job_SCR_CKPT_NAME -n 4 ./job 3" "--restart-cmd= ./job_SCR_CKPT_NAME ./job 3" \
    "--run-cmd=./job --restart-cmd ./job_SCR_CKPT_NAME -n 4"; do
    # shellcheck disable=SC2086 # options and their values
    run scr_run mpirun $options
    has_status 0
    says "./job_ckpt.9" "run 1 ended: exit status 0"
done
# the options of the program are its own
again
run scr_mpirun -n 4 ./job 0 -rc 3 -rs 4
has_status 0
says "mpirun -n 4 ./job 0 -rc 3 -rs 4"
# nodes that cannot say what they have are told of
again
mkdir -p .scr/index.scr
run scr_mpirun -n 4 -rc "./job 0" -rs "./job 5"
warns 2 "scr_mpirun: warning: checkpoints of 4 of 4 nodes are not known; n0: "
has 2 "job: run 1 in "
rmdir .scr/index.scr
# without SCR nothing is gone on from
SCR_ENABLE=0 run scr_mpirun -n 4 --run-cmd "./job 5 6" --restart-cmd "./job 5"
is 6 "job: run 2 in "
run scr_mpirun -rc
fails 2 "option -rc needs a command"
run scr_mpirun -rc= " " ./job
fails 2 "option -rc needs a command"
run scr_mpirun -rc ./job ./job
fails 2 "both a run command and the program ./job are given"
run scr_mpirun -rs ./job
fails 2 "no program given to mpirun"
run scr_mpirun -rc ./job -rs ./no-such-job
fails 2 "program ./no-such-job: no such executable file"
export SCR_VNODES='n[1-4]' SCR_MIN_NODES=3
unset SCR_JOB_ID
rm -rf store/*

# wrong use
again
run scr_mpirun
fails 2 "PROGRAM is missing"
run scr_run
fails 2 "LAUNCHER is missing, for example srun"
run scr_run -v
fails 2 "LAUNCHER is missing, for example srun"
run scr_run --verbose mpirun ./job 0
check "the run that is told of" "$status" = 0 -a "$(wc -l <runs)" = 1
again
run scr_run qrsh ./job 0
fails 2 "launcher qrsh is not known, only srun"
run scr_run /no/such/srun ./job 0
fails 2 "/no/such/srun: no such program"
run scr_mpirun ./no-such-job 0
fails 2 "program ./no-such-job: no such executable file"
run scr_mpirun -n 4
fails 2 "no program given to mpirun"
SCR_NODELIST=localhost run scr_mpirun -H n1 --hostfile x ./job 0
fails 2 "both a list of hosts and a host file are given to mpirun"
SCR_PREFIX=/no/such run scr_mpirun ./job 0
fails 2 "/no/such"
unset SCR_VNODES
cp bin/mpirun bin/jsrun
run scr_jsrun ./job 0
fails 2 "outside of an allocation: run this in a job"
SCR_NODELIST='n[1-' run scr_mpirun ./job 0
fails 2 "SCR_NODELIST=n[1-"
check "never run" ! -e runs
unset SCR_NODELIST
# mpirun needs no nodes: it runs here
export SCR_CACHE_BASE="$tmp/store" SCR_MIN_NODES=
run scr_mpirun ./job 0
has 0 "job: run 1 in "
says "outside of an allocation: runs on this machine, $(uname -n), alone; SCR_NODELIST names other nodes" \
    "run 1 of 1, 1 of 1 nodes can be used, 1 needed"
again
export SCR_MIN_NODES=3

# the second signal ends what saves the caches
cat >bin/ssh <<'EOF'
#!/bin/sh
echo $$ >>copying
exec sleep 600
EOF
chmod +x bin/ssh
again
echo "cli_cache $tmp/store user1 job 7 XOR 3 3 $tmp" >at.1
SCR_NODELIST='n[0-2]' SCR_NODE_TESTS=EXCLUDE SCR_REMOTE=SSH SCR_JOB_ID=job in_background 3
until_true test -s copying
kill -TERM $pid
until_true grep -q 'what is in cache is being saved' "$err"
kill -TERM $pid
wait $pid
status=$?
has_status 3
are_gone() {
    for copy in $(cat copying); do
        ! kill -0 "$copy" || return 1
    done
}
until_true are_gone
says "run 1 ended: exit status 3" "what is in cache is being saved" \
    "asked again to stop: scr_postrun is ended" "scr_postrun failed"
