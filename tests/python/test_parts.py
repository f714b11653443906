# SPDX-License-Identifier: BSD-3-Clause
"""Arrays made in partitions: in any order, by processes at the same time, killed and gone on with, then finished. The result is, byte
for byte, what one process makes, and what NumPy and the formats' own readers say it should be."""

import itertools
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import h5py
import nibabel as nib
import numpy as np
import pytest

import minc_support
from conftest import blocks_of, check_blocks, name_of, same, sample, write_blocks, written
from recovery import PART, SEED, boot, no_preload, shim, slow_disk
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
        if kind in ("shards", "hdf5"):  # blocks lie in a shard in the order in which they were ready; HDF5 notes when it was
            mine, others = {n: len(b) for n, b in mine.items()}, {n: len(b) for n, b in others.items()}
        assert mine == others, (args, n)
        clipped = [min(c, e) if c != -1 else e for c, e in zip(chunks, wanted.shape)]
        assert same(read(folder / name, wanted.shape, wanted.dtype, clipped), wanted), (args, n)
        assert not (folder / (name + PART)).exists()
        assert done["fingerprint"] == whole["fingerprint"] and done["parts"] == n


# ---- Plans ------------------------------------------------------------------------------------------------------


class Job:
    """A source of 1 MB in blocks of npy, cut anew by `n` partitions through a plan file."""

    chunks, shape, pattern = (16, 11, 13), (64, 60, 50), "{0}_{1}_{2}.npy"

    def __init__(self, run, n, *options, seed=1):
        self.run, self.n, self.folder = run, n, run.folder
        self.array = sample(self.shape, "<u4", seed)
        write_blocks(self.folder / "in", self.array, (20, 30, 17), self.pattern)
        run("plan", "in", "out", "--chunks", written(self.chunks), "--memory", "8MiB", "--parts", n, "--save", "p.json", *options)

    def args(self, part, *more):
        return ["run", "p.json", "--part", f"{part}/{self.n}", "--quiet", *more]

    def make(self, parts, *more):
        for part in parts:
            self.run(*self.args(part, *more))

    def check(self):
        check_blocks(self.folder / "out", self.array, self.chunks, self.pattern)
        assert {p.name for p in self.folder.iterdir()} == {"in", "out", "p.json"}


def test_partitions_cost_what_is_predicted(run):
    job = Job(run, 6)
    survey = run.json("plan", "in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--parts", 6)
    assert [p["part"] for p in survey["partitions"]] == [1, 2, 3, 4, 5, 6]
    seen, total, peak = np.zeros(job.shape, int), {"read_seeks": 0, "write_seeks": 0, "bytes_read": 0, "bytes_written": 0}, 0
    for part in survey["partitions"]:
        seen[tuple(slice(a, b) for a, b in zip(part["start"], part["stop"]))] += 1
        said = run.json("plan", "in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--part", f"{part['part']}/6")
        done = run.json(*[a for a in job.args(part["part"]) if a != "--quiet"])
        assert done["part"] == part["part"] and done["parts"] == 6 and done["part_start"] == part["start"]
        assert np.prod(done["part_shape"]) * 4 == part["bytes"]
        for name in total:
            assert done["actual"][name] == done["predicted"][name] == said["predicted"][name]
            total[name] += done["actual"][name]
        assert done["actual"]["held_bytes"] == done["predicted"]["held_bytes"]
        assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= 8 << 20
        peak = max(peak, done["predicted"]["peak_bytes"])
        assert done["fingerprint"] is None
    assert (seen == 1).all()
    assert {name: survey["predicted"][name] for name in total} == total and survey["predicted"]["peak_bytes"] == peak
    assert survey["bytes"] == job.array.nbytes and survey["largest"] == max(p["bytes"] for p in survey["partitions"])
    assert survey["bytes_twice"] == sum(p["bytes_read"] for p in survey["partitions"]) - job.array.nbytes == 0
    run("finish", "p.json", "--quiet")
    job.check()


def test_blocks_that_can_only_be_read_whole_are_counted_twice(run, tmp_path):
    import zarr
    array = sample((96, 50), "<u2")
    zarr.create_array(tmp_path / "in.zarr", shape=array.shape, chunks=(40, 50), dtype="<u2")[...] = array
    plan = run.json("plan", "in.zarr", "out.zarr", "--chunks", "32,50", "--parts", 3, "--memory", "8MiB")
    # rows 0 to 32, 32 to 64, 64 to 96 of blocks that begin at 0, 40 and 80, which are all stored with 40 rows
    rows = [p["bytes_read"] // 100 for p in plan["partitions"]]
    assert sorted(rows) == [40, 80, 80] and plan["bytes_twice"] == (200 - 120) * 100


def test_plans_that_are_not_of_this_partition_are_refused(run):
    Job(run, 4)
    assert "this plan is of 4 partitions: run them one by one, as --part 1/4" in run.error("run", "p.json", code=2)
    assert "this plan is of 4 partitions" in run.error("run", "p.json", "--part", "1/5", code=2)
    run("plan", "in", "out", "--chunks", "16,16,16", "--memory", "8MiB", "--save", "whole.json")
    assert "save one with --parts 3" in run.error("run", "whole.json", "--part", "1/3", code=2)
    assert "is of the whole" in run.error("finish", "whole.json")
    for bad in ("0/4", "5/4", "4", "1/", "/4", "-1/4", "1/4/4", "a/b", "1/99999999999999999999", "1/1048577", ""):
        assert "--part" in run.error("run", "p.json", "--part", bad, code=2)
    for bad in ("0", "-1", "x", "1048577"):
        assert "--parts" in run.error("plan", "in", "out", "--chunks", "16,16,16", "--parts", bad, code=2)
    one = json.loads((run.folder / "p.json").read_text())
    for change in ({"parts": 0}, {"parts": 1 << 30}, {"part": 5}, {"part": 0}, {"minimize": "luck"}, {"strategy": "luck"},
                   {"predicted": {}}, {"buffer": [1, 1, 1]}, {"problem_hash": "0" * 16}, {"parts": "4"}):
        (run.folder / "bad.json").write_text(json.dumps({**one, **change}))
        run("run", "bad.json", "--part", "1/4", code=1)
    assert not (run.folder / ("out" + PART)).exists()


def test_a_partition_can_be_planned_and_saved_by_itself(run):
    job = Job(run, 3)
    run("plan", "in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--part", "2/3", "--save", "two.json")
    run("run", "two.json", "--quiet")
    assert "partitions 1, 3 of 3 are not complete" in run.error("finish", "out")
    job.make([1, 3])
    run("finish", "out", "--quiet")
    os.remove(run.folder / "two.json")
    job.check()


# ---- Finishing --------------------------------------------------------------------------------------------------


def test_finish_names_what_is_missing(run):
    job = Job(run, 5)
    assert "there are no partitions to finish beside 'out'" in run.error("finish", "out")
    assert "there is nothing to finish" in run.error("finish", "p.json")
    job.make([2])
    assert "partitions 1, 3, 4, 5 of 5 are not complete: run them, then finish" in run.error("finish", "p.json")
    job.make([1, 3, 4])
    assert "partition 5 of 5 is not complete: run it, then finish" in run.error("finish", "out")
    assert not (run.folder / "out").exists()
    job.make([5, 5, 1])  # one that is complete stays so
    run("finish", "p.json", "--quiet")
    job.check()
    run("finish", "p.json", "--quiet")  # again, for who was killed before he could say so
    job.check()


def test_many_that_are_missing_are_not_all_named(run):
    job = Job(run, 40)
    job.make([7])
    assert "partitions 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13 and more of 40 are" in run.error("finish", "out")


def test_an_array_is_replaced_only_when_that_is_asked_for(run):
    job = Job(run, 2)
    old = sample((5, 5), "|u1", seed=3)
    write_blocks(run.folder / "out", old, (3, 5), "{0}_{1}.npy")
    assert "'out' is there already" in run.error(*job.args(1)).replace(str(run.folder) + "/", "")
    job.make([1, 2], "--overwrite")
    assert same(np.load(run.folder / "out" / "1_0.npy"), old[3:])
    assert "is there already" in run.error("finish", "p.json")
    run("finish", "p.json", "--overwrite", "--quiet")
    job.check()


def test_more_partitions_than_files_are_empty(run, tmp_path):
    array = sample((10, 10), "<u2")
    np.save(tmp_path / "in.npy", array)
    plan = run.json("plan", "in.npy", "out", "--chunks", "5,10", "--parts", 5, "--memory", "1MiB")
    assert plan["empty"] == 3 and sum(p["n_blocks"] for p in plan["partitions"]) == 2
    text = "".join(run("in.npy", "out", "--chunks", "5,10", "--part", f"{k}/5", "--memory", "1MiB").stdout for k in range(1, 6))
    assert text.count("empty, there are fewer files than partitions") == 3
    run("finish", "out", "--quiet")
    check_blocks(tmp_path / "out", array, (5, 10), "{0}_{1}.npy")


def test_an_array_without_elements(run, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((0, 4), "<u2"))
    for k in (2, 1, 3):
        run("in.npy", "out", "--chunks", "2,2", "--part", f"{k}/3", "--memory", "1MiB")
    run("finish", "out", "--quiet")
    run("in.npy", "whole", "--chunks", "2,2", "--memory", "1MiB", "--quiet")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_compressed_hdf5_is_one_writers(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 20), "<u2"))
    args = ["in.npy", "out.h5", "--chunks", "5,5", "--codec", "zlib:1", "--memory", "1MiB", "--quiet"]
    assert "one file with compressed chunks, which one process writes" in run.error(*args, "--part", "1/2")
    run(*args, "--part", "1/1")
    run("finish", "out.h5", "--quiet")
    with h5py.File(tmp_path / "out.h5") as file:
        assert same(file["data"][...], np.load(tmp_path / "in.npy"))


def test_casts_are_counted_over_all(run, tmp_path):
    array = np.linspace(-50, 400, 6000).reshape(60, 100)
    np.save(tmp_path / "in.npy", array)
    args = ["in.npy", "out", "--chunks", "7,30", "--to-dtype", "uint8", "--memory", "1MiB"]
    whole = run.json(*args)["cast"]
    os.rename(tmp_path / "out", tmp_path / "whole")
    make_parts(run, random.Random(1), 4, [*args, "--quiet"])
    text = run("finish", "out").stdout
    assert f"{whole['changed']} of {whole['values']} values changed" in text
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


# ---- Not the same job -------------------------------------------------------------------------------------------


def test_other_jobs_are_refused(run):
    job = Job(run, 4)
    job.make([1])
    part = run.folder / ("out" + PART)
    args = ["in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--quiet"]
    assert "holds 4 partitions, not 3" in run.error(*args, "--part", "1/3")
    other = [*args[:3], "16,16,16", *args[4:]]
    assert "are of other arrays" in run.error(*other, "--part", "2/4")
    run(*args, "--part", "2/4")  # the same job, from a command line
    before = contents(part)
    os.utime(run.folder / "in" / "0_0_0.npy", (1, 1))
    assert "the source was changed meanwhile" in run.error(*args, "--part", "3/4")
    assert "the source was changed meanwhile" in run.error("finish", "out")
    assert contents(part) == before


def test_a_run_of_the_whole_and_partitions_do_not_mix(run):
    job = Job(run, 3)
    job.make([1, 2])
    args = ["in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--quiet"]
    assert "holds 3 partitions: go on with those" in run.error(*args, "--resume")
    run(*args)  # without --resume it starts anew, as ever
    job.check()


@no_preload
def test_what_a_whole_run_left_is_not_taken_for_partitions(run, resplit_path):
    job = Job(run, 3)
    args = ["in", "out", "--chunks", written(job.chunks), "--memory", "8MiB", "--quiet", "--sync", "each", "--threads", "1"]
    kill_at_work(run, args, slow_disk(resplit_path, run.folder, 0.01), run.folder / ("out" + PART) / "journal")
    assert "was left by a run of the whole" in run.error(*job.args(1, "--resume"))
    job.make([1, 2, 3])
    run("finish", "p.json", "--quiet")
    job.check()


# ---- At the same time, killed -----------------------------------------------------------------------------------


def kill_at_work(run, args, env, journal):
    """Kills a run when its journal has grown; False when it had ended before."""
    process = subprocess.Popen([str(run.path), *map(str, args)], cwd=run.folder, env={**run.env, **env},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    head = journal.stat().st_size if journal.exists() else 0
    while process.poll() is None and (not journal.exists() or journal.stat().st_size <= max(head, 100)):
        time.sleep(0.001)
    process.kill()
    return process.wait() != 0


@no_preload
def test_a_second_process_on_a_partition_is_refused(run, resplit_path):
    job = Job(run, 2)
    env = slow_disk(resplit_path, run.folder, 0.02)
    process = subprocess.Popen([str(run.path), *map(str, job.args(1))], cwd=run.folder, env={**run.env, **env},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (run.folder / ("out" + PART) / "1-of-2" / "journal").exists() and process.poll() is None:
        time.sleep(0.001)
    assert process.poll() is None, process.communicate()
    assert "another run is at work on partition 1 of 2 of" in run.error(*job.args(1, "--resume"))
    assert "is at work on" in run.error("in", "out", "--chunks", "16,16,16", "--memory", "8MiB")
    job.make([2])
    assert "partition 1 of 2 is not complete" in run.error("finish", "out")
    assert process.wait(60) == 0
    run("finish", "out", "--quiet")
    job.check()


@no_preload
@pytest.mark.parametrize("sync", ["end", "each"])
def test_a_partition_that_was_killed_goes_on(run, resplit_path, sync):
    job = Job(run, 3, seed=5)
    env = slow_disk(resplit_path, run.folder, 0.005)
    own = run.folder / ("out" + PART) / "2-of-3"
    args = job.args(2, "--sync", sync, "--threads", "1", "--io", "threads", "--direct", "off")
    assert kill_at_work(run, args, env, own / "journal")
    kill_at_work(run, [*args, "--resume"], env, own / "journal")
    job.make([3])
    assert "partitions 1, 2 of 3 are not complete" in run.error("finish", "out")
    job.make([1, 2], "--resume")
    run("finish", "out", "--quiet")
    job.check()


@no_preload
def test_after_another_boot_only_what_is_on_disk_counts(run, resplit_path):
    job = Job(run, 3)
    own = run.folder / ("out" + PART) / "1-of-3"
    env = slow_disk(resplit_path, run.folder, 0.005)
    assert kill_at_work(run, job.args(1, "--threads", "1"), {**env, **boot(1)}, own / "journal")
    run(*job.args(2), env=boot(1))
    done = run.json(*[a for a in job.args(1, "--resume") if a != "--quiet"], env=boot(2))
    assert done["actual"]["bytes_written"] == done["predicted"]["bytes_written"]  # all of it again
    run(*job.args(3), env=boot(2))
    run("finish", "out", "--quiet", env=boot(3))
    job.check()


@no_preload
def test_a_partition_that_starts_anew_leaves_no_gaps_in_its_shards(run, resplit_path, tmp_path):
    array = sample((64, 64), "<u2")
    np.save(tmp_path / "in.npy", array)
    args = ["in.npy", "out.zarr", "--chunks", "4,4", "--shards", "32,32", "--codec", "zstd:1", "--memory", "4MiB", "--quiet",
            "--threads", "1"]
    run(*args)
    os.rename(tmp_path / "out.zarr", tmp_path / "whole.zarr")
    own = tmp_path / ("out.zarr" + PART) / "1-of-2"
    env = slow_disk(resplit_path, tmp_path, 0.005)
    assert kill_at_work(run, [*args, "--part", "1/2", "--sync", "each"], env, own / "journal")
    for k in (1, 2):
        run(*args, "--part", f"{k}/2")
    run("finish", "out.zarr", "--quiet")
    assert same(read_zarr(tmp_path / "out.zarr"), array)
    sizes = [{n: len(b) for n, b in contents(tmp_path / n).items() if n.startswith("c/")} for n in ("out.zarr", "whole.zarr")]
    assert sizes[0] == sizes[1] and len(sizes[0]) == 4


@no_preload
def test_finish_can_be_killed_at_any_moment(run):
    """strace kills it at the n-th call that changes names or brings data to disk; the next one finds its way."""
    job = Job(run, 2)
    job.make([1, 2])
    part, calls = run.folder / ("out" + PART), "rename,renameat,renameat2,unlink,unlinkat,rmdir,fsync,fdatasync,syncfs"
    shutil.copytree(part, run.folder / "kept", symlinks=True)
    published = []
    for n in itertools.count(1):
        done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", f"inject={calls}:signal=KILL:when={n}", str(run.path),
                               "finish", "p.json", "--quiet"], cwd=run.folder, env=run.env, capture_output=True, text=True)
        published.append((run.folder / "out").exists())
        if done.returncode == 0:
            break
        assert done.stderr == ""
        run("finish", "p.json", "--quiet")
        check_blocks(run.folder / "out", job.array, job.chunks, job.pattern)
        assert not part.exists()
        shutil.rmtree(run.folder / "out")
        shutil.copytree(run.folder / "kept", part, symlinks=True)
    assert n > 10 and False in published and sum(published) > 5


@no_preload
def test_a_partition_can_be_killed_at_any_moment(run):
    """The same for one that begins, alone and with others there, and ends."""
    job = Job(run, 3)
    part, calls = run.folder / ("out" + PART), "rename,renameat,renameat2,unlink,unlinkat,mkdir,ftruncate,fsync,fdatasync,syncfs"
    for others in ([], [1, 3]):
        for n in itertools.count(1):
            job.make(others)
            done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", f"inject={calls}:signal=KILL:when={n}",
                                   str(run.path), *job.args(2, "--io", "threads")], cwd=run.folder, env=run.env,
                                  capture_output=True, text=True)
            if done.returncode == 0:
                break
            job.make([3, 1])
            job.make([2], *(["--resume"] if n % 2 else []))
            run("finish", "p.json", "--quiet")
            job.check()
            shutil.rmtree(run.folder / "out")
        assert n > 3
        shutil.rmtree(part)


def test_all_partitions_begin_at_the_same_moment(run):
    """Whoever comes first makes the part; all others join."""
    job = Job(run, 12)
    at_work = [subprocess.Popen([str(run.path), *map(str, job.args(k, "--threads", "1"))], cwd=run.folder, env=run.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for k in range(1, 13)]
    for process in at_work:
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
    run("finish", "out", "--quiet")
    job.check()


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def check_of(data):
    """FNV-1a, continued from the magic word, of the length and of all bytes."""
    value = int.from_bytes(b"rsparts1", "little")
    for byte in len(data).to_bytes(8, "little") + data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def with_check_in_zero(record):
    """Another record whose check is right and ends in a zero byte: what is missing of it must not be taken for one."""
    assert check_of(record[:-8]) == int.from_bytes(record[-8:], "little")
    for n_lost in range(2**16): # the last number in it, which only a report has
        body = record[:-16] + n_lost.to_bytes(8, "little")
        if check_of(body) < 2**56:
            return body + check_of(body).to_bytes(8, "little")
    raise AssertionError("no such record")


def test_a_damaged_part_is_told(run):
    job = Job(run, 2)
    job.make([1, 2])
    part = run.folder / ("out" + PART)
    done = (part / "2-of-2" / "done").read_bytes()
    for bad in (b"", done[:-1], with_check_in_zero(done)[:-1], flipped(done, 100)):
        (part / "2-of-2" / "done").write_bytes(bad)
        assert "partition 2 of 2 is not complete" in run.error("finish", "out")
    (part / "2-of-2" / "done").write_bytes((part / "1-of-2" / "done").read_bytes())
    assert "partition 2 of 2 is not complete" in run.error("finish", "out")
    (part / "2-of-2" / "done").write_bytes(done)
    parts = (part / "parts").read_bytes()
    (part / "parts").write_bytes(flipped(parts, 20))
    assert "is damaged" in run.error("finish", "p.json")
    (part / "parts").write_bytes(parts)
    run("finish", "p.json", "--quiet")
    job.check()


def test_a_region_that_is_copied_as_stored_has_not_the_fingerprint_of_all(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((32, 32), "<u2"))
    run("in.npy", "a.zarr", "--chunks", "8,8", "--codec", "zstd:1", "--memory", "8MiB", "--quiet")
    whole = run.json("info", "a.zarr")["fingerprint"]
    assert whole
    run("extract", "a.zarr", "b.zarr", "--roi", "8:24,0:16", "--chunks", "8,8", "--memory", "8MiB", "--quiet")
    assert run.json("info", "b.zarr")["fingerprint"] in (None, run.json("fingerprint", "b.zarr", "--memory", "8MiB")["fingerprint"])
    for k in (1, 2):
        run("a.zarr", "c.zarr", "--part", f"{k}/2", "--memory", "8MiB", "--quiet")
    assert run.json("finish", "c.zarr")["fingerprint"] == whole == run.json("fingerprint", "c.zarr", "--memory", "8MiB")["fingerprint"]


# ---- One file, written by several -------------------------------------------------------------------------------


@pytest.mark.parametrize("name, options", [
    ("out.npy", []), ("out.npy", ["--to-order", "F"]), ("out.raw", []), ("out.nii", []), ("out.img", []),
    ("out.npy", ["--to-dtype", "float32"]),
    ("out.npy", ["--strategy", "naive"]), ("out.npy", ["--strategy", "multiple"]), ("out.npy", ["--roi", "3:90,:,10:100"]),
])
def test_one_file_is_shared(run, tmp_path, name, options):
    """8 MB, so that transfers pass by the page cache where they do; partitions at the same time."""
    array = sample((110, 120, 310), "<i2", seed=9)
    write_blocks(tmp_path / "in", array, (40, 50, 100), "{0}_{1}_{2}.npy")
    args = ["in", name, *(["--memory", "16MiB"] if "--memory" not in options else []), *options, "--quiet"]
    whole = run.json(*args)
    os.rename(tmp_path / name, tmp_path / "whole")
    head = tmp_path / "out.hdr"
    if head.exists():
        os.rename(head, tmp_path / "whole.hdr")
    make_parts(run, random.Random(3), 5, args, together=5)
    assert run.json("plan", *args[:2], "--memory", "16MiB", "--parts", 5,
                    *(options if options and options[0] in ("--roi", "--to-order") else []))["empty"] == 0
    done = run.json("finish", name)
    assert done["fingerprint"] == whole["fingerprint"] and done["parts"] == 5
    assert (tmp_path / name).read_bytes() == (tmp_path / "whole").read_bytes()
    if (tmp_path / "whole.hdr").exists():
        assert head.read_bytes() == (tmp_path / "whole.hdr").read_bytes()
    if name == "out.npy" and not options:
        assert same(np.load(tmp_path / name), array)
    if name == "out.raw":
        assert (tmp_path / name).read_bytes() == array.tobytes()
    if name == "out.nii":
        assert same(np.asarray(nib.load(tmp_path / name).dataobj), array)


@no_preload
def test_a_partition_of_a_shared_file_that_was_killed_goes_on(run, resplit_path, tmp_path):
    array = sample((60, 50, 40), "<u4")
    write_blocks(tmp_path / "in", array, (7, 50, 11), "{0}_{1}_{2}.npy")
    args = ["in", "out.npy", "--memory", "70KiB", "--quiet", "--threads", "1", "--io", "threads", "--sync", "each"]
    env = slow_disk(resplit_path, tmp_path, 0.002)
    for k in (2, 3):
        own = tmp_path / ("out.npy" + PART) / f"{k}-of-3"
        assert kill_at_work(run, [*args, "--part", f"{k}/3"], env, own / "journal")
    for k in (3, 1, 2):
        run(*args, "--part", f"{k}/3", "--resume")
    run("finish", "out.npy", "--quiet")
    assert same(np.load(tmp_path / "out.npy"), array)


def test_minc_pieces_and_files(run, tmp_path):
    array = np.random.default_rng(1).integers(0, 200, (20, 24, 30)).astype("u1")
    axes = [minc_support.Axis(name, n) for name, n in zip(("zspace", "yspace", "xspace"), array.shape)]
    minc_support.write(tmp_path / "in.mnc", array, axes)
    for name, options in (("pieces", ["--chunks", "8,9,10"]), ("one.mnc", ["--codec", "none"]),
                          ("chunks.mnc", ["--chunks", "8,8,8", "--codec", "none"])):
        run("plan", "in.mnc", name, *options, "--memory", "8MiB", "--parts", 3, "--save", "p.json")
        make_parts(run, random.Random(2), 3, ["run", "p.json", "--quiet"])
        run("finish", "p.json", "--quiet")
        assert not (tmp_path / (name + PART)).exists()
        if name.endswith(".mnc"):
            with h5py.File(tmp_path / name) as file:
                assert np.array_equal(file["minc-2.0/image/0/image"][...], array)
    for index, _, values in blocks_of(array, (8, 9, 10)):
        with h5py.File(tmp_path / "pieces" / ("%d_%d_%d.mnc" % index)) as file:
            assert np.array_equal(file["minc-2.0/image/0/image"][...], values)


# ---- Calls that fail --------------------------------------------------------------------------------------------


@no_preload
@pytest.mark.parametrize("kind", ["write", "open", "close", "rename", "fsync", "mkdir", "unlink", "truncate", "alloc"])
@pytest.mark.parametrize("name", ["out", "out.npy"])
def test_calls_that_fail(run, resplit_path, tmp_path, kind, name):
    """The n-th call fails, in a partition and then in finish: one sentence, nothing published, and the next run ends well."""
    array = sample((20, 12, 10), "<u2")
    np.save(tmp_path / "in.npy", array)
    args = ["in.npy", name, *(["--chunks", "7,5,10"] if name == "out" else []), "--memory", "1MiB", "--quiet", "--threads", "1",
            "--io", "threads"]
    env = {"LD_PRELOAD": shim(resplit_path, "fail"), "RESPLIT_FAIL_ROOT": str(tmp_path.resolve()),
           "RESPLIT_FAIL_REPORT": str(tmp_path) + ".report", "RESPLIT_FAIL_KIND": kind, "RESPLIT_FAIL_ERRNO": "5"}
    run("plan", *args[:-5], "--parts", 2, "--save", "p.json")
    n_failed = 0
    for n in range(1, 9 if kind != "alloc" else 60):
        at = n * {"alloc": 7, "close": 3}.get(kind, 1)
        for command in ([*args, "--part", "1/2"], [*args, "--part", "2/2", "--resume"], ["finish", "p.json", "--quiet"]):
            Path(env["RESPLIT_FAIL_REPORT"]).unlink(missing_ok=True)  # it counts on
            done = run.anyhow(*command, env={**env, "RESPLIT_FAIL_AT": str(at)})
            if done.returncode != 0:
                n_failed += 1
                assert done.returncode == 1 and done.stderr.startswith("resplit: ") and done.stderr.count("\n") == 1, done.stderr
                if command[0] == "finish" and not (tmp_path / (name + PART)).exists():
                    assert (tmp_path / name).exists()  # it failed only to say so
                    continue
                if command[0] != "finish":
                    assert not (tmp_path / name).exists()
                done = run.anyhow(*command)
                if command[0] == "finish" and name == "out.npy" and done.returncode != 0:  # what is left says not of what
                    assert "no partitions" in done.stderr and (tmp_path / name).exists()
                    shutil.rmtree(tmp_path / (name + PART), ignore_errors=True)
                else:
                    assert done.returncode == 0, (command, n, done.stderr)
        if name == "out.npy":
            assert same(np.load(tmp_path / name), array)
            os.remove(tmp_path / name)
        else:
            check_blocks(tmp_path / name, array, (7, 5, 10), "{0}_{1}_{2}.npy")
            shutil.rmtree(tmp_path / name)
        assert not (tmp_path / (name + PART)).exists()
    assert n_failed > 0 or (kind, name) in (("truncate", "out"), ("unlink", "out.npy"), ("unlink", "out"))
