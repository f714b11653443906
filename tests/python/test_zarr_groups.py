# SPDX-License-Identifier: BSD-3-Clause
"""Whole Zarr groups: what becomes of each node, what is refused before anything is written, and what a kill leaves."""

import json
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr

from conftest import sample
from recovery import slow_disk
from zarr_support import MEMORY, below, check_readers, chunk_files, equal, make, metadata_of, read, v2_metadata, v3_metadata, write_json

PART = ".resplit-part"
VERSIONS = pytest.mark.parametrize("version", [2, 3])
FILES = {2: (".zgroup", ".zattrs"), 3: ("zarr.json", )}


def a_store(path, version, **more):
    """Arrays of two and of three axes, in groups of two levels."""
    group = zarr.create_group(path, zarr_format=version, attributes={"who": "me", "list": [1, 2.5]})
    group.create_group("g", attributes={"level": 1}).create_group("h", attributes={"level": 2})
    values = {"a": sample((12, 13), seed=1), "g/b": sample((20, 9), "<f4", seed=2), "g/h/c": sample((6, 7, 8), seed=3)}
    for name, array in values.items():
        make(path, array, (5, ) * array.ndim, version=version, name=name, attributes={"n": name}, **more)
    return values


def opaque(path, version, shape=(6, ), chunks=(4, )):
    """An array of a codec that nobody knows."""
    if version == 3:
        codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "acme.squeeze"}]
        write_json(path / "zarr.json", v3_metadata(shape, chunks, codecs=codecs))
    else:
        write_json(path / ".zarray", v2_metadata(shape, chunks, compressor={"id": "acme.squeeze"}))
    for i in range(-(-shape[0] // chunks[0])):
        key = [str(i)] + ["0"] * (len(shape) - 1)
        name = path / ("c/" + "/".join(key) if version == 3 else ".".join(key))
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(b"secret %d" % i)


def check_store(path, values):
    for name, array in values.items():
        check_readers(path / name, array)


def left(folder):
    return sorted(p.name for p in folder.iterdir())


# ---- what becomes of it -----------------------------------------------------------------------------------------


@VERSIONS
def test_chunks_are_for_arrays_of_that_many_axes_and_others_are_copied(run, tmp_path, version):
    values = a_store(tmp_path / "in.zarr", version)
    run("in.zarr", "out.zarr", "--chunks", "7,4", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert [group[n].chunks for n in values] == [(7, 4), (7, 4), (5, 5, 5)]
    old, new = (chunk_files(tmp_path / p / "g/h/c") for p in ("in.zarr", "out.zarr"))
    assert {n: p.read_bytes() for n, p in old.items()} == {n: p.read_bytes() for n, p in new.items()}
    for at in ("", "g", "g/h"):
        for name in FILES[version]:
            assert (tmp_path / "out.zarr" / at / name).read_bytes() == (tmp_path / "in.zarr" / at / name).read_bytes()
    for name in values:
        assert dict(group[name].attrs) == {"n": name}


@pytest.mark.parametrize("to", [2, 3])
@VERSIONS
@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_the_version_of_all_changes_and_copies_of_metadata_with_it(run, tmp_path, version, to):
    values = a_store(tmp_path / "in.zarr", version)
    zarr.consolidate_metadata(tmp_path / "in.zarr")
    run("in.zarr", "out.zarr", "--format", f"zarr{to}", "--chunks", "6,6", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    group = zarr.open_consolidated(tmp_path / "out.zarr")
    assert group.metadata.zarr_format == to and dict(group["g/h"].attrs) == {"level": 2}
    assert [group[n].chunks for n in values] == [(6, 6), (6, 6), (5, 5, 5)]
    assert not [p for p in (tmp_path / "out.zarr").rglob("*") if p.name in (FILES[5 - to] + (".zarray", ) * (to == 3))]


def test_shards_are_for_arrays_of_that_many_axes(run, tmp_path):
    values = a_store(tmp_path / "in.zarr", 3)
    run("in.zarr", "out.zarr", "--chunks", "2,3,4", "--shards", "4,6,8", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert group["g/h/c"].shards == (4, 6, 8) and group["a"].shards is None and group["a"].chunks == (5, 5)


def test_groups_without_metadata_stay_so(run, tmp_path):
    values = sample((9, 9))
    zarr.create_group(tmp_path / "in.zarr", zarr_format=3)
    make(tmp_path / "in.zarr" / "x" / "y" / "z", values, (4, 4))
    for at in ("x", "x/y"):
        (tmp_path / "in.zarr" / at / "zarr.json").unlink(missing_ok=True)
    run("in.zarr", "out.zarr", "--chunks", "3,3", *MEMORY)
    check_readers(tmp_path / "out.zarr/x/y/z", values)
    assert left(tmp_path / "out.zarr" / "x") == ["y"] and left(tmp_path / "out.zarr" / "x" / "y") == ["z"]
    (tmp_path / "in.zarr" / "zarr.json").unlink()
    run("in.zarr", "bare.zarr", "--chunks", "3,3", *MEMORY)
    check_readers(tmp_path / "bare.zarr/x/y/z", values)
    assert not (tmp_path / "bare.zarr" / "zarr.json").exists()


@VERSIONS
def test_a_group_inside_a_store(run, tmp_path, version):
    values = a_store(tmp_path / "store.zarr", version)
    run("store.zarr/g", "out.zarr", "--chunks", "4,4", *MEMORY)
    check_readers(tmp_path / "out.zarr/b", values["g/b"])
    check_readers(tmp_path / "out.zarr/h/c", values["g/h/c"])
    assert zarr.open_group(tmp_path / "out.zarr", mode="r").attrs["level"] == 1
    run("store.zarr/g", "store.zarr/other", "--chunks", "4,4", *MEMORY)
    check_readers(tmp_path / "store.zarr/other/b", values["g/b"])
    assert "one inside the other" in run.error("store.zarr", "store.zarr/g/all", *MEMORY)
    assert "one inside the other" in run.error("store.zarr/g", "store.zarr", "--overwrite", *MEMORY)


def test_a_group_takes_the_version_of_the_store_that_it_comes_into(run, tmp_path):
    values = a_store(tmp_path / "in.zarr", 3)
    zarr.create_group(tmp_path / "store.zarr", zarr_format=2)
    run("in.zarr", "store.zarr/g", *MEMORY)
    check_store(tmp_path / "store.zarr" / "g", values)
    assert zarr.open_group(tmp_path / "store.zarr/g/g/h", mode="r", zarr_format=2).attrs["level"] == 2


def test_names_that_look_like_files_and_an_empty_group(run, tmp_path):
    values = sample((6, 6))
    zarr.create_group(tmp_path / "in.zarr")
    make(tmp_path / "in.zarr", values, (3, 3), name="x.npy")
    run("in.zarr", "out.zarr", "--chunks", "2,2", *MEMORY)
    check_readers(tmp_path / "out.zarr" / "x.npy", values)
    zarr.create_group(tmp_path / "empty.zarr", attributes={"a": 1})
    run("empty.zarr", "other.zarr", *MEMORY)
    assert dict(zarr.open_group(tmp_path / "other.zarr", mode="r").attrs) == {"a": 1}


@VERSIONS
def test_what_cannot_be_decoded_is_copied_or_stops_it_before_anything_is_written(run, tmp_path, version):
    values = a_store(tmp_path / "in.zarr", version)
    opaque(tmp_path / "in.zarr" / "g" / "o", version)
    run("in.zarr", "out.zarr", "--chunks", "4,4", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    old, new = (chunk_files(tmp_path / p / "g/o") for p in ("in.zarr", "out.zarr"))
    assert {n: p.read_bytes() for n, p in old.items()} == {n: p.read_bytes() for n, p in new.items()} and len(old) == 2
    assert run("verify", "in.zarr", "out.zarr", *MEMORY[:2]).stdout.count("equal") == 4
    for args in (("--chunks", "3"), ("--codec", "zstd:1"), ("--format", f"zarr{5 - version}")):
        assert "g/o" in run.error("in.zarr", "not.zarr", *args, *MEMORY)
    assert left(tmp_path) == ["in.zarr", "out.zarr"]


def test_all_levels_leaves_the_rest_alone(run, tmp_path):
    datasets = [{"path": str(i)} for i in range(2)]
    zarr.create_group(tmp_path / "in.zarr", attributes={"ome": {"version": "0.5", "multiscales": [{"datasets": datasets}]}})
    for name, shape in (("0", (8, 9)), ("1", (4, 5)), ("labels/x/0", (8, 9)), ("mask", (8, 9))):
        make(tmp_path / "in.zarr", sample(shape), (3, 3), name=name)
    run("in.zarr", "out.zarr", "--all-levels", "--chunks", "2,4", "--codec", "gzip:1", *MEMORY)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert [group[n].chunks for n in ("0", "1", "labels/x/0", "mask")] == [(2, 4), (2, 4), (3, 3), (3, 3)]
    assert below(tmp_path / "in.zarr/mask/c") == below(tmp_path / "out.zarr/mask/c")
    assert "3 lengths" in run.error("in.zarr", "not.zarr", "--all-levels", "--chunks", "2,4,4", *MEMORY, code=2)
    assert "multiscale" in run.error("in.zarr/labels", "not.zarr", "--all-levels", "--chunks", "2,4", *MEMORY)
    assert "--all-levels" in run.error("in.zarr/0", "not.zarr", "--all-levels", "--chunks", "2,4", *MEMORY, code=2)
    datasets.append({"path": "2"})
    zarr.open_group(tmp_path / "in.zarr").attrs["ome"] = {"multiscales": [{"datasets": datasets}]}
    assert "'2'" in run.error("in.zarr", "not.zarr", "--all-levels", "--chunks", "2,4", *MEMORY)
    assert left(tmp_path) == ["in.zarr", "out.zarr"]


@pytest.mark.parametrize("code, args, said", [
    (2, ("in.zarr", "out.zarr", "--chunks", "1,1,1,1"), "4 axes"), (2, ("in.zarr", "out.npy"), "one file"),
    (2, ("in.zarr", "out.zarr", "--roi", "0:1,:"), "--roi"), (2, ("in.zarr", "out.zarr", "--chunks", "auto"), "--chunks auto"),
    (1, ("in.zarr", "out.zarr", "--format", "npy"), "zarr2"), (1, ("in.zarr", "nowhere/out.zarr"), "no folder 'nowhere'"),
    (1, ("in.zarr", "out.zarr", "--chunks", "7,-3"), ""), (1, ("plan", "in.zarr", "out.zarr", "--chunks", "4,4"), "in.zarr/a"),
    (1, ("merge", "in.zarr", "out.npy"), "in.zarr/a"), (1, ("split", "in.zarr", "out.zarr", "--chunks", "4,4"), "in.zarr/a"),
    (1, ("extract", "in.zarr", "out.zarr", "--roi", "0:1,:"), "in.zarr/a"), (1, ("verify", "in.zarr", "in.zarr/a"), "in.zarr/a")])
def test_what_is_refused(run, tmp_path, code, args, said):
    a_store(tmp_path / "in.zarr", 3)
    done = run.anyhow(*args, "--memory", "32MiB")
    assert done.returncode in (code, 2) and said in done.stderr and done.stdout == "", done
    assert left(tmp_path) == ["in.zarr"]


def test_a_budget_that_is_too_small_is_told_with_the_array(run, tmp_path):
    zarr.create_group(tmp_path / "in.zarr")
    make(tmp_path / "in.zarr", sample((4, 4)), (2, 2), name="a")
    make(tmp_path / "in.zarr", sample((600, 600)), (600, 600), name="big")
    assert "big" in run.error("in.zarr", "out.zarr", "--chunks", "100,100", "--memory", "600KiB", "--quiet")
    assert left(tmp_path) == ["in.zarr"]


# ---- info, verify, fingerprint ----------------------------------------------------------------------------------


@VERSIONS
def test_info_and_fingerprint_of_a_group(run, tmp_path, version):
    values = a_store(tmp_path / "in.zarr", version)
    lines = run("info", "in.zarr").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(values) and "5 x 5" in lines[0] and "12 x 13" in lines[0]
    told = run.json("info", "in.zarr")
    assert [a["name"] for a in told["arrays"]] == list(values) and told["arrays"][2]["chunks"] == [5, 5, 5]
    lines = run("fingerprint", "in.zarr", *MEMORY).stdout.splitlines()
    alone = [run("fingerprint", f"in.zarr/{name}", *MEMORY).stdout.strip() for name in values]
    assert lines == alone
    told = run.json("fingerprint", "in.zarr", *MEMORY)
    assert [a["fingerprint"] for a in told["arrays"]] == [line.split()[0] for line in alone]
    opaque(tmp_path / "in.zarr" / "o", version)
    assert run("fingerprint", "in.zarr", *MEMORY).stdout.splitlines()[-1].split() == ["-", "in.zarr/o"]


@pytest.mark.parametrize("exact", [(), ("--exact", )])
def test_verify_of_groups(run, tmp_path, exact):
    values = a_store(tmp_path / "in.zarr", 3)
    run("in.zarr", "out.zarr", "--chunks", "7,4", "--format", "zarr2", *MEMORY)
    verify = ("verify", "in.zarr", "out.zarr", *exact, *MEMORY[:2])
    assert run(*verify).stdout.splitlines() == [f"{name}: equal" for name in values]
    assert run.json(*verify)["equal"] is True
    zarr.open_array(tmp_path / "out.zarr" / "g" / "b")[3, 4] += 1
    done = run(*verify, code=1)
    assert "g/b: different at [3, 4]" in done.stdout and "a: equal" in done.stdout and done.stderr == ""
    told = json.loads(run(*verify, "--json", code=1).stdout)
    assert told["equal"] is False and [a["equal"] for a in told["arrays"]] == [True, False, True]
    shutil.rmtree(tmp_path / "out.zarr" / "a")
    assert "a: only in 'in.zarr'" in run(*verify, code=1).stdout
    shutil.rmtree(tmp_path / "in.zarr" / "g" / "b")
    assert "g/b: only in 'out.zarr'" in run(*verify, code=1).stdout


@VERSIONS
def test_arrays_that_cannot_be_decoded_are_compared_as_they_are_stored(run, tmp_path, version):
    for name in ("x.zarr", "y.zarr"):
        opaque(tmp_path / name, version)
    assert run("verify", "x.zarr", "y.zarr", *MEMORY[:2]).stdout == "equal\n"
    key = "c/1" if version == 3 else "1"
    (tmp_path / "y.zarr" / key).write_bytes(b"secret 2")
    assert "acme.squeeze" in run.error("verify", "x.zarr", "y.zarr", *MEMORY)
    (tmp_path / "y.zarr" / key).unlink()
    assert "acme.squeeze" in run.error("verify", "x.zarr", "y.zarr", *MEMORY)


def test_json_of_a_run(run, tmp_path):
    values = a_store(tmp_path / "in.zarr", 3)
    told = run.json("in.zarr", "out.zarr", "--chunks", "7,4", "--memory", "32MiB")
    assert [a["name"] for a in told["arrays"]] == list(values) and told["path"] == "out.zarr"
    assert told["arrays"][0]["chunks_to"] == [7, 4] and "actual" in told["arrays"][0]
    lines = run("in.zarr", "other.zarr", "--chunks", "7,4", "--memory", "32MiB").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(values)


# ---- what is there already --------------------------------------------------------------------------------------


@VERSIONS
def test_a_group_replaces_groups_and_arrays_but_nothing_else(run, tmp_path, version):
    values = a_store(tmp_path / "in.zarr", version)
    run("in.zarr", "out.zarr", *MEMORY)
    before = below(tmp_path / "out.zarr")
    assert "--overwrite" in run.error("in.zarr", "out.zarr", "--chunks", "7,4", *MEMORY)
    for at in ("notes.txt", "g/notes.txt", "a/notes.txt", "g/h/c/notes.txt", "x/y/notes.txt"):
        path = tmp_path / "out.zarr" / at
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("years of work")
        assert at in run.error("in.zarr", "out.zarr", "--chunks", "7,4", "--overwrite", *MEMORY)
        path.unlink()
    shutil.rmtree(tmp_path / "out.zarr" / "x")
    assert below(tmp_path / "out.zarr") == before and left(tmp_path) == ["in.zarr", "out.zarr"]
    run("in.zarr", "out.zarr", "--chunks", "7,4", "--overwrite", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    make(tmp_path / "array.zarr", sample((4, 4)), (2, 2), version=version)
    run("in.zarr", "array.zarr", "--overwrite", *MEMORY)
    check_store(tmp_path / "array.zarr", values)
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "thesis").write_text("years of work")
    assert "folder.zarr" in run.error("in.zarr", "folder.zarr", "--overwrite", *MEMORY)
    assert "group" in run.error("in.zarr/a", "out.zarr", "--overwrite", *MEMORY)
    assert left(tmp_path) == ["array.zarr", "folder.zarr", "in.zarr", "out.zarr"]


@pytest.mark.parametrize("version, name", [
    (3, "c/0/5"), (3, "c/0/0/0"), (3, "c/x"), (3, "0.0"), (3, "c/00/0"), (3, "c/0/0.txt"), (3, "c/0/zarr.json"), (2, "0.5"),
    (2, "0.0.0"), (2, "0"), (2, "c/0/0"), (2, "0.-0"), (2, "0.00"), (2, ".zarray.bak")])
def test_what_is_no_chunk_is_foreign(run, tmp_path, version, name):
    make(tmp_path / "in.zarr", sample((9, 9)), (3, 3), version=version)
    make(tmp_path / "out.zarr", sample((9, 9), seed=2), (3, 3), version=version)
    path = tmp_path / "out.zarr" / name
    if not path.parent.is_dir():
        path.parent.unlink(missing_ok=True)
        path.parent.mkdir(parents=True)
    path.write_text("mine")
    message = run.error("in.zarr", "out.zarr", "--chunks", "2,2", "--overwrite", *MEMORY)
    assert "out.zarr/" + name.split("/")[0] in message and path.read_text() == "mine"
    assert left(tmp_path) == ["in.zarr", "out.zarr"]


@pytest.mark.parametrize("version, more", [(2, {}), (3, {}), (2, {"chunk_key_encoding": {"name": "v2", "separator": "/"}}),
                                           (3, {"chunk_key_encoding": {"name": "default", "separator": "."}}), (3, {"shards": (6, 6)})])
def test_every_kind_of_chunk_name_is_known(run, tmp_path, version, more):
    new = sample((13, 14))
    np.save(tmp_path / "in.npy", new)
    make(tmp_path / "out.zarr", sample((40, 41), seed=2), (3, 3), version=version, **more)
    run("in.npy", "out.zarr", "--chunks", "2,2", "--overwrite", *MEMORY)
    check_readers(tmp_path / "out.zarr", new)


# ---- one array in a store ---------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_a_new_array_in_a_store_is_of_its_version_and_seen(run, tmp_path, version):
    a_store(tmp_path / "store.zarr", version)
    zarr.consolidate_metadata(tmp_path / "store.zarr")
    zarr.consolidate_metadata(tmp_path / "store.zarr" / "g")
    np.save(tmp_path / "in.npy", sample((9, 9)))
    run("in.npy", "store.zarr/g/new", "--chunks", "4,4", *MEMORY)
    check_readers(tmp_path / "store.zarr/g/new", sample((9, 9)))
    assert metadata_of(tmp_path / "store.zarr/g/new")["zarr_format"] == version
    for at in ("", "g"):
        with pytest.raises(ValueError):
            zarr.open_consolidated(tmp_path / "store.zarr" / at)
    assert equal(np.asarray(zarr.open_group(tmp_path / "store.zarr", mode="r")["g/new"][...]), sample((9, 9)))
    assert dict(zarr.open_group(tmp_path / "store.zarr", mode="r").attrs) == {"who": "me", "list": [1, 2.5]}


def test_a_run_that_fails_leaves_the_copies_of_metadata(run, tmp_path):
    a_store(tmp_path / "store.zarr", 2)
    zarr.consolidate_metadata(tmp_path / "store.zarr")
    before = below(tmp_path / "store.zarr")
    np.save(tmp_path / "in.npy", sample((9, 9)))
    assert "--overwrite" in run.error("in.npy", "store.zarr/a", "--chunks", "4,4", *MEMORY)
    assert "no group 'store.zarr/x'" in run.error("in.npy", "store.zarr/x/y/z", "--chunks", "4,4", *MEMORY)
    assert "is a Zarr array" in run.error("in.npy", "store.zarr/a/z", "--chunks", "4,4", *MEMORY)
    assert below(tmp_path / "store.zarr") == before
    (tmp_path / "store.zarr" / "x").mkdir() # a folder will do
    run("in.npy", "store.zarr/x/y", "--chunks", "4,4", *MEMORY)
    assert read(tmp_path / "store.zarr/x/y").shape == (9, 9)


# ---- killed -----------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "g/c", "g/d")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Four arrays of 4 MiB that are slow to compress."""
    folder = tmp_path_factory.mktemp("large")
    zarr.create_group(folder / "in.zarr", attributes={"a": 1}).create_group("g")
    values = {name: sample((64, 128, 256), seed=i) & 0x3f for i, name in enumerate(NAMES)}
    for name, array in values.items():
        make(folder / "in.zarr", array, (32, 32, 64), name=name)
    zarr.consolidate_metadata(folder / "in.zarr")
    yield folder / "in.zarr", values
    shutil.rmtree(folder)


def start(run, source, *more):
    args = [run.path, source, "out.zarr", "--chunks", "24,64,32", "--codec", "zstd:12", "--memory", "8MiB", "--threads", "1", *more]
    env = {**run.env, **slow_disk(run.path, run.folder, 0.005)}
    return subprocess.Popen(list(map(str, args)), cwd=run.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_when(process, is_time):
    """False: it was too late."""
    while process.poll() is None and not is_time():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def check_large(folder, values):
    group = zarr.open_consolidated(folder / "out.zarr")
    for name, array in values.items():
        assert group[name].chunks == (24, 64, 32) and np.array_equal(read(folder / "out.zarr" / name), array)
    assert left(folder) == ["out.zarr"]
    assert left(folder / "out.zarr") == [".resplit.json", "a", "b", "g", "zarr.json"] and left(folder / "out.zarr/g") == ["c", "d", "zarr.json"]


@pytest.mark.filterwarnings("ignore:.*onsolidated")
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_group_goes_on_where_it_was(run, tmp_path, large, name):
    source, values = large
    data = tmp_path / f"out.zarr{PART}" / "data"
    part = data / f"{name}{PART}"
    assert kill_when(start(run, source), lambda: (part / "journal").exists() and (part / "journal").stat().st_size > 100)
    assert left(tmp_path) == [f"out.zarr{PART}"], "nothing that looks whole"
    complete = NAMES[:NAMES.index(name)]
    inodes = {n: (data / n).stat().st_ino for n in complete}
    last = start(run, source, "--resume", "--json")
    said, error = last.communicate(timeout=120)
    assert last.returncode == 0, error
    told = {a["name"]: a for a in json.loads(said)["arrays"]}
    assert list(told) == list(NAMES) and [n for n in NAMES if told[n].get("complete")] == list(complete)
    assert told[name]["resumed"] and not any(told[n]["resumed"] for n in NAMES[len(complete) + 1:])
    assert {n: (tmp_path / "out.zarr" / n).stat().st_ino for n in complete} == inodes
    check_large(tmp_path, values)


@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_killed_at_any_time_and_again(run, tmp_path, large):
    source, values = large
    rnd = random.Random(7)
    begin = time.monotonic()
    process = start(run, source)
    assert process.wait(timeout=120) == 0
    seconds = time.monotonic() - begin
    for _ in range(4):
        shutil.rmtree(tmp_path / "out.zarr")
        for attempt in range(3):
            end = time.monotonic() + rnd.uniform(0, 0.6 * seconds)
            kill_when(start(run, source, *["--resume"] * (attempt > 0)), lambda: time.monotonic() > end)
            if (tmp_path / "out.zarr").exists():
                break
            assert left(tmp_path) in ([], [f"out.zarr{PART}"])
        last = start(run, source, "--resume")
        error = last.communicate(timeout=120)[1]
        assert last.returncode == 0 or "is there already" in error, error
        check_large(tmp_path, values)


@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_what_is_resumed_is_the_same_job(run, tmp_path, large):
    source, values = large
    shutil.copytree(source, tmp_path / "in.zarr")
    data = tmp_path / f"out.zarr{PART}" / "data"
    assert kill_when(start(run, "in.zarr"), lambda: (data / f"b{PART}" / "journal").exists())
    before = below(data / "a")
    more = ("in.zarr", "out.zarr", "--chunks", "24,64,32", "--codec", "zstd:11", "--memory", "8MiB", "--resume")
    assert "without --resume" in run.error(*more)
    zarr.open_group(tmp_path / "in.zarr").attrs["a"] = 2
    assert "without --resume" in run.error(*(a if a != "zstd:11" else "zstd:12" for a in more))
    assert below(data / "a") == before, "what was done is not lost by asking for something else"
    shutil.rmtree(tmp_path / "in.zarr")
    shutil.copytree(source, tmp_path / "in.zarr")
    (tmp_path / "in.zarr" / "a" / "c" / "0" / "0" / "0").touch()
    last = start(run, "in.zarr", "--resume")
    assert "source was changed" in last.communicate(timeout=120)[1] and last.returncode == 1
    last = start(run, "in.zarr")
    assert last.wait(timeout=120) == 0
    shutil.rmtree(tmp_path / "in.zarr")
    check_large(tmp_path, values)


def test_a_group_that_fails_keeps_what_is_done(run, tmp_path):
    values = a_store(tmp_path / "in.zarr", 3)
    broken = tmp_path / "in.zarr" / "g" / "b" / "c" / "0" / "0"
    good = broken.read_bytes()
    broken.write_bytes(bytes(len(good)))
    message = run.error("in.zarr", "out.zarr", "--chunks", "7,4", *MEMORY)
    assert "g/b" in message and "--resume" in message and left(tmp_path) == ["in.zarr", f"out.zarr{PART}"]
    broken.write_bytes(good)
    run("in.zarr", "out.zarr", "--chunks", "7,4", *MEMORY)
    check_store(tmp_path / "out.zarr", values)
    assert left(tmp_path) == ["in.zarr", "out.zarr"]
