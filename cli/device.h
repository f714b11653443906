/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - what --device names: a device of the library's list, or the one that a path lies on, measured. */
#ifndef RS_CLI_DEVICE_H
#define RS_CLI_DEVICE_H

#include "parse.h"

/*
 * `name` is NULL (ssd), a name of the library's list, or "measure": then the file system of `path`, which need not
 * exist yet, is measured; NULL: that of the current folder. What was measured is remembered for 30 days in
 * $XDG_CACHE_HOME/resplit/devices.json. A cache that cannot be read or written only costs time.
 */
bool cli_device_find(const char *name, const char *path, resplit_device *out, resplit_error *err);

#endif
