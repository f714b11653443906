# SPDX-License-Identifier: BSD-3-Clause
"""Plans, and what runs make of them."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import _core, _words
from ._array import Array
from ._options import RunOptions, run_options
from ._progress import Progress


@dataclass(frozen=True)
class Cost:
    """What a plan costs, or a run did. A seek is one contiguous run of bytes that is read or written in one block."""

    read_seeks: int
    write_seeks: int
    bytes_read: int
    bytes_written: int
    held_bytes: int
    peak_bytes: int
    temp_bytes: int

    @property
    def seeks(self) -> int:
        return self.read_seeks + self.write_seeks

    @property
    def bytes_moved(self) -> int:
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class Losses:
    """What a cast did to values."""

    n_values: int
    n_out_of_range: int
    n_not_a_number: int
    n_rounded: int

    @property
    def n_changed(self) -> int:
        return self.n_out_of_range + self.n_not_a_number + self.n_rounded


class Device(NamedTuple):
    """What a disk can do: seconds of a seek, seeks at once, bytes per second."""

    name: str
    latency: float
    depth: float
    read_bandwidth: float
    write_bandwidth: float
    both_bandwidth: float


def find_device(device: str | Device | None, path: str | None) -> Device | None:
    """A device by name; ``"measure"`` looks at the disk that `path` will be on, for a second or two."""
    if device is None or isinstance(device, Device):
        return device
    if device == "measure":
        return Device(*_core.device_measure(os.path.dirname(os.path.abspath(path or "."))))
    return Device(*_core.device_find(device))


@dataclass(frozen=True)
class Result:
    """What a run did.

    Attributes
    ----------
    path : str or None
        Where the target is; None for one in memory.
    cost : Cost
        As counted; what an earlier run did, that was gone on with, is not in it.
    seconds : float
    fingerprint : str or None
        Of the values: see :func:`resplit.fingerprint`. None where it is not known, as after a cast.
    losses : Losses
        By a cast.
    stored_read, stored_written : int
        Bytes of encoded blocks, as they are on disk.
    resumed : bool
        It went on with what an earlier run had done.
    threads : int
    io : str or None
    strategy : str
    arrays : dict of str to Result
        Of a group: of each array that was made, without those that an earlier run had completed.
    """

    path: str | None
    cost: Cost
    seconds: float
    fingerprint: str | None
    losses: Losses
    stored_read: int
    stored_written: int
    resumed: bool
    threads: int
    io: str | None
    strategy: str
    arrays: dict[str, Result] = field(default_factory=dict)

    def __repr__(self) -> str:
        facts = [
            f"{_words.format_bytes(self.cost.bytes_written)} in {_words.format_seconds(self.seconds)}",
            f"{self.cost.seeks:,} seeks",
            f"peak {_words.format_bytes(self.cost.peak_bytes)}",
            self.strategy,
        ]
        if self.fingerprint:
            facts.append(f"fingerprint {self.fingerprint}")
        if self.losses.n_changed:
            facts.append(f"{self.losses.n_changed:,} of {self.losses.n_values:,} values changed by the cast")
        return f"<resplit.Result{'' if self.path is None else ' ' + repr(self.path)}: {', '.join(facts)}>"


def result_of(path: str | None, strategy: str, info: _core.ResultInfo) -> Result:
    rest: dict[str, Any] = dict(info)
    rest["cost"] = Cost(**info["cost"])
    rest["losses"] = Losses(**info["losses"])
    rest["fingerprint"] = f"{info['fingerprint']:016x}" if info["fingerprint"] else None
    return Result(path=path, strategy=strategy, **rest)


class Plan:
    """How an array will be moved into another, and what that will cost. Nothing has been touched.

    Made by :func:`resplit.plan`, or loaded by :func:`resplit.load_plan`.

    Attributes
    ----------
    source, target : Array
    strategy : str
    memory : int
        The budget.
    predicted, floor : Cost
        What it will cost, seeks and bytes exactly and memory at most; and what no plan can do with less of.
    seconds, floor_seconds : float
        On the device.
    device : Device
    buffer : tuple
        Lengths of the buffers along each axis: one number, or a tuple where they differ.
    n_buffers : int
    loop_order : tuple of int
        Axes, outermost loop first.
    kept : tuple of bool
        Along which axes target blocks are held until they are complete.
    """

    def __init__(self, handle: Any, source: Array, target: Array) -> None:
        self._handle = handle
        self.source = source
        self.target = target
        info = _core.plan_info(handle)
        self.strategy = info["strategy"]
        self.memory = info["memory"]
        self.shape = info["shape"]
        self.buffer = info["buffer"]
        self.n_buffers = info["n_buffers"]
        self.loop_order = info["loop_order"]
        self.kept = tuple(bool(k) for k in info["kept"])
        self.predicted = Cost(**info["predicted"])
        self.floor = Cost(**info["floor"])
        self.seconds = info["seconds"]
        self.floor_seconds = info["floor_seconds"]
        self.device = Device(*info["device"])

    @property
    def seeks(self) -> int:
        """Predicted, of reading and writing."""
        return self.predicted.seeks

    @property
    def peak_bytes(self) -> int:
        """Memory, at most."""
        return self.predicted.peak_bytes

    def run(
        self,
        *,
        progress: Progress = None,
        threads: int | None = None,
        io: str | None = None,
        direct: str | bool | None = None,
        sync: str | None = None,
        resume: bool = False,
        overwrite: bool | None = None,
    ) -> Result:
        """Does it. The parameters are those of :func:`resplit.resplit`."""
        if overwrite:
            _core.array_overwrite(self.target._handle)
        with run_options(progress, io=io, direct=direct, sync=sync, threads=threads, resume=resume) as options:
            return self._run(options)

    def _run(self, options: RunOptions) -> Result:
        info = _core.run(self._handle, self.source._handle, self.target._handle, options.core())
        return result_of(self.target.path, self.strategy, info)

    def deliver(
        self,
        take: Callable[[tuple[int, ...], tuple[int, ...], memoryview, bool], object],
        *,
        progress: Progress = None,
        threads: int | None = None,
        io: str | None = None,
        direct: str | bool | None = None,
    ) -> Result:
        """Does it, but hands what would be written to a function: for targets that only somebody else can write to.

        Parameters
        ----------
        take : callable
            Called as ``take(start, shape, data, encoded)``, one at a time, by threads of the engine. `start` and `shape`
            are those of a box of the target. `encoded`: `data` is a whole block as it would be stored, which may reach
            out of the array; else the elements of the box, in the target's order. `data` is gone when the function
            returns. Every element comes exactly once. Whatever is raised stops the run.
        progress, threads, io, direct
            As in :func:`resplit.resplit`.
        """
        with run_options(progress, io=io, direct=direct, sync=None, threads=threads, resume=False) as options:
            info = _core.deliver(self._handle, self.source._handle, self.target._handle, take, options.core())
        return result_of(self.target.path, self.strategy, info)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file, for :func:`resplit.load_plan`, or the command ``resplit run``."""
        _core.plan_save(self._handle, self.source._handle, self.target._handle, os.fspath(path))

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Draws the plan as an SVG page, into a file."""
        _core.plan_picture(self._handle, os.fspath(path))

    def _svg(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            self.picture(path)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def _facts(self) -> list[tuple[str, str]]:
        cost, floor = self.predicted, self.floor
        order = [f"axis {d}{' (kept)' if self.kept[d] else ''}" for d in self.loop_order]
        return [
            ("source", repr(self.source)),
            ("target", repr(self.target)),
            ("strategy", self.strategy),
            ("buffers", f"{self.n_buffers:,} of {tuple(max(b) if isinstance(b, tuple) else b for b in self.buffer)}"),
            ("loops", ", ".join(order) or "none"),
            (
                "seeks",
                f"{cost.seeks:,} ({cost.read_seeks:,} to read, {cost.write_seeks:,} to write); floor {floor.seeks:,}",
            ),
            ("bytes moved", f"{_words.format_bytes(cost.bytes_moved)}; floor {_words.format_bytes(floor.bytes_moved)}"),
            ("peak memory", f"{_words.format_bytes(cost.peak_bytes)} of {_words.format_bytes(self.memory)}"),
            ("temporary", _words.format_bytes(cost.temp_bytes)),
            (
                "time",
                f"{_words.format_seconds(self.seconds)} on {self.device.name}; "
                f"floor {_words.format_seconds(self.floor_seconds)}",
            ),
        ]

    def __repr__(self) -> str:
        return "<resplit.Plan>\n" + "\n".join(f"  {name:<12} {value}" for name, value in self._facts())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(n)}</th><td>{html.escape(v)}</td></tr>" for n, v in self._facts())
        svg = self._svg()
        return f"<div><table>{rows}</table>{svg[svg.index('<svg') :]}</div>"


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan file, which need not be trusted: it is checked in full, and its arrays are opened.

    Parameters
    ----------
    path : path-like
        A file that :meth:`Plan.save` or ``resplit plan --save`` wrote.

    Returns
    -------
    Plan
        To be run with :meth:`Plan.run`. It does not overwrite, whatever it did when it was saved, unless asked to.
    """
    source, target, plan = _core.plan_load(os.fspath(path))
    return Plan(plan, Array(source), Array(target))
