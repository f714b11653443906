# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

class _Array: ...  # capsules
class _Plan: ...
class _Group: ...

_Path = str | bytes
_Progress = Callable[[int, int, int], object]
_Options = tuple[_Progress | None, str | None, str | None, str | None, int, bool]
_Chunks = Sequence[int | Sequence[int]]
_Device = tuple[str, float, float, float, float, float]

class Info(TypedDict):
    path: str | None
    format: str
    dtype: str
    order: str | None
    pattern: str | None
    codec: str | None
    dataset: str | None
    header: str | None
    notes: str | None
    folder: bool
    shape: tuple[int, ...]
    origin: tuple[int, ...]
    chunks: tuple[int | tuple[int, ...], ...]
    shards: tuple[int, ...] | None
    itemsize: int
    n_blocks: int
    n_elements: int
    bytes: int
    n_stored: int
    stored_bytes: int
    fingerprint: int

class PlanInfo(TypedDict):
    strategy: str
    memory: int
    shape: tuple[int, ...]
    buffer: tuple[int | tuple[int, ...], ...]
    n_buffers: int
    loop_order: tuple[int, ...]
    kept: tuple[int, ...]
    predicted: dict[str, int]
    seconds: float
    floor: dict[str, int]
    floor_seconds: float
    device: _Device

class ResultInfo(TypedDict):
    cost: dict[str, int]
    seconds: float
    stored_read: int
    stored_written: int
    fingerprint: int
    resumed: bool
    threads: int
    io: str | None
    losses: dict[str, int]

version: str
MAX_NDIM: int
formats: tuple[str, ...]
codecs: tuple[str, ...]
strategies: tuple[str, ...]
devices: tuple[str, ...]

def memory_available() -> int: ...
def array_open(
    path: _Path | None,
    format: str | None,
    dtype: str | None,
    order: str | None,
    shape: Sequence[int] | None,
    chunks: _Chunks | None,
    pattern: str | None,
    skip: int,
    /,
) -> _Array: ...
def array_wrap(buffer: Any, dtype: str, order: str, /) -> _Array: ...
def array_create(
    path: _Path | None,
    source: _Array,
    format: str | None,
    chunks: _Chunks | None,
    start: Sequence[int] | None,
    stop: Sequence[int] | None,
    pattern: str | None,
    folder: bool,
    overwrite: bool,
    codec: str | None,
    shards: Sequence[int] | None,
    order: str | None,
    dtype: str | None,
    write_empty: bool,
    whole: bool,
    /,
) -> _Array: ...
def array_info(array: _Array, /) -> Info: ...
def array_attributes(array: _Array, /) -> str: ...
def array_overwrite(array: _Array, /) -> None: ...
def array_read(
    array: _Array, start: Sequence[int], stop: Sequence[int], buffer: Any, memory: int, options: _Options, /
) -> None: ...
def device_find(name: str, /) -> _Device: ...
def device_measure(folder: _Path, /) -> _Device: ...
def plan_make(
    source: _Array,
    target: _Array,
    memory: int,
    strategy: str | None,
    minimize: str | None,
    device: _Device | None,
    temp: _Path | None,
    /,
) -> _Plan: ...
def plan_resume(source: _Array, target: _Array, /) -> _Plan | None: ...
def plan_info(plan: _Plan, /) -> PlanInfo: ...
def plan_save(plan: _Plan, source: _Array, target: _Array, path: _Path, /) -> None: ...
def plan_load(path: _Path, /) -> tuple[_Array, _Array, _Plan]: ...
def plan_picture(plan: _Plan, path: _Path, /) -> None: ...
def run(plan: _Plan, source: _Array, target: _Array, options: _Options, /) -> ResultInfo: ...
def deliver(
    plan: _Plan,
    source: _Array,
    target: _Array,
    take: Callable[[tuple[int, ...], tuple[int, ...], memoryview, bool], object],
    options: _Options,
    /,
) -> ResultInfo: ...
def verify(a: _Array, b: _Array, memory: int, options: _Options, /) -> tuple[bool, int, tuple[int, ...]]: ...
def fingerprint(array: _Array, memory: int, options: _Options, /) -> int: ...
def is_group(path: _Path, /) -> bool: ...
def group_open(path: _Path, /) -> _Group: ...
def group_create(path: _Path, source: _Group, format: str | None, overwrite: bool, /) -> _Group: ...
def group_list(group: _Group, /) -> list[tuple[str, str, str, bool]]: ...
def group_attributes(group: _Group, /) -> str: ...
def group_levels(group: _Group, /) -> None: ...
def group_expect(group: _Group, source: _Array, target: _Array, /) -> None: ...
def group_begin(group: _Group, options: _Options, /) -> int: ...
def group_done(group: _Group, /) -> None: ...
def group_finish(group: _Group, /) -> None: ...
def group_close(group: _Group, /) -> None: ...
def part_plan(
    source: _Array,
    target: _Array,
    memory: int,
    strategy: str | None,
    minimize: str | None,
    temp: _Path | None,
    part: int,
    n_parts: int,
    /,
) -> _Plan: ...
def part_resume(source: _Array, target: _Array, part: int, n_parts: int, /) -> _Plan | None: ...
def part_info(source: _Array, target: _Array, part: int, n_parts: int, /) -> dict[str, Any]: ...
def parts_found(path: _Path, /) -> int: ...
def finish(source: _Array, target: _Array, n_parts: int, options: _Options, /) -> ResultInfo: ...
