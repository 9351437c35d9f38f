"""URLs that were signed for are kept by mandate, and no more of them than a bound."""

from datetime import UTC, datetime, timedelta

import pytest

from core.db.engine import WriteSession
from core.payments import signed_resources
from core.payments.chain import resource_hash
from core.payments.signed_resources import remember, urls_of
from tests.integration.core.rows import add_mandate

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def url(number: int) -> str:
    return f"https://example.org/{number}"


def test_urls__are_known_to_the_mandate_that_they_were_signed_for(write: WriteSession) -> None:
    mine, other = add_mandate(write), add_mandate(write, "m_bbbbbbbbbb")
    remember(write, mine, resource_hash(url(1)), url(1), NOW)
    remember(write, mine, resource_hash(url(1)), url(1), NOW)
    asked = [resource_hash(url(1)), resource_hash(url(2)), url(1), "0x12"]
    assert urls_of(write, mine, asked) == {resource_hash(url(1)): url(1)}
    assert urls_of(write, other, asked) == {}


def test_more_than_are_kept__push_out_those_that_were_signed_for_first(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_resources, "MOST_KEPT", 2)
    mandate_id = add_mandate(write)
    for second, number in enumerate((1, 2, 1, 3)):
        remember(
            write,
            mandate_id,
            resource_hash(url(number)),
            url(number),
            NOW + timedelta(seconds=second),
        )
    assert sorted(
        urls_of(write, mandate_id, [resource_hash(url(number)) for number in (1, 2, 3)]).values()
    ) == [url(1), url(3)]
