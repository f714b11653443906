/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - seconds that a cost takes on a device (docs/algorithm.md, section 7). */
#ifndef RS_DEVICE_H
#define RS_DEVICE_H

#include "base/base.h"

/* The known devices by number; NULL past the last. */
const resplit_device *rs_device_at(int i);
const resplit_device *rs_device_find(const char *name); /* NULL: none */

/* Predicted seconds; `overlapped`: reads and writes at the same time, as when memory allows two buffers. */
double rs_device_seconds(const resplit_device *device, const resplit_cost *cost, bool overlapped);

#endif
