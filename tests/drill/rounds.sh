#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rounds.sh SCR HEAT2D: scr drill --rounds, what it draws, its verdicts, good and bad ones, and what it leaves.
# shellcheck source=tests/drill/lib.sh
. "$(dirname "$0")/lib.sh"
heat2d=$2
small=(--dir "$work" --nodes 3 --ranks 3 --timeout 300)
solver=("$heat2d" --steps 60 --every 10 --size 32 --sleep-ms 2 --output field.bin)

refused "rounds" --rounds 0
refused "rounds" --rounds many
refused "seed" --rounds 2 --seed x
refused "seed" --rounds 2 --seed -1
refused "--seed: only with --rounds" --seed 1
refused "--kill: not with --rounds" --rounds 2 --kill n1
refused "--during: not with --rounds" --rounds 2 --during encode
refused "--at: not with --rounds" --rounds 2 --at 2

# 29 loses two nodes, more than XOR survives, some time after a phase was entered, and the spares in the fetch; 30 loses
# one node. Phases say what was flushed, so flushes are synchronous, whatever the user has.
# shellcheck disable=SC2016 # the started shell expands it
SCR_FLUSH_ASYNC=1 expect "right" 0 '"passed": true' "${small[@]}" --rounds 2 --seed 29 --json -- \
    /bin/sh -c 'test $SCR_FLUSH_ASYNC = 0 && exec "$@"' sh "${solver[@]}"
json "right" 'v["fault"] is None and v["seed"] == 29 and v["rounds"] == v["done"] == 2 and v["wrong"] == 0'
json "strikes" 'sum(v["strikes"].values()) == 3 and v["strikes"]["fetch"] == 1 and v["unstruck"] == 0'
json "losses" 'v["beyond"] == 1 and v["nodes_lost"] == 2'
json "restarts" 'v["restarts"]["rebuilt"] == v["restarts"]["prefix"] == 1 and v["slowest_restart"] > 0'
json "the rest" 'v["scheme"] == "XOR" and v["ranks"] == v["nodes"] == 3 and v["report"] is None'

# The judge. Each of these seeds loses one node after a checkpoint has been flushed, 31 and 32 when a newer one is
# complete in cache: the restart of 31 does not see the cache, that of 32 nor the prefix directory. The restart of 30
# writes other bytes, that of 33 no result.
cat >"$work/spoilt" <<'END'
#!/bin/sh
case $SCR_PHASE_FILE in
*.round.[23].last) export SCR_CACHE_BASE=$SCR_CACHE_BASE.empty SCR_CNTL_BASE=$SCR_CNTL_BASE.empty ;;
esac
case $SCR_PHASE_FILE in
*.round.3.last) export SCR_FETCH=0 ;;
esac
"$@" || exit
case $SCR_PHASE_FILE in
*.round.1.last) echo more >>field.bin ;;
*.round.4.last) rm -f field.bin ;;
esac
END
chmod +x "$work/spoilt"
expect "judge" 1 "FAILED: seed 30, 4 of 4 rounds, 4 wrong" "${small[@]}" --rounds 4 --seed 30 \
    --report "$work/page.html" -- "$work/spoilt" "${solver[@]}"
said "the first" "first fault: the result differs from that of the undisturbed run \(--rounds 1 --seed 30\)"
said "other bytes" "round 1, seed 30: .*: the result differs"
said "an older checkpoint" "round 2, seed 31: .*restarted from 2, prefix: .* not take the newest complete checkpoint"
said "no restart" "round 3, seed 32: .*restarted from 0, scratch: the restart began from scratch"
said "no result" "round 4, seed 33: .*: the restarted run wrote no result"
grep -q '"end":"failed"' "$work/page.html" || wrong "no report on the first wrong round"

# Interrupted: the verdict on what was seen.
interrupt "interrupted" "round 1, " out --nodes 2 --ranks 2 --rounds 1000 --seed 1 -- "${solver[@]}"
said "interrupted" "verdict: INCOMPLETE: seed 1, [1-9][0-9]* of 1000 rounds, 0 wrong"

finish drill.rounds
