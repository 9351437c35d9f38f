"""A refused sponsored buy says which field, which rule, and the call that goes on, as it can be sent."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from eth_account import Account

from api.main import create_app
from core.money import usdc_text
from core.sponsored import days
from core.sponsored.kept_gas import KeptReadings
from core.sponsored.prices import EthPrices
from core.times import instant_text, next_day
from tests.each import each
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.in_process import AppClient
from tests.integration.api.sponsored.conftest import (
    BUY,
    PREPARE,
    USDC,
    SponsoredStage,
)

CATALOGUE = "/agent/catalog"
STATUSES = {
    **dict.fromkeys(("below_minimum", "invalid_parameter", "signature_invalid"), 400),
    **dict.fromkeys(("insufficient_usdc", "buyer_has_code", "quote_expired"), 409),
    "already_handed_in": 409,
    "not_found": 404,
    "rate_limited": 429,
    **dict.fromkeys(("sponsor_unavailable", "gas_price_unknown"), 503),
}


def told(answer: httpx.Response, reason: str) -> tuple[str, list[dict[str, Any]]]:
    """The sentence, and the calls that it names before the catalogue."""
    body = answer.json()
    assert (answer.status_code, body["service"]["reason"]) == (STATUSES[reason], reason)
    *calls, last = body["service"]["next"]
    assert last["path"] == CATALOGUE
    assert calls != []
    return body["detail"], calls


def again(stage: SponsoredStage, agent: dict[str, str], call: dict[str, Any]) -> httpx.Response:
    """The call that a refusal names, as it is written."""
    answer: httpx.Response = stage.client.request(
        call["method"], call["path"], json=call.get("body"), headers=agent
    )
    return answer


def test_below_the_minimum__leads_to_the_least_one(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    said, calls = told(stage.prepare(agent, "4.999999", max_rise_bps=7), "below_minimum")
    assert said.startswith("usd: ")
    assert calls[0]["body"]["usd"] == "5.000000"
    assert calls[0]["body"]["max_rise_bps"] == 7
    assert again(stage, agent, calls[0]).status_code == 200


def test_a_recipient_that_cannot_hold_tokens__leads_to_the_buyer(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    token = stage.chain.contracts["reserve_token"]
    said, calls = told(stage.prepare(agent, recipient=token), "invalid_parameter")
    assert said.startswith("recipient: ")
    assert again(stage, agent, calls[0]).json()["recipient"] == stage.buyer.address


def test_too_little_usdc__leads_to_what_can_be_paid(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    said, calls = told(stage.prepare(agent, "1000.000000"), "insufficient_usdc")
    fee = int(stage.prepared(agent)["fee"]["message"]["value"])
    assert said.startswith("buyer: it holds 1000.000000 USDC")
    assert f"Send {usdc_text(fee)} USDC to {stage.buyer.address}" in said
    assert calls[0]["body"]["usd"] == usdc_text(1_000 * USDC - fee)
    assert again(stage, agent, calls[0]).status_code == 200


def test_too_little_usdc_for_any__says_what_to_send(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    poor = Account.create().address
    said, calls = told(stage.prepare(agent, "10.000000", buyer=poor), "insufficient_usdc")
    assert "too little for the smallest buy of 5.000000" in said
    assert calls[0]["body"]["usd"] == "10.000000"
    stage.chain.mint(poor, 20 * USDC)
    assert again(stage, agent, calls[0]).status_code == 200


def test_an_expired_quote__leads_to_the_same_one_anew(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent, "12.000000", max_rise_bps=17)
    body = stage.signed(quote)
    stage.clock.pass_(seconds=300)
    said, calls = told(stage.hand_in(agent, body), "quote_expired")
    assert said.startswith("id: the quote was good until")
    asked = {"usd": "12.000000", "buyer": stage.buyer.address, "recipient": stage.buyer.address}
    assert calls[0]["body"] == {**asked, "max_rise_bps": 17}
    stage.processes[0].run()
    stage.tell_time()
    assert again(stage, agent, calls[0]).status_code == 200


def test_an_authorization_that_was_used__leads_to_what_became_of_it(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    stage.submit_purchase_alone(quote, body, quote["salt"])
    said, calls = told(stage.hand_in(agent, body), "quote_expired")
    assert said.startswith("id: one of its two authorizations has already been used")
    assert [one["path"] for one in calls] == [f"{BUY}/{quote['id']}", PREPARE]
    assert again(stage, agent, calls[0]).status_code == 200


def test_a_quote_that_ended_with_its_fee_submitted__leads_to_what_became_of_it(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    stage.submit_fee_alone(quote, body)
    stage.index()
    stage.clock.pass_(seconds=300)
    said, calls = told(stage.hand_in(agent, body), "quote_expired")
    assert "one of its authorizations was submitted" in said
    assert [one["path"] for one in calls] == [f"{BUY}/{quote['id']}", PREPARE]
    assert "once it can no longer happen" in again(stage, agent, calls[0]).json()["next"]


def test_too_little_usdc_after_the_fee_was_submitted__asks_for_the_purchase_alone(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote, other = (stage.prepared(agent, usd) for usd in ("999.000000", "500.000000"))
    body = stage.signed(quote)
    fee = int(quote["fee"]["message"]["value"])
    stage.submit_fee_alone(quote, body)
    stage.submit_purchase_alone(other, stage.signed(other), other["salt"])
    stage.index()
    said, calls = told(stage.hand_in(agent, body), "insufficient_usdc")
    assert "takes 999.000000 with its fee of 0.000000" in said
    assert calls[0]["body"]["usd"] == usdc_text(500 * USDC - 2 * fee)
    assert again(stage, agent, calls[0]).status_code == 200


@each("field", ["purchase_signature", "fee_signature"])
def test_a_signature_of_somebody_else__names_the_field_and_the_quote(
    stage: SponsoredStage, agent: dict[str, str], field: str
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote) | {field: stage.signed(quote, by=Account.create())[field]}
    said, calls = told(stage.hand_in(agent, body), "signature_invalid")
    assert said.startswith(f"{field}: ")
    assert "lower half" in said
    assert [one["path"] for one in calls] == [f"{BUY}/{quote['id']}", PREPARE]
    assert all(again(stage, agent, one).status_code == 200 for one in calls)


@each("field", ["purchase_signature", "fee_signature"])
def test_other_signatures_of_a_buy_that_is_in__name_the_field_and_lead_to_it(
    stage: SponsoredStage, agent: dict[str, str], field: str
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202
    other = body | {field: "0x" + "11" * 65}
    said, calls = told(stage.hand_in(agent, other), "already_handed_in")
    assert said.startswith(f"{field}: ")
    assert again(stage, agent, calls[0]).json()["state"] == "accepted"


def test_an_unknown_buy__leads_to_ones_own(stage: SponsoredStage, agent: dict[str, str]) -> None:
    answer = stage.client.get(f"{BUY}/sb_aaaaaaaaaaaaaaaa", headers=agent)
    said, calls = told(answer, "not_found")
    assert said.startswith("id: you have no sponsored buy sb_aaaaaaaaaaaaaaaa")
    assert calls[0]["path"] == "/reserve/me"
    assert again(stage, agent, calls[0]).status_code == 200


def test_code_at_the_buyer__leads_to_a_purchase_with_ones_own_gas(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    stage.chain.rpc.call("anvil_setCode", [stage.buyer.address, "0xef0100" + "11" * 20])
    said, calls = told(stage.prepare(agent), "buyer_has_code")
    assert said.startswith("buyer: ")
    assert [one["path"] for one in calls] == ["/reserve/config"]


def test_no_sponsor__leads_to_where_it_says_when_there_is_one(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    stage.pass_time(45)
    assert stage.prepare(agent).status_code == 200
    stage.pass_time(16)
    said, calls = told(stage.prepare(agent), "sponsor_unavailable")
    assert "no keeper with a sponsor's key is running" in said
    config = again(stage, agent, calls[0]).json()
    assert config["sponsor_enabled"] is False
    assert config["contracts"]["sponsored_buy"] == stage.chain.contracts["sponsored_buy"]


def test_no_price_of_eth__says_what_is_missing(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    unknown = stage.deps.with_part(KeptReadings, KeptReadings(eth_price=EthPrices(None)))
    with AppClient(create_app(unknown), base_url=BASE_URL) as client:
        body = {"usd": "10.000000", "buyer": stage.buyer.address}
        for answer in (
            client.post(PREPARE, json=body, headers=agent),
            client.post("/gas/quote", json={}),
        ):
            said, calls = told(answer, "gas_price_unknown")
            assert "GAS_ETH_USD" in said
            assert [one["path"] for one in calls] == ["/gas/quote", "/reserve/config"]


@pytest.mark.parametrize(
    ("counted", "count", "says"),
    [
        ("accepted_since", 50, "id: this account already handed in 50"),
        ("failed_since", 3, "id: 3 transactions"),
    ],
)
def test_a_used_up_day__says_from_when_and_what_to_ask_then(
    stage: SponsoredStage,
    agent: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    counted: str,
    count: int,
    says: str,
) -> None:
    quote = stage.prepared(agent)
    monkeypatch.setattr(days, counted, lambda _, scopes, __: {scopes[0]: count})
    answer = stage.hand_in(agent, stage.signed(quote))
    said, calls = told(answer, "rate_limited")
    assert said.startswith(says)
    assert answer.json()["service"]["retry_at"] in said
    assert [one["path"] for one in calls] == [PREPARE, "/reserve/config"]
    assert calls[0]["body"]["usd"] == "10.000000"


@pytest.mark.parametrize(
    ("spent", "kept", "seconds", "is_tomorrow", "is_prepared"),
    [
        (1, 0, 0, True, True),  # what is spent today stays spent
        (0, 1, 0, False, False),  # what is kept is given back, and the quote is good for longer
        (0, 1, 240, False, True),
    ],
)
def test_the_gas_of_a_day__says_from_when_and_what_to_send_then(
    stage: SponsoredStage,
    agent: dict[str, str],
    *,
    spent: int,
    kept: int,
    seconds: int,
    is_tomorrow: bool,
    is_prepared: bool,
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    budget = stage.deps.limits.sponsor_gas_wei_per_account_per_day
    stage.used_gas(
        f"sponsor:account:{stage.account_id(quote)}", spent=spent * budget, reserved=kept * budget
    )
    if seconds:
        stage.pass_time(seconds)
        stage.index()
        stage.processes[0].run()
        stage.tell_time()
    answer = stage.hand_in(agent, body)
    said, calls = told(answer, "rate_limited")
    assert said.startswith("id: the gas that the service pays")
    retry_at = answer.json()["service"]["retry_at"]
    assert retry_at in said
    soon = instant_text(stage.clock.now + timedelta(minutes=1))
    assert retry_at == (instant_text(next_day(stage.clock.now)) if is_tomorrow else soon)
    first = PREPARE if is_prepared else f"{BUY}/{quote['id']}"
    assert [one["path"] for one in calls] == [first, "/reserve/config"]
    assert ("Prepare another" in said) is is_prepared


def test_tokens__have_eighteen_decimals_and_base_units_beside(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    for name in ("tokens", "min_tokens"):
        assert Decimal(quote[name]) * 10**18 == int(quote[f"{name}_base"])
        assert len(quote[name].partition(".")[2]) == 18
    stage.processes[0].run()
    stage.index()
    minted = stage.state(agent, quote)["transfers"][0]["tokens"]
    (own,) = stage.client.get("/reserve/me", headers=agent).json()["sponsored"]
    assert minted == own["tokens"]
    assert int(minted.replace(".", "")) == stage.tokens(stage.buyer.address)


# The price of gas


def test_gas_quote__is_the_same_for_five_seconds_and_says_of_when(stage: SponsoredStage) -> None:
    def quoted() -> dict[str, Any]:
        answer = stage.client.post("/gas/quote", json={})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    first = quoted()
    stage.chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(7 * 10**9)])
    stage.chain.anvil.mine()
    stage.clock.pass_(seconds=4)
    assert quoted() == first
    stage.clock.pass_(seconds=1)
    later = quoted()
    assert later["as_of"] == first["good_until"]
    assert later["base_fee_wei"] == str(7 * 10**9)
    assert (first["source"], first["eth_as_of"], first["eth_usd"]) == ("fixed", None, "1000.000000")
    assert all(float(row["usdc"]) > 0 for row in first["actions"])
