# Each target is one command; what takes more than that is a script in scripts/.
.DEFAULT_GOAL := help
.PHONY: help test lint fmt docs audit bench bench-agent bench-operations bench-reads chaos parity conformance fuzz fuzz-api dist testenv dictionary picture

# A version, so that a new release of the tool changes nothing unasked.
CARGO_DENY := 0.20.2

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## Runs all that CI runs: lint and every test, on real Kubernetes and real databases
	@scripts/test

lint: ## Checks format, clippy's warnings and the length of files
	@scripts/lint

fmt: ## Formats the Rust code
	cargo fmt --all

docs: ## Writes the tables of docs/configuration.md anew, from the settings types
	UPDATE_GENERATED=1 cargo test -p spindrift --test configuration

merge-keys: ## Writes the merge keys of Kubernetes' own kinds anew, as a real API server tells them
	UPDATE_GENERATED=1 cargo test -p spindrift-kubernetes --test cluster -- the_shipped_facts

audit: ## Checks dependencies: bans, duplicates, licences, sources (installs cargo-deny if it is absent)
	@command -v cargo-deny >/dev/null || cargo install cargo-deny --version $(CARGO_DENY) --locked
	cargo deny --locked check bans licenses sources
	@echo 'Advisories are not checked here, since they need a database from the network: cargo deny check advisories'

bench: ## Measures, always as a ratio to a peer in the same run
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench

fuzz: ## Throws nonsense at all that reads what others write: make fuzz SECONDS=600 TARGETS=pages
	cargo run --release --locked -p spindrift-fuzz -- --seconds $(or $(SECONDS),60) $(TARGETS)

fuzz-api: ## Asks a hub whatever its OpenAPI description lets one ask, and fails on a server error; SECONDS=600 SEED=random
	cargo build --workspace --locked --bins
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) scripts/fuzz-api

bench-agent: ## Measures the agent beside a client-go informer: memory, time to sync, bytes on the wire; QUICK=1 for a look
	cargo build --release --locked --bins --workspace
	cargo build --profile lean --locked --bins -p spindrift-agent
	SPINDRIFT_AGENT_BINARY=$${CARGO_TARGET_DIR:-target}/lean/spindrift-agent \
	  $${CARGO_TARGET_DIR:-target}/release/spindrift-bench agent $(if $(QUICK),--quick)

bench-operations: ## Measures a deploy through hub and agent beside the same calls straight to the API server; QUICK=1 for a look
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench operations $(if $(QUICK),--quick)

bench-reads: ## Measures pages of an application with 10,000 pods beside a live reader, and what rows cost writers; QUICK=1 for a look
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench reads $(if $(QUICK),--quick)

chaos: ## Breaks everything at random while things change, and compares whenever it is quiet; SECONDS=600 SEED=random
	cargo build --workspace --locked --bins --test chaos
	SPINDRIFT_CHAOS_SECONDS=$(or $(SECONDS),600) SPINDRIFT_CHAOS_SEED=$(SEED) \
	  cargo test --workspace --locked --test chaos -- --nocapture

parity: ## Does some 3,500 things beside the real kubectl, compares, and writes docs/parity.md; CASES=2000 SEED=6
	cargo build --workspace --locked --bins --test parity
	SPINDRIFT_PARITY_CASES=$(or $(CASES),2000) SPINDRIFT_PARITY_SEED=$(SEED) SPINDRIFT_PARITY_WRITE=1 \
	  cargo test --workspace --locked --test parity -- --nocapture

conformance: ## Plays what real Spinnaker services said and did against a hub on a real cluster, and compares
	cargo build --workspace --locked --bins --test conformance
	cargo test --workspace --locked --test conformance -- --nocapture

dist: ## Builds the binaries that are shipped: target/dist, and the agent in target/lean
	cargo build --profile dist --locked --bins -p spindrift -p spindrift-hub
	cargo build --profile lean --locked --bins -p spindrift-agent

testenv: ## Builds the real Kubernetes that tests run against (minutes, once), and prints its path
	@testenv/build

dictionary: ## Trains the compression dictionary on objects of a real Kubernetes and of the playground
	@scripts/dictionary

picture: ## Takes the pictures of the README: a terminal, drawn as SVG (needs tmux)
	@scripts/picture
