# SPDX-License-Identifier: BSD-3-Clause
"""Values of the benchmark's input: a wave along each axis and three bits of noise, whole numbers below 4096; as floats, those by 64, so
that the low bits of the mantissa are zero as in what was measured once as integers."""

import numpy as np

SLAB_BYTES = 128 << 20


def smooth(shape, box):
    """The sum of a wave along each axis."""
    total = np.zeros([b.stop - b.start for b in box], "f4")
    for d, (n, b) in enumerate(zip(shape, box)):
        wave = np.sin(np.arange(b.start, b.stop, dtype="f4") * np.float32(4 * np.pi * (d + 1) / n) + d)
        total += wave.reshape([-1 if i == d else 1 for i in range(len(shape))])
    total *= np.float32(2000 / len(shape))
    total += np.float32(2040)
    return total


def values(shape, box, dtype, rng):
    field = smooth(shape, box).astype("u2")
    noise = rng.integers(0, 2**64, (field.size + 7) // 8, "u8").view("u1")[:field.size].reshape(field.shape)
    field += noise & 7
    return field if dtype.kind == "u" else field.astype(dtype) / dtype.type(64)


def slab_of(shape, unit):
    """What is made at once, of whole units: floats in the making."""
    step, rest = list(unit), 4 * int(np.prod(shape))
    for d, (n, u) in enumerate(zip(shape, unit)):
        rest //= n
        step[d] = min(n, max(1, SLAB_BYTES // (rest * u)) * u)
        if rest * u <= SLAB_BYTES:
            step[d + 1:] = shape[d + 1:]
            break
    return step
