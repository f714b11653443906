# SPDX-License-Identifier: BSD-3-Clause
"""NIfTI images: a volume of BigBrain's shape in little memory, and one of 4 GiB, against cp and nibabel."""

import importlib.util
import math
import os
import sys
from dataclasses import dataclass
from typing import Optional

from generate import ITEMSIZE
from measure import Contender, ratio
from tables import Table, human, judged, lengths, listed, resident

HERE = os.path.dirname(os.path.abspath(__file__))
BRAIN, BRAIN_BLOCK, BRAIN_BUDGET = (770, 605, 700), (154, 121, 140), 64 << 20
CUBE, CUBE_BLOCK, CUBE_BUDGET = (1291,) * 3, (323,) * 3, 256 << 20


@dataclass(frozen=True)
class NiftiSource:
    shape: tuple
    chunks: Optional[tuple]
    suffix: str # of one file; "" of a folder

    @property
    def n_bytes(self):
        return math.prod(self.shape) * ITEMSIZE

    def generator(self, folder, path):
        return [sys.executable, os.path.join(folder, "nifti_generate.py"), path, listed(self.shape),
                *([listed(self.chunks)] if self.chunks else [])]


@dataclass(frozen=True)
class NiftiJob:
    title: str
    source: NiftiSource
    chunks: Optional[tuple] # of the target; None: one file
    suffix: str # of the target's files
    budget: int

    def cells(self):
        def shown(chunks, suffix):
            return f"{lengths(chunks)}{suffix}" if chunks else f"one {suffix}"
        return [self.title, f"{lengths(self.source.shape)}, {human(self.source.n_bytes)}", human(self.budget),
                f"{shown(self.source.chunks, self.source.suffix or '.nii')} -> {shown(self.chunks, self.suffix)}"]


def nifti_jobs(options):
    def small(shape):
        return tuple(max(1, round(n * options.scale ** (1 / 3))) for n in shape)
    brain, brain_block, cube, cube_block = map(small, (BRAIN, BRAIN_BLOCK, CUBE, CUBE_BLOCK))
    blocks, one = NiftiSource(brain, brain_block, ""), NiftiSource(brain, None, ".nii")
    large, packed = NiftiSource(cube, None, ".nii"), NiftiSource(cube, None, ".nii.gz")
    return [NiftiJob("BigBrain, merged", blocks, None, ".nii", BRAIN_BUDGET),
            NiftiJob("BigBrain, split", one, brain_block, ".nii", BRAIN_BUDGET),
            NiftiJob("BigBrain, split and packed", one, brain_block, ".nii.gz", BRAIN_BUDGET),
            NiftiJob("4 GiB, split", large, cube_block, ".nii", CUBE_BUDGET),
            NiftiJob("4 GiB, unpacked and split", packed, cube_block, ".nii", CUBE_BUDGET),
            NiftiJob("4 GiB, packed", large, None, ".nii.gz", CUBE_BUDGET)]


def ours(bench, job):
    source, target = bench.path(job.source), bench.target() + ("" if job.chunks else job.suffix)
    command = [bench.resplit, source, target, "--memory", str(job.budget), "--json", "--quiet", *bench.options.extra]
    if job.chunks:
        command += ["--chunks", listed(job.chunks), "--pattern", "{0}_{1}_{2}" + job.suffix]
    if job.suffix.endswith(".gz"):
        command += ["--codec", "gzip:1"]
    return Contender("resplit", command, budget=job.budget, makes=target, source=source)


def nibabel(bench, job):
    source, target = bench.path(job.source), bench.target() + ("" if job.chunks else ".nii")
    return Contender("nibabel", [sys.executable, os.path.join(HERE, "peers", "nibabel_peer.py"), source, target,
                                 *([listed(job.chunks)] if job.chunks else [])], sync=True, peer=True, most=1)


def nifti(bench):
    table = Table("nifti: images against cp and nibabel",
                  ["case", "array", "budget", "blocks", "resplit s", "cp + sync s", "nibabel s", "resplit / cp", "resplit / nibabel (< 1)",
                   "resident", "resident, nibabel"],
                  "uint16 with six bits of noise; packed by gzip at level 1. cp copies the source as it is. nibabel as its users call it, once, "
                  "with as much memory as it takes; it does not write packed blocks here.")
    has_nibabel = importlib.util.find_spec("nibabel") is not None
    for job in nifti_jobs(bench.options):
        if not bench.prepare(table, job, 2 * job.source.n_bytes):
            continue
        source = bench.path(job.source)
        contenders = [ours(bench, job), Contender("cp", ["cp", "-r", source, bench.target()], sync=True)]
        if has_nibabel and job.suffix == ".nii":
            contenders.append(nibabel(bench, job))
        found = bench.contest("nifti: " + job.title, contenders)
        other = found.get("nibabel")
        table.rows.append(job.cells() + [
            found["resplit"].shown(), found["cp"].shown(), other.shown() if other else "-",
            judged(ratio(found["resplit"], found["cp"]), math.inf), judged(ratio(found["resplit"], other), 1, below=True) if other else "-",
            resident([found["resplit"]], job.budget), resident([other], 0) if other else "-"])
    return table
