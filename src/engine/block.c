/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c - encoded blocks: located, read, decoded; assembled, encoded, written. */
#include "engine/block.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stored bytes as a layout of one axis, so that they are moved as everything else is. */
typedef struct bytes {
    rs_layout layout;
    rs_box box;
} bytes;

static void bytes_init(bytes *b, int64_t n)
{
    b->layout = (rs_layout){.ndim = 1, .itemsize = 1, .axis = {rs_axis_even(n, rs_max(1, n))}};
    b->box = (rs_box){.lo = {0}, .hi = {n}};
}

static rs_block_file as_bytes(const rs_block_file *file, const bytes *b, int64_t offset)
{
    rs_block_file out = *file;
    out.layout = &b->layout;
    out.stored = &b->box;
    out.offset = offset;
    return out;
}

static int64_t element_bytes(const rs_block_file *file)
{
    return rs_box_volume(file->layout->ndim, file->stored) * file->layout->itemsize;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static resplit_status locate(const rs_block_file *file, rs_place *place, resplit_error *err)
{
    struct stat st;
    *place = (rs_place){.missing = true};
    if (file->missing) {
        return RESPLIT_OK;
    }
    if (fstat(file->fd, &st) != 0) {
        return rs_fail_errno(err, errno, "cannot look at '%s'", file->path);
    }
    return rs_array_locate(file->array, file->index, file->fd, (int64_t)st.st_size, file->path, place, err);
}

/* Of several blocks in a file, the message has to say which. */
static resplit_status say_where(const rs_block_file *file, resplit_status rc, resplit_error *err)
{
    char index[RS_MAX_NDIM * 21 + 1] = "";
    size_t n = 0;
    if (rc == RESPLIT_OK || err == NULL) {
        return rc;
    }
    for (int d = 0; d < file->layout->ndim; d++) {
        n += (size_t)snprintf(index + n, sizeof index - n, d > 0 ? ",%lld" : "%lld", (long long)file->index[d]);
    }
    resplit_error why = *err;
    return rs_fail(err, rc, "block %s in '%s': %.400s", file->layout->ndim == 0 ? "()" : index, file->path,
                   why.message);
}

/* What is computed of a block that was read, and its outcome. */
typedef struct decoding {
    rs_worker *worker;
    rs_coder_of whose;
    const rs_block_file *file;
    rs_place at;
    const char *stored;
    char *area; /* for head and elements; NULL: the stone's */
    char *data; /* where the elements are wanted; NULL: there */
    rs_block_use *use;
    void *payload;
    resplit_error *err;
    resplit_status rc;
} decoding;

static resplit_status decode(const decoding *d, rs_coder *decoder, int64_t head, int64_t n)
{
    if (d->at.missing) {
        rs_fill(d->data, n, d->file->array->fill, d->file->layout->itemsize);
        return RESPLIT_OK;
    }
    if (d->at.fetched) {
        return RESPLIT_OK;
    }
    if (d->at.memory == NULL) {
        rs_coder_fit(decoder, head + n);
    }
    char *out = head > 0 && d->at.memory == NULL ? d->area : d->data;
    RS_TRY(rs_decode_skipping(decoder, d->at.skip, d->stored, d->at.bytes, out, d->err));
    if (out != d->data && d->data != d->area + head) { /* the head is not wanted there */
        memcpy(d->data, d->area + head, (size_t)n);
    }
    return RESPLIT_OK;
}

static void decode_and_use(void *what, int by)
{
    decoding *d = what;
    const rs_stone *stone = &d->worker->run->stones[by];
    int64_t head = rs_array_block_offset(d->file->array, d->file->index);
    d->area = d->area != NULL ? d->area : stone->area;
    d->data = d->data != NULL ? d->data : d->area + head;
    d->rc = decode(d, stone->coder[d->whose], head, element_bytes(d->file));
    if (d->rc == RESPLIT_OK && d->use != NULL) {
        d->use(d->worker, d->data, d->payload);
    }
}

/* The stored bytes, into staging; or elements, where only a library can read them. */
static resplit_status fetch(decoding *d, char *staging, rs_cursor *cursor, resplit_error *err)
{
    const rs_block_file *file = d->file;
    const resplit_array *array = file->array;
    rs_cursor moved = {.next = -1};
    char *stored;
    bytes b;
    if (d->at.fetched) {
        rs_fill(d->data, element_bytes(file), array->fill, file->layout->itemsize);
        return say_where(file, rs_array_fetch(array, file->index, d->data, err), err);
    }
    if (d->at.missing || d->at.memory != NULL) {
        d->stored = d->at.memory;
        return RESPLIT_OK;
    }
    if (d->at.bytes > array->most_stored) {
        return rs_fail(err, RESPLIT_EIO, "'%s' has grown since it was opened: a block of %lld bytes", file->path,
                       (long long)d->at.bytes);
    }
    bytes_init(&b, d->at.bytes);
    rs_block_file raw = as_bytes(file, &b, d->at.offset);
    RS_TRY(rs_file_read_box(&d->worker->io, &raw, &b.box, staging, &stored, &moved, err));
    d->stored = stored;
    cursor->stored += d->at.bytes;
    return RESPLIT_OK;
}

resplit_status rs_block_read(rs_worker *worker, rs_coder_of whose, const rs_block_file *file, char *staging,
                             char *place, rs_block_use *use, void *payload, char **data, rs_cursor *cursor,
                             resplit_error *err)
{
    bool passes = worker->run->stones[0].area != NULL && file->layout->coding.area > 0;
    char *area = staging + rs_stored_room(file->array->most_stored);
    decoding d = {.worker = worker,
                  .whose = whose,
                  .file = file,
                  .area = passes ? NULL : area,
                  .data = place != NULL ? place
                          : passes      ? NULL
                                        : area + rs_array_block_offset(file->array, file->index),
                  .use = use,
                  .payload = payload,
                  .err = err};
    cursor->seeks++;
    cursor->bytes += element_bytes(file);
    RS_TRY(locate(file, &d.at, err));
    RS_TRY(fetch(&d, staging, cursor, err));
    rs_run_compute(worker, decode_and_use, &d);
    *data = d.data;
    return say_where(file, d.rc, err);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_box(int ndim, const rs_box *a, const rs_box *b)
{
    size_t n = (size_t)ndim * sizeof a->lo[0];
    return memcmp(a->lo, b->lo, n) == 0 && memcmp(a->hi, b->hi, n) == 0;
}

/* Of so many pieces and less, some elements are put together at a time, so that they are still in a cache when they
   are summed up. */
static int64_t items_at_once(int64_t itemsize, const rs_piece *pieces)
{
    enum { AT_ONCE = 128 << 10, FEW = 64 };
    int n = 0;
    while (n <= FEW && pieces != NULL) {
        pieces = pieces->next;
        n++;
    }
    return n <= FEW ? rs_max(1, AT_ONCE / itemsize) : INT64_MAX;
}

static void add_sum(const rs_run *run, const rs_box *box, const rs_view *view, uint64_t *fingerprint)
{
    if (fingerprint != NULL) {
        *fingerprint =
            rs_fingerprint_add(*fingerprint, rs_fingerprint_box(&run->weights, run->problem->ndim, box, view));
    }
}

char *rs_block_assemble(const rs_worker *worker, const rs_step *step, const rs_piece *pieces, const char *background,
                        char *area, uint64_t *fingerprint)
{
    const rs_problem *problem = worker->run->problem;
    const rs_layout *target = &problem->target;
    int64_t n = rs_box_volume(problem->ndim, &step->stored) * problem->itemsize;
    bool whole = is_box(problem->ndim, &step->box, &step->stored);
    if (whole && pieces->next == NULL && is_box(problem->ndim, &pieces->view.box, &step->stored)) {
        add_sum(worker->run, &step->box, &pieces->view, fingerprint);
        return pieces->view.base;
    }
    rs_view all = rs_view_of(problem->ndim, target->order, &step->stored, problem->itemsize, area);
    if (background != NULL) {
        memcpy(area, background, (size_t)n);
    } else if (!whole) {
        const resplit_array *array = worker->run->target;
        rs_fill(area, n, array->pad != NULL ? array->pad : array->fill, problem->itemsize);
    }
    rs_slices slices;
    rs_box slice, common;
    rs_slices_init(&slices, problem->ndim, target->order, &step->box, items_at_once(problem->itemsize, pieces));
    while (rs_slices_next(&slices, &slice)) {
        for (const rs_piece *piece = pieces; piece != NULL; piece = piece->next) {
            if (rs_box_intersect(problem->ndim, &piece->view.box, &slice, &common)) {
                rs_view_copy(problem->ndim, problem->itemsize, &common, &all, &piece->view);
            }
        }
        add_sum(worker->run, &slice, &all, fingerprint);
    }
    return area;
}

/* A file of exactly so many bytes, also where an earlier run left a longer one. */
static resplit_status write_file(rs_worker *worker, const rs_step *step, char *stored, int64_t n, resplit_error *err)
{
    rs_files *files = &worker->run->targets;
    rs_block_file file;
    rs_cursor moved = {.next = -1};
    struct stat st;
    bytes b;
    bytes_init(&b, n);
    RS_TRY(rs_files_get(files, step->index, n, worker->path[1], &file, err));
    resplit_status rc = RESPLIT_OK;
    if (fstat(file.fd, &st) != 0 || (st.st_size > n && ftruncate(file.fd, n) != 0)) {
        rc = rs_fail_errno(err, errno, "cannot truncate '%s'", file.path);
    }
    rs_block_file raw = as_bytes(&file, &b, 0);
    if (rc == RESPLIT_OK) {
        rc = rs_file_write_box(&worker->io, &raw, &b.box, stored, 0, &moved, err);
    }
    rs_files_put(files, &file, true);
    return rc;
}

/* Bytes that lie somewhere in an area, a sector longer than they are, moved to where direct writes want them: as far
   from a sector's beginning as their place in the file. */
static char *line_up(const rs_block_file *file, int64_t place, char *area, char *data, int64_t n)
{
    char *there = area + rs_file_lead(place);
    if (file->direct < 0 || n < RS_DIRECT_WRITE || there == data) {
        return data;
    }
    return memmove(there, data, (size_t)n);
}

/* Of a shard, a long block has its last sector to itself: it is written as a whole, directly. `data` has a sector
   free behind it. */
static int64_t fill_sector(const rs_run *run, const rs_block_file *file, char *data, int64_t n)
{
    if (run->shards == NULL || file->direct < 0 || n < RS_DIRECT_WRITE) {
        return n;
    }
    int64_t all = rs_ceil_div(n, RS_SECTOR) * RS_SECTOR;
    memset(data + n, 0, (size_t)(all - n));
    return all;
}

/* Behind what its shard has, or to the place that it has in a file with others. `stored` has a sector
   free behind it. */
static resplit_status put_in(rs_worker *worker, const rs_step *step, char *stored, int64_t n, resplit_error *err)
{
    rs_run *run = worker->run;
    rs_block_file file;
    rs_cursor moved = {.next = -1};
    bytes b;
    int64_t offset = run->shards != NULL ? rs_shards_reserve(run->shards, step->index, n)
                                         : rs_array_place_of(run->target, step->index);
    int64_t all = run->shards != NULL ? 0 : rs_files_bytes(&run->targets, step->index);
    RS_TRY(rs_files_get(&run->targets, step->index, all, worker->path[1], &file, err));
    if (run->shards != NULL) {
        rs_shards_make_room(run->shards, &file, offset, n);
    }
    stored = line_up(&file, offset, stored, stored, n);
    bytes_init(&b, fill_sector(run, &file, stored, n));
    rs_block_file raw = as_bytes(&file, &b, offset);
    resplit_status rc = rs_file_write_box(&worker->io, &raw, &b.box, stored, 0, &moved, err);
    rs_files_put(&run->targets, &file, false);
    return rc == RESPLIT_OK && run->shards != NULL ? rs_shards_note(run->shards, step->index, offset, n, err) : rc;
}

static resplit_status store(rs_worker *worker, const rs_step *step, char *stored, int64_t n, resplit_error *err)
{
    worker->cursor.stored += n;
    const rs_run *run = worker->run;
    return run->shards != NULL || run->target->stride > 0 ? put_in(worker, step, stored, n, err)
                                                          : write_file(worker, step, stored, n, err);
}

/* All of a block, into `area`. What lies outside the array has no part in what is lost. */
static void cast_block(rs_worker *worker, const rs_step *step, const char *elements, char *area)
{
    const rs_run *run = worker->run;
    const rs_cast *cast = &run->target->cast;
    int64_t n = rs_box_volume(run->problem->ndim, &step->stored);
    int64_t outside = n - rs_box_volume(run->problem->ndim, &step->box);
    resplit_losses *sum = &worker->losses, one = {0};
    char ignored[32]; /* no type that is cast is longer; others are only swapped */
    rs_cast_run(cast, elements, area, n, sum);
    if (cast->kind == RS_CAST_VALUES) {
        rs_cast_run(cast, run->target->pad, ignored, 1, &one);
    }
    sum->n_values -= outside;
    sum->n_out_of_range -= outside * one.n_out_of_range;
    sum->n_not_a_number -= outside * one.n_not_a_number;
    sum->n_rounded -= outside * one.n_rounded;
}

/* What is encoded together with the elements, before them. */
static resplit_status put_head(const resplit_array *array, const int64_t *index, int64_t n, char *area,
                               resplit_error *err)
{
    rs_text head = {0};
    if (n <= 0) {
        return RESPLIT_OK;
    }
    memset(area, 0, (size_t)n); /* of a pair, whose header is elsewhere, nobody knows what stood there */
    resplit_status rc = rs_array_block_head(array, index, &head, err);
    if (rc == RESPLIT_OK && head.n > 0) {
        memcpy(area, head.s, (size_t)rs_min((int64_t)head.n, n));
    }
    rs_text_release(&head);
    return rc;
}

/* Need it not be there? */
static bool is_empty(const rs_run *run, const char *elements, int64_t n)
{
    const resplit_array *target = run->target;
    return target->fill != NULL && !target->write_empty && !run->hands_over
           && rs_is_filled(elements, n, target->fill, target->dtype.itemsize);
}

/* What is computed of a block that is to be written, and its outcome. */
typedef struct encoding {
    rs_worker *worker;
    const rs_step *step;
    const rs_piece *pieces;
    char *staging;
    uint64_t *fingerprint;
    int64_t n_stored;
    resplit_error *err;
    resplit_status rc;
} encoding;

static resplit_status encode(encoding *e, const rs_stone *stone)
{
    rs_worker *worker = e->worker;
    const rs_run *run = worker->run;
    const resplit_array *target = run->target;
    int64_t items = rs_box_volume(run->problem->ndim, &e->step->stored), n = items * target->dtype.itemsize;
    int64_t head = rs_array_block_offset(target, e->step->index);
    char *area =
        stone->area != NULL ? stone->area : e->staging + rs_stored_room(rs_chain_bound(&target->chain, head + n));
    char *place = area + head;
    char *elements = rs_block_assemble(worker, e->step, e->pieces, NULL, place, e->fingerprint);
    worker->cursor.seeks++;
    worker->cursor.bytes += items * run->problem->itemsize;
    if (rs_run_casts(run)) {
        cast_block(worker, e->step, elements, place);
        elements = place;
    }
    if (is_empty(run, elements, n)) {
        return RESPLIT_OK;
    }
    if (head > 0 && elements != place) {
        memcpy(place, elements, (size_t)n);
        elements = place;
    }
    RS_TRY(put_head(target, e->step->index, head, area, e->err));
    rs_coder *encoder = stone->coder[RS_OF_TARGET];
    rs_coder_fit(encoder, head + n);
    e->n_stored = head + n;
    return rs_encode(encoder, elements - head, e->staging, &e->n_stored, e->err);
}

static void encode_it(void *what, int by)
{
    encoding *e = what;
    e->rc = encode(e, &e->worker->run->stones[by]);
}

resplit_status rs_block_encode(rs_worker *worker, const rs_step *step, const rs_piece *pieces, char *staging,
                               uint64_t *fingerprint, int64_t *n_stored, resplit_error *err)
{
    encoding e = {
        .worker = worker, .step = step, .pieces = pieces, .staging = staging, .fingerprint = fingerprint, .err = err};
    rs_run_compute(worker, encode_it, &e);
    *n_stored = e.n_stored;
    return e.rc;
}

resplit_status rs_block_write(rs_worker *worker, const rs_step *step, const rs_piece *pieces, char *staging,
                              uint64_t *fingerprint, resplit_error *err)
{
    int64_t n;
    RS_TRY(rs_block_encode(worker, step, pieces, staging, fingerprint, &n, err));
    return n > 0 ? store(worker, step, staging, n, err) : RESPLIT_OK;
}

/* ---- As it is -------------------------------------------------------------------------------- */

/* Into a file of its own, or to where it was reserved in a shard, a staging area at a time. */
static resplit_status copy_bytes(rs_worker *worker, const rs_block_file *from, const rs_place *at,
                                 const rs_block_file *to, int64_t offset, resplit_error *err)
{
    int64_t most = worker->run->plan->staging_bytes - 2 * RS_SECTOR;
    most = most >= RS_SECTOR ? most / RS_SECTOR * RS_SECTOR : worker->run->plan->staging_bytes;
    for (int64_t done = 0; done < at->bytes; done += most) {
        rs_cursor moved = {.next = -1};
        char *data;
        bytes b;
        bytes_init(&b, rs_min(most, at->bytes - done));
        rs_block_file source = as_bytes(from, &b, at->offset + done), target = as_bytes(to, &b, offset + done);
        RS_TRY(rs_file_read_box(&worker->io, &source, &b.box, worker->staging[0], &data, &moved, err));
        data = line_up(to, offset + done, worker->staging[0], data, b.box.hi[0]);
        bytes_init(&b, fill_sector(worker->run, to, data, b.box.hi[0]));
        RS_TRY(rs_file_write_box(&worker->io, &target, &b.box, data, 0, &moved, err));
    }
    return RESPLIT_OK;
}

resplit_status rs_block_copy(rs_worker *worker, const rs_block_file *from, const rs_step *step, rs_cursor *reading,
                             resplit_error *err)
{
    rs_run *run = worker->run;
    rs_block_file to;
    rs_place at;
    int64_t offset = 0, n = rs_box_volume(run->problem->ndim, &step->stored) * run->problem->itemsize;
    RS_TRY(locate(from, &at, err));
    reading->seeks++;
    worker->cursor.seeks++;
    reading->bytes += n;
    worker->cursor.bytes += n;
    if (at.missing) {
        return RESPLIT_OK;
    }
    reading->stored += at.bytes;
    worker->cursor.stored += at.bytes;
    if (run->shards != NULL) {
        offset = rs_shards_reserve(run->shards, step->index, at.bytes);
    }
    RS_TRY(rs_files_get(&run->targets, step->index, run->shards != NULL ? 0 : at.bytes, worker->path[1], &to, err));
    resplit_status rc = RESPLIT_OK;
    if (run->shards != NULL) {
        rs_shards_make_room(run->shards, &to, offset, at.bytes);
    } else if (ftruncate(to.fd, at.bytes) != 0) {
        rc = rs_fail_errno(err, errno, "cannot truncate '%s'", to.path);
    }
    if (rc == RESPLIT_OK) {
        rc = copy_bytes(worker, from, &at, &to, offset, err);
    }
    rs_files_put(&run->targets, &to, run->shards == NULL);
    return rc == RESPLIT_OK && run->shards != NULL ? rs_shards_note(run->shards, step->index, offset, at.bytes, err)
                                                   : rc;
}
