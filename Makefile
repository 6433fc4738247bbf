# Thin wrappers around CMake; they install what is missing (scripts/install_packages.sh).
#
#   make build            release binaries in build/bin      (PRESET=dev: sanitizers, build-dev/bin)
#   make test             all tests that need neither Python nor PyTorch
#   make demo             runs a decode step that PyTorch exported
#   make test-live        compares with PyTorch 2.13 (installs it into .venv)
#   make bench-scale      prints how compile time grows with the program
#   make check            layers, formatting, links and snippets of the documents
PRESET ?= release
DIR := $(if $(filter release,$(PRESET)),build,build-$(PRESET))
CXX_19 := $(shell command -v clang++-19)
# How many tests at once.
JOBS ?= $(shell nproc)

.PHONY: build test demo test-live bench-scale check format clean

build:
	@scripts/install_packages.sh
	@if [ ! -f $(DIR)/build.ninja ]; then \
	  if [ -z "$$CXX" ] && command -v clang++-19 >/dev/null; then export CXX=clang++-19; fi; \
	  cmake --preset $(PRESET) >$(DIR).configure.log 2>&1 || { cat $(DIR).configure.log; exit 1; }; \
	  rm -f $(DIR).configure.log; \
	fi
	@ninja -C $(DIR)

test: build
	cd $(DIR) && ctest --output-on-failure -j $(JOBS)

demo: build
	@examples/llm_decode/run_demo.sh $(DIR)/bin

test-live: build
	@scripts/install_packages.sh --live
	@tests/live/run.sh $(DIR)/bin

bench-scale: build
	@$(DIR)/bin/bench_scale

check:
	@scripts/install_packages.sh --format
	python3 scripts/check_layers.py
	python3 scripts/check_docs.py
	scripts/check_format.sh

format:
	@scripts/install_packages.sh --format
	git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

clean:
	rm -rf build build-dev
