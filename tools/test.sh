#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every suite on a build: ctest, then pytest. Both run even when the first fails.
#
# usage: tools/test.sh PRESET
#
# The Python package is always an optimised build, since a sanitizer wants to be in the interpreter, too; so its tests are left out where
# a sanitizer looks on.
#
# Tests see RESPLIT (the command), RESPLIT_SANITIZED=1 when memory and speed are a sanitizer's and not ours, and RESPLIT_NO_PACKAGE=1
# when there is no Python package.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

preset=$1
build=$PWD/build/$preset
status=0

export RESPLIT=$build/resplit
case $preset in
    asan | tsan | fuzz) export RESPLIT_SANITIZED=1 RESPLIT_NO_PACKAGE=1 ;;
esac
export PYTHONDONTWRITEBYTECODE=1
# Every run ends with a sync, which on a busy disk waits for everybody's data: in memory it waits for nobody's.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 8000000 ] 2>/dev/null; then
    export TMPDIR=/dev/shm
fi

ctest --test-dir "$build" --output-on-failure --no-tests=error --no-label-summary -j "$(nproc)" || status=1
[ -n "${RESPLIT_NO_PACKAGE:-}" ] || tools/package.sh build/venv || status=1
# a file is done by one process: what its tests share is made once
build/venv/bin/python -m pytest tests/python -q -p no:cacheprovider --timeout 600 -n "$(nproc)" --dist loadfile || status=1
exit $status
