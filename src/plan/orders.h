/* SPDX-License-Identifier: BSD-3-Clause */
/* orders.h - in which order loops hold the least. */
#ifndef RS_ORDERS_H
#define RS_ORDERS_H

#include "plan/options.h"

/* The order with the least peak, of those axes that an option is chosen for, into loop; returns that peak, INT64_MAX
   without memory to find out, and adds to *work what it took. */
int64_t rs_orders_find(const rs_problem *problem, rs_option *const *chosen, int *loop, int64_t *work);

#endif
