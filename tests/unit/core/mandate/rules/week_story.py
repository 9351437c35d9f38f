"""Two weeks of one mandate, told once: for the statement, its files and their page."""

from datetime import timedelta
from typing import Any

from core.mandate.rules.rows import RowKind
from core.mandate.rules.state import MandateFacts
from core.mandate.rules.statement import StatementOf
from core.mandate.rules.weeks import IsoWeek
from tests.unit.core.mandate.rules.ledgers import (
    DAY,
    MONDAY,
    PUBLIC_ID,
    TESTNET,
    VAULT,
    X402,
    SampleLedger,
    executed,
    marked,
    paid,
    settled,
    stopped,
    terms,
    withdrawn,
    working,
)

WEEK, NEXT = IsoWeek(2026, 6), IsoWeek(2026, 7)
LATER = MONDAY + 60 * DAY


def about(facts: MandateFacts = TESTNET, **changes: Any) -> StatementOf:
    standard: dict[str, Any] = {
        "public_id": PUBLIC_ID,
        "facts": facts,
        "terms": terms(),
        "purpose": "Buy ETH slowly",
        "agent_id": "1001",
        "vault_address": VAULT,
        "strategy": None,
    }
    return StatementOf(**standard | changes)


def story() -> SampleLedger:
    """Week 6: funded, spends 100, pays 0.01, is marked 970.

    Week 7: gets 130 back, stops, fee 2.999, withdraws half.
    """
    ledger = working()
    ledger.chain(executed("100", nonce=0), 60)
    ledger.chain(paid("0.01"), 61)
    ledger.chain(executed("0.01", nonce=1, target=X402), 61)
    ledger.chain(marked("970"), 62)
    ledger.report(
        RowKind.BUY, "500", payload={"violation": {"codes": ["over_per_tx_cap"], "detail": {}}}
    )
    monday = NEXT.start_at
    ledger.chain(executed("0", "130", nonce=2), 63, monday)
    ledger.chain(stopped(), 64, monday + timedelta(hours=1))
    ledger.chain(settled("2.999", "29.99"), 65, monday + timedelta(hours=2))
    ledger.chain(withdrawn("500"), 66, monday + timedelta(hours=3))
    return ledger
