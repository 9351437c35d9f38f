"""x402 in `_meta`, both ways."""

import base64
import json
from typing import Any

import pytest

from api.kernel.outcome import Outcome
from api.kernel.sale import SentPayment
from api.tools.payment import payment_of, receipt_meta
from tests.each import each

PAYMENT = {"x402Version": 2, "payload": {"transaction": "0x12"}}


def decoded(sent: SentPayment) -> Any:
    assert (sent.v2 is not None, sent.v1) == (True, None)
    return base64.b64decode(str(sent.v2)).decode()


@each("meta", [None, {}, {"x402/payment": None}, {"other": PAYMENT}])
def test_a_call_without_a_payment__sends_none(meta: dict[str, Any] | None) -> None:
    assert payment_of(meta) == SentPayment()


@pytest.mark.parametrize("sent", [PAYMENT, json.dumps(PAYMENT)])
def test_a_payment__is_what_the_header_would_carry(sent: Any) -> None:
    assert json.loads(decoded(payment_of({"x402/payment": sent}))) == PAYMENT


@each("sent", [7, True, [PAYMENT], "no JSON"])
def test_what_is_no_payment__is_sent_on_to_be_refused(sent: Any) -> None:
    assert decoded(payment_of({"x402/payment": sent})) in ("", "no JSON")


def test_a_receipt__stands_in_the_result() -> None:
    settled = {"success": True, "transaction": "0x34"}
    header = base64.b64encode(json.dumps(settled).encode()).decode()
    assert receipt_meta(Outcome(200, {}, {"PAYMENT-RESPONSE": header})) == {
        "x402/payment-response": settled
    }
    assert receipt_meta(Outcome(200, {}, {})) == {}
