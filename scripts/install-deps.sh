#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that are missing for what is to be done.
#
#   scripts/install-deps.sh [--print] GROUP...
#
#   GROUP    build | openmpi | mpich | check | check-openmpi | check-mpich | cluster | nfs | package | ci | docs |
#            browser | fuzz
#   --print  only prints the packages that are missing, one a line
#
# Uses apt-get as root or through sudo if that asks for no password; otherwise says what to
# install and exits 2. On a system without dpkg it says so and trusts that all is there.
set -eu

declare -A packages=(
    [build]="gcc libc6-dev make cmake pkg-config libisal-dev libjansson-dev libzstd-dev"
    [openmpi]="openmpi-bin libopenmpi-dev"
    [mpich]="mpich libmpich-dev"
    [check]="g++ libcmocka-dev pandoc clang-format valgrind python3 binutils zstd environment-modules strace gfortran
        mypy python3-pip python3-setuptools python3-wheel shellcheck"
    [check-openmpi]="libhdf5-openmpi-dev lammps python3-mpi4py python3-numpy"
    [check-mpich]="libhdf5-mpich-dev"
    [cluster]="slurmctld slurmd munge libpmix-dev pdsh openssh-client iproute2 procps util-linux"
    [nfs]="user-mode-linux nfs-kernel-server"
    [package]="dpkg-dev debhelper dh-python lintian rpm pandoc mmdebstrap gfortran libopenmpi-dev libmpich-dev"
    [ci]="clang"
    [fuzz]="clang libclang-rt-14-dev"
    [docs]="pandoc python3-sphinx python3-myst-parser furo python3-sphinx-copybutton"
    [browser]="chromium chromium-driver"
)

# Services that some of these bring along. Tests start their own; the machine shall not.
services="slurmctld slurmd munge nfs-kernel-server"

usage() {
    sed -n '3,12s/^# \{0,1\}//p' "$0"
    exit "$1"
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {
    local package
    for package in "$@"; do
        installed "$package" || echo "$package"
    done
}

# Runs a command as root, or fails with 1 when there is no way to do so without a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# Installs without starting a service (policy-rc.d, which invoke-rc.d asks), now or at the next
# boot. One that was there before is left as it is.
install() {
    local policy=/usr/sbin/policy-rc.d service rc=0
    if [ -e "$policy" ]; then
        policy=
    else
        printf '#!/bin/sh\nexit 101\n' | as_root sh -c "umask 022; cat >$policy; chmod 755 $policy"
    fi
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends "$@" || rc=$?
    [ -z "$policy" ] || as_root rm -f "$policy"
    for service in $services; do
        case " $* " in *" $service "*) as_root update-rc.d "$service" disable || true ;; esac
    done
    return $rc
}

only_print=0
wanted=()
for arg in "$@"; do
    case "$arg" in
    --print) only_print=1 ;;
    -h | --help) usage 0 ;;
    *)
        if [ -z "${packages[$arg]:-}" ]; then
            echo "install-deps: unknown group '$arg' (${!packages[*]})" >&2
            exit 2
        fi
        # shellcheck disable=SC2206 # a list of words
        wanted+=(${packages[$arg]})
        ;;
    esac
done
[ ${#wanted[@]} -gt 0 ] || usage 2

if ! command -v dpkg-query >/dev/null; then
    echo "install-deps: no dpkg here; needed are the counterparts of: ${wanted[*]}" >&2
    exit 0
fi
mapfile -t missing < <(missing_of "${wanted[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0
if [ $only_print = 1 ]; then
    printf '%s\n' "${missing[@]}"
    exit 0
fi

if ! as_root true; then
    echo "install-deps: neither root nor sudo without a password; please run" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 2
fi
echo "install-deps: installing ${missing[*]}"
as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y update
install "${missing[@]}"
