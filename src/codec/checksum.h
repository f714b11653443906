/* SPDX-License-Identifier: BSD-3-Clause */
/* checksum.h - CRC-32C. */
#ifndef RS_CODEC_CHECKSUM_H
#define RS_CODEC_CHECKSUM_H

#include "codec/stage.h"

uint32_t rs_crc32c(const uint8_t *bytes, int64_t n);

/* Of bytes that follow others, whose sum is `sum`; 0: none. */
uint32_t rs_crc32c_more(uint32_t sum, const uint8_t *bytes, int64_t n);

/* The same without the processor's instruction for it. */
uint32_t rs_crc32c_portable(const uint8_t *bytes, int64_t n);

#endif
