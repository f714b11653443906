/* SPDX-License-Identifier: BSD-3-Clause */
/* together.c - stints of long writes, for whoever comes. */
#include "engine/together.h"

/* Lies on the stack of who asked for it, who stays until it is done. */
struct rs_long_write {
    rs_long_write *next;
    rs_places places;
    rs_long_place rest; /* of the place at hand: what nobody has taken */
    rs_bringer what;
    int64_t most, room; /* bytes of a stint: at most, and at the place at hand */
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

/* Goes on to where there is something left, if there is; stints there are as equal as can be. */
static bool find_more(rs_long_write *whole)
{
    while (whole->rest.n == 0) {
        if (!whole->places.next(whole->places.payload, &whole->rest)) {
            return false;
        }
        int64_t sectors = whole->rest.n / RS_SECTOR, n_stints = rs_ceil_div(sectors, whole->most / RS_SECTOR);
        whole->room = rs_ceil_div(sectors, rs_max(1, n_stints)) * RS_SECTOR;
    }
    return true;
}

static bool take_of(rs_together *together, rs_long_write *whole, rs_stint *out)
{
    if (whole->failed || whole->rest.n == 0) {
        return false;
    }
    rs_long_place *rest = &whole->rest;
    *out = (rs_stint){whole, *rest};
    out->place.n = rs_min(whole->room, rest->n);
    rest->at += out->place.n;
    rest->from += out->place.n;
    rest->n -= out->place.n;
    whole->n_under_way++;
    if (!find_more(whole)) {
        withdraw(together, whole);
    }
    return true;
}

bool rs_together_take(rs_together *together, rs_stint *out)
{
    return together->first != NULL && take_of(together, together->first, out);
}

void rs_together_make(rs_together *together, rs_io *io, rs_area area, const rs_stint *stint)
{
    rs_long_write *whole = stint->whole;
    const rs_long_place *place = &stint->place;
    resplit_error why;
    rs_transfer transfer = {.fd = place->fd, .write = true, .memory = area.memory, .n = place->n, .at = place->at};
    whole->what.bring(whole->what.payload, place->from, place->n, area.memory);
    resplit_status rc = rs_io_move(io, &transfer, 1, place->path, &why);
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

resplit_status rs_together_write(rs_together *together, rs_io *io, rs_area area, rs_places places, rs_bringer what,
                                 resplit_error *err)
{
    rs_long_write whole = {.places = places, .what = what, .most = area.bytes};
    rs_stint stint;
    (void)pthread_mutex_lock(together->lock);
    if (find_more(&whole) && places.bytes >= RS_TOGETHER_LEAST) {
        append(together, &whole);
        (void)pthread_cond_broadcast(together->change);
    }
    while (take_of(together, &whole, &stint)) {
        (void)pthread_mutex_unlock(together->lock);
        rs_together_make(together, io, area, &stint);
        (void)pthread_mutex_lock(together->lock);
    }
    while (whole.n_under_way > 0) {
        (void)pthread_cond_wait(together->change, together->lock);
    }
    (void)pthread_mutex_unlock(together->lock);
    return whole.failed ? rs_fail_with(err, &whole.why) : RESPLIT_OK;
}
