#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2154 # status and ran are used in it; out, err and tmp are set by lib.sh
# scr_clean: what finished jobs left on a node goes, and nothing else does.
. "${0%/*}/lib.sh"
for name in $(env | sed -n 's/^\(\(SLURM\|LSB\|PBS\|FLUX\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export SCR_CACHE_BASE="$tmp/base" SCR_CNTL_BASE="$tmp/base" SCR_USER_NAME=user1
export SCR_RESOURCE_MANAGER=NONE # whatever this machine has

# left JOB ID PREFIX [output]: dataset ID in the caches of two virtual nodes
left() {
    mkdir -p base "$3/.scr"
    cli_cache "$tmp/base" user1 "$1" "$2" XOR 2 2 "$tmp/$3" ${4:-} || exit 99
    for of in base/vnode.n*/user1/scr."$1"/prefix.*; do
        printf %s "$tmp/$3" >"$of/job.prefix"
        printf %s "$tmp/$of" >"$of/job.cntl"
        : >"$of/job.lock"
    done
}

# save PREFIX ID: a complete dataset of that number in the index
save() {
    run scr_scavenge --prefix "$1" --id "$2" --jobset "$(hostname)"
    for n in 0 1; do
        run scr_copy --cntldir "$(echo "$tmp"/base/vnode.n$n/user1/scr.*/prefix.*)" --id "$2" --prefix "$tmp/$1"
    done
    run scr_index --prefix "$1" --build "$2"
    has_status 0
}

# is_left JOB: what it had is there as it was
is_left() {
    for n in 0 1; do
        check "node n$n still has its files" -n "$(find base/vnode.n$n/user1/scr."$1" -name rank_$n.dat)"
    done
}
is_gone() { check "nothing is left of job $1" -z "$(find base -path "*scr.$1*")"; }

holder=
trap 'kill $holder 2>/dev/null; cd /; rm -rf "$tmp"' EXIT

mkdir base
common scr_clean
run scr_clean
is 0 "nothing to remove"

# --- what is in the prefix directory goes, with empty directories above it ---
left 11 7 p
save p 7
run scr_clean --dry-run
has 0 "node n0: job 11 of $tmp/p: would remove 1 dataset, "
has 0 " in all"
is_left 11
run scr_clean
has 0 "node n1: job 11 of $tmp/p: removed 1 dataset, "
is_gone 11
check "nothing is left at all" -z "$(ls base)"

# --- a run that is killed leaves the redundancy file kept for the next dataset, which is no data ---
left 11 7 p
for dir in base/vnode.n*/user1/scr.11/prefix.*; do
    mkdir -p "$dir/scr.dataset.8/.scr" "$dir/scr.dataset.8/rank.0"
    printf X >"$dir/scr.dataset.8/.scr/spare.0"
done
printf X >"$dir/scr.dataset.8/rank.0/written"
run scr_clean
has 1 "node n0: job 11 of $tmp/p: removed 1 dataset, "
has 1 "node n1: job 11 of $tmp/p: kept, only in cache: dataset 8 (no filemap describes it)"
rm "$dir/scr.dataset.8/rank.0/written"
run scr_clean
has 0 "node n1: job 11 of $tmp/p: removed 1 dataset, "
is_gone 11

# --- what is only in cache stays, and is named ---
left 12 9 q
run scr_clean
has 1 "node n0: job 12 of $tmp/q: kept, only in cache: checkpoint 9 (ckpt.9); --force removes it, SCR_JOB_ID=12 SCR_CNTL_BASE=$tmp/base scr_postrun --prefix $tmp/q saves it"
is_left 12
run scr_clean --dry-run --force
has 0 "would remove 1 dataset"
has 0 "among them, only in cache: checkpoint 9 (ckpt.9)"
is_left 12
run scr_clean --force
has 0 "removed 1 dataset"
is_gone 12

# --- the command that it names saves it, without any setting of the run ---
left 12 9 q
scr_clean >"$out"
saves=$(sed -n 's/^node n0: .* removes it, \(.*\) saves it$/\1/p' "$out")
ran=$saves && env -u SCR_CACHE_BASE -u SCR_CNTL_BASE sh -c "$saves" >"$out" 2>"$err"
status=$?
has 0 "dataset 9 (ckpt.9): complete in $tmp/q"
run scr_clean
has 0 "node n1: job 12 of $tmp/q: removed 1 dataset"
is_gone 12
rm -r q

# --- a checkpoint older than one that is saved goes; output does not ---
left 13 8 r
left 13 9 r
save r 9
run scr_clean
has 0 "removed 2 datasets"
is_gone 13
left 13 5 v output
save v 5
run scr_index --prefix v --delete 5
has 0 "dataset 5: "
run scr_clean # the user did not want it
has 0 "removed 1 dataset"
is_gone 13
left 14 5 s output
left 14 9 s
save s 9
run scr_clean
has 1 "only in cache: output 5 (ckpt.5)"
is_left 14

# --- of which job, and how old ---
mkdir -p t
run scr_clean --force --jobid 99
is 0 "nothing to remove"
run scr_clean --force --older 3d
is 0 "nothing to remove"
find base/vnode.n0 -depth ! -name '*.lock' -exec touch -h -d '4 days ago' {} +
run scr_clean --force --older 3d
has 0 "node n0: job 14"
check "the other node's stays" -d base/vnode.n1 -a ! -e base/vnode.n0
run scr_clean --older lately
fails 2 "\"lately\" is not a time"
run scr_clean --ended
fails 2 "option --jobid is missing"
run scr_clean --force --jobid 14
has 0 "node n1: job 14"

# --- the prefix directory is gone, or another one, or damaged ---
left 15 7 u
rm -r u
run scr_clean
has 1 "kept, only in cache: checkpoint 7 (ckpt.7); its prefix directory is gone, --force removes it"
mkdir -p u/.scr
run scr_clean
has 1 "kept, only in cache: checkpoint 7 (ckpt.7); its prefix directory is another one now, or cannot be read, --force removes it"
rm base/vnode.n*/user1/scr.15/prefix.*/job.prefix
run scr_clean
has 1 "of a prefix directory that is not known"
printf X >"$(echo base/vnode.n0/user1/scr.15/prefix.*/filemap_0.scrinfo)"
run scr_clean
has 1 "what filemaps in $tmp/base/vnode.n0"
has 1 "dataset 7 (no filemap describes it)"
is_left 15
run scr_clean --force
has_status 0
is_gone 15

# --- what is in use stays ---
left 16 7 v
save v 7
dir=$(echo base/vnode.n0/user1/scr.16/prefix.*)
for lock in "$dir/job.lock" "$dir/copy.lock" "$dir/transfer.life.lock" v/.scr/run.scr.lock v/.scr/scavenge.lock; do
    cli_hold "$lock" >/dev/null 2>&1 &
    holder=$!
    until_true grep -q process "$lock"
    run scr_clean
    has 0 "kept, "
    has 0 " in use"
    run scr_clean --jobid 16 --force
    has 1 "node n0: job 16 of $tmp/v: kept, "
    check "$lock is held" -d "$dir"
    kill "$holder"
    wait "$holder" 2>/dev/null
    holder=
    left 16 7 v
done

# --- and so does what may be in use: its lock cannot be read ---
for lock in "$dir/job.lock" v/.scr/runs.lock v/.scr/run.scr.lock v/.scr/scavenge.lock; do
    rm -f "$lock"
    ln -s nowhere "$lock"
    run scr_clean --jobid 16 --force
    has 1 "node n0: job 16 of $tmp/v: kept, it may be in use: "
    check "job 16" -e "$dir/filemap_0.scrinfo"
    rm "$lock"
    left 16 7 v
done

# --- and jobs that run, by the resource manager or as the one we are in ---
mkdir bin
unset SCR_RESOURCE_MANAGER
printf '#!/bin/sh\necho 15\necho 16\n' >bin/squeue
chmod +x bin/squeue
PATH=$tmp/bin:$PATH
run scr_clean
has 0 "job 16 of $tmp/v: kept, the job still runs"
run scr_clean --jobid 16
has 1 "the job still runs"
printf '#!/bin/sh\n{ env | grep "^SQUEUE_"; echo "$*"; } >asked\n' >bin/squeue
run env SQUEUE_PARTITION=big SQUEUE_STATES=PD SINFO_NODES=n9 scr_clean --dry-run --older 3d
is 0 "nothing to remove"
user=$(id -u)
[ "$user" != 0 ] || user=user1
check "asked: $(cat asked)" "$(cat asked)" = "-h -a -u $user -o %A"
printf '#!/bin/sh\necho no controller >&2; exit 1\n' >bin/squeue
run scr_clean
fails 2 "SLURM does not report which jobs run: squeue: exit status 1: no controller; with --jobid and --ended, or SCR_RESOURCE_MANAGER=NONE, it is not asked"
is_left 16
printf '#!/bin/sh\nexit 0\n' >bin/squeue
ran="in the job" && SLURM_JOB_ID=16 SLURM_NODELIST=n1 scr_clean >"$out" 2>"$err"
status=$?
has 0 "kept, the job still runs"
is_left 16

# --- on all nodes: each for itself ---
SCR_VNODES='n[0-1]' scr_clean --all-nodes --dry-run >"$out" 2>"$err"
status=$?
has 0 "n0: node n0: job 16 of $tmp/v: would remove 1 dataset"
has 0 "n1: node n1: job 16 of $tmp/v: would remove 1 dataset"
check "a line a node" "$(wc -l <"$out")" -eq 2
run scr_clean --all-nodes
fails 2 "outside of an allocation"
printf '#!/bin/sh\necho 16\n' >bin/squeue
SCR_VNODES='n[0-1]' scr_clean --all-nodes >"$out" 2>"$err"
status=$?
has 0 "n0: node n0: job 16 of $tmp/v: kept, the job still runs"
SCR_VNODES='n[0-1]' scr_clean --all-nodes --jobid 16 --ended >"$out" 2>"$err"
status=$?
has 0 "n1: node n1: job 16 of $tmp/v: removed 1 dataset"
is_gone 16
export SCR_RESOURCE_MANAGER=NONE

# --- a manager that is known and cannot be asked; it needs no allocation ---
left 17 7 y
save y 7
export SCR_RESOURCE_MANAGER=PBS
run scr_clean
fails 2 "PBS does not report which jobs run: qselect: no such program in PATH; with --jobid"
unset SCR_RESOURCE_MANAGER
ran="in a job of PBS" && PBS_JOBID=18.srv scr_clean >"$out" 2>"$err"
status=$?
fails 2 "PBS does not report which jobs run: qselect: no such program in PATH; with --jobid"
export SCR_RESOURCE_MANAGER=PBS
is_left 17
run scr_clean --jobid 17 --ended --dry-run
has 0 "node n0: job 17 of $tmp/y: would remove 1 dataset"
SCR_VNODES=0 scr_clean --jobid 17 --ended >"$out" 2>"$err"
status=$?
fails 2 "SCR_VNODES=0 (environment): expected node names"
run scr_clean --jobid 17 --ended --all-nodes
fails 2 "PBS_JOBID is not set, so this is outside of its allocations"
printf '#!/bin/sh\necho 17\n' >bin/qselect
chmod +x bin/qselect
run scr_clean
has 0 "node n0: job 17 of $tmp/y: kept, the job still runs"
rm bin/qselect
SCR_RESOURCE_MANAGER=SLURM SLURM_JOB_ID=17 scr_clean --jobid 17 --ended >"$out" 2>"$err" # as an epilog: no list of nodes
status=$?
has 0 "node n0: job 17 of $tmp/y: removed 1 dataset"
is_gone 17
export SCR_RESOURCE_MANAGER=NONE

# --- an element of an array, which PBS lists as one job ---
left '17[5].srv' 7 z
save z 7
printf '#!/bin/sh\necho "17[].srv"\n' >bin/qselect
chmod +x bin/qselect
SCR_RESOURCE_MANAGER=PBS PBS_JOBID=18.srv SCR_NODELIST=n0 scr_clean >"$out" 2>"$err"
status=$?
has 0 "node n0: job 17[5].srv of $tmp/z: kept, the job still runs"
SCR_RESOURCE_MANAGER=PBS PBS_JOBID=18.srv SCR_VNODES='n[0-1]' scr_clean --all-nodes >"$out" 2>"$err"
status=$?
has 0 "n1: node n1: job 17[5].srv of $tmp/z: kept, the job still runs"
is_left '17[5].srv'
run scr_clean --jobid '17[5].srv'
has_status 0
is_gone '17\[5].srv'
rm bin/qselect

# --- empty directories, as tests of nodes and interrupted removals leave them ---
mkdir -p base/user1/scr.19 base/user1/scr.18/prefix.0123456789abcdef
run scr_clean
has 0 "job 19: removed an empty directory"
has 0 "job 18: removed 0 datasets, 0 B"
check "no sum" -z "$(grep "in all" "$out")"
check "nothing is left at all" -z "$(ls base)"

# --- nothing that is none of SCR's, no links, nothing that others can write to ---
mkdir -p base/user1/scr.20/prefix.0123456789abcdef base/user1/scr.20/mine base/user1/other
echo precious >base/user1/scr.20/prefix.0123456789abcdef/notes
run scr_clean --force
has 1 "job 20: kept, $tmp/base/user1/scr.20/prefix.0123456789abcdef refused: nothing in it is of SCR"
check "it is there" -f base/user1/scr.20/prefix.0123456789abcdef/notes -a -d base/user1/scr.20/mine
rm -r base/user1/scr.20
mkdir -p away/prefix.0123456789abcdef
: >away/prefix.0123456789abcdef/job.lock
ln -s "$tmp/away" base/user1/scr.21
run scr_clean --force
has 1 "scr.21 refused: it is a symbolic link"
rm base/user1/scr.21
mkdir base/user1/scr.21
ln -s "$tmp/away/prefix.0123456789abcdef" base/user1/scr.21/prefix.0123456789abcdef
run scr_clean --force
has 1 "refused"
check "it is there" -f away/prefix.0123456789abcdef/job.lock
rm base/user1/scr.21/prefix.0123456789abcdef
mv away/prefix.0123456789abcdef base/user1/scr.21
chmod 777 base/user1/scr.21
run scr_clean --force
has 1 "others may write to it"
check "it is there" -f base/user1/scr.21/prefix.0123456789abcdef/job.lock
chmod 700 base/user1/scr.21
run scr_clean --force
has 0 "job 21: removed 0 datasets"
check "what is none of SCR's is there" -d base/user1/other

# --- the control directory below another base than ours ---
left 22 7 w
save w 7
mkdir -p elsewhere
mv base/vnode.n0 elsewhere
dir=$(echo elsewhere/vnode.n0/user1/scr.22/prefix.*)
mkdir -p "base/${dir#elsewhere/}"
chmod -R go-w base
mv "$dir/scr.dataset.7" "base/${dir#elsewhere/}"
printf %s "$tmp/$dir" >"base/${dir#elsewhere/}/job.cntl"
run scr_clean
has 0 "node n0: job 22 of $tmp/w: removed 1 dataset"
check "both are gone" -z "$(find base elsewhere -path '*scr.22*')"

# --- two users ---
run scr_clean --user no_such_user
fails 2 "user no_such_user is not known here"
other=nobody
if [ "$(id -u)" -ne 0 ]; then
    run scr_clean --user root
    fails 2 "only root or root can do this"
    exit 0
fi
id "$other" >/dev/null 2>&1 || exit 0
left 30 7 x
save x 7
mkdir shared && chmod 1777 shared
cp -r base/vnode.n0/user1 shared/$other
cp -r base/vnode.n0/user1 shared/user1
chown -R "$other" shared/$other
chmod 711 "$tmp"
chmod -R a+rX x
if setpriv --reuid "$other" --clear-groups scr_clean --version >/dev/null 2>&1; then
    printf '#!/bin/sh\necho "$*" >asked\n' >bin/squeue
    : >asked && chmod 666 asked
    ran="as $other" && setpriv --reuid "$other" --clear-groups env -u SCR_RESOURCE_MANAGER scr_clean >"$out" 2>"$err"
    check "asked: $(cat asked)" "$(cat asked)" = "-h -a -u $(id -u "$other") -o %A"
fi
SCR_CACHE_BASE=$tmp/shared SCR_CNTL_BASE=$tmp/shared
sed -i "s,$tmp/base/vnode.n0,$tmp/shared," shared/*/scr.30/prefix.*/job.cntl
ln -s "$tmp/shared/user1/scr.30" shared/$other/scr.31 # a way into the directories of a third
chown -h "$other" shared/$other/scr.31
run scr_clean --user "$other"
has 1 "job 30 of $tmp/x: removed 1 dataset"
has 1 "scr.31 refused: it is a symbolic link"
check "all of it is gone" "$(ls shared/$other)" = scr.31
check "the third user's is there" -d shared/user1/scr.30
mv shared/user1 shared/$other/scr.30
rm shared/$other/scr.31
run scr_clean --user "$other" --force
has 1 "belongs to user 0"
