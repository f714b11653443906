/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti.h - what the headers of NIfTI files say, versions 1 and 2, and how they become those of other pieces of an
 * image.
 *
 *     0               sizeof_hdr: 348 or 540, which also tells the byte order, of header and voxels alike
 *     348 or 540      4 bytes; if the first is not 0, extensions follow: size, code, bytes, one after the other
 *     vox_offset      voxels, the first axis fastest; in .hdr/.img pairs they are in a file of their own
 *
 * A header is kept as its own bytes and patched, in its own byte order: what is not understood stays as it is. Axis 0
 * is NIfTI's first, i.
 */
#ifndef RS_NIFTI_H
#define RS_NIFTI_H

#include <string.h>

#include "base/text.h"
#include "format/dtype.h"

enum {
    RS_NIFTI_AXES = 7,
    RS_NIFTI1_BYTES = 348,
    RS_NIFTI2_BYTES = 540,
    RS_NIFTI_FLOAT128 = 1536, /* codes of types that NumPy does not have */
    RS_NIFTI_COMPLEX256 = 2048,
    RS_NIFTI1_LONGEST = 32767,    /* of an axis in version 1 */
    RS_NIFTI_MAX_HEAD = 64 << 20, /* bytes before the voxels, extensions included: they are held in memory */
};

typedef struct rs_nifti {
    int version;    /* 1 or 2 */
    char byteorder; /* '<' or '>' */
    bool pair;      /* the voxels are in a file of their own */
    int ndim;
    int64_t shape[RS_NIFTI_AXES];
    int64_t vox_offset; /* bytes before the voxels, in the file that they are in */
    rs_text head;       /* all bytes of them; of a pair: all of the header's file. Owned */
} rs_nifti;

void rs_nifti_release(rs_nifti *nifti);
resplit_status rs_nifti_copy(const rs_nifti *from, rs_nifti *out, resplit_error *err);

/* ---- nifti_fields.c: fields by name, wherever a version has them ---- */

typedef enum rs_nifti_id {
    RS_NI_SIZEOF_HDR,
    RS_NI_DIM_INFO,
    RS_NI_DIM,
    RS_NI_INTENT_P1,
    RS_NI_INTENT_P2,
    RS_NI_INTENT_P3,
    RS_NI_INTENT_CODE,
    RS_NI_INTENT_NAME,
    RS_NI_DATATYPE,
    RS_NI_BITPIX,
    RS_NI_PIXDIM,
    RS_NI_VOX_OFFSET,
    RS_NI_SCL_SLOPE,
    RS_NI_SCL_INTER,
    RS_NI_SLICE_START,
    RS_NI_SLICE_END,
    RS_NI_SLICE_CODE,
    RS_NI_SLICE_DURATION,
    RS_NI_XYZT_UNITS,
    RS_NI_CAL_MAX,
    RS_NI_CAL_MIN,
    RS_NI_TOFFSET,
    RS_NI_DESCRIP,
    RS_NI_AUX_FILE,
    RS_NI_QFORM_CODE,
    RS_NI_SFORM_CODE,
    RS_NI_QUATERN_B,
    RS_NI_QUATERN_C,
    RS_NI_QUATERN_D,
    RS_NI_QOFFSET_X,
    RS_NI_QOFFSET_Y,
    RS_NI_QOFFSET_Z,
    RS_NI_SROW_X,
    RS_NI_SROW_Y,
    RS_NI_SROW_Z,
    RS_NI_MAGIC,
    RS_NI_FIELDS
} rs_nifti_id;

/* What becomes of a field when blocks are put together. */
typedef enum rs_nifti_rule {
    RS_NI_OWN,   /* every block has its own, which is looked at elsewhere, or says nothing */
    RS_NI_SAME,  /* must be the same in all */
    RS_NI_FIRST, /* that of the first is kept */
} rs_nifti_rule;

typedef struct rs_nifti_field {
    const char *name;
    int n; /* numbers, or bytes of a text */
    struct {
        char kind; /* c text, b one byte, h i q integers of 2, 4 and 8 bytes, f d reals of 4 and 8 */
        int at;
    } in[2]; /* version 1 and 2 */
    rs_nifti_rule rule;
} rs_nifti_field;

extern const rs_nifti_field rs_nifti_fields[RS_NI_FIELDS];

bool rs_nifti_is_text(rs_nifti_id id);
bool rs_nifti_is_real(rs_nifti_id id); /* vox_offset counts as an integer, which version 1 keeps in a real */

int64_t rs_nifti_int(const rs_nifti *nifti, rs_nifti_id id, int i);
double rs_nifti_real(const rs_nifti *nifti, rs_nifti_id id, int i);
const char *rs_nifti_bytes(const rs_nifti *nifti,
                           rs_nifti_id id); /* of a text: not terminated when it fills its room */

/* The same number, zeros by their sign and NaNs by what they carry. */
static inline bool rs_nifti_same(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* Unchanged bytes stay as they are, also where a number has several spellings. */
void rs_nifti_set_int(rs_nifti *nifti, rs_nifti_id id, int i, int64_t value);
void rs_nifti_set_real(rs_nifti *nifti, rs_nifti_id id, int i, double value);

static inline int64_t rs_nifti_header_bytes(const rs_nifti *nifti)
{
    return nifti->version == 1 ? RS_NIFTI1_BYTES : RS_NIFTI2_BYTES;
}

/* ---- nifti_parse.c ---- */

/* Is this the beginning of a NIfTI file? Its magic tells; 348 bytes are enough. */
bool rs_nifti_probe(const void *bytes, size_t n);

/*
 * The header alone, from the first bytes of a file: everything but extensions. Those follow to *total bytes, which are
 * to be added to out->head; -1: to the end of the file. `path` is for messages. Release `out` also after a failure.
 */
resplit_status rs_nifti_parse(const void *bytes, size_t n, const char *path, rs_nifti *out, int64_t *total,
                              resplit_error *err);

/* The extensions in out->head, which is complete now. */
resplit_status rs_nifti_check_extensions(const rs_nifti *nifti, const char *path, resplit_error *err);

/* The type of an element: what NumPy calls it. */
resplit_status rs_nifti_dtype(const rs_nifti *nifti, const char *path, rs_dtype *out, resplit_error *err);

/* The code of a type and its bits; 0: NIfTI has no such type. */
int rs_nifti_code(const rs_dtype *dtype, int *bitpix);

/* ---- nifti_patch.c ---- */

/* The rotation that three numbers of a unit quaternion stand for, as the NIfTI library has it. */
void rs_nifti_rotation(const rs_nifti *nifti, double r[3][3]);

/* The header of the box of `whole` that begins at `start`. `out` is the caller's to release, also after a failure. */
resplit_status rs_nifti_piece(const rs_nifti *whole, const int64_t *start, const int64_t *shape, rs_nifti *out,
                              resplit_error *err);

/* The header of all of an image, from that of the block at its beginning. */
void rs_nifti_widen(rs_nifti *first, const int64_t *shape);

/* Order of acquisition of slices (slice_code) that holds for all slices only, not for [start, start +
   length) of them. */
bool rs_nifti_loses_slices(const rs_nifti *whole, const int64_t *start, const int64_t *shape);

/* What a header is to become. */
typedef struct rs_nifti_wish {
    int version;
    bool pair;
    const rs_dtype *dtype;
} rs_nifti_wish;

/* RESPLIT_EUNSUPPORTED: version 1 cannot say that. */
resplit_status rs_nifti_convert(const rs_nifti *from, const rs_nifti_wish *wish, rs_nifti *out, resplit_error *err);

/* A header that says nothing but shape and type. */
resplit_status rs_nifti_make(const rs_nifti_wish *wish, int ndim, const int64_t *shape, rs_nifti *out,
                             resplit_error *err);

/* ---- nifti_compare.c ---- */

/* A field of a block that is not what its place in the image wants. */
typedef struct rs_nifti_difference {
    const char *field; /* NULL: none */
    char has[80], wants[80];
    const char *noted; /* the first field that differs but may: that of the first block is kept. NULL: none */
    bool exact;        /* all bytes of both are the same */
} rs_nifti_difference;

/* Is `block` the header of the box of `whole` that begins at `start`? Positions may be off by the rounding of reals. */
resplit_status rs_nifti_compare(const rs_nifti *whole, const int64_t *start, const int64_t *shape,
                                const rs_nifti *block, rs_nifti_difference *out, resplit_error *err);

#endif
