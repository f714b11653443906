#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Python package and installs it into a virtual environment that has what tests/python/requirements.txt lists. Does
# nothing when the sources are those that were installed last; builds what has changed otherwise.
#
# usage: tools/package.sh VENV
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=$1
stamp=$venv/resplit.stamp
log=build/package.log

sources() {
    find pyproject.toml CMakeLists.txt LICENSE cmake include src cli python docs/man docs/python.md -type f \
        ! -path '*/__pycache__/*' -print0 | sort -z
}

wanted=$(sources | xargs -0 sha256sum | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" = "$PWD $wanted" ]; then
    exit 0
fi
mkdir -p build
# A copied or moved checkout has a cache that names the old place.
cache=build/python/CMakeCache.txt
if [ -f $cache ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" $cache; then
    rm -rf build/python
fi
if ! "$venv/bin/python" -m pip install --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall . >$log 2>&1; then
    cat $log >&2
    exit 1
fi
printf '%s\n' "$PWD $wanted" >"$stamp"
