# `make` alone lists what there is. Every target sets up what it needs first.

# What `demo` is built with; `test` shares the build of `make test`.
PROFILE ?= release
TIGHTLOOP = cargo run --locked --profile $(PROFILE) -p tightloop-lab --features vmaf --

.DEFAULT_GOAL = help
.PHONY: help setup demo test lint doc bench

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 14

setup:
	@scripts/setup

demo: setup ## five controllers, one video, one bad link; writes runs/compare/report.html
	$(TIGHTLOOP) compare
	@echo
	@echo "Open this file in a browser: $(CURDIR)/runs/compare/report.html"

test: setup ## all tests, fuzz corpora included
	cargo test --locked --workspace --features tightloop-live/vmaf --no-fail-fast

lint: setup ## formatting and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --features tightloop-live/vmaf -- -D warnings

doc: setup ## the documentation, warnings are errors
	scripts/doc

bench: setup ## packets per second of the simulator; wants a quiet machine
	cargo run --locked --release -p tightloop --example perf
