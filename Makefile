# make demo, make test: each makes .venv, builds the extension in release mode and runs. Nothing else is needed first.

PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -type f -not -path '*/target/*' 2>/dev/null)

export VIRTUAL_ENV := $(VENV)
export PYO3_PYTHON := $(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
unexport PYTHONPATH PYTHONHOME

# The one sentence that says what is missing, or nothing.
define missing
$(shell \
  if ! command -v '$(PYTHON)' >/dev/null 2>&1; then \
    echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not on the PATH: install it, or say make PYTHON=/path/to/python3"; \
  elif ! '$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
    echo "Python 3.11 or newer is needed, and '$(PYTHON)' is older or does not run: install one, or say make PYTHON=/path/to/python3"; \
  elif ! '$(PYTHON)' -c 'import ensurepip, venv' >/dev/null 2>&1; then \
    echo "'$(PYTHON)' has no venv module: install it (Debian and Ubuntu: apt-get install python3-venv)"; \
  elif ! cargo --version >/dev/null 2>&1; then \
    echo "A Rust toolchain is needed, and 'cargo' is not on the PATH or does not run: install Rust 1.89 or newer from https://rustup.rs"; \
  elif ! rustc --version 2>/dev/null | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 89) }'; then \
    echo "Rust 1.89 or newer is needed, and 'rustc' is older or does not run: say rustup update stable"; \
  elif ! command -v cc >/dev/null 2>&1; then \
    echo "A C compiler is needed, which links for Rust too, and 'cc' is not on the PATH: install gcc or clang"; \
  fi)
endef

.PHONY: help toolchain venv build demo test soak linear lint bench fuzz arm clean

help:
	@echo "make demo   compact the bundled samples and print a table"
	@echo "make test   cargo test and pytest"
	@echo "make soak   recorded transcripts, all of them, where they lie beside the checkout"
	@echo "make lint   formatters, linters, type checker, import floors, stub"
	@echo "make linear instructions as transcripts double, counted by valgrind"
	@echo "make bench  benchmarks, each checking its answer"
	@echo "make fuzz   coverage-guided fuzzing, FUZZ_SECONDS=60 a target"
	@echo "make arm    the Rust tests compiled for 64-bit ARM, run by an emulator"
	@echo "make build  only the extension      make clean  remove what make made"

toolchain:
	@: $(if $(missing),$(error $(missing)))

$(VENV)/.made: pyproject.toml | toolchain
	@"$(BIN)/python" -c '' 2>/dev/null || "$(PYTHON)" -m venv --clear "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet 'maturin>=1.9,<2'
	@touch "$@"

$(VENV)/.built: $(VENV)/.made $(RUST_SOURCES) | toolchain
	"$(BIN)/maturin" develop --release --extras dev --quiet
	@touch "$@"

venv: $(VENV)/.made
build: $(VENV)/.built

demo: build
	@"$(BIN)/turnfold" demo

test: build
	cargo test --workspace --quiet
	"$(BIN)/python" -m pytest -q -n auto --dist worksteal

soak: build
	"$(BIN)/python" -m pytest -q -n auto -m soak

linear: | toolchain
	cargo test --quiet -p turnfold-core --test instructions -- --all

lint: build
	cargo fmt --all --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	"$(BIN)/ruff" check
	"$(BIN)/ruff" format --check
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"
	"$(BIN)/python" -m mypy.stubtest turnfold._core

bench: build
	"$(BIN)/maturin" develop --release --extras dev,bench --quiet
	cargo bench --workspace
	"$(BIN)/python" -m pytest -q benches
	"$(BIN)/python" benches/count.py --rounds 3
	"$(BIN)/python" benches/metering.py

# libFuzzer's own coverage works on stable Rust; only its sanitizers would need nightly. New finds stay in fuzz/corpus.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= read:json prefix:json tokens:text truncate_middle:text small_vocabulary:text bounds:text
CARGO_FUZZ := $(CURDIR)/target/tools/bin/cargo-fuzz
FUZZ_OPTIONS := --sanitizer none --fuzz-dir fuzz --target-dir target/fuzz

$(CARGO_FUZZ): | toolchain
	cargo install cargo-fuzz --version 0.13.2 --locked --quiet --root target/tools

fuzz: $(CARGO_FUZZ)
	@"$(PYTHON)" fuzz/seeds.py target/fuzz/seeds
	@"$(CARGO_FUZZ)" build $(FUZZ_OPTIONS)
	@set -e; for target in $(FUZZ_TARGETS); do \
	  name=$${target%:*}; mkdir -p "fuzz/corpus/$$name"; \
	  "$(CARGO_FUZZ)" run $(FUZZ_OPTIONS) "$$name" "fuzz/corpus/$$name" "target/fuzz/seeds/$$name" -- \
	    -dict="fuzz/$${target#*:}.dict" -max_total_time="$(FUZZ_SECONDS)" -max_len=4096 -timeout=20 -verbosity=0; \
	done

# The tests of the two crates without Python, compiled for 64-bit ARM and run by an emulator. Linked whole: emulators have
# hung in a dynamic loader that was not their machine's own.
ARM := aarch64-unknown-linux-gnu
ARM_CRATES := rust/turnfold-core rust/turnfold-tokens
# All but `instructions`, which counts those of this machine.
ARM_TESTS := $(filter-out instructions,$(notdir \
  $(basename $(wildcard $(ARM_CRATES:=/tests/*.rs))) \
  $(patsubst %/main.rs,%,$(wildcard $(ARM_CRATES:=/tests/*/main.rs)))))

arm: | toolchain
	RUSTFLAGS="-C target-feature=+crt-static" PROPTEST_CASES=$(or $(PROPTEST_CASES),32) \
	  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static \
	  cargo test --quiet --release --target $(ARM) $(patsubst %,-p %,$(notdir $(ARM_CRATES))) --lib $(patsubst %,--test %,$(ARM_TESTS))

clean:
	rm -rf "$(VENV)" target dist demo-output python/turnfold/_core*.so
