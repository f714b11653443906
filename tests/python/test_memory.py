# SPDX-License-Identifier: BSD-3-Clause
"""One memory number, truly held: resident memory of the whole process, as the system measured it."""

import json
import os
import subprocess
import sys

import pytest
from conftest import same, sample
from recovery import shim

MiB = 1 << 20
ALLOWED = 16 * MiB  # for the program itself, its libraries and stacks

# A child of a small process: a child of this one would inherit its peak.
MEASURE = """
import os, sys
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""

pytestmark = pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")


def peak_rss(resplit, args, folder, env):
    done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, resplit, *args], cwd=folder, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


# budget, shape of uint16, from, to: arrays at least 50 times the budget
CASES = [
    ("1MiB", (320, 320, 320), (64, 64, 64), (80, 50, 40)),
    ("1MiB", (320, 320, 320), None, (32, 320, 320)),
    ("1MiB", (320, 320, 320), (40, 40, 40), None),
    ("2MiB", (400, 400, 400), (100, 80, 50), (64, 64, 64)),
    ("2MiB", (60000, 1000), (1, 1000), (6000, 10)),
    ("4MiB", (500, 500, 500), (20, 20, 20), (23, 19, 21)),
    ("8MiB", (640, 640, 640), (128, 128, 128), (100, 90, 110)),
]


@pytest.mark.parametrize("budget, shape, source, target", CASES)
def test_resident_memory_is_the_budget(run, tmp_path, resplit_path, environment, budget, shape, source, target):
    text = ",".join(map(str, shape))
    whole = ",".join(["-1"] * len(shape))
    with open(tmp_path / "in.raw", "wb") as file:
        size = 2
        for n in shape:
            size *= n
        file.truncate(size)
        for at in range(0, size, max(2, size // 1000 // 2 * 2)):
            file.seek(at)
            file.write(os.urandom(2))
    budget_bytes = int(budget[:-3]) * MiB
    assert size >= 50 * budget_bytes
    raw = ["--shape", text, "--dtype", "uint16"]
    first = "in.raw"
    if source is not None:
        run("in.raw", "blocks", *raw, "--chunks", ",".join(map(str, source)), "--memory", "256MiB")
        (tmp_path / "in.raw").unlink()
        first, raw = "blocks", []
    chunks = whole if target is None else ",".join(map(str, target))
    args = [first, "out", *raw, "--chunks", chunks, "--memory", budget, "--quiet"]
    used = peak_rss(resplit_path, args, tmp_path, environment)
    print(f"{budget}: {used / MiB:.1f} MiB resident")
    assert used <= budget_bytes + ALLOWED
    used = peak_rss(resplit_path, ["verify", first, "out", *raw, "--memory", budget, "--quiet"], tmp_path, environment)
    assert used <= budget_bytes + ALLOWED


@pytest.mark.parametrize("budget", [32, 128])
def test_many_processors(run, tmp_path, resplit_path, environment, budget):
    """More workers than this machine has use for, each with codecs: as many as the budget has room for."""
    import zarr

    array = sample((160, 160, 160), "<i4")
    zarr.create_array(tmp_path / "in.zarr", data=array, chunks=(20, 40, 40), compressors=zarr.codecs.ZstdCodec(level=1))
    env = {**environment, "LD_PRELOAD": shim(resplit_path, "many"), "RESPLIT_PROCESSORS": "32"}
    args = ["in.zarr", "out.zarr", "--chunks", "32,32,64", "--memory", f"{budget}MiB"]
    done = subprocess.run([resplit_path, *args, "--json", "--quiet"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["threads"] > 8
    assert same(zarr.open_array(tmp_path / "out.zarr", mode="r")[...], array)
    assert peak_rss(resplit_path, [*args, "--overwrite", "--quiet"], tmp_path, env) <= budget * MiB + ALLOWED
