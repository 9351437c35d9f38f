"""The record in steps, a page at a time: what is read grows with the page, not with the ledger
(docs/rules.md#steps).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from api.areas.mandates.service.views import terms_of, vault_of
from api.kernel.operation import Call
from core.kept import KeptNewest
from core.mandate import rows as mandate_rows
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.reports import CODE_OF_WORD, chain_words
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.steps import (
    CONSENTS_PINNED,
    StepGroup,
    consent_status,
    consent_steps,
    pause_actions,
    step_groups,
    steps_page,
)
from core.mandate.tables import Mandate, MandateHead
from core.payments import signed_resources

MOST_LOOKED_PAST = 1_000
MORE_THAN_A_PAGE = 20  # rows read beside those that the page shows: doubles are shown once
MOST_BYTES: Final = 15_000_000  # of all pages that are kept, as JSON; a step's note may be long
PAGE_BYTES: Final = 1_000


@dataclass(frozen=True, slots=True)
class StepsPage:
    """`steps`: newest first, shared and never changed; `last`: the last group's place when more
    follow.
    """

    steps: tuple[dict[str, Any], ...]
    last: int | None


@dataclass(frozen=True, slots=True)
class PlaceOfSteps:
    """`before`: the place below which the page is; None: the newest page."""

    mandate_id: int
    before: int | None
    limit: int


class KeptSteps(KeptNewest[PlaceOfSteps, StepsPage]):
    """Pages as this process has made them: a page is read again when its ledger has grown, and not
    for each who looks at it.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        super().__init__(most, lambda of: PAGE_BYTES + len(msgspec.json.encode(of[1].steps)))


def steps_of(
    call: Call, mandate: Mandate, place: int | None, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Whole groups below `place` (None: the newest), newest first, and the last one's place when
    more follow.
    """
    head = call.db.get(MandateHead, mandate.id)
    if head is None:
        return [], None
    page = call.deps.parts.of(KeptSteps).of_version(
        PlaceOfSteps(mandate.id, place, limit),
        (head.row_hash, mandate.purpose),
        lambda: _page(call, mandate, head.seq + 1, place, limit),
    )
    return _with_urls(call, mandate, page.steps), page.last


def _page(call: Call, mandate: Mandate, end: int, place: int | None, limit: int) -> StepsPage:
    before, wanted = end if place is None else min(place, end), limit + MORE_THAN_A_PAGE
    while True:
        first = max(1, before - wanted)
        steps, last = steps_page(_groups_of(call, mandate, first, before), None, limit)
        if last is not None or first == 1:
            return StepsPage(tuple(steps), last)
        wanted *= 2  # most of what was read belongs to groups further down, or does not count


def _with_urls(
    call: Call, mandate: Mandate, steps: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """A payment on chain names its resource by hash; its URL is shown where this service's guard
    signed for it.
    """
    named = {step["resource"] for step in steps if step["resource"] is not None}
    urls = signed_resources.urls_of(call.db, mandate.id, named)
    return [
        step | {"resource": urls[step["resource"]]} if step["resource"] in urls else step
        for step in steps
    ]


def pending_consents(call: Call, mandate: Mandate) -> list[dict[str, Any]]:
    """What is pinned on top of the newest page; nothing once the mandate ended."""
    if consent_status(Status(mandate.status)) != "pending":
        return []
    return consent_steps(
        above_asking_line(call, mandate, CONSENTS_PINNED), terms_of(mandate).approval_above
    )


def above_asking_line(call: Call, mandate: Mandate, limit: int) -> list[LedgerRow]:
    """The newest reported actions above the owner's asking line, oldest first; none without a
    line. What the chain contradicts is no action, and is looked past, up to MOST_LOOKED_PAST rows.
    """
    line, wanted = terms_of(mandate).approval_above, limit
    while line:
        read = mandate_rows.reported_above(call.db, mandate.id, line, wanted)
        words = chain_words(with_their_txs(call, mandate, read), vault_of(mandate))
        found = [row for row in read if words[row.seq] not in CODE_OF_WORD]
        if len(found) >= limit or len(read) < wanted or wanted >= MOST_LOOKED_PAST:
            return found[-limit:]
        wanted = min(MOST_LOOKED_PAST, 4 * wanted)
    return []


def _groups_of(call: Call, mandate: Mandate, first: int, before: int) -> list[StepGroup]:
    """The groups whose first row is in [first, before)."""
    read = mandate_rows.standing_page(call.db, mandate.id, first, before)
    return [
        group
        for group in step_groups(
            read, mandate.purpose, pause_actions(read), vault=vault_of(mandate)
        )
        if first <= group.place < before
    ]


def with_their_txs(call: Call, mandate: Mandate, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """These rows and every other one of their transactions, oldest first."""
    by_seq = {row.seq: row for row in rows}
    txs = {row.tx_hash for row in by_seq.values() if row.tx_hash is not None}
    by_seq |= {row.seq: row for row in mandate_rows.standing_of_txs(call.db, mandate.id, txs)}
    return [by_seq[seq] for seq in sorted(by_seq)]
