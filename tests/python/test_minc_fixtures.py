# SPDX-License-Identifier: BSD-3-Clause
"""MINC files that nibabel's own tests have: read to the stored values that h5py reads, or refused in a sentence."""

import numpy as np
import pytest

from minc_support import MEMORY, load, objects, real_values, stored, tool, unpacked

# Every MINC file of the archive: None, or why not.
FILES = {
    "minc1_1_scale.mnc": "MINC 1",
    "minc1_4d.mnc": "MINC 1",
    "tiny.mnc": "MINC 1",
    "minc2-4d-d.mnc": None,
    "minc2-no-att.mnc": None,
    "minc2_1_scale.mnc": None,
    "minc2_4d.mnc": None,
    "minc2_baddim.mnc": None,
    "small.mnc": None,
}

# What is wrong in a file, and is put right.
MENDED = {"minc2_baddim.mnc": {("minc-2.0/dimensions/xspace", "length")}}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return unpacked("nibabel", tmp_path_factory) / "nibabel" / "tests" / "data"


def test_none_is_left_out(archive):
    assert {p.name for p in archive.iterdir() if p.suffix == ".mnc"} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_others_wrote(run, tmp_path, archive, name):
    path = archive / name
    if FILES[name]:
        said = run.error(path, tmp_path / "out.npy", *MEMORY)
        assert FILES[name] in said and "mincconvert -2" in said and not (tmp_path / "out.npy").exists()
        return
    data = stored(path)
    run(path, "out.npy", *MEMORY)
    assert np.array_equal(np.load(tmp_path / "out.npy"), data)
    run(path, "grid", "--chunks", ",".join(str(n // 2 + 1) for n in data.shape), *MEMORY)
    run("grid", "back.mnc", *MEMORY)
    assert np.array_equal(stored(tmp_path / "back.mnc"), data)
    mended = MENDED.get(name, set())
    assert objects(path, mended) == objects(tmp_path / "back.mnc", mended)
    if name == "minc2_baddim.mnc": # which neither reads
        return
    assert np.array_equal(load(path).affine, load(tmp_path / "back.mnc").affine)
    assert np.array_equal(real_values(path, data.shape), real_values(tmp_path / "back.mnc", data.shape))


@pytest.mark.parametrize("name", [n for n, why in FILES.items() if why])
def test_the_way_out_of_minc_1(run, tmp_path, archive, name):
    tool("mincconvert", "-2", archive / name, tmp_path / "two.mnc")
    data = stored(tmp_path / "two.mnc")
    run("two.mnc", "grid", "--chunks", ",".join(["3"] * data.ndim), *MEMORY)
    run("grid", "back.mnc", *MEMORY)
    assert np.array_equal(stored(tmp_path / "back.mnc"), data)
    assert objects(tmp_path / "two.mnc") == objects(tmp_path / "back.mnc")
    assert np.array_equal(load(tmp_path / "back.mnc").get_fdata(), load(tmp_path / "two.mnc").get_fdata())


def test_minc_1_by_its_format(run, tmp_path, archive):
    (tmp_path / "grid").mkdir()
    for i in range(2):
        (tmp_path / "grid" / f"{i}.mnc").write_bytes((archive / "tiny.mnc").read_bytes())
    assert "MINC 1" in run.error("info", "grid")
