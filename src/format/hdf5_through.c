/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_through.c - data that only libhdf5 can get at: behind filters of its own that we lack, in external files, in the
 * datasets that a virtual one is made of. Read block by block through H5Dread, by the process that has opened it, which
 * stays as long as the array.
 *
 * libhdf5 reads the fill value from a source of a virtual dataset that is missing, or that it cannot open, as for want
 * of descriptors, and says nothing. So all of them are looked for first, and there have to be descriptors for all at
 * once.
 */
#include "format/hdf5.h"

#include "format/hdf5_array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAME = 4096, SPARE_FILES = 96 };
static const int64_t BLOCK = 4 << 20;       /* bytes that are read at once, where there are no chunks */
static const double BYTES_A_SECOND = 150e6; /* a guess: libhdf5 on one thread */

/* ---- Whether it can ---------------------------------------------------------------------------- */

bool rs_hdf5_can_decode(hid_t creation)
{
    int n = H5Pget_nfilters(creation);
    bool can = n >= 0;
    for (int i = 0; i < n && can; i++) {
        unsigned flags, values[1], config;
        size_t n_values = 0;
        H5Z_filter_t id = H5Pget_filter2(creation, (unsigned)i, &flags, &n_values, values, 0, NULL, NULL);
        can = id >= 0 && H5Zfilter_avail(id) > 0 && H5Zget_filter_info(id, &config) >= 0
              && (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) != 0;
    }
    (void)H5Eclear2(H5E_DEFAULT);
    return can;
}

/* Whole rows, as many as there is room for; of a row that is too long, parts of it. */
void rs_hdf5_choose_blocks(int ndim, const int64_t *shape, int64_t itemsize, int64_t *length)
{
    int64_t inner = itemsize;
    for (int d = ndim - 1; d >= 0; d--) {
        length[d] = rs_max(1, rs_min(shape[d], BLOCK / rs_max(1, inner)));
        inner = length[d] < shape[d] ? BLOCK : inner * length[d]; /* what is outside of a part has length 1 */
    }
}

/* ---- The sources of a virtual dataset ---------------------------------------------------------- */

typedef struct mapping {
    hid_t whole, creation; /* the virtual dataset */
    size_t number;
    char file[MOST_NAME], dataset[MOST_NAME];
} mapping;

/* The first element of a selection; false: nobody can tell where that is. */
static bool read_first(hid_t dataset, hid_t selection, hid_t type, char *out, bool *read)
{
    hsize_t start[H5S_MAX_RANK] = {0}, end[H5S_MAX_RANK], one[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset), memory = H5Screate(H5S_SCALAR);
    int ndim = H5Sget_simple_extent_ndims(space);
    bool all = H5Sget_select_type(selection) == H5S_SEL_ALL; /* of a dataset of whatever shape */
    bool known =
        ndim > 0
        && (all || (H5Sget_simple_extent_ndims(selection) == ndim && H5Sget_select_bounds(selection, start, end) >= 0));
    for (int d = 0; d < ndim; d++) {
        one[d] = 1;
    }
    *read = known && memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0
            && H5Dread(dataset, type, memory, space, H5P_DEFAULT, out) >= 0;
    rs_hdf5_close(memory);
    rs_hdf5_close(space);
    return known;
}

/* Does libhdf5 find a source, too? Not, when it has the fill value where the source's first element is another one. */
static bool is_seen(const mapping *m, hid_t source)
{
    hid_t type = H5Dget_type(m->whole), there = H5Pget_virtual_vspace(m->creation, m->number);
    hid_t here = H5Pget_virtual_srcspace(m->creation, m->number);
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    char *first = calloc(3, size > 0 ? size : 1), *own = first + size, *fill = own + size;
    bool read[2] = {false, false}, seen = first != NULL && size > 0;
    if (seen && read_first(m->whole, there, type, first, &read[0]) && read_first(source, here, type, own, &read[1])) {
        bool filled = H5Pget_fill_value(m->creation, type, fill) < 0 || memcmp(first, fill, size) == 0;
        seen = read[0] && read[1] && (!filled || memcmp(first, own, size) == 0);
    }
    free(first);
    rs_hdf5_close(here);
    rs_hdf5_close(there);
    rs_hdf5_close(type);
    (void)H5Eclear2(H5E_DEFAULT);
    return seen;
}

/* A name as libhdf5 looks for it: beside the file that has it, else as it is. */
static resplit_status find_file(const char *path, mapping *m, char found[2 * MOST_NAME], resplit_error *err)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(m->file, ".") == 0) {
        (void)snprintf(found, 2 * MOST_NAME, "%.*s", MOST_NAME - 1, path);
        return RESPLIT_OK;
    }
    if (strchr(m->file, '%') != NULL || strchr(m->dataset, '%') != NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' is virtual, of files by a pattern, '%.300s': that one is missing could not be seen", path,
                       m->file);
    }
    bool beside = m->file[0] != '/' && slash != NULL;
    (void)snprintf(found, 2 * MOST_NAME, "%.*s%s", beside ? (int)rs_min(slash - path + 1, MOST_NAME - 1) : 0, path,
                   m->file);
    if (access(found, R_OK) != 0 && beside) {
        (void)snprintf(found, 2 * MOST_NAME, "%s", m->file);
    }
    return access(found, R_OK) == 0
               ? RESPLIT_OK
               : rs_fail_errno(err, errno, "'%s' is virtual, and cannot read '%.300s', which it is made of", path,
                               m->file);
}

static resplit_status check_source(const char *path, mapping *m, resplit_error *err)
{
    char found[2 * MOST_NAME];
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    hid_t file = -1;
    RS_TRY(find_file(path, m, found, err));
    RS_TRY(rs_hdf5_open_file(found, &file, err));
    bool there = rs_hdf5_look(file, m->dataset, &type, &address, &n_links) && type == H5O_TYPE_DATASET;
    hid_t dataset = there ? H5Dopen2(file, m->dataset, H5P_DEFAULT) : -1;
    hid_t creation = dataset >= 0 ? H5Dget_create_plist(dataset) : -1;
    bool seen = creation >= 0 && is_seen(m, dataset);
    resplit_status rc = creation >= 0 ? rs_hdf5_check_index(file, dataset, found, err) : RESPLIT_OK;
    bool nested = creation >= 0 && H5Pget_layout(creation) == H5D_VIRTUAL,
         readable = creation >= 0 && rs_hdf5_can_decode(creation);
    rs_hdf5_close(creation);
    rs_hdf5_close(dataset);
    rs_hdf5_close(file);
    RS_TRY(rc);
    if (nested || (there && !readable)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' is virtual, and '%.300s', which it is made of, %s", path, found,
                       nested ? "is so too, which is not handled" : "has filters that libhdf5 here cannot undo");
    }
    if (there && !seen) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is virtual, and libhdf5 does not find '%.300s', which it is made of",
                       path, found);
    }
    return there ? RESPLIT_OK
                 : rs_fail(err, RESPLIT_EFORMAT,
                           "'%s' is virtual, and '%.300s' has no dataset '%.300s', which it is made of", path, found,
                           m->dataset);
}

/* Of all sources, that they are there. */
static resplit_status check_sources(hid_t whole, hid_t creation, const char *path, resplit_error *err)
{
    size_t n = 0;
    struct rlimit limit = {0};
    mapping *m = malloc(sizeof *m);
    resplit_status rc = RESPLIT_OK;
    if (m == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for names of files");
    }
    if (H5Pget_virtual_count(creation, &n) < 0) {
        rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot tell what '%s' is made of", path);
    } else if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && n + SPARE_FILES > limit.rlim_cur) {
        rc = rs_fail(err, RESPLIT_EUNSUPPORTED,
                     "'%s' is virtual, of %zu parts, and only %llu files may be open: give more, as by ulimit -n %zu",
                     path, n, (unsigned long long)limit.rlim_cur, n + SPARE_FILES);
    }
    for (size_t i = 0; i < n && rc == RESPLIT_OK; i++) {
        m->whole = whole;
        m->creation = creation;
        m->number = i;
        ssize_t file = H5Pget_virtual_filename(creation, i, m->file, sizeof m->file);
        ssize_t dataset = H5Pget_virtual_dsetname(creation, i, m->dataset, sizeof m->dataset);
        rc = file < 0 || dataset < 0 || file >= MOST_NAME || dataset >= MOST_NAME
                 ? rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot tell what '%s' is made of", path)
                 : check_source(path, m, err);
    }
    free(m);
    return rc;
}

/* ---- External files ----------------------------------------------------------------------------- */

/* From a file that is too short libhdf5 reads zeros. */
static resplit_status check_external(hid_t creation, const char *path, int64_t needed, resplit_error *err)
{
    int64_t there = 0;
    int n = H5Pget_external_count(creation);
    for (int i = 0; i < n; i++) {
        char name[MOST_NAME] = "";
        off_t offset = 0;
        hsize_t bytes = 0;
        struct stat st;
        if (H5Pget_external(creation, (unsigned)i, sizeof name - 1, name, &offset, &bytes) < 0) {
            return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot tell in which files '%s' has its data", path);
        }
        if (stat(name, &st) != 0) {
            return rs_fail_errno(err, errno,
                                 "'%s' has its data in '%.300s', as seen from this folder, which cannot be read", path,
                                 name);
        }
        bool fits =
            offset >= 0 && offset <= st.st_size && (bytes == H5F_UNLIMITED || bytes <= (hsize_t)(st.st_size - offset));
        if (!fits) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "'%s' has %llu bytes of its data in '%.300s' from byte %lld on, which has %lld", path,
                           (unsigned long long)bytes, name, (long long)offset, (long long)st.st_size);
        }
        int64_t more = bytes == H5F_UNLIMITED ? (int64_t)st.st_size - offset : (int64_t)bytes;
        there = rs_add(there, more, &there) ? there : INT64_MAX;
    }
    return there >= needed ? RESPLIT_OK
                           : rs_fail(err, RESPLIT_EFORMAT, "'%s' has %lld bytes in other files, but needs %lld", path,
                                     (long long)there, (long long)needed);
}

/* ---- Reading ----------------------------------------------------------------------------------- */

/* Chunks are kept by nobody: each block is read once, or as often as the plan says. */
static hid_t open_uncached(hid_t file, const char *name)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t dataset = access >= 0 && H5Pset_chunk_cache(access, 0, 0, 0) >= 0 ? H5Dopen2(file, name, access) : -1;
    rs_hdf5_close(access);
    return dataset;
}

resplit_status rs_hdf5_read_through(resplit_array *array, hid_t file, hid_t creation, int64_t block, resplit_error *err)
{
    rs_hdf5 *hdf5 = array->hdf5;
    hdf5->dataset_id = open_uncached(file, hdf5->dataset);
    hdf5->file_id = file;
    if (hdf5->dataset_id < 0 || H5Iinc_ref(file) < 0) {
        rs_hdf5_close(hdf5->dataset_id);
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot open dataset '%s' of '%s'", hdf5->dataset, array->path);
    }
    hdf5->through = true; /* from here on both are closed with the array */
    if (H5Pget_layout(creation) == H5D_VIRTUAL) {
        RS_TRY(check_sources(hdf5->dataset_id, creation, array->path, err));
    } else if (!hdf5->chunked) {
        RS_TRY(check_external(creation, array->path, array->info.bytes, err));
    } else {
        RS_TRY(rs_hdf5_check_index(file, hdf5->dataset_id, array->path, err));
    }
    array->encoded = true;
    array->info.codec = NULL;
    array->info.n_stored = array->info.n_blocks;
    array->info.stored_bytes = (int64_t)H5Dget_storage_size(hdf5->dataset_id);
    RS_TRY(rs_array_set_coding(array, false, 0, 1, err));
    array->layout.coding.coder +=
        4 * block; /* a chunk as it is stored, twice while filters are undone, and the block itself */
    array->layout.coding.library = RS_HDF5_LIBRARY;
    array->layout.coding.area = 0; /* they come from the library */
    array->layout.coding.seconds = 1 / BYTES_A_SECOND;
    return RESPLIT_OK;
}

static bool read_box(const rs_hdf5 *hdf5, int ndim, const hsize_t *start, const hsize_t *count, const hsize_t *stored,
                     char *out)
{
    static const hsize_t zero[RS_MAX_NDIM];
    hid_t type = H5Dget_type(hdf5->dataset_id), space = H5Dget_space(hdf5->dataset_id);
    hid_t memory = ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, stored, NULL);
    bool done = type >= 0 && space >= 0 && memory >= 0;
    if (done && ndim > 0) {
        done = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0
               && H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, count, NULL) >= 0;
    }
    done = done && H5Dread(hdf5->dataset_id, type, memory, space, H5P_DEFAULT, out) >= 0;
    rs_hdf5_close(memory);
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    return done;
}

static bool is_scaled(hid_t dataset)
{
    hid_t creation = H5Dget_create_plist(dataset);
    int n = creation >= 0 ? H5Pget_nfilters(creation) : 0;
    unsigned flags, values[1];
    size_t n_values = 0;
    bool last = n > 0
                && H5Pget_filter2(creation, (unsigned)n - 1, &flags, &n_values, values, 0, NULL, NULL)
                       == H5Z_FILTER_SCALEOFFSET;
    rs_hdf5_close(creation);
    return last;
}

/*
 * A chunk that scaleoffset has made last begins with how many bits its elements have. Version 1.10 believes that, and
 * reads behind a chunk of which an index that is damaged has only a part.
 */
static resplit_status check_scaled(const resplit_array *array, const hsize_t *at, int64_t n_elements,
                                   resplit_error *err)
{
    enum { HEAD = 21, MOST_BITS = 64 };
    const rs_hdf5 *hdf5 = array->hdf5;
    unsigned char bits[4] = {0};
    rs_hdf5_chunk chunk;
    rs_hdf5_io *io = rs_hdf5_io_of(hdf5->file_id);
    if (!hdf5->chunked || io == NULL || !is_scaled(hdf5->dataset_id)
        || !rs_hdf5_find_chunk(hdf5->dataset_id, io, at, &chunk) || chunk.skip != 0) {
        (void)H5Eclear2(H5E_DEFAULT);
        return RESPLIT_OK;
    }
    int fd = open(array->path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && pread(fd, bits, sizeof bits, chunk.offset) == (ssize_t)sizeof bits;
    if (fd >= 0) {
        (void)close(fd);
    }
    bool fits = read && bits[1] == 0 && bits[2] == 0 && bits[3] == 0 && bits[0] <= MOST_BITS
                && chunk.bytes >= HEAD + (n_elements / 8) * bits[0] + (n_elements % 8 * bits[0] + 7) / 8;
    return fits ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EFORMAT, "it has %lld bytes, too few for %lld elements of %u bits",
                          (long long)chunk.bytes, (long long)n_elements, (unsigned)bits[0]);
}

static resplit_status fetch(const resplit_array *array, const int64_t *index, char *out, resplit_error *err)
{
    rs_hdf5_session session;
    rs_box box = rs_layout_box(&array->layout, index), stored = rs_layout_stored(&array->layout, index);
    hsize_t start[RS_MAX_NDIM], count[RS_MAX_NDIM], lengths[RS_MAX_NDIM];
    for (int d = 0; d < array->layout.ndim; d++) {
        start[d] = (hsize_t)box.lo[d];
        count[d] = (hsize_t)(box.hi[d] - box.lo[d]);
        lengths[d] = (hsize_t)(stored.hi[d] - stored.lo[d]);
    }
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = check_scaled(array, start, rs_box_volume(array->layout.ndim, &stored), err);
    if (rc == RESPLIT_OK && !read_box(array->hdf5, array->layout.ndim, start, count, lengths, out)) {
        rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read dataset '%s'", array->hdf5->dataset);
    }
    rs_hdf5_leave(&session);
    return rc;
}

static size_t block_bytes(const resplit_array *array, const int64_t *index)
{
    rs_box stored = rs_layout_stored(&array->layout, index);
    return (size_t)(rs_box_volume(array->layout.ndim, &stored) * array->dtype.itemsize);
}

void rs_hdf5_answer(rs_wire *wire, const resplit_array *array)
{
    int64_t index[RS_MAX_NDIM];
    while (rs_wire_get(wire, index, sizeof index)) {
        resplit_error err = {0};
        size_t n = block_bytes(array, index);
        rs_apart_go_on((int64_t)n, 4 * (int64_t)n);
        char *block = calloc(1, n > 0 ? n : 1);
        resplit_status rc = block != NULL ? fetch(array, index, block, &err)
                                          : rs_fail(&err, RESPLIT_ENOMEM, "no memory for a block of %zu bytes", n);
        rs_wire_answer(wire, rc, &err, block, n);
        free(block);
    }
}

resplit_status rs_hdf5_fetch(const resplit_array *array, const int64_t *index, char *out, resplit_error *err)
{
    int64_t question[RS_MAX_NDIM] = {0};
    memcpy(question, index, (size_t)array->layout.ndim * sizeof *question);
    return rs_child_ask(array->hdf5->reader, question, sizeof question, out, block_bytes(array, index), err);
}
