/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_tree.c - everything that is in a file besides the dataset that is moved: groups and links as they are, other
 * objects by H5Ocopy. The new dataset takes the place of the old one; what refers to it, dimension scales above all,
 * refers to the new one then.
 */
#include "format/hdf5.h"

#include <stdlib.h>
#include <string.h>

/* Of a trial, bytes of a dataset that is not copied, and of a file to which no more is. */
enum { LARGE = 1 << 16, ENOUGH = 32 << 20 };

/* An object that has several names: the first is where it is. */
typedef struct seen {
    uint64_t address;
    char *name;
} seen;

typedef struct copying {
    const rs_hdf5_names *names;
    hid_t dataset;
    uint64_t origin; /* address of the dataset that is replaced */
    hid_t links;     /* creation properties: groups in between are made */
    seen *seen;
    size_t n_seen, room;
    const char *path;
    resplit_error *err;
    resplit_status rc;
} copying;

hid_t rs_hdf5_root_properties(hid_t file)
{
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT), creation = root >= 0 ? H5Gget_create_plist(root) : -1;
    rs_hdf5_close(root);
    return creation;
}

hid_t rs_hdf5_make_links(void)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    if (links >= 0 && H5Pset_create_intermediate_group(links, 1) < 0) {
        rs_hdf5_close(links);
        return -1;
    }
    return links;
}

/* ---- Links ------------------------------------------------------------------------------------ */

static bool copy_soft(const copying *c, const char *name, const char *value)
{
    return H5Lcreate_soft(value, c->names->to, name, c->links, H5P_DEFAULT) >= 0;
}

static bool copy_external(const copying *c, const char *name, const char *value, size_t n)
{
    unsigned flags;
    const char *file, *object;
    return H5Lunpack_elink_val(value, n, &flags, &file, &object) >= 0
           && H5Lcreate_external(file, object, c->names->to, name, c->links, H5P_DEFAULT) >= 0;
}

static resplit_status copy_link(const copying *c, const char *name, const rs_hdf5_link *info)
{
    size_t n = info->u.val_size;
    char *value = n > 0 && n < (1 << 20) ? calloc(1, n + 1) : NULL;
    bool done = value != NULL && H5Lget_val(c->names->from, name, value, n, H5P_DEFAULT) >= 0;
    if (done) {
        done = info->type == H5L_TYPE_SOFT       ? copy_soft(c, name, value)
               : info->type == H5L_TYPE_EXTERNAL ? copy_external(c, name, value, n)
                                                 : false;
    }
    free(value);
    return done ? RESPLIT_OK
                : rs_hdf5_fail(c->err, RESPLIT_EUNSUPPORTED, "cannot copy link '%s' to '%s'", name, c->path);
}

/* ---- Objects ---------------------------------------------------------------------------------- */

static const char *find_seen(const copying *c, uint64_t address)
{
    for (size_t i = 0; i < c->n_seen; i++) {
        if (c->seen[i].address == address) {
            return c->seen[i].name;
        }
    }
    return NULL;
}

static resplit_status note_seen(copying *c, uint64_t address, const char *name)
{
    if (c->n_seen == c->room) {
        size_t room = c->room == 0 ? 16 : 2 * c->room;
        seen *more = realloc(c->seen, room * sizeof *more);
        if (more == NULL) {
            return rs_fail(c->err, RESPLIT_ENOMEM, "no memory for names of objects");
        }
        c->seen = more;
        c->room = room;
    }
    c->seen[c->n_seen] = (seen){address, rs_strdup(name)};
    return c->seen[c->n_seen++].name != NULL ? RESPLIT_OK : rs_fail(c->err, RESPLIT_ENOMEM, "no memory for a name");
}

static resplit_status copy_group(const copying *c, const char *name)
{
    hid_t from = H5Gopen2(c->names->from, name, H5P_DEFAULT), creation = from >= 0 ? H5Gget_create_plist(from) : -1;
    bool there = H5Lexists(c->names->to, name, H5P_DEFAULT) > 0; /* made for the dataset, which has another name now */
    hid_t to = creation < 0 ? -1
               : there      ? H5Gopen2(c->names->to, name, H5P_DEFAULT)
                            : H5Gcreate2(c->names->to, name, c->links, creation, H5P_DEFAULT);
    resplit_status rc = to >= 0 ? rs_hdf5_copy_attributes(from, to, true, c->path, c->err)
                                : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot make group '%s' in '%s'", name, c->path);
    rs_hdf5_close(to);
    rs_hdf5_close(creation);
    rs_hdf5_close(from);
    return rc;
}

/* The dataset itself: it gets its name in the place of the old one, which may be another name. */
static resplit_status link_dataset(const copying *c, const char *name)
{
    const char *made = strcmp(name, c->names->origin + 1) == 0 ? c->names->made : name;
    return H5Olink(c->dataset, c->names->to, made, c->links, H5P_DEFAULT) >= 0
               ? RESPLIT_OK
               : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot put dataset '%s' into '%s'", made, c->path);
}

static herr_t pass(hid_t object, const char *name, const H5A_info_t *info, void *payload)
{
    (void)object;
    (void)name;
    (void)info;
    (void)payload;
    return 0;
}

/*
 * Version 1.10 crashes when H5Ocopy cannot read attributes, or data that lie together, or has no room for these: that
 * is asked before.
 * *bytes: of data.
 */
static resplit_status check_data(const copying *c, const char *name, hsize_t *bytes)
{
    hsize_t size = 0;
    const rs_hdf5_io *io = rs_hdf5_io_of(c->names->to);
    hid_t dataset = H5Dopen2(c->names->from, name, H5P_DEFAULT);
    hsize_t n = dataset >= 0 ? H5Dget_storage_size(dataset) : 0;
    *bytes = n;
    rs_apart_go_on((int64_t)(n & INT64_MAX), (int64_t)(n & INT32_MAX)); /* it has a chunk in memory at a time */
    haddr_t at = dataset >= 0 ? H5Dget_offset(dataset) : HADDR_UNDEF;
    bool there = dataset >= 0 && H5Aiterate2(dataset, H5_INDEX_NAME, H5_ITER_INC, NULL, pass, NULL) >= 0
                 && (n == 0 || at == HADDR_UNDEF
                     || (H5Fget_filesize(c->names->from, &size) >= 0 && at <= size && n <= size - at));
    rs_hdf5_close(dataset);
    if (!there) {
        return rs_hdf5_fail(c->err, RESPLIT_EFORMAT, "cannot read '%s' of the source for '%s': it is damaged", name,
                            c->path);
    }
    bool held = io != NULL && io->memory != NULL;
    size_t used = held ? io->memory->n : 0, most = held ? (size_t)rs_hdf5_most_memory(io) : 0;
    return !held || c->names->trial || (used < most && n < most - used)
               ? RESPLIT_OK
               : rs_fail(
                   c->err, RESPLIT_EUNSUPPORTED,
                   "'%s' of '%s' has %llu bytes: beside its image, a file may have %zu, since they are held in memory",
                   name, c->path, (unsigned long long)n, most);
}

static resplit_status copy_object(copying *c, const char *name)
{
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    if (!rs_hdf5_look(c->names->from, name, &type, &address, &n_links)) {
        return rs_hdf5_fail(c->err, RESPLIT_EFORMAT, "cannot look at '%s' in the source", name);
    }
    if (type == H5O_TYPE_DATASET && address == c->origin) {
        return link_dataset(c, name);
    }
    const char *first = n_links > 1 ? find_seen(c, address) : NULL;
    if (first != NULL && c->names->trial && H5Lexists(c->names->to, first, H5P_DEFAULT) <= 0) {
        return RESPLIT_OK; /* it was large */
    }
    if (first != NULL) {
        return H5Lcreate_hard(c->names->to, first, c->names->to, name, c->links, H5P_DEFAULT) >= 0
                   ? RESPLIT_OK
                   : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot link '%s' in '%s'", name, c->path);
    }
    if (n_links > 1) {
        RS_TRY(note_seen(c, address, name));
    }
    if (type == H5O_TYPE_GROUP) {
        return copy_group(c, name);
    }
    hsize_t bytes = 0;
    if (type == H5O_TYPE_DATASET) {
        RS_TRY(check_data(c, name, &bytes));
    }
    if (c->names->trial && bytes > LARGE) {
        return RESPLIT_OK;
    }
    return H5Ocopy(c->names->from, name, c->names->to, name, H5P_DEFAULT, c->links) >= 0
               ? RESPLIT_OK
               : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot copy '%s' to '%s'", name, c->path);
}

/* Of a trial, nothing is made once there is enough; that is so in the next walk, too. */
static bool is_left(const copying *c, const char *name)
{
    const rs_hdf5_io *io = c->names->trial ? rs_hdf5_io_of(c->names->to) : NULL;
    return (io != NULL && io->memory->n > ENOUGH)
           || (c->names->leaves != NULL && c->names->leaves(name, c->names->payload));
}

static herr_t copy_next(hid_t root, const char *name, const rs_hdf5_link *info, void *payload)
{
    copying *c = payload;
    (void)root;
    if (is_left(c, name)) {
        return 0;
    }
    c->rc = info->type == H5L_TYPE_HARD ? copy_object(c, name) : copy_link(c, name, info);
    return c->rc == RESPLIT_OK ? 0 : -1;
}

/* ---- References -------------------------------------------------------------------------------- */

static resplit_status map_object(const copying *c, const char *name, const char *made)
{
    hid_t from = H5Oopen(c->names->from, name, H5P_DEFAULT), to = H5Oopen(c->names->to, made, H5P_DEFAULT);
    resplit_status rc = from >= 0 && to >= 0
                            ? rs_hdf5_map_attributes(from, to, c->names, c->path, c->err)
                            : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot open '%s' in '%s'", made, c->path);
    rs_hdf5_close(to);
    rs_hdf5_close(from);
    return rc;
}

static herr_t map_next(hid_t root, const char *name, const rs_hdf5_link *info, void *payload)
{
    copying *c = payload;
    (void)root;
    const char *made = strcmp(name, c->names->origin + 1) == 0 ? c->names->made : name;
    bool there = !c->names->trial || H5Lexists(c->names->to, made, H5P_DEFAULT) > 0;
    if (info->type == H5L_TYPE_HARD && !is_left(c, name) && there) {
        c->rc = map_object(c, name, made);
    }
    return c->rc == RESPLIT_OK ? 0 : -1;
}

/* ---- All of it --------------------------------------------------------------------------------- */

static resplit_status walk(copying *c, rs_hdf5_on_link *next)
{
    unsigned order = 0;
    hid_t creation = rs_hdf5_root_properties(c->names->from);
    bool tracked =
        creation >= 0 && H5Pget_link_creation_order(creation, &order) >= 0 && (order & H5P_CRT_ORDER_TRACKED) != 0;
    rs_hdf5_close(creation);
    herr_t rc = rs_hdf5_visit_links(c->names->from, tracked ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, next, c);
    return rc >= 0 || c->rc != RESPLIT_OK
               ? c->rc
               : rs_hdf5_fail(c->err, RESPLIT_EFORMAT, "cannot list what is in the source for '%s'", c->path);
}

static resplit_status copy_all(copying *c)
{
    hid_t from = H5Gopen2(c->names->from, "/", H5P_DEFAULT), to = H5Gopen2(c->names->to, "/", H5P_DEFAULT);
    resplit_status rc = from >= 0 && to >= 0 && c->links >= 0
                            ? rs_hdf5_copy_attributes(from, to, true, c->path, c->err)
                            : rs_hdf5_fail(c->err, RESPLIT_EIO, "cannot open the root of '%s'", c->path);
    rs_hdf5_close(to);
    rs_hdf5_close(from);
    RS_TRY(rc);
    RS_TRY(walk(c, copy_next));
    RS_TRY(map_object(c, "/", "/"));
    return walk(c, map_next);
}

resplit_status rs_hdf5_copy_tree(const rs_hdf5_names *names, hid_t dataset, const char *path, resplit_error *err)
{
    copying c = {.names = names, .dataset = dataset, .links = rs_hdf5_make_links(), .path = path, .err = err};
    H5O_type_t type;
    unsigned n_links;
    uint64_t root;
    bool found = rs_hdf5_look(names->from, names->origin, &type, &c.origin, &n_links)
                 && rs_hdf5_look(names->from, "/", &type, &root, &n_links);
    resplit_status rc = found ? note_seen(&c, root, "/") : RESPLIT_OK; /* groups may lead back to it */
    rc = found ? (rc == RESPLIT_OK ? copy_all(&c) : rc)
               : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot look at '%s' in the source", names->origin);
    for (size_t i = 0; i < c.n_seen; i++) {
        free(c.seen[i].name);
    }
    free(c.seen);
    rs_hdf5_close(c.links);
    return rc;
}
