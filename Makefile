# SPDX-License-Identifier: BSD-3-Clause
# The front door. Everything is built under build/; CMake does the work (see CMakePresets.json).

PREFIX ?= /usr/local
SECONDS = 60
ARGS =

.PHONY: build help demo test wheel release install format check coverage bench bench-quick experiments experiments-quick fuzz clean

build: ## build the library and the command (build/release)
	@tools/bootstrap.sh build
	@tools/build.sh release no-tests
	@echo "built: build/release/resplit"

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: build ## split, resplit and merge a sample volume, and compare
	@tools/demo.sh build/release/resplit

test: ## run every suite (set-up included)
	@tools/bootstrap.sh test
	@tools/build.sh release
	@tools/test.sh release

wheel: ## make a source distribution and a wheel of the Python package (build/wheel/dist)
	@tools/bootstrap.sh build
	@tools/wheel.py

release: ## make the archive of a release, Debian packages and a wheel of it (build/resplit-VERSION)
	@tools/bootstrap.sh release
	@tools/release.sh

install: build ## install under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(abspath $(PREFIX))"

format: ## lay out the C files
	@find src cli include python tests bench experiments -name '*.[ch]' | xargs clang-format -i

check: ## warnings as errors, clang-tidy, layout, sanitizers and their tests
	@tools/bootstrap.sh check
	@tools/check.sh

coverage: ## run every suite and say which share of the lines it executes, room by room
	@tools/bootstrap.sh check
	@tools/coverage.sh

bench: ## time against cp and the device (hours; ARGS="options" for bench/bench.py)
	@tools/bootstrap.sh bench
	@tools/build.sh release
	@build/venv/bin/python bench/bench.py --resplit build/release/resplit --out build/bench.md $(ARGS)

bench-quick: override ARGS := --only cp,budget,warm,fingerprint,small --scale 0.05 $(ARGS)
bench-quick: bench ## a part of it on a twentieth of the bytes, a few minutes

experiments: ## run the papers' experiments into docs/experiments (under 40 minutes; ARGS="options" for experiments/run.py)
	@tools/bootstrap.sh bench
	@tools/build.sh release
	@tools/package.sh build/venv
	@build/venv/bin/python experiments/run.py --resplit build/release/resplit $(ARGS)

experiments-quick: override ARGS := --quick $(ARGS)
experiments-quick: export RESPLIT_EXPERIMENTS = $(CURDIR)/build/experiments
experiments-quick: experiments ## the same with tiny copies, into build/experiments: a trial, a few minutes

fuzz: ## run every fuzz target for SECONDS (60) each
	@tools/bootstrap.sh fuzz
	@tools/build.sh fuzz
	@tools/fuzz.sh $(SECONDS)

clean: ## remove build/
	rm -rf build
