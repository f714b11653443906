/* SPDX-License-Identifier: BSD-3-Clause */
/* together.c - stints of long writes, for whoever comes. */
#include "engine/together.h"

#include <string.h>

/* Lies on the stack of who asked for it, who stays until it is done. */
struct rs_long_write {
    rs_long_write *next;
    rs_transfer all;
    const char *path;
    int64_t handed, room; /* bytes: handed out, and of a stint */
    int n_under_way;
    bool failed;
    resplit_error why;
};

static void append(rs_together *together, rs_long_write *whole)
{
    rs_long_write **end = &together->first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = whole;
}

/* Nothing more of it is to be made. */
static void withdraw(rs_together *together, const rs_long_write *whole)
{
    for (rs_long_write **at = &together->first; *at != NULL; at = &(*at)->next) {
        if (*at == whole) {
            *at = whole->next;
            return;
        }
    }
}

static bool take_of(rs_together *together, rs_long_write *whole, rs_stint *out)
{
    if (whole->failed || whole->handed == whole->all.n) {
        return false;
    }
    *out = (rs_stint){whole, whole->all};
    out->transfer.memory += whole->handed;
    out->transfer.at += whole->handed;
    out->transfer.n = rs_min(whole->room, whole->all.n - whole->handed);
    whole->handed += out->transfer.n;
    whole->n_under_way++;
    if (whole->handed == whole->all.n) {
        withdraw(together, whole);
    }
    return true;
}

bool rs_together_take(rs_together *together, rs_stint *out)
{
    return together->first != NULL && take_of(together, together->first, out);
}

void rs_together_make(rs_together *together, rs_io *io, rs_stint *stint)
{
    rs_long_write *whole = stint->whole;
    resplit_error why;
    memcpy(io->through, stint->transfer.memory, (size_t)stint->transfer.n);
    stint->transfer.memory = io->through;
    resplit_status rc = rs_io_move(io, &stint->transfer, 1, whole->path, &why);
    (void)pthread_mutex_lock(together->lock);
    if (rc != RESPLIT_OK && !whole->failed) {
        whole->failed = true;
        whole->why = why;
        withdraw(together, whole);
    }
    if (--whole->n_under_way == 0) {
        (void)pthread_cond_broadcast(together->change);
    }
    (void)pthread_mutex_unlock(together->lock);
}

resplit_status rs_together_write(rs_together *together, rs_io *io, const rs_transfer *all, const char *path,
                                 resplit_error *err)
{
    rs_long_write whole = {.all = *all, .path = path, .room = io->room};
    rs_stint stint;
    (void)pthread_mutex_lock(together->lock);
    append(together, &whole);
    (void)pthread_cond_broadcast(together->change);
    while (take_of(together, &whole, &stint)) {
        (void)pthread_mutex_unlock(together->lock);
        rs_together_make(together, io, &stint);
        (void)pthread_mutex_lock(together->lock);
    }
    while (whole.n_under_way > 0) {
        (void)pthread_cond_wait(together->change, together->lock);
    }
    (void)pthread_mutex_unlock(together->lock);
    return whole.failed ? rs_fail_with(err, &whole.why) : RESPLIT_OK;
}
