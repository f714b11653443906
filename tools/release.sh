#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes what a release is: an archive of the sources as they are committed, and, from what is in it, Debian packages and a wheel of
# the Python package. The same commit gives the same archive, byte for byte. What was packaged is tried.
#
# usage: tools/release.sh [OUT]                     (build/release-VERSION)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^#define RESPLIT_VERSION_[A-Z]* \([0-9]*\)$/\1/p' include/resplit.h | paste -s -d .)
name=resplit-$version
out=$(realpath -m "${1:-build/$name}")
work=build/packaging
rm -rf $work
mkdir -p $work "$out"

say() { printf 'release: %s\n' "$*"; }
quietly() {
    if ! "$@" >$work.log 2>&1; then
        tail -n 40 $work.log >&2
        say "failed: $*" >&2
        exit 1
    fi
}
in_sources() { (cd "$work/$name" && "$@"); }

[ -z "$(git status --porcelain)" ] || say "what is not committed is not in it"
git archive --format=tar --prefix="$name/" HEAD | gzip -9 -n >"$out/$name.tar.gz"
say "$name.tar.gz: $(sha256sum "$out/$name.tar.gz" | cut -c1-64)"
tar -xzf "$out/$name.tar.gz" -C $work

quietly in_sources dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes
mv $work/*.deb "$out"
for package in "$out"/*.deb; do
    dpkg-deb -x "$package" $work/installed
done
libraries=$(dirname "$(find "$PWD/$work/installed" -name 'libresplit.so.*' | head -n 1)")
LD_LIBRARY_PATH=$libraries quietly tools/demo.sh $work/installed/usr/bin/resplit
say "Debian packages: $(cd "$out" && echo *.deb)"

quietly in_sources python3 tools/wheel.py "$out/python"
mv "$out"/python/* "$out"
rmdir "$out/python"
say "Python: $(cd "$out" && echo ./*.whl)"
rm -rf $work $work.log
