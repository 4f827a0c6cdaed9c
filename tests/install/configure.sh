#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# configure.sh SOURCE_DIR MPICC: the build is configured for the MPI of CC=MPICC, with ISA-L and Jansson in a
# prefix of their own, and on a machine without cmocka without tests.
set -euo pipefail
source=$1 mpicc=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-configure.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# Where the compiler finds the header, and what is linked.
header_of() {
    echo "#include <$1>" | "$mpicc" -E - | sed -n "s|^# 1 \"\(/.*/$1\)\".*|\1|p" | head -1
}

mkdir -p "$work/prefix/include" "$work/prefix/lib"
for library in isal jansson; do
    found=$("$mpicc" -print-file-name=lib$library.so)
    ln -s "$(realpath "$found")" "$work/prefix/lib/lib$library.so"
    ignored=$(dirname "$(realpath "$found")")
done
for header in isa-l.h jansson.h; do
    ln -s "$(header_of $header)" "$work/prefix/include/$header"
done
# A symbol of its own name in mpi.h says which MPI it is.
case $(echo '#include <mpi.h>' | "$mpicc" -E -dM -) in
*OMPI_MAJOR_VERSION*) mpi=openmpi other=mpich ;;
*) mpi=mpich other=openmpi ;;
esac

CC=$mpicc cmake -S "$source" -B "$work/build" -DCMAKE_IGNORE_PATH="/usr/include;$ignored;${ignored#/usr}" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DSCR_FORTRAN=OFF >"$work/log" 2>&1 || fail "$(cat "$work/log")"
set_to() {
    grep -q "^$1:[A-Z]*=$2\$" "$work/build/CMakeCache.txt" ||
        fail "$1 is not $2: $(grep "^$1:" "$work/build/CMakeCache.txt")"
}
set_to SCR_MPI "$mpi"
set_to SCR_MPICC "$(command -v "$mpicc")"
echo "ok: CC=$mpicc is $mpi"

set_to SCR_ISAL_INCLUDE "$work/prefix/include"
set_to SCR_JANSSON "$work/prefix/lib/libjansson.so"
grep -q -- "-isystem $work/prefix/include" "$work/build/compile_commands.json" || fail "the headers are not used"
grep -q "^static_libs=.*-L$work/prefix/lib -lisal" "$work/build/scr.pc" || fail "$(cat "$work/build/scr.pc")"
echo "ok: ISA-L and Jansson in a prefix of their own"

grep -q "^-- no tests: " "$work/log" || fail "$(cat "$work/log")"
! grep -q '"file": ".*/tests/unit/test_' "$work/build/compile_commands.json" || fail "tests are built"
echo "ok: no tests without cmocka"

! CC=$mpicc cmake -S "$source" -B "$work/wrong" -DSCR_MPI=$other >"$work/log" 2>&1 || fail "SCR_MPI is not compared with the compiler"
grep -q "is of $mpi" "$work/log" || fail "$(cat "$work/log")"
echo "ok: SCR_MPI of another MPI is refused"
