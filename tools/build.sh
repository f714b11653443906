#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Configures a preset where that is not done yet, and builds it; says nothing unless something is wrong.
#
# usage: tools/build.sh PRESET [no-tests]
#
# no-tests leaves the tests, and what only they need, out of a new build; a build that has them keeps them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
tests=ON
[ "${2:-}" != no-tests ] || tests=OFF
cache=build/$preset/CMakeCache.txt
log=build/$preset.log
mkdir -p build

quietly() {
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        exit 1
    fi
}

# A copied or moved checkout has a cache that names the old place.
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    rm -rf "build/${preset:?}"
fi
if [ ! -f "build/$preset/build.ninja" ] || { [ $tests = ON ] && grep -qx 'RESPLIT_BUILD_TESTS:BOOL=OFF' "$cache"; }; then
    quietly cmake --preset "$preset" -DRESPLIT_BUILD_TESTS=$tests
fi
quietly cmake --build "build/$preset"
# Warnings that are no errors are shown all the same.
grep -A3 'warning:' "$log" >&2 || true
