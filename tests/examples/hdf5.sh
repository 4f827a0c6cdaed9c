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

# One process cannot open its file, or the shared one: the others do not wait for it in HDF5, this
# checkpoint is dropped and the run goes on.
cannot_open() {
    local path=$1
    shift
    rm -rf half
    SCR_FLUSH=1 refused REFUSE_OPEN="$path" REFUSE_RANK=2 -- half 4 -s 100 -n 64 -e 20 -o out.bin "$@" ||
        fail "$(cat log.half)"
    grep -q "rank 2: cannot open" log.half || fail "$(cat log.half)"
    [ "$(grep -c "going on without checkpoint wave.40" log.half)" = 1 ] || fail "$(cat log.half)"
    "$scr" index --prefix half --list >list || fail "index of half"
    grep -Eq "YES .* wave.60$" list && ! grep -E "YES .* wave.40$" list || fail "$(cat list)"
    cmp half/out.bin expected || fail "another result"
}
cannot_open scr.dataset.2/rank.2/rows
cannot_open wave.40/membrane -S
echo "ok: one process cannot open its file"

# HDF5 has a shared file open on some processes only: the run ends, and the next one goes on.
rm -rf half
refused REFUSE_HDF5=wave.60/membrane.h5 REFUSE_RANK=1 -- half 4 -s 100 -n 64 -e 20 -S -o out.bin &&
    fail "goes on with a file that is open on some processes"
grep -q "not all processes could open" log.half || fail "$(cat log.half)"
job half 4 -s 100 -n 64 -e 20 -S -o out.bin || fail "$(cat log.half)"
grep -q "beginning at step 40" log.half || fail "$(cat log.half)"
cmp half/out.bin expected || fail "after an abort: another result"
echo "ok: a shared file open on some processes only"

# A user who switches bypass off: HDF5 does not wait for ever for processes that have other paths.
SCR_CACHE_BYPASS=0 job apart 4 -s 100 -n 64 -e 20 -S -o out.bin || fail "$(cat log.apart)"
grep -q "wave.20/membrane.h5: written by several ranks (4 in MPI_File_open), .*SCR_CACHE_BYPASS=1" log.apart ||
    fail "$(cat log.apart)"
grep -q "wave.20 .* is not completed: .*membrane.h5: written by several ranks (0-3)" log.apart || fail "$(cat log.apart)"
cmp apart/out.bin expected || fail "without checkpoints: another result"
echo "ok: a shared file without bypass is refused"

# A checkpoint of a plate of another size is refused, and the run begins anew.
SCR_FLUSH=1 job other 2 -s 20 -n 30 -e 10 || fail "$(cat log.other)"
again other
job other 2 -s 20 -n 31 -e 10 || fail "$(cat log.other)"
grep -q "not a file of this run" log.other || fail "a wrong size is accepted: $(cat log.other)"
grep -q "beginning at step 0" log.other || fail "$(cat log.other)"
echo "ok: a checkpoint that does not fit"

job wrong 2 -s many && fail "wave -s many"
grep -q "^usage: wave" log.wrong || fail "$(cat log.wrong)"
job wrong 4 -n 3 && fail "wave with fewer rows than processes"
echo "ok: wrong use"

# Without SCR it does its work as well.
SCR_COPY_TYPE=NONE job plain 2 -s 100 -n 64 -e 20 -o out.bin || fail "$(cat log.plain)"
cmp plain/out.bin expected || fail "without SCR: another result"
told_once log.plain
echo "ok: without SCR"
