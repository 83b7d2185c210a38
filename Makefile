# Every target sets up what it needs in .venv; the second time that takes no time.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
DATA ?= data
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/bindings/* src/kernel/*/*)
# An editable install knows the modules there were: it is made again when their names change.
MODULES := $(shell find src/meanshiftpp -name '*.py' | sort | cksum | cut -d' ' -f1)

WHEEL_ENV := build/wheel-env
WHEEL_TESTS := tests/core tests/laws tests/backends

SANITIZE_ENV := build/sanitize-env
SANITIZE_TESTS := $(patsubst %,tests/%,core laws bandwidth estimators images video tracking)

KERNEL_TESTS := build/kernel-tests

.PHONY: demo test test-kernel lint format bench paper docs wheel sanitize clean

demo: $(VENV)/installed-demo  ## cluster points and Iris, segment a photograph, track a ball, write pictures to demo/
	$(VENV)/bin/meanshiftpp demo

test: test-kernel $(VENV)/installed-test  ## the whole test suite
	$(PY) -m pytest -n 2

test-kernel: $(VENV)/installed-build  ## the C++ tests of the kernel, without Python
	$(VENV)/bin/cmake -S . -B $(KERNEL_TESTS) -G Ninja -D CMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
		-D CMAKE_BUILD_TYPE=Release -D MSPP_TESTS=ON $(KERNEL_OPTIONS)
	$(VENV)/bin/cmake --build $(KERNEL_TESTS)
	$(VENV)/bin/ctest --test-dir $(KERNEL_TESTS) --output-on-failure

lint: $(VENV)/installed-lint  ## ruff, mypy, clang-format; changes nothing
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror src/bindings/* src/kernel/*/* tests/kernel/* src/meanshiftpp/backends/cuda/*.cu*

format: $(VENV)/installed-lint  ## what lint asks for, done
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i src/bindings/* src/kernel/*/* tests/kernel/* src/meanshiftpp/backends/cuda/*.cu*

bench: $(VENV)/installed-bench  ## measure, check the answers, print ratios; ARGS=--quick or names
	$(PY) -m benchmarks $(ARGS)

paper: $(VENV)/installed-bench  ## the paper's experiments in one report, under an hour; DATA=dir, ARGS=--quick
	$(PY) -m benchmarks.paper $(DATA) $(ARGS)

docs: $(VENV)/installed-docs  ## build docs/_build/html, warnings are errors
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

wheel: $(VENV)/installed-release  ## dist/: an sdist, and from it a wheel, tested in an environment of its own
	rm -rf dist $(WHEEL_ENV)
	$(PY) -m build
	$(PY) -m venv $(WHEEL_ENV)
	$(WHEEL_ENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(WHEEL_ENV)/bin/python -m pip install --quiet dist/*.whl --group wheel
	$(WHEEL_ENV)/bin/python -m pytest -q $(WHEEL_TESTS)

sanitize:  ## the kernel's tests, stopped at memory errors and undefined behaviour
	$(MAKE) test-kernel KERNEL_TESTS=build/sanitize-kernel KERNEL_OPTIONS="-D MSPP_SANITIZE=ON"
	$(PYTHON) -m venv $(SANITIZE_ENV)
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --group build --group test
	$(SANITIZE_ENV)/bin/python -m pip install --quiet --no-build-isolation --config-settings build-dir=build/sanitize \
		--config-settings cmake.define.MSPP_SANITIZE=ON ".[all]"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 $(SANITIZE_ENV)/bin/python -m pytest -q -n 2 $(SANITIZE_TESTS)

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/gallery

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "meanshiftpp needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/pip: | $(VENV)/bin/python  # one that knows dependency groups
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/installed-build: pyproject.toml $(VENV)/pip
	$(PY) -m pip install --quiet --group build
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
