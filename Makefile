# adminkit. `make` alone lists what there is.
PYTHON ?= python3
DIR ?= /tmp/adminkit-try
FUZZ_SECONDS ?= 600
IMAGE ?= localhost/adminkit

BIN := .venv/bin
STAMP := .venv/.built
# An editable install knows the modules by name: it is made again when one comes, goes or moves.
MODULES := build/.modules-$(shell find adminkit -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
BUILT_FROM := $(MODULES) pyproject.toml adminkit/__init__.py $(wildcard adminkit/native/* adminkit/native/*/* adminkit/locale/*)

.DEFAULT_GOAL := help
.PHONY: help release release-check docs docs-site demo demo-jupyter check test web soak bench fuzz matrix faults man completion deb rpm archive image cluster-up cluster-check cluster-down cluster-status clean

help:
	@echo 'make demo          build, make the look-alike trace and show its report with plots'
	@echo 'make test          install what the tests need (root, Debian or Ubuntu) and run all of them, 20 min at most'
	@echo 'make check         the part of them without root, Slurm and sanitizers, without slow files, 3 min'
	@echo 'make web           install a browser (root, Debian or Ubuntu) and open reports, letters and a JupyterHub in it, 12 min at most'
	@echo 'make demo-jupyter  a JupyterHub on a private Slurm to click through, until Ctrl-C (root, Debian or Ubuntu)'
	@echo 'make soak          long proofs and kill loops'
	@echo 'make matrix        every suite on every release of Slurm, in containers and guests (podman, root), 30 min a release'
	@echo 'make faults        break a site in containers (RELEASE=trixie) and count what is lost, 25 min'
	@echo 'make bench         speed and memory against other tools; with AGAINST=REV, against an older revision'
	@echo 'make fuzz          fuzz the C helper for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make deb           Debian packages for this release and its Slurm, into build/deb (docs/install.md)'
	@echo 'make rpm           the same two as RPMs, by adminkit.spec, into build/rpm; RPM_OPTIONS are for rpmbuild'
	@echo 'make archive       one file for x86_64 hosts without a network, into build (root, mmdebstrap, npm; 20 min)'
	@echo 'make image         the container image $(IMAGE), with podman (docs/container.md)'
	@echo 'make release       sdist, wheel, packages and archive of the last commit, built twice and compared, into build/release'
	@echo 'make release-check whether all that a release needs holds; KEY=file: the public key of its signature'
	@echo 'make cluster-up    boot a private Slurm in DIR=$(DIR), as root; prints its SLURM_CONF'
	@echo 'make cluster-down  end it; with RELEASE=bookworm|trixie|forky, both are for a site of eight containers instead'
	@echo 'make docs          write the generated references in docs/'
	@echo 'make docs-site     docs/ as a site with a search, into build/site'
	@echo 'make man           write the man pages into build/man; make completion: for bash, zsh and fish into build/completion'
	@echo 'make clean         remove what was built'
	@echo 'PYTHON=python3.12 picks another Python for .venv'

demo:
	@tests/setup/install.sh demo
	@$(MAKE) --no-print-directory $(STAMP)
	$(BIN)/adminkit demo

demo-jupyter:
	@tests/setup/install.sh web
	@$(MAKE) --no-print-directory .venv/.web
	@$(BIN)/python -m tests.web.hub

check: $(STAMP)
	@$(BIN)/python -m tests.setup.run check

test:
	@tests/setup/install.sh test
	@$(MAKE) --no-print-directory $(STAMP)
	@$(BIN)/python -m tests.setup.run test

soak:
	@tests/setup/install.sh test
	@tests/setup/install.sh web
	@$(MAKE) --no-print-directory .venv/.web
	@$(BIN)/python -m tests.setup.run soak

web:
	@tests/setup/install.sh web
	@$(MAKE) --no-print-directory .venv/.web
	@$(BIN)/python -m tests.setup.run web

bench:
	@tests/setup/install.sh bench
	@$(MAKE) --no-print-directory $(STAMP)
	$(BIN)/python -m tests.bench $(if $(AGAINST),--against '$(AGAINST)')

docs: $(STAMP)
	$(BIN)/python -m tools.docs

man completion: $(STAMP)
	$(BIN)/python -m tools.$@ build/$@

fuzz: $(STAMP)
	$(MAKE) -C tests/c fuzz FUZZ_SECONDS=$(FUZZ_SECONDS)

matrix:
	@$(PYTHON) -m tests.matrix $(MATRIX)

# Trap: dpkg-buildpackage writes the packages' list into the folder above, unless each of its programs gets another place.
rpm: $(STAMP)
	@command -v rpmbuild >/dev/null || { echo 'error: no rpmbuild; hint: dnf install rpm-build' >&2; exit 1; }
	@rpmbuild $(RPM_OPTIONS) --eval '%{_unitdir}' | grep -q ^/ || { \
	    echo 'error: this rpm has no macros for systemd; hint: dnf install systemd-rpm-macros' >&2; exit 1; }
	rm -rf build/rpm
	$(BIN)/python -c 'import scikit_build_core.build as backend; backend.build_sdist("build/rpm")'
	rpmbuild -tb $(RPM_OPTIONS) --define '_topdir $(CURDIR)/build/rpm' build/rpm/adminkit-*.tar.gz

archive: $(STAMP)
	BIN='$(abspath $(BIN))' tools/archive/make.sh

# Where Debian's image cannot be pulled, BASE is made of its packages.
image:
	@$(if $(BASE),:,tests/cluster/compose/base.sh trixie)
	podman build --format docker -t '$(IMAGE)' --build-arg BASE='$(or $(BASE),localhost/adminkit-base:trixie)' $(IMAGE_FLAGS) \
	    -f etc/container/Containerfile .

deb:
	@command -v dh >/dev/null || { echo 'error: no debhelper; hint: apt-get install build-essential debhelper' >&2; exit 1; }
	rm -rf build/deb
	mkdir -p build/deb
	dpkg-buildpackage -b -us -uc -ui -tc --changes-file=build/deb/adminkit.changes --changes-option=-ubuild/deb \
	    --buildinfo-file=build/deb/adminkit.buildinfo --buildinfo-option=-ubuild/deb
	dpkg-deb --show --showformat '$${Package} $${Version}\n' build/deb/adminkit_*.deb

docs-site: .venv/.site
	@tools/site.sh $(BIN)/zensical
	@echo 'the site is in build/site: python3 -m http.server -b 127.0.0.1 -d build/site'

release: .venv/.release
	$(BIN)/python -m tools.release make

release-check: $(STAMP)
	$(BIN)/python -m tools.release check $(if $(KEY),--key '$(KEY)')

faults:
	@$(PYTHON) -m tests.faults $(if $(RELEASE),--release '$(RELEASE)') $(FAULTS)

cluster-up:
	@$(PYTHON) -m $(if $(RELEASE),tests.cluster.compose up '$(RELEASE)',tests.cluster up '$(DIR)')

cluster-check:
	@$(PYTHON) -m tests.cluster.compose check '$(RELEASE)'

cluster-down:
	@$(PYTHON) -m $(if $(RELEASE),tests.cluster.compose down '$(RELEASE)',tests.cluster down '$(DIR)')

cluster-status:
	@$(PYTHON) -m tests.cluster status '$(DIR)'

$(MODULES):
	@mkdir -p build && rm -f build/.modules-* && touch $@

$(STAMP): $(BUILT_FROM)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo 'error: Python 3.11 or newer is needed, and $(PYTHON) is '"$$({ $(PYTHON) -V || echo none; } 2>/dev/null)" >&2; \
	    echo 'hint: name a newer one: make PYTHON=python3.12 …' >&2; exit 1; }
	@echo 'building .venv (a few minutes the first time)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv || { \
	    echo 'hint: apt-get install python3-venv' >&2; exit 1; }
	@$(BIN)/pip -q --disable-pip-version-check install -e '.[metrics,plots,serve,dev]' || { \
	    echo 'hint: pip needs a package index (PyPI), a C compiler and SQLite'"'"'s headers' >&2; exit 1; }
	@touch $(STAMP)

# What more a tier takes from PyPI. Of the second only axe-core is read, which is in it; what it needs to run is not.
AXE := axe-playwright-python==0.1.8
.venv/.web: .venv/.%: $(STAMP)
	@$(BIN)/pip -q --disable-pip-version-check install -e '.[jupyter,metrics,plots,serve,dev,site,$*]' && \
	    $(BIN)/pip -q --disable-pip-version-check install --no-deps $(AXE) || { \
	    echo 'hint: pip needs a package index (PyPI)' >&2; exit 1; }
	@touch $@ .venv/.site

.venv/.site: $(STAMP)
	@$(BIN)/pip -q --disable-pip-version-check install -e '.[dev,site]' || { \
	    echo 'hint: pip needs a package index (PyPI)' >&2; exit 1; }
	@touch $@

.venv/.release: $(STAMP)
	@$(BIN)/pip -q --disable-pip-version-check install -e '.[dev,release]' || { \
	    echo 'hint: pip needs a package index (PyPI)' >&2; exit 1; }
	@touch $@

clean:
	rm -rf .venv build dist .make .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
