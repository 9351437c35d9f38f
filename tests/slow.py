"""Which tests `make test` leaves to `make test-slow` (docs/testing.md)."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK = "not slow"  # the expression of `make test`, which does not even import what is slow
# Whole files and folders. Beside what takes long, the tests of what is about to be replaced by a
# library: they are run as they are, before a release.
PATHS = (
    # browsers, whole stacks, clients in other languages
    "tests/acceptance/stacks",
    "tests/acceptance/test_demo.py",
    "tests/browser",
    "tests/integration/api/client/test_signed_rows_of_typescript.py",
    "tests/integration/api/mandates/test_credential_matrix.py",
    "tests/integration/api/mandates/test_races_of_ends.py",
    "tests/integration/api/sponsored/test_sponsored_wallets.py",
    "tests/integration/api/tools/test_tools_clients.py",
    "tests/integration/api/tools/test_tools_fuzz.py",
    "tests/integration/client/test_command.py",
    "tests/integration/exit",
    "tests/integration/web",
    # records that somebody tampered with
    "tests/integration/client/test_anchors.py",
    "tests/integration/client/test_hostile_files.py",
    "tests/integration/client/test_log_head.py",
    "tests/integration/client/test_measures.py",
    "tests/integration/client/test_node_clients.py",
    "tests/integration/client/test_operator_anchors.py",
    "tests/integration/client/test_operator_authors.py",
    "tests/integration/client/test_operator_records.py",
    "tests/integration/client/test_payments.py",
    "tests/integration/client/test_tampering.py",
    "tests/integration/client/test_tampering_of_authors.py",
    "tests/integration/client/test_without_vault.py",
    "tests/integration/keeper/test_keeper_receipts.py",
    # our own HTTP server, requests to nodes and prepared statements
    "tests/integration/api/test_connections.py",
    "tests/integration/api/test_ending.py",
    "tests/integration/core/db/test_sessions.py",
    "tests/integration/core/db/test_replicas_that_lie.py",
    "tests/unit/api/kernel/test_kept_answers.py",
    # the votes of nodes
    "tests/integration/indexer/chaos",
    "tests/integration/indexer/test_auditor.py",
    "tests/integration/indexer/test_finality_of_two.py",
    "tests/integration/indexer/test_lies.py",
    "tests/integration/indexer/test_nodes_that_change_their_word.py",
    "tests/integration/indexer/test_two_nodes.py",
    "tests/integration/indexer/test_wrong_nodes.py",
    "tests/integration/api/sponsored/test_sponsored_strangers.py",
    "tests/integration/api/sponsored/test_sponsored_verdicts.py",
    "tests/integration/keeper/chaos",
    "tests/integration/keeper/test_keeper_apart.py",
    "tests/integration/keeper/test_keeper_lied_to.py",
    "tests/integration/keeper/test_keeper_nodes.py",
    "tests/integration/keeper/test_keeper_stands_down.py",
    # processes, rebuilds, floods, tables of a size that plans depend on
    "tests/integration/core/market/test_board_plans.py",
    "tests/integration/test_compiler.py",
    "tests/unit/indexer/test_imports.py",
    "tests/integration/api/payments/test_payments_processes.py",
    "tests/integration/api/sponsored/test_sponsored_attacks.py",
    "tests/integration/api/sponsored/test_sponsored_days.py",
    "tests/integration/api/sponsored/test_sponsored_early_fees.py",
    "tests/integration/api/sponsored/test_sponsored_front_runs.py",
    "tests/integration/api/sponsored/test_sponsored_gas.py",
    "tests/integration/api/sponsored/test_sponsored_seeds.py",
    "tests/integration/api/test_evictions_at_once.py",
    "tests/integration/differential",
    "tests/integration/indexer/test_commands.py",
    "tests/integration/indexer/test_hostile_ranges.py",
    "tests/integration/indexer/test_large_blocks.py",
    "tests/integration/indexer/test_process.py",
    "tests/integration/indexer/test_rebuild.py",
    "tests/integration/indexer/test_reserve_attacks.py",
    "tests/integration/indexer/test_reserve_confirmation.py",
    "tests/integration/indexer/test_retry_on_a_new_machine.py",
    "tests/integration/indexer/test_status.py",
    "tests/integration/indexer/test_takeover.py",
    "tests/integration/indexer/venues/test_import_apart.py",
    "tests/integration/indexer/venues/test_scanner_process.py",
    "tests/integration/keeper/test_keeper_process.py",
    "tests/integration/keeper/test_keeper_service.py",
    "tests/integration/keeper/test_keeper_watchdog.py",
)

SLOW = {str(ROOT / one) for one in PATHS}


def few(cases: Sequence[Any], plain: int = 2) -> list[Any]:
    """Cases of `parametrize`: the first `plain` are run by `make test`, the others are slow."""
    return [
        *cases[:plain],
        *(pytest.param(case, marks=pytest.mark.slow) for case in cases[plain:]),
    ]


@cache  # asked for every test, and there are few files
def is_slow(path: Path) -> bool:
    """Whether the whole file or folder is."""
    return any(str(one) in SLOW for one in (path, *path.parents))
