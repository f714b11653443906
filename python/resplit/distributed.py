# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-calls
"""Arrays that are resplit by the workers of a Dask cluster.

The target is divided into partitions that share no file. Each is a task, planned by itself for the memory that a
worker can spare;
when all are complete, one more task compares fingerprints and publishes the whole. A task whose worker dies is
done by another one, which goes on where the first was killed. Workers have to see the same files.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from distributed import Client, Event, as_completed, get_worker, wait

from . import _core, _words
from ._array import Array
from ._errors import HINT, Canceled, ExistsError, ResplitError, UnsupportedError, from_core
from ._options import RunOptions
from ._plan import Result, result_of
from ._progress import Reporter
from ._sources import Source, as_array
from ._target import How, Target
from ._words import Memory
from .dask._move import SHARE

__all__ = ["resplit", "worker_memory"]

PER_WORKER = 4  # partitions, so that a worker that is slower than others takes fewer
RETRIES = 3

_ENGINE = threading.Lock()  # a worker with several threads still has one budget


@dataclass(frozen=True)
class Job:
    """What every task needs to know: no arrays, only where they are."""

    source: tuple[str, dict[str, Any]]
    path: str
    target: Target
    how: How
    n_parts: int
    options: RunOptions = field(default_factory=RunOptions)
    stop: str = ""  # name of the event that the client sets when it gives up

    def arrays(self) -> tuple[Array, Array]:
        from ._array import open_array

        source = open_array(self.source[0], **self.source[1])
        return source, self.target.create(self.path, source)


class TaskError(Exception):
    """An error of ours on its way from a worker: exceptions with two parents cannot be sent by all versions of
    tblib."""

    def __init__(self, code: str, message: str, errno: int | None, needed: int, resumable: bool) -> None:
        super().__init__(code, message, errno, needed, resumable)


def sendable(task: Callable[..., Any]) -> Callable[..., Any]:
    """A task whose errors can be sent."""

    @functools.wraps(task)
    def call(*args: Any) -> Any:
        try:
            return task(*args)
        except ResplitError as error:
            raise TaskError(error.code, str(error), error.errno, getattr(error, "needed", 0), error.resumable) from None

    return call


def result_from(future: Any) -> Any:
    """What a task gave, or its error as it was."""
    try:
        return future.result()
    except TaskError as error:
        code, message, errno, needed, resumable = error.args
        raise from_core(code, message.removesuffix(f"; {HINT}"), errno or 0, needed, resumable) from None


# ---- Tasks ---------------------------------------------------------------------------------------


@sendable
def run_partition(job: Job, part: int) -> int:
    """A task: makes a partition, or goes on with it, and tells its bytes."""
    with _ENGINE:
        source, target = job.arrays()
        info = _core.part_info(source._handle, target._handle, part, job.n_parts)
        if not info["done"]:
            _run(job, part, source, target)
        return int(info["bytes"])


def _run(job: Job, part: int, source: Array, target: Array) -> None:
    plan = _core.part_resume(source._handle, target._handle, part, job.n_parts) or _plan(job, part, source, target)
    _core.run(plan, source._handle, target._handle, _options(job).core())


def _plan(job: Job, part: int, source: Array, target: Array) -> Any:
    how, memory = job.how, _words.memory_or_default(job.how.memory)
    temp = None if how.temp is None else os.fspath(how.temp)
    return _core.part_plan(source._handle, target._handle, memory, how.strategy, how.minimize, temp, part, job.n_parts)


@sendable
def finish(job: Job) -> Result:
    """A task: all partitions are complete."""
    source, target = job.arrays()
    info = _core.finish(source._handle, target._handle, job.n_parts, _options(job).core())
    return result_of(target.path, f"{job.n_parts} partitions", info)


@sendable
def run_whole(job: Job) -> Result:
    """A task, for a target that cannot be divided."""
    with _ENGINE:
        source, target = job.arrays()
        plan = job.how.plan(source, target, resume=True)
        return plan._run(_options(job))


def _options(job: Job) -> RunOptions:
    """With as many threads as the worker has, unless it was said how many; stops when the client does."""
    threads = job.options.threads or get_worker().state.nthreads
    return replace(job.options, reporter=Reporter(Stopper(job.stop)), threads=threads, resume=True)


class Stopper:
    """Is told of progress, and raises when the client has given up; asks the scheduler about once a second."""

    def __init__(self, name: str) -> None:
        self.event = Event(name)
        self.asked = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.asked > 1:
            self.asked = now
            if self.event.is_set():
                raise Canceled("the client has given up")


# ---- The client ----------------------------------------------------------------------------------


def worker_memory(client: Client) -> int | None:
    """What a partition may use: a share of a worker's limit, less what is in use; the least of all. None: no limits."""
    found = []
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        if worker["memory_limit"]:
            found.append(int(SHARE * worker["memory_limit"]) - worker["metrics"].get("memory", 0))
    return min(found) if found else None


def resplit(src: Source, dst: str | os.PathLike[str], *, client: Client, **options: Any) -> Result:
    """As :func:`resplit.resplit` with a client.

    Parameters
    ----------
    src : path-like, Array, zarr.Array or h5py.Dataset
        Somewhere that all workers see.
    dst : path-like
        The same.
    client : distributed.Client
    **options
        Of :func:`resplit.resplit`, but for `device` and `all_levels`. `memory` is never more than workers can spare,
        see :func:`worker_memory`; `progress` is told of each partition that is complete; `resume` goes on with the
        partitions that an earlier call left.

    Returns
    -------
    Result
        What all partitions did; the fingerprint is that of the whole.
    """
    from ._api import resplit as by_client

    return by_client(src, dst, client=client, **options)


def run(
    client: Client, src: Source, dst: Any, target: Target, how: How, options: RunOptions, partitions: int | None
) -> Result:
    """The work of a client: checks, submits, waits and finishes."""
    source, path = _checked(src, dst, how)
    how = How(_budget(client, how.memory), how.strategy, how.minimize, how.temp)
    token = f"{os.path.basename(path)}-{uuid.uuid4().hex[:8]}"
    n_parts = _count(client, path, partitions, options.resume)
    job = Job(source._keep, path, target, how, n_parts, replace(options, reporter=None), f"resplit-stop-{token}")
    made = target.create(path, source)
    try:
        bytes_of = [_core.part_info(source._handle, made._handle, k + 1, n_parts)["bytes"] for k in range(n_parts)]
    except UnsupportedError:
        return _submit(client, run_whole, job, key=f"resplit-whole-{token}")
    _plan(job, max(range(n_parts), key=lambda k: bytes_of[k]) + 1, source, made)  # what cannot be done is told at once
    _run_all(client, job, bytes_of, token, options.reporter)
    return _submit(client, finish, job, key=f"resplit-finish-{token}")


def _checked(src: Source, dst: Any, how: How) -> tuple[Array, str]:
    if not isinstance(dst, (str, os.PathLike)):
        raise TypeError(f"workers write files: give a path, not a {type(dst).__name__}")
    if how.device is not None:
        raise ValueError("plans of workers are not for a device: leave it out")
    if isinstance(src, (str, os.PathLike)) and _core.is_group(os.fspath(src)):
        raise ValueError(f"'{os.fspath(src)}' is a group, and workers make one array: call it for each")
    source = as_array(src)
    if source._keep is None:
        raise TypeError("workers open the source by its path, and this one has none: store it first")
    return source, os.path.abspath(dst)


def _submit(client: Client, task: Callable[[Job], Result], job: Job, key: str) -> Result:
    result: Result = result_from(client.submit(task, job, key=key, retries=RETRIES, pure=False))
    return result


def _budget(client: Client, memory: Memory | None) -> int | None:
    limit = worker_memory(client)
    if limit is not None and limit <= 0:
        raise ValueError(f"workers have no memory to spare: {-limit} bytes more than {SHARE:.0%} of a limit are in use")
    if memory is None:
        return limit
    return _words.parse_bytes(memory) if limit is None else min(limit, _words.parse_bytes(memory))


def _count(client: Client, path: str, partitions: int | None, resume: bool) -> int:
    """How many partitions; as many as an earlier call had, if it is gone on with."""
    found = _core.parts_found(path)
    if found and not resume:
        raise ExistsError(
            f"'{path}.resplit-part' holds {found} partitions of an earlier run: go on with resume=True, "
            "or remove it to start anew"
        )
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions cannot be {partitions}: give at least 1")
    return found or partitions or PER_WORKER * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))


def _run_all(client: Client, job: Job, bytes_of: list[int], token: str, reporter: Reporter | None) -> None:
    """The largest first, and no more at a time than there are workers: a worker with several threads has one budget."""
    waiting = sorted(range(job.n_parts), key=lambda k: bytes_of[k])
    done, total = 0, sum(bytes_of)

    def submit() -> Any:
        part = waiting.pop() + 1
        return client.submit(
            run_partition, job, part, key=f"resplit-part-{token}-{part}-of-{job.n_parts}", retries=RETRIES, pure=False
        )

    at_once = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    under_way = as_completed([submit() for _ in range(min(at_once, len(waiting)))])
    futures = set(under_way.futures)
    event = Event(job.stop, client=client)
    try:
        for future in under_way:
            done += result_from(future)
            if reporter is not None and reporter.callback is not None:
                reporter.callback(done, total, 0)
            if waiting:
                following = submit()
                futures.add(following)
                under_way.add(following)
    except BaseException:
        event.set()
        wait(list(futures))  # so that nobody is at work on what a next call goes on with
        raise
