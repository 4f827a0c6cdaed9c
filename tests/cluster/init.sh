#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# init.sh NAME ADDRESS STATE SIZE SHARED...: process 1 of a node of the test bed (bed.py), in
# namespaces of its own. When it ends, the kernel ends all other processes of the node, and the
# node's private storage is gone: SIGKILL from outside is a crash, and so is `kill 1` on the node.
#
# Says its process id as the outside knows it, waits for a line, the name of the network device
# that was plugged in, and starts the node's daemons. SIZE limits each private storage; SHARED
# directories stay shared.
set -eu
name=$1 address=$2 state=$3 size=$4
shift 4
read -r pid _ </proc/self/stat # still the /proc of the outside
echo "$pid"
read -r device
exec </dev/null >"$state/log/$name.init" 2>&1

# private DIR OPTIONS SHARED...: an empty file system on DIR; what is shared below it stays.
private() {
    dir=$1
    mount -n -t tmpfs -o "$2" "$name" /mnt
    shift 2
    for kept in "$@"; do
        case $kept in
        "$dir"/*)
            mkdir -p "/mnt${kept#"$dir"}"
            mount -n --rbind "$kept" "/mnt${kept#"$dir"}"
            ;;
        esac
    done
    mount -n --move /mnt "$dir"
}

hostname "$name"
ip link set lo up
ip address add "$address/24" dev "$device"
ip link set "$device" up
private /run mode=755 "$@"
private /tmp "mode=1777,size=$size" "$@"
private /dev/shm "mode=1777,size=$size" "$@"
# A daemon of Open MPI that ends removes the directory of all sessions when it is empty, also where the
# one of the next run is about to begin its own in there.
mkdir -p "/tmp/ompi.$name.0/kept"
chmod 700 "/tmp/ompi.$name.0"
mount -n -t proc proc /proc
mount -n -t sysfs sysfs /sys # the network devices of this node
mount -n --bind "$state/hosts" /etc/hosts
mount -n --bind "$state/slurm" /etc/slurm

mkdir -m 755 /run/munge
mkdir /run/slurm
export PATH="$PATH:/usr/sbin:/sbin"
munged --force --key-file="$state/munge.key" --seed-file=/run/munge/seed \
    --pid-file=/run/munge/pid --log-file="$state/log/$name.munge"
case $name in
head) slurmctld -D -c -L "$state/log/slurmctld" 2>/dev/null & ;;
*) slurmd -D -L "$state/log/$name.slurmd" 2>/dev/null & ;;
esac
"$state/bin/ssh" --serve &
trap exit TERM
while :; do wait || sleep 1; done # reaps whatever becomes a child of process 1
