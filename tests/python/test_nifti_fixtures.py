# SPDX-License-Identifier: BSD-3-Clause
"""Images that nibabel's own tests have: read to the stored values that nibabel reads, or refused in a sentence."""

import gzip
import shutil
import subprocess

import nibabel as nib
import numpy as np
import pytest

from nifti_support import equal, header, read, unpacked, values, write

MEMORY = ("--memory", "64MiB", "--quiet")

# Every file of the archive that is NIfTI or looks like it: None, or why not.
FILES = {
    "anatomical.nii": None,
    "functional.nii": None,
    "example4d.nii.gz": None,
    "example_nifti2.nii.gz": None,
    "standard.nii.gz": None,
    "reoriented_anat_moved.nii": None,
    "resampled_anat_moved.nii": None,
    "row_major.dconn.nii": "CIFTI",
    "analyze.hdr": "'analyze.img'",  # they are headers only
    "nifti1.hdr": "'nifti1.img'",
    "nifti2.hdr": "'nifti2.img'",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return unpacked("nibabel", tmp_path_factory) / "nibabel" / "tests" / "data"


def test_none_is_left_out(archive):
    assert {p.name for p in archive.iterdir() if p.suffix != ".mnc"} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_others_wrote(run, tmp_path, archive, name):
    path = archive / name
    run.folder = archive
    if FILES[name]:
        said = run.error(name, tmp_path / "out.npy", *MEMORY)
        assert FILES[name] in said and not (tmp_path / "out.npy").exists()
        return
    data = read(path)
    run(name, tmp_path / "out.npy", *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), data)
    chunks = ",".join(str(max(1, n // 2)) for n in data.shape)
    run(name, tmp_path / "grid", "--chunks", chunks, *MEMORY)
    run(tmp_path / "grid", tmp_path / "back.nii", *MEMORY)
    plain = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert (tmp_path / "back.nii").read_bytes() == plain


@pytest.mark.parametrize("name, said", [("analyze", "Analyze 7.5"), ("nifti1", None), ("nifti2", None)])
def test_headers_with_voxels_of_ours(run, tmp_path, archive, name, said):
    shutil.copy(archive / f"{name}.hdr", tmp_path)
    if said:
        (tmp_path / f"{name}.img").write_bytes(bytes(8))
        assert said in run.error("info", f"{name}.hdr")
        return
    kind = nib.Nifti1Pair if name == "nifti1" else nib.Nifti2Pair
    with open(tmp_path / f"{name}.hdr", "rb") as file:
        head = kind.header_class.from_fileobj(file)
    data = values(head.get_data_shape(), head.get_data_dtype())
    (tmp_path / f"{name}.img").write_bytes(bytes(int(head["vox_offset"])) + data.tobytes("F"))
    run(f"{name}.hdr", "out.npy", *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), data)


# ---- another program --------------------------------------------------------------------------------------------

NIFTI_TOOL = shutil.which("nifti_tool")
needs_tool = pytest.mark.skipif(not NIFTI_TOOL, reason="there is no nifti_tool: install nifti-bin")


def tool(*args):
    return subprocess.run([NIFTI_TOOL, *map(str, args)], capture_output=True, text=True, timeout=60)


def numbers(path, *fields):
    """Fields of an image as nifti_tool, of the NIfTI library, prints them."""
    done = tool("-disp_nim", *(x for f in fields for x in ("-field", f)), "-quiet", "-infiles", path)
    assert done.returncode == 0, done.stderr
    return [float(x) for x in done.stdout.split()]


def voxels(path, dtype, *at):
    """A line of voxels along the axis that is -1."""
    done = tool("-disp_ci", *at, "-quiet", "-infiles", path)
    assert done.returncode == 0, done.stderr
    return np.array([float(x) for x in done.stdout.split()]).astype(dtype)


@needs_tool
@pytest.mark.parametrize("end", [".nii", ".nii.gz", ".img"])
@pytest.mark.parametrize("version", [1, 2])
def test_the_nifti_library_reads_what_we_write(run, tmp_path, version, end):
    data = values((12, 10, 8), "<i2")
    write(tmp_path / "in.nii", data, version=version, qform_code=1, sform_code=1, pixdim=[-1, 2, 3, 4, 1, 1, 1, 1], quatern_b=0.5,
          quatern_d=0.5, qoffset_x=7, srow_x=[2, 0, 1, 7], srow_y=[0, 3, 0, 8], srow_z=[0, 0, 4, 9])
    run("in.nii", "out", "--chunks", "5,4,8", "--pattern", "{0}_{1}_{2}" + end, *MEMORY)
    piece = tmp_path / "out" / f"1_2_0{end}"
    head = piece.with_suffix(".hdr") if end == ".img" else piece
    assert tool("-check_hdr", "-infiles", head).returncode == 0
    assert tool("-check_nim", "-infiles", head).returncode == 0
    assert numbers(head, "dim") == [3, 5, 2, 8, 1, 1, 1, 1]
    assert np.array_equal(voxels(head, "<i2", -1, 1, 3, 0, 0, 0, 0), data[5:10, 9, 3])
    whole, part = (np.array(numbers(p, "qto_xyz", "sto_xyz")).reshape(2, 4, 4) for p in (tmp_path / "in.nii", head))
    for a, b in zip(whole, part):
        assert np.allclose(b @ [2, 1, 3, 1], a @ [7, 9, 3, 1], atol=1e-4)
