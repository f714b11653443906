#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes sure that what a command of the Makefile needs is installed. Looks first: when nothing is missing it calls no
# package manager and uses no network.
#
# usage: tools/bootstrap.sh build|test|check|fuzz|bench|release
#
#   build   compiler, CMake, Ninja, liburing, libhdf5, the libraries of codecs
#   test    build, and C++ compiler, cmocka, strace, zstd, tools of formats, MPI, Python and its headers, with a virtual environment in build/venv
#   check   test, and clang, llvm, clang-tidy, clang-format, groff
#   fuzz    build, and clang with its fuzzer, cmocka, Python
#   bench   test, and FUSE and matplotlib, for the experiments
#   release build, and debhelper, Python
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-build}
missing=()

say() { printf 'bootstrap: %s\n' "$*" >&2; }

# need PACKAGES COMMAND...: the packages are missing unless the command succeeds.
need() {
    local packages=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        read -ra list <<<"$packages"
        missing+=("${list[@]}")
    fi
}

have() { command -v "$1"; }
compiles() { printf '#include <stdio.h>\nint main(void) { return 0; }\n' | "$@" - -o /dev/null; }
includes() { printf '#include <stdio.h>\n#include <%s>\nint main(void) { return 0; }\n' "$1" | cc -x c - -o /dev/null; }
python_headers() { python3 -c 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")'; }
hdf5() { pkg-config --exists hdf5-serial || pkg-config --exists hdf5; }
fuse() { pkg-config --exists fuse3 && have fusermount3; }
mpi() { have mpicc && have mpirun; }
fuzzes() {
    printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { (void)d; (void)n; return 0; }\n' \
        | clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null
}

look() {
    missing=()
    need cmake have cmake
    need ninja-build have ninja
    need "gcc libc6-dev" compiles cc -x c
    need pkg-config have pkg-config
    need liburing-dev pkg-config --exists liburing
    need libzstd-dev pkg-config --exists libzstd
    need liblz4-dev pkg-config --exists liblz4
    need libblosc-dev pkg-config --exists blosc
    need libdeflate-dev pkg-config --exists libdeflate
    need liblzma-dev pkg-config --exists liblzma
    need zlib1g-dev pkg-config --exists zlib
    need libbz2-dev includes bzlib.h
    need libhdf5-dev hdf5
    case $what in
        build) return ;;
        release)
            need debhelper have dh
            need "dpkg-dev fakeroot" have dpkg-buildpackage
            need python3-venv python3 -c 'import venv, ensurepip'
            need python3-dev python_headers
            return
            ;;
    esac
    need libcmocka-dev pkg-config --exists cmocka
    need "g++" compiles c++ -x c++
    need python3 have python3
    need python3-venv python3 -c 'import venv, ensurepip'
    need python3-dev python_headers
    case $what in
        test | check | bench)
            need strace have strace
            need zstd have zstd
            need hdf5-tools have h5dump
            need netcdf-bin have nccopy
            need nifti-bin have nifti_tool
            need minc-tools have voxeltoworld
            need "libopenmpi-dev openmpi-bin" mpi
            ;;
    esac
    case $what in
        check)
            need gcc have gcc
            need "clang libclang-rt-14-dev" fuzzes
            need llvm have llvm-cov
            need clang-tidy have clang-tidy
            need clang-format have clang-format
            need groff-base have groff
            ;;
        fuzz)
            need "clang libclang-rt-14-dev" fuzzes
            ;;
        bench)
            need "libfuse3-dev fuse3" fuse
            ;;
    esac
}

give_up() {
    say "missing: ${missing[*]}"
    say "$1"
    exit 1
}

install_missing() {
    local as_root=()
    command -v apt-get >/dev/null || give_up "this is not Debian; install what corresponds to these packages, then run again"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || give_up "not root and no sudo; ask for: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q)
    local log=build/bootstrap.log
    mkdir -p build
    say "installing ${missing[*]} (log: $log)"
    "${apt[@]}" update >$log 2>&1 || say "apt-get update failed; trying with the lists that are there"
    if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>$log 2>&1; then
        tail -n 20 $log >&2
        give_up "apt-get install failed"
    fi
}

# libclang-rt has the version of clang in its name; ask apt which one is the default.
resolve_names() {
    local i version
    for i in "${!missing[@]}"; do
        if [[ ${missing[i]} == libclang-rt-* ]]; then
            version=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
            [ -z "$version" ] || missing[i]=libclang-rt-$version-dev
        fi
    done
}

check_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    if [ "$(printf '3.20\n%s\n' "$version" | sort -V | head -n 1)" != 3.20 ]; then
        say "cmake $version is too old for presets; 3.20 or later is needed"
        exit 1
    fi
}

# The tests' own Python, made again only when the requirements or the interpreter changed.
make_venv() {
    local venv=build/venv requirements=tests/python/requirements.txt wanted
    wanted=$(cat "$requirements" && python3 --version)
    if [ -x $venv/bin/python ] && $venv/bin/python -c '' 2>/dev/null && [ "$(cat $venv/stamp 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    say "making the Python environment $venv"
    rm -rf $venv
    mkdir -p build
    python3 -m venv $venv
    if ! $venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2; then
        say "pip could not install $(grep -v '^#' "$requirements" | tr '\n' ' ')"
        exit 1
    fi
    printf '%s\n' "$wanted" >$venv/stamp
}

# What only benchmarks and experiments need, into the same environment.
add_to_venv() {
    local requirements=bench/requirements.txt
    build/venv/bin/python -c 'import matplotlib' 2>/dev/null && return
    if ! build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $requirements >&2; then
        say "pip could not install $(grep -v '^#' $requirements | tr '\n' ' ')"
        exit 1
    fi
}

case $what in
    build | test | check | fuzz | bench | release) ;;
    *)
        say "unknown: '$what'; one of build, test, check, fuzz, bench, release"
        exit 2
        ;;
esac

look
if [ ${#missing[@]} -gt 0 ]; then
    resolve_names
    install_missing
    look
    [ ${#missing[@]} -eq 0 ] || give_up "still missing after the installation"
fi
check_cmake
case $what in
    test | check | bench) make_venv ;;
esac
case $what in
    bench) add_to_venv ;;
esac
