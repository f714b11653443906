# SPDX-License-Identifier: BSD-3-Clause
"""The command as a user meets it: words, options, exit codes, text, JSON, the terminal. Numbers are the papers'."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import ROOT, same, sample, write_blocks

COMMANDS = ["split", "merge", "extract", "plan", "run", "finish", "info", "verify", "fingerprint", "bench-disk"]
DONE = {"actual", "seconds", "gigabytes_per_second", "threads", "io", "resumed", "fingerprint"}
COST = {"read_seeks", "write_seeks", "seeks", "bytes_read", "bytes_written", "held_bytes", "peak_bytes", "temp_bytes"}
PLAN = {"strategy", "shape", "dtype", "itemsize", "order", "chunks_from", "chunks_to", "buffer", "loop_order",
        "kept_axes", "memory", "predicted", "floor", "device", "predicted_seconds", "floor_seconds"}
ONLY_PLANNED = {"minimize", "strategies", "knee"}  # and "nearby", where there is something to say
BIGBRAIN = ("plan", "--shape", "3500,3025,3850", "--dtype", "uint16", "--from", "700,605,770", "--to", "-1,-1,-1")


# ---- the command line ------------------------------------------------------------------------------------------

USAGE = [
    (["plann", "a", "b"], "did you mean 'plan'?"),
    (["banana", "a", "b"], "'banana' is neither a command nor a file that exists"),
    (["out.npy", "."], "'out.npy' is neither a command nor a file that exists; SRC comes first, then DST"),
    (["a.npy"], "DST is missing"),
    (["a.npy", "b", "c", "--chunks", "3"], "'c' is one word too many"),
    (["a.npy", "b"], "--chunks is missing: 'b' is to be a folder"),
    (["split", "a.npy", "b"], "--chunks is missing"),
    (["split", "a.npy"], "DST is missing"),
    (["extract", "a.npy", "b.npy"], "--roi is missing"),
    (["plan"], "nothing to plan for"),
    (["plan", "a.npy"], "--chunks is missing"),
    (["info"], "PATH is missing"),
    (["run"], "PLAN is missing"),
    (["run", "p.json", "--memory", "1GiB"], "'--memory' is not an option of 'run'"),
    (["verify", "a.npy"], "B is missing"),
    (["help", "banana"], "no command 'banana'"),
    (["a.npy", "b", "--chunsk", "3"], "'--chunsk' is not an option; did you mean '--chunks'?"),
    (["a.npy", "b", "--memory=3X"], "'3X' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"),
    (["a.npy", "b", "--memory", "3G"], "write GB (powers of 1000) or GiB (powers of 1024)"),
    (["a.npy", "b", "--memory", "0"], "nothing fits 0 bytes"),
    (["a.npy", "b", "--memory"], "'--memory' needs a value"),
    (["a.npy", "b", "--json=yes"], "--json takes no value"),
    (["a.npy", "b", "-x"], "'-x' is not an option"),
    (["a.npy", "b", "--chunks", "3,x"], "'3,x' is not a list of chunk lengths"),
    (["a.npy", "b", "--roi", "0:9:2"], "has a step"),
    (["a.npy", "b", "--strategy", "magic"], "'magic' is not a strategy: choose from auto, "),
    (["a.npy", "b", "--order", "X"], "'X' is not one of C|F"),
    (["a.npy", "b", "--format", "zip"], "'zip' is not one of raw|npy"),
    (["merge", "a", "b.npy", "--chunks", "3"], "'--chunks' is not an option of 'merge'; it belongs to: resplit, split"),
    (["info", "a", "--overwrite"], "'--overwrite' is not an option of 'info'"),
    ([*BIGBRAIN, "--chunks", "1,1,1"], "--chunks and --to are the same"),
    (["plan", "--shape", "9,9", "--dtype", "u2", "--from", "3", "--to", "3,3"], "--shape has 2 axes and --from has 1"),
    (["plan", "--shape", "9,9", "--dtype", "u2", "--to", "3"], "--chunks has 1 length and the array has 2 axes"),
    (["plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3", "--roi", "1:2"], "names 1 axis and the array has 2"),
    (["plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3", "--roi", "9,:"], "index 9 is outside axis 0"),
]


@pytest.mark.parametrize("args, fragment", USAGE, ids=lambda x: " ".join(x)[:60] if isinstance(x, list) else "")
def test_usage_errors_name_the_way_out(run, args, fragment):
    message = run.error(*args, code=2)
    assert fragment in message
    assert "try 'resplit" in message


def test_the_bare_command_says_what_it_is(run):
    done = run(code=2)
    assert done.stdout == ""
    assert "resplit merge blocks volume.npy" in done.stderr and "'resplit --help'" in done.stderr


def test_version(run):
    header = (ROOT / "include" / "resplit.h").read_text()
    version = ".".join(re.findall(r"#define RESPLIT_VERSION_[A-Z]+ (\d+)", header))
    assert run("--version").stdout.splitlines()[0] == f"resplit {version}"


def test_help_in_every_way_it_is_asked_for(run):
    for command in COMMANDS:
        text = run(command, "--help").stdout
        assert text.startswith(f"Usage: resplit {command} ")
        assert run("help", command).stdout == text
        assert run("--help", command).stdout == text
    assert run("--help").stdout == run("help").stdout == run("-h").stdout


def all_options(run):
    texts = [run("--help").stdout] + [run(c, "--help").stdout for c in COMMANDS]
    return sorted({name for text in texts for name in re.findall(r"^  --([a-z-]+)", text, re.M)})


def test_manual_and_completions_know_every_option(run):
    options = all_options(run)
    assert "chunks" in options and "from-pattern" in options
    manual = (ROOT / "docs" / "man" / "resplit.1").read_text().replace("\\-", "-")
    zsh = (ROOT / "completions" / "_resplit").read_text()
    fish = (ROOT / "completions" / "resplit.fish").read_text()
    for name in options:
        assert re.search(rf"^\.B[IR]? --{name}\b", manual, re.M), name
        assert re.search(rf"--{name}(=?\[|\}})", zsh), name
        assert f"-l {name} " in fish, name
    for command in COMMANDS:
        assert f"\n.BI {command} " in manual or f"\n.BR {command} " in manual
        assert f"'{command}:" in zsh and f"-a {command} " in fish


def test_bash_completes_commands_options_and_values(run, resplit_path):
    script = f"""
        source '{ROOT}/completions/resplit.bash'
        t() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _resplit; echo "${{COMPREPLY[*]}}"; }}
        t '{resplit_path}' verif; t '{resplit_path}' plan --cu; t '{resplit_path}' merge --over
        t '{resplit_path}' --strategy ke; t '{resplit_path}' help ex"""
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=run.folder, capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n")[:5] == ["verify", "--curve", "--overwrite", "keep", "extract"], done.stderr


def test_options_stand_anywhere_and_dashes_end_them(run, tmp_path):
    array = sample((8, 9))
    np.save(tmp_path / "in.npy", array)
    run("--memory", "1MiB", "split", "--chunks=4,4", "in.npy", "a", "--quiet")
    (tmp_path / "a").rename(tmp_path / "merge")  # a folder with the name of a command
    run("--quiet", "--memory=1MiB", "--", "merge", "out.npy")
    assert same(np.load(tmp_path / "out.npy"), array)
    run("./merge", "again.npy", "--quiet", "--mem", "1MiB")
    assert same(np.load(tmp_path / "again.npy"), array)


def test_split_wants_one_block_and_says_what_does_the_rest(run, tmp_path):
    write_blocks(tmp_path / "a", sample((8, 9)), (4, 4), "{0}_{1}.npy")
    assert "'split' takes one" in run.error("split", "a", "b", "--chunks", "3,3", "--memory", "1MiB", code=2)
    assert not (tmp_path / "b").exists()


def test_chunks_for_each_axis(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((8, 9)))
    assert "has 2 axes" in run.error("in.npy", "b", "--chunks", "3", "--memory", "1MiB", code=2)


# ---- reports ---------------------------------------------------------------------------------------------------


def test_a_plan_in_json(run):
    plan = run.json(*BIGBRAIN, "--memory", "3GiB", "--strategy", "multiple")
    assert set(plan) - {"buffer_cuts"} == PLAN | ONLY_PLANNED
    assert set(plan["predicted"]) == COST and set(plan["floor"]) == {"seeks", "bytes_read", "bytes_written"}
    n_bytes = 3500 * 3025 * 3850 * 2
    assert plan["floor"] == {"seeks": 126, "bytes_read": n_bytes, "bytes_written": n_bytes}
    assert plan["shape"] == [3500, 3025, 3850] and plan["chunks_from"] == [700, 605, 770]
    assert plan["chunks_to"] == [3500, 3025, 3850] and plan["memory"] == 3 << 30
    assert plan["dtype"] == "<u2" and plan["itemsize"] == 2 and plan["order"] == "C"
    assert sorted(plan["loop_order"]) == [0, 1, 2]
    assert plan["predicted"]["seeks"] == plan["predicted"]["read_seeks"] + plan["predicted"]["write_seeks"]
    assert plan["predicted"]["held_bytes"] <= plan["predicted"]["peak_bytes"] <= plan["memory"]


def test_uneven_chunks_in_json(run):
    plan = run.json("plan", "--shape", "60,10", "--dtype", "u1", "--from", "10+20+30,-1", "--to", "-1,3+7", "--memory",
                    "1MiB")
    assert plan["chunks_from"] == [[10, 20, 30], 10] and plan["chunks_to"] == [60, [3, 7]]
    if plan["buffer"] is None:
        for cuts, extent in zip(plan["buffer_cuts"], (60, 10)):
            assert cuts[0] == 0 and cuts[-1] == extent and cuts == sorted(set(cuts))


@pytest.mark.parametrize("strategy", ["auto", "naive", "keep"])
def test_a_run_in_json_counts_what_was_predicted(run, tmp_path, strategy):
    write_blocks(tmp_path / "a", sample((31, 29, 37)), (10, 7, 12), "{0}_{1}_{2}.npy")
    args = ("a", "b", "--chunks", "4,13,9", "--memory", "96KiB", "--strategy", strategy)
    plan = run.json("plan", *args)
    result = run.json(*args)
    assert set(result) - {"buffer_cuts"} == PLAN | DONE
    shared = {k: v for k, v in plan.items() if k not in ONLY_PLANNED | {"nearby"}}
    assert {k: v for k, v in result.items() if k not in DONE} == shared
    actual, predicted = result["actual"], result["predicted"]
    for key in COST - {"peak_bytes"}:
        assert actual[key] == predicted[key], key
    assert actual["peak_bytes"] <= predicted["peak_bytes"] <= 96 << 10
    assert result["seconds"] > 0 and result["gigabytes_per_second"] > 0
    assert result["io"] in ("uring", "threads") and result["threads"] >= 1 and result["resumed"] is False
    assert re.fullmatch("[0-9a-f]{16}", result["fingerprint"])


def test_reports_for_people(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30)))
    args = ("in.npy", "a", "--chunks", "7,7", "--memory", "1MiB")
    plan = run("plan", *args)
    assert re.search(r"^seeks +\d+ +\d+ +\d\.\d\d$", plan.stdout, re.M) and "actual" not in plan.stdout
    done = run(*args)
    for word in ("strategy", "predicted", "actual", "floor", "read seeks", "bytes written", "peak memory", "GB/s"):
        assert word in done.stdout, word
    assert done.stderr == ""
    quiet = run("in.npy", "b", *args[2:], "--quiet")
    assert quiet.stdout == quiet.stderr == ""


@pytest.mark.parametrize("args", [("in.npy", "out", "--chunks", "3,3", "--memory", "10B"), ("info", "nowhere.npy")])
def test_json_prints_nothing_after_an_error(run, tmp_path, args):
    np.save(tmp_path / "in.npy", sample((20, 30)))
    run.error(*args, "--json", code=1)


def test_a_result_that_cannot_be_printed_is_a_failure(run):
    with open("/dev/full", "w") as full:
        done = run(*BIGBRAIN, "--memory", "3GiB", "--json", code=1, stdout=full)
    assert "standard output" in done.stderr


# ---- the counts of the literature ------------------------------------------------------------------------------

# algorithm.md section 8: BigBrain, at 3, 6, 9, 12 and 16 GiB.
COUNTS = {
    "multiple": (776, 438, 334, 282, 230),
    "clustered": (21175125, 17625, 10625, 7125, 130),
    "naive": (52937625,) * 5,
}


@pytest.mark.parametrize("strategy", COUNTS)
def test_bigbrain(run, strategy):
    for gib, seeks in zip((3, 6, 9, 12, 16), COUNTS[strategy]):
        memory = ("--memory", f"{gib}GiB", "--strategy", strategy)
        assert run.json(*BIGBRAIN, *memory)["predicted"]["seeks"] == seeks
        split = (*BIGBRAIN[:5], "--from", "-1,-1,-1", "--to", "700,605,770")
        assert run.json(*split, *memory)["predicted"]["seeks"] == seeks


# ---- memory ----------------------------------------------------------------------------------------------------


def needed(message):
    return int(re.search(r"at least (\d+)", message).group(1))


@pytest.mark.parametrize("strategy", ["auto", "naive", "clustered", "multiple", "keep"])
def test_the_least_memory_works_and_one_byte_less_is_refused(run, tmp_path, strategy):
    array = sample((40, 30, 20))
    np.save(tmp_path / "in.npy", array)
    args = ("--chunks", "9,8,7", "--strategy", strategy, "--quiet")
    least = needed(run.error("in.npy", "out", *args, "--memory", "1"))
    assert needed(run.error("in.npy", "out", *args, "--memory", str(least - 1))) == least
    assert not (tmp_path / "out").exists()
    run("in.npy", "out", *args, "--memory", str(least))
    assert run("verify", "in.npy", "out", "--memory", "1MiB").stdout == "equal\n"


def test_the_default_budget_is_told(run):
    args = ("plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3")
    assert re.fullmatch(r"memory: [\d.]+ [KMGT]iB \(half of what is available\)\n", run(*args).stderr)
    assert run(*args, "--quiet").stderr == ""
    assert run(*args, "--memory", "1MiB").stderr == ""


@pytest.mark.parametrize("env, name, memory", [
    ({"SLURM_MEM_PER_NODE": "64"}, "SLURM_MEM_PER_NODE", 32 << 20),
    ({"SLURM_MEM_PER_CPU": "16", "SLURM_CPUS_ON_NODE": "4"}, "SLURM_MEM_PER_CPU", 32 << 20),
    ({"PBS_RESC_MEM": "67108864"}, "PBS_RESC_MEM", 32 << 20),
    ({"LSB_CG_MEMLIMIT": "0x4000000"}, "LSB_CG_MEMLIMIT", 32 << 20),
    ({"SLURM_MEM_PER_NODE": "64", "PBS_RESC_MEM": "33554432"}, "PBS_RESC_MEM", 16 << 20),
])
def test_the_default_budget_respects_batch_jobs(run, env, name, memory):
    done = run("plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3", "--json", env=env)
    assert done.stderr == f"memory: {memory >> 20}.0 MiB (half of {name})\n"
    assert json.loads(done.stdout)["memory"] == memory


@pytest.mark.parametrize("value", ["", "0", "-5", "lots", "99999999999999999999"])
def test_a_batch_variable_without_a_limit_is_ignored(run, value):
    done = run("plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3", env={"SLURM_MEM_PER_NODE": value})
    assert "(half of what is available)" in done.stderr


# ---- the terminal ----------------------------------------------------------------------------------------------


class Terminal:
    """The command with its stderr on a pseudo-terminal and its stdout in a pipe."""

    def __init__(self, run, *args):
        self.master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen([str(run.path), *map(str, args)], cwd=run.folder, env=run.env, stderr=slave,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        os.close(slave)

    def read(self, until=None, seconds=60):
        """Reads up to the end, or until a text appears."""
        deadline = time.monotonic() + seconds
        while (until is None or until not in self.text) and time.monotonic() < deadline:
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.master, 4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not data:
                break
            self.text += data.decode()
        return self.text

    def finish(self):
        self.read()
        stdout = self.process.communicate(timeout=60)[0]
        os.close(self.master)
        return self.process.returncode, stdout


# Reads one element at a time: many seconds of work in a few MiB.
SLOW = ("in.npy", "out", "--chunks", "-1,-1,1", "--strategy", "naive", "--memory", "4MiB")


@pytest.fixture
def slow_source(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((400, 400, 100), "u1"))


def test_a_terminal_shows_progress(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((60, 60, 60)))
    terminal = Terminal(run, "in.npy", "out", "--chunks", "16,16,16", "--memory", "1MiB")
    code, stdout = terminal.finish()
    assert code == 0 and "strategy" in stdout
    assert re.search(r"\r *\d+% \[[# ]+\] \d+ MB/s, ETA [\d:-]+, memory [\d.]+ [KM]?i?B", terminal.text)
    assert terminal.text.endswith("\r") and "\n" not in terminal.text  # the bar is wiped


def test_quiet_shows_no_progress_on_a_terminal(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((60, 60, 60)))
    terminal = Terminal(run, "in.npy", "out", "--chunks", "16,16,16", "--memory", "1MiB", "--quiet")
    assert terminal.finish() == (0, "") and terminal.text == ""


def test_a_pipe_shows_no_progress(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((60, 60, 60)))
    assert run("in.npy", "out", "--chunks", "16,16,16", "--memory", "1MiB").stderr == ""


def wait_for_progress(folder):
    """Until the journal of the run in `folder` has a record."""
    journal = folder / "out.resplit-part/journal"
    until = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 200):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_leaves_what_a_resume_needs(run, tmp_path, slow_source, number):
    terminal = Terminal(run, *SLOW)
    wait_for_progress(tmp_path)
    terminal.process.send_signal(number)
    assert terminal.finish() == (1, "")
    assert "resplit: interrupted; what is done is kept: go on by the same command with --resume" in terminal.text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "out.resplit-part"]
    done = run.json(*SLOW, "--resume")
    assert done["resumed"] and done["actual"]["bytes_written"] < done["predicted"]["bytes_written"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "out"]
    assert run("verify", "in.npy", "out", "--memory", "4MiB", "--exact").stdout == "equal\n"


def test_a_run_without_resume_starts_anew(run, tmp_path, slow_source):
    terminal = Terminal(run, *SLOW)
    wait_for_progress(tmp_path)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish()[0] == 1
    done = run.json("in.npy", "out", "--chunks", "-1,-1,50", "--memory", "4MiB")
    assert not done["resumed"] and done["actual"]["bytes_written"] == done["predicted"]["bytes_written"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "out"]


def test_interrupted_keeps_what_was_to_be_replaced(run, tmp_path, slow_source):
    np.save(tmp_path / "old.npy", sample((4, 4)))
    run("old.npy", "out", "--chunks", "2,2", "--memory", "1MiB")
    terminal = Terminal(run, *SLOW, "--overwrite")
    wait_for_progress(tmp_path)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish() == (1, "")
    assert "interrupted; what is done is kept" in terminal.text
    assert run("verify", "old.npy", "out", "--memory", "1MiB").stdout == "equal\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "old.npy", "out", "out.resplit-part"]
    assert run.json(*SLOW, "--overwrite", "--resume")["resumed"]
    assert run("verify", "in.npy", "out", "--memory", "4MiB").stdout == "equal\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "old.npy", "out"]


# ---- going on --------------------------------------------------------------------------------------------------


@pytest.fixture
def stopped(run, tmp_path, slow_source):
    """A run that was stopped after it had done something."""
    terminal = Terminal(run, *SLOW)
    wait_for_progress(tmp_path)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish()[0] == 1


def test_a_fingerprint_survives_two_kills(run, tmp_path):
    """What the first run had written counts in the third one's fingerprint too."""
    np.save(tmp_path / "in.npy", sample((400, 400, 100), "u1"))
    expected = run.json("fingerprint", "in.npy", "--memory", "4MiB")["fingerprint"]
    journal = tmp_path / "out.resplit-part/journal"
    for args in (SLOW, (*SLOW, "--resume")):
        inode = journal.stat().st_ino if journal.exists() else None
        terminal = Terminal(run, *args)
        until = time.monotonic() + 60  # for a journal of this run's own, with a record of its own
        while not (journal.exists() and journal.stat().st_ino != inode and journal.stat().st_size > 200):
            assert time.monotonic() < until
            time.sleep(0.01)
        terminal.process.kill()
        assert terminal.finish()[0] == -signal.SIGKILL
    done = run.json(*SLOW, "--resume")
    assert done["resumed"] and done["fingerprint"] == expected == run.json("info", "out")["fingerprint"]


def test_resume_is_refused_for_another_job(run, tmp_path, stopped):
    message = run.error("in.npy", "out", "--chunks", "-1,-1,50", "--memory", "4MiB", "--resume")
    assert "was made for other arrays: run without --resume" in message
    os.utime(tmp_path / "in.npy", (1, 1))
    assert "the source was changed meanwhile: run without --resume" in run.error(*SLOW, "--resume")
    assert not (tmp_path / "out").exists() and (tmp_path / "out.resplit-part/journal").exists()


def test_resume_holds_the_memory_that_is_given(run, tmp_path, stopped):
    less = [*SLOW[:-1], "200KiB", "--resume"]
    assert "bytes of memory: give it as much, or start anew without --resume" in run.error(*less)
    assert run.json(*SLOW[:-1], "8MiB", "--resume")["resumed"]


def test_resume_without_an_earlier_run_starts_anew(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30)))
    assert not run.json("in.npy", "out", "--chunks", "7,7", "--memory", "1MiB", "--resume")["resumed"]
    assert "is there already" in run.error("in.npy", "out", "--chunks", "7,7", "--memory", "1MiB", "--resume")


# ---- fingerprints ----------------------------------------------------------------------------------------------


def test_a_fingerprint_is_of_the_values_alone(run, tmp_path):
    array = sample((13, 17, 11), "<i4")
    np.save(tmp_path / "c.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    np.save(tmp_path / "big.npy", array.astype(">i4"))
    write_blocks(tmp_path / "blocks", array, (5, 4, 11), "{0}_{1}_{2}.npy")
    prints = {name: run.json("fingerprint", name, "--memory", "1MiB")["fingerprint"]
              for name in ("c.npy", "f.npy", "big.npy", "blocks")}
    assert len(set(prints.values())) == 1
    done = run.json("blocks", "out", "--chunks", "7,7,7", "--memory", "1MiB")
    assert done["fingerprint"] == prints["c.npy"] == run.json("info", "out")["fingerprint"]
    assert run("fingerprint", "out", "--memory", "1MiB").stdout == f"{prints['c.npy']}  out\n"
    region = run.json("c.npy", "part.npy", "--roi", "2:9,:,3:", "--memory", "1MiB")
    np.save(tmp_path / "same.npy", array[2:9, :, 3:])
    assert region["fingerprint"] == run.json("fingerprint", "same.npy", "--memory", "1MiB")["fingerprint"]


def test_a_fingerprint_tells_arrays_apart(run, tmp_path):
    array = sample((12, 12, 12), "<u2", seed=3)
    flipped, rolled = array.copy(), np.roll(array, 1, axis=1)
    flipped[7, 3, 5] ^= 1 << 9
    swapped = array.copy()
    swapped[:4], swapped[4:8] = array[4:8], array[:4]
    others = [array, flipped, rolled, swapped, array.transpose(1, 0, 2), array.reshape(144, 12), array.view("<i2")]
    seen = set()
    for i, other in enumerate(others):
        np.save(tmp_path / f"{i}.npy", np.ascontiguousarray(other))
        seen.add(run.json("fingerprint", f"{i}.npy", "--memory", "1MiB")["fingerprint"])
    assert len(seen) == len(others)
    for i in (1, 2, 3, 4):
        different = run.json("verify", "0.npy", f"{i}.npy", "--memory", "1MiB", code=1)
        assert different["n_different"] == int((others[i] != array).sum())
        assert run.json("verify", "0.npy", f"{i}.npy", "--memory", "1MiB", "--exact", code=1) == different


def test_help_names_every_format(run):
    listed = next(line for line in run("--version").stdout.splitlines() if line.startswith("formats: "))
    assert run("--help").stdout.count(listed.removeprefix("formats: ").replace(", ", "|") + "\n") == 2
