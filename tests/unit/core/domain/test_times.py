"""Unix seconds as text."""

from core.domain.times import utc_text, utc_text_or_none, utc_words


def test_time__written__is_iso_in_utc() -> None:
    assert utc_text(1_767_225_600) == "2026-01-01T00:00:00Z"
    assert utc_words(1_767_225_599) == "2025-12-31 23:59:59 UTC"


def test_unknown_time__written__stays_unknown() -> None:
    assert utc_text_or_none(None) is None
    assert utc_text_or_none(0) == "1970-01-01T00:00:00Z"
