#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Epilog of slurmd: removes what a finished job left in the caches of this node. In slurm.conf:
#
#     Epilog=/usr/share/scr/slurm/epilog.sh
#
# Below each node-local base of the site's configuration this is <base>/<user>/scr.<job>. Directories of other jobs,
# of other users and of stores that all nodes share stay. The parallel file system is not touched: thousands of epilogs
# run at once. What was only in these caches is lost then: the job saves it with scr_postrun before it ends.
#
# The removal runs with the rights of the user, in the directory <base>/<user> after it was entered. If that is a symbolic
# link or a directory of another user, what is in it may be other directories of this one: nothing is removed then. The
# status is always 0: any other would drain the node.
set -u
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin # slurmd sets none; add the directory of scr
job=${SLURM_JOB_ID:-} user=${SLURM_JOB_USER:-}
cd / || exit 0

say() {
    logger -t scr-epilog "job $job of $user: $*"
}

# Without warnings; an error is what a second call prints.
list() {
    for kind in control cache; do
        env -i PATH="$PATH" scr cntl_dir --local --base "$kind" || return 1
    done
}

case $job in '' | *[!0-9]*) exit 0 ;; esac
case $user in '' | .* | */*) exit 0 ;; esac
uid=$(id -u "$user" 2>/dev/null) && gid=$(id -g "$user") || { say "this user is not known here"; exit 0; }
bases=$(list 2>/dev/null) || { say "scr cntl_dir: $(list 2>&1)"; exit 0; }
# remove BASE USER DIR: as the user, who alone may own BASE/USER. A directory that has no write permission keeps what is
# in it until its owner gives that permission again.
# shellcheck disable=SC2016 # the shell of the user expands it
remove='[ ! -L "$1/$2" ] || { echo "$1/$2 is a symbolic link: kept"; exit 1; }
[ -d "$1/$2" ] || exit 0
cd -P -- "$1/$2" || exit 1
[ "$(pwd -P)" = "$1/$2" ] || { echo "$1/$2 is a symbolic link: kept"; exit 1; }
[ "$(stat -c %u .)" = "$(id -u)" ] || { echo "$1/$2 is a directory of another user: kept"; exit 1; }
rm -rf --one-file-system -- "$3" 2>/dev/null && exit 0
find "./$3" -xdev -type d -exec chmod u+rwx -- {} \;
rm -rf --one-file-system -- "$3"'
echo "$bases" | sort -u | while read -r base; do
    base=$(cd -P -- "$base" 2>/dev/null && pwd -P) || continue
    left=$(setpriv --reuid "$uid" --regid "$gid" --clear-groups sh -c "$remove" sh "${base%/}" "$user" "scr.$job" 2>&1) ||
        say "$left"
done
exit 0
