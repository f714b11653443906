/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - boxes as runs, runs as transfers. */
#include "engine/file.h"

#include "geometry/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PART = 1024 << 10,          /* of a long transfer: so many are under way at once */
    WRITE_AT_ONCE = 8 << 20,    /* through the page cache: so that the disk has work while we hand over the rest */
    WRITEBACK_FROM = 256 << 10, /* smaller writes are left to the system, which gathers them */
};

/*
 * Lets the disk begin with what was just written. Otherwise the system collects gigabytes, then stops us until they are
 * gone (2.7 GB into 171 MB blocks: 8.0 s without, 4.5 s with).
 */
static void start_writeback(int fd, int64_t at, int64_t n)
{
#ifdef __linux__
    if (n >= WRITEBACK_FROM) {
        (void)sync_file_range(fd, at, n, SYNC_FILE_RANGE_WRITE);
    }
#else
    (void)fd;
    (void)at;
    (void)n;
#endif
}

resplit_status rs_file_write(int fd, const char *path, const void *bytes, int64_t n, int64_t at, resplit_error *err)
{
    static rs_io plain = {.backend = &rs_io_threads};
    rs_transfer all = {.fd = fd, .write = true, .memory = (char *)(uintptr_t)bytes, .n = n, .at = at};
    return rs_io_move(&plain, &all, 1, path, err);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Steps to the next run: the next index of the axes slower than the last one that is cut. */
static bool next_run(const rs_layout *layout, const rs_box *box, int n_outer, int64_t *at)
{
    for (int i = n_outer - 1; i >= 0; i--) {
        int d = layout->order[i];
        if (++at[d] < box->hi[d]) {
            return true;
        }
        at[d] = box->lo[d];
    }
    return false;
}

/* How many of the slowest axes a run does not span: those before the last axis along which the box is not the block. */
static int outer_axes(const rs_layout *layout, const rs_box *stored, const rs_box *box)
{
    int i = layout->ndim - 1;
    while (i > 0 && box->lo[layout->order[i]] == stored->lo[layout->order[i]]
           && box->hi[layout->order[i]] == stored->hi[layout->order[i]]) {
        i--;
    }
    return i > 0 ? i : 0;
}

typedef struct runs {
    const rs_block_file *file;
    const rs_box *box;
    int n_outer;
    int64_t strides[RS_MAX_NDIM], at[RS_MAX_NDIM];
    int64_t n, bytes; /* runs, and the length of each */
} runs;

static void runs_init(runs *r, const rs_block_file *file, const rs_box *box)
{
    const rs_layout *layout = file->layout;
    int64_t items = 0;
    r->file = file;
    r->box = box;
    r->n = rs_box_runs(layout->ndim, layout->order, file->stored, box, &items);
    r->bytes = items * layout->itemsize;
    r->n_outer = outer_axes(layout, file->stored, box);
    rs_box_strides(layout->ndim, layout->order, file->stored, r->strides);
    memcpy(r->at, box->lo, sizeof r->at);
}

static int64_t runs_place(const runs *r)
{
    const rs_layout *layout = r->file->layout;
    return r->file->offset + layout->itemsize * rs_box_offset(layout->ndim, r->file->stored, r->strides, r->at);
}

static void count_run(rs_cursor *cursor, int64_t place, int64_t bytes)
{
    cursor->seeks += place != cursor->next;
    cursor->next = place + bytes;
    cursor->bytes += bytes;
}

void rs_file_count(const rs_block_file *file, const rs_box *box, rs_cursor *cursor)
{
    runs r;
    runs_init(&r, file, box);
    do {
        count_run(cursor, runs_place(&r), r.bytes);
    } while (next_run(file->layout, box, r.n_outer, r.at));
}

resplit_status rs_file_each_run(const rs_block_file *file, const rs_box *box, rs_run_visit *visit, void *payload,
                                resplit_error *err)
{
    runs r;
    runs_init(&r, file, box);
    if (r.n == 0) {
        return RESPLIT_OK;
    }
    do {
        RS_TRY(visit(runs_place(&r), r.bytes, payload, err));
    } while (next_run(file->layout, box, r.n_outer, r.at));
    return RESPLIT_OK;
}

int64_t rs_file_place(const rs_block_file *file, const rs_box *box)
{
    runs r;
    runs_init(&r, file, box);
    return runs_place(&r);
}

int64_t rs_file_end(const rs_block_file *file, const rs_box *box)
{
    runs r;
    runs_init(&r, file, box);
    for (int d = 0; d < file->layout->ndim; d++) {
        r.at[d] = box->hi[d] - 1;
    }
    return runs_place(&r) + file->layout->itemsize;
}

int64_t rs_file_slice_items(const rs_layout *layout, const rs_box *stored, const rs_box *box, int64_t most)
{
    int64_t items = 0;
    (void)rs_box_runs(layout->ndim, layout->order, stored, box, &items);
    return items * layout->itemsize >= RS_DIRECT_READ ? rs_min(items, most) : most;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

/* Transfers that wait to be made together. */
typedef struct batch {
    rs_io *io;
    const char *path;
    int n;
    rs_transfer list[RS_IO_DEPTH];
} batch;

static resplit_status flush(batch *b, resplit_error *err)
{
    int n = b->n;
    b->n = 0;
    return n > 0 ? rs_io_move(b->io, b->list, n, b->path, err) : RESPLIT_OK;
}

static resplit_status add(batch *b, rs_transfer transfer, resplit_error *err)
{
    if (b->n == RS_IO_DEPTH) {
        RS_TRY(flush(b, err));
    }
    b->list[b->n++] = transfer;
    return RESPLIT_OK;
}

/* In parts, so that one long transfer has many under way too. */
static resplit_status add_parts(batch *b, rs_transfer transfer, resplit_error *err)
{
    int64_t end = transfer.n, least = transfer.least;
    for (int64_t done = 0; done < end; done += PART) {
        rs_transfer part = transfer;
        part.memory += done;
        part.at += done;
        part.n = rs_min(PART, end - done);
        part.least = rs_max(0, rs_min(part.n, least - done));
        RS_TRY(add(b, part, err));
    }
    return RESPLIT_OK;
}

static int64_t sector_floor(int64_t at)
{
    return at - at % RS_SECTOR;
}

static int64_t sector_ceil(int64_t at)
{
    return sector_floor(at + RS_SECTOR - 1);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The sectors around one run. */
static resplit_status read_direct(batch *b, const runs *r, char *staging, char **data, resplit_error *err)
{
    int64_t place = runs_place(r), from = sector_floor(place);
    rs_transfer all = {.fd = r->file->direct, .memory = staging, .at = from};
    rs_shedding *shedding = b->io->shedding;
    all.n = sector_ceil(place + r->bytes) - from;
    all.least = place + r->bytes - from;
    *data = staging + (place - from);
    if (shedding != NULL) {
        rs_shed_begin(shedding, staging, all.n);
    }
    resplit_status rc = add_parts(b, all, err);
    rc = rc == RESPLIT_OK ? flush(b, err) : rc;
    if (shedding != NULL) {
        rs_shed_end(shedding, all.n);
    }
    return rc;
}

static resplit_status read_cached(batch *b, runs *r, char *memory, resplit_error *err)
{
    do {
        rs_transfer run = {.fd = r->file->fd, .memory = memory, .n = r->bytes, .at = runs_place(r), .least = r->bytes};
        RS_TRY(add(b, run, err));
        memory += r->bytes;
    } while (next_run(r->file->layout, r->box, r->n_outer, r->at));
    return flush(b, err);
}

/* What lies in memory is copied, and is no seek. */
static void read_memory(const rs_block_file *file, const rs_box *box, char *staging)
{
    const rs_layout *layout = file->layout;
    rs_view from = {.base = (char *)(uintptr_t)file->memory, .box = *file->stored};
    rs_view to = rs_view_of(layout->ndim, layout->order, box, layout->itemsize, staging);
    memcpy(from.strides, file->strides, sizeof from.strides);
    rs_view_copy(layout->ndim, layout->itemsize, box, &to, &from);
}

bool rs_file_try_cached(const rs_block_file *file, resplit_status rc, const resplit_error *why)
{
    return rc == RESPLIT_EIO && why->sys_errno == EINVAL && !file->insist;
}

resplit_status rs_file_read_box(rs_io *io, const rs_block_file *file, const rs_box *box, char *staging, char **data,
                                rs_cursor *cursor, resplit_error *err)
{
    runs r;
    batch b = {.io = io, .path = file->path};
    *data = staging;
    if (file->memory != NULL) {
        read_memory(file, box, staging);
        return RESPLIT_OK;
    }
    runs_init(&r, file, box);
    if (r.n == 0) {
        return RESPLIT_OK;
    }
    bool direct = file->direct >= 0 && r.n == 1 && r.bytes >= RS_DIRECT_READ;
    if (direct) {
        resplit_error why;
        resplit_status rc = read_direct(&b, &r, staging, data, &why);
        direct = rc == RESPLIT_OK;
        if (!direct && !rs_file_try_cached(file, rc, &why)) {
            return rs_fail_with(err, &why);
        }
    }
    if (!direct) {
        *data = staging;
        RS_TRY(read_cached(&b, &r, staging, err));
    }
    rs_file_count(file, box, cursor);
    return RESPLIT_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static resplit_status write_cached(const rs_block_file *file, char *memory, int64_t n, int64_t at, resplit_error *err)
{
    for (int64_t done = 0; done < n; done += WRITE_AT_ONCE) {
        int64_t most = rs_min(n - done, WRITE_AT_ONCE);
        RS_TRY(rs_file_write(file->fd, file->path, memory + done, most, at + done, err));
        start_writeback(file->fd, at + done, most);
    }
    return RESPLIT_OK;
}

/* The whole sectors of a run directly, its ends through the cache. */
static resplit_status write_direct(batch *b, const rs_block_file *file, char *memory, int64_t n, int64_t at,
                                   resplit_error *err)
{
    int64_t from = sector_ceil(at), to = sector_floor(at + n);
    rs_transfer inside = {
        .fd = file->direct, .write = true, .memory = memory + (from - at), .n = to - from, .at = from};
    RS_TRY(write_cached(file, memory, from - at, at, err));
    RS_TRY(write_cached(file, memory + (to - at), at + n - to, to, err));
    RS_TRY(add_parts(b, inside, err));
    return flush(b, err);
}

static bool is_direct(const rs_block_file *file, const char *memory, int64_t n, int64_t at)
{
    return file->direct >= 0 && n >= RS_DIRECT_WRITE && (int64_t)((uintptr_t)memory % RS_SECTOR) == rs_file_lead(at);
}

static resplit_status write_run(batch *b, const rs_block_file *file, char *memory, int64_t n, int64_t at,
                                resplit_error *err)
{
    resplit_error why;
    if (!is_direct(file, memory, n, at)) {
        return write_cached(file, memory, n, at, err);
    }
    resplit_status rc = write_direct(b, file, memory, n, at, &why);
    if (rc == RESPLIT_OK) {
        return RESPLIT_OK;
    }
    return rs_file_try_cached(file, rc, &why) ? write_cached(file, memory, n, at, err) : rs_fail_with(err, &why);
}

resplit_status rs_file_write_box(rs_io *io, const rs_block_file *file, const rs_box *box, const char *memory,
                                 int64_t head, rs_cursor *cursor, resplit_error *err)
{
    runs r;
    batch b = {.io = io, .path = file->path};
    char *from = (char *)(uintptr_t)memory;
    runs_init(&r, file, box);
    if (r.n == 0) {
        return RESPLIT_OK;
    }
    do {
        int64_t place = runs_place(&r);
        RS_TRY(write_run(&b, file, from - head, r.bytes + head, place - head, err));
        count_run(cursor, place, r.bytes);
        from += r.bytes;
        head = 0;
    } while (next_run(file->layout, box, r.n_outer, r.at));
    return RESPLIT_OK;
}

/* ---- Writing what is brought ----------------------------------------------------------------- */

bool rs_file_is_long(const rs_block_file *file, const rs_box *box)
{
    runs r;
    runs_init(&r, file, box);
    return file->direct >= 0 && r.n > 0 && r.bytes >= RS_DIRECT_WRITE;
}

/* The runs of a box, and the bytes of what is brought that go there: with a head before the first. */
typedef struct long_runs {
    runs r;
    bool more;
    int64_t head, from;
} long_runs;

static long_runs long_runs_of(const rs_block_file *file, const rs_box *box, int64_t head)
{
    long_runs l = {.more = true, .head = head};
    runs_init(&l.r, file, box);
    return l;
}

/* A run as it is and, of it, its whole sectors. */
static void next_long(long_runs *l, rs_long_place *all, rs_long_place *sectors)
{
    const rs_block_file *file = l->r.file;
    *all = (rs_long_place){file->fd, file->path, runs_place(&l->r) - l->head, l->from, l->r.bytes + l->head};
    int64_t end = all->at + all->n, inside = rs_min(sector_ceil(all->at), end);
    int64_t rest = rs_max(inside, sector_floor(end));
    *sectors = (rs_long_place){file->direct, file->path, inside, all->from + (inside - all->at), rest - inside};
    l->from += all->n;
    l->head = 0;
    l->more = next_run(file->layout, l->r.box, l->r.n_outer, l->r.at);
}

static bool next_sectors(void *payload, rs_long_place *out)
{
    long_runs *l = payload;
    rs_long_place all;
    if (!l->more) {
        return false;
    }
    next_long(l, &all, out);
    return true;
}

/* One end of a run: less than a sector. */
static resplit_status write_end(rs_area area, const rs_long_place *all, int64_t at, int64_t n, rs_bringer what,
                                resplit_error *err)
{
    if (n == 0) {
        return RESPLIT_OK;
    }
    what.bring(what.payload, all->from + (at - all->at), n, area.memory);
    return rs_file_write(all->fd, all->path, area.memory, n, at, err);
}

resplit_status rs_file_write_long(rs_together *together, rs_io *io, rs_area area, const rs_block_file *file,
                                  const rs_box *box, int64_t head, rs_bringer what, rs_cursor *cursor,
                                  resplit_error *err)
{
    long_runs l = long_runs_of(file, box, head), again = l;
    rs_places places = {.next = next_sectors, .payload = &again};
    while (l.more) {
        rs_long_place all, sectors;
        next_long(&l, &all, &sectors);
        int64_t end = all.at + all.n, rest = sectors.at + sectors.n;
        RS_TRY(write_end(area, &all, all.at, sectors.at - all.at, what, err));
        RS_TRY(write_end(area, &all, rest, end - rest, what, err));
        count_run(cursor, end - l.r.bytes, l.r.bytes);
        places.bytes += sectors.n;
    }
    return rs_together_write(together, io, area, places, what, err);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

resplit_status rs_path_join(const char *folder, const char *name, char path[RS_PATH_MAX], resplit_error *err)
{
    int n = name[0] == '\0' ? snprintf(path, RS_PATH_MAX, "%s", folder)
                            : snprintf(path, RS_PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n >= RS_PATH_MAX) {
        return rs_fail(err, RESPLIT_EINVAL, "the path '%s/%s' is longer than %d bytes", folder, name, RS_PATH_MAX - 1);
    }
    return RESPLIT_OK;
}

resplit_status rs_path_parent(const char *path, char parent[RS_PATH_MAX], resplit_error *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    while (n > 0 && path[n - 1] != '/') {
        n--;
    }
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    if (n >= RS_PATH_MAX) {
        return rs_fail(err, RESPLIT_EINVAL, "the path '%s' is longer than %d bytes", path, RS_PATH_MAX - 1);
    }
    memcpy(parent, n == 0 ? "." : path, n == 0 ? 1 : n);
    parent[n == 0 ? 1 : n] = '\0';
    return RESPLIT_OK;
}
