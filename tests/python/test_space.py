# SPDX-License-Identifier: BSD-3-Clause
"""Conversions keep where elements are: what is written, what is said, what is refused. test_space_property.py has any affine, here are cases."""

import json

import nibabel as nib
import numpy as np
import pytest
import zarr

import minc_support
from conftest import sample
from nifti_support import equal, read, values, write
from space_support import check_image, image_of, ome_place

MEMORY = ("--memory", "8MiB")
SPACE = {"sform_code": 2, "qform_code": 1, "pixdim": [1, 2, 2.5, 3, 1.5, 1, 1, 1], "xyzt_units": 10, "srow_x": [2, 0, 0, -90],
         "srow_y": [0, 2.5, 0, -126], "srow_z": [0, 0, 3, -72], "qoffset_x": -90, "qoffset_y": -126, "qoffset_z": -72}


def image(folder, shape=(5, 6, 7), dtype="<i2", **more):
    return write(folder / "in.nii", values(shape, dtype), **{**SPACE, **more})


def attributes(path):
    return dict(zarr.open_array(path, mode="r").attrs)


def ome_zarr(path, names="zyx", shape=(4, 5, 6), scale=None, translation=None, units="micrometer", version=3, **more):
    """An image that zarr-python makes."""
    kinds = {"t": "time", "c": "channel"}
    axes = [{"name": n, "type": kinds.get(n, "space"), **({"unit": units} if n in "xyz" else {})} for n in names]
    steps = [{"type": "scale", "scale": scale or [0.5] * len(names)}]
    steps += [{"type": "translation", "translation": translation}] if translation else []
    one = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}], **more}
    group = zarr.create_group(path, zarr_format=version)
    group.attrs.update({"ome": {"version": "0.5", "multiscales": [one]}} if version == 3 else {"multiscales": [{"version": "0.4", **one}]})
    data = sample(shape, "<u2")
    group.create_array("0", data=data, chunks=tuple(max(1, n // 2) for n in shape))
    return data


# ---- what is written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_an_ome_zarr_image_of_nifti(run, tmp_path, version):
    image(tmp_path, (5, 6, 7, 3))
    done = run.json("in.nii", "out.ome.zarr", "--chunks", "1,4,4,4", "--format", f"zarr{version}", *MEMORY)
    level = check_image(tmp_path / "out.ome.zarr")
    assert level.chunks == (1, 4, 4, 4) and equal(np.asarray(level[...]), read(tmp_path / "in.nii").T)
    axes, transformations = image_of(tmp_path / "out.ome.zarr")
    assert [a["name"] for a in axes] == list("tzyx") and axes[0]["unit"] == "second" and axes[3]["unit"] == "millimeter"
    assert transformations == [{"type": "scale", "scale": [1.5, 3.0, 2.5, 2.0]}, {"type": "translation", "translation": [0, -72, -126, -90]}]
    assert done["axes"] == [3, 2, 1, 0] and "axes are t, z, y, x" in done["notes"] and "more than" not in done["notes"]
    assert {p.name for p in (tmp_path / "out.ome.zarr").iterdir()} - {"0", ".resplit.json"} <= {"zarr.json", ".zgroup", ".zattrs"}


def test_axes_are_called_by_where_they_lead(run, tmp_path):
    image(tmp_path, srow_x=[0, 0, -3, 90], srow_y=[2, 0, 0, -1], srow_z=[0, 2.5, 0, 5], qform_code=0)
    run("in.nii", "out.zarr", "--ome", *MEMORY)
    level = check_image(tmp_path / "out.zarr")
    assert equal(np.asarray(level[...]), read(tmp_path / "in.nii").transpose(1, 0, 2))
    assert ome_place(tmp_path / "out.zarr", (1, 2, 3)) == {"z": 7.5, "y": 3.0, "x": 81.0}


def test_a_plain_array_keeps_it_in_attributes(run, tmp_path):
    image(tmp_path, scl_slope=2.5, scl_inter=-3, descrip=b"caf\xe9", cal_max=np.nan)
    run("in.nii", "out.zarr", "--chunks", "2,3,4", *MEMORY)
    array = zarr.open_array(tmp_path / "out.zarr", mode="r")
    assert equal(np.asarray(array[...]), read(tmp_path / "in.nii")) and list(array.metadata.dimension_names) == ["x", "y", "z"]
    space, nifti = array.attrs["space"], array.attrs["nifti"]
    assert np.array_equal(space["affine"], nib.load(tmp_path / "in.nii").affine[:3]) and (space["slope"], space["inter"]) == (2.5, -3)
    assert nifti["sform_code"] == 2 and nifti["descrip"] == "café" and nifti["cal_max"] == "NaN" and nifti["dim"] == [3, 5, 6, 7]
    json.loads((tmp_path / "out.zarr" / "zarr.json").read_text(), parse_constant=pytest.fail) # JSON of everybody, without NaN
    run("out.zarr", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == (tmp_path / "in.nii").read_bytes()


def test_a_folder_of_nifti_files_becomes_an_image(run, tmp_path):
    image(tmp_path)
    run("split", "in.nii", "pieces", "--chunks", "2,6,3", *MEMORY)
    run("pieces", "out.ome.zarr", "--chunks", "4,4,4", "--codec", "zstd", *MEMORY)
    assert equal(np.asarray(check_image(tmp_path / "out.ome.zarr")[...]), read(tmp_path / "in.nii").T)
    run("out.ome.zarr/0", "again", "--chunks", "3,3,3", "--format", "nifti", *MEMORY)
    run("merge", "again", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == (tmp_path / "in.nii").read_bytes()


def test_an_image_of_nothing_but_zeros(run, tmp_path):
    write(tmp_path / "in.nii", np.zeros((4, 4, 4), "<i2"), **SPACE)
    run("in.nii", "out.ome.zarr", "--chunks", "2,2,2", "--codec", "zstd", *MEMORY)
    assert not np.asarray(check_image(tmp_path / "out.ome.zarr")[...]).any()


def test_units_of_axes_that_differ_become_one(run, tmp_path):
    data = ome_zarr(tmp_path / "in.zarr", scale=[1000.0, 2.0, 3.0], translation=[0.0, 5.0, 7.0])
    meta = json.loads((tmp_path / "in.zarr" / "zarr.json").read_text())
    meta["attributes"]["ome"]["multiscales"][0]["axes"][0]["unit"] = "nanometer"
    (tmp_path / "in.zarr" / "zarr.json").write_text(json.dumps(meta))
    run("in.zarr/0", "out.nii", *MEMORY)
    found = nib.load(tmp_path / "out.nii")
    assert np.allclose(found.affine, [[3e-3, 0, 0, 7e-3], [0, 2e-3, 0, 5e-3], [0, 0, 1e-3, 0], [0, 0, 0, 1]])
    assert found.header.get_xyzt_units()[0] == "mm" and equal(read(tmp_path / "out.nii"), data.T)


@pytest.mark.parametrize("version", [2, 3])
def test_regions_of_zarr_are_moved_with_their_places(run, tmp_path, version):
    ome_zarr(tmp_path / "in.zarr", version=version, scale=[1.0, 2.0, 3.0], translation=[10.0, 20.0, 30.0])
    run("extract", "in.zarr/0", "roi.zarr", "--roi", "1:3,:,2:6", *MEMORY)
    assert attributes(tmp_path / "roi.zarr")["space"]["affine"] == [[0, 0, 3, 36], [0, 2, 0, 20], [1, 0, 0, 11]]
    run("extract", "roi.zarr", "again.ome.zarr", "--roi", "1:2,1:5,1:2", *MEMORY)
    assert ome_place(tmp_path / "again.ome.zarr", (0, 0, 0)) == {"z": 12.0, "y": 22.0, "x": 39.0}


def test_attributes_of_others_stay(run, tmp_path):
    ome_zarr(tmp_path / "in.zarr")
    zarr.open_array(tmp_path / "in.zarr" / "0").attrs["mine"] = {"a": [1, 2.50]}
    run("in.zarr/0", "out.zarr", *MEMORY)
    assert attributes(tmp_path / "out.zarr")["mine"] == {"a": [1, 2.5]} and attributes(tmp_path / "out.zarr")["space"]["placed"]
    run("out.zarr", "same.zarr", *MEMORY)
    text = (tmp_path / "out.zarr" / "zarr.json").read_text()
    assert (tmp_path / "same.zarr" / "zarr.json").read_text() == text


def test_groups_that_are_cut_anew_stay_as_they_are(run, tmp_path):
    ome_zarr(tmp_path / "in.zarr", translation=[1.0, 2.0, 3.0])
    run("in.zarr", "out.zarr", "--all-levels", "--chunks", "3,3,3", *MEMORY)
    assert (tmp_path / "out.zarr" / "zarr.json").read_bytes() == (tmp_path / "in.zarr" / "zarr.json").read_bytes()
    assert attributes(tmp_path / "out.zarr" / "0") == {}


def test_an_array_that_says_nothing(run, tmp_path):
    np.save(tmp_path / "a.npy", sample((4, 5, 6)))
    run("a.npy", "out.ome.zarr", "--chunks", "2,2,2", *MEMORY)
    axes, transformations = image_of(tmp_path / "out.ome.zarr")
    assert [a["name"] for a in axes] == list("zyx") and not any("unit" in a for a in axes) and transformations[0]["scale"] == [1, 1, 1]
    assert equal(np.asarray(check_image(tmp_path / "out.ome.zarr")[...]), np.load(tmp_path / "a.npy"))
    np.save(tmp_path / "b.npy", sample((4, 5, 6, 7)))
    assert "is not known" in run.error("b.npy", "b.ome.zarr", *MEMORY)
    zarr.create_array(tmp_path / "b.zarr", data=sample((4, 5, 6, 7)), dimension_names=["x", "t", "y", "z"])
    run("b.zarr", "b.ome.zarr", *MEMORY)
    assert np.array_equal(check_image(tmp_path / "b.ome.zarr")[...], sample((4, 5, 6, 7)).transpose(1, 3, 2, 0))


# ---- what is said -----------------------------------------------------------------------------------------------


def test_what_ome_zarr_cannot_say_is_said(run, tmp_path):
    image(tmp_path, srow_x=[2, 0.5, 0, -90], qform_code=0, extensions=[(6, b"comment")])
    done = run.json("in.nii", "out.ome.zarr", *MEMORY)
    assert "more than a scale and a translation" in done["notes"] and "extensions" in done["notes"]
    assert np.array_equal(attributes(tmp_path / "out.ome.zarr" / "0")["space"]["affine"],
                          nib.load(tmp_path / "in.nii").affine[:3][:, [2, 1, 0, 3]])


def test_an_image_without_a_place(run, tmp_path):
    image(tmp_path, sform_code=0, qform_code=0)
    run("in.nii", "out.ome.zarr", *MEMORY)
    assert ome_place(tmp_path / "out.ome.zarr", (1, 1, 1)) == {"z": 3.0, "y": 2.5, "x": 2.0}
    run("out.ome.zarr/0", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == (tmp_path / "in.nii").read_bytes()


def test_formats_without_a_place_for_it(run, tmp_path):
    image(tmp_path)
    assert "place in space" in run.json("in.nii", "a.npy", *MEMORY)["notes"]
    assert "place in space" in run.json("in.nii", "a.h5", *MEMORY)["notes"]
    ome_zarr(tmp_path / "in.zarr")
    assert "place in space" in run.json("in.zarr/0", "b.npy", *MEMORY)["notes"]
    np.save(tmp_path / "c.npy", sample((3, 4)))
    assert "notes" not in run.json("c.npy", "d.npy", *MEMORY)


def test_axes_that_nifti_would_take_for_others(run, tmp_path):
    ome_zarr(tmp_path / "in.zarr", names="cyx", shape=(2, 5, 6))
    done = run.json("in.zarr/0", "out.nii", *MEMORY)
    assert "axis 2 is c, which NIfTI takes for one in space" in done["notes"]
    ome_zarr(tmp_path / "b.zarr", units="parsec")
    assert "unit 'parsec' of axis x is not kept" in run.json("b.zarr/0", "b.nii", *MEMORY)["notes"]


def test_an_image_that_was_changed_counts(run, tmp_path):
    image(tmp_path)
    run("in.nii", "out.ome.zarr", *MEMORY)
    group = zarr.open_group(tmp_path / "out.ome.zarr")
    ome = group.attrs["ome"]
    ome["multiscales"][0]["datasets"][0]["coordinateTransformations"][1]["translation"] = [0.0, 0.0, 1.0]
    group.attrs["ome"] = ome
    said = run.json("info", "out.ome.zarr/0")
    assert 'attribute "space" is not used' in said["notes"] and 'attribute "nifti" is not used' in said["notes"]
    run("out.ome.zarr/0", "out.nii", *MEMORY)
    assert np.allclose(nib.load(tmp_path / "out.nii").affine[:3, 3], [1, 0, 0])


@pytest.mark.parametrize("key, value", [
    ("space", 5), ("space", {}), ("space", {"axes": [], "affine": []}), ("space", {"axes": ["x", "y", "z"], "affine": [[1, 0, 0, 0]] * 2}),
    ("space", {"axes": ["x", "x", "z"], "affine": [[1, 0, 0, 0]] * 3}), ("nifti", {}), ("nifti", {"version": 1, "dim": [3, 5, 6, 8], "axes": [0, 1, 2]}),
    ("nifti", {"version": 3, "dim": [3, 5, 6, 7], "axes": [0, 1, 2]}), ("nifti", {"version": 1, "dim": [3, 5, 6, 7], "axes": [0, 0, 2]}),
    ("nifti", {"version": 1, "dim": [3, 5, 6, 7], "axes": [0, 1, 2], "descrip": "x" * 81}),
    ("nifti", {"version": 1, "dim": [3, 5, 6, 7], "axes": [0, 1, 2], "slice_code": 256}),
    ("nifti", {"version": 1, "dim": [3, 5, 6, 7], "axes": [0, 1, 2], "srow_x": [1, 2, 3]}),
])
def test_attributes_that_make_no_sense_are_not_used(run, tmp_path, key, value):
    array = zarr.create_array(tmp_path / "in.zarr", data=sample((5, 6, 7)))
    array.attrs[key] = value
    said = run.json("info", "in.zarr")
    assert f'attribute "{key}" is not used' in said["notes"] and "header" not in said
    run("in.zarr", "out.nii", *MEMORY)
    assert equal(read(tmp_path / "out.nii"), sample((5, 6, 7)))


@pytest.mark.parametrize("change", [{"axes": ["x"]}, {"axes": 3}, {"datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0, 1, 1]}]}]},
                                    {"coordinateTransformations": [{"type": "affine"}]},
                                    {"coordinateTransformations": [{"type": "scale", "scale": [1, 2]}]}])
def test_images_that_make_no_sense_are_not_used(run, tmp_path, change):
    data = ome_zarr(tmp_path / "in.zarr", **change)
    assert "OME-Zarr image says of places is not used" in run.json("info", "in.zarr/0")["notes"]
    run("in.zarr/0", "out.npy", *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), data)


# ---- MINC -------------------------------------------------------------------------------------------------------


def minc(folder, lows=0.0, highs=1.0, scaled=(), dtype="<i2", names=("zspace", "yspace", "xspace")):
    axes = minc_support.plain(names=names)
    data = sample(tuple(a.length for a in axes), dtype) % 1000 # of valid values
    return data, minc_support.write(folder / "in.mnc", data, axes, lows, highs, scaled, (-1000, 1000))


def test_one_scaling_goes_to_nifti(run, tmp_path):
    data, path = minc(tmp_path, -1.5, 2.5)
    done = run.json("in.mnc", "out.nii", *MEMORY)
    found = nib.load(tmp_path / "out.nii")
    assert equal(read(tmp_path / "out.nii"), data.T) and np.isclose(found.dataobj.slope, 0.002) and np.isclose(found.dataobj.inter, 0.5)
    assert "other attributes" in done["notes"]


def test_scalings_of_slices_do_not(run, tmp_path):
    lows = np.arange(4.0)
    data, path = minc(tmp_path, lows, lows + 2, ("zspace",))
    assert "one scaling for all" in run.error("in.mnc", "out.nii", *MEMORY)
    done = run.json("in.mnc", "out.ome.zarr", *MEMORY)
    assert "differs from slice to slice" in done["notes"]
    assert equal(np.asarray(zarr.open_array(tmp_path / "out.ome.zarr" / "0")[...]), data)
    # the way out that the message names
    minc_support.tool("mincreshape", "-float", path, tmp_path / "real.mnc")
    run("real.mnc", "out.nii", *MEMORY)
    real = minc_support.real_values(path, data.shape)
    assert np.allclose(nib.load(tmp_path / "out.nii").get_fdata(), real.T, rtol=1e-6)


def test_the_same_scaling_of_all_slices_is_one(run, tmp_path):
    minc(tmp_path, np.full(4, -1.5), np.full(4, 2.5), ("zspace",))
    run("in.mnc", "out.nii", *MEMORY)
    assert np.isclose(nib.load(tmp_path / "out.nii").dataobj.slope, 0.002)


def test_coordinates_that_are_irregular_are_not_kept(run, tmp_path):
    axes = minc_support.plain()
    axes[0].offsets = np.array([0.0, 1, 3, 7])
    minc_support.write(tmp_path / "in.mnc", sample((4, 6, 5), "u1"), axes)
    assert "zspace, which is irregular" in run.json("in.mnc", "out.nii", *MEMORY)["notes"]
    assert nib.load(tmp_path / "out.nii").header["sform_code"] == 0


# ---- runs -------------------------------------------------------------------------------------------------------


def test_plans_of_images_are_saved_and_run(run, tmp_path):
    image(tmp_path, (9, 8, 7))
    run("plan", "in.nii", "out.zarr", "--ome", "--roi", "1:9,2:8,0:5", "--chunks", "2,3,4", "--codec", "zstd", "--save", "plan.json", *MEMORY)
    run("run", "plan.json")
    part = read(tmp_path / "in.nii")[1:9, 2:8, 0:5]
    assert equal(np.asarray(check_image(tmp_path / "out.zarr")[...]), part.T)


def test_an_image_is_replaced_only_by_request(run, tmp_path):
    image(tmp_path)
    run("in.nii", "out.ome.zarr", *MEMORY)
    assert "is there already" in run.error("in.nii", "out.ome.zarr", *MEMORY)
    run("in.nii", "out.ome.zarr", "--overwrite", "--chunks", "2,2,2", *MEMORY)
    assert check_image(tmp_path / "out.ome.zarr").chunks == (2, 2, 2)
    (tmp_path / "out.ome.zarr" / "notes.txt").write_text("mine")
    assert "notes.txt" in run.error("in.nii", "out.ome.zarr", "--overwrite", *MEMORY)


def test_chunks_that_are_proposed_are_along_the_axes_of_the_target(run, tmp_path):
    image(tmp_path, (64, 48, 40), dtype="u1")
    run("in.nii", "out.ome.zarr", "--chunks", "auto", "--for", "slices:0", "--block-size", "3KiB", *MEMORY)
    assert check_image(tmp_path / "out.ome.zarr").chunks == (1, 48, 64)


@pytest.mark.parametrize("shape", [(5, 6, 7), (6, 6, 6)])
def test_arrays_are_compared_by_the_names_of_their_axes(run, tmp_path, shape):
    image(tmp_path, shape)
    run("in.nii", "out.ome.zarr", "--chunks", "2,3,4", *MEMORY)
    run("verify", "in.nii", "out.ome.zarr/0", *MEMORY)
    run("verify", "out.ome.zarr/0", "in.nii", "--exact", *MEMORY)
    level = zarr.open_array(tmp_path / "out.ome.zarr" / "0")
    level[1, 2, 3] += 1
    assert run.json("verify", "in.nii", "out.ome.zarr/0", *MEMORY, code=1)["index"] == [1, 2, 3]


def test_what_cannot_be_an_image(run, tmp_path):
    image(tmp_path, (2, 2, 2, 2, 2, 2))
    assert "two or three axes in space" in run.error("in.nii", "out.ome.zarr", *MEMORY)
    assert "give a .zarr path" in run.error("in.nii", "out.npy", "--ome", *MEMORY)
    ome_zarr(tmp_path / "in.zarr")
    assert "--ome" in run.error("in.zarr", "out.zarr", "--ome", *MEMORY, code=2)
