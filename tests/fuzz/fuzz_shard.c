/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_shard.c - any bytes as a shard: its index is refused, or every block that it names lies in the file. The first
 * byte chooses what a shard is: where the index is, its byte order, its checksum, a shard in a shard.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_level(rs_zarr_level *level, int64_t length, uint8_t bits)
{
    *level = (rs_zarr_level){.chunk = {length, length},
                             .order = {bits >> 4 & 1, 1 - (bits >> 4 & 1)},
                             .index_first = (bits & 1) != 0,
                             .index_crc = (bits & 2) != 0,
                             .index_order = (bits & 4) != 0 ? '>' : '<',
                             .crc = (bits & 8) != 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    rs_zarr zarr = {.version = 3, .ndim = 2, .shape = {8, 8}, .chunk = {2, 2}};
    resplit_array array = {.zarr = &zarr};
    rs_shard_census census = {0};
    resplit_error err;
    zarr.n_levels = (data[0] & 0x80) != 0 ? 2 : 1;
    set_level(&zarr.level[0], zarr.n_levels == 2 ? 8 : 4, data[0]);
    set_level(&zarr.level[1], 4, (uint8_t)(data[0] >> 1));
    int fd = memfd_create("fuzz_shard", MFD_CLOEXEC);
    assert(fd >= 0);
    int64_t n = (int64_t)size - 1;
    assert(n == 0 || write(fd, data + 1, (size_t)n) == (ssize_t)n);
    resplit_status checked = rs_shard_check(&array, 0, fd, "fuzz", 0, n, &census, &err);
    for (int64_t i = 0; i < 16; i++) {
        rs_place place;
        int64_t index[RS_MAX_NDIM] = {i / 4, i % 4};
        resplit_status rc = rs_array_locate(&array, index, fd, n, "fuzz", &place, &err);
        assert(rc == RESPLIT_OK || checked != RESPLIT_OK);
        if (rc == RESPLIT_OK && !place.missing) {
            assert(place.offset >= 0 && place.bytes >= 0 && place.offset <= n - place.bytes);
            assert(checked != RESPLIT_OK || place.bytes <= census.most);
        }
    }
    (void)close(fd);
    return 0;
}
