/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apart.h - work over which a library may crash is done by a child process.
 *
 *     this process                               child
 *     rs_apart_run ------------- fork ------->   work(payload)      in less memory and time than it could take
 *     pass(wire, payload)   <--- socket -----    pass(wire, payload)
 *     waits for its end                          ends; or stays, and answers what it is asked
 *
 * `pass` is one function: it receives here what it sends there. Both sides are the same program, so that plain values
 * and pointers to what is constant mean the same; what a pointer owns is passed by itself. A child that dies, or does
 * not come to an end, is an error like others.
 */
#ifndef RS_APART_H
#define RS_APART_H

#include <pthread.h>

#include "base/text.h"

/* ---- What goes from one to the other. Once that failed, nothing more goes, and what would be received
   is zero. ---- */

typedef struct rs_wire {
    int fd;
    bool sends;     /* this side does, when one of the calls without a direction is made: the child */
    bool broken;    /* the other side is gone */
    bool no_memory; /* for what came */
    size_t at, n;   /* in the buffer: of what came, or is to go */
    char buffer[1 << 14];
} rs_wire;

void rs_wire_put(rs_wire *wire, const void *bytes, size_t n);
void rs_wire_flush(rs_wire *wire);
bool rs_wire_get(rs_wire *wire, void *bytes, size_t n);

/* In the direction of the wire. */
void rs_wire_bytes(rs_wire *wire, void *bytes, size_t n);

/* What a pointer owns, NULL or `n` bytes; the pointer itself has been passed. The receiver allocates. */
void rs_wire_owned(rs_wire *wire, void **pointer, int64_t n);
void rs_wire_string(rs_wire *wire, char **string);
void rs_wire_text(rs_wire *wire, rs_text *text);

/* ---- Children ---- */

typedef struct rs_apart {
    const char *subject; /* the file that the work is about; borrowed, as everything here */
    const char *library; /* which may crash: both for messages */
    resplit_status (*work)(void *payload, resplit_error *err);
    void (*pass)(rs_wire *wire, void *payload); /* NULL: nothing comes of it but success */
    void (*answer)(rs_wire *wire,
                   void *payload); /* what it is asked after that, until it returns; NULL: nothing. Such a
                                                     child has no file open that this process has open */
    void *payload;
    pthread_mutex_t *lock; /* that nobody may hold while the processes part */
    bool writes;           /* files, too */
} rs_apart;

typedef struct rs_child rs_child;

/*
 * RESPLIT_EFORMAT: the child died over it. *child, with an answer and success, is the one that stays; else it may be
 * NULL. In a child, the work is just done.
 */
resplit_status rs_apart_run(const rs_apart *task, rs_child **child, resplit_error *err);

/* In a child: what follows is another step, which may have to look at so many bytes. It gets time anew, and memory for
   so many more. */
void rs_apart_go_on(int64_t work, int64_t memory);

/* Is this a child? */
bool rs_is_apart(void);

/* Asks a child that stays, one thread at a time; its answer is a status, then bytes or an error: rs_wire_answer. */
resplit_status rs_child_ask(rs_child *child, const void *question, size_t n_question, void *answer, size_t n_answer,
                            resplit_error *err);
void rs_wire_answer(rs_wire *wire, resplit_status rc, const resplit_error *err, const void *answer, size_t n);

/* NULL is none. */
void rs_child_end(rs_child *child);

#endif
