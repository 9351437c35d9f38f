"""The header PAYMENT-SIGNATURE, read strictly: what is not exactly an offer of ours is refused with
the field's name.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from x402.schemas import PaymentPayload, PaymentRequirements

from api.kernel.operation import Refusal
from api.kernel.sale import MeteredRead
from api.payments.offer import unpaid
from api.payments.payment_config import LEAST_LEFT_S, MAX_TIMEOUT_S
from core.chain.signatures import kept_signature
from core.hexes import bytes_of, checksum_address, read_account
from core.mandate.chain.typed_data import transfer_authorization
from core.payments.rules import Authorization

VERSION = 2
SECONDS = "unix seconds, below 2^64"

_NUMBER = re.compile(r"\d{1,78}", re.ASCII)
_UINT64 = re.compile(r"\d{1,20}", re.ASCII)
_MAX_UINT64 = 2**64 - 1
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")
_SIGNATURE = re.compile(r"0x([0-9a-fA-F]{2}){64,4096}")


@dataclass(frozen=True, slots=True)
class SignedAuthorization:
    """What the scheme `exact` carries.

    Times are unix seconds: valid_after < time < valid_before.
    """

    authorization: Authorization
    valid_after: int
    valid_before: int
    signature: str

    @property
    def identity(self) -> tuple[bytes, bytes, bytes]:
        """What identifies a payment: asset, payer, nonce."""
        wanted = self.authorization
        return bytes_of(wanted.token), bytes_of(wanted.payer), bytes_of(wanted.nonce)


def payload_of(read: MeteredRead, header: str) -> PaymentPayload:
    """Errors: Refusal payment_invalid."""
    try:
        raw = json.loads(base64.b64decode(header, validate=True))
        version = raw.get("x402Version") if isinstance(raw, dict) else None
        if version != VERSION:
            raise _invalid(
                read,
                f"PAYMENT-SIGNATURE: x402Version is {str(version)[:20]}; this service speaks "
                "version 2",
            )
        payload = PaymentPayload.model_validate(raw)
    except (binascii.Error, ValueError, RecursionError, ValidationError):
        raise _invalid(
            read, "PAYMENT-SIGNATURE: it is not the base64 of a JSON payment of x402 version 2"
        ) from None
    if payload.resource is not None and payload.resource.url != read.resource:
        raise _invalid(
            read,
            f"PAYMENT-SIGNATURE: the payment names another resource; this one is {read.resource}",
        )
    return payload


def require_offered(
    read: MeteredRead, accepted: PaymentRequirements, offer: PaymentRequirements
) -> None:
    """`accepted` is what the payer says that it pays.

    Errors: Refusal payment_invalid that names the first field that differs.
    """
    for field in ("network", "asset", "amount", "pay_to"):
        stated, wanted = str(getattr(accepted, field)), str(getattr(offer, field))
        if stated.lower() != wanted.lower():
            raise _invalid(
                read, f"PAYMENT-SIGNATURE: accepted.{_camel(field)} is {stated[:80]}; pay {wanted}"
            )


def authorization_of(
    read: MeteredRead, payload: PaymentPayload, offer: PaymentRequirements
) -> SignedAuthorization:
    """Errors: Refusal payment_invalid."""
    sent = payload.payload.get("authorization")
    if not isinstance(sent, dict):
        raise _invalid(
            read, "PAYMENT-SIGNATURE: payload.authorization is missing; sign an EIP-3009 transfer"
        )
    payer, pay_to = _account(read, sent, "from"), _account(read, sent, "to")
    amount = int(_text(read, sent, "value", _NUMBER, "base units in decimal digits"))
    token = checksum_address(offer.asset)
    nonce = _text(read, sent, "nonce", _WORD, "32 bytes in hex").lower()
    times = _unix_seconds(read, sent, "validAfter"), _unix_seconds(read, sent, "validBefore")
    signature = _text(read, payload.payload, "signature", _SIGNATURE, "64 bytes or more in hex")
    if pay_to.lower() != offer.pay_to.lower():
        raise _invalid(read, f"PAYMENT-SIGNATURE: authorization.to is {pay_to}; pay {offer.pay_to}")
    if amount != int(offer.amount):
        raise _invalid(
            read,
            f"PAYMENT-SIGNATURE: authorization.value is {amount}; pay exactly {offer.amount} "
            "base units",
        )
    digest = transfer_authorization(
        token, read.deps.chain_id, payer, pay_to, amount, *times, nonce
    ).digest
    return SignedAuthorization(
        Authorization(token=token, payer=payer, nonce=nonce, pay_to=pay_to, amount=amount),
        *times,
        signature=kept_signature(payer, digest, signature.lower()),
    )


def require_in_time(read: MeteredRead, signed: SignedAuthorization) -> None:
    """Errors: Refusal payment_invalid, for a payment that the token would not take now, or not for
    long enough to be mined.
    """
    now = int(read.now.timestamp())
    if now <= signed.valid_after:
        raise _invalid(
            read,
            "PAYMENT-SIGNATURE: authorization.validAfter is unix second "
            f"{signed.valid_after}, and it is {now}; it must be past",
        )
    if now + LEAST_LEFT_S > signed.valid_before:
        rule = (
            f"at least {LEAST_LEFT_S} s must be left; sign one that holds {MAX_TIMEOUT_S} s from "
            "now"
        )
        raise _invalid(
            read,
            "PAYMENT-SIGNATURE: authorization.validBefore is unix second "
            f"{signed.valid_before}, and it is {now}; {rule}",
        )


def _unix_seconds(read: MeteredRead, holder: dict[str, Any], field: str) -> int:
    seconds = int(_text(read, holder, field, _UINT64, SECONDS))
    if seconds > _MAX_UINT64:
        raise _misformed(read, field, SECONDS)
    return seconds


def _account(read: MeteredRead, holder: dict[str, Any], field: str) -> str:
    try:
        return read_account(holder.get(field))
    except ValueError as error:
        raise _invalid(read, f"PAYMENT-SIGNATURE: authorization.{field}: {error}") from error


def _text(
    read: MeteredRead, holder: dict[str, Any], field: str, form: re.Pattern[str], rule: str
) -> str:
    value = holder.get(field)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _misformed(read, field, rule)
    return value


def _misformed(read: MeteredRead, field: str, rule: str) -> Refusal:
    return _invalid(read, f"PAYMENT-SIGNATURE: {field} is malformed; write {rule}")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _invalid(read: MeteredRead, sentence: str) -> Refusal:
    return unpaid(read, "payment_invalid", sentence + ".")
