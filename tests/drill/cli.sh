#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cli.sh SCR HEAT2D QUICKSTART: options of scr drill, right and wrong ones, and what it leaves.
set -uo pipefail
scr=$1 heat2d=$2 quickstart=$3

work=$(mktemp -d "${TMPDIR:-/tmp}/scr-drill-cli.XXXXXX")
trap 'rm -rf "$work"' EXIT
tests=0 bad=0 pids=

# expect NAME STATUS REGEX ARGS...: exit status and a line of the output.
expect() {
    local name=$1 status=$2 regex=$3 got
    shift 3
    tests=$((tests + 1))
    "$scr" drill "$@" >"$work/out" 2>&1 &
    pids+=" $!"
    wait $!
    got=$?
    if [ $got != "$status" ] || ! grep -Eq -- "$regex" "$work/out"; then
        bad=$((bad + 1))
        echo "FAIL: $name: status $got, expected $status and a line like '$regex'; output:"
        sed 's/^/    /' "$work/out"
    fi
}

# Other drills may run beside these: a directory in memory has the process in its name.
left() {
    local pid
    find "$work" -maxdepth 1 -name 'scr-drill.*'
    for pid in $pids; do
        find /dev/shm -maxdepth 1 -name "scr-drill.$pid.*" -user "$(id -un)"
    done
}

expect "help" 0 "during.*rebuild" --help
expect "unknown option" 2 "schema" --schema XOR
expect "unknown scheme" 2 "RAID6.*SINGLE, PARTNER, XOR or RS" --scheme RAID6
expect "unknown phase" 2 "sleep.*compute" --during sleep
expect "unknown node" 2 "n9.*n1 to n4" --kill n9
expect "too few ranks" 2 "fewer than one" --ranks 3
expect "one node" 2 "second node" --nodes 1
expect "no number" 2 "many" --nodes many
expect "SINGLE has nothing to rebuild" 2 "rebuilds nothing" --scheme SINGLE --during rebuild
expect "result outside" 2 "below the directory" --result ../x
expect "no rounds" 2 "rounds" --rounds 0
expect "no seed" 2 "seed" --rounds 2 --seed x
expect "seed of nothing" 2 "only with --rounds" --seed 1
expect "rounds draw the node" 2 "--kill: not with --rounds" --rounds 2 --kill n1
expect "no such launcher" 2 "no-such-mpirun" --dir "$work" --mpirun /no-such-mpirun
expect "no such directory" 2 "no/such" --dir "$work/no/such"
expect "program fails" 2 "undisturbed run failed" --dir "$work" -- /bin/false
expect "no such program" 2 "undisturbed run failed" --dir "$work" -- ./no-such-program
expect "no result" 2 "wrote no field.bin" --dir "$work" -- "$quickstart"
[ -z "$(left)" ] || {
    bad=$((bad + 1))
    echo "FAIL: left behind: $(left)"
}

# A program of one's own, by a relative path, with a result of another name.
cd "$(dirname "$heat2d")" || exit 1
expect "own program" 0 "verdict: PASSED" --dir "$work" --nodes 3 --ranks 3 --kill n3 \
    --during checkpoint --result out.bin -- "./$(basename "$heat2d")" \
    --steps 90 --every 20 --size 40 --sleep-ms 2 --output out.bin
expect "report" 0 "drill: report on these runs: $work/drill.html" --dir "$work" --nodes 2 --ranks 2 \
    --report "$work/drill.html" -- "$heat2d" --steps 90 --every 20 --size 40 --output field.bin
grep -q '"end":"failed"' "$work/drill.html" || {
    bad=$((bad + 1))
    echo "FAIL: the report has no run that failed"
}
expect "JSON" 0 '"restart": [1-9]' --json --dir "$work" --nodes 2 --ranks 2 -- \
    "$heat2d" --steps 90 --every 20 --size 40 --output field.bin
python3 -c 'import json, sys; v = json.load(sys.stdin); assert v["passed"] and v["lost"] == "n2" and v["fault"] is None' \
    <"$work/out" || {
    bad=$((bad + 1))
    echo "FAIL: the verdict is no such JSON: $(cat "$work/out")"
}
expect "never gets there" 2 "before phase compute was entered 50 times" --dir "$work" \
    --nodes 2 --ranks 2 --at 50 --result out.bin -- "$heat2d" --steps 30 --every 10 \
    --output out.bin

# Verdicts that are not good.
export SCR_FETCH=0
expect "from scratch" 1 "verdict: FAILED: .* from scratch" --dir "$work" --nodes 2 \
    --ranks 2 --scheme SINGLE
unset SCR_FETCH
expect "another result" 1 "verdict: FAILED: the result differs" --dir "$work" --nodes 2 \
    --ranks 2 --result r -- /bin/sh -c "$heat2d --steps 80 --every 20 && date +%N >r"
# Rounds: the judge sees wrong bytes, and a restart that does not take what is there.
expect "rounds, another result" 1 "verdict: FAILED: .* [1-9] wrong.*the result differs" --dir "$work" \
    --rounds 1 --seed 8 --result r -- /bin/sh -c "$heat2d --steps 80 --every 10 --sleep-ms 5 && date +%N >r"
export SCR_FETCH=0
expect "rounds, from scratch" 1 "verdict: FAILED: .* from scratch" --dir "$work" --scheme SINGLE \
    --rounds 1 --seed 8
unset SCR_FETCH
expect "no SCR in it" 2 "before phase compute" --dir "$work" --nodes 2 --ranks 2 --result r \
    -- /bin/sh -c "echo 1 >r"

# Interrupted: it cleans up, then dies of the signal; neither processes nor directories stay.
tests=$((tests + 1))
set -m # else SIGINT is ignored in the background
"$scr" drill --dir "$work" --nodes 2 --ranks 2 \
    --result r -- "$heat2d" --steps 50000 --sleep-ms 10 --output r >"$work/out" 2>&1 &
pid=$!
pids+=" $pid"
set +m
for _ in $(seq 1200); do
    ! grep -qs compute "$work"/scr-drill.*/phases.reference || break
    sleep 0.1
done
kill -INT $pid
wait $pid
got=$?
for _ in $(seq 600); do # those that were killed may still be ending
    grep -alsq -- "$work" /proc/[0-9]*/cmdline || break
    sleep 0.1
done
if [ $got != 130 ] || [ -n "$(left)" ] ||
    grep -als -- '[s]teps.50000' /proc/[0-9]*/cmdline >>"$work/out"; then
    bad=$((bad + 1))
    echo "FAIL: interrupted: status $got; left: $(left); output: $(cat "$work/out")"
fi

expect "keep" 0 "kept $work/scr-drill" --dir "$work" --nodes 2 --ranks 2 --keep
[ -n "$(left)" ] || {
    bad=$((bad + 1))
    echo "FAIL: --keep kept nothing"
}

echo "drill.cli: $tests cases, $bad wrong"
[ $bad = 0 ]
