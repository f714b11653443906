/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.h - what differs between kinds of arrays, in a table. Private to this room; format.h has the questions. */
#ifndef RS_ANSWERS_H
#define RS_ANSWERS_H

#include "format/format.h"

/* As the functions of the same name in format.h. */
typedef struct rs_answers {
    resplit_status (*name)(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                           resplit_error *err);
    resplit_status (*locate)(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                             rs_place *out, resplit_error *err);
    resplit_status (*head)(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err);
    resplit_status (*metadata)(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err);
    resplit_status (*attributes)(const resplit_array *array, rs_text *out, resplit_error *err);
    resplit_status (*words)(const resplit_array *array, rs_text *out, resplit_error *err);
    bool (*is_uniform)(
        const resplit_array *array); /* stored blocks are what the chain makes of their elements, and of nothing else */
    bool (*is_sharded)(const resplit_array *array);
    /* of those that are: */
    int64_t (*shard_blocks)(const resplit_array *array);
    int64_t (*shard_position)(const resplit_array *array, const int64_t *index);
    int64_t (*shard_begin)(const resplit_array *array);
} rs_answers;

const rs_answers *rs_answers_of(const resplit_array *array);

#endif
