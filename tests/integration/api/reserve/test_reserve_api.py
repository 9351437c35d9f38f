"""The reserve token through the API: state, quotes, references, conversions and claims."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from api.main import create_app
from core.chain.errors import RpcUnreachableError
from core.db.engine import Database
from core.reserve import queries
from core.reserve.rules import ReserveEventKind, ReserveFact
from core.sponsored import queries as sponsored
from core.sponsored.kept_gas import KeptReadings, SharedReading
from core.sponsored.prices import EthPrices
from core.times import utc_text
from tests.each import each
from tests.integration.api.conftest import BASE_URL, Clock, connect, reason
from tests.integration.api.in_process import AppClient
from tests.integration.api.reserve.conftest import (
    CHAIN,
    MINED_AT,
    NOBODYS,
    ONE,
    OTHER,
    STABLE,
    TOKEN,
    USDC,
    Chain,
    by,
    hash_of,
    linked,
)

BATCH, SPONSOR = "0x" + "a3" * 20, "0x" + "a4" * 20


def test_config__names_contracts_and_network(client: TestClient) -> None:
    found = client.get("/reserve/config").json()
    assert found["network"] == "eip155:84532"
    assert found["contracts"] == {"reserve_token": TOKEN, "usdc": STABLE, "sponsored_buy": None}
    assert found["sponsor_enabled"] is False
    assert "no contract for sponsored buys" in found["sponsor_reason"]


class SaidOfTreasury(SharedReading[bool]):
    """What USDC says of the treasury; None: no node answers."""

    takes_fees: bool | None = True

    def of(self, ask: Callable[[], bool], now: datetime) -> bool:
        if self.takes_fees is None:
            raise RpcUnreachableError("eth_call", ["connection refused"])
        return self.takes_fees


class Sponsoring:
    """A service with the batch contract, and a keeper's signs as it would write them."""

    def __init__(self, deps: Deps, database: Database, clock: Clock, usd: Decimal | None) -> None:
        self.database, self.clock, self.treasury = database, clock, SaidOfTreasury()
        made = replace(deps, contracts={**deps.contracts, "sponsored_buy": BATCH}).with_part(
            KeptReadings, KeptReadings(takes_fees=self.treasury, eth_price=EthPrices(usd))
        )
        self.client = AppClient(create_app(made), base_url=BASE_URL)

    def sign(self, seconds_ago: float, wei: int = 10**18) -> None:
        with self.database.write() as session:
            at = self.clock.now - timedelta(seconds=seconds_ago)
            sponsored.beat(session, CHAIN, SPONSOR, wei, at)

    def config(self) -> tuple[bool, str | None]:
        found = self.client.get("/reserve/config").json()
        return found["sponsor_enabled"], found["sponsor_reason"]


@pytest.fixture
def sponsoring(deps: Deps, database: Database, clock: Clock, token: Chain) -> Iterator[Sponsoring]:
    token.take(ReserveFact(ReserveEventKind.TREASURY_CHANGED, party=OTHER))
    made = Sponsoring(deps, database, clock, Decimal(3_000))
    yield made
    made.client.close()


def test_config__before_any_keeper_showed_itself__says_so(sponsoring: Sponsoring) -> None:
    is_enabled, why = sponsoring.config()
    assert not is_enabled
    assert why is not None
    assert "no keeper with a sponsor's key has run" in why


@pytest.mark.parametrize(("seconds_ago", "is_enabled"), [(0, True), (59.999, True), (60, False)])
def test_config__sponsors_while_the_keepers_sign_is_fresh(
    sponsoring: Sponsoring, seconds_ago: float, is_enabled: bool
) -> None:
    sponsoring.sign(seconds_ago)
    found, why = sponsoring.config()
    assert found is is_enabled
    assert (why is None) is is_enabled
    if why is not None:
        assert "has sent no heartbeat since" in why


def test_config__of_a_sponsor_without_eth__says_so(sponsoring: Sponsoring) -> None:
    sponsoring.sign(1, wei=0)
    is_enabled, why = sponsoring.config()
    assert not is_enabled
    assert "no ETH" in str(why)
    sponsoring.sign(1)
    assert sponsoring.config() == (True, None)


def test_config__while_no_node_says_of_the_treasury__sponsors(sponsoring: Sponsoring) -> None:
    sponsoring.sign(1)
    sponsoring.treasury.takes_fees = None
    assert sponsoring.config() == (True, None)


def test_config__without_a_price_of_eth__says_so(
    deps: Deps, database: Database, clock: Clock
) -> None:
    made = Sponsoring(deps, database, clock, None)
    made.sign(1)
    is_enabled, why = made.config()
    assert not is_enabled
    assert "the price of ETH" in str(why)
    made.client.close()


def test_state__has_prices_and_no_amount(client: TestClient, token: Chain) -> None:
    found = client.get("/reserve/state").json()
    assert (found["redeem_price"], found["buy_price"]) == ("0.010000", "0.010402")
    assert found["unlocked_price"] == "0.010198"
    assert found["unlocked_at"] == utc_text(MINED_AT + 2 + 86_400)
    assert found["reserve_ratio"] is None  # nobody read the contract's balance yet
    assert found["block"] == 2
    assert "103" not in client.get("/reserve/state").text


def test_state__has_the_ratio_of_the_last_reading(
    client: TestClient, token: Chain, database: Database, clock: Clock
) -> None:
    with database.write() as session:
        queries.save_reading(
            session,
            {
                "chain_id": CHAIN,
                "number": 2,
                "block_hash": hash_of(2),
                "at": MINED_AT,
                "reserve_e6": 103 * USDC,
                "supply": 10_100 * ONE,
                "owed_e6": USDC,
                "usdc_e6": 206 * USDC + USDC,
                "is_reconciled": True,
                "read_at": clock.now,
            },
        )
    found = client.get("/reserve/state").json()
    assert (found["reserve_ratio"], found["ratio_block"]) == ("2.000000", 2)


def test_state__before_all_is_read__is_unknown(client: TestClient) -> None:
    assert reason(client.get("/reserve/state")) == (503, "reserve_unknown")
    assert reason(client.get("/reserve/quote?usd=1")) == (503, "reserve_unknown")


def test_a_quote__is_exact_and_says_what_it_would_redeem_for(
    client: TestClient, token: Chain
) -> None:
    found = client.get("/reserve/quote", params={"usd": "5"}).json()
    tokens = 5 * USDC * 10_100 * ONE * 100 // (103 * USDC * 102)
    assert found["tokens_base"] == str(tokens)
    assert found["tokens"] == f"{tokens // ONE}.{tokens % ONE:018d}"
    share = -(-tokens * 101 * USDC // (10_100 * ONE))  # 2 of the 103 USDC are locked
    worth = tokens * (101 * USDC + share) // (10_100 * ONE + tokens)
    assert found["redeem_usdc"] == f"4.{worth % USDC:06d}"
    assert found["credits"] == worth // 10_000
    unlocked = tokens * 108 * USDC // (10_100 * ONE + tokens)
    assert found["unlocked_usdc"] == f"4.{unlocked % USDC:06d}"
    assert found["unlocked_credits"] == unlocked // 10_000
    assert found["unlocked_at"] == utc_text(MINED_AT + 2 + 86_400)


def test_a_day_after_a_purchase__nothing_is_locked(client: TestClient, token: Chain) -> None:
    token.wait(86_400)
    found = client.get("/reserve/state").json()
    assert (found["redeem_price"], found["unlocked_price"]) == ("0.010198", "0.010198")
    assert found["unlocked_at"] is None


@each("usd", ["0", "-1", "1.0000001", "x", "1e3", "1000000000001", ""])
def test_a_quote__for_what_is_no_amount__is_refused(
    client: TestClient, token: Chain, usd: str
) -> None:
    status, why = reason(client.get("/reserve/quote", params={"usd": usd}))
    assert (status, why) == (400, "invalid_number")


def test_a_reference__is_the_same_each_time_and_known(
    client: TestClient, agent: dict[str, Any]
) -> None:
    refs = {
        client.post("/reserve/me/ref", headers=by(agent)).json()["account_ref"] for _ in range(2)
    }
    assert len(refs) == 1
    (ref,) = refs
    assert client.get(f"/reserve/refs/{ref}").json() == {"account_ref": ref, "is_known": True}
    assert client.get(f"/reserve/refs/{NOBODYS}").json()["is_known"] is False
    other = client.post("/reserve/me/ref", headers=by(connect(client))).json()["account_ref"]
    assert other != ref


@each("ref", ["0x12", "0x" + "00" * 32, "ab" * 32, "0x" + "zz" * 32])
def test_a_reference_of_another_form__names_the_field(
    client: TestClient, agent: dict[str, Any], ref: str
) -> None:
    answer = client.post("/reserve/me/claims", json={"account_ref": ref}, headers=by(agent))
    assert reason(answer) == (400, "invalid_parameter")
    assert "account_ref" in answer.json()["detail"]
    assert "bytes32" in answer.json()["detail"]
    assert "transaction hash" not in answer.json()["detail"]


def test_me__shows_conversions_that_wait_and_then_their_credit(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    mine = linked(client, agent, wallet)
    ref = client.post("/reserve/me/ref", headers=by(agent)).json()["account_ref"]
    token.bought(mine, 10 * USDC, 900 * ONE)
    token.converted(mine, ref, 100 * ONE, 1_015_555)
    (held,) = client.get("/reserve/me", headers=by(agent)).json()["held"]
    assert (held["why"], held["usdc"]) == ("not_safe", "1.015555")
    token.credit()
    found = client.get("/reserve/me", headers=by(agent)).json()
    assert found["held"] == []
    assert [one["credits"] for one in found["credited"]] == [101]
    assert found["carried_usdc"] == "0.005555"
    assert [one["usdc"] for one in found["purchases"]] == ["10.000000"]


def test_a_claim__credits_what_the_linked_wallet_converted(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    mine = linked(client, agent, wallet)
    token.converted(mine, NOBODYS, 100 * ONE, USDC)
    token.credit()
    (held,) = client.get("/reserve/me", headers=by(agent)).json()["held"]
    assert held["why"] == "unregistered_ref"
    body = {"account_ref": NOBODYS}
    answer = client.post("/reserve/me/claims", json=body, headers=by(agent))
    assert (answer.status_code, answer.json()["conversions"]) == (200, 1)
    assert (answer.json()["pending"], answer.json()["pending_until_block"]) == (0, None)
    token.credit()
    balance = client.get("/reserve/me", headers=by(agent)).json()
    assert [one["credits"] for one in balance["credited"]] == [100]
    again = client.post("/reserve/me/claims", json=body, headers=by(agent))
    assert (again.status_code, again.json()["conversions"]) == (200, 0)


@pytest.mark.slow
def test_a_claim__among_more_dust_of_strangers_than_a_page_holds__is_found(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    mine = linked(client, agent, wallet)
    token.converted(mine, NOBODYS, 100 * ONE, USDC)
    for number in range(150):
        token.converted("0x" + f"{number + 1:040x}", NOBODYS, ONE, 10_000)
    for _ in range(4):
        token.credit()
    body = {"account_ref": NOBODYS}
    answer = client.post("/reserve/me/claims", json=body, headers=by(agent))
    assert (answer.status_code, answer.json().get("conversions")) == (200, 1)


def test_a_claim__without_a_linked_wallet__names_the_link(
    client: TestClient, agent: dict[str, Any], token: Chain
) -> None:
    token.converted(OTHER, NOBODYS, 100 * ONE, USDC)
    token.credit()
    answer = client.post("/reserve/me/claims", json={"account_ref": NOBODYS}, headers=by(agent))
    assert reason(answer) == (409, "wallet_not_linked")
    assert "/auth/wallet/link" in answer.json()["detail"]
    first = answer.json()["service"]["next"][0]
    asked = {"wallet_address": to_checksum_address(OTHER), "purpose": "link"}
    assert (first["path"], first["body"]) == ("/auth/wallet/nonce", asked)
    message = client.post(first["path"], json=first["body"])
    assert (message.status_code, "message" in message.json()) == (200, True)


def test_a_claim_before_the_block_is_safe__is_taken_and_settles_when_it_is(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    """The claim was refused until a minute after the conversion, and nothing said when to come back."""
    mine = linked(client, agent, wallet)
    token.converted(mine, NOBODYS, 100 * ONE, USDC)
    body = {"account_ref": NOBODYS}
    answer = client.post("/reserve/me/claims", json=body, headers=by(agent))
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["conversions"], found["usdc"], found["status"]) == (1, "1.000000", "waiting")
    assert (found["pending"], found["pending_until_block"]) == (1, token.height)
    token.credit()
    own = client.get("/reserve/me", headers=by(agent)).json()
    assert [one["credits"] for one in own["credited"]] == [100]
    again = client.post("/reserve/me/claims", json=body, headers=by(agent)).json()
    assert (again["conversions"], again["status"]) == (0, "credited")


def test_a_claim_of_anothers_conversion__is_refused(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    linked(client, agent, wallet)
    token.converted(OTHER, NOBODYS, 100 * ONE, USDC)
    token.credit()
    answer = client.post("/reserve/me/claims", json={"account_ref": NOBODYS}, headers=by(agent))
    assert reason(answer) == (403, "not_your_conversion")


def test_a_claim_that_stands_for_another_account__is_refused(
    client: TestClient,
    agent: dict[str, Any],
    token: Chain,
    wallet: LocalAccount,
    database: Database,
    clock: Clock,
) -> None:
    mine, before = linked(client, agent, wallet), connect(client)
    token.converted(mine, NOBODYS, 100 * ONE, USDC)
    token.credit()
    with database.write() as session:  # while the wallet was that account's
        queries.add_claim(session, NOBODYS, mine, before["user_id"], clock.now)
    answer = client.post("/reserve/me/claims", json={"account_ref": NOBODYS}, headers=by(agent))
    assert reason(answer) == (409, "claimed_by_another")


def test_a_claim_of_a_registered_reference_or_of_nothing__is_refused(
    client: TestClient, agent: dict[str, Any], token: Chain, wallet: LocalAccount
) -> None:
    linked(client, agent, wallet)
    ref = client.post("/reserve/me/ref", headers=by(connect(client))).json()["account_ref"]
    answer = client.post("/reserve/me/claims", json={"account_ref": ref}, headers=by(agent))
    assert reason(answer) == (409, "ref_registered")
    answer = client.post("/reserve/me/claims", json={"account_ref": NOBODYS}, headers=by(agent))
    assert reason(answer) == (409, "nothing_to_claim")


def test_a_claim_of_ones_own_reference__without_a_wallet__says_that_nothing_is_to_be_claimed(
    client: TestClient, agent: dict[str, Any]
) -> None:
    ref = client.post("/reserve/me/ref", headers=by(agent)).json()["account_ref"]
    answer = client.post("/reserve/me/claims", json={"account_ref": ref}, headers=by(agent))
    assert reason(answer) == (409, "ref_registered")
    assert "automatically" in answer.text
