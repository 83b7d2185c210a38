# Every target installs its dependencies into .venv, if they are not there yet.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
DATA ?= data
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/bindings/* src/kernel/*/*)
# An editable install has a fixed list of modules, so it is repeated when a module is added or renamed.
MODULES := $(shell find src/meanshiftpp -name '*.py' | sort | cksum | cut -d' ' -f1)

WHEEL_ENV := build/wheel-env
WHEEL_TESTS := tests/core tests/laws tests/backends

SANITIZE_ENV := build/sanitize-env
SANITIZE_TESTS := $(patsubst %,tests/%,core laws bandwidth estimators images video tracking)

LOWEST_ENV := build/lowest-env
# The tests that reach a dependency; NumPy and the kernel alone are tested by the recorded results.
LOWEST_TESTS := $(patsubst %,tests/%,_support io video plot estimators apps/cli engines/test_dask.py \
	core/test_table_chunks.py laws/test_recorded.py laws/test_old_files.py laws/test_differential.py)

COVERAGE_ENV := build/coverage-env

KERNEL_TESTS := build/kernel-tests

.PHONY: help
help:  ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: demo test test-kernel lint format bench paper docs wheel sanitize test-lowest coverage mutants clean

demo: $(VENV)/installed-demo  ## cluster points and Iris, segment a photograph, track a ball, write pictures to demo/
	$(VENV)/bin/meanshiftpp demo

test: test-kernel $(VENV)/installed-test  ## run the whole test suite
	$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder  # fixtures of a file are made once

test-kernel: $(VENV)/installed-build  ## run the C++ tests of the kernel, without Python
	$(VENV)/bin/cmake -S . -B $(KERNEL_TESTS) -G Ninja -D CMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
		-D CMAKE_BUILD_TYPE=Release -D MSPP_TESTS=ON $(KERNEL_OPTIONS)
	$(VENV)/bin/cmake --build $(KERNEL_TESTS)
	$(VENV)/bin/ctest --test-dir $(KERNEL_TESTS) --output-on-failure --parallel 2

SECONDS ?= 600
CLANG ?= clang++
.PHONY: fuzz
fuzz: $(VENV)/installed-test  ## fuzz the kernel, parsers, grid and laws for SECONDS=600 in all; needs Clang
	$(VENV)/bin/cmake -S . -B build/fuzz -G Ninja -D CMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
		-D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=$(CLANG) -D MSPP_FUZZ=ON
	$(VENV)/bin/cmake --build build/fuzz
	$(PY) -m tests.fuzz all $(SECONDS)

lint: $(VENV)/installed-lint  ## check with ruff, mypy and clang-format; changes nothing
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror src/bindings/* src/kernel/*/* src/web/*.?pp tests/kernel/* tests/fuzz/kernel/* src/meanshiftpp/backends/cuda/*.cu*

format: $(VENV)/installed-lint  ## apply the fixes of ruff and clang-format
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i src/bindings/* src/kernel/*/* src/web/*.?pp tests/kernel/* tests/fuzz/kernel/* src/meanshiftpp/backends/cuda/*.cu*

bench: $(VENV)/installed-bench  ## measure, check the results, print ratios; ARGS=--quick or names of benchmarks
	$(PY) -m benchmarks $(ARGS)

paper: $(VENV)/installed-bench  ## repeat the paper's experiments in one report, under an hour; DATA=dir, ARGS=--quick
	$(PY) -m benchmarks.paper $(DATA) $(ARGS)

docs: $(VENV)/installed-docs  ## build docs/_build/html; warnings are errors
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

# The wheel of 3.12 has the stable ABI, and serves all later versions.
WHEEL_PYTHONS ?= 3.11 3.12
TEST_PYTHONS ?= 3.11 3.12 3.13
UV := $(VENV)/bin/uv
wheel: $(VENV)/installed-release  ## build an sdist and wheels in dist/, and test them; WHEEL_PYTHONS="3.11 3.12" TEST_PYTHONS=...
	rm -rf dist build/wheels
	$(PY) -m build --sdist
	for python in $(WHEEL_PYTHONS); do \
		$(UV) build --quiet --wheel --python $$python --out-dir build/wheels dist/*.tar.gz || exit 1; done
	if [ "$$(uname)" = Linux ]; then PATH="$(abspath $(VENV))/bin:$$PATH" auditwheel repair -w dist build/wheels/*.whl; \
		else cp build/wheels/*.whl dist; fi
	$(PY) -m twine check --strict dist/*
	$(MAKE) wheel-test

.PHONY: wheel-test
wheel-test:  # the wheels of dist/, each in a new environment
	for python in $(TEST_PYTHONS); do \
		$(UV) venv --quiet --clear --python $$python $(WHEEL_ENV) && \
		$(UV) pip install --quiet --python $(WHEEL_ENV) --find-links dist --only-binary meanshiftpp --group wheel meanshiftpp && \
		$(WHEEL_ENV)/bin/python -m pytest -q $(WHEEL_TESTS) || exit 1; done

.PHONY: wheel-aarch64
wheel-aarch64: $(VENV)/installed-release  ## cross-compile a wheel for 64-bit ARM, and compare its results in emulation
	packaging/aarch64/wheel.sh $(UV) $(PYTHON) build/aarch64 tests/laws/test_recorded.py

.PHONY: sdist-test
sdist-test:  ## build the sdist of dist/ in a new Debian root with only Python and a compiler; needs root, debootstrap
	packaging/clean-root.sh dist/*.tar.gz build/clean-root

.PHONY: cross
cross: $(VENV)/installed-cross  ## compile the kernel for Windows and macOS, without linking
	packaging/cross.sh $(PY) build/cross

.PHONY: links
links:  ## check the external links of the pages
	$(PYTHON) packaging/links.py

AUDIT_ENV := build/audit-env
# The licences that dependencies may have; pip-licenses compares parts of names.
LICENCES := BSD;MIT;Apache;Python Software Foundation;PSF-2.0;ISC;MPL
.PHONY: audit
audit: $(VENV)/installed-audit  ## write an SBOM of the extra all to dist/, check its licences and known vulnerabilities
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(AUDIT_ENV)
	$(VENV)/bin/uv pip install --quiet --python $(AUDIT_ENV) -r pyproject.toml --extra all
	mkdir -p dist
	$(VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/meanshiftpp.cdx.json $(AUDIT_ENV)/bin/python
	$(VENV)/bin/pip-licenses --python $(AUDIT_ENV)/bin/python --from=mixed --format=plain \
		--partial-match --allow-only="$(LICENCES)" > build/licences.txt
	$(VENV)/bin/pip-audit --strict --path $(AUDIT_ENV)/lib/python*/site-packages

WEB := build/web
.PHONY: web web-test
web: $(VENV)/installed-demo  ## build the web page, the kernel in WebAssembly; needs emscripten (em++)
	$(PY) src/web/build.py $(WEB) build/web-objects

web-test: web $(VENV)/installed-test  ## test the web page in Chromium against the native kernel
	WEB_TEST=1 $(PY) -m pytest -q tests/web

.PHONY: sanitize-address sanitize-thread
sanitize: sanitize-thread sanitize-address  ## run the tests of the kernel with all sanitizers

sanitize-thread:  ## run the C++ tests with the thread sanitizer
	$(MAKE) test-kernel KERNEL_TESTS=build/sanitize-thread KERNEL_OPTIONS="-D MSPP_SANITIZE_THREADS=ON"

sanitize-address:  ## run the tests of the kernel with the address and undefined behaviour sanitizers
	$(MAKE) test-kernel KERNEL_TESTS=build/sanitize-kernel KERNEL_OPTIONS="-D MSPP_SANITIZE=ON"
	$(PYTHON) -m venv $(SANITIZE_ENV)
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --group build --group test
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --no-build-isolation --config-settings build-dir=build/sanitize \
		--config-settings cmake.define.MSPP_SANITIZE=ON ".[all]"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 $(SANITIZE_ENV)/bin/python -m pytest -q -n 2 $(SANITIZE_TESTS)

test-lowest: $(VENV)/installed-lowest  ## run the tests with the lowest versions that pyproject.toml allows; LOWEST_TESTS=tests runs all
	$(VENV)/bin/uv venv --quiet --clear --python 3.11 $(LOWEST_ENV)
	$(VENV)/bin/uv pip compile --quiet --no-annotate --python-version 3.11 --resolution lowest-direct pyproject.toml \
		--extra all --group build --group test --output-file build/lowest.txt
	$(VENV)/bin/uv pip sync --quiet --python $(LOWEST_ENV) build/lowest.txt
	$(VENV)/bin/uv pip install --quiet --python $(LOWEST_ENV) --no-deps --no-build-isolation \
		--config-settings build-dir=build/lowest .
	# Old libraries warn about the newest versions of what they need themselves.
	$(LOWEST_ENV)/bin/python -m pytest -q -n 2 -W ignore::DeprecationWarning $(LOWEST_TESTS)

coverage: export LLVM_PROFILE_FILE := $(CURDIR)/build/coverage-data/%m-%p.profraw
coverage: $(VENV)/pip  ## measure the executed lines and branches of the package and the kernel; needs Clang and llvm
	$(PYTHON) -m venv $(COVERAGE_ENV)
	$(COVERAGE_ENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(COVERAGE_ENV)/bin/python -m pip install --quiet --group build --group test --group coverage
	$(COVERAGE_ENV)/bin/python -m pip install --quiet --no-build-isolation --config-settings build-dir=build/coverage \
		--config-settings cmake.define.MSPP_COVERAGE=ON --config-settings cmake.define.CMAKE_CXX_COMPILER=$(CLANG) \
		--editable ".[all]"
	rm -rf build/coverage-data && mkdir build/coverage-data
	$(MAKE) test-kernel KERNEL_TESTS=build/coverage-kernel \
		KERNEL_OPTIONS="-D MSPP_COVERAGE=ON -D CMAKE_CXX_COMPILER=$(CLANG)"
	# Some tests count imports or time and fail while measured; `make test` decides, the reports follow anyway.
	-$(COVERAGE_ENV)/bin/python -m coverage run -m pytest -q -n 2
	$(COVERAGE_ENV)/bin/python -m coverage combine --quiet
	$(COVERAGE_ENV)/bin/python -m coverage report
	$(COVERAGE_ENV)/bin/python -m coverage json --quiet -o build/coverage-data/package.json
	$(COVERAGE_ENV)/bin/python -m tests.coverage_report $(CLANG) build/coverage-data build/coverage/_kernel*.so \
		build/coverage-kernel/test_kernel build/coverage-kernel/fuzz_*

mutants: $(VENV)/installed-test  ## run the tests against changed operators; ARGS=areas, python, "--every 10"
	$(PY) -m tests.mutation build/mutants $(ARGS)

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/gallery

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "meanshiftpp needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/pip: | $(VENV)/bin/python  # dependency groups need pip 25.1
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# These groups are tools that do not import the package.
$(patsubst %,$(VENV)/installed-%,build release audit lowest cross): $(VENV)/installed-%: pyproject.toml $(VENV)/pip
	$(PY) -m pip install --quiet --group $*
	@touch $@

$(VENV)/modules-$(MODULES): | $(VENV)/bin/python
	@rm -f $(VENV)/modules-*
	@touch $@

$(VENV)/installed: $(NATIVE) $(VENV)/installed-build $(VENV)/modules-$(MODULES)
	$(PY) -m pip install --quiet --no-build-isolation --editable ".[all]"
	@touch $@

$(VENV)/installed-%: pyproject.toml $(VENV)/installed
	$(PY) -m pip install --quiet --group $*
	@touch $@
