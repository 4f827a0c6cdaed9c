#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# packages.sh dist|deb|rpm SOURCE_DIR: the tar ball, the recipe for Spack that has its sum, and the packages that are
# built from it. It is that of the clone as it is now, with changes that are not committed. Exit status 77: skipped.
set -euo pipefail
what=$1 source=$2 here=$(dirname "$(realpath "$0")")

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

quietly() {
    "$@" >"$work/log" 2>&1 || fail "$*: $(tail -n 60 "$work/log")"
}

[ -e "$source/.git" ] || skip "no clone, which a tar ball is made of"
commit=$(git -c safe.directory="$source" -C "$source" stash create) # empty: nothing has changed
ball=$("$source/packaging/dist.sh" "$work/dist" ${commit:+"$commit"})
version=$(basename "$ball" .tar.gz)
version=${version#scr-}

dist_test() {
    local again top script
    again=$(umask 077 && "$source/packaging/dist.sh" "$work/again" ${commit:+"$commit"})
    cmp "$ball" "$again" || fail "two tar balls of a commit differ"
    grep -q "version(\"$version\", sha256=\"$(sha256sum <"$ball" | cut -d ' ' -f 1)\")" \
        "$work/dist/spack/packages/scr/package.py" || fail "the recipe has not the sum of the tar ball"
    tar -xzf "$ball" -C "$work"
    top=$work/scr-$version
    cp -r "$work/dist/spack" "$top/packaging"
    quietly python3 -B "$here/recipe.py" "$top" openmpi "$(command -v mpicc.openmpi || command -v mpicc)"
    for script in deb rpm; do
        ! "$source/packaging/$script.sh" "$ball" "$work/dist" 2>"$work/log" || fail "$script.sh replaced a directory"
        grep -q "is not of an earlier run" "$work/log" || fail "$(cat "$work/log")"
    done
    [ -e "$ball" ] || fail "the tar ball is gone"
    ! "$top/packaging/dist.sh" "$work/none" 2>"$work/log" || fail "a tar ball made without git"
    grep -q "no clone" "$work/log" || fail "$(cat "$work/log")"
}

# use MPI ROOT LIBDIR: a program is compiled and linked with the files of the packages of this MPI.
use() {
    local mpi=$1 root=$2 lib=$3 soname=libscr_$1.so.4
    export PKG_CONFIG_PATH=$lib/pkgconfig
    # shellcheck disable=SC2046 # flags are words
    quietly "mpicc.$mpi" "$here/consumer/consumer.c" -o "$work/$mpi" $(pkg-config --cflags --libs "scr_$mpi")
    readelf -d "$work/$mpi" | grep "NEEDED.*\[$soname\]" >/dev/null || fail "pkg-config: $mpi is not linked with $soname"
    [ "$(LD_LIBRARY_PATH=$lib "$work/$mpi")" = "$version" ] || fail "pkg-config: $mpi does not start"
    quietly env CC=cc CXX=c++ cmake -S "$here/consumer" -B "$work/cmake-$mpi" -DCMAKE_PREFIX_PATH="$root/usr" \
        -DMPI_C_COMPILER="$(command -v "mpicc.$mpi")" -DMPI_CXX_COMPILER="$(command -v "mpicxx.$mpi")" \
        -DCMAKE_PROJECT_consumer_INCLUDE="$work/mpi.cmake"
    quietly cmake --build "$work/cmake-$mpi" --target consumer
    readelf -d "$work/cmake-$mpi/consumer" | grep "NEEDED.*\[$soname\]" >/dev/null ||
        fail "find_package: $mpi is not linked with $soname"
    echo "ok: programs with $mpi"
}

deb_test() {
    local deb root=$work/root lib
    command -v dh lintian >/dev/null || skip "no debhelper or no lintian (scripts/install-deps.sh package)"
    DEB_BUILD_OPTIONS="noopt noautodbgsym parallel=$(nproc)" quietly "$source/packaging/deb.sh" "$ball" "$work/deb"
    for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$root"; done
    quietly lintian --allow-root --fail-on error,warning "$work"/deb/*.changes
    ! grep '^[EW]:' "$work/log" || fail "lintian is not content"
    echo "ok: lintian"
    dpkg-deb --ctrl-tarfile "$(echo "$work"/deb/libscr-mpich4_*.deb)" | tar -xO ./triggers | grep ldconfig >/dev/null ||
        fail "libscr-mpich4 does not run ldconfig"
    ! find "$root/usr/share/doc/scr-doc/html" -name '*.gz' | grep . || fail "pages link to files by other names"
    lib=$(dirname "$(find "$root" -name libscr_mpich.so.4)")
    # What the project has found decides which of both it gets.
    echo "find_package(MPI REQUIRED COMPONENTS C)" >"$work/mpi.cmake"
    use openmpi "$root" "$lib"
    use mpich "$root" "$lib"
    [ "$(PATH=$root/usr/bin:$PATH scr --version)" = "scr (SCR) $version" ] || fail "scr of scr-tools does not start"
}

rpm_test() {
    local packages
    command -v rpmbuild >/dev/null || skip "no rpmbuild (scripts/install-deps.sh package)"
    # One MPI shows what the spec does with each.
    quietly "$source/packaging/rpm.sh" "$ball" "$work/rpm" --without openmpi --define "optflags -O0" \
        --define "_smp_mflags -j$(nproc)"
    packages=$(cd "$work/rpm/RPMS" && find . -name '*.rpm' | sed "s|.*/\(.*\)-$version-.*|\1|" | sort | tr '\n' ' ')
    [ "$packages" = "python3-scr-mpich scr scr-doc scr-mpich scr-mpich-devel " ] || fail "packages: $packages"
    rpm -qlp "$work"/rpm/RPMS/*/scr-mpich-[0-9]*.rpm | grep -x '/usr/lib64/mpich/lib/libscr.so.4' >/dev/null ||
        fail "scr-mpich has not the library in the directory of its MPI"
    [ -e "$(echo "$work"/rpm/SRPMS/*.src.rpm)" ] || fail "no source package"
    echo "ok: $packages"
}

"${what}_test"
