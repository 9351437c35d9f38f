"""The operator's orders by HTTP: what is signed elsewhere is relayed once, within the caps."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from sqlalchemy import func, select
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from core.fund import queries as fund
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.signals import NewSignal
from core.money import UsdcE6
from core.perps.hyperliquid_desk import OperatorDesk
from core.perps.rules.operator_orders import OperatorCaps
from core.perps.rules.orders import OrderAnswer
from core.perps.tables import PerpsOperatorOrder
from tests.each import each
from tests.hl_exchange import Exchange, serving
from tests.integration.api.conftest import Clock, FewAnswersChain, deps_of, reason
from tests.perps_desk import TroubledDesk
from tests.unit.core.chain.test_signatures import written_otherwise

ACCOUNT = "0x" + "A1" * 20
WALLET = Account.from_key("0x" + "44" * 32)
STRANGER = Account.from_key("0x" + "55" * 32)
CAPS = OperatorCaps(per_order_usdc_e6=UsdcE6(1_000_000_000), per_day_usdc_e6=UsdcE6(1_500_000_000))
PATH = "/mandate-wallet/order"
MADE_UP = "0x" + "ab" * 16


@dataclass
class Trader:
    """The operator, with the key that signs."""

    client: TestClient
    headers: dict[str, str]
    venue: TroubledDesk
    clock: Clock

    @property
    def exchange(self) -> Exchange:
        return self.venue.exchange

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        return self.client.post(PATH + path, json=body, headers=self.headers | headers)

    def prepare(self, headers: dict[str, str] | None = None, **changed: Any) -> Any:
        body = {
            "sign_mode": "client",
            "coin": "BTC",
            "side": "buy",
            "type": "market",
            "size": "0.01",
        }
        return self.post(
            "",
            {name: value for name, value in (body | changed).items() if value is not None},
            **(headers or {}),
        )

    def prepared(self, **changed: Any) -> dict[str, Any]:
        answer = self.prepare(**changed)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def execute(self, made: dict[str, Any], key: Any = WALLET, how: str | None = None) -> Any:
        signed = key.unsafe_sign_hash(made["sign"]["digest"]).signature.to_0x_hex()
        signed = signed if how is None else written_otherwise(signed)[how]
        return self.post("/execute", {"confirm_id": made["confirm_id"], "signature": signed})

    def record(self, made: dict[str, Any], outcome: str, **more: Any) -> Any:
        return self.post("/record", {"confirm_id": made["confirm_id"], "outcome": outcome, **more})

    def holds(self, **positions: str) -> None:
        self.exchange.holder(ACCOUNT).positions = {
            coin: Decimal(size) for coin, size in positions.items()
        }

    @property
    def held(self) -> dict[str, str]:
        return {coin: str(size) for coin, size in self.exchange.holder(ACCOUNT).positions.items()}


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Exchange, str]]:
    exchange = Exchange()
    with serving(exchange) as url:
        yield exchange, url


@pytest.fixture
def exchange(served: tuple[Exchange, str], clock: Clock) -> Exchange:
    exchange, _ = served
    exchange.reset()
    exchange.now_ms = lambda: int(clock.now.timestamp() * 1_000)
    exchange.holder(ACCOUNT).agents.add(WALLET.address.lower())
    return exchange


@pytest.fixture
def venue(exchange: Exchange, served: tuple[Exchange, str]) -> TroubledDesk:
    return TroubledDesk(exchange, served[1])


@pytest.fixture
def desk(venue: TroubledDesk) -> OperatorDesk:
    return OperatorDesk(venue=venue, account=ACCOUNT, caps=CAPS, allowance_bps=100)


@pytest.fixture
def deps(database: Database, clock: Clock, chain: FewAnswersChain, desk: OperatorDesk) -> Deps:
    return deps_of(database, clock, chain).with_part(OperatorDesk, desk)


@pytest.fixture
def trader(
    client: TestClient, operator: dict[str, str], venue: TroubledDesk, clock: Clock
) -> Trader:
    return Trader(client, operator, venue, clock)


def rows(deps: Deps) -> int:
    with deps.database.read() as session:
        return session.scalar(select(func.count()).select_from(PerpsOperatorOrder)) or 0


def states(deps: Deps) -> list[str]:
    with deps.database.read() as session:
        query = select(PerpsOperatorOrder.state).order_by(PerpsOperatorOrder.id)
        return list(session.scalars(query))


# Who


def test_without_an_account_at_the_venue__the_routes_are_off(trader: Trader, deps: Deps) -> None:
    app = create_app(deps.with_part(OperatorDesk, None))
    client = TestClient(app, base_url=str(trader.client.base_url))
    off = replace(trader, client=client).prepare()
    assert reason(off) == (404, "tw_feature_disabled")


# Prepare


def test_a_prepared_order__is_a_row_and_nothing_is_sent(trader: Trader, deps: Deps) -> None:
    made = trader.prepared()
    assert (made["status"], made["limit_px"], made["largest_fill_usdc"], made["mid"]) == (
        "prepared", "60600", "606.000000", "60000",
    )  # fmt: skip
    assert made["left_today_usdc"] == "894.000000"
    assert (states(deps), trader.exchange.orders) == (["prepared"], [])


@each(
    ("changed", "refused", "names"),
    [
        ({"type": "twap"}, (400, "order_type_not_live"), "type"),
        ({"type": "anything"}, (400, "invalid_parameter"), "type"),
        ({"sign_mode": "server"}, (400, "invalid_parameter"), "sign_mode"),
        ({"coin": "NOPE"}, (400, "invalid_parameter"), "coin"),
        ({"size": "0.000001"}, (400, "invalid_number"), "size"),
        ({"size": "0"}, (400, "invalid_number"), "size"),
        ({"size": "0.0001"}, (400, "invalid_number"), "size"),
        ({"type": "limit"}, (400, "invalid_parameter"), "limit_px"),
        ({"limit_px": "60000"}, (400, "invalid_parameter"), "limit_px"),
        ({"type": "limit", "limit_px": "60000.5"}, (400, "invalid_number"), "limit_px"),
        ({"size": "0.02"}, (409, "over_order_cap"), "size"),
        ({"reduce_only": True}, (409, "position_not_reduced"), "reduce_only"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_breaks_a_rule__is_refused_and_not_written(
    trader: Trader, deps: Deps, changed: dict[str, Any], refused: tuple[int, str], names: str
) -> None:
    answer = trader.prepare(**changed)
    assert reason(answer) == refused
    assert answer.json()["detail"].startswith(names)
    assert rows(deps) == 0


def test_the_largest_order_that_the_cap_takes__is_prepared(trader: Trader) -> None:
    at_cap = trader.prepared(type="limit", limit_px="50000", size="0.02")
    assert at_cap["largest_fill_usdc"] == "1000.000000"
    over = trader.prepare(type="limit", limit_px="50001", size="0.02")
    assert reason(over) == (409, "over_order_cap")
    assert over.json()["service"]["remaining"] == "1000.000000"


def test_the_days_cap__counts_prepared_orders_until_they_never_arrived(trader: Trader) -> None:
    made = trader.prepared(type="limit", limit_px="50000", size="0.02")
    over = trader.prepare().json()["service"]
    assert (over["reason"], over["remaining"]) == ("over_order_cap", "500.000000")
    fix = over["next"][0]
    assert (fix["path"], fix["body"]["confirm_id"]) == (f"{PATH}/record", made["confirm_id"])
    trader.clock.pass_(seconds=90)
    assert trader.post("/record", fix["body"]).json()["status"] == "never_arrived"
    assert trader.prepare().status_code == 201


def test_reduce_only__is_checked_against_the_position_and_ignores_caps(trader: Trader) -> None:
    trader.holds(BTC="0.5")
    for size, status in (("0.5", 201), ("0.50001", 409)):
        assert trader.prepare(side="sell", size=size, reduce_only=True).status_code == status


def test_a_position_that_can_t_be_read__is_no_reduction(trader: Trader, deps: Deps) -> None:
    trader.holds(BTC="0.5")
    trader.venue.down.add("positions")
    answer = trader.prepare(side="sell", reduce_only=True)
    assert reason(answer) == (503, "temporarily_unavailable")
    assert rows(deps) == 0


# Execute


def test_a_signed_order__is_filled_once_however_often_it_is_executed(trader: Trader) -> None:
    made = trader.prepared()
    first, again = trader.execute(made), trader.execute(made)
    assert first.status_code == 200, first.text
    assert first.json() == again.json()
    assert [first.json()[name] for name in ("status", "avg_px", "filled_size")] == [
        "accepted", "60000", "0.01",
    ]  # fmt: skip
    assert (trader.held, trader.venue.relayed) == ({"BTC": "0.01"}, 1)


def test_an_order__signed_in_another_form__is_filled(trader: Trader) -> None:
    """The venue takes v 27 and 28."""
    answer = trader.execute(trader.prepared(), how="64 bytes")
    assert (answer.status_code, answer.json()["status"]) == (200, "accepted"), answer.text
    assert (trader.held, trader.venue.relayed) == ({"BTC": "0.01"}, 1)


def test_a_lost_answer__is_asked_for_and_not_sent_again(trader: Trader) -> None:
    made = trader.prepared()
    trader.venue.loses_answers = True
    assert trader.execute(made).json()["status"] == "unknown"
    assert trader.execute(made).json()["status"] == "accepted"
    assert (trader.held, trader.venue.relayed) == ({"BTC": "0.01"}, 1)


def test_a_venue_that_is_down__leaves_the_order_unknown_until_it_takes_it(trader: Trader) -> None:
    made = trader.prepared()
    trader.venue.down.add("relay")
    assert trader.execute(made).json()["status"] == "unknown"
    trader.venue.down.clear()
    assert trader.execute(made).json()["status"] == "accepted"


def test_an_order_after_its_time__is_settled_only_when_it_is_sure(trader: Trader) -> None:
    made = trader.prepared()
    trader.clock.pass_(seconds=60)
    waits = trader.execute(made)
    assert reason(waits) == (409, "order_unsettled")
    assert waits.headers["Retry-After"] == "30"
    trader.clock.pass_(seconds=30)
    assert trader.execute(made).json()["status"] == "never_arrived"
    assert trader.venue.relayed == 0


def test_a_strangers_signature__is_refused_before_it_is_relayed(trader: Trader, deps: Deps) -> None:
    made = trader.prepared()
    assert reason(trader.execute(made, STRANGER)) == (400, "signature_invalid")
    nobodys = trader.post(
        "/execute", {"confirm_id": made["confirm_id"], "signature": "0x" + "00" * 65}
    )
    assert reason(nobodys) == (400, "signature_invalid")
    assert (states(deps), trader.venue.relayed) == (["prepared"], 0)


def test_a_position_that_was_closed_meanwhile__is_not_reduced(trader: Trader) -> None:
    trader.holds(BTC="0.5")
    made = trader.prepared(side="sell", size="0.5", reduce_only=True)
    trader.holds()
    assert reason(trader.execute(made)) == (409, "position_not_reduced")
    assert trader.venue.relayed == 0


def test_a_sale_that_a_higher_mid_made_too_large__is_refused(trader: Trader) -> None:
    made = trader.prepared(side="sell")
    trader.exchange.mids["BTC"] = "100000.0"
    assert reason(trader.execute(made)) == (409, "over_order_cap")
    trader.exchange.mids["BTC"] = "99000.0"
    assert trader.execute(made).json()["largest_fill_usdc"] == "999.900000"


def test_a_limit_order__rests(trader: Trader) -> None:
    made = trader.prepared(type="limit", limit_px="50000")
    done = trader.execute(made).json()
    assert (done["status"], done["filled_size"], done["avg_px"]) == ("accepted", "0", None)


def sends_itself(trader: Trader, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever signed sends the order, too, right after the venue was first asked for it."""
    find = trader.venue.find

    def asked(owner: str, cloid: str) -> OrderAnswer | None:
        said = find(owner, cloid)
        if not trader.exchange.orders:
            trader.exchange.nonces.add((WALLET.address.lower(), made["nonce"]))
            trader.exchange.take(
                {"a": 0, "b": True, "p": "60600", "s": "0.01", "r": False, "c": cloid,
                 "t": {"limit": {"tif": "Ioc"}}},
                owner.lower(),
            )  # fmt: skip
        return said

    monkeypatch.setattr(trader.venue, "find", asked)


def test_an_order_that_its_signer_sends_at_the_same_time__is_not_rejected(
    trader: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trader.prepared()
    sends_itself(trader, made, monkeypatch)
    done = trader.execute(made).json()
    assert (done["status"], done["filled_size"]) == ("accepted", "0.01")
    assert (trader.held, trader.venue.relayed) == ({"BTC": "0.01"}, 1)


def test_a_rejection_that_cannot_be_looked_up__is_unknown_until_it_can(
    trader: Trader, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trader.prepared()
    sends_itself(trader, made, monkeypatch)
    relay = trader.venue.relay

    def relayed(*args: Any, **named: Any) -> OrderAnswer:
        trader.venue.down.add("find")
        return relay(*args, **named)

    monkeypatch.setattr(trader.venue, "relay", relayed)
    assert trader.execute(made).json()["status"] == "unknown"
    trader.venue.down.clear()
    assert trader.execute(made).json()["status"] == "accepted"
    assert trader.held == {"BTC": "0.01"}


@pytest.mark.parametrize(
    ("path", "body"),
    [("/execute", {"signature": "0x" + "00" * 65}), ("/record", {"outcome": "not_sent"})],
)
def test_an_order_that_was_never_prepared__is_not_found(
    trader: Trader, path: str, body: dict[str, str]
) -> None:
    answer = trader.post(path, {"confirm_id": MADE_UP, **body})
    assert reason(answer) == (404, "not_found")
    assert answer.json()["service"]["next"][0]["path"] == PATH


# Record


def test_an_outcome__is_recorded_once_and_stays(trader: Trader) -> None:
    made = trader.prepared()
    trader.execute(made)
    first, again = trader.record(made, "accepted"), trader.record(made, "accepted")
    assert first.json() == again.json()
    assert first.json()["reported"] == "accepted"
    assert reason(trader.record(made, "rejected")) == (409, "wrong_status")


def test_an_order_that_its_signer_sent__is_recorded_as_the_venue_has_it(trader: Trader) -> None:
    made = trader.prepared()
    trader.venue.loses_answers = True
    trader.execute(made)  # as if another had sent it: no answer reached the service
    recorded = trader.record(made, "accepted").json()
    assert (recorded["status"], recorded["filled_size"]) == ("accepted", "0.01")


def test_an_outcome_that_the_venue_disproves__is_refused_with_the_true_one(trader: Trader) -> None:
    made = trader.prepared()
    trader.execute(made)
    answer = trader.record(made, "not_sent")
    assert reason(answer) == (409, "outcome_disproved")
    fix = answer.json()["service"]["next"][0]
    assert trader.post("/record", fix["body"]).json()["reported"] == "accepted"


def test_not_sent__is_taken_when_the_order_can_no_longer_arrive(trader: Trader) -> None:
    made = trader.prepared()
    trader.clock.pass_(seconds=89)
    assert reason(trader.record(made, "not_sent")) == (409, "order_unsettled")
    trader.clock.pass_(seconds=1)
    assert trader.record(made, "not_sent").json()["status"] == "never_arrived"


def test_a_signal_that_does_not_exist__is_refused(trader: Trader) -> None:
    made = trader.prepared()
    trader.execute(made)
    answer = trader.record(made, "accepted", signal_id=7)
    assert reason(answer) == (404, "not_found")
    assert trader.record(made, "accepted").json()["signal_id"] is None


def signal(deps: Deps, clock: Clock, market: str, weight_e4: int) -> int:
    with deps.database.write() as session:
        vault_id = fund.add_vault(
            session, "Majors", FundKind.PERP, is_simulated=True, maker_id=None, now=clock.now
        )
        universe = (UniverseMarket(market, "always", UsdcE6(10_000_000)),)
        rules = FrozenRules(vault_id, 1, FundKind.PERP, "Large coins.", universe, 300)
        fund.freeze(session, rules, None, clock.now)
        new = NewSignal(
            vault_id=vault_id,
            rules_version=1,
            market=market,
            weight_e4=weight_e4,
            leverage_e2=100,
            mid=None,
        )
        return signal_ledger.publish(session, new, None, clock.now)


def test_the_signal_of_the_orders_coin_and_side__is_recorded(trader: Trader, deps: Deps) -> None:
    made = trader.prepared()
    trader.execute(made)
    seq = signal(deps, trader.clock, "binance_btc_usdt", 2_500)
    assert trader.record(made, "accepted", signal_id=seq).json()["signal_id"] == seq


def test_a_signal_of_another_coin__is_refused_and_nothing_is_recorded(
    trader: Trader, deps: Deps
) -> None:
    made = trader.prepared()
    trader.execute(made)
    seq = signal(deps, trader.clock, "binance_eth_usdt", 2_500)
    answer = trader.record(made, "accepted", signal_id=seq)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("signal_id: the signal ")
    assert trader.record(made, "accepted").json()["signal_id"] is None


def test_a_wallet__signs_the_typed_data(trader: Trader) -> None:
    made = trader.prepared()
    signable = encode_typed_data(full_message=made["sign"]["typed_data"])
    signature = WALLET.sign_message(signable).signature.to_0x_hex()
    done = trader.post("/execute", {"confirm_id": made["confirm_id"], "signature": signature})
    assert done.json()["status"] == "accepted", done.text
    assert trader.held == {"BTC": "0.01"}
