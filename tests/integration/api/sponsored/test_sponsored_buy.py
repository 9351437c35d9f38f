"""Sponsored buys through the API, the keeper's sponsor and the indexer, on a real chain."""

from typing import Any

import pytest

from core.reserve.rules import token_text
from core.sponsored import documents
from tests.each import each
from tests.integration.api.sponsored.conftest import (
    TREASURY,
    USDC,
    LyingWire,
    SponsoredStage,
)


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["service"]["reason"]


def fee_of(quote: dict[str, Any]) -> int:
    return int(quote["fee"]["message"]["value"])


def test_a_buy__is_sent_in_one_transaction_and_final_at_a_safe_block(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    had = stage.usdc(stage.buyer.address)
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.index()
    seen = stage.state(agent, quote)

    assert (seen["state"], seen["is_final"]) == ("paid", False)
    assert len({one["tx_hash"] for one in seen["transfers"]}) == 1
    assert stage.usdc(TREASURY) == fee_of(quote)
    assert stage.usdc(stage.buyer.address) == had - 10 * USDC - fee_of(quote)
    assert seen["transfers"][0]["tokens"] == token_text(stage.tokens(stage.buyer.address))

    stage.be_safe()
    done = stage.state(agent, quote)
    assert (done["state"], done["is_final"]) == ("paid", True)
    assert done["next"].startswith("Nothing")


@pytest.mark.slow
def test_a_buy__is_among_the_accounts_own_once_it_was_handed_in(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    def own(headers: dict[str, str]) -> list[dict[str, Any]]:
        return list(stage.client.get("/reserve/me", headers=headers).json()["sponsored"])

    assert stage.client.get("/reserve/config").json()["sponsor_enabled"] is True
    stage.prepared(agent)
    assert own(agent) == []
    quote = stage.bought(agent)
    (waits,) = own(agent)
    assert (waits["id"], waits["state"], waits["is_final"]) == (quote["id"], "accepted", False)
    assert (waits["tokens"], waits["tx_hash"]) == (None, None)
    assert (waits["usdc"], waits["fee_usdc"]) == ("10.000000", quote["fee_usdc"])

    stage.processes[0].run()
    stage.index()
    stage.be_safe()
    (done,) = own(agent)
    told = stage.state(agent, quote)
    assert (done["state"], done["is_final"]) == ("paid", True)
    assert done["next"] == told["next"]
    assert done["tx_hash"] == told["transfers"][0]["tx_hash"]
    assert done["tokens"] == told["transfers"][0]["tokens"]
    assert own(stage.agent()) == []


def test_a_quote__has_all_that_its_nonces_hold(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """So that a signer need not take the service's word for recipient, least tokens and fee."""
    quote, chain_id = stage.prepared(agent), stage.deps.chain_id
    token = stage.chain.contracts["reserve_token"]
    least = int(quote["min_tokens_base"])
    places = (token, stage.buyer.address, quote["recipient"])
    of_buy = documents.buy_nonce(chain_id, *places, 10 * USDC, least, quote["salt"])
    assert quote["purchase"]["message"]["nonce"] == of_buy
    of_fee = documents.fee_nonce(chain_id, quote["batch"], of_buy, fee_of(quote))
    assert quote["fee"]["message"]["nonce"] == of_fee


def test_a_quote__names_what_is_minted_to_the_last_unit(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent, "12.345678")
    stage.processes[0].run()
    assert str(stage.tokens(stage.buyer.address)) == quote["tokens_base"]


def test_prepare__what_another_buy_pledged__counts(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    stage.bought(agent, "600.000000")
    answer = stage.prepare(agent, "600.000000")
    assert refusal(answer) == (409, "insufficient_usdc")
    assert "pledged" in answer.json()["detail"]


def test_hand_in__twice__is_one_buy(stage: SponsoredStage, agent: dict[str, str]) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    first, second = stage.hand_in(agent, body), stage.hand_in(agent, body)
    assert (first.status_code, second.status_code) == (202, 202)
    stage.processes[0].run()
    assert stage.usdc(TREASURY) == fee_of(quote)


def test_hand_in__another_accounts_quote__is_unknown(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    assert stage.hand_in(stage.agent(), stage.signed(quote)).status_code == 404


@each(
    ("part", "path", "value"),
    [
        ("purchase", ("message", "value"), "10000001"),
        ("fee", ("message", "value"), "1"),
        ("purchase", ("message", "to"), TREASURY),
        ("fee", ("message", "to"), "0x" + "11" * 20),
        ("purchase", ("domain", "chainId"), 1),
        ("fee", ("domain", "chainId"), 1),
        ("fee", ("message", "nonce"), "0x" + "22" * 32),
    ],
)
def test_hand_in__a_signature_over_something_else__is_refused_and_nothing_written(
    stage: SponsoredStage,
    agent: dict[str, str],
    part: str,
    path: tuple[str, str],
    value: Any,
) -> None:
    quote = stage.prepared(agent)
    forged = {**quote, part: {**quote[part], path[0]: {**quote[part][path[0]], path[1]: value}}}
    assert refusal(stage.hand_in(agent, stage.signed(forged))) == (400, "signature_invalid")
    assert stage.state(agent, quote)["state"] == "prepared"


def test_hand_in__a_malleable_signature__is_refused(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    body = stage.signed(stage.prepared(agent))
    raw = bytes.fromhex(body["fee_signature"][2:])
    twin = raw[:32] + (order - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
    body["fee_signature"] = "0x" + (twin + bytes([55 - raw[64]])).hex()
    assert refusal(stage.hand_in(agent, body)) == (400, "signature_invalid")


def test_code_that_appears_after_handing_in__is_not_paid_for(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    stage.chain.rpc.call("anvil_setCode", [stage.buyer.address, "0xef0100" + "11" * 20])
    stage.processes[0].run()
    assert stage.processes[0].wire.sent == []
    assert stage.state(agent, quote)["state"] == "accepted"


@pytest.mark.slow
def test_a_price_that_rose_too_far__is_not_sent_and_lapses_unpaid(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    had = stage.usdc(stage.buyer.address)
    quote = stage.bought(agent, max_rise_bps=0)
    stage.buy_beside(50 * USDC)
    stage.processes[0].run()
    assert stage.processes[0].wire.sent == []
    stage.pass_time(1_800)
    stage.be_safe()
    done = stage.state(agent, quote)
    assert (done["state"], done["is_final"]) == ("nothing_paid", True)
    assert [one["why"] for one in done["transfers"]] == ["lapsed", "lapsed"]
    assert stage.usdc(stage.buyer.address) == had


def test_gas_that_costs_more_than_the_fee_covers__waits(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    stage.chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(20 * 10**9)])
    stage.chain.anvil.mine()
    stage.processes[0].run()
    assert stage.processes[0].wire.sent == []
    assert stage.state(agent, quote)["state"] == "accepted"


@pytest.mark.slow
def test_a_node_that_calls_the_transaction_failed__ends_nothing(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    def lie(call: dict[str, Any], result: Any) -> Any:
        is_receipt = call["method"] == "eth_getTransactionReceipt" and result is not None
        return {**result, "status": "0x0", "logs": []} if is_receipt else result

    quote = stage.bought(agent)
    stage.processes[0].die()
    stage.keeper(LyingWire(lie)).run()
    stage.index()
    stage.be_safe()
    done = stage.state(agent, quote)
    assert (done["state"], done["is_final"]) == ("paid", True)


def test_a_fee_submitted_alone__leads_to_the_purchase(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    stage.hand_in(agent, body)
    stage.submit_fee_alone(quote, body)
    stage.index()
    assert stage.state(agent, quote)["state"] == "fee_paid"

    stage.processes[0].run()
    stage.processes[0].run()
    stage.work()
    stage.processes[0].run()
    stage.index()
    assert stage.state(agent, quote)["state"] == "paid"
    assert stage.usdc(TREASURY) == fee_of(quote)
    assert str(stage.tokens(stage.buyer.address)) == quote["tokens_base"]


def test_a_cancelled_fee__is_not_sent_for(stage: SponsoredStage, agent: dict[str, str]) -> None:
    quote = stage.bought(agent)
    stage.cancel(quote, "fee")
    stage.index()
    stage.processes[0].run()
    stage.work()
    assert stage.processes[0].wire.sent == []
    assert stage.state(agent, quote)["state"] == "stopped"
