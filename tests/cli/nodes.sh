#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# What is known of a job and its nodes: scr_env, scr_cntl_dir, scr_check_node, scr_list_down_nodes,
# scr_should_exit, scr_test_runtime, scr_prerun, scr_kill_jobstep.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
fixtures=$SCR_TEST_SOURCE/tests/fixtures/rm
mkdir store
export SCR_CACHE_BASE="$tmp/store" SCR_CNTL_BASE="$tmp/store" SCR_USER_NAME=user1

common scr_env --user
common scr_cntl_dir
common scr_check_node
export SCR_NODELIST=localhost
common scr_list_down_nodes --json
common scr_test_runtime
unset SCR_NODELIST

# --- scr_env ---
SCR_NODELIST='atlas[1-4]' run scr_env --nodes --manager
is 0 "atlas[1-4]
NONE"
run scr_env --user --jobid --nodes --down --runnodes --endtime --manager
is 0 "user1
defjobid


0
0
NONE"
(cd / && run scr_env --prefix "$tmp" --runnodes && is 0 0)
SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$fixtures/slurm/bin:$PATH" run scr_env -j -n -d -e -m
is 0 "1234
n[1-5]
n[3,5]
1795316207
SLURM"
run scr_env
fails 2 "an option is missing, for example --nodes"
SCR_NODELIST='n[3-1]' run scr_env --nodes
fails 2 'SCR_NODELIST=n[3-1] (environment)'
SCR_RESOURCE_MANAGER=SLURM run scr_env --nodes
fails 2 "outside of its allocations"
SCR_RESOURCE_MANAGER=MOAB run scr_env --nodes
fails 2 "SCR_RESOURCE_MANAGER=MOAB (environment)"

# --- scr_cntl_dir ---
SCR_CNTL_BASE=/dev/shm run scr_cntl_dir --user user1 --jobid 1234
is 0 "/dev/shm/user1/scr.1234/prefix.*"
SCR_JOB_ID=7 run scr_list_dir control
is 0 "$tmp/store/user1/scr.7/prefix.*"
run scr_cntl_dir --base cache
is 0 "$tmp/store"
mkdir store/shared
printf '%s\n' SCR_COPY_TYPE=FILE "STORE=$tmp/store/shared GROUP=WORLD" "CKPT=0 STORE=$tmp/store/shared TYPE=SINGLE" \
    "CKPT=1 INTERVAL=2" >shared.conf
SCR_CONF_FILE=shared.conf run scr_cntl_dir --base cache
is 0 "$tmp/store/shared
$tmp/store"
SCR_CONF_FILE=shared.conf run scr_cntl_dir --base --local cache
is 0 "$tmp/store"
echo "STORE=$tmp/spare" >>shared.conf
SCR_CONF_FILE=shared.conf run scr_cntl_dir --base cache
is 0 "$tmp/store/shared
$tmp/store"
SCR_CONF_FILE=shared.conf run scr_cntl_dir --base --local cache
is 0 "$tmp/spare
$tmp/store"
SCR_VNODES=n2 run scr_cntl_dir cache
is 0 "$tmp/store/vnode.n2/user1/scr.defjobid/prefix.*"
SCR_VNODES='n[1-2]' run scr_cntl_dir
is 0 "$tmp/store/vnode.*/user1/scr.defjobid/prefix.*"
mkdir ran store/seven
cli_cache "$tmp/store/seven" user1 7 1 SINGLE 1 1 "$tmp/ran"
SCR_CNTL_BASE=$tmp/store/seven SCR_JOB_ID=7 SCR_VNODES=n0 run scr_cntl_dir --prefix ran
is 0 "$(echo "$tmp/store/seven/vnode.n0/user1/scr.7"/prefix.????????????????)"
rm -r ran store/seven
run scr_cntl_dir lost
fails 2 '"lost" is neither control nor cache'

# --- scr_check_node ---
run scr_check_node
is 0 "PASS"
check "the probe is gone" -z "$(find store -type f)"
run scr_check_node --prefix "$tmp/none"
has 1 "$tmp/none: no such file or directory"
touch plain
SCR_CACHE_BASE=$tmp/plain/gone run scr_check_node
has 1 "FAIL: "
rm plain
echo "CACHEDIR=$tmp/store BYTES=8000P
CNTLDIR=$tmp/store BYTES=8000P" >.scrconf
run scr_check_node
has 1 "in all, expected 7.81 EiB"
rm .scrconf
run scr_check_node --cache "$tmp/store:1k" --cntl "$tmp/store"
is 0 "PASS"
run scr_check_node --free --cache "$tmp/store:8000P"
has 1 "free, expected 7.81 EiB"
run scr_check_node --cache "$tmp/store:x"
fails 2 "is not DIR:SIZE"
if [ "$(id -u)" -eq 0 ] && [ -d /dev/shm ] && mount -t tmpfs -o size=64k tmpfs store 2>/dev/null; then
    run scr_check_node
    has 1 "no space left on device"
    umount store
fi

# --- scr_list_down_nodes ---
export SCR_VNODES='n[1-4]'
run scr_list_down_nodes
is 0 ""
SCR_EXCLUDE_NODES=n3 run scr_list_down_nodes --reason
is 1 "n3: listed in SCR_EXCLUDE_NODES"
SCR_EXCLUDE_NODES=n3 run scr_list_down_nodes -j srun
is 0 "n3"
SCR_EXCLUDE_NODES="n[2-3]" run scr_list_down_nodes -j srun n1 n3 "n[2,4]"
is 0 "n[2-3]"
SCR_EXCLUDE_NODES=n3 run scr_list_down_nodes -j srun ""
is 0 "n3"
SCR_EXCLUDE_NODES=n3,n9 run scr_list_down_nodes --down n[1-2],n7
is 1 "n[1-3]"
SCR_EXCLUDE_NODES=n3 run scr_list_down_nodes n1,n4
is 0 ""
rm -rf store/vnode.n2
ln -s /tmp store/vnode.n2
run scr_list_down_nodes -r
has 1 "n2: "
rm store/vnode.n2
SCR_EXCLUDE_NODES=n3 run scr_list_down_nodes --json
is 1 '{
  "n3": "listed in SCR_EXCLUDE_NODES"
}'
# as scripts of SCR 3.x ask: with -j, any launcher, the status is 0; -f compares with what is free, -s is how long
# the run took
mkdir .scr
echo "CACHEDIR=$tmp/store BYTES=8000P
CNTLDIR=$tmp/store BYTES=8000P" >.scrconf
run scr_list_down_nodes -r n1
has 1 "in all, expected 7.81 EiB"
SCR_LOG_ENABLE=1 run scr_list_down_nodes -j srun -f -s 60 -l -r n1
has 0 "free, expected 7.81 EiB"
check "the event has the seconds" \
    "$(grep -c '"event":"NODE_FAIL","secs":60.0,"note":"n1: .* free, expected' .scr/log)" -eq 1
rm -r .scrconf .scr
run scr_list_down_nodes -j astrology n1
fails 2 "launcher astrology is not known"
run scr_list_down_nodes -s soon n1
fails 2 "option --secs"
run scr_list_down_nodes --timeout soon
fails 2 'option --timeout: "soon" is no time'
run scr_list_down_nodes --down 'n['
fails 2 "option --down"
run scr_list_down_nodes 'n[1-'
fails 2 "n[1-"
SCR_NODE_TESTS=astrology run scr_list_down_nodes
fails 2 'no test is called "astrology"'
unset SCR_VNODES
run scr_list_down_nodes
fails 2 "outside of an allocation: name the nodes, or set SCR_NODELIST"
SCR_REMOTE=PDSH PATH=$SCR_TEST_BIN:/nowhere "$SCR_TEST_BIN/scr" list_down_nodes n1 >"$out" 2>"$err"
status=$? ran="without pdsh"
fails 2 "pdsh: no such program in PATH"
PATH=$SCR_TEST_BIN:/nowhere "$SCR_TEST_BIN/scr" list_down_nodes n1,n2 >"$out" 2>"$err"
status=$? ran="without anything"
fails 2 "neither pdsh nor ssh is in PATH"

# with real nodes behind fake ssh and ping: all at once, in less than the limit and two seconds
# takes_ms LIMIT NODES DOWN: lists those that are down, with reasons. A machine that stands still now and
# then may answer late, or for no node at all, but not each time.
takes_ms() {
    for _ in 1 2 3 4 5; do
        start=$(date +%s%N)
        PATH="$fixtures/remote/bin:$PATH" SCR_REMOTE=SSH run scr_list_down_nodes --timeout "$1" --reason "$2"
        took=$((($(date +%s%N) - start) / 1000000))
        [ $took -ge $((1000 * $1 + 2000)) ] || [ "$(wc -l <"$out")" -ne "$3" ] || return 0
    done
    check "in time" $took -lt $((1000 * $1 + 2000))
}
takes_ms 3 n1,dead2,silent3,gone4 3
has 1 "silent3: no reply to ping"
has 1 "dead2: no command can be run on it: no answer within"
has 1 "gone4: no command can be run on it: ssh: connect to host gone4"
check "only these" "$(wc -l <"$out")" -eq 3
takes_ms 3 n1,n2,dead3,n4,n5 1
is 1 "$(cat "$out")"
check "only the dead one" "$(sed 's/:.*//' "$out")" = dead3
# more that hang than are asked at a time: those behind them are found to be good
takes_ms 6 'dead[1-70],n1,n2' 70
check "only the dead ones" "$(grep -c '^dead[0-9]*: no command can be run on it: no answer' "$out")" -eq 70
check "and all" "$(wc -l <"$out")" -eq 70

# --- scr_should_exit ---
run scr_should_exit
is 1 ""
scr_halt --checkpoints 0 >/dev/null
run scr_retries_halt
is 0 "halt condition: no checkpoints left to take"
mkdir other
run scr_retries_halt --dir other
is 1 ""
scr_halt --remove
export SCR_VNODES='n[1-4]'
run scr_should_exit --down n2
is 0 "3 nodes left of 4, 4 needed (size of the allocation)"
SCR_MIN_NODES=3 run scr_should_exit --down n2
is 1 ""
run scr_should_exit --down n2 --min-nodes 3
is 1 ""
run scr_should_exit --min-nodes none
fails 2 'option --min-nodes: "none" is not a whole number'
run scr_should_exit --down n2 --min-nodes 4
is 0 "3 nodes left of 4, 4 needed (--min-nodes)"
run scr_should_exit --runs 1
is 1 ""
run scr_should_exit --runs 0
is 0 "no runs left"
SCR_HALT_SECONDS=3600 SCR_END_TIME=$(($(date +%s) + 1800)) run scr_should_exit
has 0 "halt condition: less than 3600 seconds left"
echo "garbage of some length" >.scr/halt.scr
run scr_should_exit
warns 1 "halt.scr"
SCR_HALT_SECONDS=3600 SCR_END_TIME=$(($(date +%s) + 1800)) run scr_should_exit
has 0 "halt condition: less than 3600 seconds left"
rm .scr/halt.scr
run scr_should_exit --runs -1
fails 2 "option --runs"
run scr_should_exit --prefix a --dir b
fails 2 "exclude each other"
unset SCR_VNODES

# --- scr_test_runtime, scr_prerun, scr_kill_jobstep ---
SCR_VNODES='n[1-3]' run scr_test_runtime
has 0 "resource manager: NONE
nodes: 3
commands on nodes: LOCAL
ping: "
run scr_prerun --prefix .
is 0 ""
check "made" -d .scr
run scr_prerun --prefix /no/such
fails 2 "/no/such"
run scr_kill_jobstep
fails 2 "no job steps can be killed"
SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$fixtures/slurm/bin:$PATH" run scr_kill_jobstep
is 0 "1234.10"
SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$fixtures/slurm/bin:$PATH" \
    run scr_kill_jobstep --jobStepId 4
is 0 "1234.4"

# --- scr_watchdog without scr_srun: of several steps the newest may be anybody's ---
SCR_WATCHDOG_TIMEOUT=1 SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$fixtures/slurm/bin:$PATH" \
    run scr_watchdog --prefix .
fails 2 "the program hangs, but 2 job steps run: name the one to kill with --step"
SCR_WATCHDOG_TIMEOUT=1 SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$fixtures/slurm/bin:$PATH" \
    run scr_watchdog --prefix . --step 4
is 0 "no new dataset for 1 second: job step 1234.4 is killed"
