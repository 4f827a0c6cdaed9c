#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# life.sh SCR MPIRUN LIFE: examples/life, in C++ with iostreams.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

drill --result field.bin --scheme XOR --during compute --
[ "$(stat -c %s reference/field.bin)" = $((4 * 64 * 256)) ] || fail "size of the result"
grep -q "life: restarted from life.120" log.last || fail "$(cat log.last)"
echo "ok: a lost node"
