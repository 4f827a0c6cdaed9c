#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# smoke.sh: in a system that has only what the packages beside this file depend on, installs them, uses them as
# somebody new would, in C and in Fortran with each MPI, and removes them again.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

fail() {
    echo "smoke: FAIL: $*" >&2
    exit 1
}

dpkg -i ./*.deb >log 2>&1 || fail "dpkg -i: $(cat log)"
for deb in ./*.deb; do
    name=$(dpkg-deb -f "$deb" Package)
    [ -s "/usr/share/doc/$name/copyright" ] || fail "$name has no copyright"
    [ -s "/usr/share/doc/$name/changelog.Debian.gz" ] || fail "$name has no changelog"
    dpkg --verify "$name" >log || fail "dpkg --verify $name: $(cat log)"
done
echo "smoke: installed $(dpkg-query -W -f '${Package} ${Version}  ' 'libscr*' scr-tools)"

scr --version
scr_index --help >/dev/null || fail "scr_index"
for page in man1/scr_index.1 man3/SCR_Init.3 man3/SCR_Finalize.3 man5/scr_params.5 man7/scr.7; do
    [ -s "/usr/share/man/$page.gz" ] || fail "no /usr/share/man/$page.gz"
done
[ "$(pkg-config --variable=mpi scr)" = openmpi ] || fail "pkg-config scr is not that of Open MPI"

for mpi in openmpi mpich; do
    # shellcheck disable=SC2046 # flags are words
    "mpicc.$mpi" /usr/share/doc/libscr-dev/examples/quickstart.c $(pkg-config --cflags --libs "scr_$mpi") -o "quickstart-$mpi"
    mkdir "$mpi"
    cd "$mpi"
    SCR_FLUSH=1 SCR_COPY_TYPE=SINGLE "mpirun.$mpi" -n 2 "../quickstart-$mpi" 0
    [ "$(cat step.100/rank_1.txt)" = "100 5050" ] || fail "$mpi: quickstart left no step.100/rank_1.txt"
    scr_index --list | grep -q step.100 || fail "$mpi: scr_index does not list step.100"
    cd ..
    echo "smoke: $mpi: compiled and ran quickstart.c"

    # shellcheck disable=SC2046
    "mpifort.$mpi" consumer.f90 $(pkg-config --cflags --libs "scrf_$mpi") -o "consumer-$mpi"
    [ "$("./consumer-$mpi")" = "$(pkg-config --modversion "scrf_$mpi")" ] || fail "$mpi: consumer.f90 has another version"
    mkdir "fortran-$mpi"
    (cd "fortran-$mpi" && "mpirun.$mpi" -n 2 "../consumer-$mpi" run) || fail "$mpi: consumer.f90 fails"
    echo "smoke: $mpi: compiled and ran a program in Fortran"
done
update-alternatives --set "scr.pc-$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)" \
    "$(realpath "$(pkg-config --variable=libdir scr_mpich)")/pkgconfig/scr_mpich.pc" >log 2>&1 || fail "$(cat log)"
[ "$(pkg-config --variable=mpi scr)" = mpich ] || fail "update-alternatives does not make pkg-config scr that of MPICH"

scr drill --nodes 3 --ranks 3 >log 2>&1 || fail "$(cat log)"
echo "smoke: $(grep verdict log)"

if dpkg-query -W python3-scr >/dev/null 2>&1; then
    python3 -B -c 'import scr; print("smoke: Python package", scr.__version__)'
fi

for deb in ./*.deb; do dpkg-deb -f "$deb" Package; done >names
xargs dpkg -L <names | grep scr >files
xargs dpkg --purge <names >log 2>&1 || fail "dpkg --purge: $(cat log)"
links=$(find /usr/lib /etc/alternatives -name '*scr*.pc*' -o -name 'libscr*')
[ -z "$links" ] || fail "left: $links"
while read -r file; do
    [ ! -e "$file" ] || fail "$file is left"
done <files
echo "smoke: removed $(wc -l <files) files and directories"
