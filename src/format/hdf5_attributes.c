/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_attributes.c - attributes from one file to another. References to objects are numbers that mean something in one
 * file only: such attributes are made at once, so that they keep their place, and filled when everything has its name
 * there.
 */
#include "format/hdf5.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_NAME = 4096 };
static const int64_t MOST_BYTES = 64 << 20; /* of an attribute */

typedef struct attributes {
    hid_t to;
    bool all;
    const rs_hdf5_names *names; /* only attributes with references, by these names; NULL: all others */
    const char *path;
    resplit_error *err;
    resplit_status rc;
} attributes;

/* Of a dataset of another shape these would be wrong. */
static bool tells_of_shape(const char *name)
{
    static const char *const names[] = {"DIMENSION_LIST", "REFERENCE_LIST",      "CLASS",
                                        "NAME",           "_Netcdf4Coordinates", "_Netcdf4Dimid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- References -------------------------------------------------------------------------------- */

static void map_one(const rs_hdf5_names *names, hobj_ref_t *reference)
{
    char name[MAX_NAME];
    hobj_ref_t old = *reference;
    *reference = 0;
    if (old == 0 || H5Rget_name(names->from, H5R_OBJECT, &old, name, sizeof name) <= 0) {
        return;
    }
    const char *there = strcmp(name, names->origin) == 0 ? names->made : name;
    if (H5Rcreate(reference, names->to, there, H5R_OBJECT, -1) < 0) {
        *reference = 0;
    }
}

static bool map_values(const rs_hdf5_names *names, hid_t type, int depth, char *data, size_t n);

static bool map_members(const rs_hdf5_names *names, hid_t type, int depth, char *data)
{
    bool done = true;
    int n = H5Tget_nmembers(type);
    for (int i = 0; i < n && done; i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);
        done = member >= 0 && map_values(names, member, depth + 1, data + H5Tget_member_offset(type, (unsigned)i), 1);
        rs_hdf5_close(member);
    }
    return done;
}

static bool map_elements(const rs_hdf5_names *names, hid_t type, int depth, char *data)
{
    hid_t base = H5Tget_super(type);
    bool vlen = H5Tget_class(type) == H5T_VLEN, done = base >= 0;
    hvl_t list = {0};
    if (done && vlen) {
        memcpy(&list, data, sizeof list);
        done = map_values(names, base, depth + 1, list.p, list.len);
    } else if (done) {
        done = map_values(names, base, depth + 1, data, H5Tget_size(type) / H5Tget_size(base));
    }
    rs_hdf5_close(base);
    return done;
}

/* n values, in memory. Recursion is bounded by MAX_DEPTH. */
static bool map_values(const rs_hdf5_names *names, hid_t type, int depth, char *data, size_t n)
{
    size_t size = H5Tget_size(type);
    bool done = depth <= MAX_DEPTH;
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0) {
        return done;
    }
    for (size_t i = 0; i < n && done; i++, data += size) {
        switch (H5Tget_class(type)) {
        case H5T_REFERENCE:
            if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
                hobj_ref_t reference;
                memcpy(&reference, data, sizeof reference);
                map_one(names, &reference);
                memcpy(data, &reference, sizeof reference);
            } else {
                memset(data, 0, size); /* to a region */
            }
            break;
        case H5T_COMPOUND: done = map_members(names, type, depth, data); break;
        default: done = map_elements(names, type, depth, data);
        }
    }
    return done;
}

/* ---- One attribute ----------------------------------------------------------------------------- */

static bool has_pointers(hid_t type)
{
    return H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0 || H5Tdetect_class(type, H5T_STRING) > 0;
}

static resplit_status copy_values(const attributes *a, hid_t from, hid_t to, hid_t type, hid_t space, const char *name)
{
    hssize_t n = H5Sget_simple_extent_npoints(space);
    int64_t bytes;
    if (n == 0) {
        return RESPLIT_OK;
    }
    if (n < 0 || !rs_mul(n, (int64_t)H5Tget_size(type), &bytes) || bytes > MOST_BYTES) {
        return rs_hdf5_fail(a->err, RESPLIT_EUNSUPPORTED, "attribute '%s' for '%s' has more than %lld bytes", name,
                            a->path, (long long)MOST_BYTES);
    }
    char *data = calloc(1, (size_t)bytes);
    if (data == NULL) {
        return rs_fail(a->err, RESPLIT_ENOMEM, "no memory for an attribute of %lld bytes", (long long)bytes);
    }
    bool done = H5Aread(from, type, data) >= 0;
    bool read = done;
    if (done && a->names != NULL) {
        done = map_values(a->names, type, 0, data, (size_t)n);
    }
    done = done && H5Awrite(to, type, data) >= 0;
    if (read && has_pointers(type)) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
    }
    free(data);
    return done ? RESPLIT_OK : rs_hdf5_fail(a->err, RESPLIT_EIO, "cannot copy attribute '%s' to '%s'", name, a->path);
}

static resplit_status copy_one(const attributes *a, hid_t from, const char *name)
{
    hid_t type = H5Aget_type(from), space = H5Aget_space(from), creation = H5Aget_create_plist(from), to = -1;
    bool refers = type >= 0 && H5Tdetect_class(type, H5T_REFERENCE) > 0;
    resplit_status rc = RESPLIT_OK;
    if ((a->names != NULL) != refers && a->names != NULL) {
        goto out;
    }
    to = a->names != NULL && H5Aexists(a->to, name) > 0 ? H5Aopen(a->to, name, H5P_DEFAULT)
                                                        : H5Acreate2(a->to, name, type, space, creation, H5P_DEFAULT);
    if (type < 0 || space < 0 || to < 0) {
        rc = rs_hdf5_fail(a->err, RESPLIT_EIO, "cannot make attribute '%s' in '%s'", name, a->path);
    } else if (!refers || a->names != NULL) {
        rc = copy_values(a, from, to, type, space, name);
    }
out:
    rs_hdf5_close(to);
    rs_hdf5_close(creation);
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    return rc;
}

static herr_t visit(hid_t object, const char *name, const H5A_info_t *info, void *payload)
{
    attributes *a = payload;
    (void)info;
    if (!a->all && tells_of_shape(name)) {
        return 0;
    }
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    a->rc = attribute >= 0 ? copy_one(a, attribute, name)
                           : rs_hdf5_fail(a->err, RESPLIT_EFORMAT, "cannot open attribute '%s' of the source", name);
    rs_hdf5_close(attribute);
    return a->rc == RESPLIT_OK ? 0 : -1;
}

static resplit_status visit_all(hid_t from, attributes *a)
{
    /* by the order they were made in, where that is kept */
    herr_t rc = H5Aiterate2(from, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit, a);
    if (rc < 0 && a->rc == RESPLIT_OK) {
        rc = H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, a);
    }
    return rc >= 0 || a->rc != RESPLIT_OK
               ? a->rc
               : rs_hdf5_fail(a->err, RESPLIT_EFORMAT, "cannot list the attributes for '%s'", a->path);
}

resplit_status rs_hdf5_copy_attributes(hid_t from, hid_t to, bool all, const char *path, resplit_error *err)
{
    attributes a = {.to = to, .all = all, .path = path, .err = err};
    return visit_all(from, &a);
}

resplit_status rs_hdf5_map_attributes(hid_t from, hid_t to, const rs_hdf5_names *names, const char *path,
                                      resplit_error *err)
{
    attributes a = {.to = to, .all = true, .names = names, .path = path, .err = err};
    return visit_all(from, &a);
}
