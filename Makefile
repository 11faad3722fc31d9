# Everything a person needs is one of these. `make demo` and `make test` set up what they need.

CARGO ?= cargo
TOOLS := target/tools
RELEASE := target/release/driftway

# What `make test` consists of. Tests with the kernel wait more than they compute, so that all other builds take place
# beside the tests (`unit-and-builds`).
BUILDS := my-aid no-std release-build python
PHASES := lint unit-build unit-and-builds size determinism demo verdicts fuzz-short

.PHONY: help papers test test-all test-times $(PHASES) unit $(BUILDS) fault-injection kernel papers-in-full fuzz-long fuzz audit bench bench-python bench-programs bench-radio field field-soak validate wheel reference diagrams man picture need need-python

help:
	@echo "make demo      build, run figure 8 of liu-singh-2001 in small, write out/demo/index.html"
	@echo "make papers    every paper in full, to out/papers/NAME/index.html; yu-2004 takes 80 minutes"
	@echo "make test      all checks and tests"
	@echo "make test-all  the same, a paper more in full, and longer with random bytes; half an hour"
	@echo "make test-times  what each part of make test costs from a bare clone, in seconds of processor time"
	@echo "make validate  against ns-2.35, ns-3 and theory, to out/validation/index.html; NS2=1 runs ns beside"
	@echo "make bench     how fast it is, beside ns-2.35 where that is installed; twenty minutes"
	@echo "make bench-python  what an aid in Python costs, and tasks a second of a Dask scheduler; two minutes"
	@echo "make bench-radio  emulated radios: lateness, and kernels beside the simulator; as root, two minutes"
	@echo "make bench-programs  nginx, rsync, ssh, redis, mosquitto, postgresql over an emulated path; as root, two minutes"
	@echo "make field     what the shim gives under Linux's TCP, and what it costs; as root, an hour"
	@echo "make field-soak  a gigabyte under each fault below the shim, every byte checked; as root"
	@echo "make wheel     the Python package as a wheel, to target/wheels; TARGET=aarch64-unknown-linux-gnu for another machine"
	@echo "make python    the wheel, and its tests in a virtual environment"
	@echo "make audit     licences, bans, sources and advisories of what is depended on; needs network"
	@echo "make fuzz      coverage-guided fuzzing, FUZZ_SECONDS (600) a target; needs a C++ compiler"
	@echo "make man       write dist/man/*.1 anew from --help"
	@echo "make reference  write docs/scenario.md, docs/study.md and docs/results.md anew from the code"
	@echo "make diagrams  draw the state diagrams anew from the code"
	@echo "make picture   make docs/figure-8.png anew from the demo; needs chromium"

need:
	@scripts/need

need-python:
	@scripts/need python

# The command; with it the module of the Python package, where that is needed or was built before: both at once have the
# same features of what they share, and nothing is compiled twice.
BOTH := -p driftway-cli -p driftway-python
RELEASE_PACKAGES ?= $(if $(wildcard target/release/lib_driftway.so),$(BOTH),-p driftway-cli)
test test-all test-times python wheel bench-python: export RELEASE_PACKAGES := $(BOTH)
release-build: need
	$(CARGO) build --release --locked $(RELEASE_PACKAGES)

demo: release-build
	@DRIFTWAY=$(RELEASE) scripts/demo out/demo

papers: release-build
	@status=0; for paper in papers/*/paper.toml; do \
		name=$$(basename $$(dirname $$paper)); \
		$(RELEASE) paper $$name --out out/papers/$$name || status=1; \
		$(RELEASE) paper $$name --numbers || status=1; \
	done; exit $$status

# The papers: a verdict or a result that is no longer the recorded one is a failure, and so is a number in their
# texts that is not what a run gives. Each in part; `make papers` has all.
PAPERS := chandran-1998 liu-singh-2001 yu-2004 westin-2003 singh-iyer-2002
verdicts: release-build
	@set -e; for paper in $(PAPERS); do echo "verdicts and numbers: $$paper"; \
		$(RELEASE) paper $$paper --quick --fresh > /dev/null; \
		$(RELEASE) paper $$paper --numbers --fresh > /dev/null; \
	done

test: need $(PHASES)
	@echo "make test: all passed"

# For those who can wait: what differs from `make test` in amount.
test-all: test papers-in-full fuzz-long
	@echo "make test-all: all passed"

papers-in-full: release-build
	$(RELEASE) paper chandran-1998 --fresh > /dev/null

# Each phase in a clone of what is committed, with nothing built.
test-times: need
	@scripts/test-times lint unit-build unit $(BUILDS) size determinism demo verdicts fuzz-short

# Cargo manifests outside the workspace, each with a lock file of its own.
OUTSIDE := checks/no-std fuzz/guided examples/my-aid

lint: need
	$(CARGO) fmt --all --check
	@for crate in $(OUTSIDE); do $(CARGO) update --quiet --workspace --locked \
		--manifest-path $$crate/Cargo.toml || exit 1; done
	$(CARGO) clippy --locked --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --locked --workspace --no-deps --all-features

# One build for all tests. It has the feature `fault-injection`, with which tests inject faults into the
# simulator. The release build lacks the feature and must give byte-identical results (`determinism`).
# Where root, namespaces and TUN are available, a skipped test against the kernel is a failure.
UNIT := $(CARGO) test --locked --workspace --features driftway-sim/fault-injection
# A fresh checkout is built once: what is kept for the next time would take a sixth longer.
export CARGO_INCREMENTAL ?= 0
# Property tests draw the same cases each time here, and new ones under a plain `cargo test`.
export PROPTEST_RNG_SEED ?= 20260101
unit-build: need
	$(UNIT) --no-run
unit: unit-build
	$(UNIT)
unit-and-builds: unit-build
	@scripts/beside '$(MAKE) unit' '$(MAKE) $(BUILDS)'

# Parts of it, for those who want no more.
fault-injection: need
	$(UNIT) --test fault_injection
kernel: need
	$(UNIT) --test kernel

# A crate of one file outside the workspace, which adds an aid: the quick loop of docs/guide.md.
my-aid: need
	cd examples/my-aid && $(CARGO) run --release --locked --target-dir ../../target/my-aid

# The Python package: its wheel, and its tests where that is installed, beside the command.
wheel: need-python
	@scripts/python wheel $(TARGET)
# Without Python it is skipped, and with DRIFTWAY_NEED_PYTHON=1 that is a failure.
python: release-build
	@scripts/python

# What an aid in Python costs, and tasks a second that a scheduler of Dask gives to 20 workers.
bench-python: release-build
	@scripts/python bench

no-std: need
	cd checks/no-std && $(CARGO) build --locked --target-dir ../../target/no-std

determinism: unit-build release-build
	@scripts/determinism target/debug/driftway $(RELEASE)

# What is shipped stays small.
size: release-build
	@scripts/size $(RELEASE) 20000000

fuzz-short: unit-build
	target/debug/try --seconds 5
fuzz-long: unit-build
	target/debug/try --seconds 60

# Coverage counters come from flags that a stable compiler takes.
FUZZ_SECONDS ?= 600
GUIDED := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1
fuzz: need
	cd fuzz/guided && RUSTFLAGS="$(GUIDED)" $(CARGO) build --release --locked \
		--target-dir ../../target/guided --target $$(rustc -vV | sed -n 's/^host: //p')
	@for target in decode scenario movement movement-fcd movement-gpx movement-csv tcp atcp atcp-partial tcp-f elfn epln cwnd-limit carry router aodv dsr shim; do \
		echo "fuzz: $$target for $(FUZZ_SECONDS) s"; mkdir -p target/guided/corpus/$$target; \
		FUZZ_TARGET=$$target target/guided/*/release/guided -max_total_time=$(FUZZ_SECONDS) \
			-print_final_stats=1 target/guided/corpus/$$target fuzz/corpus/$$target || exit 1; \
	done

# With advisories, whose database needs network. Licences, bans and sources are a test of crates/cli, too.
audit: need $(TOOLS)/bin/cargo-deny
	$(TOOLS)/bin/cargo-deny --locked check

$(TOOLS)/bin/cargo-deny:
	$(CARGO) install --quiet --locked --root $(TOOLS) --target-dir $(TOOLS)/build cargo-deny@0.20.2
	@rm -rf $(TOOLS)/build

bench: release-build
	$(CARGO) bench --locked -p driftway-sim
	$(CARGO) bench --locked -p driftway-radio
	$(CARGO) bench --locked -p driftway-cli --bench replay
	$(RELEASE) bench

# Emulated radios, as root: whether this machine keeps real time, and kernels beside the simulator. Two minutes.
bench-radio: need
	$(CARGO) bench --locked -p driftway-linux --bench radio

# Real programs over an emulated path with and without an outage, as root; those that are installed.
bench-programs: release-build
	@DRIFTWAY=$(RELEASE) scripts/bench-programs

# The shim under Linux's own TCP, as root: how its packets come in, what it gives, whether it harms.
# FIELD_RUNS (5) of each; an hour and a quarter. FIELD_WITHIN=8: rows about neighbours until their intervals
# are narrower than ± 0.08, FIELD_MOST (40) runs at most.
field: need
	$(CARGO) bench --locked -p driftway-linux --bench intercept
	$(CARGO) bench --locked -p driftway-linux --bench field

# SOAK_BYTES (10⁹) under each fault; twenty minutes. What arrives otherwise than it was sent is a
# failure, and so is a connection that does not survive.
field-soak: need
	$(CARGO) bench --locked -p driftway-linux --bench field -- soak

# Against the stored numbers; with NS2=1 ns-2.35 runs beside (Debian: apt-get install ns2).
validate: release-build
	$(RELEASE) validate --out out/validation $(if $(NS2),--ns2)

# docs/scenario.md from the types that read the scenario file, docs/results.md from those that write results.
reference: need
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-scenario --test schema
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-experiment --lib schema
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-cli --bin driftway results_reference

diagrams: need
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-tcp --lib diagram
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-aid --lib diagram

# The manual, a page for each command, from its --help.
man: need
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-cli --bin driftway manual

picture: demo
	@scripts/picture out/demo/index.html docs/figure-8.png
