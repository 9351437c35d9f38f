"""x402 of a tool's call: what HTTP carries in headers is in `_meta` (x402 v2, MCP transport).

    params._meta["x402/payment"]            a payment, as PAYMENT-SIGNATURE has it in base64
    result._meta["x402/payment-response"]   what came of it, as PAYMENT-RESPONSE has it in base64

A payable refusal needs nothing here: its body, structured and as text, is the PaymentRequired
object with the refusal beside it.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from x402.http.constants import PAYMENT_RESPONSE_HEADER
from x402.mcp.constants import MCP_PAYMENT_META_KEY, MCP_PAYMENT_RESPONSE_META_KEY

from api.kernel.http import json_text
from api.kernel.outcome import Outcome
from api.kernel.sale import SentPayment


def payment_of(meta: Mapping[str, Any] | None) -> SentPayment:
    """The payment of a call as its twin would get it.

    What is no payment is for the kernel to refuse, not to be overlooked.
    """
    sent = None if meta is None else meta.get(MCP_PAYMENT_META_KEY)
    if sent is None:
        return SentPayment()
    text = sent if isinstance(sent, str) else json_text(sent) if isinstance(sent, dict) else ""
    return SentPayment(v2=base64.b64encode(text.encode()).decode())


def receipt_meta(outcome: Outcome) -> dict[str, Any]:
    """The entry of the result's `_meta`, or nothing where nothing was paid."""
    header = outcome.headers.get(PAYMENT_RESPONSE_HEADER)
    return (
        {}
        if header is None
        else {MCP_PAYMENT_RESPONSE_META_KEY: json.loads(base64.b64decode(header))}
    )
