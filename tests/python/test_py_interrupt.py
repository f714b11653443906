# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C: the run stops soon, leaves nothing that looks whole, and can be gone on with."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr

import resplit
from conftest import sample

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs")
SLOW = {"chunks": (1, 256, 256), "codec": "bz2:9", "threads": 1, "memory": "32MiB", "sync": "none"}


@pytest.fixture(autouse=True)
def interruptible():
    """A shell starts what is in the background with interrupts switched off, and Python leaves it at that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupt:
    """A progress that is told of something done, and presses Ctrl-C, once."""

    def __init__(self):
        self.pressed = None

    def __call__(self, done, total):
        if done > total / 8 and self.pressed is None:
            self.pressed = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)


def test_interrupted_and_resumed(tmp_path):
    array = sample((160, 256, 256), "u1")
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(KeyboardInterrupt) as stopped:
        resplit.resplit(tmp_path / "a.npy", tmp_path / "b.zarr", progress=Interrupt(), **SLOW)
    assert any("resume=True" in note for note in stopped.value.__notes__)
    assert not (tmp_path / "b.zarr").exists()
    done = resplit.resplit(tmp_path / "a.npy", tmp_path / "b.zarr", resume=True, **{**SLOW, "threads": 2})
    assert done.resumed and 0 < done.cost.bytes_written < array.nbytes
    assert np.array_equal(zarr.open_array(tmp_path / "b.zarr")[...], array)
    assert os.listdir(tmp_path) and not (tmp_path / "b.zarr.resplit-part").exists()


@pytest.mark.parametrize("call", [resplit.fingerprint, lambda a, **k: resplit.verify(a, a, **k), lambda a, **k: resplit.open(a).read(**k)],
                         ids=["fingerprint", "verify", "read"])
def test_what_only_reads_is_interrupted_too(tmp_path, call):
    resplit.resplit(np.zeros((1000, 256, 256), "u1"), tmp_path / "a.zarr", **{**SLOW, "threads": 2, "write_empty": True})
    begin = time.monotonic()
    call(tmp_path / "a.zarr")
    whole, interrupt = time.monotonic() - begin, Interrupt()
    with pytest.raises(KeyboardInterrupt):
        call(tmp_path / "a.zarr", progress=interrupt)
    assert time.monotonic() - interrupt.pressed < whole + 1, "it did not stop when it was asked to"


def test_a_process_ends(tmp_path):
    """As a user would: no traceback of C, and the exit code of an interrupt."""
    np.save(tmp_path / "a.npy", sample((640, 256, 256), "u1"))
    code = (f"import resplit; resplit.resplit({str(tmp_path / 'a.npy')!r}, {str(tmp_path / 'b.zarr')!r}, "
            f"progress=lambda done, total: done and print('begun', flush=True), **{SLOW!r})")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in said and "resume=True" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "b.zarr.resplit-part"]
