"""A payment is public once it is sent to settle: it serves whoever sent it here first, and nobody
who has read it in its transaction.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from eth_abi.abi import decode
from eth_account import Account
from httpx import Response
from starlette.testclient import TestClient

from api.main import create_app
from core.payments import queries as payments
from tests.integration.api.conftest import login
from tests.integration.api.payments.shop import BASE_URL, PAGE, PRICE, Shop, encoded, reason
from tests.integration.api.payments.test_payments_crash import crash

STRONG = {"Idempotency-Key": "b8Vn3kQx7RmT2wYzL5pDcA"}
OTHER_STRONG = {"Idempotency-Key": "q1Wn3kQx7RmT2wYzL5pDcA"}
SHORT = {"Idempotency-Key": "page-1"}
SIGNATURE = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"]
FIELDS = ("from", "to", "value", "validAfter", "validBefore")
PAYERS_ADDRESS, THIEFS_ADDRESS = "203.0.113.9", "198.51.100.66"

Send = Callable[..., Response]


def at(shop: Shop, address: str) -> Send:
    client = TestClient(create_app(shop.deps), base_url=BASE_URL, client=(address, 5000))

    def send(payment: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
        return client.get(PAGE, headers={**(headers or {}), "PAYMENT-SIGNATURE": encoded(payment)})

    return send


@pytest.fixture
def payer(shop: Shop) -> Send:
    return at(shop, PAYERS_ADDRESS)


@pytest.fixture
def thief(shop: Shop) -> Send:
    return at(shop, THIEFS_ADDRESS)


@pytest.fixture(autouse=True)
def _no_long_wait_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A settlement that no block takes is answered at once."""
    monkeypatch.setattr("api.payments.own_settler.CONFIRM_WITHIN_S", 0.3)


@contextmanager
def no_blocks(shop: Shop) -> Iterator[None]:
    """What is sent meanwhile waits in the mempool, and is mined when the block ends."""
    shop.chain.rpc.call("evm_setAutomine", [False])
    try:
        yield
    finally:
        shop.chain.rpc.call("evm_setAutomine", [True])
        shop.chain.rpc.call("evm_mine", [])


def read_in_the_mempool(shop: Shop, offer: dict[str, Any]) -> dict[str, Any]:
    """The payment as whoever watches the mempool makes it again from the transaction alone."""
    pending = shop.chain.rpc.call("txpool_content", [])["pending"]
    usdc = shop.chain.contracts["usdc"].lower()
    found = [tx for of in pending.values() for tx in of.values() if tx["to"].lower() == usdc]
    *times, nonce, signature = decode(SIGNATURE, bytes.fromhex(found[0]["input"][10:]))
    authorization = dict(zip(FIELDS, map(str, times), strict=True)) | {"nonce": "0x" + nonce.hex()}
    return {
        "x402Version": 2,
        "accepted": offer,
        "payload": {"authorization": authorization, "signature": "0x" + signature.hex()},
    }


def pending_and_stolen(
    shop: Shop, send: Send, headers: dict[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A payment whose first call was answered settlement_pending, and the thief's copy."""
    payment = shop.payment(validBefore=str(int(time.time()) + 600))
    offer = shop.offer()
    with no_blocks(shop):
        assert reason(send(payment, headers)) == (503, "settlement_pending")
        stolen = read_in_the_mempool(shop, offer)
    return payment, stolen


def test_a_payer_without_a_key__is_served_and_not_who_read_the_payment_in_the_mempool(
    shop: Shop, payer: Send, thief: Send
) -> None:
    """A stock client sends the same header again and no key: its network address says that it is
    the one.
    """
    payment, stolen = pending_and_stolen(shop, payer)
    refused = thief(stolen)
    assert reason(refused) == (402, "payment_already_used")
    assert "the same network address" in refused.json()["detail"]
    assert payer(payment).status_code == 200
    assert shop.income == PRICE


@pytest.mark.parametrize("guess", [{}, OTHER_STRONG], ids=["no key", "another key"])
def test_a_payer_with_a_random_key__is_served_wherever_it_calls_from_and_nobody_beside_it(
    shop: Shop, payer: Send, thief: Send, guess: dict[str, str]
) -> None:
    """Its key has 128 bits, so that a thief at the same network address does not know it."""
    payment, stolen = pending_and_stolen(shop, payer, STRONG)
    assert reason(payer(stolen, guess)) == (402, "payment_already_used")
    moved = thief
    assert moved(payment, STRONG).status_code == 200
    assert shop.income == PRICE


def test_a_short_key_of_a_payer__is_no_proof_and_its_address_is(
    shop: Shop, payer: Send, thief: Send
) -> None:
    payment, stolen = pending_and_stolen(shop, payer, SHORT)
    assert reason(thief(stolen, SHORT)) == (402, "payment_already_used")
    assert payer(payment, SHORT).status_code == 200


def test_a_payer_that_adds_a_key_when_it_sends_again__is_served(shop: Shop, payer: Send) -> None:
    payment, _ = pending_and_stolen(shop, payer)
    assert payer(payment, STRONG).status_code == 200


def test_an_owners_payment__is_served_to_its_session_from_anywhere_and_to_nobody_without(
    shop: Shop, payer: Send, thief: Send
) -> None:
    owner, other = login(shop.client, Account.create()), login(shop.client, Account.create())
    payment, stolen = pending_and_stolen(shop, payer, owner)
    assert reason(payer(stolen)) == (402, "payment_already_used")
    assert reason(payer(stolen, other)) == (402, "payment_already_used")
    assert thief(payment, owner).status_code == 200


def test_a_payment_that_settled_when_its_call_died__serves_its_payer_and_no_thief(
    shop: Shop, payer: Send, thief: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = shop.payment()
    with monkeypatch.context() as patch:
        patch.setattr(payments, "mark_served", crash)
        assert payer(payment).status_code == 500
    assert shop.states() == ["settled"]
    assert reason(thief(payment)) == (402, "payment_already_used")
    assert payer(payment).status_code == 200
    assert shop.income == PRICE


def test_the_row_of_a_payment__holds_neither_key_nor_address(shop: Shop, payer: Send) -> None:
    with no_blocks(shop):
        payer(shop.payment(), STRONG)
        payer(shop.payment())
        with shop.database.read() as session:
            rows = [row.sent_by for row in session.query(payments.X402Payment)]
    assert len(set(rows)) == 2
    assert {len(one or b"") for one in rows} == {32}
