# SPDX-License-Identifier: BSD-3-Clause
"""Codecs against numcodecs: what one writes the other reads, and filters make the same bytes."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

numcodecs = pytest.importorskip("numcodecs")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("RESPLIT", ROOT / "build" / "release" / "resplit")).resolve().parent / "tests" / "test_codec"

INTEGERS = ["i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", ">i2", ">u4", ">i8"]
REALS = ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"]


class Refused(Exception):
    pass


class Coder:
    def __init__(self):
        if not PROGRAM.is_file():
            pytest.skip("no test_codec beside the command")
        self.process = subprocess.Popen([PROGRAM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, way, configs, dtype, n, data, version=2):
        text = json.dumps(configs).encode()
        order = "|" if dtype.itemsize == 1 else "<" if dtype.newbyteorder("<") == dtype else ">"
        head = f"{way} {version} {dtype.kind}{dtype.itemsize}{order} {n} {len(text)} {len(data)}\n"
        self.process.stdin.write(head.encode() + text + data)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().split(" ", 1)
        if answer[0] != "ok":
            raise Refused(answer[1].strip())
        return self.process.stdout.read(int(answer[1]))

    def encode(self, configs, array, version=2):
        data = array.tobytes()
        return self.ask("encode", configs, array.dtype, len(data), data, version)

    def decode(self, configs, dtype, n, data, version=2):
        return self.ask("decode", configs, np.dtype(dtype), n, bytes(data), version)


@pytest.fixture(scope="module")
def coder():
    one = Coder()
    yield one
    one.process.stdin.close()
    assert one.process.wait(timeout=30) == 0


def make(dtype, n, seed, wide=True):
    """Numbers of a type; wide: of its whole range."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if wide else (max(info.min, -100), 100)
        return rng.integers(low, high, n, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)
    if wide:
        return (rng.standard_normal(n) * 10.0 ** rng.integers(-4, 4, n)).astype(dtype)
    return np.round(rng.normal(0, 50, n), 3).astype(dtype)


def raw(buffer):
    return np.asarray(buffer).tobytes() if not isinstance(buffer, bytes) else buffer


COMPRESSORS = [
    *[numcodecs.Zstd(level=level) for level in (-5, 0, 1, 3, 12, 22, 100)],
    numcodecs.Zstd(level=3, checksum=True),
    *[numcodecs.Zlib(level) for level in (-1, 0, 1, 6, 9)],
    *[numcodecs.GZip(level) for level in (0, 1, 6, 9)],
    *[numcodecs.LZ4(a) for a in (-1, 0, 1, 50)],
    *[numcodecs.BZ2(level) for level in (1, 9)],
    numcodecs.LZMA(preset=1),
    numcodecs.LZMA(format=2, preset=0),
    numcodecs.LZMA(format=3, filters=[{"id": 3, "dist": 2}, {"id": 33, "preset": 1, "lc": 0, "lp": 1, "dict_size": 65536}]),
    numcodecs.LZMA(format=3, filters=[{"id": 33, "preset": 1}]),
    numcodecs.LZMA(format=3, filters=[{"id": 0x4000000000000001, "preset": 0}]),
    *[
        numcodecs.Blosc(cname, clevel, shuffle, blocksize)
        for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
        for clevel, shuffle, blocksize in ((1, 1, 0), (5, 2, 0), (9, 0, 0), (5, -1, 4096), (0, 1, 0))
    ],
    numcodecs.Shuffle(4),
    numcodecs.Shuffle(0),
    numcodecs.Fletcher32(),
    *[kind(location=place) for kind in (numcodecs.CRC32, numcodecs.CRC32C, numcodecs.Adler32) for place in ("start", "end")],
]

# The bytes are decided by the codec, not by the version of a library.
SAME_BYTES = ("bz2", "shuffle", "fletcher32", "crc32", "crc32c", "adler32")


@pytest.mark.parametrize("codec", COMPRESSORS, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "<u2", "<f4", "<f8", "S12"])
def test_one_writes_what_the_other_reads(coder, codec, dtype):
    for n in (1, 12, 1000, 60000):
        array = np.frombuffer(make("u1", n * 12, n).tobytes(), dtype) if dtype == "S12" else np.cumsum(make("i1", n * 4, n, False)).astype(dtype)
        theirs = raw(codec.encode(array))
        config = codec.get_config()
        if getattr(codec, "location", None):
            config["location"] = codec.location
        ours = coder.encode([config], array)
        assert coder.decode([config], dtype, array.nbytes, theirs) == array.tobytes()
        assert raw(codec.decode(ours)) == array.tobytes()
        if config["id"] in SAME_BYTES:
            assert ours == theirs
        name = {"crc32c": "numcodecs.crc32c"}.get(config["id"], "numcodecs." + config["id"])
        inner = {key: value for key, value in config.items() if key != "id"}
        three = [{"name": name, "configuration": inner}]
        assert coder.decode(three, dtype, array.nbytes, theirs, version=3) == array.tobytes()


def check_filter(coder, codec, array):
    """Encodes and decodes alike. Nothing is said about NaN's payload."""
    with np.errstate(all="ignore"):
        theirs = codec.encode(array)
        want = raw(theirs)
        ours = coder.encode([codec.get_config()], array)
        if ours != want:
            a, b = np.frombuffer(ours, theirs.dtype), np.frombuffer(want, theirs.dtype)
            bad = np.flatnonzero(~((a == b) | ((a != a) & (b != b))))[:5]
            assert len(bad) == 0, (codec, array[bad], a[bad], b[bad])
        back = np.frombuffer(raw(codec.decode(theirs)), array.dtype)
        mine = np.frombuffer(coder.decode([codec.get_config()], array.dtype, array.nbytes, want), array.dtype)
        bad = np.flatnonzero(~((back == mine) | ((back != back) & (mine != mine))))[:5]
        assert len(bad) == 0, (codec, theirs[bad], mine[bad], back[bad])


@pytest.mark.parametrize("dtype", ["b1", *INTEGERS, *REALS])
def test_delta(coder, dtype):
    for n in (1, 2, 511, 512, 513, 5000):
        check_filter(coder, numcodecs.Delta(dtype), make(dtype, n, n, wide=False))
        if np.dtype(dtype).kind != "f":
            check_filter(coder, numcodecs.Delta(dtype), make(dtype, n, n))
    for astype in ["i1", "<i2", ">i4", "<i8", "<f4", "<f8"]:
        array = make(dtype, 2000, 5, wide=False)
        array[0] = 1
        if np.dtype(dtype).kind in "iu":
            array = (array % np.asarray(50, array.dtype)).astype(dtype)
            array[:] = np.sort(array) if np.dtype(dtype).kind == "u" else array
        if np.dtype(dtype).kind == "f" and np.dtype(astype).kind != "f":
            array = np.clip(array, -30, 30).astype(dtype)
        check_filter(coder, numcodecs.Delta(dtype, astype), array)


@pytest.mark.parametrize("encoded", ["b1", *INTEGERS, *REALS])
@pytest.mark.parametrize("decoded", ["b1", *INTEGERS, *REALS])
def test_astype(coder, encoded, decoded):
    array = make(decoded, 3000, 7)
    if np.dtype(decoded).kind == "f" and np.dtype(encoded).kind in "iu":  # what does not fit is undefined
        info = np.iinfo(encoded)
        array = make(decoded, 3000, 7, wide=False)
        array = np.clip(array, max(info.min, -120), min(info.max, 120)).astype(decoded)
    codec = numcodecs.AsType(encoded, decoded)
    with np.errstate(all="ignore"):
        theirs = codec.encode(array)
        assert coder.encode([codec.get_config()], array) == theirs.tobytes()
        if not (np.dtype(encoded).kind == "f" and np.dtype(decoded).kind in "iu"):
            assert coder.decode([codec.get_config()], decoded, array.nbytes, theirs.tobytes()) == codec.decode(theirs).tobytes()


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("astype", REALS)
def test_quantize(coder, dtype, astype):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.125, 65504, 1e-7], dtype)
    for digits in (-2, -1, 0, 1, 2, 3, 5, 12):
        check_filter(coder, numcodecs.Quantize(digits, dtype, astype), np.concatenate([special, make(dtype, 3000, 3)]).astype(dtype))


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8"])
def test_bitround(coder, dtype):
    special = np.array([0.0, -0.0, np.inf, 0.5, 1.5, 65504, 1e-7], dtype)
    for keep in range(0, {2: 10, 4: 23, 8: 52}[np.dtype(dtype).itemsize] + 1):
        array = np.concatenate([special, make(dtype, 500, keep)])
        codec = numcodecs.BitRound(keep)
        assert coder.encode([codec.get_config()], array) == codec.encode(array).tobytes()


def test_packbits(coder):
    for n in (1, 7, 8, 9, 1000, 1001):
        array = make("b1", n, n)
        codec = numcodecs.PackBits()
        assert coder.encode([codec.get_config()], array) == codec.encode(array).tobytes()
        assert coder.decode([codec.get_config()], "b1", n, codec.encode(array).tobytes()) == array.tobytes()


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS])
@pytest.mark.parametrize("astype", ["i1", "<i2", "<i4", ">i8", "<f2", "<f4", ">f8"])
@pytest.mark.parametrize("offset,scale", [(10, 2), (0.5, 10), (10, 0.3), (1.5, 2.5), (0, 1), (100, 100)])
def test_fixedscaleoffset(coder, dtype, astype, offset, scale):
    array = make(dtype, 2000, 9, wide=False)
    codec = numcodecs.FixedScaleOffset(offset, scale, dtype, astype)
    with np.errstate(all="ignore"):
        between = np.around((array - offset) * scale)
        if np.dtype(astype).kind != "f":  # what does not fit is undefined
            info = np.iinfo(astype)
            array = array[(between >= info.min) & (between <= info.max)]
        array = array[: max(len(array), 1)]
        if len(array) == 0:
            pytest.skip("nothing fits")
        theirs = codec.encode(array)
        assert coder.encode([codec.get_config()], array) == theirs.tobytes()
        back = codec.decode(theirs)
        fits = np.ones(len(array), bool)
        if np.dtype(dtype).kind != "f":
            value = (theirs / scale) + offset
            info = np.iinfo(dtype)
            fits = (value > info.min - 1) & (value < float(info.max))
        mine = np.frombuffer(coder.decode([codec.get_config()], dtype, array.nbytes, theirs.tobytes()), dtype)
        bad = np.flatnonzero(fits & ~((back == mine) | ((back != back) & (mine != mine))))[:5]
        assert len(bad) == 0, (theirs[bad], mine[bad], back[bad])


def test_chains(coder):
    array = np.cumsum(make("<i2", 5000, 3, wide=False)).astype("<i4")
    codecs = [numcodecs.Delta("<i4", "<i8"), numcodecs.Shuffle(8), numcodecs.CRC32(), numcodecs.Blosc("lz4", 5, 1), numcodecs.CRC32C(), numcodecs.Zlib(6)]
    theirs = array
    for codec in codecs:
        theirs = codec.encode(theirs)
    configs = [codec.get_config() for codec in codecs]
    assert coder.decode(configs, "<i4", array.nbytes, raw(theirs)) == array.tobytes()
    ours = coder.encode(configs, array)
    for codec in reversed(codecs):
        ours = codec.decode(ours)
    assert raw(ours) == array.tobytes()


def test_zstd_without_a_size(coder):
    """A frame of a stream: its size is not in its header."""
    data = bytes(range(256)) * 100
    streamed = subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=False)
    if streamed.returncode != 0:
        pytest.skip("no zstd")
    assert coder.decode([{"id": "zstd", "level": 1}], "u1", len(data), streamed.stdout) == data
    two = streamed.stdout + streamed.stdout
    assert coder.decode([{"id": "zstd", "level": 1}], "u1", 2 * len(data), two) == data + data


def test_the_environment_changes_nothing(coder):
    """The Blosc library reads these in its other calls."""
    array = np.arange(100000, dtype="<u2")
    config = [{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}]
    text = json.dumps(config).encode()
    data = array.tobytes()
    variables = {"BLOSC_CLEVEL": "9", "BLOSC_COMPRESSOR": "zstd", "BLOSC_SHUFFLE": "BITSHUFFLE", "BLOSC_TYPESIZE": "8",
                 "BLOSC_BLOCKSIZE": "1000", "BLOSC_NTHREADS": "4", "BLOSC_SPLITMODE": "ALWAYS", "BLOSC_WARN": "1"}
    done = subprocess.run([PROGRAM, "serve"], input=f"encode 2 u2< {len(data)} {len(text)} {len(data)}\n".encode() + text + data,
                          capture_output=True, env={**os.environ, **variables}, check=True)
    assert done.stderr == b""
    assert done.stdout.split(b"\n", 1)[1] == coder.encode(config, array)
