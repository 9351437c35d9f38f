"""What mandates' ledgers say, and whether that is all."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy.orm import Session

from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.state import MandateState
from core.quarantine.queries import MANDATE
from core.quarantine.rules import Reading
from core.quarantine.views.held import shorts_of


def mandates_now(
    session: Session, mandate_ids: Collection[int]
) -> dict[int, Reading[MandateState]]:
    """By mandate the fold of its ledger, in two SELECTs."""
    states, shorts = (
        mandate_ledger.load_heads(session, mandate_ids),
        shorts_of(session, MANDATE, mandate_ids),
    )
    return {
        mandate_id: Reading(state, shorts.get(mandate_id)) for mandate_id, state in states.items()
    }


def mandates_before(
    session: Session, mandate_ids: Collection[int], at: datetime
) -> dict[int, Reading[MandateState]]:
    """By mandate the fold of the rows before `at`, which begins a week.

    A gap that begins later takes nothing from it.
    """
    states, shorts = (
        mandate_ledger.load_before(session, mandate_ids, at),
        shorts_of(session, MANDATE, mandate_ids),
    )
    reaching = {
        mandate_id: short for mandate_id, short in shorts.items() if short.reaches_before(at)
    }
    return {
        mandate_id: Reading(state, reaching.get(mandate_id)) for mandate_id, state in states.items()
    }
