"""Every refusal of the market's routes says which field, what to write and what to call next: the
catalogue is walked, so that a new route, parameter or reason is held to it by itself.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from api.areas.board.schemas import MOST_QUERY
from api.areas.feeds.rules import FEEDS
from api.areas.reports import jobs as reports
from api.areas.reports.rules import MOST_ATTEMPTS, MOST_GIVEN_UP, ReportFailure, ReportState
from api.areas.reports.tables import StoredReport
from api.areas.safety.queries import open_case
from api.areas.safety.tables import ViolationCase
from api.catalogue import catalogue
from api.kernel.operation import Deps, Operation
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from tests.each import each
from tests.integration.api.conftest import Clock, Limit
from tests.integration.api.subscriptions.conftest import Subscriber, subscriber_of
from tests.market_rows import MarketIds

AREAS: Final = (
    *("board", "tokens", "stats", "research", "feeds", "targets", "reports", "subscriptions"),
    "shadow",
)
OPERATIONS: Final = {one.key: one for one in catalogue().operations if one.area in AREAS}
GOOD: Final[Mapping[str, Any]] = {
    "exchange": "binance", "symbol": "BTC/USDT", "q": "BTC", "token": "BTC",
    "token_id": "binance_btc_usdt", "feed_key": "board", "report_id": 1, "tier": 1, "months": 1,
}  # fmt: skip
LONG: Final = "x" * 10_000
TEXTS: Final = {
    "NUL": "BT\0C", "10 kB": LONG, "10 kB of digits": "9" * 10_000, "empty": "", "space": " ",
    "another script": "비트코인", "markup": "<b>BTC</b>", "wildcards": "%_%",
    "quotes": "'; drop table listing_state; --", "a line break": "BTC\nUSDT",
}  # fmt: skip
NUMBERS: Final = ("", "x", "1.5", "-1", "15e-1", "9" * 30, "0x10", "NaN", "١")  # noqa: RUF001
PAGE, DAYS, ANY_ID = (1, 200), (1, 90), (1, 2**53 - 1)
BOUNDS: Final = {
    ("board.rows", "limit"): (1, 1_000),
    ("board.rows", "offset"): (0, 10_000),
    ("board.warnings", "limit"): PAGE,
    ("board.warnings", "stats_version"): (1, 1_000_000),
    ("board.ledger", "after"): (0, 2**53 - 1),
    ("board.timeline", "limit"): PAGE,
    ("feeds.data", "limit"): (1, 500),
    ("reports.list", "limit"): PAGE,
    ("reports.download", "report_id"): ANY_ID,
    ("research.read", "days"): DAYS,
    ("research.pair", "days"): DAYS,
    ("shadow.attribution", "min_n"): (1, 1_000_000),
    ("shadow.insights", "days"): DAYS,
    ("stats.watchlist", "percent"): (1, 50),
    ("stats.arbitrage", "limit"): PAGE,
    ("stats.arb_reel", "limit"): PAGE,
    ("stats.arbitrage_pro", "limit"): PAGE,
    ("subscriptions.preview", "tier"): (1, 2),
    ("subscriptions.preview", "months"): (1, 12),
    ("subscriptions.subscribe", "tier"): (1, 2),
    ("subscriptions.subscribe", "months"): (1, 12),
    ("subscriptions.subscribe", "max_credits"): (0, 2**53 - 1),
    ("targets.add", "microburst_hf_captures"): (0, 100),
    ("tokens.search", "limit"): (1, 100),
    ("tokens.search", "offset"): (0, 10_000),
    ("tokens.price_stats", "days"): DAYS,
}
FINDS_NONE: Final = {("board.rows", "q"), ("tokens.search", "q")}  # any text is a question there


@dataclass
class Caller:
    """Tier 2, with every feed and one target."""

    client: TestClient
    key: dict[str, str]

    def call(self, operation: Operation, **changed: Any) -> Any:
        """The operation with good fields but for these; a path's values are written as they are."""
        fields = {**_good(operation), **changed}
        path = operation.path
        for name in _in_path(operation):
            path = path.replace(f"{{{name}}}", quote(str(fields.pop(name)), safe=""))
        headers = self.key if operation.auth.name != "optional" else {}
        if operation.method == "GET":
            return self.client.get(path, params=fields, headers=headers)
        return self.client.request(operation.method, path, json=fields, headers=headers)


@pytest.fixture
def subscriber(client: TestClient, deps: Deps, clock: Clock, market: MarketIds) -> Subscriber:
    return subscriber_of(client, deps, clock)


@pytest.fixture
def caller(subscriber: Subscriber) -> Caller:
    subscriber.subscribed(2)
    for key in FEEDS:
        assert subscriber.post("/feeds/subscribe", {"feed_key": key}).status_code == 200
    pair = {"exchange": "binance", "symbol": "BTC/USDT"}
    assert subscriber.post("/agent/targets/add", pair).status_code == 200
    return Caller(subscriber.client, subscriber.key)


def _in_path(operation: Operation) -> list[str]:
    return re.findall(r"\{(\w+)\}", operation.path)


def _good(operation: Operation) -> dict[str, Any]:
    """The fields that the operation needs."""
    needed = operation.command.model_json_schema().get("required", [])
    found = {name: GOOD[name] for name in needed}
    if "{symbol}" in operation.path:
        found["symbol"] = "BTC_USDT"
    return found


def _kinds(operation: Operation) -> Iterator[tuple[str, str]]:
    """Each field with what it takes: text, number or a word of a list."""
    schema = operation.command.model_json_schema()
    for name, field in schema.get("properties", {}).items():
        ways = [schema["$defs"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
                for one in field.get("anyOf", [field])]  # fmt: skip
        types = {"word" if "enum" in one else one.get("type") for one in ways} - {"null"}
        yield (
            name,
            {"string": "text", "integer": "number", "boolean": "flag"}.get(
                kind := types.pop(), str(kind)
            ),
        )


def _faults(answer: Any, field: str | None, sent: object) -> list[str]:
    """What a refusal lacks. `field`: what is to be named where the input is refused."""
    found = list[str]()
    if answer.status_code not in (400, 402, 403, 404, 409, 429):
        return [f"{sent!r:.40} is {answer.status_code}"]
    body = answer.json()
    detail, block = body["detail"], body["service"]
    about = f"{sent!r:.40}: {detail!r:.120}"
    if answer.status_code == 400 and field is not None and not detail.startswith(f"{field}: "):
        found.append(f"names no field: {about}")
    if not re.search(r"[\w')\]]\.$", detail) or len(detail) > 400:
        found.append(f"no sentence of a rule: {about}")
    if re.search(r"Input should|pydantic|[Vv]alue error|\bNone\b|Traceback", detail):
        found.append(f"words of a library: {about}")
    if LONG[:200] in answer.text or "\0" in answer.text or "\\u0000" in answer.text:
        found.append(f"repeats what was sent: {about}")
    if not block["next"] or not all(one["method"] and one["path"] for one in block["next"]):
        found.append(f"names no next call: {about}")
    if block["who_fixes"] not in ("caller", "agent", "owner", "service"):
        found.append(f"does not say who fixes it: {about}")
    return found


def test_every_field_of_the_market__is_looked_at() -> None:
    kinds = {kind for one in OPERATIONS.values() for _, kind in _kinds(one)}
    assert kinds == {"text", "number", "flag", "word"}
    assert len(OPERATIONS) >= 29


@each("key", sorted(OPERATIONS))
@pytest.mark.slow
def test_a_strange_value__is_refused_by_its_field(caller: Caller, key: str) -> None:
    operation = OPERATIONS[key]
    answer = caller.call(operation, colour="blue")
    faults = _faults(answer, "colour", "blue")
    assert (answer.status_code, faults) == (400, [])
    for field, kind in _kinds(operation):
        for sent in NUMBERS if kind == "number" else TEXTS.values():
            if sent == "" and field in _in_path(operation):
                continue  # another path
            answer = caller.call(operation, **{field: sent})
            assert answer.status_code != 429, "the caller of all these calls has used up its day"
            if answer.status_code == 200 and _is_question(key, field, sent):
                faults += [sent] if answer.json()["rows"] and sent.strip() else []
                continue
            faults += _faults(answer, field, sent)
    assert faults == []


def _is_question(key: str, field: str, sent: str) -> bool:
    return (key, field) in FINDS_NONE and "\0" not in sent and 0 < len(sent) <= MOST_QUERY


def test_a_field_that_comes_twice__is_refused_by_its_name(caller: Caller) -> None:
    faults = []
    for one in OPERATIONS.values():
        if one.method == "GET":
            answer = caller.call(one, limit=[1, 1])
            assert answer.status_code == 400
            faults += _faults(answer, "limit", one.key)
    assert faults == []


def test_every_number_of_the_market__has_bounds_here() -> None:
    numbers = {
        (one.key, field)
        for one in OPERATIONS.values()
        for field, kind in _kinds(one)
        if kind == "number"
    }
    assert set(BOUNDS) == numbers


def test_a_number__is_taken_at_its_bounds_and_refused_by_its_field_beyond(caller: Caller) -> None:
    faults = []
    for (key, field), (lowest, highest) in BOUNDS.items():
        beyond = set()
        for sent in (lowest - 1, highest + 1):
            answer = caller.call(OPERATIONS[key], **{field: sent})
            assert answer.status_code == 400, (key, field, sent, answer.text)
            beyond.add(answer.json()["detail"])
            faults += _faults(answer, field, sent)
        for sent in (lowest, highest):  # refused for another reason at most: there is no such row
            answer = caller.call(OPERATIONS[key], **{field: sent})
            assert not answer.is_error or answer.json()["detail"] not in beyond, (key, field, sent)
    assert faults == []


@each("lang", ["fr", "EN", "ko-KR", "", "en\0"])
def test_an_unknown_language__is_told_the_two_that_there_are(caller: Caller, lang: str) -> None:
    answer = caller.call(OPERATIONS["reports.order"], lang=lang)
    assert _faults(answer, "lang", lang) == []
    assert "\0" in lang or answer.json()["detail"] == "lang: write 'en' or 'ko'."


PAIRS: Final = [
    *("research.read", "research.pair", "targets.add", "targets.remove", "reports.order"),
    "reports.list",
]


@each("key", PAIRS)
def test_an_unknown_pair__is_named_and_leads_to_those_that_there_are(
    caller: Caller, key: str
) -> None:
    operation = OPERATIONS[key]
    symbol = "NOSUCH_USDT" if "{symbol}" in operation.path else "NOSUCH/USDT"
    answer = caller.call(operation, symbol=symbol)
    assert (answer.status_code, _faults(answer, None, symbol)) == (404, [])
    assert answer.json()["detail"] == (
        "symbol: binance lists no NOSUCH/USDT; look the pair up on the board."
    )
    assert answer.json()["service"]["next"][0]["path"] == "/board"


def test_a_body_that_is_no_object__is_refused(caller: Caller) -> None:
    found = []
    for one in OPERATIONS.values():
        if one.method == "GET":
            continue
        for raw in (b"[]", b"{", b'"x"', b"\xff", json.dumps({"x": "y" * 300_000}).encode()):
            answer = caller.client.request(one.method, one.path, content=raw, headers=caller.key)
            assert answer.status_code in (400, 413), answer.text
            found += _faults(answer, None, raw) if answer.status_code == 400 else []
    assert found == []


# The reasons that services refuse with, each provoked


@dataclass
class Scene:
    """A market, an agent with credits and no tier, and what a provocation may move."""

    subscriber: Subscriber
    deps: Deps
    clock: Clock
    limited: Limit

    def call(self, key: str, **changed: Any) -> Any:
        return Caller(self.subscriber.client, self.subscriber.key).call(OPERATIONS[key], **changed)

    def with_tier(self, tier: int) -> "Scene":
        self.subscriber.subscribed(tier)
        return self

    def with_case(self) -> "Scene":
        """A case is open against the agent."""
        with self.deps.database.write() as session:
            ends = self.clock.now + timedelta(days=7)
            case = ViolationCase(
                reference="v_aaaaaaaaaa", agent_id=self.subscriber.user_id, rule="x",
                deadline_at=ends, opened_at=self.clock.now, opened_by=self.subscriber.user_id,
            )  # fmt: skip
            open_case(session, case)
        return self

    def printed(self) -> "Scene":
        place: Any = SimpleNamespace(database=self.deps.database)
        reports.run(place, self.clock.now)
        return self

    def of_limits(self, **limits: int) -> "Scene":
        """The same agent at a service with other limits."""
        client = self.limited(**limits)
        self.subscriber.client = client
        return self

    def without_credits(self) -> "Scene":
        poor = subscriber_of(self.subscriber.client, self.deps, self.clock, 0)
        return Scene(poor, self.deps, self.clock, self.limited)


@pytest.fixture
def scene(subscriber: Subscriber, deps: Deps, clock: Clock, limited: Limit) -> Scene:
    return Scene(subscriber, deps, clock, limited)


def _expired(scene: Scene) -> Any:
    named = scene.subscriber.preview(1)["preview_id"]
    scene.clock.pass_(minutes=6)
    return scene.call("subscriptions.subscribe", preview_id=named)


def _ordered(scene: Scene, **body: Any) -> int:
    return int(scene.call("reports.order", **body).json()["report_id"])


def _failed(scene: Scene) -> Any:
    """A pair that is listed and was never looked at."""
    with scene.deps.database.write() as session:
        pair = Symbol("NEW", "USDT")
        add_listings(session, "binance", [pair], is_simulated=True, now=scene.clock.now)
    report_id = _ordered(scene.with_tier(1), symbol="NEW/USDT")
    return scene.printed().call("reports.download", report_id=report_id)


def _spent(scene: Scene) -> Any:
    """A report whose process died at each of its attempts."""
    tiered = scene.with_tier(1)
    report_id = _ordered(tiered)
    with scene.deps.database.write() as session:
        report = session.get_one(StoredReport, report_id)
        report.state, report.failure = ReportState.FAILED, ReportFailure.GAVE_UP
        report.attempts = MOST_ATTEMPTS * MOST_GIVEN_UP
    return tiered.call("reports.order")


def _full(scene: Scene) -> Any:
    full = scene.with_tier(1).of_limits(targets_tier_1=1)
    full.call("targets.add")
    return full.call("targets.add", symbol="LINK/USDT")


def _used_up(scene: Scene) -> Any:
    used = scene.with_tier(1).of_limits(reports_tier_1=1)
    used.call("reports.order")
    return used.call("reports.order", lang="ko")


PROVOKED: Final[Mapping[tuple[str, str], Callable[[Scene], Any]]] = {
    ("board.timeline", "not_found"): lambda s: s.call("board.timeline", token="NOSUCH"),
    ("tokens.read", "not_found"): lambda s: s.call("tokens.read", token_id="binance_no_usdt"),
    ("tokens.price", "not_found"): lambda s: s.call("tokens.price", token_id="binance_no_usdt"),
    ("tokens.price_stats", "not_found"): lambda s: s.call(
        "tokens.price_stats", token_id="BINANCE_BTC_USDT"
    ),
    ("stats.arbitrage_pro", "tier_required"): lambda s: s.call("stats.arbitrage_pro"),
    ("research.read", "target_required"): lambda s: s.call("research.read"),
    ("research.pair", "target_required"): lambda s: s.call("research.pair"),
    ("research.read", "not_found"): lambda s: s.call("research.read", symbol="NOSUCH_USDT"),
    ("research.pair", "not_found"): lambda s: s.call("research.pair", symbol="NOSUCH/USDT"),
    ("feeds.subscribe", "not_found"): lambda s: s.call("feeds.subscribe", feed_key="nope"),
    ("feeds.subscribe", "tier_required"): lambda s: s.call("feeds.subscribe", feed_key="arb3"),
    ("feeds.data", "tier_required"): lambda s: s.call("feeds.data", feed_key="arb3"),
    ("feeds.data", "feed_not_subscribed"): lambda s: s.call("feeds.data"),
    ("targets.add", "account_locked"): lambda s: s.with_tier(1).with_case().call("targets.add"),
    ("targets.add", "not_found"): lambda s: s.call("targets.add", symbol="NOSUCH/USDT"),
    ("targets.add", "tier_required"): lambda s: s.call("targets.add"),
    ("targets.add", "target_limit"): _full,
    ("targets.remove", "not_found"): lambda s: s.call("targets.remove"),
    ("reports.order", "account_locked"): lambda s: s.with_tier(1).with_case().call("reports.order"),
    ("reports.order", "not_found"): lambda s: s.call("reports.order", symbol="NOSUCH/USDT"),
    ("reports.order", "tier_required"): lambda s: s.call("reports.order"),
    ("reports.order", "rate_limited"): _used_up,
    ("reports.order", "report_failed"): _spent,
    ("reports.list", "not_found"): lambda s: s.with_tier(1).call(
        "reports.list", symbol="NOSUCH/USDT"
    ),
    ("reports.list", "tier_required"): lambda s: s.call("reports.list"),
    ("reports.download", "tier_required"): lambda s: s.call("reports.download"),
    ("reports.download", "report_not_ready"): lambda s: s.with_tier(1).call(
        "reports.download", report_id=_ordered(s)
    ),
    ("reports.download", "report_failed"): _failed,
    ("subscriptions.subscribe", "account_locked"): lambda s: s.with_case().call(
        "subscriptions.subscribe"
    ),
    ("subscriptions.subscribe", "credit_insufficient"): lambda s: s.without_credits().call(
        "subscriptions.subscribe"
    ),
    ("subscriptions.subscribe", "price_changed"): lambda s: s.call(
        "subscriptions.subscribe", max_credits=1
    ),
    ("subscriptions.subscribe", "preview_expired"): _expired,
}


def test_every_reason_that_a_service_declares__is_provoked() -> None:
    declared = {(key, reason) for key, one in OPERATIONS.items() for reason in one.refuses}
    assert declared == set(PROVOKED)


@pytest.mark.parametrize(("key", "reason"), sorted(PROVOKED))
def test_a_refusal__has_a_sentence_and_a_next_call_beyond_the_catalogue(
    scene: Scene, key: str, reason: str
) -> None:
    answer = PROVOKED[key, reason](scene)
    assert answer.json()["service"]["reason"] == reason
    assert _faults(answer, None, key) == []
    assert answer.json()["service"]["next"][0]["path"] != "/agent/catalog"
