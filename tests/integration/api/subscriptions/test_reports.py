"""Reports from the order to the PDF (docs/reports.md)."""

import hashlib
import io
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pypdf import PdfReader
from sqlalchemy import select

from api.areas.reports import jobs as reports
from api.areas.reports.tables import StoredReport
from api.kernel.operation import Deps
from core.market.ledger import writer
from core.market.ledger.writer import NewWarning, PastWarning, StandingWarning
from core.market.tables import MarketAssetState, MarketListingState, MarketWarningStanding
from tests.integration.api.conftest import Clock, Limit, reason
from tests.integration.api.subscriptions.conftest import Subscriber, measured, subscriber_of
from tests.slow import few

pytestmark = pytest.mark.usefixtures("listed")

OPEN = r"UTC\s+open\b"  # when it was issued, and that it has no end
PAIR = {"exchange": "binance", "symbol": "BTC/USDT"}


def ordered(subscriber: Subscriber, **body: Any) -> Any:
    return subscriber.post("/reports/pair_pdf", PAIR | body)


def work(deps: Deps, now: datetime) -> dict[str, Any]:
    place: Any = SimpleNamespace(database=deps.database)
    return dict(reports.run(place, now))


@pytest.fixture
def reader(subscriber: Subscriber, deps: Deps, clock: Clock) -> Subscriber:
    """Has Tier 1; BTC/USDT was looked at."""
    subscriber.subscribed(1)
    with deps.database.write() as session:
        measured(session, clock.now)
    return subscriber


@pytest.mark.parametrize("lang", few(["en", "ko"], plain=1))
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_report__is_queued_printed_listed_and_downloaded(
    reader: Subscriber, deps: Deps, clock: Clock, lang: str, version: str
) -> None:
    entry = ordered(reader, lang=lang, version=version).json()
    assert (entry["state"], entry["bucket"]) == ("queued", "2026-11-21T12:00:00Z")
    path = f"/reports/{entry['report_id']}"
    waiting = reader.get(path)
    assert reason(waiting) == (409, "report_not_ready")
    assert waiting.headers["Retry-After"] == "5"
    assert work(deps, clock.now) == {"ready": 1, "failed": 0, "abandoned": 0}
    (listed,) = reader.get("/reports", **PAIR).json()["reports"]
    assert (listed["state"], listed["grade"], listed["simulated"]) == ("ready", "B", True)
    answer = reader.get(path)
    assert answer.headers["content-type"] == "application/pdf"
    assert hashlib.sha256(answer.content).hexdigest() == listed["sha256"]
    text = text_of(answer.content)
    figures = ["BTC/USDT", "123,456", "4.25"]  # each in a cell of its own
    assert [one for one in figures if one not in text.split()] == []
    assert ("SIMULATED DATA" if lang == "en" else "모의 데이터") in text
    assert fonts_of(answer.content)


def text_of(pdf: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)


def fonts_of(pdf: bytes) -> list[str]:
    """Every font is embedded."""
    names = []
    for page in PdfReader(io.BytesIO(pdf)).pages:
        for font in page["/Resources"]["/Font"].values():  # type: ignore[index]  # pypdf types
            one = font.get_object()
            (descendant,) = one["/DescendantFonts"]
            descriptor = descendant.get_object()["/FontDescriptor"].get_object()
            assert {"/FontFile2", "/FontFile3"} & set(descriptor)
            names.append(str(one["/BaseFont"]))
    return names


@pytest.mark.slow
def test_equal_facts__are_equal_bytes(reader: Subscriber, deps: Deps, clock: Clock) -> None:
    report_id = ordered(reader).json()["report_id"]
    work(deps, clock.now)
    first = reader.get(f"/reports/{report_id}").content
    with deps.database.write() as session:
        session.query(StoredReport).update({"state": "queued", "pdf": None, "sha256": None})
    work(deps, clock.now)
    assert reader.get(f"/reports/{report_id}").content == first


@pytest.mark.slow
def test_the_same_two_hours__are_the_same_report_for_everybody(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    other = subscriber_of(reader.client, deps, clock)
    other.subscribed(1)
    report_id = ordered(reader).json()["report_id"]
    clock.pass_(hours=2, microseconds=-1)
    assert ordered(reader).json()["report_id"] == report_id
    assert reason(other.get(f"/reports/{report_id}")) == (404, "not_found")
    assert ordered(other).json()["report_id"] == report_id
    assert reason(other.get(f"/reports/{report_id}")) == (409, "report_not_ready")
    clock.pass_(microseconds=1)
    assert ordered(reader).json()["report_id"] != report_id


def test_a_days_reports__are_counted_once_each(limited: Limit, deps: Deps, clock: Clock) -> None:
    subscriber = subscriber_of(limited(reports_tier_1=1), deps, clock)
    subscriber.subscribed(1)
    assert [ordered(subscriber).status_code for _ in range(2)] == [200, 200]
    refused = ordered(subscriber, lang="ko")
    assert reason(refused) == (429, "rate_limited")
    assert subscriber.account()["reports"] == {"today": 1, "limit": 1}
    clock.pass_(hours=12)
    assert ordered(subscriber, lang="ko").status_code == 200


def test_an_order__may_be_written_in_the_query(reader: Subscriber) -> None:
    answer = reader.client.post("/reports/pair_pdf", params=PAIR, headers=reader.key)
    assert answer.status_code == 200, answer.text


def test_a_pair_that_was_never_looked_at__fails_and_may_be_ordered_again(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    report_id = ordered(reader, symbol="ETH/USDT").json()["report_id"]
    assert work(deps, clock.now)["failed"] == 1
    refused = reader.get(f"/reports/{report_id}")
    assert reason(refused) == (409, "report_failed")
    call = refused.json()["service"]["next"][0]
    assert reader.post(call["path"], call["body"]).json()["state"] == "queued"


def test_a_report_whose_process_died__is_tried_three_times(
    reader: Subscriber, deps: Deps, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_id = ordered(reader).json()["report_id"]

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reports, "print_report", die)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            work(deps, clock.now)
        clock.pass_(minutes=6)
    assert work(deps, clock.now) == {"ready": 0, "failed": 0, "abandoned": 1}
    assert reader.get(f"/reports/{report_id}").json()["detail"] == (
        f"Report {report_id} could not be made: gave_up. Order it again."
    )


def test_a_report_that_ends_its_process__is_not_ordered_for_ever(
    reader: Subscriber, deps: Deps, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        died.append(1)
        raise KeyboardInterrupt

    died = list[int]()
    monkeypatch.setattr(reports, "print_report", die)
    report_id = ordered(reader).json()["report_id"]
    for _ in range(3):
        assert ordered(reader).json()["state"] == "queued"
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                work(deps, clock.now)
            clock.pass_(minutes=6)
        assert work(deps, clock.now)["abandoned"] == 1
    refused = ordered(reader)
    assert reason(refused) == (409, "report_failed")
    assert refused.json()["detail"] == (
        f"Report {report_id} was abandoned 3 times and will not be queued again; order the next "
        "one from 2026-11-21T14:00:00Z on."
    )
    assert refused.json() == reader.get(f"/reports/{report_id}").json()
    assert work(deps, clock.now) == {"ready": 0, "failed": 0, "abandoned": 0}
    assert len(died) == 9
    clock.pass_(hours=2)
    assert ordered(reader).json()["state"] == "queued"


@pytest.mark.slow
def test_a_warning_that_was_over_and_is_not_after_all__is_open_in_the_report_too(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    """The board said so, and the report that it was cleared."""
    with deps.database.write() as session:
        asset_id = session.scalars(select(MarketListingState.asset_id)).one()
        raised = warning_of(asset_id)
        writer.write(session, [raised], [])
    with deps.database.write() as session:
        one = session.scalars(select(MarketWarningStanding)).one()
        standing = StandingWarning(one.seq, one.exchange, one.asset_id, one.type, one.issued_at)
        assert writer.write(session, [], [standing]).cleared == 1
    assert not re.search(OPEN, printed_of(reader, deps, clock, "v1"))
    clock.pass_(hours=2)
    with deps.database.write() as session:
        assert writer.write(session, [raised], []).reopened == 1
    assert [one["cleared_at"] for one in warnings_of(reader)] == [None]
    assert re.search(OPEN, printed_of(reader, deps, clock, "v1"))


@pytest.mark.slow
def test_a_report__says_how_many_warnings_it_leaves_out_of_all(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    """It counted those alone that it had read: 30, whatever there were."""
    with deps.database.write() as session:
        asset_id = session.scalars(select(MarketListingState.asset_id)).one()
        ended = clock.now - timedelta(days=2)
        past = [
            PastWarning(warning_of(asset_id), ended - timedelta(hours=30 * n), ended - timedelta(hours=30 * n - 1))
            for n in range(75, 0, -1)
        ]  # fmt: skip
        writer.import_history(session, past)
    assert "and 55 more" in printed_of(reader, deps, clock, "v1")


def warning_of(asset_id: int) -> NewWarning:
    return NewWarning(
        exchange="binance",
        asset_id=asset_id,
        token="BTC",
        listing_id=None,
        type="depth_collapse",
        severity="warning",
        is_predictive=True,
        evidence={},
        rule_version="warnings_v1",
    )


def test_a_cross_exchange_flag__says_who_declared_what_and_when_wherever_it_is_shown(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    declared = {"exchange": "mexc", "kind": "delist_notice", "at": "2026-11-20T09:30:00Z"}
    with deps.database.write() as session:
        asset_id = session.scalars(select(MarketListingState.asset_id)).one()
        listed = {"asset_id": asset_id, "token": "BTC", "is_simulated": True}
        session.add(MarketAssetState(**listed, updated_at=clock.now))
        flag = replace(warning_of(asset_id), type="cross_exchange_flag", evidence=declared)
        writer.write(session, [flag], [])
    assert [one["evidence"] for one in warnings_of(reader)] == [declared]
    timeline = reader.client.get("/board/token/timeline?token=BTC").json()["rows"]
    assert [one["evidence"] for one in timeline if one["type"]] == [declared]
    ledger = reader.client.get("/board/warnings/ledger").text.splitlines()
    assert json.loads(ledger[1])["body"]["evidence"] == declared
    reader.post("/feeds/subscribe", {"feed_key": "warnings"})
    fed = reader.get("/feeds/data/warnings").json()["rows"]
    assert [one["data"]["evidence"] for one in fed] == [declared]
    note = reader.client.get("/kg/BTC.md").text
    assert ", warning: MX (mexc) declared `delist_notice` 2026-11-20T09:30:00Z\n" in note
    words = " ".join(printed_of(reader, deps, clock, "v1").split())
    assert "mexc, delisting notice, 2026-11-20 09:30 UTC" in words


def warnings_of(reader: Subscriber) -> list[dict[str, Any]]:
    return list(reader.client.get("/board/warnings?token=BTC&all=1").json()["warnings"])


def printed_of(reader: Subscriber, deps: Deps, clock: Clock, version: str) -> str:
    """The text of the report of these two hours, in English."""
    report_id = ordered(reader, version=version).json()["report_id"]
    work(deps, clock.now)
    return text_of(reader.get(f"/reports/{report_id}").content)
