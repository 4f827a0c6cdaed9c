#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# module.sh BUILD_DIR MODULECMD: module load scr sets the paths, unload takes them away again. The
# installed tree is moved before, and has a blank in its name.
set -euo pipefail
build=$1 modulecmd=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-module.XXXXXX")
trap 'rm -rf "$work"' EXIT
root="$work/moved tree"

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# module COMMAND ARGS…: what the shell function of that name does, without the user's settings.
module() {
    "$modulecmd" bash "$@" >"$work/script" 2>"$work/err" || fail "module $*: $(cat "$work/err")"
    # shellcheck disable=SC1091
    . "$work/script"
}

cmake --install "$build" --prefix "$work/prefix" >"$work/log" || fail "$(cat "$work/log")"
mv "$work/prefix" "$root"
unset MODULEPATH LOADEDMODULES _LMFILES_ MANPATH CPATH PYTHONPATH
export MODULEPATH="$root/share/modulefiles" PATH_BEFORE=$PATH
module load scr

version=$(scr --version)
[ "$(command -v scr)" = "$root/bin/scr" ] || fail "scr is $(command -v scr)"
mpi=$(pkg-config --variable=mpi scr)
[ "$version-$mpi" = "scr (SCR) ${LOADEDMODULES#scr/}" ] || fail "$version, but module $LOADEDMODULES"
case $MANPATH in "$root/share/man:"*) ;; *) fail "MANPATH=$MANPATH" ;; esac
case $MANPATH in :* | *: | *::*) ;; *) fail "MANPATH=$MANPATH hides the system's manual" ;; esac
for dir in "$CPATH/scr.h" "${LD_LIBRARY_PATH%%:*}/libscr.so" "${LIBRARY_PATH%%:*}/libscr.a" \
    "${PKG_CONFIG_PATH%%:*}/scr.pc" "${CMAKE_PREFIX_PATH%%:*}/include/scr.h"; do
    [ -e "$dir" ] || fail "no $dir"
done
echo "ok: load"

module unload scr
[ "$PATH" = "$PATH_BEFORE" ] || fail "PATH=$PATH after unload, $PATH_BEFORE before load"
[ -z "${CPATH:-}${LOADEDMODULES:-}" ] || fail "unload leaves $CPATH $LOADEDMODULES"
echo "ok: unload"

mkdir -p "$work/site/scr"
ln -s "$root/share/modulefiles/scr/${version##* }-$mpi" "$work/site/scr/site-$$"
module use "$work/site"
module load "scr/site-$$"
[ "$(command -v scr)" = "$root/bin/scr" ] || fail "through a link, scr is $(command -v scr)"
module unload scr
echo "ok: a link of the site's own"

module whatis scr
grep -q "checkpoint and restart" "$work/err" || fail "whatis: $(cat "$work/err")"
echo "ok: whatis"
