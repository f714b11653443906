/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_make.c - the head of an image that comes from another format: a MINC file in memory, without voxels, in the
 * words of libminc. It is then read like any other, so that pieces and regions of it are made in the same way.
 */
#include "format/minc.h"

#include <stdlib.h>
#include <string.h>

typedef struct making {
    const rs_minc_draft *draft;
    hid_t file;
} making;

/* ---- Attributes ----------------------------------------------------------------------------------- */

/* n 0: one number, else a list. */
static bool put_numbers(hid_t object, const char *name, hid_t type, int n, const double *value)
{
    hsize_t length = (hsize_t)n;
    hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    hid_t attribute = space >= 0 ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    bool done = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, value) >= 0;
    rs_hdf5_close(attribute);
    rs_hdf5_close(space);
    return done;
}

static bool put_words(hid_t object, const char *const (*words)[2])
{
    bool done = object >= 0;
    for (; done && (*words)[0] != NULL; words++) {
        done = rs_minc_set_text(object, (*words)[0], (*words)[1]);
    }
    return done;
}

/* ---- Objects -------------------------------------------------------------------------------------- */

/* A dataset without data that are written yet; the caller closes it. */
static hid_t add_dataset(const making *m, const char *name, hid_t type, int ndim, const int64_t *shape)
{
    hsize_t dims[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        dims[d] = (hsize_t)shape[d];
    }
    hid_t space = ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, dims, NULL);
    hid_t links = rs_hdf5_make_links(), dataset = -1;
    if (type >= 0 && space >= 0 && links >= 0) {
        dataset = H5Dcreate_anon(m->file, type, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (dataset >= 0 && H5Olink(dataset, m->file, name, links, H5P_DEFAULT) < 0) {
        rs_hdf5_close(dataset);
        dataset = -1;
    }
    rs_hdf5_close(links);
    rs_hdf5_close(space);
    return dataset;
}

static bool add_dimension(const making *m, int d)
{
    static const char *const words[][2] = {{"varid", "MINC standard variable"},
                                           {"vartype", "dimension____"},
                                           {"version", "MINC Version    1.0"},
                                           {"alignment", "centre"},
                                           {NULL, NULL}};
    const rs_minc_dimension *own = &m->draft->dimension[d];
    double length = (double)m->draft->shape[d];
    rs_text name = {0};
    hid_t object = -1;
    if (rs_text_add(&name, NULL, "/minc-2.0/dimensions/%s", own->name) == RESPLIT_OK) {
        object = add_dataset(m, name.s, H5T_STD_I32LE, 0, NULL);
    }
    bool done = put_words(object, words) && put_numbers(object, "length", H5T_STD_U32LE, 0, &length);
    if (done && own->placed) {
        done = put_numbers(object, "start", H5T_IEEE_F64LE, 0, &own->start)
               && put_numbers(object, "step", H5T_IEEE_F64LE, 0, &own->step)
               && rs_minc_set_text(object, "spacing", "regular__");
    }
    if (done && own->in_space) {
        done = put_numbers(object, "direction_cosines", H5T_IEEE_F64LE, 3, own->cosines);
    }
    if (done && own->unit[0] != '\0') {
        done = rs_minc_set_text(object, "units", own->unit);
    }
    rs_hdf5_close(object);
    rs_text_release(&name);
    return done;
}

static bool add_image(const making *m, hid_t type)
{
    rs_text order = {0};
    bool done = true;
    for (int d = 0; d < m->draft->ndim && done; d++) {
        done = rs_text_add(&order, NULL, "%s%s", d > 0 ? "," : "", m->draft->dimension[d].name) == RESPLIT_OK;
    }
    hid_t image = done ? add_dataset(m, RS_MINC_IMAGE, type, m->draft->ndim, m->draft->shape) : -1;
    const char *const words[][2] = {{"varid", "MINC standard variable"},
                                    {"vartype", "group________"},
                                    {"version", "MINC Version    1.0"},
                                    {"complete", "true_"},
                                    {"dimorder", order.s},
                                    {NULL, NULL}};
    done = put_words(image, words)
           && (!m->draft->ranged || put_numbers(image, "valid_range", H5T_IEEE_F64LE, 2, m->draft->range));
    rs_hdf5_close(image);
    rs_text_release(&order);
    return done;
}

static bool add_limits(const making *m)
{
    static const char *const names[] = {"/minc-2.0/image/0/image-min", "/minc-2.0/image/0/image-max"};
    static const char *const words[][2] = {{"varid", "MINC standard variable"},
                                           {"vartype", "var_attribute"},
                                           {"version", "MINC Version    1.0"},
                                           {NULL, NULL}};
    bool done = true;
    for (int i = 0; i < 2 && done; i++) {
        hid_t limit = add_dataset(m, names[i], H5T_IEEE_F64LE, 0, NULL);
        done = put_words(limit, words)
               && H5Dwrite(limit, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &m->draft->real[i]) >= 0;
        rs_hdf5_close(limit);
    }
    return done;
}

/* Readers want a group for what is known of the patient and the scan, of which nothing is. */
static bool add_rest(const making *m)
{
    static const char *const words[][2] = {{"minc_version", "2.0"}, {NULL, NULL}};
    hid_t info = H5Gcreate2(m->file, "/minc-2.0/info", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t root = H5Gopen2(m->file, "/minc-2.0", H5P_DEFAULT);
    bool done = info >= 0 && put_words(root, words);
    rs_hdf5_close(root);
    rs_hdf5_close(info);
    return done;
}

/* ---- All of it ------------------------------------------------------------------------------------ */

resplit_status rs_minc_make(const rs_minc_draft *draft, const rs_dtype *dtype, rs_minc **out, resplit_error *err)
{
    making m = {.draft = draft, .file = -1};
    rs_text head = {0};
    hid_t type = -1;
    *out = NULL;
    resplit_status rc = rs_minc_new_file(&head, &m.file, err);
    rc = rc == RESPLIT_OK ? rs_hdf5_make_type(dtype, &type, err) : rc;
    if (rc == RESPLIT_OK) {
        bool done = add_image(&m, type) && add_limits(&m) && add_rest(&m);
        for (int d = 0; d < draft->ndim && done; d++) {
            done = add_dimension(&m, d);
        }
        rc = done ? rs_minc_read(m.file, "the new image", out, err)
                  : rs_hdf5_fail(err, RESPLIT_EINTERNAL, "cannot make the head of a MINC file");
    }
    rs_hdf5_close(type);
    rc = rs_minc_close_file(m.file, rc, err);
    if (rc == RESPLIT_OK && *out != NULL) {
        (*out)->head = head;
    } else {
        rs_text_release(&head);
        rs_minc_free(*out);
        *out = NULL;
    }
    return rc;
}
