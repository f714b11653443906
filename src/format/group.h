/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h - a Zarr group as the list of its nodes, and the same group made anew around other arrays. */
#ifndef RS_GROUP_H
#define RS_GROUP_H

#include "format/zarr.h"

typedef struct rs_member {
    char *name; /* below the group; "" for the group itself */
    bool is_array;
    bool is_level; /* of the image that the group is */
    int version;   /* 0: a group that has no metadata of its own */
} rs_member;

typedef struct rs_group {
    char *path;
    size_t n, room;
    rs_member *member; /* parents first, names in order */
} rs_group;

/* Names only: arrays are not looked at. Release `out` also after a failure. */
resplit_status rs_group_open(const char *path, rs_group *out, resplit_error *err);
resplit_status rs_group_copy(const rs_group *group, rs_group *out, resplit_error *err);
void rs_group_release(rs_group *group);

/* Finds out which arrays are levels of the image. RESPLIT_EINVAL: it is none. */
resplit_status rs_group_levels(rs_group *group, resplit_error *err);

/* Mixes names, and the metadata of groups in a version (0: as they are), so that what cannot be written
   is told before. */
resplit_status rs_group_hash(const rs_group *group, int version, uint64_t *hash, resplit_error *err);

/* Makes the folders and the metadata of all groups below `folder`, which is there; what is there already stays. */
resplit_status rs_group_make(const rs_group *group, int version, const char *folder, resplit_error *err);

/* Writes copies of metadata in `folder`, where arrays are now, for those groups that had them. */
resplit_status rs_group_consolidate(const rs_group *group, const char *folder, resplit_error *err);

#endif
