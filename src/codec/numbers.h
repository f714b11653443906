/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.h - elements as numbers, for the codecs that calculate with them as NumPy does.
 *
 * A few elements at a time become 64-bit integers or doubles, which hold every value of every type, and back. Sums,
 * products and quotients of half and single precision that are made as doubles and rounded once are those of the type
 * itself.
 */
#ifndef RS_CODEC_NUMBERS_H
#define RS_CODEC_NUMBERS_H

#include "codec/stage.h"

enum { RS_PIECE = 512 }; /* elements at a time */

/* NumPy's kind (b, i, u, f), bytes and byte order. */
typedef struct rs_type {
    char kind;
    int size;
    bool swap; /* not this machine's byte order */
} rs_type;

typedef union rs_number {
    int64_t i; /* of kinds b, i, u; a uint64 by its bits */
    double f;
} rs_number;

/* In a setting: one int64_t. */
rs_type rs_type_unpack(int64_t packed);

/* "<i4", "f8", "float32". Without the key *out is not changed. RESPLIT_EUNSUPPORTED for types that are no
   numbers of ours. */
resplit_status rs_take_type(const rs_stage *stage, const rs_json *config, const char *key, int version, int64_t *out,
                            resplit_error *err);

/* False: no booleans, integers or reals of up to 8 bytes. */
bool rs_type_of(const rs_element *element, rs_type *out);

/* The type of a stage's own element. */
resplit_status rs_own_type(const rs_stage *stage, int64_t *out, resplit_error *err);

/* "dtype" and "astype", at number[0] and number[1]; without them the element's type, and that. */
resplit_status rs_take_types(rs_stage *stage, const rs_json *config, int version, resplit_error *err);
resplit_status rs_print_types(const rs_stage *stage, rs_text *out, resplit_error *err);

/* "<i4" */
const char *rs_type_text(rs_type type, char text[8]);

/* n elements to numbers, as many as RS_PIECE, and back, rounded or wrapped to the type. */
void rs_numbers_load(rs_type type, const uint8_t *in, int64_t n, rs_number *out);
void rs_numbers_store(rs_type type, const rs_number *in, int64_t n, uint8_t *out);

/* The same numbers as another kind: NumPy's astype. */
void rs_numbers_convert(rs_type from, rs_type to, rs_number *numbers, int64_t n);

/*
 * A filter of numbers, piece by piece: of dtype, at number[0], when they are encoded, and of astype, at number[1], when
 * they are decoded. `step` makes the n numbers of the type `from` in v, the first of which is the at-th of all, numbers
 * of the type `to`.
 */
typedef struct rs_numbers {
    const rs_stage *stage;
    bool encode;
    rs_type from, to;
    int64_t at, n;
    rs_number v[RS_PIECE];
    rs_number last; /* for the step to keep */
} rs_numbers;

resplit_status rs_numbers_run(const rs_stage *stage, rs_pass *pass, void (*step)(rs_numbers *numbers),
                              resplit_error *err);

/* One number as the type would hold it. */
double rs_round_to(rs_type type, double value);
int64_t rs_wrap_to(rs_type type, int64_t value);

/* Bounds of an integer type. A uint64's upper one is INT64_MAX: no setting is larger. */
bool rs_type_holds(rs_type type, int64_t value);

/* Number of elements in a pass, by the size of those that go in; fails for a part of one, or too little room. */
resplit_status rs_count_elements(const rs_stage *stage, const rs_pass *pass, rs_type in, rs_type out, int64_t *count,
                                 resplit_error *err);

/* n bytes of dtype become so many of astype; -1 for no whole number of elements. */
int64_t rs_types_bound(const rs_stage *stage, int64_t n);
rs_element rs_types_element(const rs_stage *stage);

/* Half precision, which is slow, is one of both types. */
bool rs_types_have_half(const rs_stage *stage);

#endif
