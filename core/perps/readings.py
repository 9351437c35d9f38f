"""What a reading makes of a leg: its row, and the owner's alert."""

from datetime import datetime

from core.alerts.queries import HL_KEY_LOST, add_hl_key_lost, withdraw_of_mandates
from core.db.engine import WriteSession
from core.perps import queries as legs
from core.perps.queries import Leg
from core.perps.rules.leg import AccountReading, Degraded, LegState, after_reading
from core.perps.views import of_mandate


def record_reading(
    session: WriteSession, leg_id: int, reading: AccountReading, source: str, now: datetime
) -> None:
    """A leg that was unbound meanwhile stays as it was."""
    found = legs.lock_live(session, leg_id)
    if found is None:
        return
    after = after_reading(found.state, reading, now)
    legs.save_reading(session, leg_id, after, source, now)
    _alert(session, found, after, now)


def _alert(session: WriteSession, leg: Leg, after: LegState, now: datetime) -> None:
    """The owner's alert, once for each time that the key is lost; a leg that is unreadable
    meanwhile says nothing of it.
    """
    if after.last_reason is leg.state.last_reason or after.last_reason is Degraded.UNREADABLE:
        return
    mandate = of_mandate(session, leg.mandate_id)
    withdraw_of_mandates(session, HL_KEY_LOST, [(mandate.owner_id, mandate.public_id)], now)
    if after.last_reason is Degraded.KEY_LOST:
        add_hl_key_lost(session, mandate.owner_id, mandate.public_id, leg.parties, now)
