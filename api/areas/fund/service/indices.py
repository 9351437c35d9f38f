"""Indices are listed and read, with why a member is no constituent."""

from dataclasses import replace
from functools import partial
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
from api.shared.published import chosen_version, publication
from core.fund import indices
from core.fund.indices import ShownIndex
from core.fund.rules.frozen import weight_text
from core.fund.rules.indices import SAYS, IndexRow, rows_in, universe_of
from core.money import usdc_text


def browse(call: ReadCall, caller: Nobody, command: IndicesQuery) -> Answer[IndexList]:
    rows = [IndexShown(**_heading(one)) for one in indices.all_indices(call.db)]
    return Answer(IndexList(indices=rows))


def read(call: ReadCall, caller: Nobody, command: IndexQuery) -> Answer[IndexRead]:
    """Errors: InvalidParameterError; Refusal not_found."""
    index = index_of(call, command.id)
    found = chosen_version(
        partial(indices.version_of, call.db, index.id),
        ("day", command.day),
        ("version", command.version),
    )
    rows = [] if found is None else rows_in(found.figures)
    wanted = [] if command.category is None else [command.category]
    shown = [one for one in rows if not wanted or set(wanted) & set(one.categories)]
    return Answer(
        IndexRead(
            **_heading(replace(index, newest=found)),
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


def _heading(index: ShownIndex) -> dict[str, Any]:
    found = index.newest
    constituents = [] if found is None else universe_of(rows_in(found.figures), ())
    return {
        "id": index.id,
        "name": index.name,
        "delivery_chain": index.delivery_chain,
        "day": None if found is None else found.day.isoformat(),
        "published": None if found is None else publication(found),
        "constituents_count": len(constituents),
        "deliverables_count": sum(one.is_deliverable is True for one in constituents),
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
