"""The id of an event of an owner's stream: what it says comes back, and nothing else is taken."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mandates.service.event_ids import MOST_LISTED, EventCursor, cursor_of
from core.errors import InvalidParameterError

SECRET, OWNER = b"s" * 32, 7
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
IDS = st.integers(0, 2**63 - 1)
CURSORS = st.builds(
    EventCursor,
    IDS,
    st.integers(0, 2**32).map(lambda at: datetime.fromtimestamp(at, UTC)),
    st.dictionaries(IDS, IDS, max_size=MOST_LISTED),
)


@given(CURSORS)
def test_an_id__says_the_same_when_it_comes_back(cursor: EventCursor) -> None:
    assert cursor_of(cursor.text(SECRET, OWNER), SECRET, OWNER) == cursor


@given(CURSORS, st.data())
def test_an_id_with_one_bit_changed__is_refused(cursor: EventCursor, data: st.DataObject) -> None:
    text = cursor.text(SECRET, OWNER)
    raw = bytearray(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(InvalidParameterError, match="last_event_id"):
        cursor_of(base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("="), SECRET, OWNER)


def test_an_id_of_another_owner_or_another_secret__is_refused() -> None:
    text = EventCursor(1, AT, {}).text(SECRET, OWNER)
    for secret, owner in ((SECRET, OWNER + 1), (b"t" * 32, OWNER)):
        with pytest.raises(InvalidParameterError, match="last_event_id"):
            cursor_of(text, secret, owner)


@given(st.text(max_size=200))
def test_any_other_text__is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="last_event_id"):
        cursor_of(text, SECRET, OWNER)


def test_the_longest_id_of_a_large_service__fits_into_a_header() -> None:
    """A billion rows, ten million mandates, a million rows each."""
    sent = {10_000_000 + number: 1_000_000 for number in range(MOST_LISTED)}
    text = EventCursor(10**9, AT + timedelta(days=3_650), sent).text(SECRET, OWNER)
    assert len(text) == 1_226
