"""What buyers' own tools make of a quote, and what they are told before they ask for one."""

import json
import subprocess
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from eth_account import Account

from api.main import create_app
from core.chain.nodes import Nodes
from core.keeper.gas import NEW_BUYERS, SPONSORS
from core.mandate.chain.reader import VaultReader
from core.sponsored import queries as sponsored
from core.sponsored.rules import BUY_GAS, GasPrice, cost_wei
from core.times import instant_text, next_day
from keeper.requests.round import BEAT
from tests.integration.api.conftest import BASE_URL, reason
from tests.integration.api.in_process import AppClient
from tests.integration.api.sponsored.conftest import (
    SPONSOR_KEY,
    USDC,
    SponsoredStage,
)
from tests.integration.chain_fixtures import CHAIN_ID, ROOT
from tests.node_transport import in_threads

CAST = next((ROOT / "node_modules/@foundry-rs").glob("cast-*/bin/cast"))
SCRIPT = ROOT / "tests/integration/api/sponsored/sign.mjs"
PARTS = ("purchase", "fee")


def by_javascript(library: str, document: dict[str, Any], key: str) -> str:
    asked = json.dumps({"library": library, "document": document, "key": key})
    done = subprocess.run(
        ["node", SCRIPT], input=asked, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


def by_cast(document: dict[str, Any], key: str) -> str:
    asked = [str(CAST), "wallet", "sign", "--data", json.dumps(document), "--private-key", key]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


def config(stage: SponsoredStage) -> dict[str, Any]:
    answer = stage.client.get("/reserve/config")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def offered(stage: SponsoredStage) -> tuple[bool, bool]:
    """(to wallets that paid before, to new ones)."""
    found = config(stage)
    assert found["sponsor_enabled"] is (found["sponsor_reason"] is None)
    return found["sponsor_enabled"], found["sponsor_new_wallets_reason"] is None


@pytest.mark.parametrize("tool", ["viem", "ethers", "cast"])
def test_both_documents__as_they_are__are_signed_by_the_tools_that_buyers_have(
    stage: SponsoredStage, agent: dict[str, str], tool: str
) -> None:
    quote, key = stage.prepared(agent), "0x" + stage.buyer.key.hex().removeprefix("0x")
    made = {
        part: by_cast(quote[part], key) if tool == "cast" else by_javascript(tool, quote[part], key)
        for part in PARTS
    }
    body = {"id": quote["id"], **{f"{part}_signature": made[part] for part in PARTS}}
    assert body == stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202


def test_signatures_the_wrong_way_round__are_told_so(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    turned = {
        "purchase_signature": body["fee_signature"],
        "fee_signature": body["purchase_signature"],
    }
    answer = stage.hand_in(agent, body | turned)
    assert reason(answer) == (400, "signature_invalid")
    assert "it signs the other one of the two" in answer.text


def test_the_zero_address_as_buyer__names_buyer_and_never_the_same_call(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    zero = "0x" + "00" * 20
    body = {"usd": "5.000000", "buyer": zero}
    answer = stage.client.post("/reserve/buy/sponsored/prepare", json=body, headers=agent)
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith("buyer: ")
    assert zero not in json.dumps(answer.json()["service"]["next"])


def test_a_price_that_rose_before_it_is_handed_in__is_told_at_once_and_pledges_nothing(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote, tight = stage.prepared(agent), stage.prepared(agent, max_rise_bps=0)
    assert stage.hand_in(agent, stage.signed(quote)).status_code == 202
    stage.buy_beside(20 * USDC)
    answer = stage.hand_in(agent, stage.signed(tight))
    assert reason(answer) == (409, "quote_expired")
    assert f"at least {tight['min_tokens']} were signed for" in answer.text
    (_, again, _) = answer.json()["service"]["next"]
    assert again["body"]["max_rise_bps"] == 0
    stage.index()
    fresh = stage.client.post(again["path"], json=again["body"], headers=agent).json()
    assert int(fresh["tokens_base"]) < int(tight["min_tokens_base"])
    assert stage.hand_in(agent, stage.signed(fresh)).status_code == 202


def test_a_purchase_that_was_submitted_alone__is_told_as_such_and_not_as_a_price_that_rose(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent, "500.000000", max_rise_bps=0)
    body = stage.signed(quote)
    stage.submit_purchase_alone(quote, body, quote["salt"])
    stage.index()
    answer = stage.hand_in(agent, body)
    assert reason(answer) == (409, "quote_expired")
    assert "one of its two authorizations has already been used" in answer.text
    assert stage.state(agent, quote)["state"] == "bought"


def test_a_price_that_did_not_move__mints_what_was_quoted_without_any_rise(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent, max_rise_bps=0)
    assert quote["min_tokens"] == quote["tokens"]


# Before anybody asks


def test_a_day_without_gas__is_told_by_the_configuration_as_by_a_quote(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    budget = stage.deps.limits.sponsor_gas_wei_per_day
    needed = int(stage.prepared(agent)["gas"]["covers_wei"])
    stage.used_gas(SPONSORS, spent=budget - needed)
    assert offered(stage) == (True, True)
    assert stage.prepare(agent).status_code == 200

    stage.used_gas(SPONSORS, spent=budget - needed + 1)
    assert offered(stage) == (False, False)
    said, tomorrow = config(stage)["sponsor_reason"], instant_text(next_day(stage.clock.now))
    assert f"in a UTC day is used up; ask again from {tomorrow} on" in said
    refused = stage.prepare(agent)
    assert reason(refused) == (503, "sponsor_unavailable")
    assert refused.json()["service"]["retry_at"] == tomorrow


def test_gas_that_is_kept__is_told_to_be_free_again_within_minutes(stage: SponsoredStage) -> None:
    stage.used_gas(SPONSORS, reserved=stage.deps.limits.sponsor_gas_wei_per_day)
    said = config(stage)["sponsor_reason"]
    assert instant_text(next_day(stage.clock.now)) not in said
    assert "is used up; ask again from" in said


@pytest.mark.slow
def test_a_day_without_gas_for_new_wallets__is_told_apart(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.index()
    stage.be_safe()
    assert stage.state(agent, quote)["is_final"] is True
    stage.processes[0].run()
    stage.used_gas(NEW_BUYERS, spent=stage.deps.limits.sponsor_gas_wei_of_new_buyers_per_day)
    assert offered(stage) == (True, False)
    assert (
        "wallets that have not paid for one before" in config(stage)["sponsor_new_wallets_reason"]
    )
    assert stage.prepare(agent).status_code == 200
    stage.buyer = Account.create()
    stage.chain.mint(stage.buyer.address, 100 * USDC)
    assert reason(stage.prepare(agent)) == (503, "sponsor_unavailable")


def test_a_sponsor_with_less_than_one_buy_costs__is_not_on_offer(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    told = stage.prepared(agent)["gas"]
    price = GasPrice(
        *(int(told[name]) for name in ("base_fee_wei", "priority_fee_wei", "layer_1_fee_wei"))
    )
    needed = cost_wei(BUY_GAS, price)
    for beats, wei, is_enough in ((1, needed - 1, False), (2, needed, True)):
        stage.chain.rpc.call("anvil_setBalance", [SPONSOR_KEY.address, hex(wei)])
        stage.processes[0].round.run(stage.now() + beats * BEAT)
        assert offered(stage) == (is_enough, is_enough)
        assert (stage.prepare(agent).status_code == 200) is is_enough


def test_the_sponsors_sign__is_written_every_five_seconds(stage: SponsoredStage) -> None:
    at = stage.now() + BEAT
    for later_s, written_s in ((0, 0), (4.999, 0), (5, 5)):
        stage.processes[0].round.run(at + timedelta(seconds=later_s))
        with stage.database.read() as session:
            sign = sponsored.sponsor(session, CHAIN_ID)
        assert sign is not None
        assert sign.at == at + timedelta(seconds=written_s)


def test_a_node_that_does_not_answer__leaves_what_is_used_up_in_any_case(
    stage: SponsoredStage,
) -> None:
    def silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there", request=request)

    rpc = Nodes([stage.chain.anvil.url], transport=in_threads(httpx.MockTransport(silent)))
    stage.rpcs.append(rpc)
    chain = VaultReader(rpc, stage.chain.contracts)
    client = AppClient(create_app(replace(stage.deps, chain=chain)), base_url=BASE_URL)
    budget = stage.deps.limits.sponsor_gas_wei_per_day
    for left, is_enough in ((0, False), (1, True)):
        stage.used_gas(SPONSORS, spent=budget - left)
        assert client.get("/reserve/config").json()["sponsor_enabled"] is is_enough
    client.close()
