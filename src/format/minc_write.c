/* SPDX-License-Identifier: BSD-3-Clause */
/* minc_write.c - the file of a piece of an image, from the head of the whole, but for its voxels. */
#include "format/minc.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_HISTORY = 60000 }; /* bytes: an attribute ends at 64 KiB, in files that all can read */

typedef struct putting {
    const rs_minc *minc;
    const rs_box *box;
    hid_t from, to;
    const char *path;
} putting;

/* ---- Heads --------------------------------------------------------------------------------------- */

/* Of smaller images, nothing is kept: they would be of another piece. */
static bool is_smaller(const char *name)
{
    static const char images[] = "minc-2.0/image/";
    const char *rest = name + sizeof images - 1;
    return strncmp(name, images, sizeof images - 1) == 0 && !(rest[0] == '0' && (rest[1] == '/' || rest[1] == '\0'));
}

static bool leaves_smaller(const char *name, const void *payload)
{
    (void)payload;
    return is_smaller(name);
}

static bool leaves_cut(const char *name, const void *payload)
{
    const rs_minc *minc = payload;
    for (int i = 0; i < minc->n_tables; i++) {
        if (strcmp(minc->table[i].name + 1, name) == 0) {
            return true;
        }
    }
    return is_smaller(name);
}

resplit_status rs_minc_new_file(rs_text *memory, hid_t *out, resplit_error *err)
{
    rs_hdf5_io io = {.memory = memory};
    hid_t access = rs_hdf5_access(&io, true);
    *out = access >= 0 ? H5Fcreate("head", H5F_ACC_TRUNC, H5P_DEFAULT, access) : -1;
    rs_hdf5_close(access);
    return *out >= 0 ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EINTERNAL, "cannot make the head of a MINC file");
}

resplit_status rs_minc_open(const rs_minc *minc, hid_t *out, resplit_error *err)
{
    rs_hdf5_io io = {.memory = (rs_text *)&minc->head}; /* only read */
    hid_t access = rs_hdf5_access(&io, false);
    *out = access >= 0 ? H5Fopen("head", H5F_ACC_RDONLY, access) : -1;
    rs_hdf5_close(access);
    return *out >= 0 ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EINTERNAL, "cannot open the head of a MINC file");
}

/* The image without voxels. */
static hid_t make_image(hid_t file, const rs_minc *minc)
{
    hsize_t shape[RS_MAX_NDIM];
    for (int d = 0; d < minc->ndim; d++) {
        shape[d] = (hsize_t)minc->shape[d];
    }
    hid_t type = H5Tdecode(minc->type.s), space = H5Screate_simple(minc->ndim, shape, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    if (type >= 0 && space >= 0 && creation >= 0 && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_LATE) >= 0
        && H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0) {
        dataset = H5Dcreate_anon(file, type, space, creation, H5P_DEFAULT);
    }
    rs_hdf5_close(creation);
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    return dataset;
}

static resplit_status copy_image_attributes(hid_t from, hid_t dataset, const char *path, resplit_error *err)
{
    hid_t origin = H5Dopen2(from, RS_MINC_IMAGE, H5P_DEFAULT);
    resplit_status rc = origin >= 0 && dataset >= 0
                            ? rs_hdf5_copy_attributes(origin, dataset, true, path, err)
                            : rs_hdf5_fail(err, RESPLIT_EIO, "cannot make the image of '%s'", path);
    rs_hdf5_close(origin);
    return rc;
}

static resplit_status copy_tree(hid_t from, hid_t to, hid_t dataset, rs_hdf5_leaves *leaves, const rs_minc *minc,
                                const char *path, resplit_error *err)
{
    rs_hdf5_names names = {
        .from = from, .to = to, .origin = RS_MINC_IMAGE, .made = RS_MINC_IMAGE, .leaves = leaves, .payload = minc};
    RS_TRY(copy_image_attributes(from, dataset, path, err));
    return rs_hdf5_copy_tree(&names, dataset, path, err);
}

resplit_status rs_minc_close_file(hid_t file, resplit_status rc, resplit_error *err)
{
    return file >= 0 && H5Fclose(file) < 0 && rc == RESPLIT_OK
               ? rs_hdf5_fail(err, RESPLIT_EINTERNAL, "cannot finish the head of a MINC file")
               : rc;
}

resplit_status rs_minc_take(hid_t file, const char *path, rs_minc *minc, resplit_error *err)
{
    hid_t to = -1, dataset = -1;
    rs_text_release(&minc->head);
    resplit_status rc = rs_minc_new_file(&minc->head, &to, err);
    if (rc == RESPLIT_OK) {
        dataset = make_image(to, minc);
        rc = copy_tree(file, to, dataset, leaves_smaller, minc, path, err);
    }
    rs_hdf5_close(dataset);
    return rs_minc_close_file(to, rc, err);
}

/* ---- Attributes ----------------------------------------------------------------------------------- */

static bool set_number(hid_t object, const char *name, double value)
{
    bool there = H5Aexists(object, name) > 0;
    hid_t space = there ? -1 : H5Screate(H5S_SCALAR);
    hid_t attribute = there ? H5Aopen(object, name, H5P_DEFAULT)
                            : H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) >= 0;
    rs_hdf5_close(attribute);
    rs_hdf5_close(space);
    return done;
}

bool rs_minc_set_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute = -1;
    if (type >= 0 && space >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0
        && (H5Aexists(object, name) <= 0 || H5Adelete(object, name) >= 0)) {
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    bool done = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    rs_hdf5_close(attribute);
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    return done;
}

/* Length and start of a dimension, or the length of its widths. */
static bool set_dimension(const putting *p, int d, const char *name, bool width)
{
    const rs_minc_axis *axis = &p->minc->axis[d];
    double value = 0, length = (double)(p->box->hi[d] - p->box->lo[d]),
           start = rs_minc_start(p->minc, d, p->box->lo[d]);
    hid_t object = H5Oopen(p->to, name, H5P_DEFAULT);
    bool done = object >= 0;
    if (done && rs_minc_numbers(object, "length", 1, &value) > 0 && value != length) {
        done = set_number(object, "length", length);
    }
    if (done && !width && axis->placed && p->box->lo[d] > 0) {
        done = set_number(object, "start", start);
    }
    rs_hdf5_close(object);
    return done;
}

static resplit_status put_axes(const putting *p, resplit_error *err)
{
    for (int d = 0; d < p->minc->ndim; d++) {
        rs_text name = {0};
        bool done = true;
        for (int width = 0; width < 2 && done && p->minc->axis[d].described; width++) {
            name.n = 0;
            done = rs_text_add(&name, NULL, "/minc-2.0/dimensions/%s%s", p->minc->axis[d].name, width ? "-width" : "")
                   == RESPLIT_OK;
            if (done && H5Lexists(p->to, name.s, H5P_DEFAULT) > 0) {
                done = set_dimension(p, d, name.s, width != 0);
            }
        }
        rs_text_release(&name);
        if (!done) {
            return rs_hdf5_fail(err, RESPLIT_EIO, "cannot describe axis %s in '%s'", p->minc->axis[d].name, p->path);
        }
    }
    return RESPLIT_OK;
}

/* Who made the file, and where and when, is nobody's business: of us it says what was done. */
static resplit_status put_history(const putting *p, resplit_error *err)
{
    rs_text history = {0};
    hid_t root = H5Gopen2(p->to, "/minc-2.0", H5P_DEFAULT);
    bool done = root >= 0;
    if (done && p->minc->line.n > 0) {
        (void)rs_minc_text(root, "history", &history);
        bool ends = history.n == 0 || history.s[history.n - 1] == '\n';
        done = rs_text_add(&history, NULL, "%s%s\n", ends ? "" : "\n", p->minc->line.s) == RESPLIT_OK;
        done = done && (history.n > LONGEST_HISTORY || rs_minc_set_text(root, "history", history.s))
               && rs_minc_set_text(root, "ident", "resplit");
    }
    rs_hdf5_close(root);
    rs_text_release(&history);
    return done ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EIO, "cannot write the history of '%s'", p->path);
}

/* ---- Tables --------------------------------------------------------------------------------------- */

/* The numbers of the piece; the caller frees them. */
static double *cut_values(const putting *p, const rs_minc_table *table)
{
    rs_box image = {.lo = {0}};
    memcpy(image.hi, p->minc->shape, sizeof p->minc->shape);
    rs_box part = rs_minc_table_box(table, p->box);
    double *out = calloc((size_t)rs_max(1, rs_box_volume(table->ndim, &part)), sizeof *out);
    if (out != NULL) {
        rs_view from = rs_minc_view(table, &image, table->value), to = rs_minc_view(table, p->box, out);
        rs_view_copy(table->ndim, sizeof *out, &part, &to, &from);
    }
    return out;
}

static hid_t make_table(const putting *p, const rs_minc_table *table, hid_t type)
{
    hsize_t shape[RS_MAX_NDIM];
    rs_box part = rs_minc_table_box(table, p->box);
    for (int k = 0; k < table->ndim; k++) {
        shape[k] = (hsize_t)(part.hi[k] - part.lo[k]);
    }
    hid_t space = table->ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(table->ndim, shape, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), dataset = -1, links = rs_hdf5_make_links();
    if (type >= 0 && space >= 0 && creation >= 0) {
        dataset = H5Dcreate_anon(p->to, type, space, creation, H5P_DEFAULT);
    }
    if (dataset >= 0 && (links < 0 || H5Olink(dataset, p->to, table->name, links, H5P_DEFAULT) < 0)) {
        rs_hdf5_close(dataset);
        dataset = -1;
    }
    rs_hdf5_close(links);
    rs_hdf5_close(creation);
    rs_hdf5_close(space);
    return dataset;
}

static resplit_status put_table(const putting *p, const rs_minc_table *table, resplit_error *err)
{
    double *values = cut_values(p, table);
    hid_t origin = H5Dopen2(p->from, table->name, H5P_DEFAULT), type = origin >= 0 ? H5Dget_type(origin) : -1;
    hid_t dataset = make_table(p, table, type);
    bool done = values != NULL && dataset >= 0
                && H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    resplit_status rc = done ? rs_hdf5_copy_attributes(origin, dataset, true, p->path, err)
                             : rs_hdf5_fail(err, RESPLIT_EIO, "cannot make '%s' in '%s'", table->name, p->path);
    rs_hdf5_close(dataset);
    rs_hdf5_close(type);
    rs_hdf5_close(origin);
    free(values);
    return rc;
}

resplit_status rs_minc_put(const rs_minc *minc, const rs_box *box, hid_t from, hid_t to, hid_t dataset,
                           const char *path, resplit_error *err)
{
    putting p = {.minc = minc, .box = box, .from = from, .to = to, .path = path};
    RS_TRY(copy_tree(from, to, dataset, leaves_cut, minc, path, err));
    for (int i = 0; i < minc->n_tables; i++) {
        RS_TRY(put_table(&p, &minc->table[i], err));
    }
    RS_TRY(put_axes(&p, err));
    return put_history(&p, err);
}
