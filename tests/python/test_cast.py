# SPDX-License-Identifier: BSD-3-Clause
"""Casts on the way: NumPy's astype says what values become, and long doubles, which hold every value of every type, what was lost."""

import itertools
import resource
import signal
import subprocess

import numpy as np
import pytest

from conftest import blocks_of, check_blocks, same, write_blocks
from zarr_support import chunk_files, make, read

WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
REAL = ["f2", "f4", "f8"]
PLAIN = ["?"] + WHOLE + REAL
TYPES = PLAIN + ["c8", "c16"]
MEMORY = ("--memory", "32MiB")
SMALL = ("--memory", "300KB")


# ---- the judge --------------------------------------------------------------------------------------------------


def losses(v, w, integer):
    """Which of the long doubles `v` became another `w`: out of range, not a number, rounded."""
    changed = ~((v == w) | (np.isnan(v) & np.isnan(w)))
    nan = changed & np.isnan(v)
    if integer:
        out = changed & ~nan & (np.trunc(v) != w)
    else:
        out = changed & np.isinf(w)
    return out, nan, changed & ~nan & ~out


def expected(values, to):
    """The values after the cast, and how many were out of range, not a number, rounded."""
    to = np.dtype(to)
    if values.dtype.kind == "c":
        parts = [expected(part, f"f{to.itemsize // 2}") for part in (values.real, values.imag)]
        cast = np.empty(values.shape, to)
        cast.real, cast.imag = parts[0][0], parts[1][0]
        codes = np.maximum(*[np.select(part[1], [2, 3, 1]) for part in parts])
        return cast, [codes == 2, codes == 3, codes == 1]
    if to.kind == "c":
        real, lost = expected(values, f"f{to.itemsize // 2}")
        return real.astype(to), lost
    v = values.astype(np.longdouble)
    with np.errstate(all="ignore"):
        if to.kind == "b":
            cast = values.astype(bool)
            w = cast.astype(np.longdouble)
            changed = ~(v == w)
            nan = np.isnan(v)
            return cast, [changed & ~nan & ~((v > 0) & (v < 1)), nan, changed & (v > 0) & (v < 1)]
        if to.kind in "iu":
            low, high = np.longdouble(np.iinfo(to).min), np.longdouble(np.iinfo(to).max)
            whole = np.where(np.isnan(v), 0, np.clip(np.trunc(v), low, high))
            cast = whole.astype(to.newbyteorder("=")).astype(to)
            inside = ~np.isnan(v) & (np.trunc(v) == whole)
            assert (values[inside].astype(to) == cast[inside]).all()
        else:
            cast = values.astype(to)
        return cast, losses(v, cast.astype(np.longdouble), to.kind in "iu")


def equal(a, b):
    """Same type and bits, whatever a NaN carries."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return equal(a.real, b.real) and equal(a.imag, b.imag)
    if a.dtype.kind != "f":
        return a.tobytes() == b.tobytes()
    nan = np.isnan(a)
    return (nan == np.isnan(b)).all() and np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()


def interesting(dtype, n, seed=1):
    """Borders of every type, halves, infinities, NaN, and numbers of all magnitudes, in a type that may not hold them."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    borders = [0.0, 1.0, -1.0, 0.5, -0.5, 0.3, 1.5, 2.0, 255.5, 65504.0, 65519.0, 65520.0, 1e30, -1e30, 1e300, 1e-30, 1e-320, -0.0]
    borders += [s * 2.0**e + d for e in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64) for d in (-1, 0, 1) for s in (1, -1)]
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            half = f"{dtype.byteorder}f{dtype.itemsize // 2}"
            out = np.empty(n, dtype)
            out.real, out.imag = interesting(half, n, seed), interesting(half, n, seed + 1)
            return out
        if dtype.kind == "f":
            numbers = np.array(borders + [np.inf, -np.inf, np.nan]).astype(dtype)
            rest = (rng.standard_normal(n) * 10.0 ** rng.integers(-9, 22, n)).astype(dtype)
        elif dtype.kind == "b":
            numbers, rest = np.array([True, False]), rng.integers(0, 2, n).astype(bool)
        else:
            info = np.iinfo(dtype)
            whole = {int(b) for b in borders if abs(b) < 1e20} | {info.min, info.max, info.max - 1, 2**24 + 1, 2**53 + 1}
            numbers = np.array([b for b in sorted(whole) if info.min <= b <= info.max]).astype(dtype)
            bits = rng.integers(0, info.bits, n)
            rest = (rng.integers(info.min, info.max, n, dtype=dtype.newbyteorder("="), endpoint=True) >> bits.astype(dtype.newbyteorder("="))).astype(dtype)
    return rng.permutation(np.concatenate([numbers, rest]))[:n].astype(dtype)


def check_report(cast, values, to, lost):
    assert (cast["from"], cast["to"]) == (values.dtype.str, np.dtype(to).str)
    assert cast["values"] == values.size
    assert [cast[k] for k in ("out_of_range", "not_a_number", "rounded")] == [int(part.sum()) for part in lost]
    assert cast["changed"] == int(sum(part.sum() for part in lost))


def both(dtype):
    return [dtype] if np.dtype(dtype).itemsize == 1 else ["<" + dtype, ">" + dtype]


# ---- all pairs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", TYPES)
def test_every_type_becomes_every_other(run, tmp_path, source):
    for to in TYPES:
        if source.startswith("c") and not to.startswith("c"):
            continue
        for a, b in itertools.product(both(source), both(to)):
            values = interesting(a, 1500).reshape(30, 50)
            if values.dtype == np.dtype(b):
                continue
            np.save(tmp_path / "in.npy", values)
            done = run.json("in.npy", "out.npy", "--to-dtype", b, "--overwrite", *MEMORY)
            wanted, lost = expected(values, b)
            assert equal(np.load(tmp_path / "out.npy"), wanted), (a, b)
            check_report(done["cast"], values, b, lost)
            assert done["actual"] == {**done["predicted"], "peak_bytes": done["actual"]["peak_bytes"]}, (a, b)


def test_the_other_byte_order_keeps_every_bit(run, tmp_path):
    for dtype in ["u2", "f4", "f8", "c16", "i8", "U3", "M8[s]", "f2"]:
        bits = np.random.default_rng(3).integers(0, 255, 24 * np.dtype(dtype).itemsize, dtype=np.uint8)
        if dtype == "U3":
            bits = np.frombuffer("äb\U0001f600".encode("utf-32-le") * 24, np.uint8)
        values = bits.view(f"<{dtype}").reshape(4, 6)
        np.save(tmp_path / "in.npy", values)
        done = run.json("in.npy", "out.npy", "--to-dtype", f">{dtype}", "--overwrite", *MEMORY)
        written = np.load(tmp_path / "out.npy")
        assert written.dtype == np.dtype(f">{dtype}") and written.tobytes() == values.byteswap().tobytes()
        assert done["cast"]["changed"] == 0 and done["fingerprint"]
        assert run("verify", "in.npy", "out.npy").stdout.strip() == "equal"


def test_a_type_that_it_has_is_no_cast(run, tmp_path):
    values = interesting("<f8", 60).reshape(6, 10)
    np.save(tmp_path / "in.npy", values)
    done = run.json("in.npy", "out.npy", "--to-dtype", "float64", *MEMORY)
    assert "cast" not in done and done["fingerprint"]
    assert same(np.load(tmp_path / "out.npy"), values)


# ---- formats, grids, budgets -----------------------------------------------------------------------------------------

SHAPE, FROM, TO = (33, 41, 27), (10, 41, 7), (9, 8, 27)
REGION, BOX = "3:30,0:41,5:26", (slice(3, 30), slice(0, 41), slice(5, 26))


def put(tmp_path, kind, values, order):
    """An array of one kind, and the options that describe it."""
    if kind == "zarr":
        make(tmp_path / "in.zarr", values, FROM, version=2, order=order)
        return ["in.zarr"]
    write_blocks(tmp_path / "in", values, FROM, f"{{0}}_{{1}}_{{2}}.{kind}", order)
    if kind == "npy":
        return ["in"]
    return ["in", "--dtype", values.dtype.str, "--shape", ",".join(map(str, SHAPE)), "--from", ",".join(map(str, FROM)),
            "--order", order, "--from-pattern", "{0}_{1}_{2}.raw"]


def blocks_are(folder, kind, wanted, order):
    for index, _, block in blocks_of(wanted, TO):
        path = folder / ("_".join(map(str, index)) + "." + kind)
        got = np.load(path) if kind == "npy" else np.fromfile(path, wanted.dtype).reshape(block.shape, order=order)
        assert equal(got, block), path


@pytest.mark.parametrize("to", ["npy", "raw", "zarr", "zarr-plain", "zarr-shards"])
@pytest.mark.parametrize("source", ["npy", "raw", "zarr"])
@pytest.mark.parametrize("a, b", [("<f8", "|u1"), ("|u1", "<f8"), (">i2", "<f4"), ("<f4", ">f4"), ("<f4", "<c16")])
def test_from_any_format_to_any(run, tmp_path, source, to, a, b):
    values = interesting(a, int(np.prod(SHAPE))).reshape(SHAPE)
    for order, to_order, region in (("C", None, None), ("F", None, REGION), ("C", "F", REGION)):
        folder = tmp_path / f"{order}{to_order}{region is None}"
        folder.mkdir()
        run.folder = folder
        path, *described = put(folder, source, values, order)
        name = "out.zarr" if to.startswith("zarr") else "out"
        options = {"npy": ["--format", "npy"], "raw": ["--format", "raw"], "zarr": ["--codec", "zstd:1"],
                   "zarr-plain": ["--codec", "none"], "zarr-shards": ["--format", "zarr3", "--codec", "none", "--shards", "18,16,54"]}[to]
        options += ["--to-order", to_order] if to_order else []
        options += ["--roi", region] if region else []
        done = run.json(path, name, *described, "--chunks", ",".join(map(str, TO)), "--to-dtype", b, *options, "--memory", "900KB")
        wanted, lost = expected(values[BOX] if region else values, b)
        check_report(done["cast"], values[BOX] if region else values, b, lost)
        assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= 900000
        if name == "out":
            blocks_are(folder / "out", to, wanted, to_order or order)
        else:
            got = read(folder / "out.zarr")
            assert equal(got.astype(wanted.dtype), wanted)


@pytest.mark.parametrize("a, b", [("<f8", "|u1"), ("|u1", "<f8"), ("<u2", ">u2")])
@pytest.mark.parametrize("strategy", ["auto", "naive", "keep", "best", "spill"])
def test_small_budgets_and_one_file(run, tmp_path, a, b, strategy):
    """More than memory holds: units in pieces, slices of a staging area."""
    values = interesting(a, 60 * 70 * 80).reshape(60, 70, 80)
    write_blocks(tmp_path / "in", values, (13, 70, 11), "{0}_{1}_{2}.npy")
    wanted, lost = expected(values, b)
    for name, chunks in (("out.npy", "-1,-1,-1"), ("out", "60,9,40")):
        if (name, strategy) == ("out.npy", "spill"):
            continue  # which is for several blocks
        done = run.json("in", name, "--chunks", chunks, "--to-dtype", b, "--strategy", strategy, *SMALL, "--device", "hdd")
        check_report(done["cast"], values, b, lost)
        for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes"):
            assert done["actual"][key] == done["predicted"][key], key
        assert done["actual"]["peak_bytes"] <= 300000
    if strategy != "spill":
        assert equal(np.load(tmp_path / "out.npy"), wanted)
    if wanted.dtype.kind != "f":
        check_blocks(tmp_path / "out", wanted, (60, 9, 40), "{0}_{1}_{2}.npy")


@pytest.mark.parametrize("shape, chunks", [((), []), ((0, 5), ["--chunks", "2,5"]), ((1,), ["--chunks", "1"])])
@pytest.mark.parametrize("name", ["out", "out.zarr"])
def test_odd_shapes(run, tmp_path, shape, chunks, name):
    np.save(tmp_path / "in.npy", np.full(shape, 300.5))
    run("merge" if not chunks else "split", "in.npy", name, *chunks, "--to-dtype", "u1", *MEMORY)
    info = run.json("info", name)
    assert info["dtype"] == "|u1" and tuple(info["shape"]) == shape


# ---- Zarr: fill values and what is missing -----------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["none", "zstd:1"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("fill, to, becomes", [(np.nan, "i2", 0), (-1.5, "u1", 0), (7, "f4", 7), (300, "|u1", 255)])
def test_fill_values_are_cast_and_missing_chunks_stay_missing(run, tmp_path, codec, version, fill, to, becomes):
    values = np.full((20, 20), fill, "<f8")
    values[3, 4] = 12
    make(tmp_path / "in.zarr", values, (6, 6), version=version, fill_value=fill)
    n = len(chunk_files(tmp_path / "in.zarr"))
    done = run.json("in.zarr", "out.zarr", "--chunks", "6,6", "--codec", codec, "--to-dtype", to, *MEMORY)
    wanted, lost = expected(values, to)
    check_report(done["cast"], values, to, lost)
    assert equal(read(tmp_path / "out.zarr"), wanted)
    assert wanted[0, 0] == becomes
    assert len(chunk_files(tmp_path / "out.zarr")) == 1 <= n


def test_the_codec_follows_the_size_of_elements(run, tmp_path):
    np.save(tmp_path / "in.npy", interesting("<u2", 4000).reshape(40, 100))
    run("in.npy", "a.zarr", "--chunks", "20,20", "--codec", "blosc:lz4:5:shuffle", *MEMORY)
    run("a.zarr", "b.zarr", "--to-dtype", "f8", *MEMORY)
    assert '"typesize": 8' in (tmp_path / "b.zarr" / "zarr.json").read_text()


# ---- said and refused -------------------------------------------------------------------------------------------------


def test_the_report_says_what_was_lost(run, tmp_path):
    np.save(tmp_path / "in.npy", np.array([1, 2.5, 300, -1, np.nan, 7]))
    text = run("in.npy", "out.npy", "--to-dtype", "u1", *MEMORY).stdout
    assert "<f8 to |u1; 4 of 6 values changed: 2 out of range, 1 not a number, 1 rounded\n" in text
    text = run("in.npy", "wide.npy", "--to-dtype", "c16", *MEMORY).stdout
    assert "<f8 to <c16; 0 of 6 values changed\n" in text
    assert "fingerprint" not in text


@pytest.mark.parametrize("a, b, why", [("c8", "f4", "complex numbers would lose"), ("c8", "?", "complex"), ("S4", "i4", "only booleans"),
                                       ("i4", "U4", "only booleans"), ("M8[s]", "i8", "only booleans"), ("V4", "u4", "only booleans"),
                                       ("f8", "float128", "only booleans"), ("f8", "nonsense", "unknown type")])
def test_what_cannot_be_cast_is_refused(run, tmp_path, a, b, why):
    np.save(tmp_path / "in.npy", np.zeros((3, 4), a))
    assert why in run.error("in.npy", "out.npy", "--to-dtype", b, *MEMORY)
    assert not (tmp_path / "out.npy").exists()


def test_source_and_target_are_told_apart(run, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((3, 4)))
    run("in.npy", "out.npy", "--to-dtype", "f4", *MEMORY)
    assert "has elements of type" in run.error("verify", "in.npy", "out.npy")


@pytest.mark.parametrize("a, b, other", [("<f8", "<f4", ">f4"), ("<u2", "<f8", "<i8")])
def test_a_run_goes_on_with_its_own_type_only(run, tmp_path, a, b, other):
    values = interesting(a, 64 * 64 * 64).reshape(64, 64, 64)
    np.save(tmp_path / "in.npy", values)
    args = ["in.npy", "out", "--chunks", "10+10+10+34,64,64", "--memory", "1MiB", "--to-dtype"]

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    done = subprocess.run([run.path, *args, b], cwd=tmp_path, env=run.env, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1 and "--resume" in done.stderr
    assert "was made for other arrays" in run.error(*args, other, "--resume")
    assert "was made for other arrays" in run.error(*args, a, "--resume")
    done = run.json(*args, b, "--resume")
    assert done["resumed"] and done["cast"]["values"] < values.size
    run("merge", "out", "out.npy", *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), expected(values, b)[0])
