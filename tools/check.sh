#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that must hold before a change is handed in, the cheap checks first. Says which ones failed at the end.
#
# usage: tools/check.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

failed=()

# step NAME COMMAND...
step() {
    local name=$1
    shift
    printf '== %s\n' "$name"
    "$@" || failed+=("$name")
}

c_files() { find src cli include python tests bench experiments -name '*.[ch]' | sort; }
scripts() {
    printf '.ci/run\n'
    find tools tests bench experiments -name '*.sh' | sort
}

shell_syntax() {
    local script status=0
    while read -r script; do
        bash -n "$script" || status=1
    done < <(scripts)
    if command -v shellcheck >/dev/null; then
        scripts | xargs shellcheck -S warning || status=1
    fi
    bash -n completions/resplit.bash || status=1
    return $status
}

man_page() {
    local said
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning docs/man/resplit.1
        return
    fi
    said=$(groff -man -ww -z docs/man/resplit.1 2>&1)
    [ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
}

tidy() { find src cli -name '*.c' | sort | xargs -n 1 -P "$(nproc)" clang-tidy -p build/clang --quiet 2>/dev/null; }

format() { c_files | xargs clang-format --dry-run --Werror; }

gcc_build() { tools/build.sh gcc && python3 tools/check_exports.py include/resplit.h build/gcc/libresplit.so; }

sanitizers() { tools/build.sh asan && tools/test.sh asan; }

python_types() { build/venv/bin/python -m mypy; }

no_stray_paths() {
    # A file that names a home or a checkout works on one machine only.
    ! git grep -nIE '/(home|root|Users)/[a-z]' -- . ':!tests/fuzz/corpus' ':!tools/check.sh'
}

step "includes" python3 tools/check_includes.py
step "format" format
step "shell scripts" shell_syntax
step "man page" man_page
step "paths" no_stray_paths
step "python: types" python_types
step "gcc: warnings, exports" gcc_build
step "clang: warnings" tools/build.sh clang
step "clang-tidy" tidy
step "sanitizers" sanitizers

if [ ${#failed[@]} -gt 0 ]; then
    printf 'check: failed: %s\n' "$(printf '%s; ' "${failed[@]}")" >&2
    exit 1
fi
echo "check: all passed"
