/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planfile.h - a plan as text, and back. docs/plan-file.md has the fields.
 *
 *     plan -- describe --> description -- write --> text -- parse --> description -- rebuild --> plan, predicted anew
 *
 * A text is not trusted: parsing checks that it is of the right form, rebuilding that it is a plan for the problem at
 * hand, comparing that it costs what it says. Nothing here touches a file.
 */
#ifndef RS_PLANFILE_H
#define RS_PLANFILE_H

#include "base/text.h"
#include "plan/plan.h"

enum {
    RS_PLANFILE_VERSION = 1,
    RS_PLANFILE_BYTES = 4 << 20, /* of a text, at most: about 400,000 cuts */
};

/* What opening the source, or creating the target, needs. Texts and lengths are owned; NULL: not there. */
typedef struct rs_planfile_side {
    char *path; /* as it stands in the file */
    char *format;
    char *pattern; /* NULL: one file */
    resplit_chunks chunks[RS_MAX_NDIM];
    int64_t *lengths[RS_MAX_NDIM]; /* what uneven chunks point to */
    char *dtype;                   /* of a target: that values are cast to */
    char order;                    /* 'C', 'F'; 0: neither, of a target: as the source */
    int64_t skip;                  /* the source only, from here */
    int64_t shape[RS_MAX_NDIM];
    bool has_roi; /* the target only, from here */
    int64_t roi_start[RS_MAX_NDIM], roi_stop[RS_MAX_NDIM];
    char *codec; /* NULL: as the source */
    bool has_shards;
    int64_t shards[RS_MAX_NDIM];
    bool write_empty, is_virtual;
    bool ome; /* an OME-Zarr image of one level */
} rs_planfile_side;

/* How buffers are cut along an axis. */
typedef struct rs_planfile_cuts {
    int64_t step;  /* evenly, from 0; 0: at the positions of a list */
    int64_t n;     /* buffers */
    int64_t *cuts; /* owned; n + 1 */
} rs_planfile_cuts;

typedef struct rs_planfile {
    int ndim;
    rs_planfile_side source, target;
    char *strategy; /* owned */
    char *temp;     /* owned; folder for a temporary file, NULL: beside the target */
    int64_t memory;
    int64_t crew;          /* workers that the machine had use for; 0: as any machine has */
    int64_t part, n_parts; /* a plan of partition `part`, from 1, of so many; n_parts 0: of the whole */
    char *minimize;        /* owned; of all partitions (part 0), which are planned when they are run; NULL: as usual */
    resplit_device device; /* what seconds are predicted for */
    bool has_buffers;      /* false: the strategy is asked again */
    rs_planfile_cuts buffer[RS_MAX_NDIM];
    int loop[RS_MAX_NDIM];
    uint32_t kept;
    resplit_cost predicted;
    uint64_t problem_hash;
} rs_planfile;

/* Of all partitions, not of one: it predicts nothing, since each is planned when it is run. */
static inline bool rs_planfile_is_of_parts(const rs_planfile *file)
{
    return file->n_parts > 0 && file->part == 0;
}

/* ---- planfile.c, planfile_read.c: text ---- */

resplit_status rs_planfile_write(const rs_planfile *file, rs_text *out, resplit_error *err);

/* `path` is for messages. Everything that can be wrong is RESPLIT_EFORMAT, a later version RESPLIT_EUNSUPPORTED. */
resplit_status rs_planfile_parse(const char *text, size_t n, const char *path, rs_planfile *out, resplit_error *err);

void rs_planfile_release(rs_planfile *file);

/* The numbers of a cost (int64_t) and of a device (double), by name. */
typedef struct rs_named {
    const char *name;
    size_t member;
} rs_named;

enum { RS_N_COST_FIELDS = 7, RS_N_DEVICE_FIELDS = 5 };
extern const rs_named rs_cost_fields[RS_N_COST_FIELDS], rs_device_fields[RS_N_DEVICE_FIELDS];

static inline int64_t *rs_cost_at(resplit_cost *cost, int i)
{
    return (int64_t *)(void *)((char *)cost + rs_cost_fields[i].member);
}

static inline double *rs_device_number(resplit_device *device, int i)
{
    return (double *)(void *)((char *)device + rs_device_fields[i].member);
}

/* ---- rebuild.c: plans ---- */

/* Fills all but the two sides, device and temp. Plans that are more than buffers, loops and kept axes are described
   by their strategy. */
resplit_status rs_planfile_describe(const rs_problem *problem, const rs_plan *plan, rs_planfile *out,
                                    resplit_error *err);

/*
 * The plan that is described, proved by rs_plan_validate and predicted anew. RESPLIT_EINVAL when it is none for this
 * problem, RESPLIT_EBUDGET when it does not fit the memory it names. Its prediction is not yet compared.
 */
resplit_status rs_planfile_rebuild(const rs_planfile *file, const rs_problem *problem, rs_plan *out,
                                   resplit_error *err);

/* Is the prediction, every number of it, the one that was written down? RESPLIT_EINVAL if not. */
resplit_status rs_planfile_compare(const rs_planfile *file, const rs_plan *plan, resplit_error *err);

#endif
