"""The statements that these tests print, as the API answers them."""

from typing import Any

from core.mandate.rules.rows import RowKind
from core.mandate.rules.statement import all_mandates_json, statement_json
from tests.statements import week_statement
from tests.unit.core.mandate.rules.ledgers import PAPER, SampleLedger, working
from tests.unit.core.mandate.rules.week_story import LATER, WEEK, about, story

HEAD = "12:0x" + "ab" * 32
CAUTION = "TEST NETWORK: test money."


def week(ledger: SampleLedger | None = None) -> dict[str, Any]:
    return statement_json(week_statement((ledger or story()).rows, about(), WEEK, LATER))


def said_by_the_agent(why: str) -> dict[str, Any]:
    """A week in which the agent gave this reason."""
    ledger = story()
    ledger.report(RowKind.NOTE, None, payload={"why": why})
    return week(ledger)


def whole() -> dict[str, Any]:
    """A mandate on the test network and one on paper."""
    testnet = week_statement(story().rows, about(), WEEK, LATER)
    paper = week_statement(
        working(PAPER).rows, about(PAPER, public_id="m_bbbbbbbbbb", vault_address=None), WEEK, LATER
    )
    return all_mandates_json([testnet, paper], WEEK, LATER)
