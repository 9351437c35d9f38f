"""Rows of the board that are kept: by version, and no more than so many."""

from datetime import UTC, datetime, timedelta

from api.shared.kept_rows import KeptRow, KeptRows
from core.market.board_views import RowVersion

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROW = KeptRow({"token_id": "binance_btc_usdt"}, NOW, 60)


def version(listing_id: int = 1, xmin: str = "700", updated_at: datetime = NOW) -> RowVersion:
    return RowVersion(listing_id, 7, updated_at, xmin)


def test_a_row__is_found_by_the_version_that_it_was_read_of() -> None:
    kept = KeptRows()
    kept.keep(version(), ROW)
    assert kept.find(version()) is ROW


def test_a_row_that_another_transaction_wrote__is_not_found() -> None:
    kept = KeptRows()
    kept.keep(version(), ROW)
    assert kept.find(version(xmin="701")) is None


def test_a_row_of_another_time__is_not_found() -> None:
    kept = KeptRows()
    kept.keep(version(), ROW)
    assert kept.find(version(updated_at=NOW + timedelta(microseconds=1))) is None


def test_the_row_that_was_not_asked_for_longest__goes_first() -> None:
    kept = KeptRows(most=2)
    kept.keep(version(1), ROW)
    kept.keep(version(2), ROW)
    kept.find(version(1))
    kept.keep(version(3), ROW)
    assert [kept.find(version(one)) is not None for one in (1, 2, 3)] == [True, False, True]
