#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # status, out, err and tmp are set by lib.sh
# scr_log_event and scr_log_transfer, and what the run loop, scr_list_down_nodes and a scavenge
# record.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
host=$(hostname)
log=$tmp/.scr/log

# logged TEXT…: the lines of the log without times, in this order
logged() {
    sed 's/"time":"[^"]*",//; s/"host":"'"$host"'",//; s/"secs":[0-9.]*/"secs":S/' "$log" >.log
    for text in "$@"; do
        head -n 1 .log | grep -qxF -- "$text" || fail "expected in the log: $text, there is: $(head -n 1 .log)"
        sed -i 1d .log
    done
    check "no more in the log" ! -s .log
}

run scr_log_event --help
has 0 "Usage: scr_log_event --type EVENT"
run scr_log_transfer --version
is 0 "scr_log_transfer (SCR) $SCR_TEST_VERSION"

# only where logging is on
SCR_LOG_ENABLE=0 run scr_log_event --type RUN_START
has_status 0
warns 0 "nothing is recorded: logging is off (SCR_LOG_ENABLE)"
SCR_LOG_TXT_ENABLE=0 run scr_log_event --type RUN_START
warns 0 "nothing is recorded"
check "nothing made" ! -e .scr

export SCR_JOB_ID=job1
run scr_log_event -T RUN_START -N 'run=1 "first"' -S 1389695166
is 0 ""
grep -qF '"time":"2014-01-14T10:26:06.000000+00:00"' "$log" || fail "$(cat "$log")"
run scr_log_event -i 7 -p "$tmp" -u user1 -j name -s 0 -T RUN_END -S 1389695166.5 -L 1.5h
is 0 ""
grep -qF '"time":"2014-01-14T11:56:06.500000+00:00"' "$log" || fail "$(cat "$log")"
run scr_log_transfer -T FLUSH -X /tmp/a -Y /p/b -D 3 -n ckpt.3 -S 1389695166 -L 2 -B 10 -F 0
is 0 ""
now=$(date -u +%Y-%m-%dT%H)
run scr_log_event --type=NODE_FAIL
is 0 ""
tail -n 1 "$log" | grep -q "\"time\":\"$now\|\"time\":\"$(date -u +%Y-%m-%dT%H)" || fail "$(cat "$log")"
run scr log_transfer --type ASYNC_FLUSH_FAIL --bytes 9223372036854775807
is 0 ""
logged '{"jobid":"job1","event":"RUN_START","note":"run=1 \"first\""}' \
    '{"jobid":"7","event":"RUN_END","secs":S}' \
    '{"jobid":"job1","event":"FLUSH_SUCCESS","dset":3,"name":"ckpt.3","secs":S,"bytes":10,"files":0,"from":"/tmp/a","to":"/p/b"}' \
    '{"jobid":"job1","event":"NODE_FAIL"}' \
    '{"jobid":"job1","event":"ASYNC_FLUSH_FAIL","bytes":9223372036854775807}'
# the settings of the prefix that is written to
mkdir other
echo SCR_LOG_ENABLE=0 >other/.scrconf
run scr_log_event -T HALT --prefix other
warns 0 "nothing is recorded"
# what is known of runs and failures
rm "$log"
run scr_log_event -T RUN_START --ranks 64 --nodes 16 --nodelist 'n[1-16]' --run 3
is 0 ""
run scr_log_event -T FAILURE --class node --nodelist n3
is 0 ""
logged '{"jobid":"job1","event":"RUN_START","ranks":64,"nodes":16,"nodelist":"n[1-16]","run":3}' \
    '{"jobid":"job1","event":"FAILURE","nodelist":"n3","class":"node"}'
run scr_log_event -T RUN_START --ranks 0
fails 2 "option --ranks"
# a log of that size is renamed when the next event comes
SCR_LOG_SIZE=100 run scr_log_event -T HALT
is 0 ""
check "older events" "$(grep -c . "$log.1")" -eq 2
check "newer events" "$(grep -c . "$log")" -eq 1
# many at once do not mix
rm "$log"
for i in 1 2 3 4 5 6 7 8; do scr_log_event -T NODE_FAIL -N "n$i: gone" & done
wait
check "all lines" "$(grep -c '^{.*"event":"NODE_FAIL","note":"n[1-8]: gone"}$' "$log")" -eq 8

# wrong use
run scr_log_event
fails 2 "what happened? for example --type RUN_START"
run scr_log_event --type RUNSTART
fails 2 'no event is called "RUNSTART" (did you mean RUN_START?)'
run scr_log_transfer --type astrology
fails 2 'no event is called "astrology"; see'
run scr_log_event -T HALT -D 0
fails 2 "option --dset"
run scr_log_event -T HALT -B -1
fails 2 "option --bytes"
run scr_log_event -T HALT -F many
fails 2 "option --files"
for time in yesterday -1 nan inf 9e99; do
    run scr_log_event -T HALT "--start=$time"
    fails 2 "option --start: \"$time\" is no number of seconds"
    run scr_log_event -T HALT "--secs=$time"
    fails 2 "option --secs: \"$time\" is no number of seconds"
done
run scr_log_event -T HALT -p /no/such
fails 2 "/no/such"
rm "$log"
mkdir "$log"
run scr_log_event -T HALT
fails 2 ".scr/log"
rmdir "$log"

# --- what commands record by themselves ---
mkdir bin store
cat >bin/mpirun <<'EOT'
#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }
exec "$@"
EOT
chmod +x bin/mpirun
export PATH="$tmp/bin:$PATH" SCR_CACHE_BASE="$tmp/store" SCR_CNTL_BASE="$tmp/store" SCR_USER_NAME=user1
export SCR_VNODES='n[0-3]' SCR_RUN_SLEEP=0 SCR_MIN_NODES=2
rm -rf .scr
SCR_EXCLUDE_NODES=n3 SCR_RUNS=2 run scr_mpirun sh -c 'exit 3'
has_status 3
logged '{"jobid":"job1","event":"NODE_FAIL","note":"n3: listed in SCR_EXCLUDE_NODES"}' \
    '{"jobid":"job1","event":"RUN_START","note":"run 1 of 2 on 3 of 4 nodes: '"$tmp"'/bin/mpirun sh -c exit 3"}' \
    '{"jobid":"job1","event":"RUN_END","secs":S,"note":"run 1: exit status 3"}' \
    '{"jobid":"job1","event":"RUN_START","note":"run 2 of 2 on 3 of 4 nodes: '"$tmp"'/bin/mpirun sh -c exit 3"}' \
    '{"jobid":"job1","event":"RUN_END","secs":S,"note":"run 2: exit status 3"}'
# a log that cannot be written stops no run and is said once
rm -rf .scr
mkdir -p "$log"
run scr_mpirun sh -c 'exit 0'
has_status 0
check "said once" "$(grep -c 'warning: event log: ' "$err")" -eq 1
rmdir "$log"
SCR_LOG_ENABLE=0 run scr_mpirun sh -c 'exit 0'
has_status 0
check "nothing recorded" ! -e "$log"

# nodes that are found to be down, each with its reason; not those somebody else has found
SCR_EXCLUDE_NODES=n1,n2 run scr_list_down_nodes --log --down n0
is 1 "n[0-2]"
logged '{"jobid":"job1","event":"NODE_FAIL","note":"n1: listed in SCR_EXCLUDE_NODES"}' \
    '{"jobid":"job1","event":"NODE_FAIL","note":"n2: listed in SCR_EXCLUDE_NODES"}'
rm "$log"
SCR_EXCLUDE_NODES=n1,n2 run scr_list_down_nodes
is 1 "n[1-2]"
run scr_list_down_nodes --log
is 0 ""
check "nothing recorded" ! -e "$log"
# the answer does not depend on the log
SCR_NODE_TESTS=EXCLUDE SCR_EXCLUDE_NODES=n1 SCR_PREFIX="$tmp/nowhere" run scr_list_down_nodes --log
has_status 1
warns 1 "event log: "
check "the answer" "$(cat "$out")" = n1
SCR_NODE_TESTS=EXCLUDE SCR_EXCLUDE_NODES=n1 SCR_PREFIX="$tmp/nowhere" SCR_LOG_ENABLE=0 run scr_list_down_nodes --log
is 1 "n1"
check "no word" ! -s "$err"

# a scavenge and how long it took
rm -rf .scr
cli_cache "$tmp/store" user1 job1 7 XOR 4 4 "$tmp" || fail "cli_cache"
run scr_postrun
has 0 "dataset 7: copied from 4 nodes"
logged '{"jobid":"job1","event":"SCAVENGE_START","dset":7,"name":"ckpt.7"}' \
    '{"jobid":"job1","event":"SCAVENGE_END","dset":7,"secs":S}'
