/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shapes.h - which lengths of a target block are worth trying. Integers only: no arrays, no plans, no I/O.
 *
 *     --for series:0, 4 MiB -- cli_shape_ideal --> 8760 x 11 x 11 -- cli_shapes_near --> 8760 x 12 x 10, ...
 *                              what the reader wants                  what also fits the source's cuts, nearest first
 *
 * Cheap to make are blocks whose borders meet the source's: multiples and divisors of the source's lengths, and the
 * whole axis. What each costs is for a plan to say: advice.c.
 */
#ifndef RS_CLI_SHAPES_H
#define RS_CLI_SHAPES_H

#include "parse.h"

/* How a target will be read. */
struct cli_access {
    enum { CLI_ANY, CLI_SERIES, CLI_SLICES, CLI_CUBES } kind; /* CLI_ANY: not said; counts as cubes */
    int axis;
};

/* An array that is to be cut, and the cuts that it has. */
struct cli_cutting {
    int ndim;
    int64_t shape[RESPLIT_MAX_NDIM];
    int64_t source[RESPLIT_MAX_NDIM]; /* lengths of the source's blocks */
    int64_t itemsize;
    char order; /* 'C' or 'F' */
};

struct cli_lengths {
    int64_t length[RESPLIT_MAX_NDIM];
    double distance; /* from what was wanted: the sum of |log(length / wanted)| */
};

enum { CLI_MOST_SHAPES = 24 };

/* "series:0", "slices:2", "cubes". Whether there is such an axis is known later. */
bool cli_parse_access(const char *text, struct cli_access *out, resplit_error *err);

/* Lengths that suit the access best, in about `bytes`, wherever the source is cut. Every length is 1 or more. */
void cli_shape_ideal(const struct cli_cutting *cutting, const struct cli_access *access, int64_t bytes,
                     int64_t lengths[RESPLIT_MAX_NDIM]);

/*
 * The ideal shape, then shapes near it whose size is within a factor of two of `bytes` (or of the array, if that is
 * smaller), the most promising first: those that are near and meet the source's cuts. Axes that the ideal takes whole,
 * or one element of, stay so.
 */
int cli_shapes_near(const struct cli_cutting *cutting, const int64_t *ideal, int64_t bytes,
                    struct cli_lengths out[CLI_MOST_SHAPES]);

/*
 * Shapes that differ from `wanted` by at most a quarter along each axis, and fit the source's cuts where they differ:
 * first along one axis, then along several. `wanted` itself is not among them.
 */
int cli_shapes_neighbours(const struct cli_cutting *cutting, const int64_t *wanted,
                          struct cli_lengths out[CLI_MOST_SHAPES]);

#endif
