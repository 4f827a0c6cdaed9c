#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TEST [ARGUMENT]: one test of the Python package; 77 if what it needs is not installed.
# LIBSCR, PYTHON, MPIRUN and TOOL say what to test and with what.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${here%/*/*}
work=$(mktemp -d "${TMPDIR:-/tmp}/scr-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=error
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LC_ALL=C.UTF-8
unset PYTHONUNBUFFERED # else print() writes a line in pieces, and those of two processes mix

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

needs() {
    local module
    for module in "$@"; do
        "$PYTHON" -c "import $module" 2>/dev/null || {
            echo "skipped: $PYTHON has no $module"
            exit 77
        }
    done
}

# Whether libscr and mpi4py are of one MPI.
same_mpi() {
    "$PYTHON" -c '
import sys
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import scr
sys.exit(scr._scr.mpi_version().strip("\0 \n") != MPI.Get_library_version().strip("\0 \n"))'
}

needs_mpi4py() {
    needs mpi4py numpy
    same_mpi || {
        echo "skipped: mpi4py is of another MPI than $LIBSCR"
        exit 77
    }
}

test_alone() {
    "$PYTHON" "$here/test_package.py" "$root"
}

test_types() {
    local mypy
    mypy=$(command -v /usr/bin/mypy || command -v mypy) || {
        echo "skipped: no mypy"
        exit 77
    }
    cd "$root/bindings/python"
    "$mypy" --cache-dir="$work/mypy"
    # the package as its users see it
    MYPYPATH=$root/bindings/python "$mypy" --strict --cache-dir="$work/mypy" "$here/calls.py" \
        "$here/counter.py" "$here/resize.py"
}

test_calls() {
    [ "$1" = ctypes ] || needs_mpi4py
    local ranks
    for ranks in 1 4; do
        mkdir "$work/$ranks"
        "$MPIRUN" -n "$ranks" "$PYTHON" "$here/calls.py" "$work/$ranks" "$1" >"$work/log" 2>&1 ||
            fail "$ranks ranks: $(cat "$work/log")"
    done
}

# refused "part of the message" STATEMENTS: they end in one scr.Error, not in a crash.
refused() {
    local status=0
    "$PYTHON" -c "$2" >"$work/log" 2>&1 || status=$?
    [ $status = 1 ] || fail "status $status of: $2: $(cat "$work/log")"
    tail -n 1 "$work/log" | grep -q "^scr.Error: .*$1" || fail "$2: $(cat "$work/log")"
}

test_mpi() {
    refused "import mpi4py.MPI first" "import scr; scr.init()"
    needs mpi4py
    same_mpi && return
    refused "set LIBSCR to a libscr built" "from mpi4py import MPI; import scr; scr.init()"
    refused "set LIBSCR to a libscr built" "import scr; from mpi4py import MPI; scr.have_restart()"
    refused "set LIBSCR to a libscr built" "import scr; from mpi4py import MPI; scr.config('SCR_FLUSH')"
}

# C's exit ends the process in complete_output; what print() was told before is not lost.
test_halt() {
    export SCR_PREFIX=$work SCR_CACHE_BASE=$work SCR_CNTL_BASE=$work SCR_VNODES=2
    "$TOOL" halt --checkpoints 1 >"$work/log"
    "$MPIRUN" -n 2 "$PYTHON" "$here/halted.py" >"$work/log" 2>"$work/err" ||
        fail "$(cat "$work/log" "$work/err")"
    # mpirun may put the lines of two processes into one
    [ "$(grep -o 'rank [01] was here' "$work/log" | sort | uniq | wc -l)" = 2 ] ||
        fail "stdout: $(cat "$work/log" "$work/err")"
    ! grep -q "not reached" "$work/log" || fail "the run was not halted"
    [ -e "$work/last/0" ] || fail "the last checkpoint did not reach the prefix directory"
}

# An exception that nobody catches ends all processes, and the next run goes on.
test_uncaught() {
    needs_mpi4py
    export SCR_PREFIX=$work SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_VNODES=2
    export SCR_CACHE_SIZE=2 # else the second checkpoint takes the place of the first
    mkdir cache
    # The processes write the log themselves: a launcher may drop what it has not yet passed on.
    local run=(timeout 300 "$MPIRUN" -n 2 sh -c 'exec "$@" >>"$0" 2>&1' "$work/log"
        "$PYTHON" -m mpi4py "$here/uncaught.py") status=0
    : >"$work/log"
    "${run[@]}" >>"$work/log" 2>&1 || status=$?
    [ $status != 0 ] && [ $status != 124 ] || fail "status $status: $(cat "$work/log")"
    # whoever ends first ends the other, maybe before it has spoken
    grep -Eq "ZeroDivisionError: the fault|scr.Error: .*bad dropped" "$work/log" || fail "$(cat "$work/log")"
    ! grep -q "not reached" "$work/log" || fail "a process went on: $(cat "$work/log")"
    : >"$work/log"
    "${run[@]}" >>"$work/log" 2>&1 || fail "$(cat "$work/log")"
    grep -q "^read good" "$work/log" || fail "$(cat "$work/log")"
}

# The wrapper of MPI_File_open has to be found before the MPI library of mpi4py.
test_opens() {
    needs_mpi4py
    export SCR_PREFIX=$work SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_VNODES=2
    mkdir cache
    # shellcheck disable=SC2016 # for the shell of each process
    timeout 300 "$MPIRUN" -n 2 sh -c 'LD_PRELOAD=$LIBSCR exec "$@" >>"$0.$$" 2>&1' "$work/log" \
        "$PYTHON" -m mpi4py "$here/opens.py" || fail "$(cat "$work"/log.*)"
    [ "$(cat "$work"/log.* | grep -c "^refused$")" = 2 ] || fail "$(cat "$work"/log.*)"
    [ "$(cat "$work"/log.* | grep -c "^dropped$")" = 2 ] || fail "$(cat "$work"/log.*)"
}

drill() {
    "$TOOL" drill --nodes 4 --ranks 4 --timeout 300 "$@" 2>&1 | tee "$work/log"
    grep -q "^verdict: PASSED" "$work/log"
}

# guide NAME [PATTERN]: a program of the guide runs, and prints that
guide() {
    "$MPIRUN" -n "${RANKS:-2}" "$PYTHON" -m mpi4py "$root/examples/guide/$1.py" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
    [ -z "${2-}" ] || grep -q "$2" "$work/log" || fail "$1 does not print '$2': $(cat "$work/log")"
    "$TOOL" halt --remove >"$work/halt"
}

# The programs of the guide: one that goes on, one that reads what others wrote, and one that can do without
# SCR and without a checkpoint.
test_guide() {
    needs_mpi4py
    export SCR_PREFIX=$work SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache
    export SCR_CHECKPOINT_INTERVAL=300 SCR_COPY_TYPE=SINGLE
    mkdir cache
    guide field
    [ -e step.900/field_1.npy ] || fail "no step.900: $(ls . step.* && cat "$work/log")"
    guide field "restarted from checkpoint step.900"
    guide without
    [ ! -s "$work/log" ] || ! grep "going on" "$work/log" || fail "without: $(cat "$work/log")"
    mkdir off && cd off
    SCR_ENABLE=0 guide without "this run makes no checkpoints"
    [ -s step.1/field_1.npy ] || fail "SCR_ENABLE=0: no step.1/field_1.npy"
    rm -r step.1
    SCR_CNTL_BASE=/dev/null/none guide without "^going on without checkpoints"
    [ -s step.1/field_1.npy ] || fail "scr.init failed: no step.1/field_1.npy"
    cd ..
    export SCR_CACHE_PURGE=1 SCR_PREFIX=$work/parts
    mkdir parts && cd parts
    RANKS=3 guide parts
    guide parts "^sum 20.0" # of the first and the third
    cd / # outside of the prefix directory
    guide without "^going on without step.1"
}

# Neither mpi4py nor numpy: with every MPI.
test_drill() {
    drill -- "$PYTHON" "$here/counter.py" 60 10 calls
    drill --scheme PARTNER --during encode -- "$PYTHON" "$here/counter.py" 60 10 with
}

# resize RANKS UNTIL: the next run of the job.
resize() {
    "$TOOL" halt --remove >"$work/log"
    "$MPIRUN" -n "$1" "$PYTHON" "$here/resize.py" "$2" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
}

# Begun on four processes, continued on three from the cache, of which a node is lost, then on five
# from the prefix directory.
test_resize() {
    mkdir one "$work/cache"
    (cd one && SCR_PREFIX=$PWD SCR_CACHE_BASE=$PWD SCR_CNTL_BASE=$PWD SCR_COPY_TYPE=SINGLE resize 1 60)
    export SCR_PREFIX=$work SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cache SCR_JOB_ID=j
    export SCR_USER_NAME=u SCR_COPY_TYPE=XOR
    SCR_VNODES=n1,n2,n3,n4 SCR_FLUSH=0 resize 4 20
    [ -d cache/vnode.n3 ] && [ ! -e numbers.20 ] || fail "$(ls . cache)"
    rm -r cache/vnode.n3
    SCR_VNODES=n1,n2,n4 SCR_FLUSH=1 resize 3 40
    grep -q "numbers.20 of 4 processes, read by 3" log || fail "$(cat log)"
    rm -r cache/*
    SCR_VNODES=n1,n2,n4 SCR_FLUSH=1 resize 5 60
    grep -q "numbers.40 of 3 processes, read by 5" log || fail "$(cat log)"
    cmp field.bin one/field.bin || fail "other numbers of processes: another result"
}

test_wave2d() {
    needs_mpi4py
    drill --during checkpoint --result field.npy -- "$PYTHON" -m mpi4py \
        "$root/examples/python/wave2d.py" --size 64 --steps 100 --every 20 --output field.npy
}

"test_$1" "${@:2}"
