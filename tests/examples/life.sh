#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# life.sh SCR MPIRUN LIFE REFUSE: examples/life, in C++ with iostreams.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

drill --result field.bin --scheme XOR --during compute --
mv reference/field.bin expected
[ "$(stat -c %s expected)" = $((4 * 64 * 256)) ] || fail "size of the result"
grep -q "life: restarted from life.120" log.last || fail "$(cat log.last)"
echo "ok: a lost node"

drill --result field.bin --scheme PARTNER --during encode --kill n4 --
cmp reference/field.bin expected || fail "another result"
echo "ok: a node lost while redundancy is computed"

# An exception on one rank in the middle of a checkpoint: it is dropped on all, and nobody waits.
export SCR_FLUSH=0 SCR_CACHE_SIZE=2
refused REFUSE_FOPEN=scr.dataset.2/rank.2/strip -- run 4 100 || fail "$(cat log.run)"
grep -q "rank 2: going on without life.80: cannot write" log.run || fail "$(cat log.run)"
[ "$(grep -c "going on without" log.run)" = 1 ] || fail "$(cat log.run)"
again run
job run 4 || fail "$(cat log.run)"
grep -q "restarted from life.40" log.run || fail "$(cat log.run)"
cmp run/field.bin expected || fail "another result"
echo "ok: an exception in a checkpoint"

# And in a restart: all ranks take the one before.
again run
rm run/field.bin
newest=$(find nodes -name 'scr.dataset.*' | sort -V | tail -n 1)
refused REFUSE_FOPEN="${newest##*/}/rank.1/strip" -- run 4 || fail "$(cat log.run)"
grep -q "rank 1: cannot read" log.run || fail "$(cat log.run)"
grep -q "restarted from life.320" log.run || fail "$(cat log.run)"
cmp run/field.bin expected || fail "another result"
echo "ok: an exception in a restart"

# Another number of ranks is another torus.
again run
job run 3 80 || fail "$(cat log.run)"
grep -q "was written by 4 ranks, this run has 3; set SCR_RESTART_ANY_RANKS=1" log.run || fail "$(cat log.run)"
! grep "restarted" log.run || fail "restarted on three ranks from what four wrote"
[ "$(stat -c %s run/field.bin)" = $((3 * 64 * 256)) ] || fail "size of the result on three ranks"
echo "ok: another number of ranks"

SCR_COPY_TYPE=NONE job plain 4 || fail "$(cat log.plain)"
cmp plain/field.bin expected || fail "without SCR: another result"
told_once log.plain
job wrong 2 many && fail "life many"
grep -q "^usage: life" log.wrong || fail "$(cat log.wrong)"
echo "ok: without SCR, and wrong use"
