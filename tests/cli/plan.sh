#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr plan: what it proposes, and that SCR takes the configuration it prints.
. "${0%/*}/lib.sh"

common scr_plan --nodes 1000 --ranks 8000 --bytes 4g --cache /dev/shm

# the variables of the tests are unknown to SCR, which says so where it reads the configuration
clean() {
    env -u SCR_TEST_SOURCE -u SCR_TEST_VERSION -u SCR_TEST_BIN -u SCR_TEST_HELPERS "$@"
}

# accepted: what was printed is a configuration without an error or a warning
accepted() {
    cp "$out" plan.conf
    run scr_param --check plan.conf
    has_status 0
    check "no warning" ! -s "$err"
    SCR_CONF_FILE=plan.conf run scr_param SCR_FLUSH
    has 0 "$1"
}

run scr plan --nodes 1000 --ranks 8000 --bytes 4g --program 100g
has 0 "# scheme      XOR, sets of 8 that survive 1 lost node"
has 0 "# cache       /dev/shm: 2 checkpoints of 36.57 GiB, 73.14 GiB of 117.00 GiB a node"
has 0 "# assumed     --memory 256.00 GiB"
has 0 "--mtbf 5.0 y"
has 0 "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/dev/shm TYPE=XOR SET_SIZE=8"
has 0 "SCR_CHECKPOINT_SECONDS=1813"
accepted 17

# every kind of line there is
run scr plan -N 1000 -n 8000 -b 4g --several 50 --flush-async --explain
has 0 "TYPE=RS SET_SIZE=16 SET_FAILURES=2"
has 0 "SCR_FLUSH_ASYNC=1"
has 0 "#   --nodes              1000, given"
has 0 "#   --memory             256.00 GiB, assumed"
has 0 "# checkpoint           C = "
has 0 "#   first order "
has 0 "#   proposed "
has 0 "#   --mtbf "
accepted ""
run scr plan -N 1 -n 8 -b 4g --allocation 0 --cache /nvme --disk 1t --memory 1g
has 0 "# scheme      SINGLE"
has 0 "# cache       /nvme: 2 checkpoints"
has 0 "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/nvme TYPE=SINGLE"
grep -q SCR_HALT_SECONDS "$out" && fail "no allocation has no end"
accepted 1
run scr plan -N 1000 -n 8000 -b 4g --json
has 0 '"scheme": "XOR"'
has 0 '"flush": 17'
has 0 '"SCR_MTBF=157680000"'
has 0 '"from": "assumed"'
run scr plan -N 1000 -n 8000 -b 4g --json --explain
has 0 '"lost_if_wrong"'
has 0 '"double": null' # of bytes: no room

# counts are exact, a directory may have any name, and the configured one is taken
run clean scr plan -N 1048576 -n 2097152 -b 1g --explain --mtbf 50y
has 0 "#   --nodes              1048576, given"
has 0 "#   --ranks              2097152, given"
latin=$(printf '/caf\351 #1') # e with an acute accent in Latin-1
run scr plan -N 4 -n 8 -b 1g --cache "$latin"
has 0 "STORE=\"$latin\" GROUP=NODE"
accepted 2
run scr plan -N 4 -n 8 -b 1g --cache "$latin" --json
has 0 '"cache": "/caf\\xE9 #1"'
has 0 '"STORE=\"/caf\\xE9 #1\" GROUP=NODE COUNT=2"'
run scr plan -N 4 -n 8 -b 1g --cache "a
b"
fails 2 "option --cache: a name with a line break cannot be configured"
SCR_CACHE_BASE=/nvme/scr run clean scr plan -N 4 -n 8 -b 1g
has 0 "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/nvme/scr TYPE=XOR"
SCR_CACHE_BASE=/nvme/scr run clean scr plan -N 4 -n 8 -b 1g --cache /ssd
has 0 "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/ssd TYPE=XOR"

# what cannot be
run scr plan
fails 2 "option --nodes is needed; see scr plan --help"
run scr plan --nodes 0 --ranks 8 --bytes 1g
fails 2 'option --nodes: "0" is not a whole number above 0'
run scr plan -N 4 -n 2 -b 1g
fails 2 "--ranks 2 are fewer than --nodes 4"
run scr plan -N 4 -n 8 -b 1x
fails 2 'option --bytes: "1x" is not a size, as in 64g'
run scr plan -N 4 -n 8 -b 1g --network 10g/m
fails 2 'option --network: "10g/m" is not a bandwidth, as in 10g/s'
run scr plan -N 4 -n 8 -b 1g --mtbf never
fails 2 'option --mtbf: "never" is not a time'
run scr plan -N 4 -n 8 -b 1g --several 101
fails 2 'option --several: "101" is not a number from 0 to 100'
run scr plan -N 4 -n 8 -b 200g
fails 2 "a checkpoint of 400.00 GiB a node (--ranks, --bytes) does not fit with any scheme into 96.00 GiB"
warns 2 "(--memory 256.00 GiB, assumed; --program 128.00 GiB, assumed)"
run scr plan -N 4 -n 8 -b 200g --disk 100g
fails 2 "neither on the disk (--disk 100.00 GiB, given) nor in memory"
run scr plan -N 1000 -n 8000 -b 4g --mtbf 1h
fails 2 "a failure comes every 3.6 s (--mtbf 60 min, given, on 1000 nodes), and a checkpoint takes 9.5 s"
run scr plan -N 1000 -n 8000 -b 4g -f 100m/s
fails 2 "a flush takes 3.8 d (--file-system 100.00 MiB/s, given), which is longer than the allocation (--allocation 24 h)"

# figures from runs: 4 nodes, 8 processes of 1 GiB, written in 2 s, encoded in 2 s, flushed at 1 GiB/s
mkdir -p .scr
event() {
    printf '{"time":"2026-01-01T00:00:%s+00:00","host":"n1","jobid":"7","event":%s}\n' "$1" "$2" >>.scr/log
}
event 01 '"RUN_START","ranks":2,"nodes":2'
event 02 '"CHECKPOINT_END","dset":1,"secs":100,"bytes":1000'
event 10 '"RUN_START","ranks":8,"nodes":4'
event 11 '"ENCODE","dset":1,"secs":2,"bytes":8589934592,"to":"XOR"'
event 12 '"CHECKPOINT_END","dset":1,"secs":4,"bytes":8589934592'
event 13 '"FLUSH_SUCCESS","dset":1,"secs":8,"bytes":8589934592'
run clean scr plan --prefix "$PWD" --explain
has 0 "#   --nodes              4, measured"
has 0 "#   --ranks              8, measured"
has 0 "#   --bytes              1.00 GiB, measured"
# they take 4 s, as in the log: the program wrote for 2 s, and encoding read and sent for 1 s each
has 0 "#   --write-bandwidth    1.00 GiB/s, measured"
has 0 "#   --memory-bandwidth   2.00 GiB/s, measured"
has 0 "#   --network            2.00 GiB/s, measured"
has 0 "# checkpoint           C = 4.3 s = D / write-bandwidth + (1 + p) D / memory-bandwidth"
has 0 "#   --file-system        1.00 GiB/s, measured"
has 0 "#   --mtbf               5.0 y, assumed"
accepted ""
event 14 '"CHECKPOINT_END","dset":2,"secs":80,"bytes":8589934592,"to":"prefix"' # past the cache: at 100 MiB/s
run clean scr plan --prefix "$PWD" --explain
has 0 "#   --bytes              1.00 GiB, measured"
has 0 "#   --memory-bandwidth   2.00 GiB/s, measured"
has 0 "#   --file-system        186.18 MiB/s, measured"
cp "$SCR_TEST_SOURCE"/tests/golden/autopilot/good-manual.scr .scr/autopilot.scr # 3 failures in 12 hours
run clean scr plan --prefix "$PWD" --explain --network 5g/s
has 0 "#   --mtbf               2.1 y, measured"
has 0 "#   --network            5.00 GiB/s, given"
mkdir other
run clean scr plan --prefix "$PWD"/other
fails 2 "option --nodes is needed: the event log has no run that says it"
