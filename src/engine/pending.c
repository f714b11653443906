/* SPDX-License-Identifier: BSD-3-Clause */
/* pending.c - a hash table of units, chained. */
#include "engine/pending.h"

#include <string.h>

static int64_t slot_of(const rs_pending *pending, int64_t key)
{
    uint64_t mixed = (uint64_t)key * 0x9e3779b97f4a7c15ULL; /* spreads keys that are multiples of a block */
    return (int64_t)(mixed >> 20) & (pending->n_slots - 1);
}

static int64_t table_bytes(const rs_pending *pending)
{
    return pending->n_slots * (int64_t)sizeof(void *);
}

resplit_status rs_pending_init(rs_pending *pending, rs_budget *budget, const rs_layout *target, int64_t n,
                               resplit_error *err)
{
    *pending = (rs_pending){.budget = budget, .target = target, .n_slots = 16};
    while (pending->n_slots < n) {
        pending->n_slots *= 2;
    }
    void *slots;
    RS_TRY(rs_budget_alloc(budget, RS_FOR_DATA, table_bytes(pending), &slots, err));
    pending->slots = slots;
    memset(pending->slots, 0, (size_t)table_bytes(pending));
    return RESPLIT_OK;
}

void rs_pending_release(rs_pending *pending)
{
    if (pending->slots == NULL) {
        return;
    }
    for (int64_t i = 0; i < pending->n_slots; i++) {
        while (pending->slots[i] != NULL) {
            rs_pending_drop(pending, pending->slots[i]);
        }
    }
    rs_budget_release(pending->budget, pending->slots, table_bytes(pending));
    pending->slots = NULL;
}

rs_unit *rs_pending_find(const rs_pending *pending, int64_t key)
{
    rs_unit *unit = pending->slots[slot_of(pending, key)];
    while (unit != NULL && unit->key != key) {
        unit = unit->next;
    }
    return unit;
}

static resplit_status add_unit(rs_pending *pending, int64_t key, rs_unit **out, resplit_error *err)
{
    void *memory;
    RS_TRY(rs_budget_alloc(pending->budget, RS_FOR_DATA, sizeof(rs_unit), &memory, err));
    rs_unit **slot = &pending->slots[slot_of(pending, key)];
    *out = memory;
    **out = (rs_unit){.next = *slot, .key = key, .n_writes = 1};
    *slot = *out;
    return RESPLIT_OK;
}

/* Small pieces are not written directly, so it does not matter where they begin; but a short head should
   fit before them. */
static int64_t room_for(int64_t bytes, int64_t lead)
{
    return bytes >= RS_LARGE_PIECE ? bytes + RS_LEAD_MOST : lead <= RS_SHORT_LEAD ? bytes + lead : bytes;
}

static resplit_status add_piece(rs_pending *pending, rs_unit *unit, const rs_box *box, int64_t lead, resplit_error *err)
{
    void *record = NULL, *memory = NULL;
    int64_t bytes = rs_box_volume(pending->target->ndim, box) * pending->target->itemsize, room = room_for(bytes, lead);
    RS_TRY(rs_budget_alloc(pending->budget, RS_FOR_DATA, sizeof(rs_piece), &record, err));
    resplit_status rc = rs_budget_alloc(pending->budget, RS_FOR_DATA, room, &memory, err);
    if (rc != RESPLIT_OK) {
        rs_budget_release(pending->budget, record, sizeof(rs_piece));
        return rc;
    }
    rs_piece *piece = record;
    char *base = (char *)memory + (room > bytes ? lead : 0);
    *piece = (rs_piece){.next = unit->pieces, .memory = memory, .bytes = room};
    piece->view = rs_view_of(pending->target->ndim, pending->target->order, box, pending->target->itemsize, base);
    unit->pieces = piece;
    return RESPLIT_OK;
}

static bool has_room(const rs_pending *pending, const rs_unit *unit, const rs_box *box, int64_t lead)
{
    const rs_budget *budget = pending->budget;
    int64_t bytes = rs_box_volume(pending->target->ndim, box) * pending->target->itemsize;
    return rs_budget_cost(budget, room_for(bytes, lead)) + rs_budget_cost(budget, sizeof(rs_piece))
               + (unit == NULL ? rs_budget_cost(budget, sizeof(rs_unit)) : 0)
           <= rs_budget_room(budget);
}

static bool is_box(int ndim, const rs_box *a, const rs_box *b)
{
    size_t n = (size_t)ndim * sizeof a->lo[0];
    return memcmp(a->lo, b->lo, n) == 0 && memcmp(a->hi, b->hi, n) == 0;
}

resplit_status rs_pending_place(rs_pending *pending, int64_t key, const rs_box *box, int64_t lead, rs_unit **unit,
                                rs_piece **out, resplit_error *err)
{
    *unit = rs_pending_find(pending, key);
    *out = *unit != NULL ? (*unit)->pieces : NULL;
    while (*out != NULL && !is_box(pending->target->ndim, &(*out)->view.box, box)) {
        *out = (*out)->next;
    }
    if (*out != NULL || !has_room(pending, *unit, box, lead)) {
        return RESPLIT_OK;
    }
    if (*unit == NULL) {
        RS_TRY(add_unit(pending, key, unit, err));
    }
    RS_TRY(add_piece(pending, *unit, box, lead, err));
    *out = (*unit)->pieces;
    return RESPLIT_OK;
}

rs_piece *rs_unit_piece(const rs_unit *unit, int ndim, const rs_box *box)
{
    rs_piece *piece = unit->pieces;
    for (bool holds = false; piece != NULL; piece = piece->next) {
        holds = true;
        for (int d = 0; d < ndim; d++) {
            holds = holds && piece->view.box.lo[d] <= box->lo[d] && box->hi[d] <= piece->view.box.hi[d];
        }
        if (holds) {
            break;
        }
    }
    return piece;
}

void rs_pending_drop(rs_pending *pending, rs_unit *unit)
{
    rs_unit **link = &pending->slots[slot_of(pending, unit->key)];
    while (*link != unit) {
        link = &(*link)->next;
    }
    *link = unit->next;
    while (unit->pieces != NULL) {
        rs_piece *piece = unit->pieces;
        unit->pieces = piece->next;
        rs_budget_release(pending->budget, piece->memory, piece->bytes);
        rs_budget_release(pending->budget, piece, sizeof(rs_piece));
    }
    rs_budget_release(pending->budget, unit, sizeof(rs_unit));
}
