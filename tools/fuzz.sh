#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every fuzz target for some time, from its corpus. New inputs stay in build/fuzz-corpus; what crashes is left in
# build/fuzz-crashes, named by its target: add it to tests/fuzz/corpus with the fix.
#
# usage: tools/fuzz.sh SECONDS [TARGET...]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

seconds=$1
shift
status=0
mkdir -p build/fuzz-crashes

for program in build/fuzz/tests/live_fuzz_*; do
    name=${program##*/live_fuzz_}
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    mkdir -p "build/fuzz-corpus/$name"
    printf '== %s, %s s\n' "$name" "$seconds"
    if ! "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=0 \
        -artifact_prefix="build/fuzz-crashes/$name-" "build/fuzz-corpus/$name" "tests/fuzz/corpus/$name" \
        >"build/fuzz-$name.log" 2>&1; then
        tail -n 40 "build/fuzz-$name.log"
        status=1
    fi
    grep -E '^Done|DONE' "build/fuzz-$name.log"
done
exit $status
