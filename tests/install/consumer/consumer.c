/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of somebody else: checks that header and library are of one version, and plans without files. */
#include <resplit.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char header_version[64];
    int64_t shape[3] = {700, 700, 700};
    resplit_chunks from[3] = {{175, 0, NULL}, {175, 0, NULL}, {175, 0, NULL}};
    resplit_chunks to[3] = {{140, 0, NULL}, {-1, 0, NULL}, {140, 0, NULL}};
    resplit_spec spec;
    resplit_target wanted;
    resplit_plan_options options;
    resplit_error err;
    resplit_array *source = NULL, *target = NULL;
    resplit_plan *plan = NULL;
    int failed = 1;

    snprintf(header_version, sizeof header_version, "%d.%d.%d", RESPLIT_VERSION_MAJOR, RESPLIT_VERSION_MINOR,
             RESPLIT_VERSION_PATCH);
    if (strcmp(header_version, resplit_version()) != 0) {
        fprintf(stderr, "header %s, library %s\n", header_version, resplit_version());
        return 1;
    }

    memset(&spec, 0, sizeof spec);
    spec.dtype = "uint16";
    spec.ndim = 3;
    spec.shape = shape;
    spec.chunks = from;
    memset(&wanted, 0, sizeof wanted);
    wanted.ndim = 3;
    wanted.chunks = to;
    memset(&options, 0, sizeof options);
    options.memory = (int64_t)64 << 20;

    if (resplit_array_describe(&spec, &source, &err) != RESPLIT_OK
        || resplit_array_create(NULL, source, &wanted, &target, &err) != RESPLIT_OK
        || resplit_plan_make(source, target, &options, &plan, &err) != RESPLIT_OK) {
        fprintf(stderr, "%s: %s\n", resplit_status_name(err.code), err.message);
    } else {
        const resplit_cost *cost = &resplit_plan_info(plan)->predicted;
        printf("resplit %s: %lld seeks in %lld bytes\n", resplit_version(),
               (long long)(cost->read_seeks + cost->write_seeks), (long long)cost->peak_bytes);
        failed = cost->bytes_written != (int64_t)700 * 700 * 700 * 2;
    }
    resplit_plan_free(plan);
    resplit_array_close(target);
    resplit_array_close(source);
    return failed;
}
