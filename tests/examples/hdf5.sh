#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hdf5.sh SCR MPIRUN WAVE: examples/hdf5, with a file per process and with a shared one.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"
export HDF5_USE_FILE_LOCKING=FALSE # some file systems have no locks

# The lost node's file is rebuilt from the others.
drill --result out.bin --scheme XOR --during compute -- -s 100 -n 64 -e 20 -o out.bin
mv reference/out.bin expected
[ "$(stat -c %s expected)" = $((64 * 64 * 8)) ] || fail "size of the result"
grep -q "beginning at step 60" log.last || fail "no restart from step 60: $(cat log.last)"
echo "ok: a file per process"

# A shared file is in the prefix directory from the start; no node holds a part of it.
drill --result out.bin --scheme SINGLE --during compute -- -s 100 -n 64 -e 20 -S -o out.bin
cmp reference/out.bin expected || fail "a shared file changes the result"
grep -q "beginning at step 60" log.last || fail "no restart from step 60: $(cat log.last)"
for run in reference drill; do
    [ -s $run/wave.60/membrane.h5 ] || fail "no $run/wave.60/membrane.h5"
    "$scr" index --prefix $run --list >list || fail "index of $run"
    grep -q 'wave\.60' list || fail "wave.60 is not in the index of $run: $(cat list)"
done
cmp <(tail -c 4096 reference/wave.80/membrane.h5) <(tail -c 4096 drill/wave.80/membrane.h5) ||
    fail "checkpoints at step 80 differ"
echo "ok: a shared file"

# A node that dies while the shared file is written costs that file, not the one before it.
drill --result out.bin --scheme SINGLE --during checkpoint -- -s 100 -n 64 -e 20 -S -o out.bin
cmp reference/out.bin expected || fail "a shared file changes the result"
echo "ok: a node lost while the shared file is written"

# A checkpoint of a plate of another size is refused, and the run begins anew.
SCR_FLUSH=1 job other 2 -s 20 -n 30 -e 10 || fail "$(cat log.other)"
"$scr" halt --prefix other --remove
job other 2 -s 20 -n 31 -e 10 || fail "$(cat log.other)"
grep -q "not a file of this run" log.other || fail "a wrong size is accepted: $(cat log.other)"
grep -q "beginning at step 0" log.other || fail "$(cat log.other)"
echo "ok: a checkpoint that does not fit"

job wrong 2 -s many && fail "wave -s many"
grep -q "^usage: wave" log.wrong || fail "$(cat log.wrong)"
job wrong 4 -n 3 && fail "wave with fewer rows than processes"
echo "ok: wrong use"
