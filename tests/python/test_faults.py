# SPDX-License-Identifier: BSD-3-Clause
"""Every call that can fail, failing: one sentence, nothing wrong at the target, nothing left beside its part.

Each run has one fault (tests/faults/fail.c): the n-th call of a kind, for all n with RESPLIT_FULL=1, else for some.
"""

import errno
import os
import re
import struct

import pytest

from recovery import FULL, PART, PROBLEMS, Abilities, Workspace, no_preload, shim

KINDS = ("read", "write", "open", "close", "rename", "fsync", "alloc", "truncate", "mkdir", "unlink", "link")
ERRORS = {"write": errno.ENOSPC, "open": errno.EMFILE, "alloc": errno.ENOMEM, "truncate": errno.ENOSPC,
          "mkdir": errno.EACCES, "unlink": errno.EACCES, "link": errno.EMLINK}
CASES = [*PROBLEMS, "sync_each"]
N_SOME = 16  # faults of a kind in a way, where not all are tried
N_ALL = 3000  # more than that only a search allocates


class Fault:
    """How the n-th call of a kind goes wrong."""

    def __init__(self, kind, error=None, short=False, lasting=False):
        self.kind, self.error, self.short, self.lasting = kind, error or ERRORS.get(kind, errno.EIO), short, lasting
        self.harmless = short or self.error == errno.EINTR

    def env(self, n):
        return {"RESPLIT_FAIL_KIND": self.kind, "RESPLIT_FAIL_AT": str(n), "RESPLIT_FAIL_ERRNO": str(self.error),
                "RESPLIT_FAIL_SHORT": str(int(self.short)), "RESPLIT_FAIL_LASTING": str(int(self.lasting))}

    def __repr__(self):
        how = "short" if self.short else errno.errorcode[self.error]
        return f"{self.kind} {how}{' and all after it' if self.lasting else ''}"


class Kill(Fault):
    """The program ends before the n-th call of a kind."""

    def env(self, n):
        return {**super().env(n), "RESPLIT_FAIL_KILL": "1"}


def faults_of(kind):
    yield Fault(kind)
    if kind in ("write", "fsync", "alloc", "open", "unlink"):
        yield Fault(kind, lasting=True)
    if kind in ("read", "write"):
        yield Fault(kind, short=True)
        yield Fault(kind, short=True, lasting=True)
        yield Fault(kind, error=errno.EINTR)


class Shimmed:
    """A workspace whose command runs with the shim."""

    def __init__(self, space, library, report):
        self.space, self.library, self.report = space, library, report

    def __call__(self, env=None):
        """The finished process, how many calls of each kind there were, and how many were made to fail."""
        if self.report.exists():
            self.report.unlink()
        base = {"LD_PRELOAD": self.library, "RESPLIT_FAIL_ROOT": str(self.space.folder),
                "RESPLIT_FAIL_REPORT": str(self.report)}
        done = self.space.start(env={**base, **(env or {})})
        *calls, fired = struct.unpack(f"<{len(KINDS) + 1}Q", self.report.read_bytes())
        return done, dict(zip(KINDS, calls)), fired


@pytest.fixture(scope="module")
def shared():
    """The cases of this module, made once each."""
    return {}


@pytest.fixture
def shimmed(request, shared, run, resplit_path, tmp_path_factory):
    case = request.param
    if case not in shared:
        library = shim(resplit_path, "fail")
        folder = tmp_path_factory.mktemp("faults").resolve()
        run.folder = folder
        able = Abilities(run)
        if case == "sync_each" and "--sync" not in able.options:
            shared[case] = None
        else:
            values = {"sync": "each"} if case == "sync_each" else {}
            space = Workspace(run, folder / "w", PROBLEMS["blocks" if case == "sync_each" else case], able, **values)
            shared[case] = Shimmed(space, library, folder / "report")
    if shared[case] is None:
        pytest.skip("this command has no --sync")
    return shared[case]


def chosen(n_calls):
    """Which calls fail: all, or the first and last ones and some between."""
    most = N_ALL if FULL else N_SOME
    if n_calls <= most:
        return list(range(1, n_calls + 1))
    ends = most // 4
    between = [ends + round(i * (n_calls - 2 * ends) / (most - 2 * ends)) for i in range(1, most - 2 * ends + 1)]
    return sorted({*range(1, ends + 1), *between, *range(n_calls - ends + 1, n_calls + 1)})


def check_failure(space, fault, done, context):
    """A run that failed: it says so in one sentence, and what is at the target is whole."""
    assert done.returncode > 0, f"{context}: ended by signal {-done.returncode}"
    lines = done.stderr.splitlines()
    if done.returncode == 2 and fault.kind == "alloc":  # no memory for the arguments
        lines = [line for line in lines if not line.startswith("resplit: try 'resplit")]
    assert len(lines) == 1 and re.fullmatch(r"resplit: \S+( \S+){2,}", lines[0]), (context, done.stderr)
    assert done.stdout == "", context
    assert not fault.harmless, (context, done.stderr)
    assert space.problem.found(space.folder) in (("old", "new") if space.problem.old else ("nothing", "new")), context
    beside = set(os.listdir(space.folder)) - space.before - {space.problem.place, space.problem.place + PART}
    if fault.kind == "unlink":  # what cannot be removed stays, but its name tells whose it is
        beside = {name for name in beside if "resplit-" not in name}
    assert not beside, (context, beside)


def check_success(space, fault, done, context):
    assert done.stderr == "" or done.stderr.startswith("resplit: "), (context, done.stderr)
    assert space.problem.found(space.folder) == "new", context
    beside = set(os.listdir(space.folder)) - space.before - {space.problem.place}
    if fault.kind == "unlink":
        beside = {name for name in beside if "resplit-" not in name}
    assert not beside, (context, beside)


@no_preload
@pytest.mark.timeout(7200 if FULL else 600)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shimmed", CASES, indirect=True)
def test_a_call_that_fails_is_told_and_leaves_nothing_wrong(shimmed, kind):
    space = shimmed.space
    space.reset()
    done, calls, fired = shimmed()
    assert done.returncode == 0 and fired == 0, done.stderr
    check_success(space, Fault(kind), done, "no fault")
    for fault in faults_of(kind):
        n_failed = n_survived = 0
        ns = chosen(calls[kind])
        while ns:
            n = ns.pop(0)
            context = f"{kind} {n} of {calls[kind]}, {fault}"
            space.reset()
            done, _, fired = shimmed(fault.env(n))
            if not fired:  # threads differ from run to run
                assert done.returncode == 0, (context, done.stderr)
            elif FULL and not ns:
                ns.append(n + 1)
            if done.returncode == 0:
                check_success(space, fault, done, context)
                n_survived += bool(fired)
            else:
                check_failure(space, fault, done, context)
                space.go_on(context)
                n_failed += 1
        if n_failed + n_survived:
            print(f"{fault}: {n_failed} failed, {n_survived} survived, of {calls[kind]} calls")
    space.reset()
    assert space.problem.found(space.folder) == ("old" if space.problem.old else "nothing")


@no_preload
@pytest.mark.parametrize("shimmed", ["blocks"], indirect=True)
def test_the_shim_sees_the_calls_of_a_run(shimmed):
    shimmed.space.reset()
    _, calls, _ = shimmed()
    n_target = 4 * 2 * 3
    assert calls["write"] >= n_target and calls["open"] >= 27 + n_target and calls["read"] >= 27
    assert calls["rename"] >= 1 and calls["fsync"] >= 1 and calls["mkdir"] >= 1 and calls["alloc"] >= 10


@no_preload
@pytest.mark.timeout(7200 if FULL else 600)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "alloc"])
@pytest.mark.parametrize("shimmed", CASES, indirect=True)
def test_killed_at_a_call_and_resumed(shimmed, kind):
    """Also while the output gets its name, and while what it grew in is removed: then only that is left to do."""
    space = shimmed.space
    space.reset()
    done, calls, _ = shimmed()
    assert done.returncode == 0, done.stderr
    n_killed = 0
    for n in chosen(calls[kind]):
        space.reset()
        done, _, fired = shimmed(Kill(kind).env(n))
        n_killed += fired
        context = f"killed at {kind} {n} of {calls[kind]}"
        if fired:
            assert done.returncode == -9, (context, done.stderr)
            assert space.problem.found(space.folder) in (("old", "new") if space.problem.old else ("nothing", "new")), context
            space.go_on(context)
    assert n_killed > 0 or calls[kind] == 0, "no run was killed"
