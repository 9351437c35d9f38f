"""Which judgements are thinned out."""

from datetime import UTC, datetime, timedelta

from api.areas.retention.jobs import Thinning
from core.keeper.retention import MarkRow

A, B = b"a" * 20, b"b" * 20
DAY = datetime(2026, 11, 21, tzinfo=UTC)


def row(number: int, at: datetime, vault: bytes = A, chain_id: int = 84532) -> MarkRow:
    return MarkRow(number, chain_id, vault, at)


def test_thinning__keeps_the_first_of_each_utc_day() -> None:
    last_second = DAY + timedelta(hours=23, minutes=59, seconds=59)
    rows = [
        row(1, DAY),
        row(2, DAY + timedelta(seconds=1)),
        row(3, last_second),
        row(4, last_second + timedelta(seconds=1)),
    ]
    assert Thinning().to_drop(rows) == [2, 3]


def test_thinning__each_vault_and_chain_has_its_own_days() -> None:
    assert Thinning().to_drop([row(1, DAY), row(2, DAY, B), row(3, DAY, A, 1), row(4, DAY, B)]) == [
        4
    ]


def test_thinning__over_two_batches__is_one_day() -> None:
    thinning = Thinning()
    assert thinning.to_drop([row(1, DAY)]) == []
    assert thinning.to_drop([row(2, DAY + timedelta(hours=1))]) == [2]
