/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_parse.c - any text through every parser of the command line. The first byte chooses an extent for regions, the
 * rest is the text. Besides not crashing: a value that is accepted obeys its own rules, one that is refused has a
 * sentence.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_refusal(const resplit_error *err)
{
    size_t n = strnlen(err->message, sizeof err->message);

    require(err->code != RESPLIT_OK && n > 0 && n < sizeof err->message);
}

static void check_chunks(const char *text)
{
    struct cli_chunks chunks = {0};
    resplit_error err = {0};

    if (!cli_parse_chunks(text, &chunks, &err))
        check_refusal(&err);
    require(chunks.ndim >= 0 && chunks.ndim <= RESPLIT_MAX_NDIM);
    for (int d = 0; d < chunks.ndim; d++) {
        const resplit_chunks *axis = &chunks.axis[d];
        require(axis->count == 0 ? axis->length > 0 || axis->length == -1 : axis->count > 1);
        for (int64_t i = 0; i < axis->count; i++)
            require(axis->lengths[i] > 0);
    }
    cli_chunks_release(&chunks);
}

static void check_roi(const char *text, int64_t extent)
{
    struct cli_roi roi;
    resplit_error err = {0};
    int64_t shape[RESPLIT_MAX_NDIM], start[RESPLIT_MAX_NDIM], stop[RESPLIT_MAX_NDIM];

    if (!cli_parse_roi(text, &roi, &err)) {
        check_refusal(&err);
        return;
    }
    for (int d = 0; d < roi.ndim; d++)
        shape[d] = extent;
    if (!cli_roi_resolve(&roi, roi.ndim, shape, start, stop, &err)) {
        check_refusal(&err);
        return;
    }
    for (int d = 0; d < roi.ndim; d++)
        require(0 <= start[d] && start[d] <= stop[d] && stop[d] <= extent && (extent == 0 || start[d] < stop[d]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const NAMES[] = {"chunks", "memory", "strategy", "roi", NULL};
    resplit_error err = {0};
    struct cli_shape shape;
    int64_t bytes;

    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (cli_parse_size(text, &bytes, &err))
        require(bytes >= 0);
    else
        check_refusal(&err);
    if (!cli_parse_shape(text, &shape, &err))
        check_refusal(&err);
    for (int d = 0; d < shape.ndim; d++)
        require(shape.extent[d] >= 0);
    check_chunks(text);
    check_roi(text, data[0]);
    require(cli_distance(text, text) == 0);
    (void)cli_nearest(text, NAMES);
    (void)cli_is_choice(text, "raw|npy");
    free(text);
    return 0;
}
