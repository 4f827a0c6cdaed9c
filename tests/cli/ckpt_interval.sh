#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_ckpt_interval: how often to checkpoint, by the event log.
. "${0%/*}/lib.sh"
log=$tmp/.scr/log

# log EVENT OPTION…
log() {
    SCR_LOG_ENABLE=1 scr_log_event --type "$@" || fail "scr_log_event $*"
}

# nothing is known before the first run, for which the prefix directory may still be made, nor while it has made no
# checkpoint
run scr_ckpt_interval
is 0 10
SCR_PREFIX=$tmp/later run scr_ckpt_interval
is 0 10
run scr_ckpt_interval --prefix later/still
is 0 10
check "nothing is made" ! -e later
run scr_ckpt_interval --percent
is 0 10.00
log RUN_START -S 1000
run scr_ckpt_interval
is 0 10
run scr_ckpt_interval --stats
has 0 "not known yet: one every 10 s"

# the intervals of Young and Daly, in minutes 120 and 116.690, 12.247 and 9.141
one_run() {
    rm -f "$log"
    log RUN_START -S 1000
    log CHECKPOINT_END -S 1010 -L 300
    log RUN_END -S $((1000 + $1))
}
one_run 86400
run scr_ckpt_interval --model young
is 0 7200
run scr_ckpt_interval
is 0 7001
run scr_ckpt_interval --model daly --percent
is 0 4.28
run scr_ckpt_interval.py --percent --prefix "$tmp"
is 0 4.28
one_run 900
run scr_ckpt_interval -m young
is 0 734
run scr_ckpt_interval
is 0 548
# a checkpoint that costs more than two runs
rm "$log"
log RUN_START -S 1000
log CHECKPOINT_END -S 1000 -L 1000
sed 's/"secs":1000/"secs":3000/' "$log" >log.3000
run scr_ckpt_interval --logfile log.3000
is 0 1000

# several runs, whoever ends them, in other zones; what comes between them does not count
rm "$log"
log RUN_START -S 100 -N run1
log RUN_START -S 110
TZ=JST-9 log CHECKPOINT_END -S 150 -L 10
log RUN_END -S 210 -N run1
log NODE_FAIL -S 290 -N "n1: gone"
log RUN_START -S 300 -N run2
log RUN_START -S 310
log CHECKPOINT_END -S 340 -L 20
log FLUSH_SUCCESS -S 390 -L 5
log NODE_FAIL -S 900 -N "n2: gone"
log SCAVENGE_START -S 910 -D 7
log SCAVENGE_END -S 910 -D 7 -L 5
echo "no event" >>"$log"
echo '{"time":"yesterday","event":"RUN_START"}' >>"$log"
echo '{"event":"RUN_START"}' >>"$log"
log RUN_START -S 1000
log RUN_END -S 1015
run scr_ckpt_interval --stats
is 0 "runs: 3, 200.0 s in all, 66.7 s on average
checkpoints: 2, 30.000 s in all, 15.000 s on average
daly: one every 35 s, 42.52 % of the time"
cd / || exit 99
run scr_ckpt_interval --prefix "$tmp" --stats
has 0 "runs: 3,"
cd "$tmp" || exit 99

# what is less than a second is no interval
rm "$log"
log RUN_START -S 1000
log CHECKPOINT_END -S 1001 -L 0.001
run scr_ckpt_interval
is 0 1

run scr_ckpt_interval --logfile nowhere
fails 2 "nowhere: no such file or directory"
run scr_ckpt_interval --model moore
fails 2 'option --model: "moore" is neither daly nor young'
common scr_ckpt_interval
