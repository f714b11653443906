/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.c - the shapes of shapes.c, each judged by the plan that it would get. */
#include "advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "progress.h"

enum { DEFAULT_BLOCK = 4 << 20 };

/* What a nearby shape must save to be worth a sentence, and a farther one to be taken. */
#define WORTH_SAYING 0.20
#define WORTH_TAKING 0.01

/* Seconds after which no more shapes are compared. Far more than they need: a proposal should not
   depend on the clock. */
#define PROPOSING 20.0

/* The array that is to be cut, along the target's axes, with the lengths of the source's blocks. */
static struct cli_cutting cutting_of(const struct cli_job *job, const resplit_info *target)
{
    const resplit_info *source = resplit_array_info(job->source);
    struct cli_cutting cutting = {.ndim = target->ndim, .itemsize = source->itemsize, .order = source->order};

    for (int d = 0; d < target->ndim; d++) {
        int own = target->axes[d];
        int64_t length = cli_even_length(&source->chunks[own], source->shape[own]);
        if (length <= 0 && source->chunks[own].count > 0)
            length = source->chunks[own].lengths[0];
        cutting.source[d] = length > 0 ? length : 1;
        cutting.shape[d] = target->shape[d];
        if (own != d)
            cutting.order = target->order;
    }
    return cutting;
}

/* The same before there is a target: one that is not cut. */
static int cutting_before(const struct cli_job *job, const struct cli_options *options, struct cli_cutting *out,
                          resplit_error *err)
{
    resplit_chunks whole[RESPLIT_MAX_NDIM];
    resplit_array *target = NULL;

    for (int d = 0; d < RESPLIT_MAX_NDIM; d++)
        whole[d] = (resplit_chunks){.length = -1};
    struct cli_options mine = *options;
    mine.shards.ndim = 0; /* that need not hold all */
    if (cli_job_try(job, &mine, whole, &target, err) != RESPLIT_OK)
        return CLI_FAILED;
    *out = cutting_of(job, resplit_array_info(target));
    resplit_array_close(target);
    return CLI_DONE;
}

/* Plans for blocks of these lengths. */
static resplit_status judge(const struct cli_job *job, const struct cli_options *options, const int64_t *lengths,
                            resplit_plan **plan, resplit_error *err)
{
    resplit_chunks chunks[RESPLIT_MAX_NDIM] = {{0}};
    resplit_array *target = NULL;

    *plan = NULL;
    for (int d = 0; d < resplit_array_info(job->source)->ndim; d++)
        chunks[d].length = lengths[d];
    resplit_status status = cli_job_try(job, options, chunks, &target, err);
    if (status == RESPLIT_OK)
        status = resplit_plan_make(job->source, target, &job->how, plan, err);
    resplit_array_close(target);
    return status;
}

static double measure_of(const struct cli_job *job, const resplit_plan *plan)
{
    const resplit_plan_summary *summary = resplit_plan_info(plan);

    return cli_measure(&summary->predicted, summary->seconds, job->how.minimize);
}

/* ---- --chunks auto -------------------------------------------------------------------------------------------- */

/* The shape with the cheapest plan; of about equals the earlier. -1: none will do, and err says why. */
static int choose(const struct cli_job *job, const struct cli_options *options, const struct cli_lengths *shapes, int n,
                  int *n_tried, resplit_error *err)
{
    double start = cli_now(), best = 0;
    int chosen = -1;

    for (*n_tried = 0; *n_tried < n && (chosen < 0 || cli_now() - start < PROPOSING); (*n_tried)++) {
        resplit_plan *plan;
        resplit_status status = judge(job, options, shapes[*n_tried].length, &plan, err);

        bool no_shards = status == RESPLIT_EINVAL && options->shards.ndim > 0; /* that hold these */
        if (status == RESPLIT_EBUDGET || status == RESPLIT_EUNSUPPORTED || no_shards)
            continue;
        if (status != RESPLIT_OK)
            return -1;
        double cost = measure_of(job, plan);
        resplit_plan_free(plan);
        if (chosen < 0 || cost < best * (1 - WORTH_TAKING)) {
            chosen = *n_tried;
            best = cost;
        }
    }
    return chosen;
}

static void propose(struct cli_job *job, const struct cli_cutting *cutting, const struct cli_access *access,
                    const struct cli_lengths *shape)
{
    static const char *const NAMES[] = {
        [CLI_ANY] = "cubes", [CLI_SERIES] = "series", [CLI_SLICES] = "slices", [CLI_CUBES] = "cubes"};
    struct cli_proposal *proposal = &job->proposal;

    proposal->ndim = cutting->ndim;
    proposal->access = NAMES[access->kind];
    proposal->axis = access->axis;
    proposal->block_bytes = cutting->itemsize;
    job->proposed.ndim = cutting->ndim;
    for (int d = 0; d < cutting->ndim; d++) {
        proposal->length[d] = shape->length[d];
        proposal->block_bytes *= shape->length[d];
        job->proposed.axis[d] = (resplit_chunks){.length = shape->length[d]};
    }
}

static void tell(const struct cli_proposal *proposal, const struct cli_access *access)
{
    char bytes[CLI_BYTES_TEXT];

    cli_format_bytes(proposal->block_bytes, bytes);
    fprintf(stderr, "chunks: ");
    for (int d = 0; d < proposal->ndim; d++)
        fprintf(stderr, "%s%" PRId64, d ? "," : "", proposal->length[d]);
    fprintf(stderr, " (%s a block, for %s", bytes, proposal->access);
    if (access->kind == CLI_SERIES || access->kind == CLI_SLICES)
        fprintf(stderr, ":%d", proposal->axis);
    fprintf(stderr, "; the cheapest of %d)\n", proposal->n_tried);
}

int cli_advise_chunks(struct cli_job *job, const char *path, const struct cli_options *options,
                      const struct cli_chunks **chunks, resplit_error *err)
{
    const struct cli_access *access = &options->access;
    int64_t ideal[RESPLIT_MAX_NDIM], bytes = options->block_size > 0 ? options->block_size : DEFAULT_BLOCK;
    struct cli_lengths shapes[CLI_MOST_SHAPES];

    if (!options->chunks_auto)
        return CLI_DONE;
    job->path = path;
    if (path && cli_is_file_name(path)) {
        cli_fail(err, RESPLIT_EINVAL, "--chunks auto is for a folder of blocks, and '%.200s' is one file", path);
        return CLI_USAGE;
    }
    int code = cli_job_region(job, options, err);
    if (code != CLI_DONE)
        return code;
    struct cli_cutting cutting;
    code = cutting_before(job, options, &cutting, err);
    if (code != CLI_DONE)
        return code;
    if ((access->kind == CLI_SERIES || access->kind == CLI_SLICES) && access->axis >= cutting.ndim) {
        cli_fail(err, RESPLIT_EINVAL, "--for names axis %d and the array has %d %s, counted from 0", access->axis,
                 cutting.ndim, cutting.ndim == 1 ? "axis" : "axes");
        return CLI_USAGE;
    }
    code = cli_job_how(job, path, options, err);
    if (code != CLI_DONE)
        return code;
    cli_shape_ideal(&cutting, access, bytes, ideal);
    int n = cli_shapes_near(&cutting, ideal, bytes, shapes);
    int chosen = choose(job, options, shapes, n, &job->proposal.n_tried, err);
    if (chosen < 0)
        return CLI_FAILED;
    propose(job, &cutting, access, &shapes[chosen]);
    *chunks = &job->proposed;
    if (!options->quiet)
        tell(&job->proposal, access);
    return CLI_DONE;
}

/* ---- A shape near the one that was asked for ------------------------------------------------------------------ */

int cli_advise_neighbour(const struct cli_job *job, const struct cli_options *options, struct cli_neighbour *out,
                         resplit_error *err)
{
    const resplit_info *target = resplit_array_info(job->target);
    struct cli_cutting cutting = cutting_of(job, target);
    struct cli_lengths shapes[CLI_MOST_SHAPES];
    double start = cli_now(), now = measure_of(job, job->plan), best = now * (1 - WORTH_SAYING);

    *out = (struct cli_neighbour){.minimize = job->how.minimize ? job->how.minimize : "seconds"};
    if (target->shards)
        return CLI_DONE; /* which hold whole chunks of these lengths */
    for (int d = 0; d < target->ndim; d++) {
        out->wanted[d] = cli_even_length(&target->chunks[d], target->shape[d]);
        if (out->wanted[d] <= 0)
            return CLI_DONE; /* whoever cuts unevenly has reasons */
    }
    int n = cli_shapes_neighbours(&cutting, out->wanted, shapes);
    for (int i = 0; i < n && cli_now() - start < CLI_PATIENCE; i++) {
        resplit_plan *plan;
        resplit_status status = judge(job, options, shapes[i].length, &plan, err);

        if (status == RESPLIT_EBUDGET || status == RESPLIT_EUNSUPPORTED)
            continue;
        if (status != RESPLIT_OK)
            return CLI_FAILED;
        double cost = measure_of(job, plan);
        if (cost < best || (out->ndim == 0 && cost <= best && now > 0)) {
            const resplit_plan_summary *summary = resplit_plan_info(plan);
            best = cost;
            out->ndim = target->ndim;
            out->saved = 1 - cost / now;
            out->seconds = summary->seconds;
            out->seeks = summary->predicted.read_seeks + summary->predicted.write_seeks;
            for (int d = 0; d < target->ndim; d++)
                out->length[d] = shapes[i].length[d];
        }
        resplit_plan_free(plan);
    }
    return CLI_DONE;
}
