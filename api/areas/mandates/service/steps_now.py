"""The record in steps, a page at a time: what is read grows with the page, not with the book (wallet spec 2.4)."""

from collections.abc import Iterable
from typing import Any

from api.kernel.operation import Call
from core.db.repositories import mandate_rows
from core.db.tables.mandate import Mandate
from core.domain.mandate.ledger import LedgerRow
from core.domain.mandate.steps import StepGroup, pause_actions, place_of, step_groups, steps_page

MORE_THAN_A_PAGE = 20  # rows read beside those that the page shows: doubles are shown once


def steps_of(call: Call, mandate: Mandate, cursor: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """A page of whole groups, newest first, and the cursor of the next one. Errors: InvalidParameterError for a cursor that is none."""
    before, wanted = place_of(cursor), limit + MORE_THAN_A_PAGE
    while True:
        groups, is_all = _newest_groups(call, mandate, before, wanted)
        steps, next_cursor = steps_page(groups, None, limit)
        if next_cursor is not None or is_all:
            return steps, next_cursor
        wanted *= 2  # most of what was read belongs to groups further down


def _newest_groups(call: Call, mandate: Mandate, before: int | None, rows: int) -> tuple[list[StepGroup], bool]:
    """The groups whose first row is among the newest `rows` rows below `before`, and whether there are no others."""
    read = mandate_rows.standing_page(call.db, mandate.id, before, rows)
    newest = [row.seq for row in read if before is None or row.seq < before][-rows:]
    lowest = newest[0] if newest else 0
    groups = step_groups(read, mandate.purpose, pause_actions(read))
    return [group for group in groups if group.place >= lowest and (before is None or group.place < before)], len(newest) < rows


def with_their_txs(call: Call, mandate: Mandate, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """These rows and every other one of their transactions, oldest first."""
    by_seq = {row.seq: row for row in rows}
    txs = {row.tx_hash for row in by_seq.values() if row.tx_hash is not None}
    by_seq |= {row.seq: row for row in mandate_rows.standing_of_txs(call.db, mandate.id, txs)}
    return [by_seq[seq] for seq in sorted(by_seq)]
