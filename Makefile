# Everything is set up inside this folder: .venv holds Python's side, target holds Rust's.

PYTHON ?= python3
CARGO ?= cargo
BIN := .venv/bin

# PyO3 asks this interpreter, whoever calls cargo; a second one would mean a second build.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Debian's packages of the programs that tests start, each skipped where its program is missing.
PROGRAMS := chromium fio iproute2 libmail-dkim-perl libns3-dev openmpi-bin openssl pflogsumm postfix swaks tshark valgrind
# The last release for the Node.js of Debian 12; npm installs it, where there is one.
MAILAUTH := mailauth@4.12.0

# The papers' texts, which are not in this repository; what claims quote is looked up there.
TEXTS ?= ../shared/papers

# Several goals use one environment and one folder of builds; cargo is parallel by itself.
.NOTPARALLEL:
.PHONY: help run programs test test-core test-mail test-full lint house fmt core build wheel bench kernel-queues instructions pages pages-touched docs gallery words figures image release release-check papers coverage kills fuzz audit pins clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

# Fewer flows than the study's own 20000, so that it takes a minute or two.
run: core ## the main job: a pFabric study, its table and its pictures
	$(call study,papers/pfabric/websearch-quick.toml --set workload.flows=8000,out/first-run)

programs: ## the real programs that tests start, from Debian's packages and npm's; needs root
	apt-get --quiet --quiet update
	DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet install --yes \
		--no-install-recommends $(PROGRAMS)
	@if command -v npm >/dev/null; then npm install --silent --prefix .tools $(MAILAUTH); \
		else echo "npm is missing: the test that verifies signatures with mailauth is skipped"; fi

test: build $(BIN)/installed ## every test, properties and truths with a quarter of their cases: cargo's first, pytest's last
	$(CARGO) test --workspace --quiet
	$(BIN)/pytest --numprocesses 3 --dist worksteal -m "not alone"
	$(BIN)/pytest -m alone

# What needs the list server; all other crates and tests belong to `sojourn._core`.
MAIL_CRATES := sojourn-list-server sojourn-mail-spool sojourn-python-mail sojourn-testnet
MAIL_TESTS := tests/mail tests/serve tests/docs/test_serve_docs.py

test-core: core $(BIN)/installed ## the tests that need no list server, which may be missing
	$(CARGO) test --workspace --quiet $(MAIL_CRATES:%=--exclude %)
	$(BIN)/pytest --numprocesses 3 --dist worksteal -m "not alone" $(MAIL_TESTS:%=--ignore %)
	$(BIN)/pytest -m alone $(MAIL_TESTS:%=--ignore %)

test-mail: build $(BIN)/installed ## the other tests
	$(CARGO) test --quiet $(MAIL_CRATES:%=--package %)
	$(BIN)/pytest --numprocesses 3 --dist worksteal -m "not alone" $(MAIL_TESTS)
	$(BIN)/pytest -m alone $(MAIL_TESTS)

test-full: export PROPTEST_CASES := 256
test-full: export PYTEST_ADDOPTS := --full
test-full: export PROPTEST_RNG_SEED := $(shell date +%s)
test-full: ## every test, properties with all of their cases and another seed each time: an hour
	@echo "PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED)"
	$(MAKE) test

lint: build $(BIN)/installed ## formats, clippy, ruff, mypy, imports, the stub, Rust's docs, house; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest sojourn._core --mypy-config-file pyproject.toml
	@# maturin puts the extension into a package of the same name; the stub is the package's
	echo sojourn_mail.sojourn_mail | $(BIN)/stubtest sojourn_mail --allowlist /dev/stdin --mypy-config-file pyproject.toml
	$(BIN)/lint-imports --no-cache
	$(MAKE) house

house: $(BIN)/installed ## the rules of tools/house.py: files that import each other, borders, second places of a fact
	$(BIN)/python tools/house.py

fmt: $(BIN)/installed ## format Rust and Python
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

build: core ## the optimised command with its list server, .venv/bin/sojourn
	$(call install,crates/python-mail)

core: $(BIN)/ready ## the same without the list server: half of the time
	$(call install,.)
	@$(BIN)/python -m compileall -q python/sojourn

# Linked by Zig for the oldest glibc that tools/wheels.py claims; maturin refuses newer symbols.
WHEEL := $(BIN)/maturin build --profile dist --out dist --zig --compatibility manylinux_2_28

# The wheel also has manual pages and completions: pip installs them where man and shells look.
wheel: build $(BIN)/installed ## the packages for pip, sojourn and sojourn-mail, of the last commit, in dist/
	rm -rf dist/*.whl sojourn._core.data
	$(BIN)/python tools/share.py sojourn._core.data/data/share
	SOJOURN_COMMIT=$$(git rev-parse HEAD) $(WHEEL)
	$(WHEEL) --manifest-path crates/python-mail/Cargo.toml

bench: build $(BIN)/installed ## packet-hops per CPU second of the fabric engine, of ns-3 and SimPy beside it
	$(BIN)/sojourn bench fabric --beside

# A kernel with a virtual clock is made by kernel.config, see docs/developers/kernel-and-simulator.md.
UML ?= linux.uml

kernel-queues: build ## a kernel's CoDel, FQ-CoDel and PIE beside the simulator's, into out/kernel-queues: half an hour
	$(BIN)/python benches/peers/kernel_queues/compare.py --kernel $(UML)

pages: ## the pages that add a part, followed to the letter: minutes
	$(PYTHON) tools/pages.py

pages-touched: ## these pages applied, and those that the change touches compiled, in three minutes
	$(PYTHON) tools/pages.py --touched 180

instructions: build $(BIN)/installed ## instructions of a unit of work in each benchmark, within 1 % of tests/golden: minutes
	$(BIN)/python tools/instructions.py

docs: build $(BIN)/installed ## the handbook in target/site, Rust's own pages in target/doc
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/licences.py
	$(BIN)/zensical build --clean --strict
	$(CARGO) doc --workspace --no-deps --quiet

release-check: lint test docs wheel ## all that a release has to pass: the gallery too, and the wheel and the lectures in a fresh environment
	$(BIN)/python docs/gallery.py --quick
	$(PYTHON) tools/wheels.py dist/*.whl
	target/clean/bin/pip install --quiet --disable-pip-version-check ipykernel jupytext nbclient
	cp docs/lectures/*.py target/clean
	cd target/clean && bin/jupytext --quiet --to notebook *.py
	cd target/clean && bin/jupyter execute --inplace --kernel_name=python3 *.ipynb

# Nothing is published here: CONTRIBUTING.md says what to do with it.
release: $(BIN)/installed ## all that is published: wheels, sdists, handbook, notes and checksums in dist/, and an image
	mkdir -p target && $(BIN)/python tools/release.py > target/notes.md
	rm -rf dist
	$(MAKE) release-check
	$(BIN)/maturin sdist --out dist
	$(BIN)/maturin sdist --out dist --manifest-path crates/python-mail/Cargo.toml
	tar -C target/site -czf dist/handbook.tar.gz .
	mv target/notes.md dist
	cd dist && sha256sum * > ../target/SHA256SUMS && mv ../target/SHA256SUMS .
	$(MAKE) figures image

# A client of docker without its daemon makes none.
IMAGE = $(firstword $(foreach tool,podman buildah docker,$(shell $(tool) info >/dev/null 2>&1 && echo $(tool))))

image: ## the container image sojourn, of the wheel in dist/, by podman, buildah or docker
	@$(if $(IMAGE),,echo "No image is made: podman, buildah or docker would make it, and none works here")
	$(if $(IMAGE),BUILDAH_FORMAT=docker $(IMAGE) build --tag sojourn --file Containerfile .)

words: ## the words of each page of the handbook; users' pages have a limit
	$(PYTHON) tools/words.py

figures: $(BIN)/installed ## figures on pages that are older than the engine they speak of
	$(BIN)/python tools/figures.py

gallery: build ## the pictures of docs/gallery.md: minutes
	$(BIN)/python docs/gallery.py

# Exit code 1 says that a claim does not hold: a result like others.
papers: build ## every paper, its figures and claims, quick into out/quick and in full into out/papers: hours
	if [ -d "$(TEXTS)" ]; then $(BIN)/python papers/quotations.py "$(TEXTS)"; fi
	$(BIN)/sojourn reproduce all --out out/quick || [ $$? -eq 1 ]
	$(BIN)/sojourn reproduce all --full --out out/papers || [ $$? -eq 1 ]
	$(CARGO) test -p sojourn-fabric --test fabric -- --ignored --nocapture permanent_flows

coverage: build $(BIN)/installed ## how often intervals hold the truth, into out/coverage.md: hours
	$(BIN)/python tests/interval_coverage.py

kills: ## a list server killed in the midst of 1, 5 and 20 messages, and what that cost: a quarter of an hour
	$(CARGO) test -p sojourn-list-server --test server -- --ignored --nocapture --test-threads=1 kill::kills::shape

fuzz: .tools/bin/cargo-fuzz ## a minute of random bytes for each parser
	$(foreach target,$(patsubst fuzz/fuzz_targets/%.rs,%,$(wildcard fuzz/fuzz_targets/*.rs)),\
		$(call fuzz,$(target)))

audit: .tools/bin/cargo-audit $(BIN)/installed ## known holes in what is used; asks databases on the network
	.tools/bin/cargo-audit audit
	$(BIN)/uv tool run pip-audit --strict --disable-pip --no-deps --requirement requirements-dev.txt

pins: $(BIN)/installed ## requirements-dev.txt anew, from pyproject.toml and today's releases
	$(BIN)/uv pip compile --quiet --upgrade --universal --extra pandas --extra dask --extra compiled --extra mpi --group dev --no-header \
		--no-emit-index-url pyproject.toml --output-file requirements-dev.txt

clean: ## all that was built or installed; results in out/ stay
	rm -rf .venv .tools target dist sojourn._core.data fuzz/target python/sojourn/_core*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache

define study
	$(BIN)/sojourn run $(1) --out $(2)
	$(BIN)/sojourn show $(2) --by scheme,load
	$(BIN)/sojourn plot $(2)

endef

# cargo-fuzz wants a nightly compiler's options; this variable opens them on a stable one.
define fuzz
	@mkdir -p fuzz/corpus/$(1)
	RUSTC_BOOTSTRAP=1 PATH="$(CURDIR)/.tools/bin:$$PATH" \
		$(CARGO) fuzz run $(1) fuzz/corpus/$(1) fuzz/seeds/$(1) -- -max_total_time=60

endef

# Read from a list, a package is built when its cache-keys say so; as an argument, every time.
define install
	@echo "--editable $(1)" | $(BIN)/uv pip install --python .venv --no-build-isolation --no-deps \
		--requirement -
endef

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
missing = { echo "sojourn needs $(1)" >&2; exit 2; }

# uv is quick; where it reaches no index, pip knows the machine's mirrors and certificates.
UV := $(BIN)/uv pip install --quiet --python .venv --compile-bytecode

# What it takes to build and to run. A first run need not wait for what only developers use.
$(BIN)/ready: requirements-dev.txt
	@command -v $(CARGO) >/dev/null || $(call missing,cargo: install Rust 1.88 or newer)
	@command -v $(PYTHON) >/dev/null || $(call missing,$(PYTHON): install Python 3.11 or newer)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		$(call missing,Python 3.11 or newer: $(PYTHON) is $$($(PYTHON) --version 2>&1))
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		$(call missing,the venv module of $(PYTHON): install python3-venv)
	@echo "Setting up .venv"
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) --constraint $< uv
	@$(UV) --constraint $< --requirement pyproject.toml maturin || $(PIP) --requirement $<
	@touch $@

# All that is needed to test, to check and to write about it.
$(BIN)/installed: $(BIN)/ready
	@$(UV) --requirement requirements-dev.txt || $(PIP) --requirement requirements-dev.txt
	@touch $@

.tools/bin/%:
	$(CARGO) install --quiet --locked --root .tools $*
