#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages into a fresh Debian system in a directory, which has nothing but what they
# say they need and a compiler, and runs smoke.sh there.
#
#   packaging/debian/check.sh BUILD_DIR     of `make package`
#
# The system is made by mmdebstrap from the package sources of this one; that is removed in any case,
# and what is mounted for it is not seen outside. Where that cannot be, because of rights, mmdebstrap or
# the network, one line says so and the status is 0.
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

# Every file of an installation is in one package, but for the modulefile: these are in the system's
# own directories anyway.
all_files_are_packaged() {
    local deb
    DESTDIR=$work/tree cmake --install "$build" >/dev/null
    (cd "$work/tree" && find . ! -type d ! -path '*/modulefiles/*') | sort >"$work/installed"
    for deb in "$@"; do dpkg-deb --fsys-tarfile "$deb" | tar -t; done |
        grep -v '/$' | sed 's#\(/man/.*\)\.gz$#\1#' | sort >"$work/packaged"
    [ -z "$(uniq -d "$work/packaged")" ] || fail "in two packages: $(uniq -d "$work/packaged")"
    comm -23 "$work/installed" "$work/packaged" >"$work/missing"
    [ ! -s "$work/missing" ] || fail "in no package: $(cat "$work/missing")"
}

shopt -s nullglob
debs=("$build"/*.deb)
[ ${#debs[@]} -ge 3 ] || fail "no packages in $build; run make package"
work=$(mktemp -d "${TMPDIR:-/tmp}/scr-package.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
all_files_are_packaged "${debs[@]}"
echo "package-check: ${#debs[@]} packages have all files"

[ "$(id -u)" = 0 ] || skip "only root can make a system in a directory"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap (apt-get install mmdebstrap)"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mapfile -t needs < <(needed "${debs[@]}")
for need in "${needs[@]}"; do
    apt-cache show "$need" >/dev/null 2>&1 || fail "the packages depend on $need, which apt does not know"
done
include=$(printf '%s,' "${needs[@]}" gcc libc6-dev pkg-config)
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    grep " $suite" >"$work/sources" || skip "apt has no sources for '$suite'"
mmdebstrap --quiet --variant=apt --mode=root --include="${include%,}" \
    --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/doc/*' \
    --dpkgopt=path-include='/usr/share/doc/*scr*' \
    --dpkgopt=force-unsafe-io "$suite" "$work/root" - <"$work/sources" >"$work/log" 2>&1 ||
    skip "mmdebstrap could not make a system: $(tail -n 1 "$work/log")"
echo "package-check: a system with ${needs[*]}"

mkdir "$work/root/check"
cp "${debs[@]}" "$here/smoke.sh" "$work/root/check"
# shellcheck disable=SC2016 # expanded by the inner shell
unshare --mount --pid --fork --propagation private bash -ec '
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys"
    mount -t tmpfs -o mode=1777 scr-check "$1/dev/shm"
    mount -t proc proc "$1/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
        chroot "$1" /bin/sh /check/smoke.sh "$2"' - "$work/root" "$(sed -n 's/^SCR_MPI:[^=]*=//p' "$build/CMakeCache.txt")"
