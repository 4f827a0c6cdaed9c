#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_halt: halt conditions of a job.
. "${0%/*}/lib.sh"

common scr_halt --list

# after the next checkpoint, by default
asked="CheckpointsLeft = 1
ExitReason = JOB_HALTED"
run scr_halt
is 0 "$asked"
run scr_print .scr/halt.scr
is 0 "$asked"
run scr_halt --list
is 0 "$asked"
# … and no run loop starts the job again, also if its run ends before that
run scr_should_exit
has 0 "halt condition: exit reason is JOB_HALTED"
scr_halt --remove

# conditions add up, and are changed and dropped one by one
run scr_halt --checkpoints 10
is 0 "CheckpointsLeft = 10"
run scr_halt --before 2099-01-14T11:26:06 --seconds=600
is 0 "CheckpointsLeft = 10
ExitBefore = 2099-01-14T11:26:06
HaltSeconds = 600"
run scr_halt -a '2098-12-31 12:00pm'
has 0 "ExitAfter = 2098-12-31T12:00:00"
run scr_halt --unset-before --unset-checkpoints
is 0 "ExitAfter = 2098-12-31T12:00:00
HaltSeconds = 600"
run scr_halt --unset-after -c 3
is 0 "CheckpointsLeft = 3
HaltSeconds = 600"
run scr_halt --unset-seconds --unset-reason
is 0 "CheckpointsLeft = 3"
run scr_halt --list --json
is 0 '{
  "CheckpointsLeft": 3,
  "ExitAfter": null,
  "ExitBefore": null,
  "HaltSeconds": null,
  "ExitReason": null,
  "satisfied": null
}'
run scr_halt --remove
is 0 ""
check "halt file removed" ! -e .scr/halt.scr
run scr_halt --list
is 0 "no halt conditions"
run scr_halt --remove
is 0 ""

# times as people write them
tomorrow=$(date -d tomorrow +%Y-%m-%d)
run scr_halt --before '8:30am tomorrow'
is 0 "ExitBefore = ${tomorrow}T08:30:00"
run scr_halt --after '12:00pm tomorrow'
has 0 "ExitAfter = ${tomorrow}T12:00:00"
run scr_halt --after @4000000000
has 0 "ExitAfter = 2096-10-02T07:06:40"
# shellcheck disable=SC2016 # nothing is expanded, that is the point
run scr_halt --after '$(touch ran); `touch ran`; now; touch ran'
fails 2 "not understood"
check "no shell" ! -e ran
run scr_halt --before gibberish
fails 2 'time "gibberish" not understood'
run scr_halt --before ''
fails 2 'time "" not understood'
run scr_halt --before '  '
fails 2 'not understood'
run scr_halt --after 2014-01-14T11:26:06
has 0 "satisfied now:"
warns 0 "is in the past"
scr_halt --remove

# another prefix, by argument, option or environment
mkdir other
run scr_halt other
is 0 "$asked"
run scr_halt --prefix other --checkpoints 2 --unset-reason
is 0 "CheckpointsLeft = 2"
SCR_PREFIX=$tmp/other run scr_halt --list
is 0 "CheckpointsLeft = 2"
run scr_halt --list
is 0 "no halt conditions"
run scr_halt --prefix other other
fails 2 "the prefix is given twice"
run scr_halt --list /no/such/directory
fails 2 "/no/such/directory: no such file or directory"
mkdir third
run scr_halt -c 3 other third
is 0 "other:
CheckpointsLeft = 3
third:
CheckpointsLeft = 3"
run scr_halt --remove no-such third
fails 2 "no-such: no such file or directory"
check "the next one is halted all the same" ! -e third/.scr/halt.scr
run scr_halt --json other third
fails 2 "option --json takes one prefix"

# a broken configuration keeps nobody from halting a job
echo "SCR_FLUSH" >.scrconf
run scr_halt
is 0 "$asked"

# wrong use
for n in -1 x 1.5 "" 99999999999; do
    run scr_halt --checkpoints "$n"
    fails 2 "option --checkpoints"
    run scr_halt --seconds "$n"
    fails 2 "option --seconds"
done
run scr_halt --remove --checkpoints 1
fails 2 "options --remove and --checkpoints exclude each other"
run scr_halt --chekpoints 1
fails 2 "did you mean --checkpoints?"
run scr_halt --unset 1
fails 2 "could be more than one"

# a damaged halt file: listing says so, setting keeps it aside
echo garbage of some length >.scr/halt.scr
run scr_halt --list
fails 2 "halt.scr"
run scr_halt --checkpoints 4
has 0 "CheckpointsLeft = 4"
warns 0 "kept aside as"
check "kept" "$(cat .scr/halt.scr.damaged.1)" = "garbage of some length"

# several at once: none is lost
scr_halt --remove
pids=
for i in 1 2 3 4; do
    case $i in
    1) set -- --checkpoints 7 ;;
    2) set -- --seconds 8 ;;
    3) set -- --before 2099-01-01 ;;
    4) set -- --after 2099-01-02 ;;
    esac
    scr_halt "$@" >/dev/null &
    pids="$pids $!"
done
# shellcheck disable=SC2086
for pid in $pids; do wait "$pid" || fail "a concurrent scr_halt failed"; done
run scr_halt --list
is 0 "CheckpointsLeft = 7
ExitAfter = 2099-01-02T00:00:00
ExitBefore = 2099-01-01T00:00:00
HaltSeconds = 8"

# a run that is ended so has not failed
scr_halt --remove
cp "$SCR_TEST_SOURCE"/tests/golden/autopilot/good-manual.scr .scr/autopilot.scr
scr_halt --immediate >/dev/null
cmp -s .scr/autopilot.scr "$SCR_TEST_SOURCE"/tests/golden/autopilot/good-closed.scr || fail "scr_halt --immediate: $(scr_print .scr/autopilot.scr)"
scr_halt --remove
scr_halt --checkpoints 7

# a file system without room: one line, old conditions intact
if [ "$(id -u)" -ne 0 ]; then
    chmod 500 .scr
    run scr_halt --checkpoints 1
    fails 2 "not writable"
    chmod 700 .scr
    run scr_halt --list
    has 0 "CheckpointsLeft = 7"
fi
