/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - a small cache of open block files. */
#include "engine/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void rs_files_init(rs_files *files, const resplit_array *array, const char *root, int flags)
{
    *files = (rs_files){.array = array, .root = root, .flags = flags};
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        files->file[i].block = -1;
    }
}

void rs_files_release(rs_files *files)
{
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        if (files->file[i].block >= 0) {
            (void)close(files->file[i].fd);
        }
        files->file[i].block = -1;
    }
}

static resplit_status close_file(rs_files *files, rs_open_file *file, resplit_error *err)
{
    file->block = -1;
    if (close(file->fd) != 0 && errno != EINTR) { /* a network file system may tell only now that a write failed */
        return rs_fail_errno(err, errno, "cannot close a block of '%s'", files->root);
    }
    return RESPLIT_OK;
}

static rs_open_file *find(rs_files *files, int64_t block)
{
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        if (files->file[i].block == block) {
            return &files->file[i];
        }
    }
    return NULL;
}

static resplit_status make_room(rs_files *files, rs_open_file **out, resplit_error *err)
{
    rs_open_file *oldest = &files->file[0];
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        if (files->file[i].block < 0) {
            *out = &files->file[i];
            return RESPLIT_OK;
        }
        if (files->file[i].used < oldest->used) {
            oldest = &files->file[i];
        }
    }
    *out = oldest;
    return close_file(files, oldest, err);
}

/* Opens files->path; with too few descriptors, closes what is open here and tries again. */
static resplit_status open_path(rs_files *files, bool create, int *fd, resplit_error *err)
{
    int flags = files->flags | O_CLOEXEC | (create ? O_CREAT | O_TRUNC | O_NOFOLLOW : 0);
    *fd = open(files->path, flags, 0666);
    if (*fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        rs_files_release(files);
        *fd = open(files->path, flags, 0666);
    }
    if (*fd < 0) {
        return rs_fail_errno(err, errno, "cannot %s '%s'", create ? "create" : "open", files->path);
    }
    return RESPLIT_OK;
}

static resplit_status write_head(rs_files *files, const int64_t *index, int fd, resplit_error *err)
{
    rs_text head = {0};
    resplit_status rc = rs_array_block_head(files->array, index, &head, err);
    if (rc == RESPLIT_OK && head.n > 0) {
        rc = rs_file_write(fd, files->path, head.s, (int64_t)head.n, 0, err);
    }
    rs_text_release(&head);
    return rc;
}

static resplit_status open_block(rs_files *files, const int64_t *index, int64_t block, bool create, rs_open_file **out,
                                 resplit_error *err)
{
    int fd;
    RS_TRY(make_room(files, out, err));
    RS_TRY(open_path(files, create, &fd, err));
    (*out)->block = block;
    (*out)->fd = fd;
    if (files->streams) {
        rs_file_will_stream(fd);
    }
    return create ? write_head(files, index, fd, err) : RESPLIT_OK;
}

resplit_status rs_files_get(rs_files *files, const int64_t *index, bool create, rs_block_file *out, resplit_error *err)
{
    int64_t block = rs_layout_block_number(&files->array->layout, index);
    char name[RS_NAME_MAX];
    RS_TRY(rs_array_block_name(files->array, index, name, err));
    RS_TRY(rs_path_join(files->root, name, files->path, err));
    rs_open_file *file = find(files, block);
    if (file == NULL) {
        RS_TRY(open_block(files, index, block, create, &file, err));
    }
    file->used = ++files->clock;
    *out = (rs_block_file){.fd = file->fd, .path = files->path, .offset = rs_array_block_offset(files->array, index)};
    return RESPLIT_OK;
}

resplit_status rs_files_close(rs_files *files, const int64_t *index, resplit_error *err)
{
    rs_open_file *file = find(files, rs_layout_block_number(&files->array->layout, index));
    return file != NULL ? close_file(files, file, err) : RESPLIT_OK;
}
