/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prop_resplit.c - seeded random problems, run for real on files and compared element by element.
 *
 * The source's files, their headers and manifest are written here, by code that shares nothing with the library; every
 * element holds a number made from its position. After the run each target file is read back and each element compared
 * with what its position says. Plans come from every strategy, and from nobody: random cuts, loops and kept axes.
 *
 *     RESPLIT_SEED=7 RESPLIT_ITERS=100 prop_resplit        repeats a run; the seed of a failure is printed
 */
#include "support/plan_check.h"
#include "engine/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAIL(...)                                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "seed %" PRIu64 " iteration %d: ", seed, iteration);                                           \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        exit(1);                                                                                                       \
    } while (0)

static uint64_t seed, state;
static int iteration;

static uint64_t random_bits(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static int64_t random_in(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(random_bits() % (uint64_t)(hi - lo + 1));
}

static bool chance(int percent)
{
    return random_in(1, 100) <= percent;
}

/* ---- Coverage ------------------------------------------------------------------------------ */

enum {
    COVER_COPY,
    COVER_BEST,
    COVER_SPILL,
    COVER_KEEP,
    COVER_MULTIPLE,
    COVER_CLUSTERED,
    COVER_NAIVE,
    COVER_AUTO,
    COVER_BY_HAND,
    COVER_KEPT_3D, /* eight sets */
    COVER_BEYOND = COVER_KEPT_3D + 8,
    COVER_ROI,
    COVER_IRREGULAR_GRID,
    COVER_IRREGULAR_BUFFER,
    COVER_C_TO_F,
    COVER_F_TO_C,
    COVER_NDIM, /* 0 to 16 */
    COVER_PIECES = COVER_NDIM + RS_MAX_NDIM + 1,
    COVER_RAW,
    COVER_NPY,
    COVER_EMPTY,
    COVER_ATOMIC_SOURCE,
    COVER_ATOMIC_TARGET,
    COVER_RESIDENT,
    N_COVER
};

static int covered[N_COVER];

static void name_of_cover(int i, char *name, size_t n)
{
    static const char *const names[] = {[COVER_COPY] = "strategy copy",
                                        [COVER_BEST] = "strategy best",
                                        [COVER_SPILL] = "strategy spill",
                                        [COVER_KEEP] = "strategy keep",
                                        [COVER_MULTIPLE] = "strategy multiple",
                                        [COVER_CLUSTERED] = "strategy clustered",
                                        [COVER_NAIVE] = "strategy naive",
                                        [COVER_AUTO] = "strategy auto",
                                        [COVER_BY_HAND] = "random plans",
                                        [COVER_BEYOND] = "stretched beyond the aggregate",
                                        [COVER_ROI] = "region of interest",
                                        [COVER_IRREGULAR_GRID] = "irregular grid",
                                        [COVER_IRREGULAR_BUFFER] = "irregular buffers",
                                        [COVER_C_TO_F] = "C to Fortran",
                                        [COVER_F_TO_C] = "Fortran to C",
                                        [COVER_PIECES] = "units stored in pieces",
                                        [COVER_RAW] = "raw target",
                                        [COVER_NPY] = ".npy target",
                                        [COVER_EMPTY] = "no elements",
                                        [COVER_ATOMIC_SOURCE] = "atomic source",
                                        [COVER_ATOMIC_TARGET] = "atomic target",
                                        [COVER_RESIDENT] = "spilled, with residents"};
    if (i >= COVER_KEPT_3D && i < COVER_KEPT_3D + 8) {
        int k = i - COVER_KEPT_3D;
        snprintf(name, n, "kept axes in 3-D: {%s%s%s}", k & 1 ? "0" : "", k & 2 ? "1" : "", k & 4 ? "2" : "");
    } else if (i >= COVER_NDIM && i <= COVER_NDIM + RS_MAX_NDIM) {
        snprintf(name, n, "%d dimensions", i - COVER_NDIM);
    } else {
        snprintf(name, n, "%s", names[i]);
    }
}

/* What each of so many runs must have met at least. */
static int least_cover(int i)
{
    if (i > COVER_NDIM + 6 && i <= COVER_NDIM + RS_MAX_NDIM) {
        return 1;
    }
    return i == COVER_NDIM || i == COVER_EMPTY ? 10 : 100;
}

/* ---- A random problem ---------------------------------------------------------------------- */

typedef struct grid_axis {
    int64_t n, cuts[512]; /* n + 1 positions from 0 */
} grid_axis;

typedef struct trial {
    int ndim;
    int64_t shape[RS_MAX_NDIM], roi_lo[RS_MAX_NDIM], roi_hi[RS_MAX_NDIM];
    grid_axis from[RS_MAX_NDIM], to[RS_MAX_NDIM];
    int64_t itemsize;
    char from_order, to_order;
    bool from_npy, to_npy;
    char source[512], target[512];
} trial;

static const char *const dtypes[] = {"|u1", "<i2", "|V3", ">f4", "<u8", "<c16", "|S5"};
static const int64_t itemsizes[] = {1, 2, 3, 4, 8, 16, 5};

static void random_axis(int64_t extent, grid_axis *axis)
{
    axis->n = 0;
    axis->cuts[0] = 0;
    bool uneven = chance(25);
    int64_t most = rs_max(1, chance(50) ? extent / 3 : extent);
    int64_t step = chance(20) ? rs_max(1, extent) : random_in(1, most);
    while (axis->cuts[axis->n] < extent || axis->n == 0) {
        int64_t length = uneven ? random_in(1, most) : step;
        axis->cuts[axis->n + 1] = rs_min(extent, axis->cuts[axis->n] + length);
        axis->n++;
    }
}

static int random_ndim(void)
{
    if (chance(2)) {
        return 0;
    }
    if (chance(3)) {
        return (int)random_in(7, RS_MAX_NDIM);
    }
    return chance(45) ? 3 : (int)random_in(1, 6);
}

static void random_trial(trial *t, const char *folder)
{
    static const int64_t most[RS_MAX_NDIM + 1] = {1, 300, 30, 11, 6, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    int type = (int)random_in(0, (int64_t)(sizeof itemsizes / sizeof itemsizes[0]) - 1);
    t->ndim = random_ndim();
    t->itemsize = itemsizes[type];
    bool roi = chance(30), empty = chance(2);
    for (int d = 0; d < t->ndim; d++) {
        t->shape[d] = random_in(empty ? 0 : 1, most[t->ndim]);
        random_axis(t->shape[d], &t->from[d]);
        t->roi_lo[d] = roi ? random_in(0, t->shape[d]) : 0;
        t->roi_hi[d] = roi ? random_in(t->roi_lo[d], t->shape[d]) : t->shape[d];
        if (!empty && t->roi_lo[d] == t->roi_hi[d]) {
            t->roi_lo[d] = rs_min(t->roi_lo[d], t->shape[d] - 1);
            t->roi_hi[d] = t->roi_lo[d] + 1;
        }
        random_axis(t->roi_hi[d] - t->roi_lo[d], &t->to[d]);
    }
    if (chance(35)) { /* a split or a merge, so that clustered and multiple apply */
        bool split = chance(50);
        for (int d = 0; d < t->ndim; d++) {
            grid_axis *axis = split ? &t->from[d] : &t->to[d];
            int64_t extent = axis->cuts[axis->n];
            *axis = (grid_axis){.n = 1, .cuts = {0, extent}};
        }
    }
    if (!roi && chance(10)) { /* the same grid, so that copy applies */
        memcpy(t->to, t->from, sizeof t->to);
    }
    t->from_order = chance(50) ? 'C' : 'F';
    t->to_order = chance(60) ? t->from_order : chance(50) ? 'C' : 'F';
    t->from_npy = chance(50) && dtypes[type][1] != 'V';
    t->to_npy = chance(50) && dtypes[type][1] != 'V';
    snprintf(t->source, sizeof t->source, "%s/source", folder);
    snprintf(t->target, sizeof t->target, "%s/target", folder);
    covered[COVER_ROI] += roi;
    covered[COVER_EMPTY] += empty;
    covered[COVER_NDIM + t->ndim]++;
    covered[COVER_RAW] += !t->to_npy;
    covered[COVER_NPY] += t->to_npy;
}

/* ---- Elements, one by one ------------------------------------------------------------------ */

/* The bytes of the element at position `at` of the source array. */
static void value_at(const trial *t, const int64_t *at, uint8_t *bytes)
{
    uint64_t number = 0;
    for (int d = 0; d < t->ndim; d++) {
        number = number * (uint64_t)(t->shape[d] + 1) + (uint64_t)at[d] + 1;
    }
    uint64_t z = (number + 1) * 0xd1342543de82ef95ULL;
    for (int64_t i = 0; i < t->itemsize; i++) {
        bytes[i] = (uint8_t)(z >> (8 * (i % 8))) ^ (uint8_t)(i * 37);
    }
}

/* Next position in a box, the fastest axis being the last (C) or the first (F). */
static bool next_position(int ndim, char order, const int64_t *lo, const int64_t *hi, int64_t *at)
{
    for (int i = 0; i < ndim; i++) {
        int d = order == 'C' ? ndim - 1 - i : i;
        if (++at[d] < hi[d]) {
            return true;
        }
        at[d] = lo[d];
    }
    return false;
}

static bool next_block(int ndim, const grid_axis *axes, int64_t *index)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++index[d] < axes[d].n) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

static void block_path(const trial *t, const char *folder, bool npy, const int64_t *index, char *path, size_t n)
{
    size_t used = (size_t)snprintf(path, n, "%s/", folder);
    for (int d = 0; d < t->ndim; d++) {
        used += (size_t)snprintf(path + used, n - used, "%s%" PRId64, d > 0 ? "_" : "", index[d]);
    }
    snprintf(path + used, n - used, "%s%s", t->ndim == 0 ? "0" : "", npy ? ".npy" : ".raw");
}

/* A NumPy header, as the format's documentation describes it: 128 bytes, or more for many axes. */
static void write_npy_header(FILE *file, const trial *t, const char *dtype, const int64_t *lo, const int64_t *hi)
{
    char dict[1024], shape[512] = "";
    size_t n = 0;
    for (int d = 0; d < t->ndim; d++) {
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%" PRId64 ",", hi[d] - lo[d]);
    }
    int length = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", dtype,
                          t->from_order == 'F' ? "True" : "False", shape);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fputc(padded & 255, file);
    fputc(padded >> 8, file);
    fprintf(file, "%-*s\n", padded - 1, dict);
}

static bool box_is_empty(int ndim, const int64_t *lo, const int64_t *hi)
{
    for (int d = 0; d < ndim; d++) {
        if (lo[d] >= hi[d]) {
            return true;
        }
    }
    return false;
}

static void write_source_block(const trial *t, const char *dtype, const int64_t *index)
{
    char path[1024];
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, at[RS_MAX_NDIM] = {0};
    for (int d = 0; d < t->ndim; d++) {
        lo[d] = at[d] = t->from[d].cuts[index[d]];
        hi[d] = t->from[d].cuts[index[d] + 1];
    }
    block_path(t, t->source, t->from_npy, index, path, sizeof path);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        FAIL("cannot write %s: %s", path, strerror(errno));
    }
    if (t->from_npy) {
        write_npy_header(file, t, dtype, lo, hi);
    }
    if (!box_is_empty(t->ndim, lo, hi)) {
        do {
            uint8_t bytes[16];
            value_at(t, at, bytes);
            fwrite(bytes, 1, (size_t)t->itemsize, file);
        } while (next_position(t->ndim, t->from_order, lo, hi, at));
    }
    fclose(file);
}

static void write_source(const trial *t, const char *dtype)
{
    char path[1024];
    mkdir(t->source, 0777);
    snprintf(path, sizeof path, "%s/resplit.json", t->source);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        FAIL("cannot write %s: %s", path, strerror(errno));
    }
    fprintf(file, "{\"resplit\": 1, \"format\": \"%s\", \"dtype\": \"%s\", \"order\": \"%c\", \"shape\": [",
            t->from_npy ? "npy" : "raw", dtype, t->from_order);
    for (int d = 0; d < t->ndim; d++) {
        fprintf(file, "%s%" PRId64, d > 0 ? "," : "", t->shape[d]);
    }
    fputs("], \"chunks\": [", file);
    for (int d = 0; d < t->ndim; d++) {
        fputs(d > 0 ? ",[" : "[", file);
        for (int64_t i = 0; i < t->from[d].n; i++) {
            fprintf(file, "%s%" PRId64, i > 0 ? "," : "", t->from[d].cuts[i + 1] - t->from[d].cuts[i]);
        }
        fputs("]", file);
    }
    fputs("], \"pattern\": \"", file);
    for (int d = 0; d < t->ndim; d++) {
        fprintf(file, "%s{%d}", d > 0 ? "_" : "", d);
    }
    fprintf(file, "%s.%s\"}", t->ndim == 0 ? "0" : "", t->from_npy ? "npy" : "raw");
    fclose(file);
    int64_t index[RS_MAX_NDIM] = {0};
    do {
        write_source_block(t, dtype, index);
    } while (next_block(t->ndim, t->from, index));
}

static void check_target_block(const trial *t, const int64_t *index)
{
    char path[1024];
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, at[RS_MAX_NDIM] = {0};
    for (int d = 0; d < t->ndim; d++) {
        lo[d] = at[d] = t->to[d].cuts[index[d]];
        hi[d] = t->to[d].cuts[index[d] + 1];
    }
    block_path(t, t->target, t->to_npy, index, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        FAIL("cannot read %s: %s", path, strerror(errno));
    }
    if (t->to_npy) {
        uint8_t head[10];
        if (fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY", 6) != 0) {
            FAIL("%s has no .npy header", path);
        }
        fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET);
    }
    if (!box_is_empty(t->ndim, lo, hi)) {
        do {
            uint8_t bytes[16], expected[16];
            int64_t from[RS_MAX_NDIM] = {0};
            for (int d = 0; d < t->ndim; d++) {
                from[d] = at[d] + t->roi_lo[d];
            }
            value_at(t, from, expected);
            if (fread(bytes, 1, (size_t)t->itemsize, file) != (size_t)t->itemsize
                || memcmp(bytes, expected, (size_t)t->itemsize) != 0) {
                FAIL("%s: wrong element", path);
            }
        } while (next_position(t->ndim, t->to_order, lo, hi, at));
    }
    if (fgetc(file) != EOF) {
        FAIL("%s is too long", path);
    }
    fclose(file);
}

static void check_target(const trial *t)
{
    int64_t index[RS_MAX_NDIM] = {0};
    do {
        check_target_block(t, index);
    } while (next_block(t->ndim, t->to, index));
}

static void remove_folder(const char *folder)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) {
        FAIL("cannot remove %s", folder);
    }
}

/* ---- Plans --------------------------------------------------------------------------------- */

/* A plan that no strategy would propose. Random uneven cuts are put where the plan keeps its own. */
static void plan_by_hand(const rs_problem *problem, rs_plan *plan)
{
    rs_request request = {.memory = INT64_MAX};
    resplit_error err;
    if (rs_plan_init(problem, "by hand", &request, plan, &err) != RESPLIT_OK) {
        FAIL("%s", err.message);
    }
    bool irregular = false;
    for (int d = 0; d < problem->ndim; d++) {
        int64_t extent = problem->shape[d];
        if (chance(50)) {
            rs_plan_cut_even(plan, d, random_in(1, rs_max(1, extent)));
        } else {
            grid_axis axis;
            random_axis(extent, &axis);
            free(plan->cuts[d]);
            plan->cuts[d] = malloc((size_t)(axis.n + 1) * sizeof *plan->cuts[d]);
            memcpy(plan->cuts[d], axis.cuts, (size_t)(axis.n + 1) * sizeof *plan->cuts[d]);
            plan->buffer[d] = rs_axis_uneven(plan->cuts[d], axis.n);
        }
        irregular = irregular || plan->buffer[d].step == 0;
        int j = (int)random_in(0, d); /* loops in random order */
        plan->loop[d] = plan->loop[j];
        plan->loop[j] = d;
    }
    uint32_t all = (1U << problem->ndim) - 1;
    plan->kept = problem->target.atomic ? all : (uint32_t)random_bits() & all;
    (void)rs_plan_predict(problem, plan);
    /* The least budget that this plan can have, in pieces if that is less than whole units. */
    for (int i = 0; i < 3; i++) {
        plan->memory = 1;
        (void)rs_plan_fits(problem, plan);
        plan->memory = plan->predicted.peak_bytes;
    }
    if (!rs_plan_predict(problem, plan)) {
        FAIL("the memory that a plan says it needs (%" PRId64 ") does not do", plan->memory);
    }
    covered[COVER_BY_HAND]++;
    covered[COVER_IRREGULAR_BUFFER] += irregular;
}

/* Was the buffer stretched beyond the fewest source blocks that cover a target block? */
static bool is_beyond(const rs_problem *problem, const rs_plan *plan)
{
    for (int d = 0; d < problem->ndim; d++) {
        const rs_axis *source = &problem->source.axis[d];
        int64_t need = rs_axis_longest(&problem->target.axis[d]), most = 0;
        for (int64_t i = 0; i < plan->buffer[d].n; i++) {
            rs_span span = rs_axis_span(&plan->buffer[d], i);
            int64_t last = rs_axis_find(source, span.hi - 1);
            if (last > 0 && rs_axis_cut(source, last) - span.lo >= need) {
                most = 1; /* would cover without its last source block */
            }
        }
        if (most > 0) {
            return true;
        }
    }
    return false;
}

/* A strategy at a random budget between the least it needs and plenty. False: it does not apply. */
static bool plan_by_strategy(const rs_problem *problem, const char *strategy, int cover, rs_plan *plan)
{
    resplit_error err;
    rs_request request = {.strategy = strategy, .memory = 1};
    resplit_status rc = rs_plan_make(problem, &request, plan, &err);
    if (rc == RESPLIT_EUNSUPPORTED) {
        return false;
    }
    if (rc != RESPLIT_EBUDGET) {
        FAIL("%s fits one byte, or fails: %s", strategy, err.message);
    }
    int64_t least = err.needed_bytes;
    /* With blocks that must be written whole, best knows a number that works, not always the least. */
    bool exact = !problem->target.atomic || (cover != COVER_BEST && cover != COVER_AUTO);
    request.memory = least - 1;
    if (exact && (rs_plan_make(problem, &request, plan, &err) != RESPLIT_EBUDGET || err.needed_bytes != least)) {
        FAIL("%s: one byte less than %" PRId64 " is not refused, or with another number", strategy, least);
    }
    int64_t data = problem->n_elements * problem->itemsize;
    request.memory = chance(10) ? least : least + random_in(0, 2 * data + 1000 * problem->n_target);
    if (rs_plan_make(problem, &request, plan, &err) != RESPLIT_OK) {
        FAIL("%s: %s", strategy, err.message);
    }
    covered[cover]++;
    covered[COVER_BEYOND] += cover == COVER_KEEP && is_beyond(problem, plan);
    return true;
}

/* ---- A run --------------------------------------------------------------------------------- */

static void check_run(const trial *t, const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                      const resplit_array *target)
{
    resplit_error err;
    resplit_result result;
    const resplit_cost *predicted = &plan->predicted;
    static const char *const ios[] = {NULL, "threads", "uring"}, *const directs[] = {NULL, "off", "auto"};
    resplit_run_options options = {
        .io = ios[random_in(0, 2)], .direct = directs[random_in(0, 2)], .threads = (int)random_in(0, 8)};
    if (plan_check(problem, plan, &err) != RESPLIT_OK) {
        FAIL("%s: %s", plan->strategy, err.message);
    }
    if (rs_run_copy(problem, plan, source, target, NULL, NULL, NULL, &options, &result, &err) != RESPLIT_OK) {
        FAIL("%s: %s", plan->strategy, err.message);
    }
    resplit_cost actual = result.cost;
    if (actual.read_seeks != predicted->read_seeks || actual.write_seeks != predicted->write_seeks
        || actual.bytes_read != predicted->bytes_read || actual.bytes_written != predicted->bytes_written
        || actual.held_bytes != predicted->held_bytes || actual.temp_bytes != predicted->temp_bytes) {
        FAIL("%s: predicted and counted differ: reads %" PRId64 " %" PRId64 ", writes %" PRId64 " %" PRId64
             ", read %" PRId64 " %" PRId64 ", written %" PRId64 " %" PRId64 ", held %" PRId64 " %" PRId64,
             plan->strategy, predicted->read_seeks, actual.read_seeks, predicted->write_seeks, actual.write_seeks,
             predicted->bytes_read, actual.bytes_read, predicted->bytes_written, actual.bytes_written,
             predicted->held_bytes, actual.held_bytes);
    }
    if (actual.peak_bytes > predicted->peak_bytes || predicted->peak_bytes > plan->memory) {
        FAIL("%s: allocated %" PRId64 ", predicted %" PRId64 ", budget %" PRId64, plan->strategy, actual.peak_bytes,
             predicted->peak_bytes, plan->memory);
    }
    check_target(t);
    remove_folder(t->target);
    covered[COVER_PIECES] += plan->kind == RS_PLAN_BUFFERS && !plan->whole_units;
    covered[COVER_RESIDENT] += plan->kind == RS_PLAN_SPILL && plan->spill.resident > 0 && plan->spill.n_groups > 0;
    if (t->ndim == 3 && plan->kind == RS_PLAN_BUFFERS) {
        covered[COVER_KEPT_3D + plan->kept]++;
    }
}

static void run_trial(const char *folder)
{
    static const struct {
        const char *name;
        int cover;
    } strategies[] = {{"copy", COVER_COPY},   {"best", COVER_BEST},         {"spill", COVER_SPILL},
                      {"keep", COVER_KEEP},   {"multiple", COVER_MULTIPLE}, {"clustered", COVER_CLUSTERED},
                      {"naive", COVER_NAIVE}, {"auto", COVER_AUTO},         {NULL, 0}};
    static trial t;
    memset(&t, 0, sizeof t);
    random_trial(&t, folder);
    const char *dtype = NULL;
    for (size_t i = 0; i < sizeof itemsizes / sizeof itemsizes[0]; i++) {
        dtype = itemsizes[i] == t.itemsize ? dtypes[i] : dtype;
    }
    write_source(&t, dtype);

    resplit_error err;
    resplit_array *source, *target;
    if (rs_array_open(t.source, NULL, &source, &err) != RESPLIT_OK) {
        FAIL("%s", err.message);
    }
    resplit_chunks chunks[RS_MAX_NDIM];
    int64_t lengths[RS_MAX_NDIM][512];
    for (int d = 0; d < t.ndim; d++) {
        for (int64_t i = 0; i < t.to[d].n; i++) {
            lengths[d][i] = t.to[d].cuts[i + 1] - t.to[d].cuts[i];
        }
        chunks[d] = (resplit_chunks){.count = t.to[d].n, .lengths = lengths[d]};
    }
    resplit_target wanted = {.format = t.to_npy ? "npy" : "raw",
                             .ndim = t.ndim,
                             .chunks = chunks,
                             .roi_start = t.roi_lo,
                             .roi_stop = t.roi_hi};
    if (rs_array_create(t.target, source, &wanted, &target, &err) != RESPLIT_OK) {
        FAIL("%s", err.message);
    }
    target->order = t.to_order; /* a conversion that the public interface does not offer yet */
    target->info.order = t.to_order;
    rs_order_set(t.ndim, t.to_order, target->layout.order);
    source->layout.atomic = chance(15);
    target->layout.atomic = chance(15);
    covered[COVER_ATOMIC_SOURCE] += source->layout.atomic;
    covered[COVER_ATOMIC_TARGET] += target->layout.atomic;
    rs_problem problem;
    if (rs_problem_make(&source->layout, &target->layout, target->origin, NULL, &problem, &err) != RESPLIT_OK) {
        FAIL("%s", err.message);
    }
    for (int d = 0; d < t.ndim; d++) {
        if (source->layout.axis[d].step == 0 || target->layout.axis[d].step == 0) {
            covered[COVER_IRREGULAR_GRID]++;
            break;
        }
    }
    covered[COVER_C_TO_F] += t.ndim > 1 && t.from_order == 'C' && t.to_order == 'F';
    covered[COVER_F_TO_C] += t.ndim > 1 && t.from_order == 'F' && t.to_order == 'C';
    rs_plan plan;
    for (int i = 0; strategies[i].name != NULL; i++) {
        if (plan_by_strategy(&problem, strategies[i].name, strategies[i].cover, &plan)) {
            check_run(&t, &problem, &plan, source, target);
            rs_plan_release(&plan);
        }
    }
    plan_by_hand(&problem, &plan);
    check_run(&t, &problem, &plan, source, target);
    rs_plan_release(&plan);
    rs_problem_release(&problem);
    rs_array_close(target);
    rs_array_close(source);
    remove_folder(t.source);
}

int main(void)
{
    const char *given = getenv("RESPLIT_SEED"), *count = getenv("RESPLIT_ITERS");
    int iterations = count != NULL ? (int)strtol(count, NULL, 10) : 3000;
    char folder[] = "/dev/shm/prop_resplit.XXXXXX", fallback[] = "/tmp/prop_resplit.XXXXXX";
    const char *root = mkdtemp(folder) != NULL ? folder : mkdtemp(fallback);
    seed = given != NULL ? strtoull(given, NULL, 10) : 20261115;
    state = seed;
    printf("seed %" PRIu64 ", %d problems\n", seed, iterations);
    for (iteration = 0; iteration < iterations; iteration++) {
        run_trial(root);
    }
    remove_folder(root);
    bool missing = false;
    for (int i = 0; i < N_COVER; i++) {
        char name[128];
        name_of_cover(i, name, sizeof name);
        bool short_of = iterations >= 3000 && covered[i] < least_cover(i);
        printf("%7d  %s%s\n", covered[i], name, short_of ? "   TOO FEW" : "");
        missing = missing || short_of;
    }
    printf("%d passed, %d failed\n", iterations, missing ? 1 : 0);
    return missing ? 1 : 0;
}
