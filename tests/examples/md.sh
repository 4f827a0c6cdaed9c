#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# md.sh SCR MPIRUN MD: examples/md, with its three files a process.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"
export SCR_CHECKPOINT_INTERVAL=15 # what SCR_Need_checkpoint says: steps 15, 30, 45 …

# What a run leaves in ./$1 is what an undisturbed one left in ./expected.
same_as_expected() {
    local file
    cmp "$1/last.bin" expected/last.bin || fail "$1: another result"
    for file in md.log.{0..3} md.{20,40,60,80,100}/frame.{0..3}; do
        cmp "$1/$file" "expected/$file" || fail "$1/$file differs"
    done
    [ "$(wc -l <"$1/md.log.2")" = 10 ] || fail "$1: a line of the log is missing or there twice"
}

# The drill strikes at the third phase "compute": after step 20, 30 or so.
drill --result last.bin --scheme XOR -- -s 100 -f 20 -o last.bin
mv reference expected
same_as_expected drill
grep -q "beginning at step [1-9]" log.last || fail "$(cat log.last)"
# At step 60 both were due: one dataset, checkpoint and output.
for file in state log frame; do
    [ -s "expected/md.60/$file.3" ] || fail "no expected/md.60/$file.3"
done
[ ! -e expected/md.20/state.0 ] || fail "a frame alone has a state"
"$scr" index --prefix expected --list >list || fail "index"
grep -Eq 'md\.60' list || fail "$(cat list)"
echo "ok: a lost node; frames and logs are complete and the same"

drill --result last.bin --scheme PARTNER --during checkpoint --kill n3 -- -s 100 -f 20 -o last.bin
same_as_expected drill
echo "ok: a node lost while a checkpoint is written"

# Halted after two checkpoints it stops by itself, and goes on when it is allowed to.
mkdir halted
"$scr" halt --prefix halted --checkpoints 2 >/dev/null
SCR_FLUSH=1 job halted 4 -s 100 -f 20 -o last.bin || fail "$(cat log.halted)"
grep -q "md: stopped at step 30" log.halted || fail "$(cat log.halted)"
[ ! -e halted/last.bin ] || fail "a halted run wrote a result"
rm -rf nodes
"$scr" halt --prefix halted --remove
job halted 4 -s 100 -f 20 -o last.bin || fail "$(cat log.halted)"
grep -q "beginning at step 30" log.halted || fail "$(cat log.halted)"
same_as_expected halted
echo "ok: halted and continued from the prefix directory"

# Without SCR it does its work as well.
SCR_ENABLE=0 job plain 1 -s 100 -f 20 -o last.bin || fail "$(cat log.plain)"
cmp plain/last.bin expected/last.bin || fail "one process without SCR: another result"
[ "$(cat plain/md.20/frame.0)" != "" ] || fail "without SCR: no frames"
[ "$(grep -c "this run makes no checkpoints" log.plain)" = 1 ] || fail "$(cat log.plain)"
job wrong 2 -c 2 && fail "md -c 2"
grep -q "^usage: md" log.wrong || fail "$(cat log.wrong)"
echo "ok: without SCR, and wrong use"
