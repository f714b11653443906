#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the suites of library and command on a build that counts what is executed, and prints the share of lines and branches, room by
# room. The Python package has a library of its own, so its suites are left out. A test that fails does not stop it:
# those in which the n-th allocation fails do, since what counts allocates, too. Children that libhdf5 is called in tell nothing, so more of
# `format` is executed than is said.
#
# usage: tools/coverage.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$PWD/build/coverage
profiles=$build/profiles
tools/build.sh coverage
rm -rf "$profiles"
mkdir -p "$profiles"
export LLVM_PROFILE_FILE=$profiles/%8m.profraw RESPLIT=$build/resplit RESPLIT_NO_PACKAGE=1 PYTHONDONTWRITEBYTECODE=1 TMPDIR=${TMPDIR:-/dev/shm}
status=0
ctest --test-dir "$build" -j "$(nproc)" --no-label-summary >"$build/ctest.log" 2>&1 || { status=1 && tail -n 20 "$build/ctest.log"; }
build/venv/bin/python -m pytest tests/python -q -p no:cacheprovider --timeout 600 -n "$(nproc)" --dist loadfile --disable-warnings || status=1

llvm-profdata merge -sparse -o "$build/all.profdata" "$profiles"/*.profraw
objects=()
for program in "$build"/resplit "$build"/resplit-mpi "$build"/tests/test_* "$build"/tests/prop_* "$build"/tests/fuzz_*; do
    if [ -x "$program" ] && [ -f "$program" ]; then
        objects+=(-object "$program")
    fi
done
llvm-cov export -summary-only -instr-profile "$build/all.profdata" "$build/libresplit.so" "${objects[@]}" >"$build/coverage.json"
tools/coverage.py "$build/coverage.json"
exit $status
