# SPDX-License-Identifier: BSD-3-Clause
"""Installs a build into STAGE and checks that everything is there, where its readers look for it.

usage: check_tree.py BUILD_DIR        (environment: CMAKE, STAGE, LIBDIR)
"""

import os
import shutil
import subprocess
import sys

WANTED = """
    bin/resplit
    include/resplit.h
    LIB/libresplit.so
    LIB/libresplit.so.0.1
    LIB/libresplit.a
    LIB/pkgconfig/resplit.pc
    LIB/cmake/resplit/resplitConfig.cmake
    LIB/cmake/resplit/resplitConfigVersion.cmake
    LIB/cmake/resplit/resplitTargets.cmake
    share/man/man1/resplit.1
    share/bash-completion/completions/resplit
    share/zsh/site-functions/_resplit
    share/fish/vendor_completions.d/resplit.fish
    share/doc/resplit/LICENSE
"""


def main():
    build, stage, libdir = sys.argv[1], os.environ["STAGE"], os.environ["LIBDIR"]
    shutil.rmtree(stage, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k != "DESTDIR"}
    subprocess.run([os.environ["CMAKE"], "--install", build, "--prefix", stage], check=True, env=env,
                   stdout=subprocess.DEVNULL)

    missing = [name for name in WANTED.replace("LIB/", libdir + "/").split()
               if not os.path.isfile(os.path.join(stage, name))]
    for name in missing:
        print(f"not installed: {name}")
    # Nothing that is installed as text may know where it was built.
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            if path.endswith((".pc", ".cmake", ".h", "resplit.1")):
                with open(path, encoding="utf-8") as f:
                    if os.path.dirname(os.path.abspath(build)) in f.read():
                        print(f"names the build folder: {os.path.relpath(path, stage)}")
                        missing.append(name)
    sys.exit(1 if missing else 0)


main()
