/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_npy.c - any bytes as a .npy file: the header is refused, or can be written and read again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static resplit_status parse(const void *bytes, size_t n, rs_head *head)
{
    resplit_error err;
    int fd = memfd_create("fuzz_npy", MFD_CLOEXEC);
    assert(fd >= 0);
    assert(n == 0 || write(fd, bytes, n) == (ssize_t)n);
    resplit_status rc = rs_format_by_name("npy")->parse_head(fd, (int64_t)n, "fuzz.npy", head, &err);
    close(fd);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_head head, again;
    rs_text text = {0};
    if (parse(data, size, &head) != RESPLIT_OK) {
        assert(head.dtype.descr == NULL);
        return 0;
    }
    assert(head.ndim >= 0 && head.ndim <= RS_MAX_NDIM && head.dtype.itemsize > 0);
    assert(head.data_offset <= (int64_t)size);
    head.data_offset = 0;
    if (rs_format_by_name("npy")->make_head(&head, &text, NULL) == RESPLIT_OK) {
        assert(text.n % 64 == 0);
        assert(parse(text.s, text.n, &again) == RESPLIT_OK);
        assert(strcmp(again.dtype.descr, head.dtype.descr) == 0);
        assert(again.order == head.order && again.ndim == head.ndim && again.data_offset == (int64_t)text.n);
        assert(memcmp(again.shape, head.shape, sizeof head.shape) == 0);
        rs_head_release(&again);
    }
    rs_text_release(&text);
    rs_head_release(&head);
    return 0;
}
