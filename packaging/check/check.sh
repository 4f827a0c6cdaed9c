#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages into a fresh Debian system in a directory, which has nothing but what they
# say they need and compilers, and runs smoke.sh there.
#
#   packaging/check/check.sh DIR     of `make package`
#
# The system is made by mmdebstrap from the package sources of this one, through its proxy, and with
# what apt has downloaded here before; it is removed in any case, and what is mounted for it is not seen
# outside. Where that cannot be, because of rights, mmdebstrap or the network, one line says so and the
# status is 0. Packages that depend on something the sources do not have are an error.
set -euo pipefail
build=$1 here=$(dirname "$(realpath "$0")")

skip() {
    echo "package-check: skipped: $*"
    exit 0
}

fail() {
    echo "package-check: $*" >&2
    exit 1
}

# Depends of the packages, as far as others provide them; of alternatives the first.
needed() {
    local deb
    for deb in "$@"; do
        dpkg-deb -f "$deb" Depends
        echo
    done | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/[[:blank:]]//g; /^$/d' | sort -u |
        grep -vxFf <(for deb in "$@"; do dpkg-deb -f "$deb" Package; done)
}

# make_system PACKAGE…: a fresh system with these in $work/root. Lists and packages that apt has here are
# not fetched again; packages are linked, which costs nothing, where that is one file system.
make_system() {
    local suite include lists archives
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    include=$(printf '%s,' "$@")
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep " $suite" >"$work/sources" || skip "apt has no sources for '$suite'"
    apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' >"$work/apt.conf" || true
    eval "$(apt-config shell lists Dir::State::Lists/d archives Dir::Cache::Archives/d)"
    unshare --mount --propagation private mmdebstrap --quiet --variant=apt --mode=root \
        --include="${include%,}" --aptopt="$work/apt.conf" \
        --setup-hook="cp -a '$lists'/*_* \"\$1/var/lib/apt/lists\" || true" \
        --setup-hook="ln -t \"\$1/var/cache/apt/archives\" '$archives'/*.deb 2>/dev/null || true" \
        --skip=cleanup/apt --dpkgopt=force-unsafe-io \
        --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/doc/*' \
        --dpkgopt=path-include='/usr/share/doc/*scr*' \
        "$suite" "$work/root" - <"$work/sources" >"$work/log" 2>&1 && return
    ! grep -q 'Failed to fetch\|Temporary failure\|Could not connect' "$work/log" ||
        skip "the package mirror cannot be reached"
    fail "mmdebstrap could not make a system: $(tail -n 5 "$work/log")"
}

shopt -s nullglob
debs=()
for deb in "$build"/*.deb; do
    case $deb in *-dbgsym_*) ;; *) debs+=("$deb") ;; esac
done
[ ${#debs[@]} -ge 7 ] || fail "no packages in $build; run make package"
work=$(mktemp -d "${TMPDIR:-/tmp}/scr-package.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

[ "$(id -u)" = 0 ] || skip "only root can make a system in a directory"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap (apt-get install mmdebstrap)"
mapfile -t needs < <(needed "${debs[@]}")
make_system "${needs[@]}" gcc gfortran libc6-dev pkg-config
echo "package-check: a system with ${needs[*]}"

mkdir "$work/root/check"
cp "${debs[@]}" "$here/smoke.sh" "$here/../../tests/install/consumer_fortran/consumer.f90" "$work/root/check"
# shellcheck disable=SC2016 # expanded by the inner shell
unshare --mount --pid --fork --propagation private bash -ec '
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys"
    mount -t tmpfs -o mode=1777 scr-check "$1/dev/shm"
    mount -t proc proc "$1/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
        chroot "$1" /bin/sh /check/smoke.sh' - "$work/root"
