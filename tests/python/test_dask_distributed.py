# SPDX-License-Identifier: BSD-3-Clause
"""Two workers make one array. The oracle is what one process makes, and NumPy."""

import os
import resource
import signal
import time

import dask.array as da
import numpy as np
import pytest
import resplit
import resplit.dask
import resplit.distributed
import zarr
from dask_support import MEMORY, no_remains, sample
from distributed import Client, LocalCluster

SHAPE = (48, 40, 50)
LIMIT = 700 << 20


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=2, memory_limit=LIMIT, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def source():
    resplit.resplit(sample(SHAPE, "<u2"), "in.zarr", chunks=(7, 40, 25), codec="zstd:1", sync="none")
    return os.path.abspath("in.zarr")


def files_of(path):
    """All files, with their bytes."""
    found = {}
    for folder_of, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(folder_of, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder_of, name), path)] = file.read()
    return {name: data for name, data in found.items() if name not in (".resplit.json", "resplit.json")}  # have a number of their own


WAYS = {
    "zarr": ("out.zarr", {"chunks": (48, 10, 10)}),
    "shards": ("out.zarr", {"chunks": (8, 10, 10), "shards": (16, 20, 50)}),
    "npy": ("out", {"chunks": (12, 7, -1), "format": "npy"}),
    "a region": ("out.zarr", {"chunks": (10, 10, 50), "roi": (slice(5, 48), slice(None), slice(0, 50)), "codec": "none"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_one_process_makes(client, source, way):
    path, options = WAYS[way]
    seen = []
    result = resplit.resplit(source, path, client=client, progress=lambda done, total: seen.append((done, total)), **options)
    one = resplit.resplit(source, "one-" + path, **options)
    mine, other = files_of(path), files_of("one-" + path)
    if way == "shards":  # blocks lie in a shard in the order in which they were ready
        assert sorted(mine) == sorted(other) and resplit.verify(path, "one-" + path).equal
    else:
        assert mine == other
    assert result.fingerprint == one.fingerprint == resplit.fingerprint(path)
    assert result.cost.bytes_written == one.cost.bytes_written
    assert len(seen) > 1 and seen[-1][0] == seen[-1][1]
    no_remains()


def test_a_worker_that_is_killed(client):
    """Its partition is gone on with by another one."""
    data = sample((128, 128, 256), "<u4")
    np.save("in.npy", data)
    pids = client.run(os.getpid)
    killed = []

    def kill(done, total):
        if not killed:
            (call,) = [c for c in client.processing().items() if c[1]][:1] or [(next(iter(pids)), ())]
            killed.append(pids[call[0]])
            os.kill(killed[0], signal.SIGKILL)

    result = resplit.distributed.resplit("in.npy", "out.zarr", client=client, chunks=(128, 8, 16), codec="zstd:6", partitions=6, memory=MEMORY,
                                         progress=kill)
    client.wait_for_workers(2, timeout=60)
    assert killed and killed[0] not in client.run(os.getpid).values()
    assert np.array_equal(zarr.open_array("out.zarr")[...], data)
    assert result.fingerprint == resplit.fingerprint("in.npy")
    no_remains()


def test_memory_of_workers(client):
    """The budget of a run is what a worker grows by, whatever the array has."""
    resplit.resplit(np.broadcast_to(sample((256, 512), "<u2"), (512, 256, 512)), "in.zarr", chunks=(4, 256, 512), codec="none", sync="none")  # 128 MiB
    before = client.run(peak)
    result = resplit.distributed.resplit("in.zarr", "out.zarr", client=client, chunks=(512, 32, 32), memory="24MiB", partitions=4)
    after = client.run(peak)
    assert result.cost.peak_bytes <= 24 << 20
    for worker, bytes_before in before.items():
        assert after[worker] - bytes_before < 48 << 20  # and the interpreter's own


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_memory_that_workers_can_spare(client):
    spare = resplit.distributed.worker_memory(client)
    assert 0 < spare < 0.6 * LIMIT
    assert resplit.distributed._budget(client, None) <= spare + (16 << 20)
    assert resplit.distributed._budget(client, "10GiB") < 0.6 * LIMIT
    assert resplit.distributed._budget(client, "64MiB") == 64 << 20


def test_resume(client, source):
    """A call that gives up leaves partitions, which the next one goes on with."""
    def give_up(done, total):
        raise KeyError("enough")

    options = {"client": client, "chunks": (12, 10, 25), "partitions": 5}
    with pytest.raises(KeyError):
        resplit.distributed.resplit(source, "out.zarr", progress=give_up, **options)
    assert os.path.isdir("out.zarr.resplit-part") and not os.path.exists("out.zarr")
    with pytest.raises(resplit.ExistsError, match="5 partitions of an earlier run: go on with resume=True"):
        resplit.distributed.resplit(source, "out.zarr", **options)
    result = resplit.distributed.resplit(source, "out.zarr", resume=True, **{**options, "partitions": 7})
    assert result.strategy == "5 partitions" and result.fingerprint == resplit.fingerprint(source)
    assert np.array_equal(zarr.open_array("out.zarr")[...], zarr.open_array(source)[...])
    no_remains()


def test_a_target_that_cannot_be_divided(client, source):
    result = resplit.distributed.resplit(source, "out.h5", client=client, chunks=(12, 10, 25), codec="zlib:1")
    assert result.fingerprint == resplit.fingerprint(source)
    assert resplit.verify(source, "out.h5").equal


def test_errors_come_back(client, source):
    with pytest.raises(TypeError, match="by its path"):
        resplit.distributed.resplit(np.zeros(3), "out.zarr", client=client)
    with pytest.raises(TypeError, match="workers write files"):
        resplit.resplit(source, np.zeros(SHAPE, "u2"), client=client)
    with pytest.raises(ValueError, match="give its client"):
        resplit.resplit(source, "out.zarr", partitions=3)
    zarr.create_group("group.zarr")
    with pytest.raises(ValueError, match="is a group"):
        resplit.resplit("group.zarr", "out.zarr", client=client)
    with pytest.raises(resplit.BudgetError):
        resplit.distributed.resplit(source, "out.zarr", client=client, chunks=(48, 10, 10), memory="20kB")
    np.save("there.npy", np.zeros(3))
    with pytest.raises(resplit.ExistsError):
        resplit.distributed.resplit(source, "there.npy", client=client)
    with open(os.path.join(source, "c", "0", "0", "0"), "r+b") as file:
        file.write(b"damage!")
    with pytest.raises(resplit.FormatError, match="c/0/0/0"):  # found by a worker
        resplit.distributed.resplit(source, "out.zarr", client=client, chunks=(48, 10, 10))


@pytest.mark.parametrize("method", ["tasks", "p2p"])
def test_the_hook_with_a_cluster(client, source, method):
    """A store that is recognised is one task, on one worker."""
    client.run(resplit.dask.reset_stats)
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY):
        da.from_zarr(source).rechunk((48, 10, 10), method=method).to_zarr(os.path.abspath("out.zarr"))
    assert resplit.dask.stats().taken == 1, resplit.dask.explain()  # by the scheduler, which is in this process
    assert sum(stats.runs for stats in client.run(resplit.dask.stats).values()) == 1
    assert np.array_equal(zarr.open_array("out.zarr")[...], zarr.open_array(source)[...])
    with resplit.dask.optimize(memory=MEMORY):
        (da.from_zarr(source).rechunk((48, 10, 10), method=method) + 1).to_zarr(os.path.abspath("sum.zarr"))
    assert np.array_equal(zarr.open_array("sum.zarr")[...], zarr.open_array(source)[...] + 1)


def test_what_was_computed_by_workers(client, source):
    array = da.from_zarr(source) + 1
    resplit.dask.store(array, os.path.abspath("out.zarr"), memory=MEMORY, chunks=(48, 10, 10))
    assert np.array_equal(zarr.open_array("out.zarr")[...], zarr.open_array(source)[...] + 1)
    no_remains()


def test_names_of_tasks(client, source):
    """Ordinary tasks, which the dashboard shows by these names."""
    seen = set()

    def look(done, total):
        seen.update(key for keys in client.processing().values() for key in keys)
        time.sleep(0.01)

    resplit.distributed.resplit(source, "out.zarr", client=client, chunks=(6, 5, 5), partitions=8, progress=look)
    assert any(str(key).startswith("resplit-part-out.zarr-") for key in seen)
