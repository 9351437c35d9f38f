"""What `python -m keeper.main status` shows of a vault."""

import io
from datetime import UTC, datetime

from rich.console import Console

from core.keeper.views import SourcedMark, WatchedVault
from keeper.state import SOURCE_AT_COST, SOURCE_VAULT_WORTH
from keeper.status import KeeperStatus, tables
from tests.unit.keeper.readings import BUDGET, CREATED_AT, FLOOR, NOW, VAULT

WHEN = datetime.fromtimestamp(NOW, UTC)


def shown(source: str) -> str:
    vault = WatchedVault(
        vault=VAULT,
        public_id="m_abcdefghij",
        budget_usdc_e6=BUDGET,
        created_at=CREATED_AT,
        ends_at=None,
        last_sent=None,
        last_written=SourcedMark(BUDGET, 7, WHEN, source),
        floor_usdc_e6=FLOOR,
        is_recorded_at_work=True,
    )
    out = io.StringIO()
    Console(file=out, width=250).print(*tables(KeeperStatus(None, [vault], [], [], WHEN)))
    return out.getvalue()


def test_a_worth_at_cost__says_so() -> None:
    assert "1000.000000 (at cost)" in shown(SOURCE_AT_COST)


def test_a_worth_of_the_vaults_own__says_nothing_more() -> None:
    assert "at cost" not in shown(SOURCE_VAULT_WORTH)
