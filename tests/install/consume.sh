#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds tests/install/consumer against the installed tree and runs it.
#
# usage: consume.sh pkgconfig|static|cmake     (environment: CC CFLAGS CMAKE STAGE LIBDIR SOURCE WORK)
set -euo pipefail

way=$1
consumer=$SOURCE/tests/install/consumer
work=$WORK/consumer-$way
rm -rf "$work"
mkdir -p "$work"

export PKG_CONFIG_PATH=$STAGE/$LIBDIR/pkgconfig
read -ra cflags <<<"$CFLAGS"

case $way in
    pkgconfig)
        # shellcheck disable=SC2046
        "$CC" "${cflags[@]}" "$consumer/consumer.c" $(pkg-config --cflags --libs resplit) -o "$work/consumer"
        LD_LIBRARY_PATH=$STAGE/$LIBDIR "$work/consumer"
        ;;
    static)
        # The archive of ours, whatever else is static or not.
        libs=$(pkg-config --static --libs resplit)
        # shellcheck disable=SC2046,SC2086
        "$CC" "${cflags[@]}" "$consumer/consumer.c" $(pkg-config --cflags resplit) \
            ${libs//-lresplit/-l:libresplit.a} -o "$work/consumer"
        "$work/consumer"
        ;;
    cmake)
        "$CMAKE" -G Ninja -S "$consumer" -B "$work" -DCMAKE_PREFIX_PATH="$STAGE" -DCMAKE_C_COMPILER="$CC" \
            -DCMAKE_C_FLAGS="$CFLAGS" >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
        "$CMAKE" --build "$work" >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
        LD_LIBRARY_PATH='' "$work/consumer"
        LD_LIBRARY_PATH='' "$work/consumer_static"
        ;;
    *)
        echo "consume.sh: unknown way '$way'" >&2
        exit 2
        ;;
esac
