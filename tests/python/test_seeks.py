# SPDX-License-Identifier: BSD-3-Clause
"""Seeks counted by someone else: the system calls of the command, as strace saw them."""

import os
import random
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import sample, write_blocks, written

SEED = int(os.environ.get("RESPLIT_SEED", "20261115"))
OPEN = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]*)".*\) += (\d+)')
MOVE = re.compile(r"(pread64|pwrite64)\((\d+),.*, (\d+), (\d+)\) += (\d+)")
ANY_TRANSFER = re.compile(r"^(read|write|preadv2?|pwritev2?|readv|writev|copy_file_range|sendfile|mmap)\((\d+)")


def can_trace():
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


def is_block(path):
    return re.search(r"\.(npy|raw)(\.resplit-part/data)?$", path) is not None


def data_offset(path):
    """Where the values start in a block, by NumPy."""
    if not path.endswith(".npy"):
        return 0
    return np.load(path, mmap_mode="r").offset


def traced_transfers(log, folder):
    """Data transfers of block files: (kind, path, offset, bytes), in order. Before the output's place is made, files are
    only looked at."""
    paths, moves = {}, []
    lines = log.splitlines()
    start = next(i for i, line in enumerate(lines) if ".resplit-part" in line)
    for line in lines[start:]:
        line = re.sub(r"^\d+ +", "", line)
        opened, moved, other = OPEN.match(line), MOVE.match(line), ANY_TRANSFER.match(line)
        if opened:
            paths[opened.group(2)] = opened.group(1)
        elif moved:
            kind, fd, asked, at, done = moved.groups()
            path = paths.get(fd, "")
            if is_block(path):
                real = (folder / path.replace(".resplit-part/data", "")).as_posix()
                head = max(0, data_offset(real) - int(at))  # may be written together with the first values
                if int(done) > head:
                    assert asked == done, line
                    moves.append((kind, real, int(at) + head, int(done) - head))
        elif other and is_block(paths.get(other.group(2), "")):
            raise AssertionError(f"data moved in a way that is not counted: {line}")
    return moves


def random_problem(rnd, folder):
    ndim = rnd.choice([1, 2, 3, 3, 4])
    most = {1: 200, 2: 30, 3: 12, 4: 6}[ndim]
    shape = [rnd.randint(2, most) for _ in range(ndim)]
    kind = rnd.choice(["split", "merge", "resplit"])
    source = [-1 if kind == "split" else rnd.randint(1, n) for n in shape]
    target = [-1 if kind == "merge" else rnd.randint(1, n) for n in shape]
    suffix, order = rnd.choice([".npy", ".raw"]), rnd.choice("CF")
    array = sample(shape, rnd.choice(["<u2", ">f8", "u1"]))
    names = "_".join(f"{{{d}}}" for d in range(ndim)) + suffix
    write_blocks(folder / "in", array, source, names, order)
    options = []
    if suffix == ".raw":
        options = ["--shape", written(shape), "--dtype", array.dtype.str, "--order", order, "--from", written(source)]
    if rnd.random() < 0.3:
        roi = [sorted(rnd.sample(range(n + 1), 2)) for n in shape]
        options += ["--roi", ",".join(f"{a}:{b}" for a, b in roi)]
    return [*options, "--chunks", written(target)], kind


@pytest.mark.skipif(not can_trace(), reason="strace is not there, or may not trace")
@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers make system calls of their own")
def test_system_calls_are_the_predicted_seeks(run, tmp_path, resplit_path):
    rnd = random.Random(SEED)
    print(f"seed {SEED}")
    used = {}
    for i in range(50):
        folder = tmp_path / str(i)
        folder.mkdir()
        run.folder = folder
        options, kind = random_problem(rnd, folder)
        strategies = ["keep", "naive", "auto"] if kind == "resplit" else ["multiple", "clustered", "keep", "naive"]
        options += ["--strategy", rnd.choice(strategies), "--memory"]
        # From the least budget that works upwards, so that buffers are small and strategies differ.
        refusal = run.error("plan", "in", "out", *options, "1B")
        least = int(re.search(r"at least (\d+) bytes", refusal).group(1))
        options.append(f"{least + rnd.choice([0, 500, 2000, 10000])}B")
        plan = run.json("plan", "in", "out", *options)
        done = subprocess.run(["strace", "-f", "-o", "log", resplit_path, "in", "out", "--json", "--io", "threads", "--threads", "1", *options], cwd=folder,
                              env=run.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        moves = traced_transfers((folder / "log").read_text(), folder)
        # Every run here is smaller than the staging area, so that one transfer is one run.
        reads = [m for m in moves if m[0] == "pread64"]
        writes = [m for m in moves if m[0] == "pwrite64"]
        assert len(reads) == plan["predicted"]["read_seeks"], (i, options)
        assert len(writes) == plan["predicted"]["write_seeks"], (i, options)
        assert sum(m[3] for m in reads) == plan["predicted"]["bytes_read"]
        assert sum(m[3] for m in writes) == plan["predicted"]["bytes_written"]
        used[plan["strategy"]] = used.get(plan["strategy"], 0) + 1
        shutil.rmtree(folder)
    print(used)
    assert all(used[s] >= 5 for s in ("keep", "naive", "multiple", "clustered")), used
