#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# consumers.sh BUILD_DIR SOURCE_DIR MPICC MPIRUN [MPIFORT]: what a user of an installed SCR does, in C
# and, if the module scr was built, in Fortran.
set -euo pipefail
build=$1 here=$2 mpicc=$3 mpirun=$4 mpifort=${5:-}

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# The program asks libscr for its version without a job, then runs as one.
check() {
    local program=$1 how=$2 run
    run=$(mktemp -d "$work/run.XXXXXX") # a job that has ended is not started again
    [ "$("$program")" = "$version" ] || fail "$how: $program prints '$("$program")'"
    (cd "$run" && SCR_CACHE_BASE=$run SCR_CNTL_BASE=$run SCR_PREFIX=$run \
        "$mpirun" -n 2 "$program" run) || fail "$how: $program fails under $mpirun"
    echo "ok: $how"
}

cmake --install "$build" --prefix "$prefix" >"$work/log" || fail "$(cat "$work/log")"
libdir=$(dirname "$(dirname "$(find "$prefix" -name scr.pc)")")

for file in include/scr.h include/scr.hpp include/scr_calls.hpp bin/scr bin/scr_index bin/scr_drill libexec/scr/heat2d \
    "${libdir#"$prefix"/}/libscr.so" "${libdir#"$prefix"/}/libscr.a"; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
if command -v pandoc >/dev/null; then
    calls=$(sed -n 's/^SCR_API [^(;]*\(SCR_[A-Za-z_]*\)(.*/man3\/\1.3/p' "$prefix/include/scr.h")
    # shellcheck disable=SC2086 # a list of words
    for page in $calls man7/scr.7 man7/scr_errors.7; do
        [ -s "$prefix/share/man/$page" ] || fail "share/man/$page is not installed"
    done
fi
if [ -e "$build/html/index.html" ]; then
    [ -n "$(find "$prefix/share/doc" -path '*/html/doc/guide/index.html')" ] || fail "the web pages are not installed"
fi
"$prefix/bin/scr" --version >/dev/null || fail "the installed scr does not start"
for file in bash-completion/completions/scr_index zsh/site-functions/_scr fish/vendor_completions.d/scr_index.fish; do
    [ -s "$prefix/share/$file" ] || fail "share/$file is not installed"
done
"$prefix/bin/scr_index" --help >/dev/null || fail "the link scr_index does not work"
echo "ok: installed files"

# The Python package finds the libscr it was installed with, also after the tree was moved.
python=/usr/bin/python3
if [ -d "$prefix/share/scr/python" ]; then
    mv "$prefix" "$work/moved"
    for dir in "$work/moved/share/scr/python" "$(dirname "$(find "$work/moved/lib" -name py.typed -printf %h)")"; do
        found=$(env -u LIBSCR LD_LIBRARY_PATH= PYTHONPATH="$dir" "$python" -B -c \
            'import scr; print(scr._scr.lib._name)') || fail "python: import scr from $dir"
        case $found in "$work/moved"/lib*/libscr.so.*) ;; *) fail "python: libscr is $found" ;; esac
    done
    mv "$work/moved" "$prefix"
    echo "ok: Python package"
fi

export PKG_CONFIG_PATH=$libdir/pkgconfig
version=$(pkg-config --modversion scr)
# shellcheck disable=SC2046 # flags are words
"$mpicc" "$here/consumer/consumer.c" -o "$work/by-pkg-config" $(pkg-config --cflags --libs scr) \
    -Wl,-rpath,"$libdir"
check "$work/by-pkg-config" pkg-config

# shellcheck disable=SC2046
"$mpicc" -static-libgcc "$here/consumer/consumer.c" -o "$work/static" $(pkg-config --cflags scr) \
    $(pkg-config --variable=static_libs scr)
! readelf -d "$work/static" | grep 'libscr\.so' >/dev/null || fail "static: libscr.so is linked"
check "$work/static" "pkg-config, static"

# Neither compiler knows MPI; of those that are installed it must be that of SCR.
CC=cc CXX=c++ cmake -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/build" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
check "$work/build/consumer" "find_package"
check "$work/build/consumer_static" "find_package, static"
check "$work/build/consumer_cxx" "find_package, C++"

[ -e "$prefix/include/scrf.h" ] || {
    echo "no Fortran interface"
    exit 0
}
for variable in mpi libdir; do
    [ "$(pkg-config --variable=$variable scrf)" = "$(pkg-config --variable=$variable scr)" ] ||
        fail "scrf.pc: $variable is $(pkg-config --variable=$variable scrf)"
done
[ "$(pkg-config --modversion scrf)" = "$version" ] || fail "scrf.pc: version $(pkg-config --modversion scrf)"
[ -n "$mpifort" ] || exit 0

for source in consumer.f90 consumer77.f; do
    # shellcheck disable=SC2046
    "$mpifort" "$here/consumer_fortran/$source" -o "$work/${source%.*}" $(pkg-config --cflags --libs scrf) \
        -Wl,-rpath,"$libdir"
    check "$work/${source%.*}" "pkg-config, $source"
    # shellcheck disable=SC2046
    "$mpifort" "$here/consumer_fortran/$source" -o "$work/${source%.*}" $(pkg-config --cflags scrf) \
        $(pkg-config --variable=static_libs scrf)
    ! readelf -d "$work/${source%.*}" | grep 'libscrf\?\.so' >/dev/null || fail "static: $source has libscrf.so"
    check "$work/${source%.*}" "pkg-config, static, $source"
done

cmake -S "$here/consumer_fortran" -B "$work/fortran" -DCMAKE_PREFIX_PATH="$prefix" \
    -DMPI_Fortran_COMPILER="$mpifort" -DMPI_C_COMPILER="$mpicc" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/fortran" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
check "$work/fortran/consumer" "find_package, Fortran"
check "$work/fortran/consumer77" "find_package, Fortran, classic"
check "$work/fortran/consumer_static" "find_package, Fortran, static"
