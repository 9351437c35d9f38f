"""What a payer signs, and what it does not: exact limits, and payments that recover to its
wallet.
"""

import base64
import json
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from api.client import NotPaid, Payer, Refused
from api.client.payments import BASE_SEPOLIA_USDC, WontPay, decoded
from tests.each import each
from tests.unit.api.client.service import Service, ok, refusal

PRIVATE_KEY = "0x" + "22" * 32
SHOP = "0x" + "11" * 20
NOW = 1_795_000_000
OFFER: dict[str, Any] = {
    "scheme": "exact",
    "network": "eip155:84532",
    "asset": BASE_SEPOLIA_USDC,
    "amount": "10000",
    "payTo": SHOP,
    "maxTimeoutSeconds": 60,
    "extra": {"name": "USDC", "version": "2"},
}
RESOURCE = {"url": "http://service.example/page", "description": "", "mimeType": "text/markdown"}


def payer(**limits: Any) -> Payer:
    return Payer(PRIVATE_KEY, clock=lambda: NOW, **limits)


def payable(*offers: dict[str, Any]) -> httpx.Response:
    body = {
        "x402Version": 2,
        "error": "payment_required",
        "resource": RESOURCE,
        "accepts": list(offers),
    }
    return httpx.Response(
        402,
        json={
            **body,
            "detail": "It costs 0.010000 USDC.",
            "service": {"reason": "payment_required", "next": []},
        },
    )


def receipt() -> dict[str, str]:
    text = json.dumps(
        {"success": True, "transaction": "0x" + "ab" * 32, "network": "eip155:84532", "payer": "0x"}
    )
    return {"PAYMENT-RESPONSE": base64.b64encode(text.encode()).decode()}


def test_a_payable_call__is_paid_once_and_its_receipt_kept() -> None:
    service = Service([payable(OFFER), httpx.Response(200, json={"page": 1}, headers=receipt())])
    pays = payer()

    assert service.client(pays, key="k").mandates.me() == {"page": 1}

    payment = decoded(service.calls[1].headers["PAYMENT-SIGNATURE"])
    authorization = payment["payload"]["authorization"]
    assert payment["x402Version"] == 2
    assert (payment["accepted"], payment["resource"]) == (OFFER, RESOURCE)
    assert (authorization["to"], authorization["value"], authorization["validAfter"]) == (
        SHOP,
        "10000",
        "0",
    )
    assert authorization["validBefore"] == str(NOW + 60)
    assert [(one.path, one.amount_usdc, one.transaction) for one in pays.receipts] == [
        ("/mandate-wallet/agents/me", "0.010000", "0x" + "ab" * 32)
    ]
    assert pays.spent_usdc == "0.010000"


def test_the_signature__is_the_payers_over_the_tokens_own_domain() -> None:
    payment = json.loads(
        base64.b64decode(payer().pay({"x402Version": 2, "accepts": [OFFER]}).header)
    )
    authorization = payment["payload"]["authorization"]
    numbers = {name: int(authorization[name]) for name in ("value", "validAfter", "validBefore")}
    names = {
        "from": "address",
        "to": "address",
        "value": "uint256",
        "validAfter": "uint256",
        "validBefore": "uint256",
        "nonce": "bytes32",
    }
    signed = encode_typed_data(
        {"name": "USDC", "version": "2", "chainId": 84532, "verifyingContract": BASE_SEPOLIA_USDC},
        {
            "TransferWithAuthorization": [
                {"name": name, "type": kind} for name, kind in names.items()
            ]
        },
        {**authorization, **numbers},
    )

    assert (
        Account.recover_message(signed, signature=payment["payload"]["signature"])
        == Account.from_key(PRIVATE_KEY).address
    )


def test_a_paid_call_without_an_answer__is_repeated_with_the_same_payment() -> None:
    service = Service(
        [payable(OFFER), httpx.ReadTimeout("no answer"), refusal(503, "settlement_pending"), ok()]
    )
    pays = payer()

    service.client(pays, key="k").mandates.me()

    assert len({call.headers["PAYMENT-SIGNATURE"] for call in service.calls[1:]}) == 1
    assert pays.spent_usdc == "0.010000"


def test_a_payment_that_is_refused__is_not_paid_again_and_counts_as_spent() -> None:
    service = Service([payable(OFFER), payable(OFFER)])
    pays = payer()

    with pytest.raises(Refused) as caught:
        service.client(pays, key="k").mandates.me()

    assert caught.value.is_payable
    assert len(service.calls) == 2
    assert (pays.spent_usdc, pays.receipts) == ("0.010000", [])


def test_without_a_payer__the_offer_is_the_callers_to_read() -> None:
    service = Service([payable(OFFER)])

    with pytest.raises(Refused) as caught:
        service.client(key="k").mandates.me()

    assert (caught.value.is_payable, caught.value.body["accepts"]) == (True, [OFFER])


def test_the_cap_of_a_call__is_paid_and_one_base_unit_more_is_not() -> None:
    at_the_cap = payer(max_per_call_usdc="0.010000")
    at_the_cap.pay({"x402Version": 2, "accepts": [OFFER]})
    service = Service([payable(OFFER | {"amount": "10001"})])

    with pytest.raises(NotPaid, match=r"0\.010001 USDC is above 0\.010000 a call"):
        service.client(payer(max_per_call_usdc="0.010000"), key="k").mandates.me()

    assert at_the_cap.spent_usdc == "0.010000"
    assert len(service.calls) == 1


def test_the_cap_in_total__is_paid_and_one_base_unit_more_is_not() -> None:
    pays = payer(max_total_usdc="0.020000")
    client = Service(
        [payable(OFFER), ok(), payable(OFFER), ok(), payable(OFFER | {"amount": "1"})]
    ).client(pays, key="k")

    client.mandates.me()
    client.mandates.me()
    with pytest.raises(
        NotPaid, match=r"0\.000001 USDC on top of 0\.020000 is above 0\.020000 in total"
    ):
        client.mandates.me()

    assert pays.spent_usdc == "0.020000"


@each(
    ("change", "why"),
    [
        ({"asset": "0x" + "99" * 20}, "asset .* is not 0x036C"),
        ({"network": "eip155:8453"}, "network 'eip155:8453' is not eip155:84532"),
        ({"scheme": "upto"}, "scheme 'upto' is not exact"),
        ({"payTo": "0x12"}, "is not an address"),
        ({"payTo": None}, "is not an address"),
        ({"payTo": "0x5aAeb6503F3E94C9b9A09f33669435E7Ef1BeAed"}, "its checksum is wrong"),
        ({"amount": "0"}, "is not a whole number"),
        ({"amount": "-5"}, "is not a whole number"),
        ({"amount": "1e3"}, "is not a whole number"),
        ({"amount": 10000}, "is not a whole number"),
        ({"extra": None}, "extra lacks"),
        ({"extra": {"name": 1, "version": "2"}}, "extra lacks"),
        ({"maxTimeoutSeconds": "soon"}, "is not a number of seconds"),
        ({"maxTimeoutSeconds": 0}, "is not a number of seconds"),
    ],
)
def test_an_offer_that_is_not_as_expected__is_not_signed(change: dict[str, Any], why: str) -> None:
    pays = payer()
    service = Service([payable(OFFER | change)])

    with pytest.raises(NotPaid, match=why):
        service.client(pays, key="k").mandates.me()

    assert (len(service.calls), pays.spent_usdc) == (1, "0.000000")


def test_of_several_offers__the_first_within_the_limits_is_paid() -> None:
    dear, other = OFFER | {"amount": "900000"}, OFFER | {"scheme": "vault"}

    payment = payer().pay({"x402Version": 2, "accepts": [other, dear, OFFER]})

    assert payment.amount_usdc_e6 == 10_000


def test_an_expected_payee__is_the_only_one_that_is_paid() -> None:
    offers = {"x402Version": 2, "accepts": [OFFER]}

    assert payer(pay_to=SHOP).pay(offers).pay_to == SHOP
    with pytest.raises(WontPay, match=r"payTo .* is not 0x22"):
        payer(pay_to="0x" + "22" * 20).pay(offers)


def test_a_payment__is_good_for_ten_minutes_at_most() -> None:
    payment = payer().pay({"x402Version": 2, "accepts": [OFFER | {"maxTimeoutSeconds": 86_400}]})

    assert decoded(payment.header)["payload"]["authorization"]["validBefore"] == str(NOW + 600)


def test_version_1__is_not_paid() -> None:
    with pytest.raises(WontPay, match="x402 version 1 is not 2"):
        payer().pay({"x402Version": 1, "accepts": [OFFER]})


def test_a_refusal_that_offers_no_terms__is_not_paid() -> None:
    service = Service([refusal(402, "mandate_budget_exceeded")])

    with pytest.raises(Refused) as caught:
        service.client(payer(), key="k").mandates.me()

    assert not isinstance(caught.value, NotPaid)


@each("text", ["-1", "1e3", "1.0000001", "", ".5", "\u0661"])
def test_a_limit_that_is_no_amount__is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="write an amount"):
        payer(max_per_call_usdc=text)
