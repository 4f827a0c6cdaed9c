#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# No command starts anything through a shell (S9): every program that is executed on its behalf is traced.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
strace -f -o "$tmp/.calls" true 2>/dev/null || {
    echo "skipped: strace is not installed, or may not trace here"
    exit 77
}
fixtures=$SCR_TEST_SOURCE/tests/fixtures/rm
mkdir bin store p
# Stand-ins, none of which executes a shell: the login of ssh is the shell that runs it.
cat >bin/mpirun <<'EOT'
#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }
while [ "${1#-}" != "$1" ]; do case $1 in --*=*) shift ;; *) shift 2 ;; esac; done
exec "$@"
EOT
cp bin/mpirun bin/srun
cat >bin/ssh <<'EOT'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" != -l ] || shift; shift; done
shift
eval "$*"
EOT
printf '#!/bin/sh\n[ -e again ] || { touch again; exit 1; }\n' >p/job
chmod +x bin/* p/job
cd p || exit 99
export SCR_CACHE_BASE="$tmp/store" SCR_CNTL_BASE="$tmp/store" SCR_USER_NAME=user1 SCR_JOB_ID=job1
export SCR_VNODES='n[0-3]' SCR_RUN_SLEEP=0 SCR_RUNS=2 SCR_LOG_ENABLE=1 PATH="$tmp/bin:$PATH"

# traced STATUS COMMAND…: all it executes is added to .calls
traced() {
    wanted=$1
    shift
    run strace -f -qq -e trace=execve -s 200 -o "$tmp/.these" "$@"
    has_status "$wanted"
    cat "$tmp/.these" >>"$tmp/.calls"
    grep -E 'execve\("[^"]*/(ba|da|k|z|c|tc)?sh", ' "$tmp/.these" >"$tmp/.shells" &&
        fail "executes a shell: $(cat "$tmp/.shells")"
    echo "${1##*/}" >>"$tmp/.traced"
}
# executed TEXT: by the last one
executed() {
    grep -q "execve(.*$1" "$tmp/.these" || fail "should have executed $1"
}

# the test finds a shell
if (traced 0 find . -maxdepth 0 -exec sh -c : \;) >/dev/null; then
    fail "the shell of find is overlooked"
fi
: >"$tmp/.traced"

# --- around a job ---
cli_cache "$tmp/store" user1 job1 7 XOR 4 4 "$PWD"
traced 0 scr_prerun
traced 0 scr_test_runtime
traced 0 scr_env --user --jobid --nodes --down --runnodes --endtime --manager
traced 0 scr_cntl_dir cache
traced 0 scr_check_node --cache "$tmp/store"
traced 0 scr_list_down_nodes
executed '"check_node"'
traced 0 env -u SCR_VNODES SCR_REMOTE=SSH SCR_NODE_TESTS=CHECK scr_list_down_nodes --log n1,n2
executed '/bin/ssh"'
echo scr_list_down_nodes >>"$tmp/.traced"
traced 1 scr_should_exit
traced 0 scr_halt --checkpoints 5 --before '8:30am tomorrow'
executed '/date"'
traced 0 scr_halt --remove
traced 0 scr_log_event --type HALT
traced 0 scr_log_transfer --type FLUSH
traced 0 scr_ckpt_interval
traced 0 scr_plan -N 4 -n 8 -b 1g
traced 0 scr_report
echo "SwitchName=leaf Nodes=n[1-4]" >topology.conf
traced 0 scr_groups --file topology.conf
for loop in scr_mpirun scr_srun; do
    rm -f again
    [ "$loop" = scr_mpirun ] || export SCR_RESOURCE_MANAGER=NONE
    traced 0 $loop -n 4 ./job
    executed '"postrun"'
    executed '"./job"'
done
unset SCR_RESOURCE_MANAGER
rm -f again
traced 0 scr_run mpirun -n 4 ./job
traced 0 env SCR_ENABLE=0 scr_mpirun -n 4 ./job
export SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]'
slurm="env -u SCR_VNODES -u SCR_JOB_ID PATH=$fixtures/slurm/bin:$PATH"
# shellcheck disable=SC2086 # words
{
    traced 0 $slurm SCR_WATCHDOG_TIMEOUT=1 scr_watchdog --step 4
    executed '/scancel"'
    traced 0 $slurm scr_kill_jobstep
    traced 0 $slurm scr_env --nodes --down --endtime
    executed '/sinfo"'
}
echo scr_watchdog >>"$tmp/.traced"
echo scr_kill_jobstep >>"$tmp/.traced"
unset SLURM_JOBID SLURM_NODELIST

# --- datasets ---
cli_cache "$tmp/store" user1 job1 8 XOR 4 4 "$PWD"
traced 0 scr_flush_file --latest
traced 0 scr_scavenge --id 8 --down n2
executed '"copy"'

traced 0 scr_index --build 8
traced 0 scr_postrun
cli_cache "$tmp/store" user1 job1 9 XOR 4 4 "$PWD"
traced 0 scr_clean --all-nodes --jobid job1 --ended --force --dry-run
executed '"clean"'
traced 0 env SCR_VNODES=n0 scr_copy --id 9
echo scr_copy >>"$tmp/.traced"
cli_scavenge "$PWD" 12 XOR 3 3
traced 0 scr_rebuild_xor .scr/scr.dataset.12/1_of_3_in_0.xor .scr/scr.dataset.12/2_of_3_in_0.xor
traced 0 scr_verify
traced 0 scr_status
traced 0 scr_why
traced 0 scr_inspect
traced 0 scr_have_restart
traced 0 scr_print_hash_file .scr/index.scr
traced 0 scr_crc32 job
traced 0 scr_param --list
traced 0 scr_hostlist --expand 'n[1-3]'
traced 1 scr_nodes_file
mkdir -m 700 ctl
head -c 100000 /dev/zero >source
cli_transfer list ctl/transfer.scrinfo "$PWD/source" "$PWD/copy" 100000
traced 0 scr_transfer --run ctl
traced 0 scr_transfer --once ctl
cmp -s source copy || fail "not copied"
traced 0 scr_transfer --background --idle 1 ctl
executed '"--detached"'
traced 1 scr_transfer --exit ctl # strace has waited until it had ended
traced 2 scr_drill --timeout 5 -- ./job

# every command has been traced
sed -n 's/^X([a-z0-9_]*, *"\([^" ]*\).*/\1/p' "$SCR_TEST_SOURCE/src/defs/commands.def" >"$tmp/.commands"
check "commands" -s "$tmp/.commands"
while read -r command; do
    grep -qx "$command" "$tmp/.traced" || fail "$command is not traced by this test"
done <"$tmp/.commands"
