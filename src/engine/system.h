/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h - what this machine lets us have. */
#ifndef RS_SYSTEM_H
#define RS_SYSTEM_H

#include "base/base.h"

/* Memory that this process may still use, in bytes. */
int64_t rs_system_memory(void);

/* Processors that this process may run on. */
int rs_system_processors(void);

/* Is most of a file in the page cache? False also where the system cannot tell. */
bool rs_system_is_cached(int fd, int64_t bytes);

#endif
