# SPDX-License-Identifier: BSD-3-Clause
"""bench-disk: what it prints and what it refuses, and that it leaves nothing. Never how fast: that is the machine's."""

import os
import re
import signal
import subprocess
import time

import pytest

from test_memory import peak_rss

MiB = 1 << 20
KEYS = ["path", "direct", "bytes", "write_seconds", "read_seconds", "both_seconds", "write_bandwidth", "read_bandwidth",
        "both_bandwidth", "random_latency", "random_rate", "random_depth"]


def test_a_disk_in_json(run, tmp_path):
    disk = run.json("bench-disk", ".", "--size", "3MiB")
    assert list(disk) == KEYS
    assert disk["path"] == "." and disk["direct"] in (True, False) and disk["bytes"] == 3 * MiB
    for what, n_bytes in (("write", 3 * MiB), ("read", 3 * MiB), ("both", 6 * MiB)):
        assert disk[what + "_seconds"] > 0
        assert disk[what + "_bandwidth"] == pytest.approx(n_bytes / disk[what + "_seconds"], rel=1e-6)
    assert disk["random_latency"] > 0 and disk["random_depth"] in (1, 2, 4, 8, 16, 32, 64)
    assert disk["random_rate"] >= 0.999 / disk["random_latency"]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_for_people(run, tmp_path):
    done = run("bench-disk", tmp_path, "--size=2.5MiB", "--quiet")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == f"disk of       '{tmp_path}'"
    assert re.fullmatch(r"page cache +(passed by: O_DIRECT works|emptied .*: O_DIRECT does not work) here",
                        lines[1])
    assert lines[3].split() == ["bytes", "seconds", "MB/s"]
    rows = (("write", "3,145,728"), ("read", "3,145,728"), ("both at once", "6,291,456"))
    for line, (label, n_bytes) in zip(lines[4:7], rows):
        assert re.fullmatch(rf"{label} +{n_bytes} +\d+\.\d\d\d +\d+", line)
    assert re.fullmatch(r"random reads +of 4 KiB: [\d.]+ us at depth 1; at best [\d,]+ per second, at depth \d+",
                        lines[8])
    assert len(lines) == 9
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_leaves_nothing(run, tmp_path, number):
    process = subprocess.Popen([str(run.path), "bench-disk", ".", "--size", "96MiB"], cwd=tmp_path, env=run.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    while process.poll() is None and not has_nameless_file(process.pid, tmp_path):
        time.sleep(0.001)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (-number, 0)  # a fast disk may be done before
    assert list(tmp_path.iterdir()) == []


def has_nameless_file(pid, folder):
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # opened or closed meanwhile
        return False
    return any(link.startswith(f"{folder.resolve()}/") and link.endswith("(deleted)") for link in links)


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
def test_measuring_takes_little_memory(resplit_path, environment, tmp_path):
    assert peak_rss(resplit_path, ["bench-disk", ".", "--size", "64MiB"], tmp_path, environment) < 20 * MiB


# ---- what is refused -------------------------------------------------------------------------------------------


def test_where_there_is_no_folder(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot measure the disk of 'nowhere': No such file or directory" in run.error("bench-disk", "nowhere")
    assert "cannot measure the disk of 'file': Not a directory" in run.error("bench-disk", "file", "--json")


def test_where_nothing_may_be_written(run, tmp_path):
    assert "cannot measure the disk of '/proc'" in run.error("bench-disk", "/proc", "--size", "1MiB")
    if os.geteuid() != 0:  # root may write anywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        assert "Permission denied" in run.error("bench-disk", "closed", "--size", "1MiB")


def test_too_little_space_is_told_in_numbers(run, tmp_path):
    message = run.error("bench-disk", ".", "--size", "900000TiB")
    needed, free = re.search(r"files of \d+ bytes need (\d+) bytes, but only (\d+) are free in '\.'", message).groups()
    assert int(needed) == 2 * 900000 << 40 and 0 <= int(free) < int(needed)
    assert list(tmp_path.iterdir()) == []


USAGE = [
    ([], "DIR is missing"),
    ([".", "x"], "'x' is one word too many"),
    ([".", "--size", "0"], "--size: nothing is measured with 0 bytes"),
    ([".", "--size", "1G"], "write GB (powers of 1000) or GiB (powers of 1024)"),
    ([".", "--memory", "1GiB"], "'--memory' is not an option of 'bench-disk'"),
]


@pytest.mark.parametrize("args, fragment", USAGE)
def test_a_wrong_command_line(run, args, fragment):
    message = run.error("bench-disk", *args, code=2)
    assert fragment in message and "try 'resplit bench-disk --help'" in message


def test_size_belongs_to_bench_disk(run):
    assert "it belongs to: bench-disk" in run.error("info", ".", "--size", "1GiB", code=2)
