/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_words.c - NIfTI headers for people. */
#include "format/nifti_array.h"

#include <math.h>

/* Are values told by a slope and an intercept? Without a slope they are as stored. */
static bool is_scaled(const rs_nifti *nifti)
{
    double slope = rs_nifti_real(nifti, RS_NI_SCL_SLOPE, 0), inter = rs_nifti_real(nifti, RS_NI_SCL_INTER, 0);
    return slope != 0 && !isnan(slope) && (slope != 1 || inter != 0);
}

static resplit_status add_scaling(const rs_nifti *nifti, const char *before, rs_text *out, resplit_error *err)
{
    return is_scaled(nifti)
               ? rs_text_add(out, err, "%sscl_slope %.9g, scl_inter %.9g", before,
                             rs_nifti_real(nifti, RS_NI_SCL_SLOPE, 0), rs_nifti_real(nifti, RS_NI_SCL_INTER, 0))
               : RESPLIT_OK;
}

static const char *unit_of(int64_t units)
{
    static const char *const names[] = {"", " m", " mm", " um"};
    return names[units & 7 & 3];
}

/* "little-endian, voxels of 2 x 2 x 2.5 mm, qform 1, sform 2 at -80 12 3.5, scl_slope 2, scl_inter
   0, with extensions" */
resplit_status rs_nifti_describe(const rs_nifti *nifti, rs_text *out, resplit_error *err)
{
    int64_t qform = rs_nifti_int(nifti, RS_NI_QFORM_CODE, 0), sform = rs_nifti_int(nifti, RS_NI_SFORM_CODE, 0);
    size_t header = (size_t)rs_nifti_header_bytes(nifti);
    RS_TRY(rs_text_add(out, err, "%s-endian, voxels of ", nifti->byteorder == '<' ? "little" : "big"));
    for (int d = 0; d < 3 && d < nifti->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s%.6g", d > 0 ? " x " : "", rs_nifti_real(nifti, RS_NI_PIXDIM, d + 1)));
    }
    RS_TRY(rs_text_add(out, err, "%s", unit_of(rs_nifti_int(nifti, RS_NI_XYZT_UNITS, 0))));
    if (qform > 0) {
        RS_TRY(rs_text_add(out, err, ", qform %d at %.6g %.6g %.6g", (int)qform,
                           rs_nifti_real(nifti, RS_NI_QOFFSET_X, 0), rs_nifti_real(nifti, RS_NI_QOFFSET_Y, 0),
                           rs_nifti_real(nifti, RS_NI_QOFFSET_Z, 0)));
    }
    if (sform > 0) {
        RS_TRY(rs_text_add(out, err, ", sform %d at %.6g %.6g %.6g", (int)sform, rs_nifti_real(nifti, RS_NI_SROW_X, 3),
                           rs_nifti_real(nifti, RS_NI_SROW_Y, 3), rs_nifti_real(nifti, RS_NI_SROW_Z, 3)));
    }
    if (qform <= 0 && sform <= 0) {
        RS_TRY(rs_text_add(out, err, ", no place in space"));
    }
    RS_TRY(add_scaling(nifti, ", ", out, err));
    bool extended = nifti->head.n > header && nifti->head.s[header] != 0;
    return rs_text_add(out, err, "%s", extended ? ", with extensions" : "");
}
