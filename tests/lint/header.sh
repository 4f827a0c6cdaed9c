#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# header.sh SOURCE_DIR: scr.h compiles without a warning as every C and C++ since 1989 and 1998, and
# its calls have the linkage of C; scr.hpp as C++17 and later, and it has every call.
set -uo pipefail
root=$1 bad=0 n=0

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-header.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/use.c" <<'END'
#include "scr.h"
#include "scr.h"
int flags(void);
int flags(void) { return SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT | SCR_FLAG_NONE; }
int use(void);
int use(void) { char name[SCR_MAX_FILENAME]; int have; return SCR_Have_restart(&have, name); }
END
cp "$work/use.c" "$work/use.cpp"

cat >"$work/use17.cpp" <<'END'
#include "scr.hpp"
#include "scr.hpp"
bool use();
bool use() { scr::session session; scr::restart from; scr::output to("x"); return scr::have_restart() && from.files().empty(); }
END

# compiles COMPILER FILE STANDARD...
compiles() {
    local compiler=$1 file=$2 std
    shift 2
    command -v "$compiler" >/dev/null || return 0
    for std in "$@"; do
        n=$((n + 1))
        "$compiler" -std="$std" -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -I"$root/include" \
            -c "$work/$file" -o "$work/use.o" || {
            bad=$((bad + 1))
            echo "FAIL: $compiler -std=$std"
        }
        nm "$work/use.o" | grep ' U SCR_Have_restart$' >/dev/null || {
            bad=$((bad + 1))
            echo "FAIL: $compiler -std=$std: SCR_Have_restart is not called by its C name"
        }
    done
}

for compiler in gcc clang; do
    compiles $compiler use.c c89 gnu89 c99 c11 c17
done
for compiler in g++ clang++; do
    compiles $compiler use.cpp c++98 c++11 c++14 c++17 c++20
    compiles $compiler use17.cpp c++17 c++20
done
# Without one in C++: a printf format, older names, and what strings and constants say.
without=" SCR_Configf SCR_Start_checkpoint SCR_Complete_checkpoint SCR_Get_version "
for call in $(sed -n 's/^SCR_API [^(;]*\(SCR_[A-Za-z_]*\)(.*/\1/p' "$root/include/scr.h"); do
    case $without in *" $call "*) continue ;; esac
    grep -q "\b$call(" "$root"/include/scr*.hpp || {
        bad=$((bad + 1))
        echo "FAIL: scr.hpp does not call $call"
    }
done
echo "header: $n standards, $bad wrong"
[ $bad = 0 ] && [ $n -gt 0 ]
