# SPDX-License-Identifier: BSD-3-Clause
"""What is published of the Python package, in an environment that has nothing else but NumPy. With RESPLIT_FULL=1: it takes minutes, and the
network."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile

import h5py
import numpy as np
import pytest

from conftest import ROOT

pytestmark = [
    pytest.mark.skipif(os.environ.get("RESPLIT_FULL", "") in ("", "0"), reason="takes minutes, and the network"),
    pytest.mark.timeout(1800),
]

USE = """
import numpy as np, os, resplit, sys
array = np.arange(24 * 20 * 16, dtype="f4").reshape(24, 20, 16)
for name, options in {"a.zarr": {"codec": "zstd:3"}, "b.zarr": {"codec": "blosc:lz4:5:bitshuffle"}, "c.zarr": {"codec": "gzip:1"},
                      "d.zarr": {"codec": "bz2:1"}, "e.zarr": {"codec": "lz4:1"}, "f.zarr": {"codec": "lzma"}, "g": {},
                      "h.h5:/x": {"codec": "shuffle+zlib:1"}, "i.nii.gz": {"chunks": -1}}.items():
    resplit.resplit(array, name, **{"chunks": (5, 7, 16), **options}, memory="600MB")
    assert np.array_equal(resplit.open(name)[...], array), name
libraries = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for name in ("libzstd", "libblosc", "libdeflate", "liblz4", "liblzma", "libbz2", "libhdf5"):
    found = [path for path in libraries if os.path.basename(path).startswith(name)]
    assert any("resplit.libs" in path for path in found), (name, found)
    assert name == "libbz2" or name == "liblzma" or all(path.startswith(sys.prefix) for path in found), (name, found)
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, ROOT / "tools/wheel.py", out], check=True)
    return out


@pytest.fixture(scope="module")
def empty(tmp_path_factory, published):
    """An environment with the wheel; with the variables of the tests it would look elsewhere for libraries."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=True)
    (wheel,) = published.glob("*.whl")
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    return folder


def test_the_wheel_works_alone(empty, tmp_path):
    subprocess.run([empty / "bin/python", "-I", "-c", USE], cwd=tmp_path, check=True, env={"PATH": "/usr/bin:/bin"})
    with h5py.File(tmp_path / "h.h5") as file:
        assert np.array_equal(file["x"][...], np.arange(24 * 20 * 16, dtype="f4").reshape(24, 20, 16))


def test_the_command_works_alone(empty, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(600.0).reshape(20, 30))
    env = {"PATH": "/usr/bin:/bin"}
    for args in (["a.npy", "b.zarr", "--chunks", "7,7"], ["b.zarr", "c.h5:/x", "--chunks", "5,30"], ["verify", "a.npy", "c.h5:/x"]):
        subprocess.run([empty / "bin/resplit", *args, "--memory", "32MiB", "--quiet"], cwd=tmp_path, check=True, env=env)
    with h5py.File(tmp_path / "c.h5") as file:
        assert file["x"].chunks == (5, 30) and np.array_equal(file["x"][...], np.arange(600.0).reshape(20, 30))


def test_what_is_in_it(published):
    (wheel,) = published.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert "-cp311-abi3-manylinux_" in wheel.name and "resplit/py.typed" in names and "resplit/_core.pyi" in names
    assert not [n for n in names if n.endswith((".c", ".h", ".a"))] and any("licenses/libhdf5" in n for n in names)


def test_the_sources_build(published, tmp_path):
    """From what is in the archive, and with the build tools that pip finds itself."""
    (source,) = published.glob("*.tar.gz")
    with tarfile.open(source) as file:
        assert any(name.endswith("/src/api.c") for name in file.getnames())
    venv.create(tmp_path / "venv", with_pip=True)
    pip = [tmp_path / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, source], check=True)
    code = "import resplit, numpy; resplit.resplit(numpy.ones((9, 9)), 'a.zarr', chunks=4); print(resplit.open('a.zarr')[3, 3])"
    done = subprocess.run([tmp_path / "venv/bin/python", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "1.0\n"
