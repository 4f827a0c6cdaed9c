#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # ran is used in it; out, err and tmp are set by lib.sh
# scr_postrun: what is only in the caches of virtual nodes goes to the prefix.
. "${0%/*}/lib.sh"
. "${0%/*}/lib_caches.sh"

# saved ID: all files of the dataset are in place, and right
saved() {
    for r in $(seq 0 $((ranks - 1))); do
        cksum <"p/ckpt.$1/rank_$r.dat"
    done | diff "sums.$1" - >/dev/null || fail "files of dataset $1 differ from those in cache"
    check "nothing waits any more" ! -e "p/.scr/scr.dataset.$1/files"
    run scr_flush_file --need-flush "$1"
    is 1 ""
}

# listed LINE…: what scr_index tells, without the times
listed() {
    run scr_index
    has_status 0
    sed 's/ [0-9-]*T[0-9:]*//; s/ NO    -  */ NO    /; 1d; s/ *$//' "$out" >.list
    printf '%s\n' "$@" | diff - .list >/dev/null || fail "expected: $*"
}

clean
common scr_postrun

# --- nothing to do ---
clean
run scr_postrun
is 0 "nothing to save: no SCR data in $p: give the prefix directory with --prefix"
run env SCR_ENABLE=0 scr_postrun
is 0 "nothing to save: SCR is disabled by SCR_ENABLE=0"
run scr_postrun --prefix "$tmp/none"
fails 2 "none"

# --- all nodes are left ---
clean
job 7 XOR 4 4
run env SCR_JOB_ID=other scr_postrun --dry-run # has nothing in its caches
is 0 "nothing to save: nothing is in cache"
run scr_postrun -j n1 --dry-run
fails 2 "launcher n1 is not known"
run scr_postrun -v -j srun --dry-run # as job scripts for SCR 3.1 have it
is 0 "checkpoint 7 (ckpt.7) is in cache only"
check "nothing was done" ! -e p/ckpt.7
# another prefix directory of the job has nothing of that
mkdir q
run scr_postrun --prefix "$tmp/q"
is 0 "nothing to save: no SCR data in $tmp/q: give the prefix directory with --prefix"
for command in "scr why" scr_inspect "scr verify --cache" "scr_index --list"; do
    # shellcheck disable=SC2086 # a command and its operands
    SCR_PREFIX=$tmp/q run $command
    ! grep -q "ckpt.7" "$out" || fail "ckpt.7 is of another prefix directory"
done
rm -r q
run scr_postrun
has 0 "checkpoint 7 (ckpt.7) is in cache only: saving it"
has 0 "dataset 7 (ckpt.7): complete in $p, 4 files"
check "silent" ! -s "$err"
saved 7
listed '*     7 YES   ckpt.7'
run scr_postrun
is 0 "nothing to save: all that is in cache is in the prefix directory, was deleted there, or is older"

# --- one node lost: every scheme, every node; told, found out, or come back empty ---
for scheme in PARTNER XOR RS; do
    for lost in 0 1 2; do
        for how in told empty; do
            clean
            job 7 $scheme 3 3
            rm -rf "base/vnode.n$lost"
            if [ $how = told ]; then
                run scr_postrun --down "n$lost"
                has 0 "nodes n$lost are lost"
            else
                run scr_postrun
            fi
            has 0 ", 1 rank rebuilt"
            saved 7
        done
    done
done

# --- told to the event log, if there is one ---
clean
job 7 XOR 3 3
run env SCR_LOG_ENABLE=1 scr_postrun
has_status 0
grep -q '"event":"SCAVENGE_START".*"dset":7' p/.scr/log || fail "SCAVENGE_START is not in the log"
grep -q '"event":"SCAVENGE_END".*"secs":' p/.scr/log || fail "SCAVENGE_END is not in the log"

# --- a copy in the prefix directory that turned out to be damaged: the cache still has it ---
cli_mark "$p" 7
printf X | dd of=p/ckpt.7/rank_1.dat bs=1 seek=5 conv=notrunc 2>/dev/null
listed '      7 NO    ckpt.7'
run scr_flush_file --need-flush 7 # whatever flush.scr says
is 0 ""
run scr_flush_file --location 7
is 0 CACHE
run scr_postrun
has_status 0
saved 7
listed '*     7 YES   ckpt.7'

# --- damage ---
for scheme in PARTNER XOR RS; do
    clean
    job 7 $scheme 3 3
    printf X | dd of="$(at 1)/scr.dataset.7/rank.1/rank_1.dat" bs=1 seek=5 \
        conv=notrunc 2>/dev/null
    run scr_postrun
    has 0 ", 1 rank rebuilt"
    warns 0 "node n1: scr copy: warning: rank 1: copy "
    saved 7
done

# --- the newest is lost: the next older one, and what the index says ---
clean
job 5 XOR 4 4
job 6 RS 4 4
job 7 XOR 4 4
rm "$(at 1)/scr.dataset.7/rank.1"/*
rm "$(at 2)/scr.dataset.7/rank.2"/*
run scr_postrun
has 1 "dataset 6 (ckpt.6): complete in"
warns 1 "dataset 7 (ckpt.7) is not saved: dataset 7 is not whole"
saved 6
listed '      7 NO    ckpt.7' '*     6 YES   ckpt.6'
check "nothing of 7 is in place" ! -e p/ckpt.7
check "5 was not touched" ! -e p/ckpt.5
run scr_postrun
has 1 "checkpoint 6 in $p is the newest there is"

# --- it can be made whole later ---
clean
job 7 XOR 4 4
cp -a base/vnode.n1 base/vnode.n2 .
rm -rf base/vnode.n1 base/vnode.n2
run scr_postrun
warns 1 "is not saved"
mv vnode.n1 base
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"
saved 7
rm -rf vnode.n2

# --- output first, oldest first, then the checkpoint ---
clean
job 3 XOR 3 3 output
job 4 XOR 3 3
job 5 XOR 3 3 output
job 6 XOR 3 3
run scr_postrun
has 0 "checkpoint 6 (ckpt.6)"
grep ' in cache only' "$out" | sed 's/ (.*//' >.order
printf '%s\n' 'output 3' 'output 5' 'checkpoint 6' | diff - .order || fail "order"
listed '*     6 YES   ckpt.6' '      5 YES   ckpt.5' '      3 YES   ckpt.3'

# --- output that was deleted from the prefix directory is neither saved again nor missed ---
clean
job 3 XOR 3 3 output
job 6 XOR 3 3
run scr_postrun
has 0 "dataset 3 (ckpt.3): complete in"
run scr_index --delete 3
has 0 "dataset 3: "
run scr_index
has_status 0
check "what was deleted needs no copy" -z "$(grep 'only in cache' "$err")"
run scr_postrun
check "nor gets one" -z "$(grep ckpt.3 "$out" "$err")"
rm "$(at 0)/scr.dataset.3/rank.0"/* "$(at 1)/scr.dataset.3/rank.1"/*
run scr_have_restart
is 0 ckpt.6
listed '*     6 YES   ckpt.6'

# --- a lost output does not keep the others ---
clean
job 3 SINGLE 3 1 output
job 5 XOR 3 3 output
job 6 XOR 3 3
rm "$(at 1)/scr.dataset.3/rank.1"/*
run scr_postrun
warns 1 "dataset 3 (ckpt.3) is not saved"
warns 1 "output is lost: ckpt.3 (dataset 3); a run from a newer checkpoint does not write it again, and no older one exists"
saved 5
saved 6

# --- the way back before a lost output, if there is one ---
clean
job 2 XOR 3 3
run scr_postrun
has 0 "dataset 2 (ckpt.2): complete in"
job 3 SINGLE 3 1 output
job 4 SINGLE 3 1 output
job 6 XOR 3 3
rm "$(at 1)/scr.dataset.3/rank.1"/* "$(at 1)/scr.dataset.4/rank.1"/*
run scr_postrun
warns 1 "output is lost: ckpt.3 (dataset 3), ckpt.4 (dataset 4); a run from a newer checkpoint does not write it again: the next run goes back to ckpt.2; SCR_CURRENT takes another one"
saved 6
listed '      6 YES   ckpt.6' '      4 NO    ckpt.4' '      3 NO    ckpt.3' '*     2 YES   ckpt.2'
scr_index --current ckpt.6
run scr_have_restart # the job that lost it goes back all the same
is 0 ckpt.2
SCR_CURRENT=ckpt.6 run scr_have_restart
is 0 ckpt.6
clean
job 2 XOR 3 3
run scr_postrun
job 3 SINGLE 3 1 output
job 6 XOR 3 3
rm "$(at 1)/scr.dataset.3/rank.1"/*
run env SCR_RESTART_PAST_LOST_OUTPUT=1 scr_postrun
warns 1 "does not write it again: SCR_CURRENT=ckpt.2 goes back before it"
listed '*     6 YES   ckpt.6' '      3 NO    ckpt.3' '      2 YES   ckpt.2'

# --- the flush file is lost, damaged: the caches tell ---
for what in gone damaged; do
    clean
    job 7 XOR 3 3
    if [ $what = gone ]; then rm p/.scr/flush.scr; else echo x >p/.scr/flush.scr; fi
    run scr_postrun
    has 0 "dataset 7 (ckpt.7): complete in"
    [ $what = gone ] || warns 0 "going by the caches in reach"
    run scr_flush_file --location 7 # for when it is dropped from the index
    is 0 "CACHE PFS"
done

# --- the flush file knows of an older one only: nothing could be noted when the newer one was written ---
clean
job 5 XOR 3 3
cp p/.scr/flush.scr .older
job 6 XOR 3 3
cp .older p/.scr/flush.scr
run scr_postrun
has 0 "dataset 6 (ckpt.6): complete in"
saved 6

# --- another job has the number ---
clean
job 7 XOR 3 3
mkdir p/other
echo x >p/other/rank_0.dat
run scr_index --add-directory other 'rank_%r.dat' --id 7
has_status 0
run scr_postrun
warns 1 "another job uses this prefix; to free the number: scr_index --prefix $p --delete 7 --force, and before that scr_index --prefix $p --extract 7 --to DIR, which"
cp "$err" .told
listed '*     7 YES   other'
command=$(sed 's/.*before that \(scr_index .*\) DIR, which.*/\1/' .told)
eval "$command away" >/dev/null || fail "extract as it says"
check "a copy" "$(cat away/other/rank_0.dat)" = x
command=$(sed 's/.*the number: \(scr_index [^,]*\), and.*/\1/' .told)
eval "$command" >/dev/null || fail "delete as it says"
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"
saved 7
rm -r away

# --- what is on its way to the same paths is given up, and nothing else ---
clean
job 7 XOR 3 3
run scr_postrun
mkdir lists
cp p/.scr/scr.dataset.7/rank2file* lists
clean
for id in 5 6; do
    job $id XOR 3 3
    run scr_postrun
    has_status 0
done
cp lists/* p/.scr/scr.dataset.5
cli_arrive "$p" 5 pending
cli_arrive "$p" 6 pending
job 7 XOR 3 3
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"
check "one is given up" ! -e p/.scr/scr.dataset.5/outgoing.scr
check "the other is not" -e p/.scr/scr.dataset.6/outgoing.scr
listed '*     7 YES   ckpt.7' '      6 NO    ckpt.6'

# --- another job wrote files of the same names under a smaller number: it has not lost what it made later ---
for later in "" later; do
    clean
    job 7 XOR 3 3
    cli_cache "$tmp/base" user other 6 XOR 3 3 "$p" $later || exit 99
    run env SCR_JOB_ID=other scr_postrun
    has 0 "dataset 6 (ckpt.6): complete in"
    cp lists/* p/.scr/scr.dataset.6
    mkdir p/ckpt.7
    echo theirs >p/ckpt.7/rank_0.dat
    run scr_postrun
    if [ -n "$later" ]; then
        warns 1 "not saved: dataset 7 is not whole: its files were written over by dataset 6, made later by job other"
        check "what was made later stays" "$(cat p/ckpt.7/rank_0.dat)" = theirs
        listed '      7 NO    ckpt.7' '*     6 YES   ckpt.6'
        run scr_index --drop ckpt.6
        has_status 0
        run scr_postrun
    fi
    has 0 "dataset 7 (ckpt.7): complete in"
    saved 7
done

# of such a dataset a damaged list keeps nothing from being saved
clean
job 7 XOR 3 3
cli_cache "$tmp/base" user other 6 XOR 3 3 "$p" later || exit 99
SCR_JOB_ID=other scr_postrun >"$out" || fail "the other one is not saved"
echo damaged >p/.scr/scr.dataset.6/rank2file
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"

# --- no node is left; no space; no permission; killed ---
clean
job 7 XOR 3 3
run scr_postrun --down 'n[0-2]'
fails 2 "no node of the job is left"
run scr_postrun --timeout never
fails 2 "\"never\" is not a time"
run scr_postrun --jobset 'n[0'
fails 2 "n[0"
SCR_END_TIME=$(($(date +%s) - 60))
export SCR_END_TIME
run scr_postrun
warns 0 "the job should have ended"
saved 7
unset SCR_END_TIME
clean
job 7 XOR 3 3
rm -rf p/.scr/scr.dataset.7
echo "in the way" >p/.scr/scr.dataset.7
run scr_postrun
warns 2 "scr.dataset.7"
rm p/.scr/scr.dataset.7
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"
saved 7

# what keeps nodes from copying is no loss, and no older checkpoint is taken for it
clean
job 6 XOR 3 3
job 7 XOR 3 3
mkdir p/.scr/scr.dataset.7
echo "in the way" >p/.scr/scr.dataset.7/files
run scr_postrun
warns 2 "dataset 7 (ckpt.7) is not saved yet, try again: node n0: "
check "6 was not touched" ! -e p/ckpt.6
rm p/.scr/scr.dataset.7/files
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"

# a destination that is a directory: nothing is replaced, and when it is gone it goes on
clean
job 7 XOR 3 3
mkdir -p p/ckpt.7/rank_1.dat
run scr_postrun
warns 2 "is a directory, expected a file"
check "nothing is in place" ! -e p/ckpt.7/rank_0.dat
rmdir p/ckpt.7/rank_1.dat
run scr_postrun
has 0 "dataset 7 (ckpt.7): complete in"
saved 7

# killed at some instant: the next one finishes
clean
job 7 XOR 8 4
for pause in 0.01 0.02 0.03 0.05 0.08; do
    timeout -s KILL $pause scr_postrun >/dev/null 2>&1
done
run scr_postrun
has_status 0
saved 7
listed '*     7 YES   ckpt.7'

# killed when all was in place and entered, and not tidied up yet
mkdir -p p/.scr/scr.dataset.7/files/ckpt.7
cp p/ckpt.7/rank_0.dat p/.scr/scr.dataset.7/files/ckpt.7
run scr_postrun --dry-run
has_status 0
check "only looked at" -e p/.scr/scr.dataset.7/files
run scr_postrun
has_status 0
saved 7

# --- a flush that was killed, which left files under temporary names ---
clean
job 7 XOR 3 3
run scr_postrun
parts() { find p -name '.scr-part*' | wc -l; }
for rank in 0 1; do cli_part "$p/ckpt.7/rank_$rank.dat" $rank || exit 99; done
cli_part "$p/ckpt.7/other.dat" 0 || exit 99
mark=p/.scr/scr.dataset.7/flushing.lock
cli_hold "$mark" &
holder=$!
until_true test -s "$mark"
run scr_postrun
has_status 0
check "a process holds the mark" "$(parts)" -eq 3
kill $holder
wait $holder
run scr_postrun --dry-run
has_status 0
check "only looked at" "$(parts)" -eq 3
run scr_postrun
has 0 "2 temporary files of killed flushes removed"
check "those of other paths stay" "$(parts)" -eq 1
check "the mark has gone" ! -e "$mark"
run scr_postrun
is 0 "nothing to save: all that is in cache is in the prefix directory, was deleted there, or is older"

# --- temporary files of state files whose replacement was killed: a day later ---
for name in .index.scr.4711.0.tmp .flush.scr.4711.0.tmp scr.dataset.7/.summary.scr.4711.0.tmp; do : >"p/.scr/$name"; done
touch -d '2 days ago' p/.scr/.index.scr.4711.0.tmp p/.scr/scr.dataset.7/.summary.scr.4711.0.tmp
run scr_postrun
has_status 0
check "only the young one stays" "$(find p/.scr -name '*.tmp')" = p/.scr/.flush.scr.4711.0.tmp

# --- no space: as root only, who can make a small file system ---
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=256k none small 2>/dev/null; then
    trap 'cd /; umount "$tmp/small"; rm -rf "$tmp"' EXIT
    clean
    p=$tmp/small SCR_PREFIX=$tmp/small
    job 7 XOR 4 4
    head -c 215000 /dev/zero >small/fill
    run scr_postrun
    warns 2 "no space left on device"
    rm small/fill
    run scr_postrun
    has 0 "dataset 7 (ckpt.7): complete in"
    p=$tmp/p SCR_PREFIX=$tmp/p
fi

# --- what Slurm says of nodes, and one that hangs; ssh runs the command on a virtual node ---
mkdir bin
cat >bin/ssh <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    [ "$1" != -l ] || shift
    shift
done
echo "$1" >>"$SCR_TEST_CALLS"
[ ! -e "hangs.$1" ] || exec sleep 600
if [ -e "hangs.once.$1" ]; then
    rm "hangs.once.$1"
    exec sleep 600
fi
export SCR_VNODES="$1"
shift
exec sh -c "$*"
EOF
cat >bin/sinfo <<'EOF'
#!/bin/sh
cat states
EOF
cat >bin/squeue <<'EOF'
#!/bin/sh
case $* in
*%e) echo NONE ;;
*) echo 'n[0-2]' ;;
esac
EOF
chmod +x bin/*
# by_ssh COMMAND…
by_ssh() {
    run env -u SCR_VNODES PATH="$tmp/bin:$PATH" SLURM_JOBID=1 SCR_NODELIST='n[0-2]' \
        SCR_TEST_CALLS="$tmp/calls" SCR_REMOTE=SSH "$@"
}

# drained nodes have still what they had in cache
clean
job 7 XOR 3 3
printf 'n0 draining disk errors\nn1 drained none\nn2 allocated none\n' >states
by_ssh scr_postrun
has 0 "dataset 7: copied from 3 nodes"
saved 7
clean
job 7 XOR 3 3
rm -rf base/vnode.n1
printf 'n0 draining disk errors\nn1 down* Not responding\nn2 allocated none\n' >states
by_ssh scr_postrun
has 0 "nodes n1 are lost"
has 0 ", 1 rank rebuilt"
saved 7

# a manager that does not answer
clean
job 7 XOR 3 3
rm -f states
by_ssh scr_postrun
warns 0 "SLURM does not report which nodes are down: sinfo"
saved 7

# a node that hangs is asked once, for all datasets
clean
job 6 XOR 3 3 output
job 7 XOR 3 3
: >states
: >hangs.n1
: >calls
start=$(date +%s)
by_ssh scr_postrun --timeout 16
has 0 "dataset 6: copied from 2 nodes"
has 0 "dataset 7: copied from 2 nodes"
check "in time" $(($(date +%s) - start)) -lt 100 # of 600
check "asked once" "$(grep -c n1 calls)" -eq 1
saved 6
saved 7
rm hangs.n1
# most of them late: that is no matter of nodes
clean
job 7 XOR 3 3
touch hangs.once.n0 hangs.once.n1 hangs.once.n2
by_ssh scr_postrun --timeout 16
has 0 "dataset 7: most nodes take longer, going on for "
has 0 "dataset 7: copied from 3 nodes"
saved 7

# --- it is killed while nodes copy: what they do ends with it, or when the next one begins ---
clean
job 7 XOR 3 3
cat >bin/ssh.first <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
echo $$ >>copying
export SCR_VNODES="$1"
shift
until [ -e go ]; do sleep 0.1; done
sh -c "$*" >"said.$$" 2>&1
EOF
chmod +x bin/ssh.first
mv bin/ssh bin/ssh.kept
are() { [ -s copying ] && [ "$(wc -l <copying)" -eq "$1" ]; }
are_gone() {
    for copy in $(cat copying); do
        ! kill -0 "$copy" || return 1
    done
}
for signal in TERM KILL; do
    rm -f copying said.*
    cp bin/ssh.first bin/ssh
    env -u SCR_VNODES PATH="$tmp/bin:$PATH" SLURM_JOBID=1 SCR_NODELIST='n[0-2]' SCR_REMOTE=SSH \
        scr_postrun >"$out" 2>"$err" &
    pid=$! ran="scr_postrun, SIG$signal"
    until_true are 3
    kill -$signal $pid
    wait $pid
    [ $signal = KILL ] || until_true are_gone
done
cp bin/ssh.kept bin/ssh
by_ssh scr_postrun
saved 7
touch go
until_true are_gone
for said in said.*; do
    grep -q "the scavenge that started this copy has ended" "$said" || fail "$(cat "$said")"
done

# --- not while a run uses a cache ---
clean
job 7 XOR 3 3
cli_hold "$(at 1)/job.lock" &
holder=$!
until_true test -s "$(at 1)/job.lock"
run scr_postrun
fails 2 "$(at 1) is in use by a run (process $holder, "
run scr_scavenge --id 7
fails 2 "is in use by a run"
# what is asked for is not what the run uses
run scr_scavenge --id 7 --up n2 --from "$(at 2)"
has_status 0
run scr_scavenge --id 7 --up n1 --from "$(at 1)"
fails 2 "error: node n1: scr copy: error: "
# the cache is on other nodes only
cat >bin/ssh <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
export SCR_VNODES="$1"
shift
exec sh -c "$(echo "$*" | sed 's:/elsewhere:/base:g')"
EOF
mkdir elsewhere
SCR_CNTL_BASE="$tmp/elsewhere" SCR_CACHE_BASE="$tmp/elsewhere" by_ssh scr_postrun
fails 2 "scr_postrun: error: node n1: scr copy: error: "
cp bin/ssh.kept bin/ssh
run scr_postrun --ended
has_status 0
saved 7
kill $holder
wait $holder

# what waits for its place is nobody else's to read
clean
job 7 XOR 3 3
rm -rf base/vnode.n1 base/vnode.n2
run scr_postrun
has_status 1
check "private" "$(stat -c %a p/.scr/scr.dataset.7/files)" = 700
