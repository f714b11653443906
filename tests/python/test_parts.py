# SPDX-License-Identifier: BSD-3-Clause
"""Arrays made in partitions: in any order, by processes at the same time, killed and gone on with, then finished. The result is, byte
for byte, what one process makes, and what NumPy and the formats' own readers say it should be."""

import json
import os
import random
import shutil
import subprocess
import time

import h5py
import nibabel as nib
import numpy as np
import pytest

from conftest import blocks_of, check_blocks, name_of, same, sample, write_blocks, written
from recovery import PART, SEED, boot, slow_disk
from zarr_support import read as read_zarr

MEMORY = ("--memory", "16MiB", "--quiet", "--sync", "none")
N_RANDOM = 60 if os.environ.get("RESPLIT_FULL", "") not in ("", "0") else 14


# ---- What a folder holds ----------------------------------------------------------------------------------------


def contents(path):
    """All files below a path and their bytes; but for the number that every run draws."""
    if path.is_file():
        return {"": path.read_bytes()}
    found = {}
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        text = file.read_bytes()
        if file.name in ("resplit.json", ".resplit.json"):
            manifest = json.loads(text)
            manifest.pop("run")
            text = json.dumps(manifest).encode()
        found[str(file.relative_to(path))] = text
    return found


def read_npy(path, shape, dtype, chunks):
    out = np.empty(shape, dtype)
    if path.is_file():
        return np.load(path)
    for index, start, values in blocks_of(out, chunks):
        values[...] = np.load(path / name_of("_".join("{%d}" % d for d in range(len(shape))) + ".npy", index, start, shape))
    return out


def read_raw(path, shape, dtype, chunks):
    out = np.empty(shape, dtype)
    if path.is_file():
        return np.fromfile(path, dtype).reshape(shape)
    for index, start, values in blocks_of(out, chunks):
        name = name_of("_".join("{%d}" % d for d in range(len(shape))) + ".raw", index, start, shape)
        values[...] = np.fromfile(path / name, dtype).reshape(values.shape)
    return out


def read_nifti(path, shape, dtype, chunks):
    out = np.empty(shape, dtype)
    for index, start, values in blocks_of(out, chunks):
        name = name_of("_".join("{%d}" % d for d in range(len(shape))) + ".nii.gz", index, start, shape)
        values[...] = np.asarray(nib.load(path / name).dataobj)
    return out


def read_hdf5(path, shape, dtype, chunks):
    with h5py.File(path) as file:
        return file["data"][...]


FORMATS = {  # name of the target, how it is asked for, how it is read
    "npy": ("out", ["--format", "npy"], read_npy),
    "raw": ("out", ["--format", "raw"], read_raw),
    "zarr2": ("out.zarr", ["--format", "zarr2", "--codec", "zlib:1"], lambda path, *_: read_zarr(path)),
    "zarr3": ("out.zarr", ["--format", "zarr3", "--codec", "zstd:1"], lambda path, *_: read_zarr(path)),
    "zarr plain": ("out.zarr", ["--format", "zarr3", "--codec", "none"], lambda path, *_: read_zarr(path)),
    "shards": ("out.zarr", ["--format", "zarr3", "--codec", "zstd:1"], lambda path, *_: read_zarr(path)),
    "nifti": ("out", ["--format", "nifti1", "--pattern", "{0}_{1}_{2}.nii.gz"], read_nifti),
    "hdf5": ("out.h5", ["--codec", "none"], read_hdf5),
    "one npy": ("out.npy", [], read_npy),
    "one raw": ("out.raw", [], read_raw),
}


# ---- Making them ------------------------------------------------------------------------------------------------


def make_parts(run, rnd, n, args, together=2):
    """All partitions in random order, some at the same time."""
    waiting = list(range(1, n + 1))
    rnd.shuffle(waiting)
    while waiting:
        now = [waiting.pop() for _ in range(min(len(waiting), rnd.randint(1, together)))]
        at_work = [subprocess.Popen([str(run.path), *map(str, args), "--part", f"{k}/{n}"], cwd=run.folder, env=run.env,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for k in now]
        for process in at_work:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said


def random_chunks(rnd, shape):
    return [rnd.choice([rnd.randint(1, extent), rnd.randint(1, max(1, extent // 2)), -1]) for extent in shape]


def source_for(folder, rnd, array, chunks):
    """Blocks that can be read in parts, or only whole."""
    kind = rnd.choice(["npy", "one", "zarr"])
    if kind == "one":
        np.save(folder / "in.npy", array)
        return "in.npy"
    if kind == "npy":
        write_blocks(folder / "in", array, chunks, "{0}_{1}_{2}.npy")
        return "in"
    import zarr
    lengths = tuple(extent if c == -1 else c for c, extent in zip(chunks, array.shape))
    made = zarr.create_array(folder / "in.zarr", shape=array.shape, chunks=lengths, dtype=array.dtype, zarr_format=3)
    made[...] = array
    return "in.zarr"


@pytest.mark.parametrize("kind", FORMATS)
def test_partitions_make_what_one_process_makes(run, tmp_path, kind):
    rnd = random.Random(f"{SEED} {kind}")
    for trial in range(max(2, N_RANDOM // len(FORMATS)) if kind not in ("shards", "npy") else 4):
        folder = tmp_path / str(trial)
        folder.mkdir()
        run.folder = folder
        name, options, read = FORMATS[kind]
        shape = [rnd.randint(4, 40) for _ in range(3)]
        array = sample(shape, rnd.choice(["<u2", "<f4", "|u1"]), seed=trial)
        chunks = random_chunks(rnd, shape) if not kind.startswith("one") else [-1, -1, -1]
        source = source_for(folder, rnd, array, random_chunks(rnd, shape))
        options = [*options]
        if kind == "shards":
            lengths = [extent if c == -1 else c for c, extent in zip(chunks, shape)]
            options += ["--shards", written([c * rnd.randint(1, 3) for c in lengths])]
        args = [source, name, *options, *([] if kind.startswith("one") else ["--chunks", written(chunks)]), *MEMORY,
                "--threads", "1"]
        n = rnd.randint(1, 9)
        region = [slice(0, extent) for extent in shape]
        if kind in ("npy", "zarr3") and trial % 2:
            region = [slice(rnd.randint(0, e // 3), rnd.randint(e // 2 + 1, e)) for e in shape]
            args += ["--roi", ",".join(f"{s.start}:{s.stop}" for s in region)]
        whole = run.json(*args)
        os.rename(folder / name, folder / "whole")
        make_parts(run, rnd, n, args)
        assert not (folder / name).exists()
        done = json.loads(run("finish", name, "--json").stdout)
        wanted = array[tuple(region)]
        mine, others = contents(folder / name), contents(folder / "whole")
        if kind == "shards":  # blocks lie in a shard in the order in which they were ready
            mine, others = set(mine), set(others)
        assert mine == others, (args, n)
        clipped = [min(c, e) if c != -1 else e for c, e in zip(chunks, wanted.shape)]
        assert same(read(folder / name, wanted.shape, wanted.dtype, clipped), wanted), (args, n)
        assert not (folder / (name + PART)).exists()
        assert done["fingerprint"] == whole["fingerprint"] and done["parts"] == n
