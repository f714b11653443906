#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What resplit does, on a sample volume: split it, resplit the blocks to a shape that divides nothing, merge them back,
# and compare. Works in a temporary folder and removes it.
#
# usage: tools/demo.sh COMMAND
set -euo pipefail

command=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/resplit-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PATH=$(dirname "$command"):$PATH

title() { printf '\n== %s\n' "$*"; }
run() {
    printf '$ %s\n' "$*"
    "$@"
}

title "A sample volume: 240 x 220 x 200 uint16, 20 MiB of noise in one raw file. Everything below may use 4 MiB."
head -c $((240 * 220 * 200 * 2)) /dev/urandom >volume.raw

title "Split it into blocks of 64 x 64 x 64"
run resplit split volume.raw blocks --shape 240,220,200 --dtype uint16 --chunks 64,64,64 --memory 4MiB

title "Plan to resplit the blocks to 50 x 37 x 23, which divides nothing, the naive way; nothing is touched"
run resplit plan blocks others --chunks 50,37,23 --memory 4MiB --strategy naive

title "Do it in the cheapest way that fits"
run resplit blocks others --chunks 50,37,23 --memory 4MiB

title "Merge them back into one file"
run resplit merge others back.raw --memory 4MiB

title "The same values in every layout, and the same bytes at the end"
run resplit verify blocks others --memory 4MiB
run resplit verify others back.raw --memory 4MiB --shape 240,220,200 --dtype uint16
run cmp volume.raw back.raw
echo "volume.raw and back.raw are identical"
