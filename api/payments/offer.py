"""The payable 402: what a call costs, and the forms of payment that it takes (x402 version 2;
docs/rules.md#kinds-of-402).

Body and header PAYMENT-REQUIRED carry the same `accepts`: first `exact`, an EIP-3009 authorization
that any x402 client signs, then `vault`, the adapter's event of a vault, which signs nothing.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from x402.http.constants import PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER
from x402.schemas import PaymentRequired, PaymentRequirements, ResourceInfo, SettleResponse

from api.kernel.operation import Refusal
from api.kernel.outcome import Outcome
from api.kernel.sale import MeteredRead
from api.payments.payment_config import MAX_TIMEOUT_S, PaymentConfig
from core.db.engine import WriteSession
from core.payments.chain import resource_hash

EXACT, VAULT = "exact", "vault"
CREDITS, USDC = "credits", "usdc"  # what something that is sold once was paid by
ADAPTER = "x402_adapter"


@dataclass(frozen=True, slots=True)
class Till:
    """Where a payment is taken: a session that stays on one connection, and the answer that it pays
    for.
    """

    session: WriteSession
    read: MeteredRead
    payment_config: PaymentConfig
    outcome: Outcome

    def serve(self) -> None:
        """End the transaction that serves; it keeps the answer to the idempotency key, and that
        what is sold once is sold.
        """
        if self.read.sale is not None:
            self.read.sale.record(self.session, USDC)
        if self.read.slot is not None:
            self.read.slot.keep(self.session, self.outcome, self.read.now)
        self.session.commit()


def exact_requirements(read: MeteredRead, payment_config: PaymentConfig) -> PaymentRequirements:
    extra = {"name": payment_config.asset_name, "version": payment_config.asset_version}
    return _requirements(read, payment_config, EXACT, extra)


def vault_requirements(
    read: MeteredRead, payment_config: PaymentConfig
) -> PaymentRequirements | None:
    """None: no adapter is deployed."""
    adapter = read.deps.contracts.get(ADAPTER)
    if adapter is None:
        return None
    return _requirements(
        read,
        payment_config,
        VAULT,
        {"adapter": adapter, "resourceHash": resource_hash(read.resource)},
    )


def _requirements(
    read: MeteredRead, payment_config: PaymentConfig, scheme: str, extra: Mapping[str, Any]
) -> PaymentRequirements:
    return PaymentRequirements(
        scheme=scheme,
        network=payment_config.network,
        asset=payment_config.asset,
        amount=str(read.amount_usdc_e6),
        pay_to=payment_config.pay_to,
        max_timeout_seconds=MAX_TIMEOUT_S,
        extra=dict(extra),
    )


def unpaid(
    read: MeteredRead,
    reason: str,
    detail: str,
    *,
    failed: SettleResponse | None = None,
    block: Mapping[str, Any] | None = None,
) -> Refusal:
    """The 402 that says how to pay.

    `failed` adds the facilitator's answer in PAYMENT-RESPONSE, `block` fields to the block.
    """
    required = payment_required(read, detail)
    if required is None:
        return Refusal(reason, detail, block=block or {})
    headers = {PAYMENT_REQUIRED_HEADER: _header(required)}
    if failed is not None:
        headers[PAYMENT_RESPONSE_HEADER] = _header(failed)
    return Refusal(
        reason,
        detail,
        extra=required.model_dump(by_alias=True, exclude_none=True),
        block=block or {},
        headers=headers,
    )


def takes_usdc(read: MeteredRead) -> bool:
    """Whether a payment can stand beside credits; else no sentence speaks of `accepts`."""
    return read.deps.parts.find(PaymentConfig) is not None and read.amount_usdc_e6 is not None


def payment_required(read: MeteredRead, detail: str) -> PaymentRequired | None:
    """None: it can't be paid in USDC here."""
    payment_config = read.deps.parts.find(PaymentConfig)
    if payment_config is None or read.amount_usdc_e6 is None:
        return None
    offers = (exact_requirements(read, payment_config), vault_requirements(read, payment_config))
    return PaymentRequired(
        error=detail,
        resource=ResourceInfo(
            url=read.resource,
            description=read.operation.summary,
            mime_type=read.operation.media[0],
        ),
        accepts=[offer for offer in offers if offer is not None],
    )


def receipt_header(settled: SettleResponse) -> dict[str, str]:
    return {PAYMENT_RESPONSE_HEADER: _header(settled)}


def _header(model: PaymentRequired | SettleResponse) -> str:
    return base64.b64encode(
        model.model_dump_json(by_alias=True, exclude_none=True).encode()
    ).decode()
