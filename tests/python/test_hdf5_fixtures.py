# SPDX-License-Identifier: BSD-3-Clause
"""Files that other projects wrote: every dataset is read to the values that h5py reads, or refused in a sentence."""

import fnmatch

import h5py
import hdf5plugin  # noqa: F401, which registers filters
import numpy as np
import pytest

from hdf5_support import MEMORY
from zarr_support import below, unpacked

# What is refused, by file and dataset: a fragment of what is said. Everything else that h5py can read has to work.
REFUSED = {
    "*/h5ex_d_blosc2.h5:DS1": "filter 32026 (blosc2)",
    "*/h5ex_d_bshuf.h5:DS1": "filter 32008 (bitshuffle)",
    "*/h5ex_d_jpeg.h5:DS1": "filter 32019",
    "*/h5ex_d_mafisc.h5:DS1": "filter 32002",
    "*/h5ex_d_zfp.h5:DS1": "filter 32013 (zfp)",
    "*:Nbit_float_data_?e": "a type that only HDF5 has",
    "*/h5repack_filters.h5:dset_nbit": "a type that only HDF5 has",
    "*/vds/4_vds.h5:*": "of files by a pattern",
    "*/vds/vds-eiger.h5:*": "of files by a pattern",
    "*h5repack_nbit.h5:*": "a type that only HDF5 has",
    "*h5repack_layout.UD.h5:*": "filter 257",
    "*/filter_error.h5:*": "filter 305",
    "*/h5fc_ext*:DSET_EA": "its index has 4 chunks, of which 2 can be found",
    "*/tlayouto.h5:*": "larger than a file can be",
    "*/h5repack_layouto.h5:*": "larger than a file can be",
    "*/tnullspace.h5:dset": "no elements and no shape",
    "*:*ref": "has references",
    "*:*ref?D": "has references",
    "*:refobj*": "has references",
    "*:refreg*": "has references",
    "*:Dset_*REF": "has references",
    "*:*ref_dataset": "has references",
    "*:vlen*": "varying length",
    "*:var_len_str": "varying length",
    "*/opaque_datetime.hdf5:string_data": "varying length",
    "*/memleak_H5O_dtype_decode_helper_H5Odtype.h5:*": "attribute name has different length",
    "*/h5repack_nested_8bit_enum*.h5:*": "a type that only HDF5 has",
    "*:array*": "a type that only HDF5 has",
    "*:bitfield*": "a type that only HDF5 has",
}

# Strings that use the byte of their terminator: h5py drops it, we keep what is stored.
UNTERMINATED = "*/h5repack_*objs.h5:string*"


def refusal(name):
    found = [message for pattern, message in REFUSED.items() if fnmatch.fnmatch(name, pattern)]
    return [m for one in found for m in ([one] if isinstance(one, str) else one)]


@pytest.fixture(scope="module", params=["hdf5", "pyfive"])
def archive(request, tmp_path_factory):
    return unpacked(request.param, tmp_path_factory)


def files_below(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".h5", ".hdf5", ".nc"))


def datasets(path):
    """(name, values) of what h5py reads; values None where it cannot."""
    names = []
    try:
        with h5py.File(path, "r") as f:
            f.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
            for name in names:
                try:
                    yield name, f[name][()]
                except Exception:  # of any kind: filters that are not installed, damaged files
                    yield name, None
    except Exception:
        return


def same_values(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def one(run, path, name, values, shown):
    """None, or what is wrong."""
    out = run.folder / "out.npy"
    out.unlink(missing_ok=True)
    done = run.anyhow(f"{path}:/{name}", out, *MEMORY)
    if done.returncode not in (0, 1):
        return f"exit {done.returncode}: {done.stderr}"
    if done.returncode == 1:
        known = any(m in done.stderr for m in refusal(shown)) and done.stderr.startswith("resplit: ")
        return None if (known or values is None) and not out.exists() else f"refused: {done.stderr}"
    if values is None or isinstance(values, h5py.Empty) or fnmatch.fnmatch(shown, UNTERMINATED):
        return None
    return None if same_values(np.load(out), values) else "other values"


def test_what_others_wrote(run, archive):
    before, wrong, n_read = below(archive), [], 0
    for path in files_below(archive):
        for name, values in datasets(path):
            shown = f"{path.relative_to(archive)}:{name}"
            found = one(run, path, name, values, shown)
            n_read += found is None
            wrong += [f"{shown}: {found}"] if found else []
    assert not wrong, "\n".join([f"{len(wrong)} are wrong, {n_read} are not:", *wrong])
    assert n_read > 40 and below(archive) == before, "the source was touched"


def test_a_copy_in_hdf5_is_the_same(run, archive):
    """Whatever the type: a dataset of another grid in a file with everything else."""
    wrong, n = [], 0
    for path in files_below(archive):
        for name, values in datasets(path):
            out = run.folder / "out.h5"
            out.unlink(missing_ok=True)
            if values is None or isinstance(values, h5py.Empty):
                continue
            done = run.anyhow(f"{path}:/{name}", out, *MEMORY)
            if done.returncode == 0:
                n += 1
                with h5py.File(out) as f, h5py.File(path) as g:
                    if not same_values(f[name][()], values) or sorted(f) != sorted(g):
                        wrong.append(f"{path.relative_to(archive)}:{name}")
            elif done.returncode != 1:
                wrong.append(f"{path.relative_to(archive)}:{name}: {done.stderr}")
            elif not refusal(f"{path.relative_to(archive)}:{name}"):
                wrong.append(f"{path.relative_to(archive)}:{name}: {done.stderr}")
    assert not wrong, "\n".join(wrong)
    assert n > 40


def test_what_h5py_cannot_open_ends_well(run, archive):
    """Damaged files, and parts of others: a sentence, nothing else."""
    for path in files_below(archive):
        done = run.anyhow("info", path)
        assert done.returncode in (0, 1), (path, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr.startswith("resplit: "), (path, done.stderr)
