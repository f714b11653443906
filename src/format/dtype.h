/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.h - the type of an element. Values are never interpreted: a type is its size, its name, and how to swap its
 * bytes when two byte orders are compared.
 */
#ifndef RS_DTYPE_H
#define RS_DTYPE_H

#include "base/base.h"
#include "codec/cast.h"

typedef struct rs_dtype {
    char *descr;       /* as in a .npy header, without quotes for a simple type: <u2; the list for records. Owned. */
    int64_t itemsize;  /* bytes, at least 1 */
    char kind;         /* NumPy's: b i u f c m M S U V; V for records */
    char byteorder;    /* '<', '>', or '|' where there is none */
    int64_t swap_size; /* bytes that are reversed together to change byte order; 0: records, cannot be swapped */
} rs_dtype;

/* From what a user or a file says: "uint16", "float32", "<f4", ">i2", "|u1", "V12", "S8", "U4", "M8[ns]",
 * "bool", or a list of fields [('a', '<i4'), ('b', '<f8', (2,))]. Native byte order where none is given. Object
 * types are refused. */
resplit_status rs_dtype_parse(const char *text, rs_dtype *out, resplit_error *err);
resplit_status rs_dtype_copy(const rs_dtype *dtype, rs_dtype *out, resplit_error *err);
void rs_dtype_release(rs_dtype *dtype);

/* Equal but for byte order. */
bool rs_dtype_same_values(const rs_dtype *a, const rs_dtype *b);

static inline rs_element rs_dtype_element(const rs_dtype *dtype)
{
    return (rs_element){dtype->kind, dtype->itemsize, dtype->byteorder};
}

/* How values become those of another type; kind RS_CAST_NONE: they are. RESPLIT_EUNSUPPORTED: they cannot. */
resplit_status rs_dtype_cast(const rs_dtype *from, const rs_dtype *to, rs_cast *out, resplit_error *err);

#endif
