/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prop_series.c - maps to series, blocks atomic on both sides: the case that costs the usual tools six to ten thousand
 * times the array. Planned at full size (8760 x 721 x 1440 at 1 GiB), and run on a tenth of it in each of time, and
 * half of it in space, with the same ratio of array to memory: 876 x 360 x 720 at 28 MiB.
 *
 *     RESPLIT_SERIES=10 prop_series        a tenth of the length of the run, when there is no room for 2 GB
 */
#include "support/plan_check.h"
#include "engine/run.h"
#include "support/problems.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ROWS = 360, COLUMNS = 720, TILE = 10 };

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputs("\n0 passed, 1 failed\n", stderr);                                                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static uint32_t value_at(int64_t t, int64_t y, int64_t x)
{
    return (uint32_t)(t * 2654435761 + y * 40503 + x * 69069 + 12345);
}

static double ratio_of(const resplit_cost *cost, const rs_problem *problem)
{
    return (double)(cost->bytes_read + cost->bytes_written) / (double)(problem->n_elements * problem->itemsize);
}

static void plan_full_size(void)
{
    static const int64_t shape[] = {8760, 721, 1440}, from[] = {1, 721, 1440}, to[] = {8760, 10, 10};
    rs_problem problem = even_problem(3, shape, from, to, 4);
    problem.source.atomic = problem.target.atomic = true;
    rs_plan plan;
    resplit_error err;
    rs_request request = {.memory = 1LL << 30};
    CHECK(rs_plan_make(&problem, &request, &plan, &err) == RESPLIT_OK, "%s", err.message);
    double ratio = ratio_of(&plan.predicted, &problem);
    printf("8760 x 721 x 1440 at 1 GiB: %s moves %.3f x the array, %" PRId64 " seeks, %.1f GiB temporary\n",
           plan.strategy, ratio, total_seeks(&plan.predicted), (double)plan.predicted.temp_bytes / (1LL << 30));
    CHECK(ratio <= 4.0, "more than 4 times the array is moved");
    CHECK(plan_check(&problem, &plan, &err) == RESPLIT_OK, "%s", err.message);
    rs_plan_release(&plan);
    rs_problem_release(&problem);
}

static void write_maps(const char *folder, int64_t n)
{
    static uint32_t map[ROWS * COLUMNS];
    CHECK(mkdir(folder, 0777) == 0, "cannot make %s", folder);
    for (int64_t t = 0; t < n; t++) {
        char path[512];
        for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
            map[i] = value_at(t, i / COLUMNS, i % COLUMNS);
        }
        snprintf(path, sizeof path, "%s/%" PRId64 "_0_0.raw", folder, t);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fwrite(map, sizeof map, 1, file) == 1, "cannot write %s", path);
        fclose(file);
    }
}

static void check_series(const char *folder, int64_t n)
{
    uint32_t *series = malloc((size_t)n * TILE * TILE * sizeof *series);
    for (int64_t i = 0; i < ROWS / TILE; i++) {
        for (int64_t j = 0; j < COLUMNS / TILE; j++) {
            char path[512];
            snprintf(path, sizeof path, "%s/0_%" PRId64 "_%" PRId64 ".raw", folder, i, j);
            FILE *file = fopen(path, "r");
            size_t items = (size_t)n * TILE * TILE;
            CHECK(file != NULL && fread(series, sizeof *series, items, file) == items && fgetc(file) == EOF,
                  "%s is not what it should be", path);
            fclose(file);
            for (int64_t k = 0; k < (int64_t)items; k++) {
                int64_t t = k / (TILE * TILE), y = i * TILE + k / TILE % TILE, x = j * TILE + k % TILE;
                CHECK(series[k] == value_at(t, y, x), "%s: element %" PRId64 " is wrong", path, k);
            }
        }
    }
    free(series);
}

static void check_counts(const rs_plan *plan, const resplit_cost *actual)
{
    const resplit_cost *p = &plan->predicted;
    CHECK(actual->read_seeks == p->read_seeks && actual->write_seeks == p->write_seeks,
          "seeks: %" PRId64 " %" PRId64 " predicted, %" PRId64 " %" PRId64 " counted", p->read_seeks, p->write_seeks,
          actual->read_seeks, actual->write_seeks);
    CHECK(actual->bytes_read == p->bytes_read && actual->bytes_written == p->bytes_written, "bytes differ");
    CHECK(actual->temp_bytes == p->temp_bytes, "temporary bytes differ");
    CHECK(actual->held_bytes == p->held_bytes, "held bytes differ");
    CHECK(actual->peak_bytes <= p->peak_bytes && p->peak_bytes <= plan->memory, "memory is not held");
}

static void run_tenth(const char *root, int64_t n, int64_t memory)
{
    char source_path[256], target_path[256];
    int64_t shape[] = {n, ROWS, COLUMNS};
    resplit_chunks maps[] = {{.length = 1}, {.length = -1}, {.length = -1}};
    resplit_chunks series[] = {{.length = -1}, {.length = TILE}, {.length = TILE}};
    resplit_spec spec = {.dtype = "<u4", .ndim = 3, .shape = shape, .chunks = maps};
    resplit_target wanted = {.ndim = 3, .chunks = series};
    resplit_array *source, *target;
    resplit_error err;
    snprintf(source_path, sizeof source_path, "%s/maps", root);
    snprintf(target_path, sizeof target_path, "%s/series", root);
    write_maps(source_path, n);
    CHECK(rs_array_open(source_path, &spec, &source, &err) == RESPLIT_OK, "%s", err.message);
    CHECK(rs_array_create(target_path, source, &wanted, &target, &err) == RESPLIT_OK, "%s", err.message);
    source->layout.atomic = target->layout.atomic = true;
    rs_problem problem;
    rs_plan plan;
    resplit_result result;
    rs_request request = {.memory = memory};
    CHECK(rs_problem_make(&source->layout, &target->layout, target->origin, NULL, &problem, &err) == RESPLIT_OK, "%s",
          err.message);
    CHECK(rs_plan_make(&problem, &request, &plan, &err) == RESPLIT_OK, "%s", err.message);
    CHECK(rs_run_copy(&problem, &plan, source, target, NULL, NULL, NULL, NULL, &result, &err) == RESPLIT_OK, "%s",
          err.message);
    resplit_cost actual = result.cost;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRId64 " x %d x %d at %" PRId64 " MiB: %s moved %.3f x the array, %" PRId64
           " seeks, %.0f MiB temporary, "
           "%ld MiB resident\n",
           n, ROWS, COLUMNS, memory >> 20, plan.strategy, ratio_of(&actual, &problem), total_seeks(&actual),
           (double)actual.temp_bytes / (1 << 20), usage.ru_maxrss / 1024);
    check_counts(&plan, &actual);
    CHECK(ratio_of(&actual, &problem) <= 4.0, "more than 4 times the array was moved");
    if (getenv("RESPLIT_SANITIZED") == NULL) {
        CHECK(usage.ru_maxrss * 1024 <= memory + (16 << 20), "%ld KiB resident", usage.ru_maxrss);
    }
    check_series(target_path, n);
    rs_plan_release(&plan);
    rs_problem_release(&problem);
    rs_array_close(target);
    rs_array_close(source);
}

int main(void)
{
    char in_memory[] = "/dev/shm/prop_series.XXXXXX", on_disk[] = "/tmp/prop_series.XXXXXX", command[300];
    struct statvfs fs;
    bool room = statvfs("/dev/shm", &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize > 4e9;
    const char *part = getenv("RESPLIT_SERIES");
    int64_t share = part != NULL ? strtoll(part, NULL, 10) : 1;
    const char *root = mkdtemp(room ? in_memory : on_disk);
    CHECK(root != NULL, "cannot make a temporary folder");
    plan_full_size();
    run_tenth(root, 876 / share, (28LL << 20) / (share > 1 ? 4 : 1));
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK(system(command) == 0, "cannot remove %s", root);
    puts("2 passed, 0 failed");
    return 0;
}
