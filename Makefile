# Each target is one command; anything longer is a script in scripts/.
.DEFAULT_GOAL := help
.PHONY: help test lint fmt docs merge-keys commit-messages audit attack bench bench-agent bench-operations bench-reads chaos parity conformance proxies fuzz fuzz-api dist testenv dictionary picture

# Pinned, so that a new release of the tool changes nothing unasked.
CARGO_DENY := 0.20.2

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## Run everything that CI runs: lint and every test, on real Kubernetes and real databases
	@scripts/test

lint: ## Check format, clippy's warnings, the length of files and the tests that the documentation names
	@scripts/lint

fmt: ## Format the Rust code
	cargo fmt --all

docs: ## Regenerate the tables of docs/configuration.md from the settings types
	UPDATE_GENERATED=1 cargo test -p spindrift --test configuration

merge-keys: ## Regenerate the merge keys of Kubernetes' own kinds from a real API server
	UPDATE_GENERATED=1 cargo test -p spindrift-kubernetes --test cluster -- the_shipped_facts

commit-messages: ## Check commit messages before they land: make commit-messages RANGE=main..HEAD
	@scripts/commit-messages $(RANGE)

audit: ## Check dependencies: bans, duplicates, licences, sources (installs cargo-deny if it is absent)
	@command -v cargo-deny >/dev/null || cargo install cargo-deny --version $(CARGO_DENY) --locked
	cargo deny --locked check bans licenses sources
	@echo 'Advisories are not checked here, since they need a database from the network: cargo deny check advisories'

bench: ## Run the benchmarks, each as a ratio to a peer in the same run
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench

fuzz: ## Fuzz the parsers of foreign input: make fuzz SECONDS=600 TARGETS=pages
	cargo run --release --locked -p spindrift-fuzz -- --seconds $(or $(SECONDS),60) $(TARGETS)

fuzz-api: ## Fuzz the REST API by its OpenAPI description; a server error fails; SECONDS=600 SEED=random
	cargo build --workspace --locked --bins
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) scripts/fuzz-api

bench-agent: ## Compare the agent with a client-go informer: memory, time to sync, bytes on the wire; QUICK=1 for a short run
	cargo build --release --locked --bins --workspace
	cargo build --profile lean --locked --bins -p spindrift-agent
	SPINDRIFT_AGENT_BINARY=$${CARGO_TARGET_DIR:-target}/lean/spindrift-agent \
	  $${CARGO_TARGET_DIR:-target}/release/spindrift-bench agent $(if $(QUICK),--quick)

bench-operations: ## Compare a deploy through hub and agent with the same calls straight to the API server; QUICK=1 for a short run
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench operations $(if $(QUICK),--quick)

bench-reads: ## Compare pages of an application with 10,000 pods with live reads; measure the cost of rows for writers; QUICK=1 for a short run
	cargo build --release --locked --bins --workspace
	$${CARGO_TARGET_DIR:-target}/release/spindrift-bench reads $(if $(QUICK),--quick)

attack: ## Attack a running hub as hostile peers, callers and readers would, in full size; ATTACK=text selects by name
	cargo build --workspace --locked --bins --test attack
	SPINDRIFT_ATTACK_FULL=1 SPINDRIFT_ATTACK='$(ATTACK)' cargo test --workspace --locked --test attack -- --nocapture

chaos: ## Inject random faults while objects change, and compare at every quiet point; SECONDS=600 SEED=random
	cargo build --workspace --locked --bins --test chaos
	SPINDRIFT_CHAOS_SECONDS=$(or $(SECONDS),600) SPINDRIFT_CHAOS_SEED=$(SEED) \
	  cargo test --workspace --locked --test chaos -- --nocapture

parity: ## Run some 3,500 commands beside the real kubectl, compare, and write docs/kubectl.md; CASES=2000 SEED=6
	cargo build --workspace --locked --bins --test parity
	SPINDRIFT_PARITY_CASES=$(or $(CASES),2000) SPINDRIFT_PARITY_SEED=$(SEED) SPINDRIFT_PARITY_WRITE=1 \
	  cargo test --workspace --locked --test parity -- --nocapture

conformance: ## Replay recordings of real Spinnaker services against a hub on a real cluster, and compare
	cargo build --workspace --locked --bins --test conformance
	cargo test --workspace --locked --test conformance -- --nocapture

proxies: ## Keep sessions quiet for three minutes behind a real nginx and Envoy with their default timeouts
	cargo build --workspace --locked --bins --test proxies
	SPINDRIFT_PROXIES_DEFAULTS=1 cargo test --workspace --locked --test proxies -- --nocapture

dist: ## Build the binaries that are shipped: target/dist, and the agent in target/lean
	cargo build --profile dist --locked --bins -p spindrift -p spindrift-hub
	cargo build --profile lean --locked --bins -p spindrift-agent

testenv: ## Build the real Kubernetes that tests run against (minutes, once), and print its path
	@testenv/build

dictionary: ## Train the compression dictionary on objects of a real Kubernetes and of the playground
	@scripts/dictionary

picture: ## Take the pictures of the README: a terminal, drawn as SVG (needs tmux)
	@scripts/picture
