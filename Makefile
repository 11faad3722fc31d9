# Everything a person needs is one of these. `make demo` and `make test` set up what they need.

CARGO ?= cargo
TOOLS := target/tools
RELEASE := target/release/driftway

.PHONY: help demo papers verdicts test lint unit broken kernel no-std determinism fuzz-short fuzz bench validate diagrams picture need

help:
	@echo "make demo      build, run figure 8 of liu-singh-2001 in small, write out/demo/index.html"
	@echo "make papers    every paper in full, to out/papers/NAME/index.html; some minutes each"
	@echo "make test      all checks and tests"
	@echo "make validate  against ns-2.35, ns-3 and theory, to out/validation/index.html; NS2=1 runs ns beside"
	@echo "make bench     how fast it is, beside ns-2.35 where that is installed; a quarter of an hour"
	@echo "make fuzz      coverage-guided fuzzing, FUZZ_SECONDS (600) a target; needs a C++ compiler"
	@echo "make diagrams  draw the state diagrams anew from the code"
	@echo "make picture   make docs/figure-8.png anew from the demo; needs chromium"

need:
	@scripts/need

demo: need
	$(CARGO) build --release --locked -p driftway-cli
	@DRIFTWAY=$(RELEASE) scripts/demo out/demo

papers: need
	$(CARGO) build --release --locked -p driftway-cli
	@status=0; for paper in papers/*/paper.toml; do \
		name=$$(basename $$(dirname $$paper)); \
		$(RELEASE) paper $$name --out out/papers/$$name || status=1; \
	done; exit $$status

# One paper in full: a verdict that is no longer the recorded one is a failure.
verdicts: need
	$(CARGO) build --release --locked -p driftway-cli
	$(RELEASE) paper chandran-1998 > /dev/null

test: need lint unit broken kernel no-std determinism demo verdicts fuzz-short
	@echo "make test: all passed"

lint: need $(TOOLS)/bin/cargo-deny
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --all-features -- -D warnings
	$(TOOLS)/bin/cargo-deny --locked --log-level error check bans licenses sources

# Advisories are left out: their database is not in a package registry. In the debug profile,
# because it is built once and run for a second.
$(TOOLS)/bin/cargo-deny:
	$(CARGO) install --quiet --locked --debug --root $(TOOLS) --target-dir $(TOOLS)/build cargo-deny@0.20.2
	@rm -rf $(TOOLS)/build

# The kernel tests have a step of their own, which says what was skipped.
unit: need
	$(CARGO) test --locked --workspace --exclude driftway-host
	$(CARGO) test --locked -p driftway-host --lib

# The simulator is broken on purpose, and its own checks must say so.
broken: need
	$(CARGO) test --locked -p driftway-sim --features broken --test broken

# Where root, namespaces and TUN are there, a skipped test is a failure.
kernel: need
	$(CARGO) test --locked -p driftway-host --test kernel -- --nocapture

no-std: need
	cd checks/no-std && $(CARGO) build --locked --target-dir ../../target/no-std

determinism: need
	$(CARGO) build --locked -p driftway-cli
	$(CARGO) build --release --locked -p driftway-cli
	@scripts/determinism target/debug/driftway $(RELEASE)

fuzz-short: need
	cd fuzz && $(CARGO) run --release --locked --target-dir ../target/fuzz --bin try -- --seconds 20

# Coverage counters come from flags that a stable compiler takes.
FUZZ_SECONDS ?= 600
GUIDED := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1
fuzz: need
	cd fuzz && RUSTFLAGS="$(GUIDED)" $(CARGO) build --release --locked --target-dir ../target/guided \
		--target $$(rustc -vV | sed -n 's/^host: //p') --features guided --bin guided
	@for target in decode scenario movement tcp atcp tcp-f cwnd-limit router aodv dsr; do \
		echo "fuzz: $$target for $(FUZZ_SECONDS) s"; mkdir -p target/guided/corpus/$$target; \
		FUZZ_TARGET=$$target target/guided/*/release/guided -max_total_time=$(FUZZ_SECONDS) \
			-print_final_stats=1 target/guided/corpus/$$target fuzz/corpus/$$target || exit 1; \
	done

bench: need
	$(CARGO) bench --locked -p driftway-sim
	$(CARGO) bench --locked -p driftway-radio
	$(CARGO) build --release --locked -p driftway-cli
	$(RELEASE) bench

# Against the stored numbers; with NS2=1 ns-2.35 runs beside (Debian: apt-get install ns2).
validate: need
	$(CARGO) build --release --locked -p driftway-cli
	$(RELEASE) validate --out out/validation $(if $(NS2),--ns2)

diagrams: need
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-tcp --lib diagram
	DRIFTWAY_BLESS=1 $(CARGO) test --quiet --locked -p driftway-aid --lib diagram

picture: demo
	@scripts/picture out/demo/index.html docs/figure-8.png
