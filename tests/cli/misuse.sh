#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# What the commands around a job cannot work with: each is one clear line and exit status 2, and
# nothing is started.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
mkdir bin store none p
# programs without what starts and reaches others; a launcher; and a job
for program in sh ls cat grep wc sed; do ln -s "$(command -v $program)" none/; done
printf '%s\n' '#!/bin/sh' '[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }' \
    "echo started >>$tmp/started" 'exec "$@"' >bin/mpirun
cp bin/mpirun bin/srun
printf '#!/bin/sh\necho ran >>%s/started\n' "$tmp" >p/job
echo text >p/text
chmod +x bin/* p/job
export SCR_CACHE_BASE="$tmp/store" SCR_CNTL_BASE="$tmp/store" SCR_USER_NAME=user1 SCR_RUN_SLEEP=0
with="$tmp/bin:$PATH" without=$SCR_TEST_BIN:$tmp/none
cd p || exit 99

# Rows: what the line has to say | settings | command. A row without a command is a comment.
while IFS='|' read -r text settings command; do
    text=$(echo $text) ran="$settings $command"
    [ -n "$command" ] || continue
    rm -f "$tmp/started"
    eval "env PATH=\"\$with\" $settings $command" >"$out" 2>"$err" </dev/null
    status=$?
    fails 2 "$text"
    grep -q '^scr[_ ][a-z_ ]*: error: ' "$err" || fail "not an error of ours"
    check "nothing printed" ! -s "$out"
    check "nothing run" ! -e "$tmp/started"
done <<'EOT'
outside of an allocation
outside of an allocation: run this in a job | | scr_srun -n 2 ./job
outside of an allocation: run this in a job | | scr_run srun ./job
outside of an allocation | | scr_srun -N 2 ./job
outside of an allocation: name the nodes | | scr_list_down_nodes
outside of its allocations | SCR_RESOURCE_MANAGER=SLURM | scr_env --nodes
outside of its allocations | SCR_RESOURCE_MANAGER=LSF | scr_mpirun ./job
outside of its allocations | SCR_RESOURCE_MANAGER=PBS | scr_list_down_nodes
no job steps can be killed | | scr_kill_jobstep
SCR_RESOURCE_MANAGER=MOAB | SCR_RESOURCE_MANAGER=MOAB | scr_mpirun ./job
unknown launcher
launcher qrsh is not known | SCR_NODELIST=localhost | scr_run qrsh ./job
LAUNCHER is missing | | scr_run
/no/such/mpirun: no such program | SCR_NODELIST=localhost | scr_run /no/such/mpirun ./job
aprun: no such program in PATH | SCR_NODELIST=localhost | scr_aprun ./job
jsrun: no such program in PATH | SCR_NODELIST=localhost | scr_jsrun ./job
no such program
PROGRAM is missing | SCR_NODELIST=localhost | scr_mpirun
no program given to mpirun | SCR_NODELIST=localhost | scr_mpirun -n 4
program ./no-job: no such executable file | SCR_NODELIST=localhost | scr_mpirun -n 4 ./no-job
program ./text: | SCR_NODELIST=localhost | scr_mpirun ./text
program no-job-in-path: | SCR_NODELIST=localhost | scr_mpirun no-job-in-path
program ./no-job: no such executable file | SCR_NODELIST=localhost | scr_srun ./no-job
neither srun nor pdsh nor ssh
neither pdsh nor ssh is in PATH | PATH="$without" | scr_list_down_nodes n1,n2
pdsh: no such program in PATH | PATH="$without" SCR_REMOTE=PDSH | scr_list_down_nodes n1,n2
ssh: no such program in PATH | PATH="$without" SCR_REMOTE=SSH | scr_list_down_nodes n1,n2
srun: no such program in PATH | PATH="$without" SCR_REMOTE=SRUN SCR_NODE_TESTS=ECHO SLURM_JOBID=7 SLURM_NODELIST=n1,n2 | scr_list_down_nodes n1,n2
neither pdsh nor ssh is in PATH | PATH="$without" | scr_scavenge --id 7 --jobset n1,n2
mpirun: no such program in PATH | PATH="$without" SCR_NODELIST=localhost | scr_mpirun ./job
SCR_REMOTE=RSH | SCR_REMOTE=RSH | scr_list_down_nodes n1,n2
malformed lists of hosts
SCR_NODELIST=n[1- | 'SCR_NODELIST=n[1-' | scr_mpirun ./job
SCR_NODELIST=n[3-1] | 'SCR_NODELIST=n[3-1]' | scr_env --nodes
SCR_EXCLUDE_NODES=n[ | SCR_VNODES=2 'SCR_EXCLUDE_NODES=n[' | scr_list_down_nodes
SCR_VNODES=n[2 | 'SCR_VNODES=n[2' | scr_mpirun ./job
n[1- | | scr_list_down_nodes 'n[1-'
option --down | SCR_VNODES=2 | scr_list_down_nodes --down 'n['
option --down | SCR_VNODES=2 | scr_should_exit --down ']n'
option --jobset: host list: "n[2-1]" | | scr_scavenge --id 7 --jobset 'n[2-1]'
option --down: host list: "n[2-1]" | SCR_VNODES=2 | scr_scavenge --id 7 --down 'n[2-1]'
option --down: host list: "n[2-1]" | SCR_VNODES=2 | scr_postrun --down 'n[2-1]'
option --jobset: host list: "n[2-1]" | SCR_VNODES=2 | scr_postrun --jobset 'n[2-1]'
n[1-2 | | scr_hostlist --expand 'n[1-2'
failed nodes: | | scr_copy --cntldir . --id 7 'n[1'
a prefix directory that is not there
/no/such | SCR_VNODES=2 SCR_PREFIX=/no/such | scr_mpirun ./job
/no/such | SCR_VNODES=2 | scr_prerun --prefix /no/such
/no/such | SCR_VNODES=2 | scr_postrun --prefix /no/such
/no/such | SCR_VNODES=2 | scr_scavenge --id 7 --prefix /no/such
/no/such | | scr_copy --cntldir . --id 7 --prefix /no/such
/no/such | | scr_should_exit --prefix /no/such
/no/such | SCR_WATCHDOG_TIMEOUT=1 | scr_watchdog --prefix /no/such
/no/such | | scr_halt /no/such
/no/such | SCR_LOG_ENABLE=1 | scr_log_event -T HALT -p /no/such
/no/such | | scr_flush_file --latest --dir /no/such
/no/such | | scr_nodes_file --dir /no/such
options that exclude each other, or lack something
exclude each other | | scr_should_exit --prefix . --dir .
exclude each other | | scr_watchdog --prefix . --dir .
exclude each other | | scr_transfer --run --stop
both a list of hosts and a host file | SCR_NODELIST=localhost | scr_mpirun -H n1 --hostfile x ./job
an option is missing, for example --nodes | | scr_env
what happened? | | scr_log_event
option --timeout | SCR_VNODES=2 | scr_list_down_nodes --timeout 0
option --runs | SCR_VNODES=2 | scr_should_exit --runs few
option --id | | scr_scavenge
option --id | | scr_copy
SCR_WATCHDOG_TIMEOUT | | scr_watchdog
is neither control nor cache | | scr_cntl_dir lost
is not DIR:SIZE | | scr_check_node --cache .:x
no test is called "astrology" | SCR_VNODES=2 SCR_NODE_TESTS=astrology | scr_list_down_nodes
SCR_RUNS=few | SCR_VNODES=2 SCR_RUNS=few | scr_mpirun ./job
SCR_MIN_NODES=-1 | SCR_VNODES=2 SCR_MIN_NODES=-1 | scr_mpirun ./job
EOT

# A prefix directory that nodes do not see: they are left out, with the reason.
mkdir "$tmp/ssh"
cat >"$tmp/ssh/ssh" <<'EOT'
#!/bin/sh
# on n2 the prefix directory is another one
while [ "${1#-}" != "$1" ]; do [ "$1" != -l ] || shift; shift; done
node=$1
shift
[ "$node" != n2 ] || set -- "$(echo "$*" | sed "s|$PWD|/no/such|g")"
exec sh -c "$*"
EOT
chmod +x "$tmp/ssh/ssh"
export PATH="$tmp/ssh:$with" SCR_REMOTE=SSH SCR_NODE_TESTS=CHECK
run scr_list_down_nodes --reason --prefix "$PWD" n1,n2
has 1 "n2: prefix: open directory /no/such: no such file or directory"
SCR_PREFIX="$PWD" SCR_NODELIST=n2 run scr_mpirun ./job
has_status 2
warns 2 "node n2 is left out: prefix: open directory /no/such: no such file or directory"
warns 2 "no run: 0 of 1 nodes are left, 1 are needed"
check "nothing run" ! -e "$tmp/started"
