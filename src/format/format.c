/* SPDX-License-Identifier: BSD-3-Clause */
/* format.c - the table of drivers. */
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/minc_array.h"
#include "format/nifti.h"

static const rs_format *const drivers[] = {
    &rs_format_npy,   &rs_format_raw,    &rs_format_zarr2,  &rs_format_zarr3, &rs_format_hdf5,
    &rs_format_nifti, &rs_format_nifti1, &rs_format_nifti2, &rs_format_minc2, NULL,
};

const rs_format *rs_format_at(int i)
{
    const int n = sizeof drivers / sizeof drivers[0];
    return i >= 0 && i < n ? drivers[i] : NULL;
}

const rs_format *rs_format_by_name(const char *name)
{
    for (int i = 0; drivers[i] != NULL; i++) {
        if (strcmp(drivers[i]->name, name) == 0) {
            return drivers[i];
        }
    }
    return NULL;
}

resplit_status rs_fail_format(const char *name, resplit_error *err)
{
    char names[200];
    int n = 0;
    for (int i = 0; drivers[i] != NULL && n >= 0 && (size_t)n < sizeof names; i++) {
        const char *between = i == 0 ? "" : drivers[i + 1] != NULL ? ", " : " or ";
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", between, drivers[i]->name);
    }
    return rs_fail(err, RESPLIT_EINVAL, "unknown format '%.40s': give %s", name, names);
}

const rs_format *rs_format_by_suffix(const char *path)
{
    size_t n = strlen(path);
    for (int i = 0; drivers[i] != NULL; i++) {
        for (const char *const *suffix = drivers[i]->suffixes; *suffix != NULL; suffix++) {
            size_t k = strlen(*suffix);
            if (n > k && strcmp(path + n - k, *suffix) == 0) {
                return drivers[i];
            }
        }
    }
    return NULL;
}

void rs_head_release(rs_head *head)
{
    if (head != NULL) {
        rs_dtype_release(&head->dtype);
        rs_nifti_release(head->nifti);
        free(head->nifti);
        rs_minc_free(head->minc);
        rs_array_close(head->stored);
        *head = (rs_head){0};
    }
}

bool rs_shape_count(int ndim, const int64_t *shape, int64_t itemsize, int64_t *n_elements, int64_t *bytes)
{
    int64_t whole = itemsize;
    bool empty = false;

    *n_elements = 1;
    for (int d = 0; d < ndim; d++) {
        empty = empty || shape[d] == 0;
        if (!rs_mul(whole, rs_max(shape[d], 1), &whole)) {
            return false;
        }
        *n_elements *= shape[d]; /* no larger than whole */
    }
    *bytes = empty ? 0 : whole;
    return true;
}
