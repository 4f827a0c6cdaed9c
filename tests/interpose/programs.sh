#!/usr/bin/env bash
# shellcheck disable=SC2154 # set by lib.sh
# SPDX-License-Identifier: BSD-3-Clause
# programs.sh SCR MPIRUN LIBRARY STEPPER [STEPPER77]: programs that know nothing of SCR keep their
# restart files in cache, lose a node and go on; and whatever is set wrongly leaves them as they
# are without SCR.
. "$(dirname "$0")/lib.sh"
stepper=$4 stepper77=${5:-}
here=$(cd "$(dirname "$0")" && pwd) || exit 99
export SCR_INTERPOSE_CALLS=1

# plain PROGRAM…: a run without the library.
plain() {
    timeout 300 "$mpirun" -n 4 "$@" >"$work/log" 2>&1 || fail "without SCR: $*"
}

fresh plain
plain "$stepper" --steps 20
sum=$(grep '^step 20 sum' "$work/log") || fail "no sum"

# --- a node is lost, only the cache is left ---

# goes_on NAME NODE PATTERN FILE OPTIONS…: dies after the second checkpoint, continues from it;
# FILE is one of its files.
goes_on() {
    local name=$1 node=$2 pattern=$3 file=$4
    shift 4
    fresh "$name"
    export SCR_INTERPOSE_PATTERN=$pattern SCR_FLUSH=0 SCR_FLUSH_ON_RESTART=0
    struck "$node" "compute 2" "$stepper" "$@" --hold 14
    is_gone "$file"
    good "$stepper" "$@" --restart 10
    says "restarted from checkpoint"
    says "$sum"
    says_not "interpose:"
    unset SCR_FLUSH SCR_FLUSH_ON_RESTART SCR_INTERPOSE_FILES
    ok "$name: node lost, continued from cache"
}

goes_on each n3 'state.%d.*' state.10.2 --files each --read
goes_on one n1 'state.%d' state.10 --files one
goes_on turns n2 './state.%d.?' state.10.1 --files turns --comm dup
goes_on ab n1 'state.a state.b' state.a --files ab
SCR_INTERPOSE_FILES=4
export SCR_INTERPOSE_FILES
goes_on renamed n4 'state.%d.? state.%d.?.new' state.10.3 --files tmp
SCR_INTERPOSE_FILES=4
export SCR_INTERPOSE_FILES
goes_on counted n4 'state.%d.?' state.10.3 --files late

# --- it says that it is there, and what it has kept ---

fresh said
SCR_INTERPOSE_PATTERN='state.%d.?' SCR_QUIET=0 good "$stepper" --steps 20
says "interpose: active: files that match state.%d.? become checkpoints"
says "interpose: kept "
says " checkpoints, ckpt.5 to ckpt.20"
ok "what it does is said"

# --- another directory in the same job: it starts from nothing, the first goes on from its own ---

fresh first_case
export SCR_INTERPOSE_PATTERN='state.%d.?' SCR_FLUSH=0 SCR_FLUSH_ON_RESTART=0
struck n2 "compute 2" "$stepper" --hold 14
mkdir "$work/second_case" && cd "$work/second_case" || fail "mkdir second_case"
good "$stepper"
says_not "restarted from checkpoint"
says "$sum"
cd "$work/first_case" || fail "cd first_case"
good "$stepper" --restart 10
says "restarted from checkpoint"
says "$sum"
unset SCR_FLUSH SCR_FLUSH_ON_RESTART
ok "a second case in the same job"

# --- where the files of a run are afterwards ---

# run_with NAME PATTERN OPTIONS…: to the end, with the right result.
run_with() {
    fresh "$1"
    export SCR_INTERPOSE_PATTERN=$2
    shift 2
    good "$stepper" "$@"
    says "$sum"
}

own_files() {
    is_there state.5.0 state.10.1 state.15.2 state.20.3
}

run_with flushed 'state.%d.?'
is_gone state.10.0
is_there state.20.0 state.20.1 state.20.2 state.20.3
says_not interpose:
plain "$stepper" --steps 21 --restart 20
again
good "$stepper" --steps 21 --restart 20 # nodes are new: from the prefix directory
says "restarted from checkpoint ckpt.20"
ok "the last checkpoint is in the prefix directory, for all"

fresh on_restart
export SCR_FLUSH=0
struck n2 "compute 2" "$stepper" --hold 14
is_gone state.10.0
good "$stepper" --newest
says "restarted from checkpoint ckpt.10"
says "$sum"
is_there state.10.0 state.10.1 state.10.2 state.10.3
unset SCR_FLUSH
ok "a restart puts its files into the prefix directory, where a program looks for the newest"

run_with grown 'state.%d.?' --files late
says "checkpoint 5 was complete, and has got more files: set SCR_INTERPOSE_FILES"
is_there state.20.0 state.20.3
ok "a checkpoint that was taken for complete too early is made anew"

run_with stays_open 'state.%d.?' --stay
says "state.5.0 is open still"
says "checkpoint 5 go to the prefix directory, unprotected: one stays open while newer"
is_there state.5.1 state.20.3
cp state.5.0 stayed
"$scr" index --list >"$work/log" 2>&1
says ckpt.20
plain "$stepper" --steps 5
cmp stayed state.5.0 || fail "what came into the open file late"
ok "a file that stays open keeps no newer checkpoint from being protected"

run_with silent 'state.%d.?' --silent
says "without a collective call of all processes"
own_files
plain "$stepper" --steps 21 --restart 20
ok "without collective calls files do not pile up in the cache"

run_with left_open 'state.%d.?' --open
says "unprotected: some are open still"
plain "$stepper" --steps 21 --restart 20
ok "files open at the end are in place, and whole"

# alone PROGRAM ARGS…: as job; launchers kill all when a process ends without MPI_Finalize,
# this one lets each come to its own end.
alone() {
    local launch=("$mpirun" -n 4)
    [[ $("$mpirun" --version 2>&1) != *HYDRA* ]] || launch+=(-disable-auto-cleanup)
    OMPI_MCA_orte_enable_recovery=1 job "$@"
}

fresh left_by_exit
SCR_INTERPOSE_FILES=9 alone "$stepper" --exit 10 || true
is_there state.10.0 state.10.1 state.10.2 state.10.3
plain "$stepper" --restart 10
says "$sum"
ok "a program that exits without MPI_Finalize loses no file"

SCR_INTERPOSE_FILES=9 run_with kept 'state.%d.?' --block
for rank in 0 1 2 3; do
    kept=$(sed -n "s|.*state.20.$rank stays in \([^ ,]*\), copy it.*|\1|p" "$work/log")
    [ -s "$kept" ] || fail "no file '$kept' of rank $rank"
    rmdir "state.20.$rank" || fail "rmdir state.20.$rank"
    cp "$kept" "state.20.$rank" || fail "cp $kept"
done
plain "$stepper" --steps 21 --restart 20
again
SCR_INTERPOSE_FILES=4 good "$stepper" --steps 21 --restart 20
[ -s "$kept" ] || fail "the next run took $kept"
ok "a file that cannot be put in place is kept, also by the next run"

run_with append 'state.%d.?' --again --read
says_not interpose:
is_there state.20.0 state.20.3
ok "an open that fails leaves the staged file"

run_with mpi_io 'state.%d' --files mpi
is_there state.5 state.10 state.15 state.20
says "wrote no checkpoint"
ok "files that MPI writes stay where they are"

run_with children 'state.%d.?' --child
is_there state.99.0 state.99.3
says "preload: ${LD_PRELOAD:-none}"
ok "children are left alone"

SCR_CACHE_BYPASS=1 run_with bypass 'state.%d.?' --read
is_there state.5.0 state.20.3
ok "SCR_CACHE_BYPASS: straight to the prefix directory"

# --- wrong use: one line, and the program's own files ---

fresh no_pattern
unset SCR_INTERPOSE_PATTERN
good "$stepper"
says "SCR_INTERPOSE_PATTERN is not set"
own_files
[ ! -e .scr ] || fail ".scr without a pattern"
ok "no pattern"

run_with matches_nothing 'nothing.%d'
says "wrote no checkpoint that SCR_INTERPOSE_PATTERN describes"
own_files
ok "a pattern that matches nothing"

run_with two_numbers 'state.%d.%d'
says "has %d twice"
own_files
[ -z "$(find "$storage" -name interpose)" ] || fail "a stage without use"
ok "a pattern with two numbers"

run_with outside '/tmp/elsewhere/state.%d'
says "outside the prefix directory"
own_files
ok "a pattern outside the prefix directory"

touch "$work/a_file"
SCR_CACHE_BASE=$work/a_file/nowhere run_with no_cache 'state.%d.?'
says "runs without"
own_files
ok "no cache: SCR does not start"

SCR_ENABLE=0 run_with disabled 'state.%d.?'
says_not SCR
own_files
ok "SCR_ENABLE=0"

SCR_INTERPOSE_FILES=9 run_with too_few 'state.%d.?'
says "fewer than SCR_INTERPOSE_FILES says"
own_files
ok "fewer files than SCR_INTERPOSE_FILES"

run_with same_name 'state.%d' --files same
says "unprotected: see above"
is_there state.20
ok "one file by several processes"

run_with not_renamed 'state.%d.?' --files tmp
says "a pattern for its first name"
own_files
"$scr" index --list >"$work/log" 2>&1
says ckpt.20
ok "renamed files whose first name has no pattern are protected, too"

other=mpich
[[ $mpirun != *mpich* ]] || other=openmpi
if command -v "mpicc.$other" "mpirun.$other" >/dev/null; then
    fresh foreign
    "mpicc.$other" -D_GNU_SOURCE -o foreign "$here/stepper.c" || fail "mpicc.$other"
    : >"$work/log" # written by the program itself: a launcher may drop its last words
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "mpirun.$other" -n 1 \
        sh -c 'exec env LD_PRELOAD="$1" ./foreign 2>>"$0"' "$work/log" "$library" >>"$work/log" 2>&1
    rc=$?
    says "files are not intercepted: the program uses"
    [[ $other = openmpi ]] || [[ $rc = 0 && -s state.20.0 ]] || fail "status $rc"
    ok "a program with another MPI"
else
    echo "skipped: there is no other MPI"
fi

# --- FORTRAN 77 ---

if [ -n "$stepper77" ]; then
    fresh f77.plain
    plain "$stepper77"
    sum=$(grep sum "$work/log")
    fresh f77
    export SCR_INTERPOSE_PATTERN='state.%d.?' SCR_FLUSH=0 SCR_FLUSH_ON_RESTART=0
    touch hold
    struck n2 "compute 2" "$stepper77"
    rm hold
    echo 10 >goon
    good "$stepper77"
    says "restarted from checkpoint ckpt.10"
    says "$sum"
    ok "FORTRAN 77: node lost, continued from cache"
fi
echo "interpose.programs: $cases cases"
