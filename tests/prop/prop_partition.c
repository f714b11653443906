/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prop_partition.c - random problems divided into partitions, against a walk over every element: partitions cover the
 * target once, begin and end at borders of files, read what they say they read, have about equal shares, and their
 * fingerprints add up. The plan of each is proved by support/plan_check.c.
 */
#include "geometry/fingerprint.h"
#include "support/plan_check.h"
#include "plan/partition.h"
#include "support/problems.h"

#include <inttypes.h>
#include <string.h>

static uint64_t state;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

#define CHECK(what, ...)                                                                                               \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf(__VA_ARGS__);                                                                                       \
            printf("  (" #what ")\n");                                                                                 \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

enum { MOST_CUTS = 64 };

typedef struct trial {
    int64_t cuts[2][RS_MAX_NDIM][MOST_CUTS + 1]; /* of uneven axes */
    int64_t origin[RS_MAX_NDIM];
    rs_layout source, target;
    rs_problem problem;
    rs_division division;
} trial;

static rs_axis random_axis(int64_t extent, int64_t *cuts, bool may_reach_out)
{
    if (random_in(0, 2) > 0) {
        rs_axis axis = rs_axis_even(extent, random_in(1, rs_max(1, extent / 2)));
        if (may_reach_out && extent > 0 && random_in(0, 1)) { /* as chunks of Zarr do */
            axis.last = axis.n * axis.step;
        }
        return axis;
    }
    int64_t n = 0;
    for (cuts[0] = 0; cuts[n] < extent && n < MOST_CUTS - 1; n++) {
        cuts[n + 1] = rs_min(extent, cuts[n] + random_in(1, rs_max(1, extent / 3)));
    }
    if (cuts[n] < extent) {
        cuts[++n] = extent;
    }
    return n == 0 ? rs_axis_even(extent, 1) : rs_axis_uneven(cuts, n);
}

static void random_trial(trial *t)
{
    int ndim = (int)random_in(1, 3);
    t->source = (rs_layout){.ndim = ndim, .itemsize = random_in(1, 8), .atomic = random_in(0, 1)};
    t->target = (rs_layout){.ndim = ndim, .itemsize = t->source.itemsize, .atomic = random_in(0, 1)};
    for (int d = 0; d < ndim; d++) {
        int64_t extent = random_in(1, ndim == 1 ? 600 : ndim == 2 ? 60 : 24);
        int64_t lo = random_in(0, 2) ? 0 : random_in(0, extent - 1), hi = lo > 0 ? random_in(lo + 1, extent) : extent;
        t->origin[d] = lo;
        t->source.axis[d] = random_axis(extent, t->cuts[0][d], false);
        t->target.axis[d] = random_axis(hi - lo, t->cuts[1][d], true);
    }
    bool one = random_in(0, 3) == 0; /* file, that is shared */
    for (int d = 0; one && d < ndim; d++) {
        t->target.axis[d] = rs_axis_even(t->target.axis[d].extent, t->target.axis[d].extent);
        t->target.atomic = false;
    }
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', t->source.order);
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', t->target.order);
    if (rs_problem_make(&t->source, &t->target, t->origin, NULL, &t->problem, NULL) != RESPLIT_OK) {
        abort();
    }
    t->division = (rs_division){.problem = &t->problem, .n = random_in(1, random_in(0, 1) ? 8 : 50)};
    for (int d = 0; d < ndim; d++) {
        const rs_axis *axis = &t->problem.target.axis[d];
        t->division.grain[d] =
            axis->step > 0 ? rs_axis_even(axis->extent, axis->step * random_in(1, 3)) : *axis; /* shards */
    }
    if (one) {
        int d = t->target.order[0];
        t->division.grain[d] = rs_axis_even(t->problem.shape[d], 1);
    }
}

static int64_t element_number(const rs_problem *problem, const int64_t *at)
{
    int64_t number = 0;
    for (int d = 0; d < problem->ndim; d++) {
        number = number * problem->shape[d] + at[d];
    }
    return number;
}

/* Blocks that meet the box, one by one, and the bytes in them that are read. */
static void count_blocks(const rs_layout *layout, const rs_box *box, int64_t *n, int64_t *bytes)
{
    int64_t zero[RS_MAX_NDIM] = {0}, end[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM] = {0};
    *n = *bytes = 0;
    for (int d = 0; d < layout->ndim; d++) {
        end[d] = layout->axis[d].n;
    }
    do {
        rs_box block = rs_layout_box(layout, index), common, stored = rs_layout_stored(layout, index);
        if (rs_box_intersect(layout->ndim, &block, box, &common)) {
            ++*n;
            *bytes += rs_box_volume(layout->ndim, layout->atomic ? &stored : &common) * layout->itemsize;
        }
    } while (rs_index_next(layout->ndim, zero, end, index));
}

static bool is_border(const rs_axis *axis, int64_t x)
{
    bool found = x == 0 || x == axis->extent;
    for (int64_t i = 0; i < axis->n; i++) {
        found = found || rs_axis_cut(axis, i) == x;
    }
    return found;
}

static uint64_t sum_of(const rs_problem *problem, const rs_box *box, const char *data)
{
    rs_fingerprint weights;
    rs_box all = {.lo = {0}}, mine = all;
    for (int d = 0; d < problem->ndim; d++) {
        all.hi[d] = problem->shape[d];
        mine.hi[d] = box->hi[d] - box->lo[d];
    }
    char *base = (char *)(uintptr_t)data;
    rs_view view = rs_view_of(problem->ndim, problem->target.order, &all, problem->itemsize, base);
    for (int d = 0; d < problem->ndim; d++) {
        view.base += box->lo[d] * view.strides[d];
        view.box.hi[d] = mine.hi[d];
    }
    rs_fingerprint_init(&weights, problem->itemsize, 0, false, 0, problem->ndim - 1);
    memcpy(weights.start, box->lo, sizeof weights.start);
    return rs_fingerprint_box(&weights, problem->ndim, &mine, &view);
}

/* By every strategy that applies, with much memory or little. */
static bool check_plans(const rs_problem *problem)
{
    for (int s = -1; s < 0 || rs_strategy_at(s) != NULL; s++) {
        rs_plan plan;
        resplit_error err = {.code = RESPLIT_OK};
        rs_request request = {.strategy = s < 0 ? NULL : rs_strategy_at(s)->name,
                              .memory = random_in(0, 1) ? 1 << 30 : 60000 + random_in(0, 10000)};
        resplit_status rc = rs_plan_make(problem, &request, &plan, &err);
        CHECK(rc == RESPLIT_OK || rc == RESPLIT_EBUDGET || rc == RESPLIT_EUNSUPPORTED, "%s", err.message);
        CHECK(s >= 0 || request.memory < 1 << 30 || rc == RESPLIT_OK, "%s", err.message);
        if (rc == RESPLIT_OK) {
            CHECK(plan_check(problem, &plan, &err) == RESPLIT_OK, "%s: %s", plan.strategy, err.message);
            rs_plan_release(&plan);
        }
    }
    return true;
}

/* The problem of the partition is what the partition says it is, and can be planned. */
static bool check_problem(const trial *t, const rs_share *share)
{
    rs_problem problem;
    resplit_error err = {.code = RESPLIT_OK};
    CHECK(rs_problem_make(&t->source, &t->target, t->origin, &share->box, &problem, &err) == RESPLIT_OK, "%s",
          err.message);
    CHECK(problem.n_source == share->n_source, "%" PRId64 " source blocks", problem.n_source);
    CHECK(problem.n_target == share->n_target, "%" PRId64 " target blocks", problem.n_target);
    for (int d = 0; d < problem.ndim; d++) {
        CHECK(rs_axis_find(&t->problem.target.axis[d], share->box.lo[d]) == problem.target_index[d], "axis %d", d);
        CHECK(problem.source_index[d] >= t->problem.source_index[d], "axis %d", d);
    }
    bool planned = check_plans(&problem);
    rs_problem_release(&problem);
    return planned;
}

static bool check_share(const trial *t, const rs_share *share, int64_t i, unsigned char *seen)
{
    const rs_problem *problem = &t->problem;
    int64_t n, bytes, at[RS_MAX_NDIM];
    count_blocks(&problem->target, &share->box, &n, &bytes);
    CHECK(n == share->n_target, "partition %" PRId64 ": %" PRId64 " target blocks, not %" PRId64, i, n,
          share->n_target);
    count_blocks(&problem->source, &share->box, &n, &bytes);
    CHECK(n == share->n_source, "partition %" PRId64 ": %" PRId64 " source blocks, not %" PRId64, i, n,
          share->n_source);
    CHECK(bytes == share->source_bytes, "partition %" PRId64 ": %" PRId64 " bytes, not %" PRId64, i, bytes,
          share->source_bytes);
    CHECK(share->bytes == rs_box_volume(problem->ndim, &share->box) * problem->itemsize, "its bytes");
    for (int d = 0; d < problem->ndim; d++) {
        CHECK(is_border(&t->division.grain[d], share->box.lo[d]) && is_border(&t->division.grain[d], share->box.hi[d]),
              "partition %" PRId64 " does not end between files", i);
    }
    memcpy(at, share->box.lo, sizeof at);
    do {
        CHECK(seen[element_number(problem, at)]++ == 0, "partition %" PRId64 " has an element of another", i);
    } while (rs_index_next(problem->ndim, share->box.lo, share->box.hi, at));
    return check_problem(t, share);
}

static bool check_trial(const trial *t)
{
    const rs_problem *problem = &t->problem;
    int64_t n_files = 1, n_full = 0;
    uint64_t sum = 0;
    unsigned char *seen = calloc((size_t)problem->n_elements, 1);
    char *data = calloc((size_t)problem->n_elements, (size_t)problem->itemsize);
    rs_box all = {.lo = {0}};
    for (int64_t i = 0; i < problem->n_elements * problem->itemsize; i++) {
        data[i] = (char)random_in(0, 255);
    }
    for (int d = 0; d < problem->ndim; d++) {
        n_files *= t->division.grain[d].n;
        all.hi[d] = problem->shape[d];
    }
    for (int64_t i = 0; i < t->division.n; i++) {
        rs_share share = rs_partition_find(&t->division, i);
        if (share.n_target == 0) {
            CHECK(share.bytes == 0 && share.n_source == 0, "an empty partition has something to do");
            continue;
        }
        if (!check_share(t, &share, i, seen)) {
            return false;
        }
        n_full++;
        sum = rs_fingerprint_add(sum, sum_of(problem, &share.box, data));
    }
    for (int64_t i = 0; i < problem->n_elements; i++) {
        CHECK(seen[i] == 1, "element %" PRId64 " is in no partition", i);
    }
    CHECK(n_full == rs_min(t->division.n, n_files), "%" PRId64 " of %" PRId64 " partitions for %" PRId64 " files",
          n_full, t->division.n, n_files);
    CHECK(sum == sum_of(problem, &all, data), "fingerprints do not add up");
    free(seen);
    free(data);
    return true;
}

/* Where files are small enough, shares are equal but for a few per cent. */
static bool check_balance(void)
{
    int64_t shape[2] = {random_in(300, 3000), random_in(300, 3000)}, from[2], to[2], most = 0, least = INT64_MAX;
    for (int d = 0; d < 2; d++) {
        from[d] = random_in(1, 200);
        to[d] = random_in(1, 6);
    }
    rs_problem problem = even_problem(2, shape, from, to, 1);
    problem.source.atomic = random_in(0, 1);
    rs_division division = {.problem = &problem, .n = random_in(2, 24)};
    memcpy(division.grain, problem.target.axis, sizeof division.grain);
    for (int64_t i = 0; i < division.n; i++) {
        rs_share share = rs_partition_find(&division, i);
        most = rs_max(most, share.bytes);
        least = rs_min(least, share.bytes);
    }
    double ideal = (double)problem.n_elements / (double)division.n;
    rs_problem_release(&problem);
    CHECK((double)most <= 1.10 * ideal && (double)least >= 0.6 * ideal,
          "%" PRId64 " partitions of %" PRId64 ",%" PRId64 ": shares from %.3f to %.3f", division.n, shape[0], shape[1],
          (double)least / ideal, (double)most / ideal);
    return true;
}

/* Bytes that all partitions of evenly cut arrays read, without those that one alone would read. */
static int64_t read_twice(int ndim, const int64_t *shape, const int64_t *from, const int64_t *to, int64_t n)
{
    rs_problem problem = even_problem(ndim, shape, from, to, 1);
    problem.source.atomic = true;
    rs_division division = {.problem = &problem, .n = n};
    memcpy(division.grain, problem.target.axis, sizeof division.grain);
    int64_t read = -rs_partition_whole(&division).source_bytes;
    for (int64_t i = 0; i < n; i++) {
        read += rs_partition_find(&division, i).source_bytes;
    }
    rs_problem_release(&problem);
    return read;
}

/* Of source blocks that can only be read whole none is read twice, where a border of both sides is not far. */
static bool check_clean(void)
{
    int64_t a = random_in(1, 12), b = random_in(1, 12), length = random_in(3000, 9000);
    int64_t twice = read_twice(1, &length, &a, &b, 2); /* 132 and less is within five per cent */
    CHECK(twice == 0, "%" PRId64 " of %" PRId64 ", %" PRId64 " to %" PRId64, twice, length, a, b);
    int64_t k = random_in(1, 4), shape[3] = {240 * k, 240, 240}, from[3] = {40, 40, 40}, to[3] = {30, 30, 30};
    twice = read_twice(3, shape, from, to, 2 * k);
    CHECK(twice == 0, "%" PRId64 " bytes of cubes", twice);
    return true;
}

/* One file in C order is cut along its slowest axis, which costs no seeks. */
static bool check_seeks(void)
{
    int64_t shape[3] = {4000, random_in(10, 4000), random_in(10, 4000)}, to[3] = {1, random_in(1, 9), random_in(1, 9)};
    rs_problem problem = even_problem(3, shape, shape, to, 1);
    rs_division division = {.problem = &problem, .n = random_in(2, 40)};
    memcpy(division.grain, problem.target.axis, sizeof division.grain);
    rs_share share = rs_partition_find(&division, random_in(0, division.n - 1));
    bool slab =
        share.box.lo[1] == 0 && share.box.lo[2] == 0 && share.box.hi[1] == shape[1] && share.box.hi[2] == shape[2];
    rs_problem_release(&problem);
    CHECK(slab, "%" PRId64 " partitions of %" PRId64 ",%" PRId64 ",%" PRId64, division.n, shape[0], shape[1], shape[2]);
    return true;
}

int main(void)
{
    const char *given = getenv("RESPLIT_SEED"), *count = getenv("RESPLIT_ITERS");
    int iterations = count != NULL ? (int)strtol(count, NULL, 10) : 600;
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 20261115;
    state = seed;
    printf("seed %" PRIu64 ", %d problems\n", seed, iterations);
    for (int i = 0; i < iterations; i++) {
        static trial t;
        random_trial(&t);
        if (!check_trial(&t) || !check_balance() || !check_clean() || !check_seeks()) {
            printf("problem %d\n%d passed, 1 failed\n", i, i);
            return 1;
        }
        rs_problem_release(&t.problem);
    }
    printf("%d passed, 0 failed\n", iterations);
    return 0;
}
