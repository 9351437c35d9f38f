"""The warning statistics over the whole ledger (docs/warning-statistics.md), and the
figures of the whole. Nothing here commits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market import gaps
from core.market.copying import EPOCH_US, Array, read_rows, row_of
from core.market.rules import wci
from core.market.rules.wci import CallColumns, OutcomeColumns, WciReading
from core.market.tables import MarketSummary
from core.published import queries as published
from core.published.rules import PublishedSeries, PublishedVersion

SERIES: Final = PublishedSeries(
    subject=wci.SUBJECT,
    rules=wci.RULES,
    has_figure=wci.has_rate,
    compared=lambda figures: figures,
)

# Rows of one width, so that a million of them are one array.
_CALLS: Final = b"""copy (
    select ('x' || left(md5(exchange), 16))::bit(64)::bigint # (asset_id * 7919), at, type = 'cross_exchange_flag'
    from warning_event where action = 'issued' and is_predictive
) to stdout (format binary)"""
_OUTCOMES: Final = b"""copy (
    select ('x' || left(md5(exchange), 16))::bit(64)::bigint # (asset_id * 7919), at, is_genuine,
           array_position(array['st_tag', 'delist_notice', 'suspend_notice', 'delisting_confirmed',
                                'caution_designation'], kind)::int8 - 1
    from market_outcome where kind is not null
) to stdout (format binary)"""
_CALL: Final = row_of(">i8", ">i8", "i1")
_OUTCOME: Final = row_of(">i8", ">i8", "i1", ">i8")


@dataclass(frozen=True, slots=True)
class WciRows:
    """All calls and outcomes, as arrays."""

    calls: Array
    outcomes: Array


def wci_rows(session: Session) -> WciRows:
    return WciRows(read_rows(session, _CALLS, _CALL), read_rows(session, _OUTCOMES, _OUTCOME))


def wci_of(rows: WciRows, now: datetime) -> tuple[WciReading, WciReading]:
    """B3 and B3.1 as of now."""
    calls, outcomes = rows.calls, rows.outcomes
    called = CallColumns(
        calls["v0"].astype(np.int64),
        calls["v1"].astype(np.int64) + EPOCH_US,
        calls["v2"].astype(np.bool_),
    )
    declared = OutcomeColumns(
        unit=outcomes["v0"].astype(np.int64),
        kind=outcomes["v3"].astype(np.int8),
        at_us=outcomes["v1"].astype(np.int64) + EPOCH_US,
        is_genuine=outcomes["v2"].astype(np.bool_),
    )
    now_us = round(now.timestamp() * 1_000_000)
    return wci.b3(called, declared, now_us), wci.b31(called, declared, now_us)


def as_of(session: Session, now: datetime) -> datetime:
    """The moment for which the figures of this UTC day are to be computed."""
    return published.as_of(session, SERIES, now, now)


def publish(
    session: WriteSession, found: Sequence[WciReading], at: datetime, now: datetime
) -> PublishedVersion | None:
    """The day's figures, computed as of `at`. None: the day has these."""
    return published.publish(session, SERIES, wci.to_json(found), at, now)


# What nobody lists any more is neither a listing nor a token.
_LISTINGS: Final = "from listing_state where status is distinct from 'delisted'"
_TOKENS: Final = f"from asset_state a where exists (select {_LISTINGS} and asset_id = a.asset_id)"
_FIGURES: Final = {
    "listings": f"select count(*) {_LISTINGS}",
    "simulated_listings": f"select count(*) {_LISTINGS} and is_simulated",
    "exchanges": f"select count(distinct exchange) {_LISTINGS}",
    "tokens": f"select count(*) {_TOKENS}",
    "graded_listings": f"select count(*) {_LISTINGS} and grade is not null",
    "graded_tokens": f"select count(*) {_TOKENS} and grade is not null",
    "ungraded_tokens": f"select count(*) {_TOKENS} and gpa_7d is null",
    "tokens_with_contract": f"select count(*) {_TOKENS} and contracts <> '[]'",
    "verified_tokens": f"select count(*) {_TOKENS} and identity = 'verified_same'",
    "collisions": f"select count(*) {_TOKENS} and identity = 'collision'",
    "transfer_known_tokens": f"select count(*) {_TOKENS} and transfer <> 'unknown'",
    "open_warnings": "select count(*) from warning_standing",
    "unsure_notices_90d": "select count(*) from market_notice "
    "where kind = 'unsure' and published_at > now() - interval '90 days'",
}


def summarise(session: WriteSession, now: datetime) -> Mapping[str, Any]:
    figures: dict[str, Any] = {
        name: session.scalar(text(query)) for name, query in _FIGURES.items()
    }
    grades = text(f"select grade, count(*) {_LISTINGS} and grade is not null group by grade")
    figures["grades"] = dict(session.execute(grades).all())
    seen = gaps.figures(session, now)
    figures |= {"arb_hits_24h": seen.hits_24h, "actionable_share_7d": seen.actionable_share_7d}
    put = insert(MarketSummary).values(id=1, figures=figures, computed_at=now)
    session.execute(
        put.on_conflict_do_update(
            index_elements=["id"], set_={"figures": figures, "computed_at": now}
        )
    )
    return figures
