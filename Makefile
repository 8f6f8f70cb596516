# Only calls Meson and tools/. `make help` lists what there is.
BUILD  ?= build
PREFIX ?= /usr/local

.DEFAULT_GOAL := build
.PHONY: build deps demo test test-all test-console test-cluster screenshots soak soak-bash-cells soak-chain soak-mask lint bench bench-tokens load install uninstall deb wheel npm ci test-vm test-machine test-cpython test-conformance test-clients test-sdk test-packages test-suites asan fuzz clean help

build: ## build belljar and belljar-zygote into build/
	@tools/deps --check build
	@tools/build $(BUILD)

deps: ## install the Debian packages that building, demo and tests need
	@tools/deps build demo test

demo: ## install what is missing, build, and run examples/ in the sandbox
	@tools/deps build demo
	@tools/build $(BUILD)
	@tools/demo $(BUILD)

test: ## the tests to run after every change, at most 8 minutes after the build; ends with "N passed, N failed, N skipped"
	@tools/deps build demo test
	@tools/test $(if $(SECOND_LOOK),--second-look)

test-all: ## after `make test`, all that it leaves out: slow cases, the other caller, sanitizers, clang, conformance, soak
	@tools/deps build demo test console machine
	@tools/test $(if $(SECOND_LOOK),--second-look) --rest

soak: ## a hundred sessions, random cells, random kills, for T seconds (60)
	@tools/deps build demo
	@tools/build $(BUILD)
	@ninja -C $(BUILD) --quiet soak
	@$(BUILD)/soak --seconds $(or $(T),60) $(if $(N),--sessions $(N))

soak-bash-cells: ## cells of Bash and interrupts, for T seconds (600) or N cells: no cell may print the bytes of another
	@tools/deps build demo
	@tools/build $(BUILD)
	@ninja -C $(BUILD) --quiet soak
	@$(BUILD)/soak --bash-cells --seconds $(or $(T),$(if $(N),1000000,600)) $(if $(N),--cells $(N))

soak-chain: ## copies of copies of an interpreter, a hundred in a row, for T seconds (600)
	@tools/deps build demo test
	@tools/build $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) --quiet tests/unit/test-guest
	@tests/soak/chain.py $(BUILD) $(or $(T),600)

soak-mask: ## GB gigabytes (10) through the masker, alone and through a run: memory stays as it is
	@tools/deps build demo
	@tools/build $(BUILD)
	@BELLJAR=$(abspath $(BUILD))/belljar /usr/bin/python3 tests/soak/mask.py $(GB)

lint: ## clang-format, clang-tidy, cppcheck, shellcheck
	@tools/deps build test lint
	@tools/lint

bench: ## compare with plain python3, bubblewrap, crun, gVisor and ipykernel
	@tools/deps build demo bench
	@tools/build $(BUILD)
	@tests/bench/bench.py --build $(BUILD)

bench-tokens: ## tokens a task costs by file tools, a shell and Belljar, counted by three tokenizers from npm
	@tools/deps build demo
	@tools/build $(BUILD)
	@tests/bench/tokens/run.py --build $(BUILD)

load: ## `belljar serve` under load: runs and cells at 1 to 1000 connections, at fixed times, memory, fairness
	@tools/deps build demo bench
	@tools/build $(BUILD)
	@tests/bench/load.py --build $(BUILD)

ci: lint test test-all ## what CI does, and lint

test-vm: ## the tests on cgroup v2, in a QEMU machine
	@tools/deps build demo test vm
	@tools/build $(BUILD)
	@tests/vm/run.py $(BUILD)

test-machine: ## programs in a virtual machine (`belljar serve --machine`), with QEMU but without KVM
	@tools/deps build demo test machine
	@tools/build $(BUILD)
	@tests/machine/run.py $(BUILD)

test-cpython: ## CPython's own tests, inside and outside of a sandbox
	@tools/deps build demo test cpython
	@tools/build $(BUILD)
	@tests/cpython/run.py $(BUILD)

test-conformance: ## the official MCP conformance suite and SDK clients, from npm
	@tools/deps build test
	@tools/build $(BUILD)
	@tests/conformance/run.py $(BUILD)

test-clients: ## the same, and the inspector, Claude Code, Gemini CLI and Codex
	@tools/deps build test
	@tools/build $(BUILD)
	@tests/conformance/run.py --clients $(BUILD)

test-sdk: ## the npm package: types, archive, examples, with compilers from npm; RUNTIMES=1 for the oldest Node, Deno and Bun, too
	@tools/deps build test
	@tools/build $(BUILD)
	@tests/sdk/run.py $(if $(RUNTIMES),--runtimes) $(BUILD)

test-console: ## the web console in Debian's chromium, which is installed (350 MB); ONLY='words of a case' for one
	@tools/deps build demo test console
	@tools/build $(BUILD)
	@tests/console/run.py $(BUILD) $(if $(ONLY),'$(ONLY)')

test-cluster: ## `belljar cluster` on three network namespaces: bad days one by one, then load and faults for T seconds (120); SEED=n; as root
	@tools/deps build demo test
	@tools/build $(BUILD)
	@tests/cluster/run.py --seconds $(or $(T),120) $(if $(SEED),--seed $(SEED)) $(BUILD)

screenshots: ## pictures of every page of the web console, into docs/console/
	@tools/deps build demo test console
	@tools/build $(BUILD)
	@tests/console/run.py --screenshots docs/console $(BUILD)

test-suites: ## the demo and the fast tests on bare machines of the other releases of Debian; SUITE=trixie for one, T=seconds for each
	@tests/suites/run.py $(if $(T),--seconds $(T)) $(SUITE)

asan: ## build with the address and undefined-behaviour checkers into build-asan/
	@tools/deps build test
	@tools/build build-asan --werror -Db_sanitize=address,undefined -Db_lundef=false

fuzz: ## run each fuzz target for a minute (SECONDS=n for longer)
	@tools/deps build test
	@tools/fuzz $(or $(SECONDS),60)

install: build ## install under PREFIX (/usr/local); DESTDIR is honoured
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@tools/install $(BUILD) $(PREFIX)
	@tools/install-apparmor

uninstall: ## remove exactly what `make install` wrote under PREFIX
	@tools/install --remove $(PREFIX)
	@tools/install-apparmor --remove

deb: ## the Debian package of this checkout, into dist/
	@tools/deps build package
	@tools/deb dist

wheel: ## a wheel with the programs and the client for Python, into dist/; made on bare machines, as root
	@tests/packages/run.py --build --keep dist $(if $(CACHE),--cache $(CACHE)) wheel

npm: ## the same for npm
	@tests/packages/run.py --build --keep dist $(if $(CACHE),--cache $(CACHE)) npm

test-packages: ## make all packages on bare machines, and install, use, upgrade and remove them on others
	@tests/packages/run.py $(if $(CACHE),--cache $(CACHE))

clean: ## remove what was built
	@rm -rf build build-asan build-clang build-fuzz build-deb build-wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
