#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rpm.sh TARBALL DIR [OPTION…]: RPM packages of the tar ball of dist.sh in DIR; the options are for rpmbuild.
#
# On Debian, which has neither the packages that the spec names nor the modules of the MPIs, their places are
# said here: that the spec builds and has all files can be tried there.
set -euo pipefail
ball=$(realpath "$1") dir=$(realpath -m "$2")
shift 2

# mpi_macros NAME: _NAME_load sets what `module load mpi/NAME-ARCH` does.
mpi_macros() {
    local bin=$dir/mpi/$1 arch program
    arch=$(rpm --eval '%{_arch}')
    mkdir -p "$bin"
    for program in mpicc mpifort mpirun; do
        printf '#!/bin/sh\nexec %s.%s "$@"\n' "$program" "$1" >"$bin/$program"
        chmod +x "$bin/$program"
    done
    options+=(--define "_$1_load export MPI_BIN=$bin MPI_LIB=/usr/lib64/$1/lib MPI_INCLUDE=/usr/include/$1-$arch \
MPI_FORTRAN_MOD_DIR=/usr/lib64/gfortran/modules/$1 MPI_PYTHON3_SITEARCH=/usr/lib64/python3/site-packages/$1")
    options+=(--define "_$1_unload unset MPI_BIN MPI_LIB MPI_INCLUDE MPI_FORTRAN_MOD_DIR MPI_PYTHON3_SITEARCH")
}

# What it replaces is its own.
if [ -e "$dir" ] && [ ! -e "$dir/.packages" ]; then
    echo "rpm.sh: $dir is there, and is not of an earlier run: name another directory, or remove it" >&2
    exit 2
fi
rm -rf "$dir"
mkdir -p "$dir"
touch "$dir/.packages"
options=()
if [ "$(rpm --eval '%{?_openmpi_load}%{?_mpich_load}')" = "" ]; then
    mpi_macros openmpi
    mpi_macros mpich
    options+=(--nodeps --define "debug_package %{nil}" --define "_sysconfdir /etc")
fi
rpmbuild -ta --define "_topdir $dir" "${options[@]}" "$@" "$ball"
