# One command per job; each sets itself up on a fresh machine and may be run again. `make help` lists
# the everyday ones (##), `make help-all` the others too (###).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help help-all setup build abis exit-page docs demo up seed-world cluster test test-slow test-gate unit check format test-deep test-deep-ci test-cluster conformance prove coverage coverage-contracts gas mutants mutants-python bench bench-indexer bench-keeper bench-api bench-verify bench-hall bench-events bench-economy bench-market bench-notes bench-fund growth drill screenshots client package deploy verify verify-source preflight lock clean soak idle figures

PY := .venv/bin/python
CLI := MANDATE_WALLET_COMPILED=1 $(PY) -m scripts.cli
FORGE := node_modules/.bin/forge-native
export PYTHONPATH := $(CURDIR)
export SOLCX_BINARY_PATH := $(CURDIR)/scripts/solc
export PYTHONPYCACHEPREFIX := $(CURDIR)/.build/pycache
# Written even where the environment forbids it: else each process that a test starts compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=
# What would send an installation elsewhere, or start another Python than that of .venv.
export PIP_USER := 0
unexport PYTHONHOME PYTHONWARNINGS PIP_TARGET PIP_PREFIX UV_REQUIRE_HASHES npm_config_global npm_config_prefix npm_config_dry_run

help: ## list the everyday commands
	@grep -hE '^[a-z-]+:.* ## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16
	@printf '%s\n' '' 'A second stack beside the first: PORT=8100 RPC_PORT=8645 STACK_DIR=.local/second make up' \
		'PORT: the API (8000). RPC_PORT: the chain (8545). STACK_DIR: where stack.json is written (.local).' \
		'DATABASE_URL: your own Postgres in place of the embedded one. More: docs/operations.md'

help-all: ## list all commands
	@grep -hE '^[a-z-]+:.* ###? ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*###? /\t/' | expand -t 16

EDITABLE = $(PY) -m uv pip install --quiet --offline --no-deps --no-build-isolation --python $(PY) --editable . # .venv/bin/mandate-wallet
# Packages come in two steps, so that a command waits only for what it runs: what the demo and a deployment need, then all.
CALLS := api/client/operations.py
DEMO_READY := .venv/.demo node_modules/.demo $(CALLS) .build/ape/.ready
NPM_INSTALL := npm install --include=optional --no-save --no-progress --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 # not ci: the lock has no entries for platforms that the registry lacks
link_native = cd node_modules && for tool in $(1); do found=$$(find @foundry-rs/$$tool-*/bin -type f 2>/dev/null | head -1) && [ -n "$$found" ] && ln -sfn "../$$found" .bin/$$tool-native || exec ../scripts/require.sh downloads .build/npm.log; done

setup: .venv/.ready node_modules/.ready $(CALLS) .build/pdf.ready .build/proxy.ready ## install what building and testing need; other commands bring their own tools

.venv/.demo: requirements-demo.lock
	@scripts/require.sh disk 1000
	@echo "installing the service and Ape (requirements-demo.lock)"
	@mkdir -p .build
	@$(PY) -c 'import uv' 2>/dev/null || $(PY) -c 'import pip' 2>/dev/null || { python=$$(scripts/require.sh python) && $$python -m venv --clear .venv; }
	@{ $(PY) -m uv --version || $(PY) -m pip install --disable-pip-version-check "$$(grep -oE '^uv==[0-9.]+' $<)"; } >.build/python.log 2>&1 || scripts/require.sh downloads .build/python.log
	@umask 022; $(PY) -m uv pip install --quiet --python $(PY) --require-hashes -r $< >.build/python.log 2>&1 || scripts/require.sh downloads .build/python.log
	@$(EDITABLE)
	@touch $@

.venv/.ready: requirements.lock .venv/.demo
	@scripts/require.sh disk 1000
	@echo "installing what tests and checks run (requirements.lock)"
	@umask 022; $(PY) -m uv pip sync --quiet --python $(PY) --require-hashes $< >.build/python.log 2>&1 || scripts/require.sh downloads .build/python.log
	@$(EDITABLE)
	@touch $@

.venv-audit/.ready: requirements-audit.lock .venv/.demo
	@echo "installing Slither, Halmos and hadolint (requirements-audit.lock)"
	@test -x .venv-audit/bin/python || $(PY) -m uv venv --quiet --python $(PY) .venv-audit
	@$(PY) -m uv pip sync --quiet --python .venv-audit/bin/python --require-hashes $< >.build/python.log 2>&1 || scripts/require.sh downloads .build/python.log
	@touch $@

node_modules/.demo: package-lock.json
	@scripts/require.sh node
	@scripts/require.sh disk 1000
	@echo "installing the compiler, OpenZeppelin's contracts and anvil (package-lock.json)"
	@mkdir -p .build
	@$(NPM_INSTALL) $(if $(wildcard node_modules/.ready),,--omit=dev) >.build/npm.log 2>&1 || scripts/require.sh downloads .build/npm.log
	@$(call link_native,anvil)
	@touch $@

node_modules/.ready: node_modules/.demo
	@scripts/require.sh disk 1000
	@echo "installing forge and the JavaScript packages of tests and checks (package-lock.json)"
	@$(NPM_INSTALL) --include=dev >.build/npm.log 2>&1 || scripts/require.sh downloads .build/npm.log
	@$(call link_native,forge anvil cast)
	@touch $@

CONTRACTS := $(shell find contracts -name '*.sol' 2>/dev/null)
.build/ape/.ready: .venv/.demo node_modules/.demo ape-config.yaml scripts/solc/solc-v0.8.30 $(CONTRACTS)
	@echo "compiling the contracts"
	@rm -f .build/__local__.json  # Ape compiles what changed, and not the factory, whose code holds the vault's
	@.venv/bin/ape compile >/dev/null  # once, and not by each deployment
	@mkdir -p $(@D) && touch $@

# The client's calls, not in git; the build backend makes them too.
$(CALLS): docs/openapi.json scripts/export_client.py | .venv/.demo
	@$(PY) -m scripts.export_client
	@touch $@

# Compiled once and beside the contracts, or each process of the stack would compile the same packages at its first start.
.build/bytecode.ready: .venv/.demo $(CALLS)
	@$(PY) -c "import api.main, api.worker, indexer.main, keeper.main, api.client.verify.main, scripts.demo"
	@touch $@

TEST_CONTRACTS := $(shell find tests/contracts -name '*.sol' 2>/dev/null)
.build/forge/.ready: node_modules/.ready foundry.toml $(CONTRACTS) $(TEST_CONTRACTS)
	@echo "compiling the contracts and their tests for forge; the first time takes a minute or two"
	@$(FORGE) build --quiet
	@touch $@

.build/pdf.ready .build/proxy.ready: scripts/require.sh
	@mkdir -p $(@D)
	@! scripts/require.sh $(basename $(@F)) || touch $@  # all else works without, and the next command tries again

.build/browser.ready: scripts/require.sh | .build/pdf.ready
	@scripts/require.sh browser
	@mkdir -p $(@D) && touch $@

.build/backup.ready .build/cluster.ready .build/promtool.ready: scripts/require.sh
	@scripts/require.sh $(basename $(@F))
	@mkdir -p $(@D) && touch $@

# Later versions of both need a newer Node.js than the project's.
MCP_TOOLS := @modelcontextprotocol/inspector@0.22.0 @modelcontextprotocol/conformance@0.1.10
.build/mcp/.ready: node_modules/.ready
	@mkdir -p $(@D)
	@npm install --prefix $(@D) --no-save --no-package-lock --ignore-scripts --no-fund --no-audit --loglevel=error $(MCP_TOOLS)
	@touch $@

# What the service answers, for the types of the console's pages.
.build/web/api.d.ts: docs/openapi.json scripts/openapi_types.py node_modules/.ready .venv/.ready
	@$(PY) -m scripts.openapi_types $@ >/dev/null

build: setup .build/forge/.ready .build/ape/.ready ## compile the contracts
abis: build ### write the ABIs that the processes read, and what the browser's modules know of them
	@$(PY) scripts/export_abis.py
	@$(PY) -m scripts.export_web

exit-page: setup ### write api/web/exit.html, the way out with a wallet alone, from api/web/exit
	@$(PY) -m scripts.build_exit

docs: setup ## write what is generated: API pages, credential matrix, ERC-7730 descriptors, .env.example
	@$(PY) -m scripts.export_api
	@$(PY) -m scripts.export_descriptors
	@$(PY) -m scripts.export_env
	@$(PY) -m tests.integration.api.matrix

# By a variable: a line that names $(MAKE) itself is run by `make -n` too.
SUBMAKE = $(MAKE) -s -j2
demo: ## one mandate from signature to withdrawal on a local chain, checked at every step
	@SECONDS=0; $(SUBMAKE) .venv/.demo node_modules/.demo && installed=$$SECONDS \
	&& $(SUBMAKE) .build/ape/.ready .build/bytecode.ready && compiled=$$((SECONDS - installed)) \
	&& $(CLI) demo \
	&& echo "Installation took $$installed s, compilation $$compiled s, stack and story $$((SECONDS - installed - compiled)) s."

up: $(DEMO_READY) .build/pdf.ready ## the whole stack until Ctrl-C: chain, database, contracts and all processes; writes .local/stack.json
	@$(CLI) up

seed-world: .venv/.demo ### load a simulated world into the stack that `make up` runs: 50 agents, 200 mandates, a year of ledgers
	@$(PY) -m tests.world.seed

cluster: .venv/.demo .build/cluster.ready ### a database of three nodes on this machine until Ctrl-C: Patroni, etcd, HAProxy, PgBouncer, from Debian's packages (as root installs them)
	@$(PY) -m tests.cluster.cluster

EVERYWHERE := tests $(addprefix --ignore=tests/,architecture cluster deep) -p tests.lanes -n $(or $(LANES),auto)
test: build $(if $(T),.build/browser.ready) ## the tests, on LANES workers (default: one more than cores), or T=path (for contracts: T=tests/contracts/MandateVault/execute.t.sol); slow ones: make test-slow
	@$(PY) -m pytest $(or $(T),$(EVERYWHERE) -m "not slow")

test-slow: build .build/browser.ready .build/promtool.ready ## browser, exit page, tampered records, killed processes, chaos, fuzz: what make test leaves out
	@$(PY) -m pytest $(EVERYWHERE) -m slow

test-gate: build .build/browser.ready ## of the slow tests the few that every change has to pass (tests/gate.txt)
	@$(PY) -m pytest @tests/gate.txt -m slow -p tests.lanes -n $(or $(LANES),auto)

unit: .venv/.ready $(CALLS) ### the unit tests: without Node, database or network, in less than a minute
	@$(PY) -m pytest tests/unit -n logical --dist loadfile

check: build .venv-audit/.ready .build/web/api.d.ts ## format, lint, types, import laws, migrations, ABIs, OpenAPI, ERC-7730, Slither, hadolint
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-cache
	@$(FORGE) fmt --check contracts tests/contracts
	@$(PY) scripts/export_abis.py --check
	@$(PY) -m scripts.export_web --check
	@$(PY) -m scripts.build_exit --check
	@.venv-audit/bin/python tests/contracts/slither_check.py
	@.venv-audit/bin/hadolint Containerfile
	@$(PY) -m scripts.export_api --check
	@$(PY) -m scripts.export_descriptors --check
	@$(PY) -m scripts.export_env --check
	@node scripts/lint_openapi.mjs
	@$(PY) -m scripts.vendor_web --check
	@node_modules/.bin/tsc -p api/web
	@node_modules/.bin/biome check --error-on-warnings api/web
	@$(PY) -m tests.contracts.gas.measure --check
	@git ls-files '*.py' | xargs wc -l | awk '$$1 > 500 && $$2 != "total" {print "long: " $$2 ", " $$1 " lines"}'
	@$(PY) -m pytest tests/architecture tests/integration/core/db/test_migrations.py

format: setup ### format Python and Solidity
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix --quiet .
	@$(FORGE) fmt contracts tests/contracts
	@node_modules/.bin/biome check --write api/web

test-deep: test-deep-ci prove ## slow proofs: test-deep-ci, Halmos, 200 stories of chaos of the indexer, 100 of the keeper, 100 of sponsored buys, 10,000 forged records
	SEEDS=$(or $(SEEDS),1..100) $(PY) -m pytest tests/integration/differential
	$(if $(SEEDS),SEEDS=$(SEEDS),RESUME=1..200) $(PY) -m pytest tests/integration/indexer/chaos
	$(if $(SEEDS),SEEDS=$(SEEDS),RESUME=1..100) $(PY) -m pytest tests/integration/keeper/chaos
	$(if $(SEEDS),SEEDS=$(SEEDS),RESUME=1..100) $(PY) -m pytest tests/integration/api/sponsored/test_sponsored_seeds.py
	FORGED_RECORDS=10000 $(PY) -m pytest tests/deep/test_forged_records.py

test-deep-ci: build coverage-contracts .build/mcp/.ready .build/backup.ready .build/promtool.ready ### the half of test-deep that fits into CI: MCP conformance, 2,048 fuzz runs a contract property, invariants 500 x 50, 2,000 examples a domain property, the slow tests, deployments, the restore drill, the release before this one beside it, an area after the recipe
	FOUNDRY_FUZZ_RUNS=2048 FOUNDRY_INVARIANT_RUNS=500 FOUNDRY_INVARIANT_DEPTH=50 $(FORGE) test
	HYPOTHESIS_PROFILE=deep $(PY) -m pytest tests/unit/core tests/integration/core/credits/test_credit_ledger_histories.py tests/integration/indexer/test_deposits_histories.py
	FUZZ_EXAMPLES=300 $(PY) -m pytest tests/integration/api/mandates/test_fuzz.py
	SEEDS=1..4 STREAM_S=600 $(PY) -m pytest $(EVERYWHERE) -m slow
	$(PY) -m pytest tests/deep

test-cluster: build .build/cluster.ready ### indexer, keeper, API with spares on the database of three nodes, which loses its primary in seven ways (needs root; T=part of a name)
	@$(PY) -m pytest tests/cluster -n0 -x $(if $(T),-k $(T))

conformance: build .build/mcp/.ready ### the tool endpoint under the protocol's conformance scenarios and inspector (npm packages, into .build)
	@$(PY) -m pytest tests/deep/test_mcp_conformance.py

# Contracts and browser run no more of the Python code than the other tests do.
coverage: build ### run the tests of `make test` that run Python, print lines and branches covered by folder, fail below 90 % of core or api/kernel; T=path: those tests only, without a floor
	@rm -rf .build/coverage && mkdir -p .build/coverage
	@$(PY) -m coverage run -m pytest $(or $(T),tests $(addprefix --ignore=tests/,architecture browser cluster contracts deep) -m "not slow" -p tests.lanes -n $(or $(LANES),auto))
	@$(PY) -m coverage combine --quiet
	@for folder in api api/kernel core indexer keeper; do \
		printf '%-12s%6s %%\n' $$folder "$$($(PY) -m coverage report --format=total --precision=1 --include="$$folder/*")"; \
	done
	@$(if $(T),,for folder in core api/kernel; do $(PY) -m coverage report --format=total --fail-under=90 --include="$$folder/*" >/dev/null || exit 1; done)

# Gas tests, invariants and proofs are left out: forge's coverage build has the optimizer off and its own instruments.
coverage-contracts: build ### hold the branch coverage of vault, factory and reserve token at 100 %
	@$(FORGE) coverage --report lcov --report-file .build/lcov.info --no-match-path 'tests/contracts/{gas,invariants,proofs}/*' >.build/coverage.log 2>&1 || { tail -n 50 .build/coverage.log; exit 1; }
	@awk -F '[:,]' -f tests/contracts/branches.awk .build/lcov.info

prove: node_modules/.ready .venv-audit/.ready ### prove cap, solvency and price with Halmos, or MATCH=part of a name
	@$(PY) -m tests.contracts.proofs.prove --match "$(MATCH)"

gas: build ### measure the contracts' gas and write the table of docs/gas.md
	@$(PY) -m tests.contracts.gas.measure

mutants: node_modules/.ready .venv/.ready ### prove that the tests notice: each named defect in the contracts must fail one
	@$(PY) -m tests.mutants.judge contracts
	@$(PY) -m tests.mutants.judge sequences

mutants-python: build $(if $(TESTS),.build/browser.ready) ### prove that the tests notice a wrong rule: 300 defects of Python rules, or PART=n/10, against the test that each names, or TESTS; goes on where it was interrupted
	@$(PY) -m tests.mutants.judge python $(if $(PART),--part $(PART)) $(if $(TESTS),--tests "$(TESTS)")

bench: bench-indexer bench-keeper bench-api bench-verify bench-hall bench-events bench-economy bench-market bench-notes bench-fund ## every figure of speed, beside a bound measured in the same run

bench-indexer: build ### from a mined block to its committed row
	@$(PY) -m tests.bench.indexer

bench-keeper: build ### from a floor that is crossed to the stop that is mined
	@$(PY) -m tests.bench.keeper

bench-api: build ### reads, a paid read and a report beside a plain FastAPI application that sends the same statements, long ledgers, hostile callers; the last line has every figure
	@$(PY) -m tests.bench.api

bench-verify: build ### a record of 100,000 rows checked against the chain, and the anchors' tree of 100,000 heads
	@$(PY) -m tests.bench.verify
	@$(PY) -m tests.bench.anchors

bench-hall: build ### the Hall of 2,000 agents and a million rows: a build, one after 1,000 new rows, reads, strips, what-ifs
	@$(PY) -m tests.bench.hall

bench-events: build ### 1,000 who follow mandates: memory, threads and CPU beside a bare answer that sleeps, and how soon all are told
	@$(PY) -m tests.bench.events

bench-economy: build ### the work economy: drains of 10,000 items, 64 claims at once, pages of the ledger and of tasks over a million rows, what many accounts and farms earn
	@$(PY) -m tests.bench.economy

bench-market: build ### 6,000 simulated pairs each minute for MINUTES (5), rows by a bare COPY, the warning statistics over a million warnings
	@$(PY) -m tests.bench.market

bench-notes: build ### notes rendered a second, a note's p99 beside a bare SELECT, the vault of 6,000 notes
	@$(PY) -m tests.bench.notes

bench-fund: build ### plans of signals by one worker, each charged: how many a minute, p99 at 167 a second, charges of 64 reads at once
	@$(PY) -m tests.bench.fund

growth: build ### measure what a row, an event, a look and a call cost, and write docs/operations/growth.md and retention.md
	@$(PY) -m tests.bench.growth

drill: build .build/backup.ready ### lose the database and get it back: backup, restore to a moment, exact to the row, catch up from the chain; DRILL_DIR keeps its folder
	@$(PY) -m tests.drill.drill

soak: build ### the whole stack for MINUTES (60) at RATE (200) calls a second beside faults; errors, memory and p99 in the last line; logs in .build/soak
	@MINUTES=$(MINUTES) RATE=$(RATE) $(PY) -m tests.bench.soak

idle: build ### what `make up` costs while nobody uses it: processor over a minute, memory, first ready; the last line has the figures beside their bounds
	@$(PY) -m tests.bench.idle

figures: .venv/.demo ### measure every figure that has a bound, or ONLY=demo,ci,idle,api,keeper: set-up, demo, tests, an idle stack, benches; an hour of a machine that does nothing else
	@$(PY) -m scripts.figures

screenshots: build .build/browser.ready ### ten pictures of the console into docs/console, or PAGES="earn tasks" in light, dark and at the width of a phone
	@$(PY) -m tests.browser.screenshots

client: setup ### the wheel of the Python client and verify-record into .build/client, the TypeScript client into .build/client-ts
	@$(PY) -m scripts.build_client
	@$(PY) -m scripts.build_client_ts

package: .venv/.ready ## build the wheel with the command mandate-wallet into .build/package
	@$(PY) -m uv build --wheel --offline --no-build-isolation --quiet --python $(PY) --out-dir .build/package
	@ls .build/package/*.whl

deploy: $(DEMO_READY) ## deploy the contracts to NETWORK (devnet, sepolia) through RPC_URL; safe to repeat (docs/operations.md#deploying)
	@$(CLI) deploy

verify: build ## compare the deployment on NETWORK with its record and this code, byte for byte
	@$(CLI) verify

verify-source: build ### write what block explorers and Sourcify take to show the sources of NETWORK's contracts, into .build/verify-source
	@$(PY) -m scripts.verify_source

preflight: build ## check everything that the processes need before they start: NETWORK=sepolia, with their environment
	@$(CLI) preflight

# Their headers name the command, which Renovate repeats: it reads options with an equals sign only.
lock: .venv/.demo ### pin the Python packages again after a change of pyproject.toml
	@$(PY) -m uv pip compile --quiet pyproject.toml --group=dev --generate-hashes --output-file=requirements.lock
	@$(PY) -m uv pip compile --quiet pyproject.toml --group=deploy --constraint=requirements.lock --generate-hashes --output-file=requirements-demo.lock
	@$(PY) -m uv pip compile --quiet pyproject.toml --constraint=requirements.lock --generate-hashes --output-file=requirements-run.lock
	@$(PY) -m uv pip compile --quiet requirements-audit.in --generate-hashes --output-file=requirements-audit.lock

clean: ## remove everything that the commands made
	rm -rf $(CALLS) .venv .venv-audit node_modules .build .local out cache .hypothesis .pytest_cache .ruff_cache .mypy_cache
