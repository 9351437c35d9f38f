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

from api.areas.mandates.rules.what_if import what_if
from api.areas.mandates.views.recorded import recorded_of
from api.areas.records.views.facts import strip_facts
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.tables import Mandate
from tests.bench.mandates import (
    AGENT,
    BUDGET,
    BUY,
    KEEPER,
    OWNER,
    SELL,
    TOKEN,
    VAULT,
    VENUE,
    ZERO,
    mandate_row,
    public_id,
    terms_of,
    word,
)
from tests.bench.place import CHAIN_ID, USDC

NAME: Final = public_id(0)

STRIPS, MOST_STATEMENTS = 50, 6
CALLS, CALLS_PER_MARK = 10_000, 10
BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)


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
    terms = terms_of(NAME, BEGAN)
    rules = Rule(VENUE, BUY, 255, RuleKind.VALUED), Rule(VENUE, SELL, 255, RuleKind.EXIT)
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
    """An agent whose one mandate has so many calls."""
    people = [{"kind": kind, "name": kind, "created_at": BEGAN} for kind in ("owner", "agent")]
    with database.write() as session:
        owner, agent = session.scalars(
            insert(Account).returning(Account.id, sort_by_parameter_order=True), people
        )
        row = mandate_row(NAME, owner, BEGAN, agent_id=agent)
        mandate_id = session.scalars(insert(Mandate).returning(Mandate.id), [row]).one()
    with database.write() as session:
        life = {mandate_id: list(_life(calls))}
        mandate_ledger.append_ledgers(session, life, BEGAN + timedelta(days=400))
    with database.write() as session:
        session.execute(text("analyze"))
    return int(agent)


def _life(calls: int) -> list[NewRow]:
    told: list[Any] = [
        ev.VaultCreated(VAULT, ZERO, OWNER, AGENT, NAME, None, ()),  # type: ignore[arg-type]
        ev.Deposited(OWNER, BUDGET, BUDGET, BUDGET),
    ]
    for number in range(calls):
        spent, received = (0, 11 * USDC) if number % 2 else (10 * USDC, 0)
        told.append(ev.Executed(number, VENUE, SELL if number % 2 else BUY, spent, received, 0))
        if number % CALLS_PER_MARK == 0:
            told.append(ev.Marked(BUDGET + number // 2 * USDC, 0))
    return [_row(one, place) for place, one in enumerate(told)]


def _row(told: Any, place: int) -> NewRow:
    at = int((BEGAN + timedelta(minutes=7 * place)).timestamp())
    hash_ = word(place + 1)
    ref = ev.LogRef(CHAIN_ID, place + 1, hash_, at, hash_, 0, VAULT)
    row = row_from_event(told, ref, KEEPER, OWNER, AGENT, usdc=TOKEN)
    assert row is not None
    return row
