"""What reads of agents' records cost: the statements of a batch of 50 strips, and rows of the record
that a what-if replays in a second.

    One mandate of 10,000 calls and a mark after each tenth, written by the ledger's own COPY; the
    best of three readings and replays. Both functions take a database that they may fill.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import event, insert, text

from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.recorded import recorded_of
from core.mandate.rules import events as ev
from core.mandate.rules.ledger import NewRow, row_from_event
from core.mandate.rules.terms import MandateTerms, Rule, RuleKind
from core.mandate.rules.what_if import what_if
from core.mandate.tables import Mandate
from core.records.views import strip_facts

STRIPS, MOST_STATEMENTS = 50, 6
CALLS, CALLS_PER_MARK = 10_000, 10
CHAIN_ID = 84532
BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
USDC = 1_000_000
BUDGET = 1_000 * USDC
OWNER, AGENT, KEEPER, VENUE, VAULT, TOKEN = (f"0x{n:040x}" for n in range(0x10, 0x16))
BUY, SELL = "0xd96a094a", "0xe4849b32"
ZERO: Final = "0x" + "00" * 32


def strips_sql(database: Database, agent_ids: Sequence[int]) -> int:
    """The statements that a batch of strips sends."""
    sent = list[str]()

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    with database.read() as session:
        session.execute(text("select 1"))
        event.listen(database.engine, "before_cursor_execute", note)
        strip_facts(session, agent_ids)
        event.remove(database.engine, "before_cursor_execute", note)
    return len(sent)


def what_if_rows_per_s(database: Database, calls: int = CALLS) -> float:
    """Rows read and replayed in a second, under terms that refuse some of the calls."""
    agent_id = agent_with(database, calls)
    terms, rules = _terms(), (_rule(BUY, RuleKind.VALUED), _rule(SELL, RuleKind.EXIT))
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        with database.read() as session:
            runs = recorded_of(session, agent_id).runs
        found = what_if(runs, terms, rules)
        best = min(best, time.perf_counter() - started)
        assert found.actions == calls, found
        assert found.refused, found
    return sum(len(run.facts) for run in runs) / best


def agent_with(database: Database, calls: int) -> int:
    with database.write() as session:
        owner, agent = session.scalars(
            insert(Account).returning(Account.id, sort_by_parameter_order=True),
            [{"kind": kind, "name": kind, "created_at": BEGAN} for kind in ("owner", "agent")],
        )
        mandate = session.scalars(insert(Mandate).returning(Mandate.id), [_mandate(owner, agent)])
        mandate_id = mandate.one()
    with database.write() as session:
        mandate_ledger.append_ledgers(
            session, {mandate_id: list(_life(calls))}, BEGAN + timedelta(days=400)
        )
    with database.write() as session:
        session.execute(text("analyze"))
    return int(agent)


def _mandate(owner_id: int, agent_id: int) -> dict[str, Any]:
    rule = {"target": VENUE, "selector": BUY, "recipient_word": 255, "kind": 2}
    return {
        "public_id": "m_whatifzzzz",
        "owner_id": owner_id,
        "agent_id": agent_id,
        "open_board": False,
        "status": "draft",
        "market_mode": "testnet",
        "purpose": "bench",
        "budget_usdc_e6": BUDGET,
        "horizon_days": 365,
        "stop_floor_bps": 2_000,
        "payout_rule": {},
        "allowed_targets": [],
        "on_floor": "keep",
        "chain_id": CHAIN_ID,
        "terms": {},
        "rules": [rule],
        "guard_targets": [],
        "terms_digest": b"\xee" * 32,
        "terms_version": 2,
        "created_at": BEGAN,
        "updated_at": BEGAN,
    }


def _life(calls: int) -> list[NewRow]:
    said: list[Any] = [
        ev.VaultCreated(VAULT, ZERO, OWNER, AGENT, "m_whatifzzzz", None, ()),  # type: ignore[arg-type]
        ev.Deposited(OWNER, BUDGET, BUDGET, BUDGET),
    ]
    for number in range(calls):
        spent, received = (0, 11 * USDC) if number % 2 else (10 * USDC, 0)
        said.append(ev.Executed(number, VENUE, SELL if number % 2 else BUY, spent, received, 0))
        if number % CALLS_PER_MARK == 0:
            said.append(ev.Marked(BUDGET + number // 2 * USDC, 0))
    return [_row(one, place) for place, one in enumerate(said)]


def _row(said: Any, place: int) -> NewRow:
    at = int((BEGAN + timedelta(minutes=7 * place)).timestamp())
    word = f"0x{place + 1:064x}"
    ref = ev.LogRef(CHAIN_ID, place + 1, word, at, word, 0, VAULT)
    row = row_from_event(said, ref, KEEPER, OWNER, AGENT, usdc=TOKEN)
    assert row is not None
    return row


def _rule(selector: str, kind: RuleKind) -> Rule:
    return Rule(VENUE, selector, 255, kind)


def _terms() -> MandateTerms:
    return MandateTerms(
        public_id="m_whatifzzzz",
        owner=OWNER,
        agent=AGENT,
        budget_usdc=BUDGET,
        per_tx_cap=10 * USDC,
        daily_cap=50 * USDC,
        stop_floor=BUDGET // 2,
        stop_floor_bps=5_000,
        horizon_days=365,
        ends_at=int(BEGAN.timestamp()) + 365 * 86_400,
        agent_fee_bps=0,
        approval_above=0,
        on_floor=0,
        allowed_targets_hash=ZERO,
        guard_targets_hash=ZERO,
        issued_at=int(BEGAN.timestamp()),
        nonce=0,
    )
