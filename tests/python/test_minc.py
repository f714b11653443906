# SPDX-License-Identifier: BSD-3-Clause
"""MINC images: what is kept, what becomes of the rest, and what is refused."""

import re
import shutil

import h5py
import numpy as np
import pytest

from conftest import sample
from minc_support import (IMAGE, MEMORY, ROOT, Axis, load, objects, plain, real_values, same_stored, stored, table, tool, world,
                          write)

SHAPE = (4, 6, 5)


def integers(seed=1):
    return sample(SHAPE, "<i2", seed)


def scaled_image(path, **others):
    """Slices along z, each with its own range."""
    lows = np.linspace(-3, 2, SHAPE[0])
    return write(path, integers(), plain(), lows, lows + 7, ["zspace"], (-32768, 32767), **others)


def edit(path, object_name, key, value):
    with h5py.File(path, "r+") as f:
        node = f[object_name]
        if key is None:
            node[...] = value
        elif value is None:
            del node.attrs[key]
        else:
            node.attrs[key] = value


def attribute(path, object_name, key):
    with h5py.File(path, "r") as f:
        return f[object_name].attrs[key]


# ---- what a file is ---------------------------------------------------------------------------------------------


def test_info_says_where_it_is(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    said = run.json("info", "a.mnc")
    assert said["format"] == "minc2" and said["shape"] == list(SHAPE)
    words = run("info", "a.mnc").stdout
    assert "zspace from -10.5 by -1.5, yspace from -9.5 by 2.25" in words and "scaled along zspace" in words


def test_content_decides_not_the_name(run, tmp_path):
    scaled_image(tmp_path / "a.h5")
    assert run.json("info", "a.h5")["format"] == "minc2"
    with h5py.File(tmp_path / "b.mnc", "w") as f:
        f["data"] = np.arange(6)
    assert run.json("info", "b.mnc")["format"] == "hdf5"
    assert "not MINC" in run.error("info", "b.mnc", "--format", "minc2")


def test_as_hdf5_when_asked(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    assert "datasets: give one of them" in run.error("info", "a.mnc", "--format", "hdf5")
    assert run.json("info", f"a.mnc:/{IMAGE}")["format"] == "hdf5"


@pytest.mark.parametrize("bytes_, said", [(b"", "HDF5"), (b"CDF\1" + bytes(60), "MINC 1"), (b"CDF\2" + bytes(60), "MINC 1"),
                                          (b"nothing of the kind", "HDF5")])
def test_what_is_none(run, tmp_path, bytes_, said):
    (tmp_path / "a.mnc").write_bytes(bytes_)
    assert said in run.error("info", "a.mnc")


@pytest.mark.parametrize("order", [None, b"", b"zspace,yspace", b"zspace,yspace,xspace,time", b"zspace,zspace,xspace", b"../x,yspace,xspace"])
def test_axes_need_names(run, tmp_path, order):
    scaled_image(tmp_path / "a.mnc")
    edit(tmp_path / "a.mnc", IMAGE, "dimorder", None)
    if order is not None:
        edit(tmp_path / "a.mnc", IMAGE, "dimorder", np.bytes_(order) if order else np.bytes_(b"\0"))
    said = run.error("info", "a.mnc")
    assert "dimorder" in said or "two axes" in said
    run(f"a.mnc:/{IMAGE}", "out.npy", *MEMORY)


# ---- pieces -----------------------------------------------------------------------------------------------------


def test_split_and_merge(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc")
    run("split", "a.mnc", "grid", "--chunks", "3,2,5", *MEMORY)
    assert attribute(tmp_path / "grid" / "1_2_0.mnc", "minc-2.0/dimensions/zspace", "start") == -10.5 + 3 * -1.5
    assert attribute(tmp_path / "grid" / "1_2_0.mnc", "minc-2.0/dimensions/yspace", "length") == 2
    assert np.array_equal(table(tmp_path / "grid" / "1_2_0.mnc", "image-max"), table(whole, "image-max")[3:])
    run("merge", "grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole) and same_stored(stored(tmp_path / "back.mnc"), integers())


def test_history_tells_what_was_done_and_nothing_else(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    run("grid", "back.mnc", *MEMORY)
    old = b"Tue Apr 16 19:15:53 2002>>> rawtominc of old\n"
    line = rb"resplit \d+\.\d+\.\d+: voxels 0:4,0:6,0:5 of 4,6,5\n"
    for name, n in (("grid/0_0_0.mnc", 1), ("grid/1_0_0.mnc", 1), ("back.mnc", 2)):
        assert re.fullmatch(re.escape(old) + line * n, attribute(tmp_path / name, ROOT, "history"))
        assert attribute(tmp_path / name, ROOT, "ident") == b"resplit"
    for path in (tmp_path / "back.mnc", tmp_path / "grid" / "1_0_0.mnc"):
        said = path.read_bytes()
        assert b"someone:somewhere" not in said and str(tmp_path).encode() not in said


def test_without_a_history(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    edit(tmp_path / "a.mnc", ROOT, "history", None)
    run("a.mnc", "b.mnc", *MEMORY)
    assert attribute(tmp_path / "b.mnc", ROOT, "history").startswith(b"resplit ")


def test_a_history_of_varying_length_and_a_very_long_one(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    edit(tmp_path / "a.mnc", ROOT, "history", "as some write it")
    run("a.mnc", "b.mnc", *MEMORY)
    assert attribute(tmp_path / "b.mnc", ROOT, "history").startswith(b"as some write it\nresplit ")
    edit(tmp_path / "a.mnc", ROOT, "history", np.bytes_(b"x" * 63000))
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    assert attribute(tmp_path / "grid" / "1_0_0.mnc", ROOT, "history") == b"x" * 63000


def test_smaller_images_are_dropped_with_a_note(run, tmp_path):
    scaled_image(tmp_path / "a.mnc", levels=True)
    done = run("a.mnc", "b.mnc", "--memory", "32MiB")
    assert "image/1" in done.stderr + done.stdout
    with h5py.File(tmp_path / "b.mnc", "r") as f:
        assert list(f["minc-2.0/image"]) == ["0"]


def test_extract_moves_the_start(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc")
    run("extract", "a.mnc", "b.mnc", "--roi", "1:3,2:,0:4", *MEMORY)
    assert same_stored(stored(tmp_path / "b.mnc"), integers()[1:3, 2:, 0:4])
    assert np.array_equal(table(tmp_path / "b.mnc", "image-min"), table(whole, "image-min")[1:3])
    assert np.allclose(world(tmp_path / "b.mnc", (0, 1, 2)), world(whole, (1, 3, 2)))
    assert np.allclose(load(tmp_path / "b.mnc").affine @ [0, 1, 2, 1], load(whole).affine @ [1, 3, 2, 1])
    run("extract", "a.mnc", "grid", "--roi", "1:3,2:,0:4", "--chunks", "1,2,3", *MEMORY)
    assert np.allclose(world(tmp_path / "grid" / "1_1_1.mnc", (0, 1, 0)), world(whole, (2, 5, 3)))
    run("grid", "c.mnc", *MEMORY)
    mine = {("minc-2.0", "history")}
    assert objects(tmp_path / "c.mnc", mine) == objects(tmp_path / "b.mnc", mine)


def test_one_file_to_another(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc", chunks=(2, 3, 5), compression="gzip")
    run("a.mnc", "b.mnc", "--chunks", "1,6,5", "--codec", "shuffle+zlib:3", *MEMORY)
    with h5py.File(tmp_path / "b.mnc", "r") as f:
        assert f[IMAGE].chunks == (1, 6, 5) and f[IMAGE].shuffle
    run("b.mnc", "c.mnc", "--codec", "none", *MEMORY)
    for name in ("b.mnc", "c.mnc"):
        assert same_stored(stored(tmp_path / name), integers()) and objects(tmp_path / name) == objects(whole)
        assert np.array_equal(real_values(tmp_path / name, SHAPE), real_values(whole, SHAPE))
        assert b"zspace" in tool("mincinfo", tmp_path / name)
    run("verify", "a.mnc", "c.mnc", *MEMORY)


@pytest.mark.parametrize("target", ["b.mnc", "parts"])
def test_codecs_that_its_programs_do_not_read(run, tmp_path, target):
    """They would show zeros, and say nothing; as HDF5 the same image is one for those who have the plugin."""
    scaled_image(tmp_path / "a.mnc", chunks=(2, 3, 5), compression="gzip")
    for codec in ("zstd:1", "shuffle+lz4", "blosc:lz4"):
        args = ("a.mnc", target, "--chunks", "2,6,5", "--codec", codec, *MEMORY)
        message = run.error(*args)
        assert f"'{codec}'" in message and "zeros" in message and not (tmp_path / target).exists()


def test_grid_to_grid(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "one", "--chunks", "3,2,5", *MEMORY)
    run("one", "two", "--chunks", "1,6,2", *MEMORY)
    run("two", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole) and same_stored(stored(tmp_path / "back.mnc"), integers())


def test_no_start_and_no_step_are_0_and_1(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    for key in ("start", "step"):
        edit(tmp_path / "a.mnc", "minc-2.0/dimensions/yspace", key, None)
    run("a.mnc", "grid", "--chunks", "4,4,5", *MEMORY)
    assert attribute(tmp_path / "grid" / "0_1_0.mnc", "minc-2.0/dimensions/yspace", "start") == 4
    run("grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(tmp_path / "a.mnc")


def test_labels_stay_labels(run, tmp_path):
    kinds = h5py.enum_dtype({"none": 0, "grey": 1, "white": 2}, basetype="u1")
    data = sample(SHAPE, "u1") % 3
    whole = write(tmp_path / "a.mnc", data, plain(), dtype=kinds)
    run("a.mnc", "grid", "--chunks", "2,3,5", *MEMORY)
    run("grid", "back.mnc", *MEMORY)
    for name, part in (("grid/1_0_0.mnc", data[2:, :3]), ("back.mnc", data)):
        with h5py.File(tmp_path / name, "r") as f:
            assert h5py.check_enum_dtype(f[IMAGE].dtype) == {"none": 0, "grey": 1, "white": 2}
            assert np.array_equal(f[IMAGE][()], part)
    assert objects(tmp_path / "back.mnc") == objects(whole)


def test_irregular_axes_are_cut_with_their_coordinates(run, tmp_path):
    times = [0.5, 2.0, 3.0, 7.5]
    axes = [Axis("time", 4, 0.5, 1.0, offsets=times, widths=[1, 2, 3, 4]), *plain()[1:]]
    whole = write(tmp_path / "a.mnc", integers(), axes)
    run("a.mnc", "grid", "--chunks", "3,6,5", *MEMORY)
    with h5py.File(tmp_path / "grid" / "1_0_0.mnc", "r") as f:
        assert f["minc-2.0/dimensions/time"][()].tolist() == times[3:] and f["minc-2.0/dimensions/time-width"][()].tolist() == [4]
        assert f["minc-2.0/dimensions/time"].attrs["start"] == 7.5 and f["minc-2.0/dimensions/time-width"].attrs["length"] == 1
    run("grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole)


def test_irregular_without_coordinates(run, tmp_path):
    write(tmp_path / "a.mnc", integers(), [Axis("time", 4, spacing=b"irregular"), *plain()[1:]])
    assert "irregular" in run.error("info", "a.mnc")


def test_vectors_are_cut_without_a_place(run, tmp_path):
    data = sample((4, 6, 5, 3), "u1")
    whole = write(tmp_path / "a.mnc", data, [*plain(), Axis("vector_dimension", 3)], valid=(0, 255))
    run("a.mnc", "grid", "--chunks", "4,6,3,2", *MEMORY)
    assert "start" not in h5py.File(tmp_path / "grid" / "0_0_0_1.mnc")["minc-2.0/dimensions/vector_dimension"].attrs
    run("grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole) and np.array_equal(stored(tmp_path / "back.mnc"), data)


@pytest.mark.parametrize("options", [["-byte", "-transverse", "4", "6", "5"], ["-short", "-signed", "-sagittal", "4", "6", "5"],
                                     ["-float", "-vector", "3", "4", "6", "5"], ["-double", "-coronal", "2", "4", "6", "5"]])
def test_what_libminc_makes(run, tmp_path, options):
    n = int(np.prod([int(o) for o in options if o.isdigit()]))
    kind = {"-byte": "u1", "-short": "<i2", "-float": "<f4", "-double": "<f8"}[options[0]]
    (tmp_path / "in.raw").write_bytes(np.arange(n).astype(kind).tobytes())
    tool("rawtominc", "-2", "-xstep", "-2", "-ystart", "7.25", "-zdircos", "0", "0.6", "0.8", "-input", tmp_path / "in.raw", *options[:1],
         *options[1:2], tmp_path / "a.mnc", *options[2:]) if "-vector" not in options else tool(
        "rawtominc", "-2", "-input", tmp_path / "in.raw", "-float", "-vector", "3", tmp_path / "a.mnc", *options[3:])
    data = stored(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", ",".join(str(k // 2 + 1) for k in data.shape), *MEMORY)
    run("grid", "back.mnc", *MEMORY)
    assert np.array_equal(stored(tmp_path / "back.mnc"), data) and objects(tmp_path / "back.mnc") == objects(tmp_path / "a.mnc")
    for path in sorted((tmp_path / "grid").glob("*.mnc")):
        assert b"image" in tool("mincinfo", path)


# ---- blocks that do not belong together -------------------------------------------------------------------------


@pytest.mark.parametrize("object_name, key, value, said", [
    ("minc-2.0/dimensions/zspace", "start", 4.0, "start of zspace 4"),
    ("minc-2.0/dimensions/zspace", "step", 2.0, "step of zspace 2"),
    ("minc-2.0/dimensions/xspace", "direction_cosines", np.array([1.0, 0, 0]), "direction_cosines of xspace 1 0 0"),
    ("minc-2.0/dimensions/yspace", "units", np.bytes_(b"cm"), "units of yspace 'cm'"),
    (IMAGE, "valid_range", np.array([0.0, 100.0]), "valid_range of image 0 100"),
    (IMAGE, "dimorder", np.bytes_(b"zspace,xspace,yspace"), "dimorder of image"),
    ("minc-2.0/dimensions/yspace", "step", None, "step of yspace nothing"),
])
def test_a_block_of_another_image(run, tmp_path, object_name, key, value, said):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    edit(tmp_path / "grid" / "1_0_0.mnc", object_name, key, value)
    words = run.error("grid", "back.mnc", *MEMORY)
    assert said in words and "'grid/1_0_0.mnc'" in words and "'grid/0_0_0.mnc'" in words and not (tmp_path / "back.mnc").exists()


def test_starts_may_be_rounded(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    edit(tmp_path / "grid" / "1_0_0.mnc", "minc-2.0/dimensions/zspace", "start", np.nextafter(-13.5, 0))
    run("grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole)


def test_unequal_scaling_is_refused(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,3,5", *MEMORY)
    with h5py.File(tmp_path / "grid" / "1_1_0.mnc", "r+") as f:
        f["minc-2.0/image/0/image-max"][1] = 99.5
    said = run.error("grid", "back.mnc", *MEMORY)
    assert "image-max" in said and "99.5" in said and "1_1_0.mnc" in said and "1_0_0.mnc" in said


def test_scaling_of_other_axes_is_refused(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    with h5py.File(tmp_path / "grid" / "1_0_0.mnc", "r+") as f:
        del f["minc-2.0/image/0/image-max"]
        f["minc-2.0/image/0/image-max"] = np.float64(1)
    assert "image-max" in run.error("grid", "back.mnc", *MEMORY)


def test_what_may_differ_is_noted(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    edit(tmp_path / "grid" / "1_0_0.mnc", "minc-2.0/dimensions/xspace", "comments", np.bytes_(b"another"))
    assert "comments of xspace" in run("info", "grid").stdout


def new_group(f):
    f.create_group("minc-2.0/info/mine").attrs["a"] = 1


OTHERS = {
    "modality of study": lambda f: f["minc-2.0/info/study"].attrs.__setitem__("modality", np.bytes_(b"PET__")),
    "values of anything": lambda f: f["minc-2.0/info/anything"].__setitem__(2, 77),
    "anything": lambda f: f.__delitem__("minc-2.0/info/anything"),
    "mine": new_group,
    "minc_version of minc-2.0": lambda f: f["minc-2.0"].attrs.__setitem__("minc_version", np.bytes_(b"9.9")),
    "units of study": lambda f: f["minc-2.0/info/study"].attrs.__setitem__("units", np.bytes_(b"mm")),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_things_that_differ_are_noted(run, tmp_path, what):
    """Everything besides the image is the first block's; what another one says of it is not lost in silence."""
    whole = scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    assert "notes" not in run.json("info", "grid")
    with h5py.File(tmp_path / "grid" / "1_0_0.mnc", "r+") as f:
        OTHERS[what](f)
    notes = run.json("info", "grid")["notes"]
    assert f"blocks differ in {what} (" in notes and "1_0_0.mnc" in notes
    run("grid", "back.mnc", *MEMORY)
    assert objects(tmp_path / "back.mnc") == objects(whole)


def test_pieces_that_libminc_cut_differ_in_nothing(run, tmp_path):
    """History and ident are everybody's own."""
    scaled_image(tmp_path / "a.mnc")
    (tmp_path / "grid").mkdir()
    for i in range(2):
        tool("mincreshape", "-quiet", "-2", "-nonormalize", "-dimrange", f"zspace={2 * i},2", tmp_path / "a.mnc", tmp_path / "grid" / f"{i}_0_0.mnc")
    said = run.json("info", "grid")
    assert said["shape"] == [4, 6, 5] and "notes" not in said


def test_a_compressed_block_among_others_is_refused(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    run("a.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    run("grid/1_0_0.mnc", "b.mnc", "--chunks", "1,6,5", "--codec", "zlib", *MEMORY)
    shutil.move(tmp_path / "b.mnc", tmp_path / "grid" / "1_0_0.mnc")
    assert "'grid/1_0_0.mnc' is in chunks, and 'grid/0_0_0.mnc' is not" in run.error("info", "grid")


def test_what_is_beside_the_image_must_fit(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    with h5py.File(tmp_path / "a.mnc", "r+") as f:
        f.create_dataset("minc-2.0/info/large", shape=(9 << 20,), dtype="f8", fillvalue=1)[-1] = 2
    assert "held in memory" in run.error("info", "a.mnc")


# ---- other formats ----------------------------------------------------------------------------------------------


def test_other_formats_get_stored_values_and_a_note(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    done = run("a.mnc", "b.npy", "--memory", "32MiB")
    assert np.array_equal(np.load(tmp_path / "b.npy"), integers()) and "image-max" in done.stderr + done.stdout


def test_all_of_it_as_hdf5(run, tmp_path):
    whole = scaled_image(tmp_path / "a.mnc")
    done = run("a.mnc", "b.h5", "--memory", "32MiB")
    assert "image-max" not in done.stderr + done.stdout
    assert objects(tmp_path / "b.h5") == objects(whole) and same_stored(stored(tmp_path / "b.h5"), integers())


def test_a_part_of_it_as_hdf5_has_a_note(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    done = run("extract", "a.mnc", "b.h5", "--roi", "1:3,:,:", "--memory", "32MiB")
    assert "image-max" in done.stderr + done.stdout


def test_what_cannot_become_minc(run, tmp_path):
    scaled_image(tmp_path / "a.mnc")
    assert "not cast" in run.error("a.mnc", "c.mnc", "--to-dtype", "float32", *MEMORY)
    assert "C order only" in run.error("a.mnc", "c", "--chunks", "2,2,2", "--to-order", "F", *MEMORY)
