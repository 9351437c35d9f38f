"""Every bad payment gets a 402 or a 503 that says what is wrong; nothing is served and nothing
charged.
"""

import base64
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from eth_account import Account
from x402.schemas import PaymentPayload, PaymentRequirements, VerifyResponse

from core.chain.abi import call_by_signature
from core.chain.nodes import Nodes
from scripts._ports import free_port
from tests.each import each
from tests.integration.api.payments.shop import OTHER_PAGE, PAGE, PRICE, Shop, decoded, reason, said
from tests.personas import DEPLOYER
from tests.unit.core.test_hexes import EXCHANGED

ELSEWHERE = "0x" + "11" * 20
BAD: dict[str, tuple[Callable[[Shop], dict[str, Any]], str]] = {
    "tampered after signing": (
        lambda shop: shop.payment(signed=False, nonce="0x" + "22" * 32),
        "invalid_exact_evm_payload_signature",
    ),
    "of somebody else's money": (
        lambda shop: shop.payment(**{"from": DEPLOYER.address}),
        (
            "payload.signature: it is not the signature of authorization.from over this "
            "authorization; sign the typed data TransferWithAuthorization"
        ),
    ),
    "on another network": (
        lambda shop: shop.payment(accepted={"network": "eip155:1"}),
        "accepted.network is eip155:1; pay eip155:84532",
    ),
    "in another asset": (
        lambda shop: shop.payment(accepted={"asset": ELSEWHERE}),
        f"accepted.asset is {ELSEWHERE}; pay 0x",
    ),
    "too little by its offer": (
        lambda shop: shop.payment(accepted={"amount": "9999"}),
        "accepted.amount is 9999; pay 10000",
    ),
    "too little as signed": (
        lambda shop: shop.payment(value="9999"),
        "authorization.value is 9999; pay exactly 10000 base units",
    ),
    "too much as signed": (
        lambda shop: shop.payment(value="10001"),
        "authorization.value is 10001; pay exactly 10000 base units",
    ),
    "to another payee by its offer": (
        lambda shop: shop.payment(accepted={"payTo": ELSEWHERE}),
        f"accepted.payTo is {ELSEWHERE}; pay 0x",
    ),
    "to another payee as signed": (
        lambda shop: shop.payment(to=ELSEWHERE),
        f"authorization.to is {ELSEWHERE}; pay 0x",
    ),
    "of another scheme": (
        lambda shop: shop.payment(accepted={"scheme": "upto"}),
        "the scheme is upto; pay with one of exact, vault",
    ),
    "of version 1": (
        lambda shop: {**shop.payment(), "x402Version": 1},
        "x402Version is 1; this service speaks version 2",
    ),
    "without authorization": (
        lambda shop: {**shop.payment(), "payload": {}},
        "payload.authorization is missing",
    ),
    "with a number that is none": (
        lambda shop: shop.payment(signed=False, value="1e4"),
        "value is malformed",
    ),
    "for another resource": (
        lambda shop: {**shop.payment(), "resource": {"url": f"http://testserver{OTHER_PAGE}"}},
        "the payment names another resource",
    ),
}


def nothing_happened(shop: Shop) -> bool:
    return (shop.income, shop.states(), shop.settler.settled) == (0, [], 0)


@each("name", BAD)
def test_a_payment__that_is_bad__is_refused_with_what_is_wrong(shop: Shop, name: str) -> None:
    make, sentence = BAD[name]
    answer = shop.get(make(shop))
    assert reason(answer) == (402, "payment_invalid")
    assert sentence in answer.json()["detail"]
    assert answer.json()["accepts"][0]["payTo"] == shop.pay_to
    assert nothing_happened(shop)


@each(
    "header",
    ["", "%%%", "bm8=", base64.b64encode(b"[" * 9_000).decode(), base64.b64encode(b"[]").decode()],
)
def test_a_header__that_is_no_payment__is_refused(shop: Shop, header: str) -> None:
    answer = shop.client.get(PAGE, headers={"PAYMENT-SIGNATURE": header})
    assert reason(answer) == (402, "payment_invalid")
    assert nothing_happened(shop)


def test_the_header_of_version_1__is_refused_with_a_sentence(shop: Shop) -> None:
    answer = shop.client.get(PAGE, headers={"X-PAYMENT": "eyJ4NDAyVmVyc2lvbiI6MX0="})
    assert reason(answer) == (402, "payment_invalid")
    assert "X-PAYMENT is x402 version 1; this service speaks version 2" in answer.json()["detail"]


def test_a_payer__without_the_money__is_refused(shop: Shop) -> None:
    shop.payer = Account.create()
    answer = shop.get(shop.payment())
    assert reason(answer) == (402, "payment_invalid")
    assert f"{shop.payer.address} holds 0 base units but needs 10000" in answer.json()["detail"]
    assert nothing_happened(shop)


def test_a_payment__that_served__serves_no_second_time(shop: Shop) -> None:
    payment = shop.payment()
    assert shop.get(payment).status_code == 200
    for path in (PAGE, OTHER_PAGE):
        assert reason(shop.get({**payment, "accepted": shop.offer(path=path)}, path)) == (
            402,
            "payment_already_used",
        )
    assert (shop.income, shop.states()) == (PRICE, ["served"])


def test_copies_of_one_payment_at_once__serve_once(shop: Shop) -> None:
    payment = shop.payment()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: reason_or_ok(shop, payment), range(8)))
    assert sorted(answers) == [(200, "")] + [(402, "payment_already_used")] * 7
    assert (shop.income, shop.states()) == (PRICE, ["served"])


def reason_or_ok(shop: Shop, payment: dict[str, Any]) -> tuple[int, str]:
    answer = shop.get(payment)
    return (200, "") if answer.status_code == 200 else reason(answer)


def raising(error: Exception) -> Callable[[Any], Any]:
    def answer(real: Any) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        ValueError("Facilitator verify failed (500)"),
    ],
)
def test_a_facilitator__that_is_down_at_verify__is_503_and_nothing_is_claimed(
    shop: Shop, error: Exception
) -> None:
    payment = shop.payment()
    shop.settler.on_verify = raising(error)
    assert reason(shop.get(payment)) == (503, "temporarily_unavailable")
    assert nothing_happened(shop)
    shop.settler.on_verify = lambda real: real()
    assert shop.get(payment).status_code == 200


def test_a_facilitator__that_is_down_at_settle__is_503_and_the_payment_serves_later(
    shop: Shop,
) -> None:
    payment = shop.payment()
    shop.settler.on_settle = raising(httpx.ReadTimeout("slow"))
    answer = shop.get(payment)
    assert reason(answer) == (503, "settlement_pending")
    assert (answer.headers["Retry-After"], shop.income, shop.states()) == ("5", 0, ["claimed"])
    shop.settler.on_settle = lambda real: real()
    assert shop.get(payment).status_code == 200
    assert shop.income == PRICE


@pytest.mark.parametrize("transaction", ["0x" + "77" * 32, "", "0xnothex"])
def test_a_facilitator__that_says_settled_and_lies__serves_nothing(
    shop: Shop, transaction: str
) -> None:
    payment = shop.payment()
    shop.settler.on_settle = lambda real: said(success=True, transaction=transaction)
    assert reason(shop.get(payment)) == (503, "settlement_pending")
    assert (shop.income, shop.states()) == (0, ["claimed"])


def test_a_facilitator__that_names_another_payments_transaction__serves_nothing(shop: Shop) -> None:
    paid = shop.get(shop.payment())
    stolen = said(
        success=True, transaction=decoded(paid.headers["PAYMENT-RESPONSE"])["transaction"]
    )
    shop.settler.on_settle = lambda real: stolen
    assert reason(shop.get(shop.payment())) == (503, "settlement_pending")
    assert (shop.income, shop.states()) == (PRICE, ["claimed", "served"])


def test_a_facilitator__that_says_failed_and_lies__serves_what_was_paid(shop: Shop) -> None:
    def lie(real: Any) -> Any:
        real()
        return said(error_reason="transaction_failed")

    shop.settler.on_settle = lie
    assert shop.get(shop.payment()).status_code == 200
    assert (shop.income, shop.states()) == (PRICE, ["served"])


def test_a_settlement__that_failed__charges_nothing_and_may_be_tried_again(shop: Shop) -> None:
    payment = shop.payment()
    shop.settler.on_settle = lambda real: said(error_reason="transaction_failed")
    answer = shop.get(payment)
    assert reason(answer) == (402, "payment_invalid")
    assert (
        "reverted; check that its nonce is unused (transaction_failed); nothing was charged"
        in answer.json()["detail"]
    )
    assert decoded(answer.headers["PAYMENT-RESPONSE"])["success"] is False
    assert (shop.income, shop.states()) == (0, ["failed"])
    shop.settler.on_settle = lambda real: real()
    assert shop.get(payment).status_code == 200
    assert (shop.income, shop.states()) == (PRICE, ["served"])


def test_a_settlement__that_lands_after_its_failure_was_told__serves_once(shop: Shop) -> None:
    payment = shop.payment()
    late: list[Any] = []

    def fail_and_keep(real: Any) -> Any:
        late.append(real)
        return said(error_reason="settlement_pending", transaction="0x" + "88" * 32)

    shop.settler.on_settle = fail_and_keep
    assert reason(shop.get(payment)) == (503, "settlement_pending")
    late[0]()
    shop.settler.on_settle = raising(AssertionError("it has settled"))
    assert shop.get(payment).status_code == 200
    assert reason(shop.get(payment)) == (402, "payment_already_used")
    assert shop.income == PRICE


def test_a_payment__that_the_facilitator_calls_valid_and_is_not__does_not_serve(shop: Shop) -> None:
    payment = shop.payment(signed=False, nonce="0x" + "33" * 32)
    shop.settler.on_verify = lambda real: VerifyResponse(is_valid=True, payer=shop.payer.address)
    assert reason(shop.get(payment)) == (402, "payment_invalid")
    assert (shop.income, shop.states()) == (0, ["failed"])


def test_a_nonce__that_went_into_another_transfer__does_not_serve(shop: Shop) -> None:
    nonce = "0x" + "44" * 32
    payment = shop.payment(nonce=nonce)
    elsewhere = shop.payment(nonce=nonce, to=ELSEWHERE)["payload"]
    authorization, signature = elsewhere["authorization"], elsewhere["signature"]
    move = call_by_signature(
        "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
        [
            shop.payer.address,
            ELSEWHERE,
            PRICE,
            0,
            int(authorization["validBefore"]),
            nonce,
            signature,
        ],
    )

    def move_first(real: Any) -> Any:
        shop.chain.succeed(DEPLOYER, shop.chain.contracts["usdc"], move)
        return real()

    shop.settler.on_settle = move_first
    answer = shop.get(payment)
    assert reason(answer) == (402, "payment_invalid")
    assert "used for something else" in answer.json()["detail"]
    assert (shop.income, shop.states()) == (0, ["failed"])


def test_a_node_that_is_behind__is_no_word_that_the_nonce_went_elsewhere(
    shop: Shop,
) -> None:
    """Nodes behind one address answer by turns, and "sign a new payment" would be paid twice."""
    chain, behind = shop.deps.chain, pytest.MonkeyPatch()
    unheard = {"range_logs": ([], None), "receipt": None}

    def settled_unheard(real: Any) -> Any:
        real()
        behind.setattr(chain, name, lambda *_: unheard[name])
        raise httpx.ReadTimeout("slow")

    for name in unheard:
        payment = shop.payment()
        shop.settler.on_settle = settled_unheard
        try:
            assert reason(shop.get(payment)) == (503, "settlement_pending"), name
            assert shop.get(payment).status_code == 503, name
        finally:
            behind.undo()
        assert shop.states().count("claimed") == 1, name
        assert shop.get(payment).status_code == 200, name
    assert (shop.income, shop.states()) == (2 * PRICE, ["served", "served"])


def test_a_payment__of_another_account_or_signature__is_already_used(shop: Shop) -> None:
    shop.open(free_reads_per_day=0, welcome_credits=0)
    agent, payment = shop.agent(), shop.payment()
    shop.settler.on_settle = raising(httpx.ReadTimeout("slow"))
    assert reason(shop.get(payment, headers=agent)) == (503, "settlement_pending")
    assert reason(shop.get(payment)) == (402, "payment_already_used")
    assert reason(shop.get(payment, headers=shop.agent())) == (402, "payment_already_used")
    forged = {**payment, "payload": {**payment["payload"], "signature": "0x" + "55" * 65}}
    assert reason(shop.get(forged, headers=agent)) == (402, "payment_already_used")


def test_a_node__that_is_down__is_503_and_nothing_is_claimed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = shop.payment()
    monkeypatch.setattr(shop.deps.chain, "rpc", Nodes([f"http://127.0.0.1:{free_port()}"]))
    assert reason(shop.get(payment)) == (503, "temporarily_unavailable")
    monkeypatch.undo()
    assert nothing_happened(shop)


def test_a_node__that_fails_after_the_settlement__is_503_and_the_payment_serves_later(
    shop: Shop,
) -> None:
    payment, chain = shop.payment(), shop.deps.chain
    good = chain.rpc

    def settle_and_lose_the_node(real: Any) -> Any:
        answer = real()
        chain.rpc = Nodes([f"http://127.0.0.1:{free_port()}"])
        return answer

    shop.settler.on_settle = settle_and_lose_the_node
    assert reason(shop.get(payment)) == (503, "settlement_pending")
    chain.rpc = good
    assert (shop.get(payment).status_code, shop.income) == (200, PRICE)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"validBefore": -1}, "authorization.validBefore is unix second"),
        ({"validBefore": 5}, "authorization.validBefore is unix second"),
        ({"validBefore": 3}, "at least 6 s must be left; sign one that holds 60 s from now"),
        ({"validAfter": 60}, "authorization.validAfter is unix second"),
    ],
    ids=["over", "5 s left", "3 s left", "not yet"],
)
def test_a_payment__out_of_time__names_the_field_and_the_rule(
    shop: Shop, changes: dict[str, int], sentence: str
) -> None:
    now = int(time.time())
    answer = shop.get(
        shop.payment(**{name: str(now + seconds) for name, seconds in changes.items()})
    )
    assert reason(answer) == (402, "payment_invalid")
    assert sentence in answer.json()["detail"]
    assert nothing_happened(shop)


def test_a_payment__with_the_least_time_left__is_taken(shop: Shop) -> None:
    assert shop.get(shop.payment(validBefore=str(int(time.time()) + 8))).status_code == 200


@pytest.mark.parametrize("side", ["from", "to"])
def test_a_payment__with_another_checksum__is_refused_naming_it(shop: Shop, side: str) -> None:
    payment = shop.payment()
    payment["payload"]["authorization"][side] = EXCHANGED
    answer = shop.get(payment)
    assert reason(answer) == (402, "payment_invalid")
    assert f"authorization.{side}: its EIP-55 checksum" in answer.json()["detail"]
    assert nothing_happened(shop)


def test_what_somebody_else_has_settled__is_said_to_be_used_and_serves_nobody(shop: Shop) -> None:
    payment = shop.payment()
    offered = PaymentRequirements.model_validate(payment["accepted"])
    assert shop.settler.real.settle(PaymentPayload.model_validate(payment), offered).success
    answer = shop.get(payment)
    assert reason(answer) == (402, "payment_invalid")
    assert "authorization.nonce: the token has seen it already" in answer.json()["detail"]
    assert shop.states() == []
