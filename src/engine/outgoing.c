/* SPDX-License-Identifier: BSD-3-Clause */
/* outgoing.c - writes under way: made in any order, counted as done in the order of their steps. */
#include "engine/run.h"

rs_outgoing *rs_outgoing_add(rs_run *run, const rs_step *step, rs_time time)
{
    if (run->n_outgoing == run->most_outgoing) {
        return NULL;
    }
    rs_outgoing *outgoing = &run->outgoing[(run->first_outgoing + run->n_outgoing++) % run->most_outgoing];
    *outgoing = (rs_outgoing){.state = RS_WAITS, .step = *step, .time = time};
    return outgoing;
}

rs_progress rs_run_progress(const rs_run *run)
{
    return (rs_progress){run->now, rs_fingerprint_add(run->resumed.fingerprint, run->written_fingerprint)};
}

/* The journal is written without the lock; one worker at a time, which takes note of what the others
   finish meanwhile too. */
static void take_note(rs_worker *worker)
{
    rs_run *run = worker->run;
    resplit_error why;
    resplit_status rc = RESPLIT_OK;
    while (rc == RESPLIT_OK && !run->failed && rs_journal_claim(run->journal, run->now)) {
        rs_progress progress = rs_run_progress(run);
        (void)pthread_mutex_unlock(&run->lock);
        rc = rs_journal_note(run->journal, &progress, &why);
        (void)pthread_mutex_lock(&run->lock);
        rs_journal_unclaim(run->journal);
    }
    if (rc != RESPLIT_OK) {
        rs_run_fail(run, &why);
    }
}

void rs_outgoing_end(rs_worker *worker, rs_outgoing *outgoing)
{
    rs_run *run = worker->run;
    outgoing->state = RS_DONE;
    while (run->n_outgoing > 0 && run->outgoing[run->first_outgoing].state == RS_DONE) {
        const rs_outgoing *first = &run->outgoing[run->first_outgoing];
        run->now = (rs_time){first->time.buffer, first->time.block + 1};
        run->written_fingerprint = rs_fingerprint_add(run->written_fingerprint, first->fingerprint);
        run->first_outgoing = (run->first_outgoing + 1) % run->most_outgoing;
        run->n_outgoing--;
    }
    (void)pthread_cond_broadcast(&run->change);
    if (run->journal != NULL) {
        take_note(worker);
    }
}
