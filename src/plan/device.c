/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c - devices as constants, and the seconds that a cost takes on one. */
#include "plan/device.h"

#include <string.h>

/* Typical devices of 2026; seek times include the head's way or the network's. Measured ones replace them. */
static const resplit_device devices[] = {
    {"hdd", 8e-3, 1, 180e6, 170e6, 150e6},
    {"ssd", 90e-6, 16, 520e6, 480e6, 500e6},
    {"nvme", 70e-6, 64, 3.0e9, 2.0e9, 2.4e9},
    {"nfs", 1e-3, 8, 110e6, 100e6, 110e6},
};

const resplit_device *rs_device_at(int i)
{
    return i >= 0 && i < (int)(sizeof devices / sizeof devices[0]) ? &devices[i] : NULL;
}

const resplit_device *rs_device_find(const char *name)
{
    for (int i = 0; rs_device_at(i) != NULL; i++) {
        if (strcmp(rs_device_at(i)->name, name) == 0) {
            return rs_device_at(i);
        }
    }
    return NULL;
}

double rs_device_seconds(const resplit_device *device, const resplit_cost *cost, bool overlapped)
{
    double seeks = (double)(cost->read_seeks + cost->write_seeks) * device->latency / device->depth;
    double read = (double)cost->bytes_read, written = (double)cost->bytes_written;
    double apart = read / device->read_bandwidth + written / device->write_bandwidth;
    double together = (read + written) / device->both_bandwidth;
    return seeks + (overlapped && together < apart ? together : apart);
}
