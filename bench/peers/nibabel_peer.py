# SPDX-License-Identifier: BSD-3-Clause
"""Splits or merges NIfTI images by nibabel, as its users do.

usage: nibabel_peer.py SOURCE TARGET [CHUNKS]     with chunks TARGET is a folder of .nii blocks, else one .nii of a folder of them
"""

import itertools
import os
import sys

import nibabel as nib
import numpy as np


def split(source, target, chunks):
    image = nib.load(source)
    os.mkdir(target)
    for index in itertools.product(*(range(-(-n // c)) for n, c in zip(image.shape, chunks))):
        box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunks))
        nib.save(image.slicer[box], os.path.join(target, "_".join(map(str, index)) + ".nii"))


def merge(source, target):
    blocks = {tuple(map(int, name[:-4].split("_"))): nib.load(os.path.join(source, name)) for name in os.listdir(source)}
    first = blocks[0, 0, 0]
    last = blocks[max(blocks)]
    shape = [n * i + m for n, i, m in zip(first.shape, max(blocks), last.shape)]
    whole = np.empty(shape, first.get_data_dtype(), order="F")
    for index, block in blocks.items():
        box = tuple(slice(i * n, i * n + m) for i, n, m in zip(index, first.shape, block.shape))
        whole[box] = np.asanyarray(block.dataobj)
    nib.save(nib.Nifti1Image(whole, first.affine, first.header), target)


if len(sys.argv) == 4:
    split(sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3].split(",")])
else:
    merge(*sys.argv[1:])
