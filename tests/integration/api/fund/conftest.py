"""A vault, an operator who publishes, and followers with accounts whose worth tests say."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, update
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database, WriteSession
from core.fund import queries as fund
from core.fund.accounts import FundSetup
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.plan import FollowerAccount
from core.market import parts
from core.market.tables import MarketListingState, MarketRollup
from core.money import UsdcE6
from tests.integration.api.conftest import (
    KEY,
    Clock,
    FewAnswersChain,
    connect,
    deps_of,
)
from tests.integration.scenes import Scenes, partitioned
from tests.market_rows import ListedPair, add_pairs

ADDRESS = "0x1111111111111111111111111111111111111111"
USD = 1_000_000
BTC, ETH, SHARE = "binance_btc_usdt", "binance_eth_usdt", "binance_sol_usdt"


@dataclass
class KnownAccounts:
    """Accounts as a test has them; any other is unknown."""

    known: dict[str, FollowerAccount] = field(default_factory=dict)
    reads: int = 0

    def read(self, address: str) -> FollowerAccount | None:
        self.reads += 1
        return self.known.get(address.lower())


@dataclass
class Follower:
    client: TestClient
    deps: Deps
    clock: Clock
    user_id: int
    key: dict[str, str]

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, params=query, headers=self.key)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        return self.client.post(path, json=body, headers=self.key | headers)

    def credits(self) -> int:
        with self.deps.database.read() as session:
            return credit_ledger.load_balance(session, self.user_id).available

    def consent(self, vault_id: int, **body: Any) -> Any:
        said = self.client.get(f"/fund/vaults/{vault_id}").json()
        return self.post(
            f"/fund/vaults/{vault_id}/mirrors",
            {
                "account_address": ADDRESS,
                "max_order_usd": "500.00",
                "max_leverage": "1.00",
                "rules_hash": said["rules_hash"],
                **body,
            },
        )

    def plan(self, signal_id: int, address: str = ADDRESS) -> Any:
        return self.post(f"/fund/signals/{signal_id}/plan", {"account_address": address})


@dataclass
class Office:
    """What operators do."""

    client: TestClient
    headers: dict[str, str]

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.client.post(path, json=body or {}, headers=self.headers)

    def publish(
        self, vault_id: int, weight: str = "0.2500", market: str = BTC, leverage: str = "1.00"
    ) -> int:
        answer = self.post(
            f"/admin/fund/vaults/{vault_id}/signals",
            {"market": market, "target_weight": weight, "target_leverage": leverage},
        )
        assert answer.status_code == 201, answer.text
        return int(answer.json()["signal_id"])


@pytest.fixture
def origin(template: str, scenes: Scenes) -> str:
    return scenes.play(
        "series of the fund", template, lambda made: partitioned(made, Clock().now)
    ).database


@pytest.fixture
def accounts() -> KnownAccounts:
    return KnownAccounts({ADDRESS: FollowerAccount(1_000 * USD, {})})


@pytest.fixture
def deps(database: Database, clock: Clock, chain: FewAnswersChain, accounts: KnownAccounts) -> Deps:
    return deps_of(database, clock, chain).with_part(FundSetup, FundSetup(accounts))


@pytest.fixture
def office(client: TestClient, operator: dict[str, str]) -> Office:
    return Office(client, operator)


def follower_of(client: TestClient, deps: Deps, clock: Clock, amount: int = 100) -> Follower:
    made = connect(client)
    before = 0
    with deps.database.write() as session:
        before = credit_ledger.load_balance(session, made["user_id"]).available
        if amount > before:
            credit_ledger.earn(session, made["user_id"], amount - before, "test", {}, clock.now)
    return Follower(client, deps, clock, made["user_id"], {KEY: made["api_key"]})


@pytest.fixture
def follower(client: TestClient, deps: Deps, clock: Clock) -> Follower:
    """An agent with 100 credits."""
    return follower_of(client, deps, clock)


def roll_up(session: WriteSession, listing_id: int, now: datetime, rv: float) -> None:
    """The roll-ups of the last day and of nine to come, each with this root of squared returns."""
    begins = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=24)
    parts.ensure(session, parts.ROLLUPS, begins, now + timedelta(days=10))
    rows = [
        {
            "listing_id": listing_id,
            "bucket": begins + number * timedelta(hours=2),
            "expected": 120,
            "n": 120,
            "rejected": 0,
            "gaps": 0,
            "rv": rv,
            "coverage": 1.0,
        }
        for number in range(120)
    ]
    session.execute(insert(MarketRollup), rows)


MEASURED: dict[str, Any] = {
    "min_size_quote": 5.0,
    "in_depth_usd": 123_456.0,
    "in_spread_bps": 4.25,
    "in_volume_24h_usd": 5e7,
    **{f"{side}_05_usd": 50_000.0 for side in ("bid", "ask")},
    **{f"{side}_1_usd": 90_000.0 for side in ("bid", "ask")},
    **{f"{side}_2_usd": 150_000.0 for side in ("bid", "ask")},
}


@pytest.fixture
def markets(deps: Deps, clock: Clock) -> None:
    """BTC of grade B, ETH of grade F, and SOL, which trades in the sessions of XNYS."""
    with deps.database.write() as session:
        pairs = [
            ListedPair("binance", base, "USDT", 91_250.5, 5e7, grade)
            for base, grade in (("BTC", "B"), ("ETH", "F"), ("SOL", "B"))
        ]
        made = add_pairs(session, pairs, clock.now)
        session.execute(update(MarketListingState).values(MEASURED))
        for listing_id in made.listings.values():
            roll_up(session, listing_id, clock.now, rv=0.01)


def vault_with(
    deps: Deps,
    clock: Clock,
    kind: FundKind = FundKind.SPOT,
    most_leverage_e2: int = 100,
    universe: Iterable[UniverseMarket] | None = None,
) -> int:
    with deps.database.write() as session:
        vault_id = fund.add_vault(
            session, "Majors", kind, is_simulated=True, maker_id=None, now=clock.now
        )
        rules = FrozenRules(
            vault_id=vault_id,
            version=1,
            kind=kind,
            mandate="Large coins, weekly.",
            universe=tuple(
                universe
                or (
                    UniverseMarket(BTC, "always", UsdcE6(10 * USD)),
                    UniverseMarket(ETH, "always", UsdcE6(10 * USD)),
                    UniverseMarket(SHARE, "XNYS", UsdcE6(10 * USD)),
                )
            ),
            most_leverage_e2=most_leverage_e2,
        )
        fund.freeze(session, rules, None, clock.now)
    return vault_id


@pytest.fixture
def vault(deps: Deps, clock: Clock, markets: None) -> int:
    """A spot vault of BTC, ETH and SOL."""
    return vault_with(deps, clock)
