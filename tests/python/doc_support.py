# SPDX-License-Identifier: BSD-3-Clause
"""Runs what a page of the documentation shows, from top to bottom, in one folder.

    indented    lines that begin with a command of ours, or with `$ `, are commands; two blanks end one, what follows is a remark.
                Lines after a `$ ` are what it prints, `...` standing for anything; what prints an error has to fail. A block that begins with `#!` is a file, named
                in its second line.
    ```python   is a doctest where it has prompts; else a program. All of a page share their names, but for one that has a
                `__main__`, which is run by itself.
"""

import doctest
import re
import shutil
import subprocess
import sys

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMANDS = ("resplit", "mpirun")

# What an array of jobs comes to where there is no Slurm: every task, one after the other. `--wrap` is one command.
SBATCH = """#!/bin/bash
while [ $# -gt 1 ]; do
    case $1 in --wrap) exec bash -c "$2" >&2 ;; esac
    shift
done
ids=$(sed -n 's/^#SBATCH.*--array=\\([0-9]*\\)-\\([0-9]*\\).*/\\1 \\2/p' "$1")
for id in $(seq $ids); do SLURM_ARRAY_TASK_ID=$id bash "$1" >&2 || exit 1; done
echo 1
"""


def blocks_of(text):
    """(language, text) of every block of code, in order; "": indented."""
    fence, lines, found = None, [], []
    for line in [*text.splitlines(), ""]:
        if fence is not None:
            if line == "```":
                found.append((fence, "\n".join(lines) + "\n"))
                fence, lines = None, []
            else:
                lines.append(line)
        elif line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:])
        else:
            if any(lines):
                found.append(("", "\n".join(lines).rstrip() + "\n"))
            lines = []
            fence = line[3:] or "text" if line.startswith("```") else None
    return found


def commands_of(block):
    """(command, what it prints or None) of every command in an indented block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], None])
        elif line.split(" ")[0] in COMMANDS:
            found.append([re.split(r" {2,}", line)[0], ""])
        elif found and found[-1][1] != "":
            found[-1][1] = (found[-1][1] or "") + line + "\n"
    return [(command, printed or None) for command, printed in found]


def split(said):
    """What each command of a block printed, and how it ended."""
    parts = re.split("\x01(\\d+)\n", said)
    return parts[0:-1:2], [int(code) for code in parts[1::2]]


def run_doctest(test):
    """What it has left of names."""
    said, runner = [], doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=said.append, clear_globs=False)
    assert test.examples and runner.failures == 0, "".join(said)
    return test.globs


def target_of(command):
    """What a command of ours makes; None: nothing."""
    found = re.search(r"\bresplit(-mpi)? (?:split |merge |extract |plan )?([^-\s]\S*) ([^-\s]\S*)( --|$)", command)
    return found.group(3) if found and found.group(2) not in ("run", "finish", "info", "verify", "fingerprint") else None


class Page:
    """A page, the folder where it is run, and commands that others stand for: {command of the page: what is run, None for nothing}.

    fresh: its commands are alternatives, not a session: what one would make is removed before.
    """

    def __init__(self, path, folder, resplit, env, instead=None, names=None, fresh=False):
        self.path, self.folder, self.fresh, self.instead, self.names = path, folder, fresh, dict(instead or {}), dict(names or {})
        tools = folder / ".tools"
        tools.mkdir()
        for program in ("resplit", "resplit-mpi"):
            (tools / program).symlink_to(resplit.parent / program)
        (tools / "sbatch").write_text(SBATCH)
        (tools / "sbatch").chmod(0o755)
        self.env = {**env, "PATH": f"{tools}:{env['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def run(self):
        """How many examples there were."""
        n = 0
        for language, text in blocks_of(self.path.read_text(encoding="utf-8")):
            if language == "":
                n += self.shell(text)
            elif language == "python":
                n += 1
                self.python(text)
        assert not self.instead, f"{self.path.name} does not have {list(self.instead)} any more"
        return n

    def shell(self, text):
        if text.startswith("#!"):
            (self.folder / text.splitlines()[1].lstrip("# ")).write_text(text)
            return 1
        commands = [(self.replaced(command), command, printed) for command, printed in commands_of(text)]
        commands = [one for one in commands if one[0] is not None]
        script = "exec 2>&1\n" + "".join(f"{run}\nprintf '\\001%d\\n' $?\n" for run, _, _ in commands)
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=600)
        for (_, command, printed), said, code in zip(commands, *split(done.stdout), strict=True):
            assert (code != 0) == (printed or "").startswith("resplit: "), f"{command}\n{said}"
            matches = printed is None or doctest.OutputChecker().check_output(printed, said, FLAGS)
            assert matches, f"{command}\nprints\n{said}\nbut the page has\n{printed}"
        return len(commands)

    def replaced(self, command):
        """What is run in the place of a command; None: nothing."""
        run = self.instead.pop(command, command)
        if run is None or (command.startswith("mpirun") and not shutil.which("mpirun")):
            return None
        target = target_of(command) if self.fresh else None
        return f"rm -rf {target} {target}.resplit-part; {run}" if target else run

    def python(self, text):
        if ">>> " in text:
            self.names = run_doctest(doctest.DocTestParser().get_doctest(text, self.names, self.path.name, str(self.path), 0))
        elif "__main__" in text:
            (self.folder / "program.py").write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, "program.py"], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
        else:
            exec(compile(text, str(self.path), "exec"), self.names)  # noqa: S102
