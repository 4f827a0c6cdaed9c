#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# deb.sh TARBALL DIR [OPTION…]: Debian packages, source and binary, of the tar ball of dist.sh in DIR; the options are
# for dpkg-buildpackage. DEB_BUILD_OPTIONS=parallel=N is the number of processors unless it is set.
set -euo pipefail
ball=$1 dir=$2
shift 2

name=$(basename "$ball" .tar.gz) # scr-4.0.0
# What it replaces is its own.
if [ -e "$dir" ] && [ ! -e "$dir/.packages" ]; then
    echo "deb.sh: $dir is there, and is not of an earlier run: name another directory, or remove it" >&2
    exit 2
fi
rm -rf "$dir"
mkdir -p "$dir"
touch "$dir/.packages"
cp "$ball" "$dir/${name/-/_}.orig.tar.gz"
tar -xzf "$ball" -C "$dir"
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$(nproc)}
cd "$dir/$name"
dpkg-buildpackage -us -uc "$@"
