# SPDX-License-Identifier: BSD-3-Clause
"""NIfTI images: split, merged, cut out and converted; nibabel says whether values and places are right."""

import gzip
import json
import shutil
import struct

import nibabel as nib
import numpy as np
import pytest

from conftest import sample, written
from nifti_support import MEMORY, TYPES, check_grid, dtype_of, equal, header, position, read, values, write

SPACE = {"qform_code": 1, "sform_code": 2, "pixdim": [-1, 2, 1.5, 2.5, 3, 1, 1, 1], "quatern_b": 0.1, "quatern_c": -0.2,
         "quatern_d": 0.3, "qoffset_x": -80, "qoffset_y": 12, "qoffset_z": 3.3, "srow_x": [2, 0, 0.1, -80],
         "srow_y": [0, 2, 0.5, 5], "srow_z": [0.25, 0, 2.5, 7], "scl_slope": 2.5, "scl_inter": -3, "descrip": b"of a test",
         "xyzt_units": 10}
ENDS = [".nii", ".nii.gz", ".img"]


def manifest(folder):
    return json.loads((folder / "resplit.json").read_text())


# ---- there and back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("code", TYPES)
def test_every_type_comes_back_byte_for_byte(run, tmp_path, code, version):
    for order in "<>":
        data = values((7, 6, 5), dtype_of(code, order))
        source = write(tmp_path / f"{'lb'[order == '>']}.nii", data, version=version, order=order, **SPACE)
        folder = tmp_path / f"blocks{order == '>'}"
        run(source, folder, "--chunks", "3,6,2", *MEMORY)
        if TYPES[code][0] != "V":  # which nibabel does not read
            check_grid(folder, data, (3, 6, 2), "{0}_{1}_{2}.nii")
        run("merge", folder, f"{folder.name}.nii", *MEMORY)
        assert (tmp_path / f"{folder.name}.nii").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("axes", range(1, 8))
def test_any_number_of_axes(run, tmp_path, axes, end):
    data = values((5, 4, 3, 3, 2, 2, 2)[:axes], "<i2")
    source = write(tmp_path / "in.nii", data, **SPACE)
    chunks = (2, 3, 2, 2, 1, 2, 1)[:axes]
    pattern = "x_" + "_".join(f"{{{d}}}" for d in range(axes)) + end
    run(source, "out", "--chunks", written(chunks), "--pattern", pattern, *MEMORY)
    check_grid(tmp_path / "out", data, chunks, pattern)
    run("merge", "out", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == source.read_bytes()


def test_from_one_grid_to_another_without_the_manifest(run, tmp_path):
    data = values((30, 20, 10), "<u2")
    source = write(tmp_path / "in.nii", data, extensions=[(6, b"a comment"), (4, b"x" * 100)], **SPACE)
    run(source, "a", "--chunks", "7,20,3", "--pattern", "scan7_{0:03}_{1}_{2}.nii", *MEMORY)
    (tmp_path / "a" / "resplit.json").unlink()
    run("a", "b", "--chunks", "10,6,10", *MEMORY)
    (tmp_path / "b" / "resplit.json").unlink()
    run("b", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == source.read_bytes()


def test_uneven_blocks_and_positions_in_names(run, tmp_path):
    data = values((9, 8, 7), "<f4")
    source = write(tmp_path / "in.nii", data, **SPACE)
    pattern = "p-{0.start}-{1.start}-{2.start}.nii"
    run(source, "out", "--chunks", "2+3+4,8,1+6", "--pattern", pattern, *MEMORY)
    check_grid(tmp_path / "out", data, ((2, 3, 4), 8, (1, 6)), pattern)
    (tmp_path / "out" / "resplit.json").unlink()
    run("out", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == source.read_bytes()


def test_an_offset_of_0_means_right_after_the_header(run, tmp_path):
    data = values((4, 4, 4), "<i2")
    (tmp_path / "in.nii").write_bytes(header(data.shape, vox_offset=0) + data.tobytes("F"))
    run("in.nii", "out", "--chunks", "2,2,2", *MEMORY)
    run("out", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == (tmp_path / "in.nii").read_bytes()


def test_what_lies_between_header_and_voxels_is_kept(run, tmp_path):
    data = values((4, 4, 4), "<i2")
    rest = bytes(range(1, 38))
    (tmp_path / "in.nii").write_bytes(header(data.shape, vox_offset=352 + 37)[:348] + bytes(4) + rest + data.tobytes("F"))
    run("in.nii", "out", "--chunks", "2,2,2", *MEMORY)
    run("in.nii", "packed", "--chunks", "2,2,2", "--codec", "gzip:1", *MEMORY)
    for folder in ("out", "packed"):
        run(folder, f"{folder}.nii", *MEMORY)
        assert (tmp_path / f"{folder}.nii").read_bytes() == (tmp_path / "in.nii").read_bytes()


# ---- places -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_region_keeps_its_place(run, tmp_path, version):
    data = values((12, 11, 10, 6), "<i2")
    write(tmp_path / "in.nii", data, version=version, toffset=5, **SPACE)
    run("extract", "in.nii", "out.nii", "--roi", "3:9,2:,4:5,2:6", *MEMORY)
    whole, part = nib.load(tmp_path / "in.nii").header, nib.load(tmp_path / "out.nii").header
    assert equal(read(tmp_path / "out.nii"), data[3:9, 2:, 4:5, 2:6])
    for form in ("get_qform", "get_sform"):
        a, b = getattr(whole, form)(), getattr(part, form)()
        assert np.allclose(position(b, (1, 2, 0)), position(a, (4, 4, 4)), atol=1e-4)
    assert float(part["toffset"]) == 5 + 2 * 3
    part = nib.load(tmp_path / "out.nii").dataobj  # the header forgets the scaling when it is loaded
    assert (part.slope, part.inter) == (2.5, -3)
    run("in.nii", "grid", "--roi", "3:9,2:,4:5,2:6", "--chunks", "4,3,1,2", *MEMORY)
    run("grid", "again.nii", *MEMORY)
    assert (tmp_path / "again.nii").read_bytes() == (tmp_path / "out.nii").read_bytes()


def test_without_codes_positions_are_in_names_and_manifest(run, tmp_path):
    data = values((8, 8, 8), "<i2")
    source = write(tmp_path / "in.nii", data, qoffset_x=5, srow_x=[1, 2, 3, 4])
    run(source, "out", "--chunks", "4,4,4", *MEMORY)
    heads = {(tmp_path / "out" / f"{i}_0_1.nii").read_bytes()[252:328] for i in range(2)}
    assert heads == {source.read_bytes()[252:328]}
    run("out", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == source.read_bytes()
    assert manifest(tmp_path / "out")["header"] == source.read_bytes()[:348].hex()


SLICES = {"dim_info": 0x30, "slice_start": 2, "slice_end": 8, "slice_duration": 0.5}


@pytest.mark.parametrize("code, kept", [(1, True), (2, True), (3, False), (6, False)])
def test_slices(run, tmp_path, code, kept):
    data = values((4, 4, 10), "<i2")
    source = write(tmp_path / "in.nii", data, slice_code=code, **SLICES, **SPACE)
    done = run.json(source, "out", "--chunks", "4,4,4", "--memory", "8MiB")
    assert ("notes" in done) is not kept
    expected = [(2, 3), (0, 3), (0, 0)]
    for i, span in enumerate(expected):
        head = nib.load(tmp_path / "out" / f"0_0_{i}.nii").header
        assert (int(head["slice_start"]), int(head["slice_end"])) == span
        assert int(head["slice_code"]) == (code if kept else 0)
    run("out", "back.nii", *MEMORY)
    assert (tmp_path / "back.nii").read_bytes() == source.read_bytes()
    run(source, "uncut", "--chunks", "2,2,10", *MEMORY)
    head = nib.load(tmp_path / "uncut" / "1_1_0.nii").header
    assert int(head["slice_code"]) == code and int(head["slice_end"]) == 8


# ---- merging what does not belong together ----------------------------------------------------------------------

# field, value, what the message names
OTHERS = [
    ("scl_slope", 2, "scl_slope 2"), ("scl_inter", 1, "scl_inter 1"), ("pixdim", [1, 2, 2, 2, 1, 1, 1, 1], "pixdim 2 at 1"),
    ("qform_code", 2, "qform_code 2"), ("sform_code", 0, "sform_code 0"), ("qoffset_y", 1.5, "qoffset_y 1.5"),
    ("srow_z", [0, 0, 1, 4.5], "srow_z 4.5 at 3"), ("quatern_c", 0.25, "quatern_c 0.25"), ("intent_code", 1002, "intent_code 1002"),
    ("intent_name", b"other", "intent_name 'other'"), ("xyzt_units", 2, "xyzt_units 2"), ("toffset", 9, "toffset 9"),
    ("dim_info", 9, "dim_info 9"),
]


def grid(folder, compressed=False, change=None, version=1):
    """Two blocks, one above the other; `change` is for the second."""
    folder.mkdir()
    data = values((3, 3, 6), "<i2")
    for i in range(2):
        fields = {"qform_code": 1, "sform_code": 1, "qoffset_z": 3 * i, "srow_x": [1, 0, 0, 0], "srow_y": [0, 1, 0, 0],
                  "srow_z": [0, 0, 1, 3 * i], "pixdim": [1] * 8}
        fields.update(change or {} if i else {})
        head = header((3, 3, 3), "<i2", version=fields.pop("version", version), **fields)
        path = folder / f"{0}_{0}_{i}.nii"
        path.write_bytes(head + data[:, :, 3 * i:3 * i + 3].tobytes("F"))
    return data


@pytest.mark.parametrize("field, value, text", OTHERS)
def test_blocks_that_differ_are_refused(run, tmp_path, field, value, text):
    data = grid(tmp_path / "good")
    run("good", "good.nii", *MEMORY)
    assert equal(read(tmp_path / "good.nii"), data)
    grid(tmp_path / "bad", change={field: value})
    said = run.error("bad", "bad.nii", *MEMORY)
    assert "'bad/0_0_1.nii' does not belong to the same image as 'bad/0_0_0.nii'" in said and text in said
    assert not (tmp_path / "bad.nii").exists()


def test_versions_and_types_are_not_mixed(run, tmp_path):
    grid(tmp_path / "bad", change={"version": 2})
    assert "NIfTI-2" in run.error("bad", "bad.nii", *MEMORY)
    data = grid(tmp_path / "types")
    (tmp_path / "types" / "0_0_1.nii").write_bytes(header((3, 3, 3), "<u2") + data[:, :, 3:].tobytes("F"))
    assert "has type <u2" in run.error("types", "bad.nii", *MEMORY)


@pytest.mark.parametrize("field, value", [("descrip", b"other"), ("cal_max", 7), ("aux_file", b"x"), ("slice_duration", 3)])
def test_what_may_differ_is_noted(run, tmp_path, field, value):
    data = grid(tmp_path / "in", change={field: value})
    assert f"blocks differ in {field}" in run("info", "in").stdout
    run("in", "out.nii", *MEMORY)
    assert equal(read(tmp_path / "out.nii"), data)


def test_positions_may_be_rounded_in_another_way(run, tmp_path):
    grid(tmp_path / "in", change={"qoffset_z": np.nextafter(np.float32(3), np.float32(4)), "srow_z": [0, 0, 1, 2.9999998]})
    run("in", "out.nii", *MEMORY)


def test_pieces_that_nibabel_cut(run, tmp_path):
    """Rotated by almost half a turn, where quaternions are least exact."""
    rng = np.random.default_rng(3)
    for number, angle in enumerate([0.3, 1.2, 3.14, 3.1415]):
        turn = nib.eulerangles.euler2mat(angle, 0.2 * number, 0.1)
        affine = np.eye(4)
        affine[:3, :3], affine[:3, 3] = turn @ np.diag([2, 2.2, 1.7]), rng.normal(size=3) * 90
        image = nib.Nifti1Image(values((40, 30, 20), "<i2"), affine)
        image.set_qform(affine, 1)
        folder = tmp_path / f"in{number}"
        folder.mkdir()
        for i in range(4):
            for j in range(3):
                piece = image.slicer[10 * i:10 * i + 10, 10 * j:10 * j + 10]
                piece.set_qform(piece.affine, 1)  # which it drops from pieces that begin elsewhere
                nib.save(piece, folder / f"{i}_{j}_0.nii")
        run(folder, f"out{number}.nii", *MEMORY)
        assert equal(read(tmp_path / f"out{number}.nii"), np.asarray(image.dataobj))
        assert np.allclose(nib.load(tmp_path / f"out{number}.nii").affine, affine, atol=1e-3)


def test_a_header_that_was_changed_in_all_blocks_counts(run, tmp_path):
    """Not the one that the manifest has of them."""
    data = values((8, 4, 4), "<i2")
    run(write(tmp_path / "in.nii", data, **SPACE), "out", "--chunks", "4,4,4", *MEMORY)
    for path in (tmp_path / "out").glob("*.nii"):
        blob = bytearray(path.read_bytes())
        blob[112:116] = struct.pack("<f", 7)
        path.write_bytes(blob)
    run("out", "back.nii", *MEMORY)
    assert nib.load(tmp_path / "back.nii").dataobj.slope == 7


# ---- what is refused --------------------------------------------------------------------------------------------


def refuse(run, tmp_path, blob, name="in.nii"):
    (tmp_path / name).write_bytes(blob)
    return run.error("info", name)


def test_a_vector_is_not_cut(run, tmp_path):
    data = values((4, 4, 4, 1, 3), "<f4")
    write(tmp_path / "in.nii", data, intent_code=1007)
    assert "intent_code 1007" in run.error("in.nii", "out", "--chunks", "2,2,2,1,1", *MEMORY)
    run("in.nii", "out", "--chunks", "2,2,2,1,-1", *MEMORY)
    run("in.nii", "x.npy", *MEMORY)


def test_analyze_and_cifti(run, tmp_path):
    data = bytes(2 * 64)
    old = bytearray(header((4, 4, 4), "<i2", pair=True))[:348]
    old[344:348] = bytes(4)
    (tmp_path / "old.img").write_bytes(data)
    assert "Analyze 7.5" in refuse(run, tmp_path, old, "old.hdr")
    assert "Analyze 7.5" in run.error("info", "old.img")
    cifti = header((4, 4, 4), "<i2", intent_code=3006) + data
    assert "CIFTI" in refuse(run, tmp_path, cifti)
    assert "CIFTI" in refuse(run, tmp_path, header((4, 4, 4), "<i2", extensions=[(32, b"<CIFTI/>")]) + data)


# field, value, a piece of the sentence
WRONG = [
    ("dim", [0, 4, 4, 4, 1, 1, 1, 1], "dim[0] is 0"), ("dim", [8, 4, 4, 4, 1, 1, 1, 1], "dim[0] is 8"),
    ("dim", [3, 4, 0, 4, 1, 1, 1, 1], "dim[2] is 0"), ("dim", [3, 4, 4, -4, 1, 1, 1, 1], "dim[3] is -4"),
    ("dim", [3, -1, 4, 4, 1, 1, 1, 1], "FreeSurfer"), ("dim", [3, 5, 4, 4, 1, 1, 1, 1], "truncated"),
    ("dim", [3, 4, 3, 4, 1, 1, 1, 1], "too long"), ("datatype", 0, "datatype 0"), ("datatype", 1, "one bit"),
    ("datatype", 5, "datatype 5"), ("bitpix", 8, "bitpix is 8"), ("vox_offset", 348, "vox_offset is 348"),
    ("vox_offset", 352.5, "no whole number"), ("vox_offset", np.nan, "no whole number"), ("vox_offset", np.inf, "no whole number"),
    ("vox_offset", -16, "vox_offset is -16"), ("vox_offset", 1e30, "no whole number"), ("vox_offset", 1e9, "at most"),
    ("vox_offset", 5000, "ends before its voxels"), ("magic", b"n+3", "magic"), ("magic", b"ni1", "another file"),
    ("magic", b"", "Analyze"), ("sizeof_hdr", 349, "348 or 540"),
]


@pytest.mark.parametrize("field, value, text", WRONG)
def test_a_wrong_header_is_refused(run, tmp_path, field, value, text):
    assert text in refuse(run, tmp_path, header((4, 4, 4), "<i2", **{field: value}) + bytes(2 * 64))


def test_any_damage_ends_well(run, tmp_path):
    """Every byte of a header, changed: refused in a sentence, or read."""
    blob = header((4, 4, 4), "<i2", extensions=[(6, b"text")], **SPACE) + bytes(2 * 64)
    for version in (1, 2):
        blob = header((4, 4, 4), "<i2", version=version, extensions=[(6, b"text")], **SPACE) + bytes(2 * 64)
        for at in range(0, len(blob) - 128, 1 if version == 1 else 7):
            (tmp_path / "in.nii").write_bytes(blob[:at] + bytes([blob[at] ^ 0xff]) + blob[at + 1:])
            done = run.anyhow("info", "in.nii")
            assert done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("resplit: ")), at


@pytest.mark.parametrize("size", [-16, 0, 7, 1000])
def test_a_wrong_extension_is_refused(run, tmp_path, size):
    blob = bytearray(header((4, 4, 4), "<i2", extensions=[(6, b"x" * 40)]) + bytes(128))
    blob[352:356] = struct.pack("<i", size)
    assert "extension" in refuse(run, tmp_path, blob)


def test_a_pair_needs_its_header(run, tmp_path):
    write(tmp_path / "in.img", values((4, 4, 4), "<i2"))
    (tmp_path / "in.hdr").rename(tmp_path / "other.hdr")
    assert "'in.hdr' is missing" in run.error("info", "in.img")


def test_one_pair(run, tmp_path):
    data = values((9, 8, 7), "<i2")
    for version in (1, 2):
        source = write(tmp_path / f"in{version}.img", data, version=version, extensions=[(6, b"text")], **SPACE)
        run(source, "grid", "--chunks", "4,4,4", *MEMORY)
        check_grid(tmp_path / "grid", data, (4, 4, 4), "{0}_{1}_{2}.img")
        run("grid", "back.hdr", *MEMORY)
        assert "'back.img' is there already" in run.error("grid", "back.hdr", *MEMORY)
        for end in (".img", ".hdr"):
            assert (tmp_path / f"back{end}").read_bytes() == source.with_suffix(end).read_bytes()
        (tmp_path / "back.img").unlink()
        assert "'back.hdr' is there already" in run.error("grid", "back.img", *MEMORY)
        run("grid", "back.img", "--overwrite", *MEMORY)
        assert equal(read(tmp_path / "back.hdr"), data)
        run(source, "grid", "--chunks", "3,3,3", "--overwrite", *MEMORY)
        check_grid(tmp_path / "grid", data, (3, 3, 3), "{0}_{1}_{2}.img")
        run("grid", f"one{version}.nii", *MEMORY)
        assert equal(read(tmp_path / f"one{version}.nii"), data)
        assert np.array_equal(nib.load(tmp_path / f"one{version}.nii").affine, nib.load(source).affine)
        for path in [*(tmp_path / "grid").iterdir(), tmp_path / "grid", *tmp_path.glob("back.*")]:
            path.rmdir() if path.is_dir() else path.unlink()
    run("one1.nii", "packed.img.gz", *MEMORY)
    assert equal(read(tmp_path / "packed.img.gz"), data)
    run("packed.hdr.gz", "x.npy", *MEMORY)
    assert equal(np.load(tmp_path / "x.npy"), data)


# ---- other formats ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [".nii", ".nii.gz"])
@pytest.mark.parametrize("dtype", ["uint8", ">i2", "<f4", "<u8", "complex128"])
def test_from_and_to_other_formats(run, tmp_path, dtype, end):
    data = sample((9, 8, 7), dtype)
    np.save(tmp_path / "in.npy", data)
    run("in.npy", f"a{end}", *MEMORY)
    assert equal(read(tmp_path / f"a{end}"), data)
    run(f"a{end}", "b.zarr", "--chunks", "4,4,4", *MEMORY)
    run("b.zarr", "c", "--format", "nifti", "--pattern", "{0}_{1}_{2}" + end, "--chunks", "5,5,5", *MEMORY)
    check_grid(tmp_path / "c", data, (5, 5, 5), "{0}_{1}_{2}" + end)
    run("c", "d.npy", *MEMORY)
    assert equal(np.load(tmp_path / "d.npy"), data)
    run("verify", "c", "in.npy", *MEMORY)
    run("verify", "in.npy", f"a{end}", *MEMORY)


def test_what_is_not_carried_is_said(run, tmp_path):
    write(tmp_path / "in.nii", values((6, 5, 4), "<i2"), **SPACE)
    for name in ("out.npy", "out.zarr"):
        done = run.json("in.nii", name, *(("--chunks", "2,2,2") if "zarr" in name else ()), "--memory", "8MiB")
        assert ("header" in done["notes"]) == (name == "out.npy") and "not scaled: slope 2.5, inter -3" in done["notes"]
    assert "notes" not in run.json("in.nii", "out.nii", "--memory", "8MiB")


def test_info_says_what_the_header_says(run, tmp_path):
    write(tmp_path / "in.nii", values((6, 5, 4), ">i2"), extensions=[(6, b"x")], **SPACE)
    said = run.json("info", "in.nii")
    assert said["format"] == "nifti1" and said["order"] == "F"
    assert said["header"] == ("big-endian, voxels of 2 x 1.5 x 2.5 mm, qform 1 at -80 12 3.3, sform 2 at -80 5 7, scl_slope 2.5, "
                              "scl_inter -3, with extensions")
    assert said["header"] in run("info", "in.nii").stdout


def test_what_nifti_cannot_hold(run, tmp_path):
    for dtype in ("bool", "float16", "S4"):
        np.save(tmp_path / "in.npy", sample((4, 4), dtype))
        assert "--to-dtype" in run.error("in.npy", "out.nii", *MEMORY)
    np.save(tmp_path / "in.npy", sample((1,) * 8))
    assert "1 to 7 axes" in run.error("in.npy", "out.nii", *MEMORY)
    np.save(tmp_path / "in.npy", sample((4, 0)))
    assert "no elements" in run.error("in.npy", "out.nii", *MEMORY)
    np.save(tmp_path / "in.npy", sample((4, 4)))
    assert "fastest" in run.error("in.npy", "out.nii", "--to-order", "C", *MEMORY)
    assert "gzip only" in run.error("in.npy", "out", "--format", "nifti", "--chunks", "2,2", "--codec", "zstd", *MEMORY)


def test_values_are_cast_and_scaling_stays(run, tmp_path):
    data = values((6, 5, 4), "<i2")
    write(tmp_path / "in.nii", data, **SPACE)
    for name in ("out.nii", "out.nii.gz"):
        run("in.nii", name, "--to-dtype", ">f4", *MEMORY)
        assert equal(read(tmp_path / name), data.astype(">f4"))
        image = nib.load(tmp_path / name)
        assert (image.dataobj.slope, image.dataobj.inter) == (2.5, -3)
        assert np.allclose(image.affine, nib.load(tmp_path / "in.nii").affine)


def test_long_axes_need_version_2(run, tmp_path):
    data = values((40000, 2), "u1")
    np.save(tmp_path / "in.npy", data)
    done = run.json("in.npy", "out.nii", "--memory", "8MiB")
    assert "NIfTI-2" in done["notes"]
    assert isinstance(nib.load(tmp_path / "out.nii"), nib.Nifti2Image) and equal(read(tmp_path / "out.nii"), data)
    assert "32767" in run.error("in.npy", "no.nii", "--format", "nifti1", *MEMORY)
    run("in.npy", "grid", "--format", "nifti1", "--chunks", "30000,2", *MEMORY)
    run("grid", "back.nii", *MEMORY)
    assert isinstance(nib.load(tmp_path / "back.nii"), nib.Nifti2Image) and equal(read(tmp_path / "back.nii"), data)
    assert run.json("info", "back.nii")["format"] == "nifti2"


@pytest.mark.parametrize("order", "<>")
def test_between_versions(run, tmp_path, order):
    data = values((6, 5, 4), order + "i2")
    write(tmp_path / "a.nii", data, extensions=[(6, b"text")], **SPACE)
    run("a.nii", "b.nii", "--format", "nifti2", *MEMORY)
    run("b.nii", "c.nii", "--format", "nifti1", *MEMORY)
    one, two = nib.load(tmp_path / "a.nii"), nib.load(tmp_path / "b.nii")
    assert isinstance(two, nib.Nifti2Image) and equal(read(tmp_path / "b.nii"), data)
    for name in one.header.keys():
        if name in two.header and name not in ("sizeof_hdr", "vox_offset", "magic"):
            assert np.array_equal(one.header[name], two.header[name], equal_nan=True) if one.header[name].dtype.kind == "f" else \
                np.array_equal(one.header[name], two.header[name]), name
    assert (tmp_path / "c.nii").read_bytes() == (tmp_path / "a.nii").read_bytes()
    write(tmp_path / "d.nii", data, version=2, scl_slope=0.1)
    assert "NIfTI-1 would round" in run.error("d.nii", "e.nii", "--format", "nifti1", *MEMORY)


# ---- compressed -------------------------------------------------------------------------------------------------


def test_compressed_by_others_in_several_members(run, tmp_path):
    data = values((20, 15, 10), "<i2")
    blob = write(tmp_path / "in.nii", data, extensions=[(6, b"x" * 300)], **SPACE).read_bytes()
    parts = [blob[:100], blob[100:500], blob[500:501], blob[501:]]
    (tmp_path / "in.nii.gz").write_bytes(b"".join(gzip.compress(p) for p in parts) + bytes(20))
    run("in.nii.gz", "out.nii", *MEMORY)
    assert (tmp_path / "out.nii").read_bytes() == blob
    run("in.nii.gz", "out", "--chunks", "7,15,4", *MEMORY)
    check_grid(tmp_path / "out", data, (7, 15, 4), "{0}_{1}_{2}.nii.gz")


def test_what_we_compress_says_nothing_of_when(run, tmp_path):
    write(tmp_path / "in.nii", values((20, 15, 10), "<i2"), **SPACE)
    run("in.nii", "out.nii.gz", *MEMORY)
    blob = (tmp_path / "out.nii.gz").read_bytes()
    assert blob[:10] == b"\x1f\x8b\x08\0\0\0\0\0" + blob[8:10]
    assert gzip.decompress(blob) == (tmp_path / "in.nii").read_bytes()


@pytest.mark.parametrize("cut", [0, 5, 100, -1, -9])
def test_damaged_streams_are_refused(run, tmp_path, cut):
    data = values((20, 15, 10), "<i2")
    blob = gzip.compress(write(tmp_path / "in.nii", data).read_bytes())
    (tmp_path / "in.nii.gz").write_bytes(blob[:cut])
    assert "in.nii.gz" in run.error("in.nii.gz", "out.nii", *MEMORY)
    wrong = bytearray(blob)
    wrong[len(blob) // 2] ^= 0x10
    (tmp_path / "in.nii.gz").write_bytes(wrong)
    run.error("in.nii.gz", "out.nii", *MEMORY)
    (tmp_path / "in.nii.gz").write_bytes(gzip.compress((tmp_path / "in.nii").read_bytes() + b"\0"))
    run.error("in.nii.gz", "out.nii", *MEMORY)
    assert not (tmp_path / "out.nii").exists()


# ---- larger than memory -----------------------------------------------------------------------------------------

COUNTS = ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes", "temp_bytes")


def big(tmp_path, shape=(200, 160, 150)):
    """Of some 10 MB, that compresses."""
    grid = np.indices(shape, sparse=True)
    data = (sum(np.sin(g / 9) for g in grid) * 500 + np.random.default_rng(1).integers(0, 4, shape)).astype("<i2")
    return data, write(tmp_path / "in.nii", data, **SPACE)


def check_counts(done):
    for key in COUNTS:
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= done["memory"]


@pytest.mark.parametrize("memory", ["2MiB", "3MiB", "5MiB", "64MiB"])
def test_compressed_and_larger_than_memory(run, tmp_path, memory):
    data, source = big(tmp_path)
    (tmp_path / "in.nii.gz").write_bytes(gzip.compress(source.read_bytes(), 1))
    whole = memory == "64MiB"
    done = run.json("in.nii.gz", "grid", "--chunks", "70,80,50", "--codec", "gzip:1", "--memory", memory)
    check_counts(done)
    assert not whole or done["actual"]["temp_bytes"] == 0
    check_grid(tmp_path / "grid", data, (70, 80, 50), "{0}_{1}_{2}.nii.gz")
    done = run.json("grid", "out.nii.gz", "--memory", memory)
    check_counts(done)
    assert gzip.decompress((tmp_path / "out.nii.gz").read_bytes()) == source.read_bytes()
    (tmp_path / "temp").mkdir()
    done = run.json("in.nii.gz", "again.nii.gz", "--to-dtype", ">i2", "--memory", memory, "--temp", "temp")
    check_counts(done)
    assert equal(read(tmp_path / "again.nii.gz"), data.astype(">i2"))
    run("extract", "in.nii.gz", "part.nii", "--roi", "10:20,:,5:9", "--memory", memory, "--quiet")
    assert equal(read(tmp_path / "part.nii"), data[10:20, :, 5:9])
    assert list((tmp_path / "temp").iterdir()) == []
    assert not list(tmp_path.glob("*.resplit-part"))


@pytest.mark.parametrize("chunks", ["80,80,80", "160,80,80", "50,70,160"])
def test_large_compressed_pieces_by_many(run, tmp_path, chunks):
    """Headers are decoded with the voxels, and left out where these go straight to their target block."""
    rng = np.random.default_rng(3)
    data = rng.integers(0, 4096, (160, 160, 160)).astype("<u2")
    source = write(tmp_path / "in.nii", data, **SPACE)
    run(source, "grid", "--chunks", "80,80,80", "--pattern", "{0}_{1}_{2}.nii.gz", "--codec", "gzip:1", "--quiet")
    for strategy in ("auto", "best"):
        done = run.json("grid", f"{strategy}.ome.zarr", "--chunks", chunks, "--codec", "zstd:1", "--memory", "128MiB", "--strategy", strategy)
        check_counts(done)
        run("merge", f"{strategy}.ome.zarr/0", f"{strategy}.npy", "--quiet")
        assert equal(np.load(tmp_path / f"{strategy}.npy"), data.T)


def test_plans_that_unpack_are_saved_and_run(run, tmp_path):
    data, source = big(tmp_path)
    (tmp_path / "in.nii.gz").write_bytes(gzip.compress(source.read_bytes(), 1))
    run("plan", "in.nii.gz", "out", "--chunks", "70,80,50", "--memory", "3MiB", "--save", "plan", "--quiet")
    run("run", "plan", "--quiet")
    check_grid(tmp_path / "out", data, (70, 80, 50), "{0}_{1}_{2}.nii.gz")


def test_what_does_not_unpack_leaves_nothing(run, tmp_path):
    _, source = big(tmp_path)
    packed = gzip.compress(source.read_bytes(), 1)
    for blob in (packed[:-100], gzip.compress(source.read_bytes() + b"x", 1), gzip.compress(source.read_bytes()[:-2], 1)):
        (tmp_path / "in.nii.gz").write_bytes(blob)
        for resume in ((), ("--resume",), ("--resume",)):
            for target in (("out.nii",), ("out", "--chunks", "70,80,50", "--codec", "gzip")):
                assert "in.nii.gz" in run.error("in.nii.gz", *target, "--memory", "3MiB", "--quiet", *resume)
        assert not (tmp_path / "out.nii").exists() and not (tmp_path / "out").exists()
        for part in tmp_path.glob("*.resplit-part"):
            shutil.rmtree(part)


def test_one_pass_where_it_fits(run, tmp_path):
    """Forwards, once, without a temporary file: plain pieces are written as their parts come."""
    data, source = big(tmp_path)
    (tmp_path / "in.nii.gz").write_bytes(gzip.compress(source.read_bytes(), 1))
    done = run.json("in.nii.gz", "grid", "--chunks", "70,80,50", "--pattern", "{0}_{1}_{2}.nii", "--memory", "6MiB")
    check_counts(done)
    assert done["actual"]["temp_bytes"] == 0 and done["actual"]["bytes_read"] == data.nbytes
    check_grid(tmp_path / "grid", data, (70, 80, 50), "{0}_{1}_{2}.nii")
    done = run.json("extract", "in.nii.gz", "part", "--roi", "50:190,3:150,20:110", "--chunks", "70,80,50", "--pattern", "{0}_{1}_{2}.nii",
                    "--memory", "6MiB")
    check_counts(done)
    check_grid(tmp_path / "part", data[50:190, 3:150, 20:110], (70, 80, 50), "{0}_{1}_{2}.nii")


def test_a_compressed_pair_is_decoded_where_a_single_file_has_its_elements(run, tmp_path):
    """Whole sectors of elements, which begin behind a head in the target and have none in the source."""
    voxels = np.random.default_rng(1).integers(0, 9999, (128, 128, 64), dtype=np.int16)
    nib.save(nib.Nifti1Pair(voxels, np.eye(4)), tmp_path / "in.img.gz")
    run("in.img.gz", "out.nii", "--memory", "64MiB", "--quiet")
    assert (np.asarray(nib.load(tmp_path / "out.nii").dataobj) == voxels).all()
