#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# advect2d.sh SCR MPIRUN ADVECT2D: examples/advect2d, the solver in Fortran.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

drill --result field.bin --scheme XOR --during compute --
mv reference/field.bin expected
[ "$(stat -c %s expected)" = $((192 * 192 * 8)) ] || fail "size of the result"
grep -q "restarted from advect2d.step.120 at step 120" log.last || fail "$(cat log.last)"
echo "ok: a lost node"

drill --result field.bin --scheme PARTNER --during encode --kill n4 --
cmp reference/field.bin expected || fail "another result"
echo "ok: a node lost while redundancy is computed"

# Begun on four processes, halted, continued on three and then on five.
halted() {
    again run
    "$scr" halt --prefix run --checkpoints "$1" >/dev/null
}
mkdir run
halted 2
SCR_FLUSH=1 SCR_HALT_ENABLED=0 job run 4 || fail "$(cat log.run)"
grep -q "ended at step 80" log.run || fail "$(cat log.run)"
halted 3
SCR_FLUSH=1 SCR_HALT_ENABLED=0 job run 3 || fail "$(cat log.run)"
grep -q "restarted from advect2d.step.80 at step 80" log.run || fail "$(cat log.run)"
again run
echo "&run every = 100 /" >settings
job run 5 "$work/settings" || fail "$(cat log.run)"
grep -q "restarted from advect2d.step.200 at step 200" log.run || fail "$(cat log.run)"
cmp run/field.bin expected || fail "other numbers of processes: another result"
echo "ok: restarted on other numbers of processes"

# A checkpoint of another plane is refused.
again run
echo "&run cells = 50, steps = 20, result = 'small.bin' /" >settings
job run 2 "$work/settings" || fail "$(cat log.run)"
grep -q "starting from step 0" log.run || fail "$(cat log.run)"
[ "$(stat -c %s run/small.bin)" = $((50 * 50 * 8)) ] || fail "size of the small result"
echo "ok: a checkpoint that does not fit"

SCR_ENABLE=0 job plain 1 || fail "$(cat log.plain)"
cmp plain/field.bin expected || fail "without SCR: another result"
echo "&run stepps = 1 /" >settings
job wrong 2 "$work/settings" && fail "a wrong namelist"
echo "ok: without SCR, and wrong use"
