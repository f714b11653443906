/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c - values between two processes that were one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/apart.h"

/* No signal when nobody is there to receive. */
static bool send_all(int fd, const char *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = send(fd, bytes + done, n - done, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

/* At least one byte, unless the other side is gone. */
static size_t receive_some(int fd, char *bytes, size_t n)
{
    ssize_t got;
    do {
        got = recv(fd, bytes, n, 0);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

void rs_wire_flush(rs_wire *wire)
{
    wire->broken = wire->broken || !send_all(wire->fd, wire->buffer, wire->n);
    wire->n = 0;
}

void rs_wire_put(rs_wire *wire, const void *bytes, size_t n)
{
    if (wire->at > 0) { /* it had what came; all of that was taken */
        wire->at = wire->n = 0;
    }
    if (n > sizeof wire->buffer - wire->n) {
        rs_wire_flush(wire);
    }
    if (n > sizeof wire->buffer) {
        wire->broken = wire->broken || !send_all(wire->fd, bytes, n);
    } else if (n > 0 && !wire->broken) {
        memcpy(wire->buffer + wire->n, bytes, n);
        wire->n += n;
    }
}

bool rs_wire_get(rs_wire *wire, void *bytes, size_t n)
{
    char *out = bytes;
    for (size_t done = 0; done < n && !wire->broken;) {
        bool straight = wire->at == wire->n && n - done >= sizeof wire->buffer;
        if (straight) {
            size_t got = receive_some(wire->fd, out + done, n - done);
            wire->broken = got == 0;
            done += got;
            continue;
        }
        if (wire->at == wire->n) {
            wire->at = 0;
            wire->n = receive_some(wire->fd, wire->buffer, sizeof wire->buffer);
            wire->broken = wire->n == 0;
        }
        size_t more = wire->n - wire->at < n - done ? wire->n - wire->at : n - done;
        memcpy(out + done, wire->buffer + wire->at, more);
        wire->at += more;
        done += more;
    }
    if (wire->broken) {
        memset(bytes, 0, n);
    }
    return !wire->broken;
}

void rs_wire_bytes(rs_wire *wire, void *bytes, size_t n)
{
    if (wire->sends) {
        rs_wire_put(wire, bytes, n);
    } else {
        (void)rs_wire_get(wire, bytes, n);
    }
}

void rs_wire_owned(rs_wire *wire, void **pointer, int64_t n)
{
    if (*pointer == NULL) {
        return;
    }
    if (wire->sends) {
        rs_wire_put(wire, *pointer, (size_t)n);
        return;
    }
    *pointer = wire->broken || n < 0 ? NULL : malloc(n > 0 ? (size_t)n : 1); /* it was the other side's */
    if (*pointer == NULL) {
        wire->no_memory = wire->no_memory || !wire->broken;
        wire->broken = true;
    } else {
        (void)rs_wire_get(wire, *pointer, (size_t)n);
    }
}

void rs_wire_string(rs_wire *wire, char **string)
{
    int64_t n = wire->sends && *string != NULL ? (int64_t)strlen(*string) + 1 : 0;
    if (*string != NULL) {
        rs_wire_bytes(wire, &n, sizeof n);
        rs_wire_owned(wire, (void **)string, n);
    }
}

/* With a NUL behind it, which n does not count. */
void rs_wire_text(rs_wire *wire, rs_text *text)
{
    rs_wire_owned(wire, (void **)&text->s, text->s == NULL ? 0 : (int64_t)text->n + 1);
    text->room = text->s == NULL ? 0 : text->n + 1;
    text->n = text->s == NULL ? 0 : text->n;
}

void rs_wire_answer(rs_wire *wire, resplit_status rc, const resplit_error *err, const void *answer, size_t n)
{
    rs_wire_put(wire, &rc, sizeof rc);
    if (rc == RESPLIT_OK) {
        rs_wire_put(wire, answer, n);
    } else {
        rs_wire_put(wire, err, sizeof *err);
    }
    rs_wire_flush(wire);
}
