# SPDX-License-Identifier: BSD-3-Clause
"""Compressed images that are only read forwards: fingerprints and comparisons in little memory, checksums, copies as they are stored."""

import gzip
import os
import zlib

import numpy as np
import pytest
import zarr

from nifti_support import FULL, check_grid, header, read, values, write
from test_memory import ALLOWED, MiB, peak_rss

SHAPE, BUDGET = ((640, 500, 400), 16) if FULL else ((320, 250, 200), 4)
MEMORY = ("--memory", f"{BUDGET}MiB", "--quiet")
SPACE = {"sform_code": 1, "srow_x": [1, 0, 0, -3], "srow_y": [0, 2, 0, -5], "srow_z": [0, 0, 3, 7], "descrip": b"whole"}


def pack(path, level=1):
    """The same file, compressed by Python's own gzip, in two members."""
    data = path.read_bytes()
    half = len(data) // 2
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(data[:half], level, mtime=5) + gzip.compress(data[half:], level, mtime=6))
    return packed


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A volume many times the budget: plain, compressed, in blocks that are larger than the budget, in small ones, and as Zarr."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(3)
    data = (rng.integers(0, 64, SHAPE) + np.arange(SHAPE[2])).astype("<u2")
    write(folder / "a.nii", data, **SPACE)
    pack(folder / "a.nii")
    half = [n // 2 for n in SHAPE]
    for name, cuts in (("large", [half[0], SHAPE[1], half[2]]), ("small", [n // 5 for n in half])):
        (folder / name).mkdir()
        for index in np.ndindex(*[-(-n // c) for n, c in zip(SHAPE, cuts)]):
            start = [i * c for i, c in zip(index, cuts)]
            block = data[tuple(slice(s, s + c) for s, c in zip(start, cuts))]
            moved = {f"srow_{n}": [*SPACE[f"srow_{n}"][:3], np.dot(SPACE[f"srow_{n}"][:3], start) + SPACE[f"srow_{n}"][3]] for n in "xyz"}
            part = write(folder / name / ("_".join(map(str, index)) + ".nii"), block, **{**SPACE, **moved})
            if name == "large":
                part.with_name(part.name + ".gz").write_bytes(gzip.compress(part.read_bytes(), 1))
                part.unlink()
    zarr.create_array(folder / "z.zarr", data=data, chunks=(SHAPE[0] // 8, SHAPE[1] // 8, 5))
    return folder, data


def measured(resplit_path, environment, folder, *args):
    if "RESPLIT_SANITIZED" in os.environ:
        return 0
    return peak_rss(resplit_path, [*map(str, args), *MEMORY], folder, environment)


@pytest.mark.parametrize("name", ["a.nii.gz", "large"])
def test_fingerprints_in_little_memory(run, resplit_path, environment, images, name):
    folder, data = images
    run.folder = folder
    wants = run.json("fingerprint", "a.nii", "--memory", "1GiB")["fingerprint"]
    assert run.json("fingerprint", name, *MEMORY)["fingerprint"] == wants
    assert measured(resplit_path, environment, folder, "fingerprint", name) <= BUDGET * MiB + ALLOWED


def test_a_grid_of_one_file(run, images):
    """A folder is no file, also where it has but one."""
    folder, data = images
    (run.folder / "one").mkdir()
    os.link(folder / "a.nii.gz", run.folder / "one" / "0_0_0.nii.gz")
    cuts = [n // 3 for n in SHAPE]
    run("one", "blocks", "--chunks", ",".join(map(str, cuts)), "--pattern", "{0}_{1}_{2}.nii", *MEMORY)
    for start in ([0, 0, 0], [2 * c for c in cuts]):
        box = tuple(slice(s, s + c) for s, c in zip(start, cuts))
        index = "_".join(str(s // c) for s, c in zip(start, cuts))
        assert np.array_equal(read(run.folder / "blocks" / f"{index}.nii"), data[box])
    run("verify", "one", "blocks", "--exact", *MEMORY)
    run("verify", "blocks", "one", "--exact", *MEMORY)
    run("verify", "one", folder / "z.zarr", "--exact", *MEMORY)
    run("extract", "one", "part.nii", "--roi", "3:9,7:20,150:160", *MEMORY)
    assert np.array_equal(read(run.folder / "part.nii"), data[3:9, 7:20, 150:160])
    assert run.json("fingerprint", "one", *MEMORY)["fingerprint"] == run.json("fingerprint", folder / "a.nii", *MEMORY)["fingerprint"]


PAIRS = [("a.nii.gz", "small"), ("small", "a.nii.gz"), ("a.nii.gz", "a.nii"), ("a.nii", "a.nii.gz"), ("a.nii.gz", "a.nii.gz"), ("large", "large"),
         ("a.nii.gz", "z.zarr"), ("a.nii.gz", "large")]


@pytest.mark.parametrize("a, b", PAIRS)
def test_comparisons_in_little_memory(run, resplit_path, environment, images, a, b):
    folder, data = images
    run.folder = folder
    exact = [] if (a, b) == ("a.nii.gz", "large") else ["--exact"] # two compressed grids that differ: by fingerprints only
    run("verify", a, b, *exact, *MEMORY)
    assert measured(resplit_path, environment, folder, "verify", a, b, *exact) <= BUDGET * MiB + ALLOWED


@pytest.mark.parametrize("other", ["small", "a.nii", "a.nii.gz", "z.zarr"])
def test_what_differs_is_found(run, tmp_path, images, other):
    folder, data = images
    run.folder = folder
    changed = data.copy()
    places = [(5, 6, 7), (SHAPE[0] - 1, 0, SHAPE[2] - 1)]
    for at in places:
        changed[at] ^= 1
    write(tmp_path / "b.nii", changed, **SPACE)
    pack(tmp_path / "b.nii")
    for pair in ([tmp_path / "b.nii.gz", other], [other, tmp_path / "b.nii.gz"]):
        said = run.json("verify", *pair, *MEMORY, code=1)
        assert not said["equal"] and said["n_different"] == 2 and tuple(said["index"]) in places


def test_what_differs_is_said_even_where_nobody_can_say_where(run, tmp_path, images):
    folder, data = images
    run.folder = folder
    changed = data.copy()
    changed[1, 2, 3] ^= 1
    write(tmp_path / "b.nii", changed, **SPACE)
    pack(tmp_path / "b.nii")
    said = run.json("verify", "large", tmp_path / "b.nii.gz", *MEMORY, code=1)
    assert said == {"equal": False, "n_different": None, "index": None}
    done = run("verify", "large", tmp_path / "b.nii.gz", "--memory", f"{BUDGET}MiB", code=1)
    needed = done.stdout.split("--memory ")[1].strip()
    assert run.json("verify", "large", tmp_path / "b.nii.gz", "--memory", needed, code=1)["index"] == [1, 2, 3]


# ---- checksums --------------------------------------------------------------------------------------------------


def change(packed, how):
    """Damage at the end of a stream, where only who reads on sees it."""
    data = bytearray(packed.read_bytes())
    if how == "checksum":
        data[-8] ^= 1
    elif how == "length":
        data[-1] ^= 1
    elif how == "cut":
        data = data[:-4]
    elif how == "more":
        data += gzip.compress(b"more")
    packed.write_bytes(data)


@pytest.mark.parametrize("how", ["checksum", "length", "cut", "more"])
def test_damage_behind_what_is_wanted_is_seen(run, tmp_path, images, how):
    folder, data = images
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress((folder / "a.nii").read_bytes(), 1))
    change(tmp_path / "b.nii.gz", how)
    words = ("b.nii.gz",)
    for command in (["extract", "b.nii.gz", "out.nii", "--roi", "0:4,0:4,0:4"], ["fingerprint", "b.nii.gz"], ["verify", "b.nii.gz", folder / "a.nii", "--exact"],
                    ["verify", folder / "a.nii", "b.nii.gz", "--exact"], ["verify", "b.nii.gz", folder / "small", "--exact"],
                    ["split", "b.nii.gz", "pieces", "--chunks", "100,-1,-1", "--pattern", "{0}_{1}_{2}.nii"]):
        message = run.error(*command, *MEMORY)
        assert all(word in message for word in words)
        assert not (tmp_path / "out.nii").exists() and not (tmp_path / "pieces").exists()


# ---- copies as they are stored ----------------------------------------------------------------------------------


def test_a_file_is_copied_as_it_is_stored(run, tmp_path, resplit_path, environment, images):
    folder, data = images
    packed = folder / "a.nii.gz"
    done = run.json(packed, "out.nii.gz", *MEMORY)
    assert (tmp_path / "out.nii.gz").read_bytes() == packed.read_bytes() and done["strategy"] == "copy"
    assert measured(resplit_path, environment, tmp_path, packed, "again.nii.gz") <= BUDGET * MiB + ALLOWED
    run(packed, "asked.nii.gz", "--codec", "gzip", *MEMORY)
    assert (tmp_path / "asked.nii.gz").read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("options", [["--codec", "gzip:9"], ["--format", "nifti2"], ["--roi", f"0:{SHAPE[0]},0:{SHAPE[1]},1:{SHAPE[2]}"], ["--to-dtype", ">u2"]])
def test_what_changes_is_encoded_anew(run, tmp_path, images, options):
    folder, data = images
    command = ["extract"] if "--roi" in options else []
    run(*command, folder / "a.nii.gz", "out.nii.gz", *options, "--memory", "256MiB", "--quiet")
    assert (tmp_path / "out.nii.gz").read_bytes() != (folder / "a.nii.gz").read_bytes()
    assert np.array_equal(read(tmp_path / "out.nii.gz"), data[:, :, 1:] if command else data)
    assert zlib.decompress((tmp_path / "out.nii.gz").read_bytes(), 31)[:4] # a stream of one member


def test_a_grid_is_copied_as_it_is_stored(run, tmp_path, images):
    folder, data = images
    names = sorted(p.name for p in (folder / "large").iterdir())
    run.folder = folder
    run("large", tmp_path / "out", "--chunks", f"{SHAPE[0] // 2},-1,{SHAPE[2] // 2}", *MEMORY)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [*names, "resplit.json"]
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (folder / "large" / name).read_bytes()


def test_blocks_with_other_words_in_their_headers_are_encoded_anew(run, tmp_path):
    data = values((8, 8, 8), "<i2")
    (tmp_path / "in").mkdir()
    for i in range(2):
        part = header((4, 8, 8), "<i2", **{**SPACE, "srow_x": [1, 0, 0, -3 + 4 * i], "descrip": b"part %d" % i}) + data[4 * i:4 * i + 4].tobytes("F")
        (tmp_path / "in" / f"{i}_0_0.nii.gz").write_bytes(gzip.compress(part, 1))
    done = run.json("in", "out", "--chunks", "4,8,8", "--memory", "8MiB")
    check_grid(tmp_path / "out", data, (4, 8, 8), "{0}_{1}_{2}.nii.gz")
    # what is said of the first goes for all
    assert all(gzip.decompress((tmp_path / "out" / f"{i}_0_0.nii.gz").read_bytes())[148:154] == b"part 0" for i in range(2))
    assert done["fingerprint"]
