/* SPDX-License-Identifier: BSD-3-Clause */
/* gunzip.h - a gzip stream, of any number of members, read forwards in bounded memory: for what is larger than that. */
#ifndef RS_CODEC_GUNZIP_H
#define RS_CODEC_GUNZIP_H

#include "base/base.h"

typedef struct rs_gunzip rs_gunzip;

enum { RS_GUNZIP_BYTES = 192 << 10 }; /* that one takes, the library's part included */

/* Gives the next bytes of the stream, at most `room`; *n = 0: there are no more. */
typedef resplit_status rs_gunzip_input(void *payload, char *bytes, int64_t room, int64_t *n, resplit_error *err);

/* Do these bytes begin such a stream? */
bool rs_gunzip_is(const void *bytes, size_t n);

/* `path` is for messages, and borrowed. */
resplit_status rs_gunzip_open(rs_gunzip_input *input, void *payload, const char *path, rs_gunzip **out,
                              resplit_error *err);

/* The next bytes; fewer than n only at the end. */
resplit_status rs_gunzip_read(rs_gunzip *gunzip, void *out, int64_t n, int64_t *got, resplit_error *err);
void rs_gunzip_close(rs_gunzip *gunzip);

#endif
