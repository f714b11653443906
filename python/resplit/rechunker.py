# SPDX-License-Identifier: BSD-3-Clause
"""The call of the package rechunker, carried out by resplit: for Zarr arrays and groups, and datasets of xarray.

    from resplit.rechunker import rechunk
    rechunk(zarr.open("maps.zarr"), (8760, 16, 16), "1GB", "series.zarr").execute()

What differs: `max_mem` is what all workers take together, with everything counted, so that a budget of a few kilobytes
is refused; a temporary store is never needed; codecs stay as they are unless others are asked for; arrays appear when
they are complete; nothing is written before `execute`; and there is one executor.
"""

from __future__ import annotations

import html
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from . import _words
from ._array import Array, open_array
from ._errors import ExistsError
from ._options import run_options
from ._plan import Plan, Result
from ._progress import Progress
from ._sources import _is_a, path_of, store_path
from ._target import How, Target

EXECUTORS = ("dask", "python", "beam", "prefect", "pywren", "lithops")
# Of zarr.create, and whether they mean something here.
OPTIONS = (
    "compressor",
    "compressors",
    "filters",
    "order",
    "overwrite",
    "write_empty_chunks",
    "cache_metadata",
    "cache_attrs",
)


class Rechunked:
    """A rechunking that is planned, and done by :meth:`execute`.

    Attributes
    ----------
    plan : Plan, or dict of str to Plan
        What will be done, and what it costs; of each array of a group. Empty for a dataset, which is stored first.
    """

    def __init__(self, source: Any, jobs: Mapping[str, _Job], target: str, stage: _Stage | None = None) -> None:
        self._source = source
        self._jobs = dict(jobs)
        self._target = target
        self._stage = stage

    @property
    def plan(self) -> Plan | dict[str, Plan]:
        plans = {name: job.plan for name, job in self._jobs.items()}
        return plans[""] if set(plans) == {""} else plans

    def execute(
        self, *, progress: Progress = None, threads: int | None = None, resume: bool = False, **ignored: Any
    ) -> Any:
        """Does it.

        Parameters
        ----------
        progress, threads, resume
            As in :func:`resplit.resplit`.
        **ignored
            What other executors take.

        Returns
        -------
        zarr.Array or zarr.Group
            The target.
        """
        import zarr

        if self._stage is not None and resume:
            raise ValueError("a dataset is stored anew for each run, so that none can be gone on with")
        try:
            if self._stage is not None:
                self._jobs = self._stage.write(self._target)
            with run_options(progress, threads=threads, resume=resume) as options:
                reporter = options.reporter
                assert reporter is not None
                reporter.total = sum(job.plan.predicted.bytes_written for job in self._jobs.values())
                for job in self._jobs.values():
                    job.make_groups()
                    reporter.next(reporter.told)
                    job.run(options, resume)
        finally:
            if self._stage is not None:
                self._stage.remove()
        if set(self._jobs) == {""}:
            return zarr.open_array(self._jobs[""].path, mode="r+")
        return zarr.open_group(self._target, mode="r+")

    def _entries(self) -> list[tuple[str, str]]:
        temporary = sum(job.plan.predicted.temp_bytes for job in self._jobs.values())
        entries = [("Source", repr(self._source))]
        if self._stage is not None:
            entries.append(("Intermediate", f"a Zarr group in {self._stage.folder!r}"))
        elif temporary:
            entries.append(("Intermediate", f"a temporary file of {_words.format_bytes(temporary)}"))
        arrays = [repr(job.plan.target) for job in self._jobs.values()]
        entries.append(("Target", arrays[0] if set(self._jobs) == {""} else repr(self._target)))
        return entries

    def __repr__(self) -> str:
        return "<Rechunked>" + "".join(f"\n* {name:<12}: {text}" for name, text in self._entries()) + "\n"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{name}</b> <code>{html.escape(text)}</code></p>" for name, text in self._entries()]
        for name, job in self._jobs.items():
            summary = f"<summary>Plan {html.escape(name)}</summary>"
            parts.append(f"<details>{summary}{job.plan._repr_html_()}</details>")
        return "<h2>Rechunked</h2>" + "".join(parts)


class _Job:
    """One array: from where, to where, into what."""

    def __init__(self, source: Array, path: str, target: Target, how: How, groups: Any = None) -> None:
        self.source = source
        self.path = path
        self.target = target
        self.how = how
        self.groups = groups
        _check_free(path, target.overwrite)
        self.plan = how.plan(source, target.create(path, source))

    def make_groups(self) -> None:
        if self.groups is not None:
            self.groups()

    def run(self, options: Any, resume: bool) -> Result:
        plan = self.how.plan(self.source, self.plan.target, True) if resume else self.plan
        return plan._run(options)


def _check_free(path: str, overwrite: bool) -> None:
    if os.path.exists(path) and not overwrite:
        raise ExistsError(f"path '{path}' contains an array already: choose another store, or overwrite=True")


# ---- What is asked for ---------------------------------------------------------------------------


def _parse_memory(size: Any) -> int:
    """As dask does, for which a letter alone is a power of 1000."""
    text = str(size).strip()
    return _words.parse_bytes(text + "B" if text[-1:].isalpha() and text[-1] not in "bB" else size)


_SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
_LEVELS = {"zstd": "level", "gzip": "level", "zlib": "level", "bz2": "level", "lz4": "acceleration"}


def _codec_word(codec: Any) -> str:
    """A codec of numcodecs or zarr, as resplit calls it."""
    config: dict[str, Any]
    if hasattr(codec, "get_config"):
        config = dict(codec.get_config())
        name = config.pop("id")
    elif hasattr(codec, "to_dict"):
        told = codec.to_dict()
        name, config = told["name"].removeprefix("numcodecs."), dict(told.get("configuration", {}))
    else:
        raise ValueError(f"{codec!r} is no codec of numcodecs or zarr")
    if name == "blosc":
        shuffle = config.get("shuffle", 1)
        if shuffle == -1:
            raise ValueError("blosc with automatic shuffle is for zarr to choose: say shuffle or bitshuffle")
        words = [config.get("cname", "lz4"), config.get("clevel", 5), _SHUFFLES.get(shuffle, shuffle)]
        return ":".join(["blosc", *map(str, words)])
    if name in _LEVELS:
        return f"{name}:{config[_LEVELS[name]]}" if config.get(_LEVELS[name]) is not None else name
    if name in ("shuffle", "crc32", "crc32c", "adler32", "fletcher32"):
        return str(name)
    raise ValueError(f"codec {name!r} cannot be asked for in this way: use resplit.resplit, with codec='{name}:...'")


def _codec_of(options: Mapping[str, Any]) -> str | None:
    """All codecs that options name, in one word; None: as the source."""
    if not {"compressor", "compressors", "filters"} & set(options):
        return None
    chain: list[Any] = []
    for key in ("filters", "compressor", "compressors"):
        value = options.get(key)
        if value is not None:
            chain += list(value) if isinstance(value, (list, tuple)) else [value]
    return "+".join(_codec_word(codec) for codec in chain) or "none"


def _target_of(chunks: Any, options: Mapping[str, Any] | None) -> Target:
    options = dict(options or {})
    for option in options:
        if option not in OPTIONS:
            raise ValueError(f"Zarr options must not include {option}; there are {', '.join(OPTIONS)}")
    return Target(
        chunks=chunks,
        codec=_codec_of(options),
        order=options.get("order"),
        overwrite=bool(options.get("overwrite", False)),
        write_empty=bool(options.get("write_empty_chunks", False)),
    )


def _names_of(array: Any) -> list[str] | None:
    """Names of axes: those of version 3, or as xarray writes them."""
    names = getattr(getattr(array, "metadata", None), "dimension_names", None)
    if names is None:
        names = array.attrs.get("_ARRAY_DIMENSIONS")
    return None if names is None else [str(name) for name in names]


def _chunks_of(array: Any, wanted: Any) -> Any:
    """Chunks by axis. Those that nobody names stay."""
    if not isinstance(wanted, Mapping):
        return wanted if wanted is None else [_clip(length, n) for length, n in zip(wanted, array.shape, strict=True)]
    names = _names_of(array)
    if names is None:
        raise ValueError(f"chunks are given by names of axes, {', '.join(map(str, wanted))}, but the array names none")
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise KeyError(f"the array has no axis {unknown[0]!r}; there are {', '.join(names)}")
    axes = {names.index(name): length for name, length in wanted.items()}
    return {axis: _clip(length, array.shape[axis]) for axis, length in axes.items()}


def _clip(length: Any, extent: int) -> Any:
    """No chunk is longer than its axis."""
    return max(1, min(length, extent)) if isinstance(length, int) and length > 0 else length


# ---- Groups and datasets -------------------------------------------------------------------------


def _place_of(store: Any) -> str:
    """The folder of a store, of a group, or of a mapper of fsspec."""
    if _is_a(store, "zarr", "Group"):
        return path_of(store) or ""
    if type(store).__name__ == "NestedDirectoryStore":  # would look for chunks elsewhere, and find none
        raise ValueError("a NestedDirectoryStore has names of chunks of its own: give the path, or a DirectoryStore")
    return store_path(store)


def _make_groups(source: Any, place: str, names: Iterable[str]) -> None:
    """The groups of the target, with the attributes of the source's."""
    import zarr

    version = getattr(getattr(source, "metadata", None), "zarr_format", None)  # version 2 of the package tells none
    made = zarr.open_group(place, mode="a", **({} if version is None else {"zarr_format": version}))
    made.attrs.update(source.attrs)
    paths = {"/".join(name.split("/")[:i]) for name in names for i in range(1, name.count("/") + 1)}
    for path in sorted(paths | set(_groups_below(source))):
        made.require_group(path).attrs.update(source[path].attrs)


def _groups_below(source: Any, prefix: str = "") -> Iterable[str]:
    for name in source.group_keys():
        yield prefix + name
        yield from _groups_below(source[name], f"{prefix}{name}/")


def _by_axis(variable: Any, chunks: Mapping[Any, Any]) -> dict[Any, Any]:
    """Of a variable, from those of axes; an axis that is not named stays as it is, or whole where nothing is cut."""
    named = {d: chunks[d] for d in variable.dims if d in chunks}
    return named if variable.chunks is not None else {**dict.fromkeys(variable.dims, -1), **named}


class _Stage:
    """A dataset of xarray: its variables are encoded and stored by xarray, in a group that lasts until the end."""

    def __init__(
        self, dataset: Any, chunks: Any, options: Mapping[str, Any], how: How, folder: str, place: str
    ) -> None:
        if not isinstance(chunks, Mapping):
            raise ValueError("You must specify ``target-chunks`` as a dict when rechunking a dataset.")
        self.dataset, self.options, self.how, self.folder = dataset, options, how, folder
        by_axis = all(key in dataset.dims for key in chunks)
        unknown = [key for key in chunks if not by_axis and key not in dataset.variables]
        if unknown:
            raise KeyError(
                f"the dataset has no variable {unknown[0]!r}; there are {', '.join(map(str, dataset.variables))}"
            )
        self.chunks = {str(n): _by_axis(v, chunks) if by_axis else chunks.get(n) for n, v in dataset.variables.items()}
        for name, given in options.items():
            if "chunks" in given:
                message = "Chunks must be provided in ``target_chunks`` rather than options"
                raise ValueError(f"{message} (variable={name})")
        for name in self.chunks:
            _check_free(os.path.join(place, name), bool(options.get(name, {}).get("overwrite", False)))
        self.made: str | None = None

    def write(self, target: str) -> dict[str, _Job]:
        import zarr

        self.made = tempfile.mkdtemp(prefix="resplit-", dir=self.folder)
        dataset = self.dataset
        large = [
            n for n, v in dataset.variables.items() if v.chunks is None and v.nbytes > int(self.how.memory or 0) // 4
        ]
        if large:  # would be brought to memory as a whole
            dataset = dataset.assign({n: dataset[n].chunk("auto") for n in large})
        encoding = {n: {k: v for k, v in o.items() if k not in OPTIONS} for n, o in self.options.items()}
        place = os.path.join(self.made, "stage.zarr")
        dataset.to_zarr(place, mode="w", encoding=encoding, consolidated=False)
        return _group_jobs(
            zarr.open_group(place, mode="r"),
            self.chunks,
            target,
            {n: {k: v for k, v in o.items() if k in OPTIONS} for n, o in self.options.items()},
            self.how,
        )

    def remove(self) -> None:
        if self.made is not None:
            shutil.rmtree(self.made, ignore_errors=True)


def _group_jobs(
    source: Any, chunks: Mapping[str, Any], place: str, options: Mapping[str, Any], how: How
) -> dict[str, _Job]:
    jobs: dict[str, _Job] = {}
    for name, wanted in chunks.items():
        array = source[name]
        there = path_of(array)
        assert there is not None
        groups = (lambda: _make_groups(source, place, chunks)) if not jobs else None
        target = _target_of(_chunks_of(array, wanted), options.get(name))
        jobs[name] = _Job(open_array(there), os.path.join(place, *name.split("/")), target, how, groups)
    return jobs


# ---- The call ------------------------------------------------------------------------------------


def rechunk(
    source: Any,
    target_chunks: Any,
    max_mem: int | str,
    target_store: Any,
    target_options: Mapping[str, Any] | None = None,
    temp_store: Any = None,
    temp_options: Mapping[str, Any] | None = None,
    executor: str | None = None,
    array_name: str | None = None,
) -> Rechunked:
    """Rechunks a Zarr array or group, or a dataset of xarray.

    Parameters
    ----------
    source : zarr.Array, zarr.Group or xarray.Dataset
        In a store on a local file system. A dataset, wherever its values come from, is first stored by xarray in a
        temporary group: it is faster to give the group that it was opened from.
    target_chunks : tuple, dict or None
        Of an array: a length for each axis, or a dict from names of axes; None copies it as it is. Of a group: a dict
        from names of arrays to these; arrays that it does not name are left out. Of a dataset: a dict from names of
        variables, or of axes. -1 is a whole axis, and axes that are not named stay as they are.
    max_mem : int or str
        Memory that the run may take, with everything counted.
    target_store : path-like, store of zarr, or zarr.Group
        On a local file system.
    target_options : dict, optional
        ``compressor`` (or ``compressors``), ``filters``, ``order``, ``overwrite``, ``write_empty_chunks``; of a group
        or dataset a dict from names to these. Of a dataset also encodings of xarray.
    temp_store : path-like or store, optional
        The folder that it is in gets temporary files, should there be any.
    temp_options, executor
        Of no effect.
    array_name : str, optional
        Of an array that goes to a group.

    Returns
    -------
    Rechunked
        Nothing is written before its ``execute``.
    """
    if isinstance(executor, str) and executor.lower() not in EXECUTORS:
        raise ValueError(f"unrecognized executor {executor}")
    place = _place_of(target_store)
    temp = None if temp_store is None else os.path.dirname(os.path.abspath(_place_of(temp_store)))
    how = How(memory=_parse_memory(max_mem), temp=temp)
    if _is_a(source, "zarr", "Array"):
        if array_name is None and _is_a(target_store, "zarr", "Group"):
            raise ValueError("Can't rechunk an array to a group without a name for the array: give array_name")
        path = place if array_name is None else os.path.join(place, *array_name.split("/"))
        there = path_of(source)
        assert there is not None
        target = _target_of(_chunks_of(source, target_chunks), target_options)
        _target_of(None, temp_options)
        return Rechunked(source, {"": _Job(open_array(there), path, target, how)}, path)
    if array_name is not None:
        raise ValueError("Can't specify `array_name` unless the source is an array")
    options = target_options or {}
    if _is_a(source, "zarr", "Group"):
        if not isinstance(target_chunks, Mapping):
            raise ValueError("You must specify ``target-chunks`` as a dict when rechunking a group.")
        for given in (temp_options or {}).values():
            _target_of(None, given)
        return Rechunked(source, _group_jobs(source, target_chunks, place, options, how), place)
    if _is_a(source, "xarray", "Dataset"):
        folder = temp or os.path.dirname(os.path.abspath(place))
        return Rechunked(source, {}, place, _Stage(source, target_chunks, options, how, folder, place))
    raise ValueError(f"Source must be a Zarr Array, Zarr Group or Xarray Dataset (not {type(source)}).")
