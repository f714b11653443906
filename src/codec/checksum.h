/* SPDX-License-Identifier: BSD-3-Clause */
/* checksum.h - CRC-32C, of all bytes at once. */
#ifndef RS_CODEC_CHECKSUM_H
#define RS_CODEC_CHECKSUM_H

#include "codec/stage.h"

uint32_t rs_crc32c(const uint8_t *bytes, int64_t n);

/* The same without the processor's instruction for it. */
uint32_t rs_crc32c_portable(const uint8_t *bytes, int64_t n);

#endif
