"""What the soak sends and from where, and what it counts as an error."""

import asyncio
import json
from types import SimpleNamespace
from typing import cast

import pytest

from scripts.demo import Story
from tests.bench.soak import AGENTS, VISITORS, profile
from tests.bench.traffic import Call, Caller, Tally, Traffic, get, outcome
from tests.each import each

STORY = cast(
    "Story",
    SimpleNamespace(
        id="1", agent_api=SimpleNamespace(key="svc_key_w"), owner_api=SimpleNamespace(session="o")
    ),
)


def refusal(reason: str) -> bytes:
    return json.dumps({"service": {"reason": reason}}).encode()


@each(
    ("status", "body", "kind"),
    [
        (200, b"", "served"),
        (304, b"", "served"),
        (429, refusal("rate_limited"), "refused"),
        (503, refusal("temporarily_unavailable"), "refused"),
        (503, b'{"detail": "too busy"}', "refused"),
        (500, b'{"detail": "a defect"}', "error"),
        (503, b'{"service": {}}', "error"),
        (500, refusal("internal_error"), "error"),
        (500, b"Internal Server Error", "error"),
        (503, b"no upstream", "error"),
        (404, b"{}", "error"),
        (409, b"[]", "error"),
    ],
)
def test_an_answer__is_served_or_refuses_with_a_reason_or_is_an_error(
    status: int, body: bytes, kind: str
) -> None:
    assert outcome(status, body)[0] == kind


@pytest.mark.parametrize("head", [b"nonsense\r\n\r\n", b"a" * 100_000], ids=["no status", "no end"])
def test_an_answer_that_cannot_be_read__is_an_error(
    monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    async def connected(*_: object, **__: object) -> tuple[asyncio.StreamReader, SimpleNamespace]:
        reader = asyncio.StreamReader()
        reader.feed_data(head)
        return reader, SimpleNamespace(write=lambda _: None, close=lambda: None)

    monkeypatch.setattr(asyncio, "open_connection", connected)
    call = Call("a read", 1, [Caller("127.0.0.2")], lambda _: get("/"))
    traffic = Traffic([1], [call])
    asyncio.run(traffic.run(100, 0.01))
    assert traffic.take().errors == {"an answer that cannot be read (a read)": 1}


def test_percentiles__are_of_what_callers_waited() -> None:
    tally = Tally(latencies_s=[n / 1000 for n in range(1, 101)])
    assert (tally.p(50), tally.p(99), tally.p(100), Tally().p(99)) == (51.0, 100.0, 100.0, 0.0)


def test_a_caller__calls_from_one_address_with_one_credential() -> None:
    calls = profile(STORY, [f"svc_key_{number}" for number in range(AGENTS)])
    sent = {
        (caller.address, tuple(caller.headers.values()))
        for call in calls
        for caller in call.callers
    }
    assert len(sent) == len({address for address, _ in sent}) == 16
    assert len({credential for _, credential in sent if credential}) == 16 - VISITORS


def test_a_call__is_sent_with_the_credential_of_its_caller() -> None:
    for call in profile(STORY, ["svc_key_1", "svc_key_2"]):
        for caller in call.callers:
            text = call.text(caller).decode()
            assert all(f": {value}\r\n" in text for value in caller.headers.values())
