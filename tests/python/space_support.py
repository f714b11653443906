# SPDX-License-Identifier: BSD-3-Clause
"""Where elements are, by the readers of each format: nibabel's affines, and the attributes of Zarr evaluated as their specifications say."""

import nibabel as nib
import numpy as np
import zarr


def image_of(path):
    """(axes, transformations) of the first image and the first level in a group, version 0.4 or 0.5."""
    attributes = dict(zarr.open_group(path, mode="r").attrs)
    ome = attributes.get("ome", attributes)
    image = ome["multiscales"][0]
    assert (ome if "ome" in attributes else image)["version"] == ("0.5" if "ome" in attributes else "0.4")
    return image["axes"], image["datasets"][0]["coordinateTransformations"] + image.get("coordinateTransformations", [])


def ome_place(path, index):
    """{name of axis: coordinate} of an element of the first level."""
    axes, transformations = image_of(path)
    at = np.array(index, float)
    for one in transformations:
        at = at * one["scale"] if one["type"] == "scale" else at + one["translation"]
    return dict(zip((a["name"] for a in axes), at))


def check_image(path):
    """What OME-Zarr asks for: the order of axes, one scale and at most one translation, names that the array has too."""
    axes, transformations = image_of(path)
    kinds = [a.get("type") for a in axes]
    assert sorted(kinds, key=["time", "channel", "other", "space"].index) == kinds and 2 <= kinds.count("space") <= 3
    assert [a["name"] for a in axes if a.get("type") == "space"] == list("zyx"[3 - kinds.count("space"):]) or kinds.count("space") == 2
    assert [t["type"] for t in transformations] in (["scale"], ["scale", "translation"])
    level = zarr.open_array(f"{path}/0", mode="r")
    assert level.ndim == len(axes) and all(len(t[t["type"]]) == level.ndim for t in transformations)
    if level.metadata.zarr_format == 3:
        assert list(level.metadata.dimension_names) == [a["name"] for a in axes]
    else:
        assert level.metadata.dimension_separator == "/"
    return level


def space_place(array, index):
    """x, y, z of an element, by the attribute "space"."""
    return np.array(array.attrs["space"]["affine"]) @ [*index, 1]


def nifti_place(path, index):
    """x, y, z of a voxel, by nibabel."""
    voxel = [*index[:3], *[0] * (3 - len(index[:3]))]
    return (nib.load(path).affine @ [*voxel, 1])[:3]


def near(a, b, affine, shape):
    """The same place, but for the rounding of floats over an image of this shape."""
    scale = np.abs(affine).max() * (1 + max(shape))
    return np.allclose(a, b, rtol=0, atol=4e-6 * (1 + scale))
