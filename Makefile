# Shortcuts for common tasks; Meson does the building. `make help` lists the targets.
BUILD ?= build
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3

.PHONY: help quickstart build check check-long bench docs format install clean

help:
	@echo "make quickstart  install what is missing, build, train and evaluate on bundled data"
	@echo "make check       install what is missing, build, run all tests (about six minutes)"
	@echo "make check-long  run the longer tests: fuzzing, exhaustive ranges, killed commands"
	@echo "make build       build $(BUILD)/limn"
	@echo "make bench       run the benchmarks and write bench/results/"
	@echo "make docs        regenerate the generated parts of docs/"
	@echo "make format      apply clang-format"
	@echo "make install     install to PREFIX=$(PREFIX)"

quickstart:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory build
	@scripts/quickstart.sh $(BUILD)/limn

build:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=false || \
		{ scripts/deps.sh --missing build; exit 1; }
	@ninja -C $(BUILD)

check:
	@scripts/deps.sh build check
	@$(PYTHON) scripts/check.py

check-long:
	@scripts/deps.sh build check
	@$(PYTHON) scripts/check.py --long

bench:
	@scripts/deps.sh build check bench
	@$(PYTHON) bench/run.py

docs: build
	@$(PYTHON) scripts/docs.py $(BUILD)/limn
	@$(PYTHON) scripts/hulls_picture.py $(BUILD)/limn
	@$(PYTHON) scripts/borders_picture.py $(BUILD)/limn
	@$(PYTHON) scripts/student_picture.py $(BUILD)/limn
	@$(PYTHON) scripts/front_docs.py

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

# An earlier build may have had another prefix.
install: build
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@ninja -C $(BUILD) install

clean:
	@rm -rf $(BUILD) build-*
