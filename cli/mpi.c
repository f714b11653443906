/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi.c - resplit-mpi: `mpirun -n 8 resplit-mpi SRC DST ...`. The work is divided into partitions, and ranks make them,
 * each by the same functions, and in the same folder, as `resplit --part`; messages only say who makes what, and that
 * somebody failed.
 *
 *     rank 0                     others
 *     opens, divides, deals      wait, then open
 *     ----------- who makes which partition ---------->
 *     makes its own              make their own               a failure stops all; what is done is kept
 *     <---------------- what became of it -------------
 *     finishes, reports
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "commands.h"
#include "parts.h"

enum { TAG_STOP = 1 };

static const char USAGE[] =
    "Usage: mpirun -n RANKS resplit-mpi SRC DST --chunks LENGTHS [OPTION]...\n"
    "       mpirun -n RANKS resplit-mpi PLAN [OPTION]...\n\n"
    "Rewrites the array SRC as DST, cut anew, as 'resplit' does, by several processes at once. PLAN is a\n"
    "file that 'resplit plan --parts N --save PLAN' wrote. --memory is for each rank.\n\nOptions:\n";

struct team {
    int rank, size;
    struct cli_args args;
    struct cli_job job;
    int64_t n;        /* partitions                                   */
    int64_t n_made;   /* by this rank */
    int32_t *rank_of; /* who makes each, from 0; -1: it is complete */
    struct cli_progress progress;
};

/* ---- Saying how it went --------------------------------------------------------------------------------------- */

/* What became of a rank, as it is sent. */
struct outcome {
    int32_t code; /* a cli_exit                                   */
    int32_t kept; /* something that it made is there              */
    resplit_error err;
};

/* The worst of all ranks, at all ranks: a failure rather than that somebody was told to stop. */
static struct outcome agree(const struct team *team, int code, const resplit_error *err)
{
    struct outcome mine = {.code = code, .kept = team->n_made > 0}, *all = calloc((size_t)team->size, sizeof *all),
                   worst = {.code = CLI_DONE};

    if (code != CLI_DONE)
        mine.err = *err;
    if (!all) {
        MPI_Abort(MPI_COMM_WORLD, CLI_FAILED);
        exit(CLI_FAILED);
    }
    MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < team->size; i++) {
        int32_t kept = worst.kept || all[i].kept || all[i].err.resumable;
        bool only_stopped = worst.err.code == RESPLIT_ECANCELED && all[i].err.code != RESPLIT_ECANCELED;

        if (all[i].code != CLI_DONE && (worst.code == CLI_DONE || only_stopped))
            worst = all[i];
        worst.kept = kept;
    }
    free(all);
    return worst;
}

static void tell_others_to_stop(const struct team *team)
{
    for (int i = 0; i < team->size; i++) {
        if (i != team->rank)
            MPI_Send(NULL, 0, MPI_BYTE, i, TAG_STOP, MPI_COMM_WORLD); /* nothing, which waits for nobody */
    }
}

static bool is_told_to_stop(void)
{
    int there = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, TAG_STOP, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return there != 0;
}

/* When all have agreed, everything that was sent is there. */
static void forget_messages(void)
{
    while (is_told_to_stop())
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int on_progress(int64_t done, int64_t total, int64_t memory, void *payload)
{
    struct team *team = payload;

    return cli_progress_step(done, total, memory, &team->progress) || is_told_to_stop();
}

/* ---- Before it begins ----------------------------------------------------------------------------------------- */

/* Ranks of a machine share its memory; all plan alike. */
static void set_memory(struct team *team)
{
    struct cli_options *options = &team->args.options;
    const char *source;
    MPI_Comm here;
    int n_here = 1;

    if (options->memory > 0)
        return;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &n_here);
    MPI_Comm_free(&here);
    int64_t memory = cli_memory_default(&source) / n_here;
    MPI_Allreduce(&memory, &options->memory, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (team->rank == 0 && !options->quiet) {
        char text[CLI_BYTES_TEXT];

        cli_format_bytes(options->memory, text);
        fprintf(stderr, "memory: %s for each rank (half of %s, shared by those on a machine)\n", text, source);
    }
}

static int open_plan(struct team *team, resplit_error *err)
{
    struct cli_job *job = &team->job;

    if (resplit_plan_load(team->args.words[0], &job->source, &job->target, &job->plan, err) != RESPLIT_OK)
        return CLI_FAILED;
    team->n = resplit_plan_info(job->plan)->n_parts;
    if (team->n == 0 || resplit_plan_info(job->plan)->part > 0) {
        cli_fail(err, RESPLIT_EINVAL, "the plan '%.300s' is not of all partitions: save one with --parts",
                 team->args.words[0]);
        return CLI_FAILED;
    }
    if (team->args.options.overwrite)
        resplit_array_overwrite(job->target);
    return CLI_DONE;
}

/* As many as an earlier run had, or as are asked for, or one for each rank. */
static int count_parts(struct team *team, resplit_error *err)
{
    const struct cli_options *options = &team->args.options;

    team->n = options->parts;
    if (team->n == 0 && options->resume && resplit_parts_found(team->args.words[1], &team->n, err) != RESPLIT_OK)
        return CLI_FAILED;
    if (team->n == 0)
        team->n = team->size;
    return CLI_DONE;
}

static int open_arrays(struct team *team, resplit_error *err)
{
    if (team->args.n_words == 1)
        return open_plan(team, err);
    if (resplit_is_group(team->args.words[0])) {
        cli_fail(err, RESPLIT_EINVAL, "'%.300s' is a group, and partitions are of one array: name an array in it",
                 team->args.words[0]);
        return CLI_USAGE;
    }
    int code = cli_open_both(&team->args, &team->job, err);
    if (code == CLI_DONE)
        code = cli_job_how(&team->job, team->args.words[1], &team->args.options, err);
    return code == CLI_DONE ? count_parts(team, err) : code;
}

/* ---- Who makes what ------------------------------------------------------------------------------------------- */

struct load {
    int64_t part, bytes;
};

static int is_larger(const void *a, const void *b)
{
    const struct load *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : (x->part > y->part) - (x->part < y->part);
}

/* The largest first, each to the rank that has least. */
static bool deal(struct team *team, struct load *loads, int64_t *has)
{
    qsort(loads, (size_t)team->n, sizeof *loads, is_larger);
    for (int64_t i = 0; i < team->n; i++) {
        int least = 0;
        for (int r = 1; r < team->size; r++)
            least = has[r] < has[least] ? r : least;
        if (team->rank_of[loads[i].part] == 0) {
            team->rank_of[loads[i].part] = least;
            has[least] += loads[i].bytes + 1;
        }
    }
    return true;
}

/* At rank 0. Partitions that are complete are nobody's. */
static int divide(struct team *team, resplit_error *err)
{
    struct load *loads = calloc((size_t)team->n, sizeof *loads);
    int64_t *has = calloc((size_t)team->size, sizeof *has);
    bool ok = loads && has;

    if (!ok)
        cli_fail(err, RESPLIT_ENOMEM, "no memory to divide %lld partitions", (long long)team->n);
    for (int64_t i = 0; ok && i < team->n; i++) {
        resplit_partition one;
        ok = resplit_partition_info(team->job.source, team->job.target, i + 1, team->n, &one, err) == RESPLIT_OK;
        loads[i] = (struct load){i, one.bytes};
        team->rank_of[i] = one.done ? -1 : 0;
    }
    ok = ok && deal(team, loads, has);
    free(loads);
    free(has);
    return ok ? CLI_DONE : CLI_FAILED;
}

/* Rank 0 first, so that what is wrong is found once. The others then open the same, with its device. */
static struct outcome begin(struct team *team)
{
    resplit_error err = {0};
    int code = team->rank == 0 ? open_arrays(team, &err) : CLI_DONE;
    struct outcome out = agree(team, code, &err);

    if (out.code != CLI_DONE)
        return out;
    MPI_Bcast(&team->n, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(&team->job.device, (int)sizeof team->job.device, MPI_BYTE, 0, MPI_COMM_WORLD);
    team->rank_of = calloc((size_t)team->n, sizeof *team->rank_of);
    if (!team->rank_of) {
        cli_fail(&err, RESPLIT_ENOMEM, "no memory for %lld partitions", (long long)team->n);
        code = CLI_FAILED;
    } else if (team->rank > 0) {
        int64_t n = team->n;
        if (team->args.n_words > 1)
            cli_job_set_how(&team->job, &team->args.options, team->args.options.memory);
        code = open_arrays(team, &err);
        team->n = n; /* somebody may have begun since */
    } else {
        code = divide(team, &err);
    }
    out = agree(team, code, &err);
    if (out.code == CLI_DONE)
        MPI_Bcast(team->rank_of, (int)team->n, MPI_INT32_T, 0, MPI_COMM_WORLD);
    return out;
}

/* ---- Making them ---------------------------------------------------------------------------------------------- */

static resplit_status plan_one(const struct team *team, int64_t part, resplit_plan **out, resplit_error *err)
{
    const struct cli_job *job = &team->job;
    resplit_plan_options how = job->how;
    resplit_status status = RESPLIT_OK;

    *out = NULL;
    if (team->args.options.resume)
        status = resplit_plan_resume_part(job->source, job->target, part, team->n, out, err);
    if (status != RESPLIT_OK || *out)
        return status;
    if (job->plan)
        return resplit_plan_part(job->plan, job->source, job->target, part, out, err);
    how.part = part;
    how.n_parts = team->n;
    return resplit_plan_make(job->source, job->target, &how, out, err);
}

static int make_one(struct team *team, int64_t part, resplit_error *err)
{
    const struct cli_job *job = &team->job;
    resplit_run_options how = cli_run_options(&team->args.options, &team->progress);
    resplit_plan *plan = NULL;
    resplit_status status = plan_one(team, part, &plan, err);

    how.progress = on_progress;
    how.payload = team;
    if (status == RESPLIT_OK)
        status = resplit_run(plan, job->source, job->target, &how, NULL, err);
    resplit_plan_free(plan);
    team->n_made += status == RESPLIT_OK;
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

static struct outcome make_all(struct team *team)
{
    resplit_error err = {0};
    int code = CLI_DONE;

    cli_progress_begin(&team->progress, team->rank == 0 && !team->args.options.quiet);
    for (int64_t i = 0; code == CLI_DONE && i < team->n; i++) {
        if (team->rank_of[i] != team->rank)
            continue;
        if (is_told_to_stop()) {
            cli_fail(&err, RESPLIT_ECANCELED, "interrupted");
            code = CLI_FAILED;
        } else {
            code = make_one(team, i + 1, &err);
        }
    }
    cli_progress_end(&team->progress);
    if (code != CLI_DONE && err.code != RESPLIT_ECANCELED)
        tell_others_to_stop(team);
    struct outcome out = agree(team, code, &err);
    forget_messages();
    if (out.code != CLI_DONE) {
        resplit_error why = out.err;
        cli_fail(&out.err, why.code, "%.600s%s", why.code == RESPLIT_ECANCELED ? "interrupted" : why.message,
                 out.kept ? "; what is done is kept: go on by the same command with --resume" : "");
    }
    return out;
}

static struct outcome finish(struct team *team, double start)
{
    resplit_error err = {0};
    resplit_result done = {0};
    resplit_run_options how = {.sync = team->args.options.sync};
    int code = CLI_DONE;

    if (team->rank == 0 && resplit_finish(team->job.source, team->job.target, team->n, &how, &done, &err) != RESPLIT_OK)
        code = CLI_FAILED;
    done.seconds = cli_now() - start;
    if (team->rank == 0 && code == CLI_DONE)
        code = cli_parts_finished(&team->job, &team->args.options, team->n, team->size, &done, &err);
    return agree(team, code, &err);
}

/* ---- The program ---------------------------------------------------------------------------------------------- */

static struct outcome work(struct team *team)
{
    double start = cli_now();

    team->args.options.quiet = team->args.options.quiet || team->rank > 0; /* what is told is told once */
    set_memory(team);
    struct outcome out = begin(team);
    if (out.code == CLI_DONE)
        out = make_all(team);
    if (out.code == CLI_DONE)
        out = finish(team, start);
    return out;
}

/* All ranks have the same command line, and find the same wrong with it. */
static struct outcome run(const struct cli_line *line, struct team *team)
{
    struct outcome out = {.code = CLI_USAGE};
    bool help = line->help || line->n_words == 0;

    team->args = (struct cli_args){.id = CLI_MPI, .n_words = line->n_words, .words = (const char *const *)line->words};
    if (help || line->version) {
        if (team->rank == 0 && help) {
            printf("%s", USAGE);
            cli_options_help(stdout, CLI_MPI);
        } else if (team->rank == 0) {
            printf("resplit-mpi %s\n", resplit_version());
        }
        out.code = CLI_DONE;
        return out;
    }
    if (!cli_options_read(line, CLI_MPI, "resplit-mpi", &team->args.options, &out.err))
        return out;
    if (line->n_words > 2)
        cli_fail(&out.err, RESPLIT_EINVAL, "'%.200s' is one word too many: write resplit-mpi SRC DST", line->words[2]);
    else
        out = work(team);
    cli_job_close(&team->job);
    cli_options_release(&team->args.options);
    free(team->rank_of);
    return out;
}

int main(int argc, char **argv)
{
    struct team team = {0};
    struct cli_line line;
    struct outcome out = {.code = CLI_USAGE};
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level); /* workers send nothing */
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.size);
    if (cli_line_read(argc, argv, &line, &out.err))
        out = run(&line, &team);
    cli_line_release(&line);
    if (team.rank == 0 && out.code != CLI_DONE && out.err.message[0])
        fprintf(stderr, "resplit-mpi: %s\n", out.err.message);
    MPI_Finalize();
    return out.code;
}
