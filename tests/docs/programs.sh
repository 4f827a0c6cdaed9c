#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# programs.sh BUILD_DIR MPIRUN: the programs of the guide do what it says of them: the sum is the
# same with and without SCR and across a restart; parts are found by another number of processes.
set -euo pipefail
for name in $(env | sed -n 's/^\(SCR_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
programs=$1/examples/guide mpirun=$2 scr=$1/scr

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
export SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_VNODES=2
mkdir "$work/cache"

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# run NAME PROCESSES PROGRAM [ARGUMENT]: in a prefix directory of that name; prints what it prints
run() {
    local dir=$work/$1 n=$2 program=$3
    shift 3
    mkdir -p "$dir"
    (cd "$dir" && SCR_JOB_ID=$(basename "$dir") "$mpirun" -n "$n" "$programs/guide_$program" "$@") ||
        fail "$program ends with $?"
}

# has TEXT OUTPUT
has() {
    case $2 in *"$1"*) ;; *) fail "'$1' is not in: $2" ;; esac
}

whole=$(run plain 2 step0 40)
has "after step 40" "$whole"
sum=$(tail -1 <<<"$whole")
has "starting at step 40" "$(run plain 2 step0 40)"
for step in 1 2 3; do
    has "$sum" "$(run "step$step" 2 "step$step" 40)"
done

# stopped by scr_halt after a checkpoint, and continued
mkdir "$work/halted"
"$scr" halt --prefix "$work/halted" --checkpoints 2
SCR_CHECKPOINT_INTERVAL=10 run halted 2 step4 40 >"$work/out"
grep -q "after step 40" "$work/out" && fail "step4 was not halted"
"$scr" halt --prefix "$work/halted" --remove
again=$(run halted 2 step4 40)
has "starting at step 20" "$again"
has "$sum" "$again"

# unsaved NAME FILE PROGRAM [ARGUMENT]: with FILE where a directory belongs the last flush fails, and so does the program
unsaved() {
    local dir=$work/$1 file=$2 rc=0
    shift 2
    mkdir "$dir"
    touch "$dir/$file"
    (cd "$dir" && SCR_JOB_ID=$(basename "$dir") "$mpirun" -n 2 "$@" >"$work/out" 2>&1) || rc=$?
    has "SCR: error: SCR_Finalize: " "$(cat "$work/out")"
    [ "$rc" -eq 1 ] || fail "without its last checkpoint in the prefix directory $1 ends with $rc"
}
unsaved unsaved_steps ckpt.20 "$programs/guide_step3" 20
SCR_CHECKPOINT_INTERVAL=10 unsaved unsaved_guide ckpt.20 "$programs/guide_step4" 20
unsaved unsaved_count step.100 "$1/examples/quickstart" 0

# A checkpoint that SCR cannot keep is written without it, and the newest of both kinds is read.
run other 2 fallback 50 >/dev/null
has "step 30 is kept without SCR" "$(run both 2 fallback 30 30)"
"$scr" halt --prefix "$work/both" --remove
has "starting at step 30" "$(run both 2 fallback 50)"
cmp "$work/both/pi.txt" "$work/other/pi.txt" || fail "fallback: another result after the restart"
"$scr" halt --prefix "$work/both" --remove
has "starting at step 50" "$(run both 2 fallback 50)"
touch "$work/nowhere"
has "step 20 is kept without SCR" "$(SCR_CNTL_BASE=$work/nowhere run never 2 fallback 20)"
has "starting at step 20" "$(SCR_CNTL_BASE=$work/nowhere run never 2 fallback 20)"

# Two executables of a job, of which one has failed to write its last checkpoint: both go back.
coupled() {
    (cd "$work" && SCR_JOB_ID=coupled "$mpirun" -n 2 "$programs/guide_coupled" ocean "$@" : \
        -n 1 "$programs/guide_coupled" air "$1") || fail "coupled ends with $?"
}
mkdir "$work/ocean" "$work/air"
coupled 3 3 >/dev/null
"$scr" halt --prefix "$work/ocean" --remove
"$scr" halt --prefix "$work/air" --remove
again=$(coupled 5)
has "ocean: starting at step 2" "$again"
has "air: starting at step 2" "$again"

# Files whose names a library chose: one is lost, and the checkpoint before it is read.
run files 2 subfiles 3 >/dev/null
"$scr" halt --prefix "$work/files" --remove
has "starting at step 3" "$(run files 2 subfiles 3)"
"$scr" halt --prefix "$work/files" --remove
rm "$work/files/ckpt.3/field.bp/data.1"
has "starting at step 2" "$(run files 2 subfiles 2)"

field=$(run field 2 protect 6 | tail -1)
SCR_HALT_ENABLED=0 run part 2 protect 4 >"$work/out"
"$scr" halt --prefix "$work/part" --remove
again=$(run part 2 protect 6)
has "starting at step 4" "$again"
has "$field" "$again"

has "found 0" "$(run parts 3 regroup)"
"$scr" halt --prefix "$work/parts" --remove
few=$(run parts 2 regroup)
has "a checkpoint of 3 processes, read by 2" "$few"
has "found 6" "$few"

has "state.2, 14 bytes, in cache" "$(run datasets 2 datasets)"
[ ! -e "$work/datasets/picture.1" ] || fail "SCR_Delete left files"
[ -s "$work/datasets/state.2/0.txt" ] || fail "SCR_Drop took files"
"$scr" halt --prefix "$work/datasets" --remove
run datasets 2 datasets state.2

if [ -e "$programs/guide_guards" ]; then
    whole=$(run guards 2 guards 20)
    has "sum 210" "$whole"
    has "step.20 is there" "$whole"
    # a process that cannot write: the checkpoint is dropped on all, which continue
    part=$(run broken 2 guards 15 15 2>&1)
    has "no step.15: this process cannot write" "$part"
    [ "$(grep -c "no step.15:" <<<"$part")" = 2 ] || fail "guards: $part"
    "$scr" halt --prefix "$work/broken" --remove
    again=$(run broken 2 guards 20)
    has "starting at step 10" "$again"
    has "sum 210" "$again"
fi

run ensemble 4 ensemble >"$work/out"
[ "$(grep -c "member [01]: step 0" "$work/out")" = 4 ] || fail "ensemble: $(cat "$work/out")"
for member in 0 1; do "$scr" halt --prefix "$work/ensemble/member.$member" --remove; done
run ensemble 4 ensemble >"$work/out"
[ "$(grep -c -e "member 0: step 1" -e "member 1: step 2" "$work/out")" = 4 ] || fail "ensemble: $(cat "$work/out")"

SCR_FLUSH=3 run configure 2 configure | grep "one checkpoint in 3 is copied" >/dev/null || fail "configure"
echo "the programs of the guide do what it says"
