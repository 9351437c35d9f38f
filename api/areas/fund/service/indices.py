"""Indices are listed and read, with why a member is no constituent."""

from datetime import date
from typing import Any

from api.areas.fund.schemas.pilots import (
    ConstituentRow,
    ExcludedRow,
    IndexList,
    IndexQuery,
    IndexRead,
    IndexShown,
    IndicesQuery,
)
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, ReadCall, Refusal
from core.errors import InvalidParameterError
from core.fund import indices
from core.fund.indices import ShownIndex
from core.fund.rules.frozen import weight_text
from core.fund.rules.indices import SAYS, IndexRow, universe_of
from core.money import usdc_text


def browse(call: ReadCall, caller: Nobody, command: IndicesQuery) -> Answer[IndexList]:
    rows = [IndexShown(**_heading(one)) for one in indices.all_indices(call.db)]
    return Answer(IndexList(indices=rows))


def read(call: ReadCall, caller: Nobody, command: IndexQuery) -> Answer[IndexRead]:
    """Errors: InvalidParameterError; Refusal not_found."""
    index = index_of(call, command.id)
    day = index.day if command.day is None else _day(command.day)
    rows = [] if day is None else indices.rows_on(call.db, index.id, day)
    if command.day is not None and not rows:
        raise InvalidParameterError("day", "nothing was written on this day; leave it out")
    wanted = [] if command.category is None else [command.category]
    shown = [one for one in rows if not wanted or set(wanted) & set(one.categories)]
    all_of_day = universe_of(rows, ())
    of_day = {
        "day": None if day is None else day.isoformat(),
        "constituents_count": len(all_of_day),
        "deliverables_count": sum(one.is_deliverable is True for one in all_of_day),
    }
    return Answer(
        IndexRead(
            **(_heading(index) | of_day),
            categories=list(indices.categories_of(index.key)),
            constituents=[_constituent(one) for one in universe_of(rows, wanted)],
            excluded=[_excluded(one) for one in shown if one.exclusion is not None],
        )
    )


def index_of(call: Call, index_id: int) -> ShownIndex:
    """Errors: Refusal not_found."""
    found = indices.find_index(call.db, index_id)
    if found is None:
        raise Refusal(
            "not_found", f"There is no index {index_id}; list them.", next_calls=("fund.indices",)
        )
    return found


def _day(text: str) -> date:
    """Errors: InvalidParameterError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidParameterError("day", "write a day such as 2026-11-21") from None


def _heading(index: ShownIndex) -> dict[str, Any]:
    return {
        "id": index.id,
        "name": index.name,
        "delivery_chain": index.delivery_chain,
        "day": None if index.day is None else index.day.isoformat(),
        "constituents_count": index.constituents,
        "deliverables_count": index.deliverables,
        "funds_count": index.funds,
        "vault_ids": list(index.vault_ids),
        **({"simulated": True} if index.is_simulated else {}),
    }


def _constituent(row: IndexRow) -> ConstituentRow:
    return ConstituentRow(
        token=row.ticker,
        categories=list(row.categories),
        market=row.market or "",
        weight=weight_text(row.weight_e4 or 0),
        venues=row.venues,
        depth_usd=usdc_text(row.depth_usdc_e6 or 0),
        deliverable=row.is_deliverable,
    )


def _excluded(row: IndexRow) -> ExcludedRow:
    assert row.exclusion is not None, "of excluded members alone"
    return ExcludedRow(
        token=row.ticker,
        categories=list(row.categories),
        reason=row.exclusion,
        rule=SAYS[row.exclusion],
    )
