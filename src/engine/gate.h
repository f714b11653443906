/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate.h - lets half of the workers have long transfers under way, so that the others have the next ones ready.
 *
 *     rs_gate_enter(gate);   transfer;   rs_gate_leave(gate);   copy what was read, put together what is written next
 *
 * A disk tells that it is done when it has nothing left to do: that of a virtual machine was seen to say nothing of
 * sixteen transfers until the last one was made. Then all workers wake up at once, compute, and the disk waits until
 * the first of them asks for something again. So a worker that comes out lets one in that is ready, and lets it go
 * first. Who only moves bytes needs no gate: between two transfers it has nothing to do that the disk would wait for.
 *
 *     all at once:   disk [--- 16 ---].....[--- 16 ---].....        workers  .............[copy].........[copy]
 *     with a gate:   disk [- 8 -][- 8 -][- 8 -][- 8 -]...           workers  .......[copy]  [copy]  [copy]
 */
#ifndef RS_GATE_H
#define RS_GATE_H

#include <semaphore.h>

#include "base/base.h"

enum { RS_GATE_LEAST = 64 << 10 }; /* bytes: shorter transfers do not queue */

typedef struct rs_gate {
    sem_t places;
} rs_gate;

void rs_gate_start(rs_gate *gate, int n_workers);
void rs_gate_stop(rs_gate *gate);

void rs_gate_enter(rs_gate *gate);
void rs_gate_leave(rs_gate *gate);

#endif
