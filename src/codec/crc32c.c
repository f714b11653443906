/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.c - CRC-32C (Castagnoli): by the processor's instruction for it where there is one, else by tables.
 *
 * The instruction takes 8 bytes and has its result three cycles later, but one can begin in each cycle. So long pieces
 * are cut into three lanes that run side by side. A sum is a polynomial over GF(2): that of lane a followed by lane b
 * is a * x^(8 LANE) + b.
 */
#include <string.h>

#include "codec/checksum.h"

#define POLYNOMIAL 0x82f63b78u /* bit 31 is x^0 */
#define SHIFT_LANE 0x28461564u /* x^(8 LANE) modulo the polynomial */

enum { LANE = 8192, WORTH_TABLES = 16384 };

static uint32_t times_x(uint32_t a)
{
    return a >> 1 ^ (POLYNOMIAL & (0u - (a & 1)));
}

/* ---- By tables --------------------------------------------------------------------------------- */

static uint32_t by_bits(uint32_t crc, const uint8_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = times_x(crc);
        }
    }
    return crc;
}

/* The tables are made in each call, in a few microseconds: constants would be 2000 numbers here, and nothing
   may be kept. */
static uint32_t by_tables(uint32_t crc, const uint8_t *p, int64_t n)
{
    uint32_t table[8][256]; /* [k][b]: what byte b is worth when k bytes follow */
    for (int b = 0; b < 256; b++) {
        uint8_t byte = (uint8_t)b;
        table[0][b] = by_bits(0, &byte, 1);
    }
    for (int k = 1; k < 8; k++) {
        for (int b = 0; b < 256; b++) {
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
        }
    }
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = crc ^ rs_load32(p), high = rs_load32(p + 4);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24]
              ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^ table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    return by_bits(crc, p, n);
}

static uint32_t more_portable(uint32_t sum, const uint8_t *bytes, int64_t n)
{
    return ~(n >= WORTH_TABLES ? by_tables(~sum, bytes, n) : by_bits(~sum, bytes, n));
}

uint32_t rs_crc32c_portable(const uint8_t *bytes, int64_t n)
{
    return more_portable(0, bytes, n);
}

/* ---- By the instruction ------------------------------------------------------------------------ */

#if defined(__x86_64__)

#include <nmmintrin.h>

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 31; bit >= 0; bit--) {
        product ^= b & (0u - (a >> bit & 1));
        b = times_x(b);
    }
    return product;
}

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t start, const uint8_t *p, int64_t n)
{
    uint64_t a = start;
    for (; n >= 3 * LANE; p += 3 * LANE, n -= 3 * LANE) {
        uint64_t b = 0, c = 0;
        for (int i = 0; i < LANE; i += 8) {
            a = _mm_crc32_u64(a, load64(p + i));
            b = _mm_crc32_u64(b, load64(p + LANE + i));
            c = _mm_crc32_u64(c, load64(p + 2 * LANE + i));
        }
        a = multiply(multiply((uint32_t)a, SHIFT_LANE) ^ (uint32_t)b, SHIFT_LANE) ^ (uint32_t)c;
    }
    for (; n >= 8; p += 8, n -= 8) {
        a = _mm_crc32_u64(a, load64(p));
    }
    for (; n > 0; p++, n--) {
        a = _mm_crc32_u8((uint32_t)a, *p);
    }
    return (uint32_t)a;
}

uint32_t rs_crc32c_more(uint32_t sum, const uint8_t *bytes, int64_t n)
{
    return __builtin_cpu_supports("sse4.2") ? ~by_instruction(~sum, bytes, n) : more_portable(sum, bytes, n);
}

#else

uint32_t rs_crc32c_more(uint32_t sum, const uint8_t *bytes, int64_t n)
{
    return more_portable(sum, bytes, n);
}

#endif

uint32_t rs_crc32c(const uint8_t *bytes, int64_t n)
{
    return rs_crc32c_more(0, bytes, n);
}
