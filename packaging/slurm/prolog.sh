#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prolog of slurmd: makes the directory of the job's user below each node-local base of the site's configuration, with
# mode 0700. In slurm.conf:
#
#     Prolog=/usr/share/scr/slurm/prolog.sh
#     PrologFlags=Alloc
#
# SCR makes such a directory by itself where the base is writable for all users. With this prolog the base may belong to
# root with mode 0755, and no user can take the name of another. What already has it and is no directory of this user is
# renamed, and the system log has a line.
#
# The status is always 0: any other would drain the node and hold the job, and SCR alone can report what is wrong.
set -u
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin # slurmd sets none; add the directory of scr
user=${SLURM_JOB_USER:-}
cd / || exit 0

say() {
    logger -t scr-prolog "user $user: $*"
}

# make DIR: 1 if the name is taken. It is root's before it is the user's: in a directory with the sticky bit no other
# user can rename it in between.
make() {
    mkdir -m 0700 -- "$1" 2>/dev/null && chown -h "$uid:$gid" -- "$1"
}

# Without warnings; an error is what a second call prints.
list() {
    for kind in control cache; do
        env -i PATH="$PATH" scr cntl_dir --local --base "$kind" || return 1
    done
}

case $user in '' | .* | */*) exit 0 ;; esac
uid=$(id -u "$user" 2>/dev/null) && gid=$(id -g "$user") || { say "this user is not known here"; exit 0; }
bases=$(list 2>/dev/null) || { say "scr cntl_dir: $(list 2>&1)"; exit 0; }
echo "$bases" | sort -u | while read -r base; do
    dir=$base/$user
    [ -d "$base" ] || { say "$base is missing"; continue; }
    make "$dir" && continue
    found=$(stat -c '%u %F' -- "$dir")
    case $found in
    "$uid directory") continue ;;
    "0 directory") # another prolog is about to give it to the user
        chown -h "$uid:$gid" -- "$dir" || say "$dir cannot be given to the user"
        continue
        ;;
    esac
    aside=$base/.refused.$user.$$
    said=$(mv -T -- "$dir" "$aside" 2>&1) && say "$dir was no directory of this user (of $found): renamed to $aside" ||
        say "$said"
    make "$dir" || say "$dir cannot be made"
done
exit 0
