/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_others.c - what a MINC file has besides its image: patient, study, acquisition, and whatever programs have
 * added. Blocks that are put together get all of that from the first one, so what others say must be known, to say
 * where they differ.
 */
#include "format/minc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FIELDS = 4096,    /* of a file, that are compared */
    MOST_VALUES = 64 << 10 /* bytes of a dataset that are */
};

typedef struct visiting {
    hid_t file;
    rs_minc *minc;
    resplit_error *err;
    resplit_status rc;
} visiting;

/* The image, its axes and its tables are looked at by what they mean; smaller images are dropped. */
static bool is_known(const rs_minc *minc, const char *name)
{
    static const char dimensions[] = "/minc-2.0/dimensions/", images[] = "/minc-2.0/image/";
    bool smaller = strncmp(name, images, sizeof images - 1) == 0 && strncmp(name + sizeof images - 1, "0/", 2) != 0;
    bool known = strcmp(name, RS_MINC_IMAGE) == 0 || smaller;
    for (int d = 0; d < minc->ndim && !known; d++) {
        size_t n = strlen(minc->axis[d].name);
        const char *rest = name + sizeof dimensions - 1;
        known = strncmp(name, dimensions, sizeof dimensions - 1) == 0 && strncmp(rest, minc->axis[d].name, n) == 0
                && (rest[n] == '\0' || strcmp(rest + n, "-width") == 0);
    }
    for (int i = 0; i < minc->n_tables && !known; i++) {
        known = strcmp(name, minc->table[i].name) == 0;
    }
    return known;
}

/* In the file itself, of no varying length, and not much. */
static bool is_readable(hid_t dataset, hid_t type, hid_t space)
{
    hid_t creation = H5Dget_create_plist(dataset);
    H5D_layout_t layout = creation >= 0 ? H5Pget_layout(creation) : H5D_LAYOUT_ERROR;
    bool here = (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0) || layout == H5D_COMPACT;
    hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    bool fixed = type >= 0 && H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_REFERENCE) == 0
                 && !(H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) != 0);
    rs_hdf5_close(creation);
    return here && fixed && n > 0 && H5Tget_size(type) > 0 && n <= (hssize_t)(MOST_VALUES / H5Tget_size(type))
           && H5Tget_size(type) <= MOST_VALUES;
}

/* The values of a dataset, as they are stored. What cannot be read has none. */
static resplit_status add_values(const visiting *v, const char *name)
{
    hid_t dataset = H5Dopen2(v->file, name, H5P_DEFAULT);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1, space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    resplit_status rc = RESPLIT_OK;
    if (dataset >= 0 && is_readable(dataset, type, space)) {
        size_t n = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
        char *values = calloc(1, n);
        if (values == NULL) {
            rc = rs_fail(v->err, RESPLIT_ENOMEM, "no memory for %zu bytes of '%s'", n, name);
        } else if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) {
            rc = rs_minc_add_field(v->minc, name, "values", values, n, v->err);
        }
        free(values);
    }
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    rs_hdf5_close(dataset);
    return rc;
}

static resplit_status add_object(const visiting *v, const char *name)
{
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    if (!rs_hdf5_look(v->file, name, &type, &address, &n_links)) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_minc_add_field(v->minc, name, "", NULL, 0, v->err)); /* that it is there */
    RS_TRY(rs_minc_add_fields(v->file, name, v->minc, v->err));
    return type == H5O_TYPE_DATASET ? add_values(v, name) : RESPLIT_OK;
}

static herr_t visit(hid_t root, const char *name, const rs_hdf5_link *info, void *payload)
{
    visiting *v = payload;
    char path[RS_MINC_PATH];
    (void)root;
    bool fits = snprintf(path, sizeof path, "/%s", name) < (int)sizeof path;
    if (info->type == H5L_TYPE_HARD && fits && !is_known(v->minc, path) && v->minc->n_fields < MOST_FIELDS) {
        v->rc = add_object(v, path);
    }
    return v->rc == RESPLIT_OK ? 0 : -1;
}

resplit_status rs_minc_add_others(hid_t file, const char *path, rs_minc *minc, resplit_error *err)
{
    visiting v = {.file = file, .minc = minc, .err = err};
    herr_t rc = rs_hdf5_visit_links(file, H5_INDEX_NAME, H5_ITER_INC, visit, &v);
    (void)H5Eclear2(H5E_DEFAULT);
    return rc >= 0 || v.rc != RESPLIT_OK ? v.rc
                                         : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot list what is in '%s'", path);
}
