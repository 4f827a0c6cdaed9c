#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dist.sh DIR [COMMIT]: makes the tar ball of a commit (HEAD), DIR/scr-VERSION.tar.gz, the same bytes each time, and
# DIR/spack, a repository for Spack whose recipe builds this tar ball. Prints its path.
set -euo pipefail
dir=$(realpath -m "$1") commit=${2:-HEAD}
cd "$(dirname "$0")/.."

# archive PREFIX [PATH...]
archive() {
    local prefix=$1
    shift
    git -c safe.directory="$PWD" -c tar.umask=0022 archive --format=tar --prefix="$prefix" "$commit" "$@"
}

[ -e .git ] || {
    echo "dist: this is no clone: a tar ball is made from what git has" >&2
    exit 1
}
mkdir -p "$dir"
version=$(archive "" CMakeLists.txt | tar -xO | sed -n 's/^project(scr VERSION \([0-9.]*\).*/\1/p')
ball=scr-$version.tar.gz
archive "scr-$version/" | gzip -9n >"$dir/$ball.tmp"
mv "$dir/$ball.tmp" "$dir/$ball"

# The recipe in the tree builds the clone around it.
rm -rf "$dir/spack"
archive "" packaging/spack | tar -x --strip-components=1 -C "$dir"
url="\"file://\" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, \"$ball\"))"
sum=$(sha256sum "$dir/$ball")
sed -i -e "s|^    git = .*|    url = $url|" \
    -e "s|^    version(.*|    version(\"$version\", sha256=\"${sum%% *}\")|" "$dir/spack/packages/scr/package.py"
echo "$dir/$ball"
