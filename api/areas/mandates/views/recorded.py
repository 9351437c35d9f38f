"""An agent's recorded actions, as a replay takes them (api/areas/mandates/rules/what_if.py).

Laws
- Of long ledgers the newest rows alone are read, whatever an agent has done: at most ROWS_READ a
  mandate, and mandates until they have that many together; of these the newest CALLS_REPLAYED calls.
- Paper is nobody's record: only an agent reports it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import BigInteger, Row, select, text, true
from sqlalchemy.orm import Session

from api.areas.mandates.rules.recorded_runs import nth_newest_call_at, run_of
from api.areas.mandates.rules.what_if import RecordedRun
from api.areas.mandates.views.readings import mandates_now
from core.db.arrays import table_of
from core.hexes import hex_of
from core.mandate.rows import standing
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.tables import Mandate, MandateEvent, MandateHead

CALLS_REPLAYED: Final = 10_000
ROWS_READ: Final = 20_000
MANDATES_READ: Final = 200

# Rows that move own cash, or report a payment for a service or a mark.
OF_A_RUN = text(
    "(kind in ('move', 'deposit', 'withdraw', 'payout') or (kind = 'fee' and jsonb_exists(payload, "
    "'adapter')) or (kind = 'note' and jsonb_exists_any(payload, array['mark', 'unwound', "
    "'proceeds'])))"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """`is_whole` false: older actions were left out. `data_issue`: as in core.quarantine.rules,
    of the first of its ledgers that is short.
    """

    runs: list[RecordedRun]
    is_whole: bool
    data_issue: Mapping[str, Any]


def recorded_of(session: Session, agent_id: int) -> Recorded:
    """What the agent did in its mandates on the chain, in four statements."""
    ids, has_all = _last_active(session, agent_id)
    rows = _run_rows(session, ids)
    readings = mandates_now(session, rows.keys())
    since = nth_newest_call_at((one.rows for one in rows.values()), CALLS_REPLAYED)
    return Recorded(
        [
            run_of(found.rows, found.cash_usdc_e6, readings[mandate_id].said, since)
            for mandate_id, found in rows.items()
        ],
        has_all and since is None and all(one.is_whole for one in rows.values()),
        next((one.data_issue for one in readings.values() if one.short is not None), {}),
    )


@dataclass(frozen=True, slots=True)
class _RunRows:
    """The newest rows of a mandate that a replay reads, oldest first; after them there is this
    cash. `is_whole`: there are no older ones.
    """

    cash_usdc_e6: int
    rows: list[NewRow]
    is_whole: bool


def _last_active(session: Session, agent_id: int) -> tuple[list[int], bool]:
    """The agent's mandates, the ones that were written last first, until they have ROWS_READ rows;
    and whether there are no others.
    """
    query = (
        select(Mandate.id, MandateHead.seq)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .where(Mandate.agent_id == agent_id, Mandate.market_mode == MarketMode.TESTNET)
        .where(Mandate.vault_address.is_not(None))
        .order_by(MandateHead.updated_at.desc(), Mandate.id.desc())
        .limit(MANDATES_READ + 1)
    )
    found = session.execute(query).all()
    ids, rows = list[int](), 0
    for mandate_id, seq in found[:MANDATES_READ]:
        if rows >= ROWS_READ:
            break
        ids.append(mandate_id)
        rows += seq
    return ids, len(ids) == len(found)


def _run_rows(session: Session, mandate_ids: Collection[int]) -> Mapping[int, _RunRows]:
    """By mandate its newest rows of a run, at most ROWS_READ each, in one statement."""
    asked = table_of("asked", {"mandate_id": (BigInteger, [*mandate_ids])})
    event, head = MandateEvent.__table__, MandateHead.__table__
    newest = (
        select(*(event.c[name] for name in _OF_A_ROW))
        .where(event.c.mandate_id == asked.c.mandate_id, OF_A_RUN, standing())
        .where(event.c.reported_by.in_([ReportedBy.CHAIN.value, ReportedBy.KEEPER.value]))
        .order_by(event.c.seq.desc())
        .limit(ROWS_READ + 1)
        .lateral("newest")
    )
    query = (
        select(head.c.cash_usdc_e6.label("cash"), newest)
        .select_from(asked)
        .join(head, head.c.mandate_id == asked.c.mandate_id)
        .join(newest, true())
    )
    cash, rows = dict[int, int](), dict[int, list[tuple[int, NewRow]]]()
    for row in session.execute(query):
        cash[row.mandate_id] = int(row.cash)
        rows.setdefault(row.mandate_id, []).append((row.seq, _new_row(row)))
    return {
        mandate_id: _RunRows(
            cash[mandate_id],
            [one for _, one in sorted(found, key=itemgetter(0))[-ROWS_READ:]],
            len(found) <= ROWS_READ,
        )
        for mandate_id, found in rows.items()
    }


_OF_A_ROW: Final = (
    "mandate_id",
    "seq",
    "kind",
    "reported_by",
    "occurred_at",
    "amount_usdc_e6",
    "cash_delta_usdc_e6",
    "tx_hash",
    "payload",
)


def _new_row(row: Row[Any]) -> NewRow:
    """What a run is made of, and no more: there may be thousands."""
    return NewRow(
        kind=RowKind(row.kind),
        reported_by=ReportedBy(row.reported_by),
        occurred_at=row.occurred_at,
        base_key="",
        amount_usdc_e6=row.amount_usdc_e6,
        cash_delta_usdc_e6=int(row.cash_delta_usdc_e6),
        tx_hash=None if row.tx_hash is None else hex_of(row.tx_hash),
        payload=row.payload,
    )
