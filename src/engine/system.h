/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h - what this machine lets us have. */
#ifndef RS_SYSTEM_H
#define RS_SYSTEM_H

#include "base/base.h"

/* Memory that this process may still use, in bytes. */
int64_t rs_system_memory(void);

#endif
