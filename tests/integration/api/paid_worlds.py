"""Two worlds that differ in nothing but what is sold, and all that may be asked of them.

base   a market of six pairs, a vault with a signal of yesterday and its paper follower, and the callers of `Callers`
ONE    the base, with a live signal, plans, a report, captures ... as `Paid` says, written as the service writes them
OTHER  the same, with other figures in each of them
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from eth_account import Account
from sqlalchemy import update
from starlette.testclient import TestClient

from api.areas.feeds.rules import FEEDS
from api.areas.market import jobs as market
from api.areas.notes import jobs as notes
from api.areas.playbooks.service.shelf import Guide, Shelf, shelf
from api.areas.reports import queries as reports
from api.areas.reports.queries import PrintedReport
from api.areas.reports.rules import ReportFailure
from api.catalogue import catalogue
from api.kernel.limits import Limits
from api.kernel.operation import Deps, Operation
from api.kernel.tokens import token_hash
from api.main import create_app
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database, WriteSession
from core.fund import paper
from core.fund import queries as fund
from core.fund.accounts import FundSetup
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.plan import FollowerAccount
from core.identity.queries import set_operator_key
from core.jobs.tables import JobRun
from core.market import bursts
from core.market.rules.research import BurstSample, BurstSummary, BurstTrigger
from core.market.scan_tables import MarketAssetGapHour, MarketOnchain, MarketSpread
from core.market.tables import MarketListingState
from core.money import UsdcE6
from core.subscriptions.tables import Subscription
from core.times import instant_text
from tests.integration.api.conftest import (
    BASE_URL,
    KEY,
    Clock,
    FewAnswersChain,
    bearer,
    connect,
    deps_of,
    login,
    set_apart,
)
from tests.integration.api.fund.conftest import BTC, USD, KnownAccounts, Office
from tests.integration.api.in_process import AppClient
from tests.integration.api.tools.conftest import message, send
from tests.integration.scenes import partitioned
from tests.market_rows import MarketIds, add_market, add_rollups

LINK: Final = "binance_link_usdt"
PAST, LIVE, VAULT, REPORT = 1, 2, 1, 1  # ids
PAGE: Final = "/playbooks/size/limits.md"
OPERATOR: Final = {KEY: "op_local_test"}
FOLLOWER: Final = "0x" + "fa" * 20  # of who pays
LEVERAGES: Final = ("1.00", "1.50", "1.51", "5.00")
HELD: Final[tuple[Mapping[str, int], ...]] = (
    {},
    {BTC: 250 * USD},
    {LINK: -375 * USD},
    {BTC: 251 * USD, LINK: 1},
    {BTC: -(10**12), LINK: 10**12},
)
ACCOUNTS: Final = {f"0x{number:040x}": held for number, held in enumerate(HELD, 1)}


@dataclass(frozen=True)
class Paid:
    """What is sold, of one world."""

    market: str
    weight: str
    leverage: str
    follower: Mapping[str, int]  # what who pays holds
    pdf: bytes | None  # None: it could not be made
    is_busy: bool  # more spreads, captures, figures of chains; a longer page
    paper_ms: int  # what the paper follower's run took


ONE: Final = Paid(BTC, "0.2500", "1.00", {}, b"%PDF one", False, 6)
OTHER: Final = Paid(LINK, "-0.2500", "1.51", {LINK: -377_500_000}, None, True, 9)


@dataclass(frozen=True)
class Callers:
    """Headers of each. `free`: an agent with no credit, no tier and no target; `tier_1`: one that has a
    tier and bought nothing else; `payer` has Tier 2, credits and targets. `follower` mirrors the signal
    in each world.
    """

    free: dict[str, str]
    tier_1: dict[str, str]
    payer: dict[str, str]
    follower: dict[str, str]
    owner: dict[str, str]
    bearer: dict[str, str]
    ids: MarketIds

    @property
    def who_pay_nothing(self) -> dict[str, dict[str, str]]:
        return {
            "nobody": {},
            "an agent": self.free,
            "an agent with Tier 1": self.tier_1,
            "an owner": self.owner,
            "connect's bearer": self.bearer,
        }


@dataclass
class World:
    deps: Deps
    client: TestClient
    clock: Clock
    callers: Callers
    paid: Paid

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        return self.client.post(path, json=dict(body), headers=dict(headers))


def world_on(database: Database, callers: Callers, paid: Paid) -> World:
    """The base with what is sold in it, an hour after the signal."""
    clock = Clock()
    accounts = KnownAccounts(
        {one: FollowerAccount(1_000 * USD, held) for one, held in ACCOUNTS.items()}
        | {FOLLOWER: FollowerAccount(1_000 * USD, paid.follower)}
    )
    deps = _deps(database, clock, accounts)
    world = World(deps, _client(deps), clock, callers, paid)
    _sell(world)
    clock.pass_(hours=1)
    with database.write() as session:
        session.execute(update(MarketListingState).values(sampled_at=clock.now))
        paper.follow(session, VAULT, clock.now)
    _run_jobs(database, clock.now)
    return world


def _run_jobs(database: Database, now: datetime) -> None:
    """Those that make what is free of what there is: figures of the whole, cards, notes in a zip."""
    place: Any = SimpleNamespace(database=database)
    jobs = {job.name: job for job in (*market.JOBS, *notes.JOBS)}
    for name in ("coins", "wci", "summary", "shadow", "insights", "notes"):
        jobs[name].run(place, now)


def shelf_of(paid: Paid) -> Shelf:
    """The guides; the pages that are sold have other texts in the other world."""

    def page(guide: Guide) -> Guide:
        return replace(guide, text=guide.text * 2) if paid.is_busy else guide

    books = shelf().playbooks.items()
    return Shelf(
        {
            name: replace(book, pages={path: page(one) for path, one in book.pages.items()})
            for name, book in books
        }
    )


# The base


def base(database: Database) -> Callers:
    clock = Clock()
    partitioned(database, clock.now)
    with database.write() as session:
        ids = add_market(session, clock.now)
        add_rollups(session, [ids.listings[LINK]], 2, clock.now)
        _add_vault(session, clock)
    deps = _deps(database, clock, KnownAccounts())
    with database.write() as session:
        set_operator_key(session, token_hash(deps.pepper, OPERATOR[KEY]), clock.now)
    client = _client(deps)
    clock.pass_(hours=-30)
    assert Office(client, OPERATOR).publish(VAULT, "0.1000", BTC) == PAST
    with database.write() as session:
        paper.follow(session, VAULT, clock.now)
    clock.pass_(hours=30)
    return _callers(deps, client, clock, ids)


def _add_vault(session: WriteSession, clock: Clock) -> None:
    vault_id = fund.add_vault(
        session, "Two coins", FundKind.PERP, is_simulated=True, maker_id=None, now=clock.now
    )
    assert vault_id == VAULT
    least = UsdcE6(10 * USD)
    rules = FrozenRules(
        vault_id=vault_id,
        version=1,
        kind=FundKind.PERP,
        mandate="Two coins, long and short.",
        universe=(UniverseMarket(BTC, "always", least), UniverseMarket(LINK, "always", least)),
        most_leverage_e2=500,
    )
    fund.freeze(session, rules, None, clock.now)


def _callers(deps: Deps, client: TestClient, clock: Clock, ids: MarketIds) -> Callers:
    agents = [connect(client, agent_name=name) for name in ("free", "tier_1", "payer", "follower")]
    set_apart(deps.database, *agents)
    free, tier_1, payer, follower = agents
    until = clock.now + timedelta(days=30)
    with deps.database.write() as session:
        for made in (free, tier_1):
            credit_ledger.spend(session, made["user_id"], 10, "gone", {}, clock.now)
        for made in (payer, follower):
            credit_ledger.earn(session, made["user_id"], 1_000, "test", {}, clock.now)
        for made, tier_2_until in ((tier_1, None), (payer, until)):
            session.add(
                Subscription(
                    account_id=made["user_id"], tier_2_until=tier_2_until, until=until, purchases=1
                )
            )
    return Callers(
        free={KEY: free["api_key"]},
        tier_1={KEY: tier_1["api_key"]},
        payer={KEY: payer["api_key"]},
        follower={KEY: follower["api_key"]},
        owner=login(client, Account.from_key("0x" + "22" * 32)),
        bearer=bearer(free["bearer_token"]),
        ids=ids,
    )


def _deps(database: Database, clock: Clock, accounts: KnownAccounts) -> Deps:
    chain = FewAnswersChain(mined_at=int(clock.now.timestamp()))
    limits = Limits(
        daily_ceiling=10**6,
        daily_ceiling_plus=10**6,
        notes_per_address_per_minute=10**6,
        free_reads_per_day=0,
    )
    return replace(deps_of(database, clock, chain), limits=limits).with_part(
        FundSetup, FundSetup(accounts)
    )


def _client(deps: Deps) -> TestClient:
    return AppClient(create_app(deps), base_url=BASE_URL, client=("203.0.113.9", 5000))


# What is sold


def _sell(world: World) -> None:
    paid, payer = world.paid, world.callers.payer
    live = Office(world.client, OPERATOR).publish(VAULT, paid.weight, paid.market, paid.leverage)
    assert live == LIVE
    _mirror(world)
    for symbol in ("BTC/USDT", "LINK/USDT"):
        pair = {"exchange": "binance", "symbol": symbol}
        added = world.post("/agent/targets/add", pair | {"microburst_hf_captures": 3}, payer)
        ordered = world.post("/reports/pair_pdf", pair, payer)
        assert (added.status_code, ordered.status_code) == (200, 200)
    assert world.post("/feeds/subscribe", {"feed_key": "arb3"}, payer).status_code == 200
    world.clock.pass_(minutes=1)
    with world.deps.database.write() as session:
        paper.follow(session, VAULT, world.clock.now)
        _print(session, paid, world.clock.now)
        session.add(_run_of_the_paper(paid, world.clock.now))
        # of which asset they are is sold; what all of them come to is free
        hour, asset = world.clock.now.replace(minute=0), "BTC" if paid.is_busy else "LINK"
        of = world.callers.ids.assets[asset]
        session.add(MarketAssetGapHour(asset_id=of, hour=hour, gaps=9, actionable=8))
        if paid.is_busy:
            _add_figures(session, world.callers.ids, world.clock.now)


def _mirror(world: World) -> None:
    """Another follower plans the signal, which it pays with that, and reports what it traded."""
    of, headers = catalogue().by_key, world.callers.follower
    assert consent_of(world, FOLLOWER, "5.00").over_http(world, headers).status_code == 200
    account = {"id": LIVE, "account_address": FOLLOWER}
    assert Asked(of["fund.plan"], account).over_http(world, headers).json()["charged"] is True
    traded = {"side": "buy", "qty": "1", "price": "90000" if world.paid.market == BTC else "20"}
    traded["filled_at"] = instant_text(world.clock.now)
    fill = Asked(of["fund.report_fill"], account | traded).over_http(world, headers)
    assert fill.status_code == 201


def _print(session: WriteSession, paid: Paid, now: datetime) -> None:
    if paid.pdf is None:
        reports.keep_failed(session, REPORT, ReportFailure.NO_DATA, now)
        return
    printed = PrintedReport(
        pdf=paid.pdf,
        sha256=hashlib.sha256(paid.pdf).digest(),
        grade="A",
        score=3,
        probability=0.03,
        coverage=0.9,
        is_simulated=True,
    )
    reports.keep_printed(session, REPORT, printed, now)


def _run_of_the_paper(paid: Paid, now: datetime) -> JobRun:
    """What the keeper writes of a run: a trade takes longer than none."""
    return JobRun(
        name="fund_paper",
        every_s=60,
        started_at=now,
        ended_at=now + timedelta(milliseconds=paid.paper_ms),
        outcome="ok",
        did={"vaults": 1, "trades": paid.paper_ms, "marks": 1, "left": 0},
        holder="keeper",
    )


def _add_figures(session: WriteSession, ids: MarketIds, now: datetime) -> None:
    """Opportunities over three venues, a capture, what pro notes and research alone have."""
    btc = ids.listings[BTC]
    session.execute(update(MarketSpread).values(venues=4, profit_usd=99.5, is_actionable=False))
    session.add(
        MarketSpread(
            asset_id=ids.assets["LINK"],
            token="LINK",
            venues=3,
            dispersion=0.01,
            size_usd=1_000.0,
            profit_usd=5.0,
            legs=[],
            is_actionable=True,
            observed_at=now,
        )
    )
    samples = [BurstSample(now + timedelta(seconds=one), 90_000.0, 40.0, 1e5) for one in range(5)]
    summary = BurstSummary(BurstTrigger.MOVE, now, 75.0, 40.0, 1e5, 3.0, len(samples))
    bursts.write(session, btc, summary, samples)
    session.add(
        MarketOnchain(
            asset_id=ids.assets["BTC"],
            chain="eip155:1",
            day=now.date(),
            supply=21e6,
            holders=5,
            top10_share=0.5,
            transfers_24h=7,
            at=now,
        )
    )


# What is asked


@dataclass(frozen=True)
class Asked:
    """One call: of the route, with these fields."""

    operation: Operation
    fields: Mapping[str, Any]

    @property
    def names(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.operation.key}({said})"

    def over_http(self, world: World, headers: Mapping[str, str], method: str = "") -> Any:
        path, rest = self.operation.path, dict(self.fields)
        for name in re.findall(r"{(\w+)}", path):
            path = path.replace(f"{{{name}}}", str(rest.pop(name)))
        is_read = self.operation.method == "GET"
        return world.client.request(
            method or self.operation.method,
            path,
            params=rest if is_read else None,
            json=None if is_read else rest,
            headers={**headers, "X-Request-Id": "same"},
        )

    def as_a_tool(self, world: World, headers: Mapping[str, str]) -> Any:
        tool = self.operation.tool
        assert tool is not None
        given = {
            tool.id_argument if name == "id" else name: one for name, one in self.fields.items()
        }
        call = message("tools/call", name=tool.name, arguments=given)
        return send(world.client, call, {**headers, "X-Request-Id": "same"})


FIELDS: Final[Mapping[str, Any]] = {
    "id": 1,
    "ids": "1000",
    "agent_id": 1000,
    "account_ref": "0x" + "ab" * 32,
    "amount_usdc": "1",
    "atom_id": "size",
    "base": "BTC",
    "dims": "gap_cause",
    "exchange": "binance",
    "symbol": "BTC_USDT",
    "token": "BTC",
    "token_id": BTC,
    "usd": "10",
    "pb": "size",
    "path": "limits.md",
    "report_id": REPORT,
}
"""What a call is asked with that needs it."""

PAIRED: Final = ({"symbol": "BTC/USDT"}, {"symbol": "LINK/USDT"})
MORE: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "board.rows": ({}, {"q": "LINK"}, {"limit": 1, "offset": 1}),
    "board.timeline": ({"token": "BTC"}, {"token": "LINK"}),
    "feeds.data": tuple({"feed_key": key} for key in FEEDS),
    "fund.signal": tuple({"signal_id": seq} for seq in (PAST, LIVE, LIVE + 1)),
    "fund.signals": ({}, {"live": True}, {"limit": 1}),
    "fund.vault": ({}, {"id": 2}),
    "notes.read": ({}, {"token": "LINK"}, {"token": "NONE"}),
    "playbooks.read": ({}, {"path": "none.md"}),
    "reports.download": ({}, {"report_id": 9}),
    "reports.list": PAIRED,
    "research.pair": PAIRED,
    "research.read": ({}, {"symbol": "LINK_USDT"}),
    "tokens.price": ({}, {"token_id": LINK}),
    "tokens.price_stats": ({}, {"token_id": LINK}),
    "tokens.read": ({}, {"token_id": LINK}),
    "tokens.search": ({"q": "BTC"}, {"q": "LINK"}),
}
"""With what else some are asked: what is sold is behind one of them."""


def reads() -> Iterator[Asked]:
    """Every GET of the catalogue."""
    for operation in catalogue().operations:
        if operation.method == "GET":
            for fields in MORE.get(operation.key, ({},)):
                needed = {
                    name: FIELDS[name]
                    for name, field in operation.command.model_fields.items()
                    if field.is_required() and name not in fields
                }
                yield Asked(operation, needed | dict(fields))


def consent_of(world: World, address: str, leverage: str) -> Asked:
    rules_hash = world.client.get(f"/fund/vaults/{VAULT}").json()["rules_hash"]
    terms = {"account_address": address, "max_order_usd": "500", "max_leverage": leverage}
    consent = catalogue().by_key["fund.consent"]
    return Asked(consent, {"id": VAULT, "rules_hash": rules_hash, **terms})


def writes(world: World) -> Iterator[Asked]:
    """Every other call that sells, or whose refusal may tell what is sold; as an agent asks that would
    know it. Its consents and accounts are any that it likes.
    """
    of = catalogue().by_key
    pair = {"exchange": "binance", "symbol": "BTC/USDT"}
    yield Asked(of["feeds.subscribe"], {"feed_key": "arb3"})
    yield Asked(of["targets.add"], pair)
    yield Asked(of["targets.add"], pair | {"microburst_hf_captures": 1})
    yield Asked(of["reports.order"], pair)
    for address, leverage in product(ACCOUNTS, LEVERAGES):
        yield consent_of(world, address, leverage)
        for seq in (PAST, LIVE):
            yield Asked(of["fund.plan"], {"id": seq, "account_address": address})
    fill = {"account_address": address, "side": "buy", "qty": "1"}
    fill |= {"filled_at": instant_text(world.clock.now)}
    for price in ("20", "90000", "1"):
        yield Asked(of["fund.report_fill"], {"id": LIVE, "price": price, **fill})
