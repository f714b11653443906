/* SPDX-License-Identifier: BSD-3-Clause */
/* gate.c - counts the workers that have transfers under way. */
#include "engine/gate.h"

#include <sched.h>

void rs_gate_start(rs_gate *gate, int n_workers)
{
    (void)sem_init(&gate->places, 0, (unsigned)(n_workers + 1) / 2);
}

void rs_gate_stop(rs_gate *gate)
{
    (void)sem_destroy(&gate->places);
}

void rs_gate_enter(rs_gate *gate)
{
    while (sem_wait(&gate->places) != 0) { /* a signal */
    }
}

void rs_gate_leave(rs_gate *gate)
{
    (void)sem_post(&gate->places);
    (void)sched_yield(); /* who was let in is to be heard by the disk before we compute */
}
