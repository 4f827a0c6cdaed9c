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
# moved into a directory of root, and the system log has a line. A directory of root stays, unless it is new: it may be
# of another use. Nothing is made below a base in which other users can rename what root makes.
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

# is_safe DIR: no other user can rename what root makes there.
is_safe() {
    stat -L -c '%u %a' -- "$1" | {
        read -r owner mode && [ "$owner" = 0 ] && { [ $((0$mode & 0022)) = 0 ] || [ $((0$mode & 01000)) != 0 ]; }
    }
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
    is_safe "$base" || { say "$base refused: not of root, or others can write to it without a sticky bit"; continue; }
    make "$dir" && continue
    found=$(stat -c '%u %a %F' -- "$dir")
    case $found in
    "$uid "*" directory") continue ;;
    "0 700 directory") # another prolog is about to give it to the user
        [ -n "$(ls -A -- "$dir")" ] || chown -h "$uid:$gid" -- "$dir"
        [ "$(stat -c %u -- "$dir")" = "$uid" ] || say "$dir is a directory of root: kept"
        continue
        ;;
    "0 "*" directory") say "$dir is a directory of root: kept"; continue ;;
    esac
    # The name is new, as another user could have taken any that can be foreseen.
    aside=$(mktemp -d "$base/.refused.$user.XXXXXX") || { say "no room in $base"; continue; }
    if said=$(mv -T -- "$dir" "$aside/$user" 2>&1); then
        say "$dir was no directory of this user (of ${found%% *} ${found#* * }): moved to $aside"
    else
        say "$said"
        rmdir -- "$aside"
    fi
    make "$dir" || say "$dir cannot be made"
done
exit 0
