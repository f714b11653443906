/* SPDX-License-Identifier: BSD-3-Clause */
/* gunzip.c - by zlib, since libdeflate has no streams. After a member there may be zeros and further members. */
#include "codec/gunzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { INPUT = 64 << 10, GZIP_ONLY = 16 + MAX_WBITS, MOST = 1 << 30 };

struct rs_gunzip {
    z_stream stream;
    rs_gunzip_input *input;
    void *payload;
    const char *path;
    int64_t taken; /* bytes of the stream, those in `bytes` included */
    bool inside;   /* of a member */
    bool ended;
    char bytes[INPUT];
};

bool rs_gunzip_is(const void *bytes, size_t n)
{
    static const unsigned char magic[3] = {0x1f, 0x8b, 8};
    return n >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

resplit_status rs_gunzip_open(rs_gunzip_input *input, void *payload, const char *path, rs_gunzip **out,
                              resplit_error *err)
{
    rs_gunzip *gunzip = calloc(1, sizeof *gunzip);
    *out = NULL;
    if (gunzip == NULL || inflateInit2(&gunzip->stream, GZIP_ONLY) != Z_OK) {
        free(gunzip);
        return rs_fail(err, RESPLIT_ENOMEM, "no memory to decompress '%s'", path);
    }
    gunzip->input = input;
    gunzip->payload = payload;
    gunzip->path = path;
    *out = gunzip;
    return RESPLIT_OK;
}

void rs_gunzip_close(rs_gunzip *gunzip)
{
    if (gunzip != NULL) {
        (void)inflateEnd(&gunzip->stream);
        free(gunzip);
    }
}

static resplit_status refill(rs_gunzip *g, resplit_error *err)
{
    int64_t n = 0;
    if (g->stream.avail_in > 0 || g->ended) {
        return RESPLIT_OK;
    }
    RS_TRY(g->input(g->payload, g->bytes, INPUT, &n, err));
    g->taken += n;
    g->ended = n == 0;
    g->stream.next_in = (unsigned char *)g->bytes;
    g->stream.avail_in = (unsigned)n;
    return RESPLIT_OK;
}

static resplit_status fail_at(const rs_gunzip *g, const char *what, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "the gzip stream of '%s' %s at byte %lld", g->path, what,
                   (long long)(g->taken - g->stream.avail_in));
}

/* Between two members: skips zeros. *more: another one begins. */
static resplit_status next_member(rs_gunzip *g, bool *more, resplit_error *err)
{
    *more = false;
    for (;;) {
        RS_TRY(refill(g, err));
        if (g->stream.avail_in == 0) {
            return g->taken > 0 ? RESPLIT_OK : fail_at(g, "is empty", err);
        }
        if (g->stream.next_in[0] != 0 || g->taken == (int64_t)g->stream.avail_in) { /* not before the first */
            *more = g->inside = true;
            return inflateReset(&g->stream) == Z_OK ? RESPLIT_OK : fail_at(g, "is damaged", err);
        }
        g->stream.next_in++;
        g->stream.avail_in--;
    }
}

resplit_status rs_gunzip_read(rs_gunzip *g, void *out, int64_t n, int64_t *got, resplit_error *err)
{
    *got = 0;
    while (*got < n) {
        bool more = true;
        if (!g->inside) {
            RS_TRY(next_member(g, &more, err));
        }
        if (!more) {
            break;
        }
        RS_TRY(refill(g, err));
        unsigned room = (unsigned)rs_min(n - *got, MOST);
        g->stream.next_out = (unsigned char *)out + *got;
        g->stream.avail_out = room;
        int rc = inflate(&g->stream, Z_NO_FLUSH);
        *got += room - g->stream.avail_out;
        if (rc == Z_STREAM_END) {
            g->inside = false;
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return rc == Z_MEM_ERROR ? rs_fail(err, RESPLIT_ENOMEM, "no memory to decompress '%s'", g->path)
                                     : fail_at(g, "is damaged", err);
        } else if (g->ended && g->stream.avail_in == 0 && g->stream.avail_out > 0) {
            return fail_at(g, "ends too early", err);
        }
    }
    return RESPLIT_OK;
}
