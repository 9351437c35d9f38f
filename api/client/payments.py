"""Paying for a call by x402 version 2, scheme `exact`: an EIP-3009 authorization that moves USDC
once.

    402 PAYMENT-REQUIRED {accepts} -> choose one within the limits -> sign -> the same call with PAYMENT-SIGNATURE
    200 PAYMENT-RESPONSE -> receipt

Laws
- Nothing is signed above a limit, in another asset or on another network than the payer was built
  with.
- A signature counts as spent when it is given, whatever the answer: whoever holds it may settle it
  until it expires.
- A payment is signed once a call; a call that is repeated carries the same one, which the token
  takes once.
Source: x402 v2 (transports-v2/http.md, scheme_exact_evm.md), EIP-3009.
"""

import base64
import binascii
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from api.client.money import usdc_e6, usdc_text
from api.client.signing import account_of, sign_typed_data

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

REQUEST_HEADER: Final = "PAYMENT-SIGNATURE"
RESPONSE_HEADER: Final = "PAYMENT-RESPONSE"
VERSION: Final = 2
SCHEME: Final = "exact"
# a signature stays good for no longer than this, whatever the offer asks for
LONGEST_S: Final = 600
BASE_SEPOLIA: Final = "eip155:84532"
BASE_SEPOLIA_USDC: Final = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_AUTHORIZATION: Final = [
    {"name": "from", "type": "address"},
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "validAfter", "type": "uint256"},
    {"name": "validBefore", "type": "uint256"},
    {"name": "nonce", "type": "bytes32"},
]
_DOMAIN: Final = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]


class WontPay(Exception):
    """No offer is within the payer's limits; the message says why of each."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call cost. `transaction` None: the service named none."""

    path: str
    amount_usdc: str
    pay_to: str
    transaction: str | None
    network: str


@dataclass(frozen=True, slots=True)
class Payment:
    """A signed payment. `header` is the value of PAYMENT-SIGNATURE."""

    header: str
    amount_usdc_e6: int
    pay_to: str


class Payer:
    """Signs payments from one wallet within limits.

    Amounts are text in USDC; safe to share between threads.

    `max_total_usdc` counts over the payer's life. `pay_to`: the one address that may be paid; None:
    any. `clock` gives unix seconds.
    """

    def __init__(
        self,
        wallet: "LocalAccount | str",
        *,
        max_per_call_usdc: str = "0.100000",
        max_total_usdc: str = "1.000000",
        network: str = BASE_SEPOLIA,
        asset: str = BASE_SEPOLIA_USDC,
        pay_to: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.account = account_of(wallet)
        self.max_per_call_usdc_e6 = usdc_e6(max_per_call_usdc)
        self.max_total_usdc_e6 = usdc_e6(max_total_usdc)
        self.network = network
        self.asset = asset
        self.pay_to = pay_to
        self.receipts: list[Receipt] = []
        self._clock = clock
        self._spent_usdc_e6 = 0
        self._lock = threading.Lock()

    @property
    def spent_usdc(self) -> str:
        """The sum of all that was signed."""
        return usdc_text(self._spent_usdc_e6)

    def pay(self, required: Mapping[str, Any]) -> Payment:
        """A payment for one of the offers of a 402's body. Errors: WontPay."""
        offers = [one for one in required.get("accepts", []) if isinstance(one, Mapping)]
        with self._lock:
            reasons = []
            for offer in offers:
                why = self._why_not(required, offer)
                if why is None:
                    self._spent_usdc_e6 += int(offer["amount"])
                    return self._signed(offer, required)
                reasons.append(why)
        raise WontPay("; ".join(reasons) or "the service offers no way to pay")

    def keep_receipt(self, path: str, payment: Payment, header: str | None) -> None:
        """`header`: the value of PAYMENT-RESPONSE, if one came."""
        settled = decoded(header)
        transaction = settled.get("transaction")
        known = transaction if isinstance(transaction, str) and transaction else None
        self.receipts.append(
            Receipt(path, usdc_text(payment.amount_usdc_e6), payment.pay_to, known, self.network)
        )

    def _why_not(self, required: Mapping[str, Any], offer: Mapping[str, Any]) -> str | None:
        """Why this offer is not paid; None: it is within the limits."""
        if required.get("x402Version") != VERSION:
            return f"x402 version {required.get('x402Version')!r} is not {VERSION}"
        if offer.get("scheme") != SCHEME:
            return f"scheme {offer.get('scheme')!r} is not {SCHEME}"
        if offer.get("network") != self.network:
            return f"network {offer.get('network')!r} is not {self.network}"
        if str(offer.get("asset", "")).lower() != self.asset.lower():
            return f"asset {offer.get('asset')!r} is not {self.asset}"
        if self.pay_to is not None and str(offer.get("payTo", "")).lower() != self.pay_to.lower():
            return f"payTo {offer.get('payTo')!r} is not {self.pay_to}"
        return _why_not_well_formed(offer) or self._why_not_so_much(offer.get("amount"))

    def _why_not_so_much(self, amount: Any) -> str | None:
        if not (
            isinstance(amount, str) and amount.isascii() and amount.isdigit() and int(amount) > 0
        ):
            return f"amount {amount!r} is not a whole number of base units"
        if int(amount) > self.max_per_call_usdc_e6:
            return (
                f"{usdc_text(int(amount))} USDC is above {usdc_text(self.max_per_call_usdc_e6)} "
                "a call"
            )
        if self._spent_usdc_e6 + int(amount) > self.max_total_usdc_e6:
            return (
                f"{usdc_text(int(amount))} USDC on top of {self.spent_usdc} is above "
                f"{usdc_text(self.max_total_usdc_e6)} in total"
            )
        return None

    def _signed(self, offer: Mapping[str, Any], required: Mapping[str, Any]) -> Payment:
        timeout_s = min(LONGEST_S, offer["maxTimeoutSeconds"])
        authorization = {
            "from": str(self.account.address),
            "to": str(offer["payTo"]),
            "value": str(offer["amount"]),
            "validAfter": "0",
            "validBefore": str(int(self._clock()) + timeout_s),
            "nonce": "0x" + secrets.token_hex(32),
        }
        signature = sign_typed_data(self.account, self._typed_data(offer, authorization))
        payload: dict[str, Any] = {
            "x402Version": VERSION,
            "accepted": dict(offer),
            "payload": {"signature": signature, "authorization": authorization},
        }
        if isinstance(required.get("resource"), Mapping):
            payload["resource"] = dict(required["resource"])
        header = base64.b64encode(json.dumps(payload, separators=(",", ":")).encode()).decode()
        return Payment(header, int(offer["amount"]), str(offer["payTo"]))

    def _typed_data(
        self, offer: Mapping[str, Any], authorization: Mapping[str, str]
    ) -> dict[str, Any]:
        """The token's domain: its contract and chain are the payer's own, only name and version are
        the offer's word.
        """
        extra = offer["extra"]
        numbers = {
            name: int(authorization[name]) for name in ("value", "validAfter", "validBefore")
        }
        return {
            "types": {"EIP712Domain": _DOMAIN, "TransferWithAuthorization": _AUTHORIZATION},
            "primaryType": "TransferWithAuthorization",
            "domain": {
                "name": extra["name"],
                "version": extra["version"],
                "chainId": int(self.network.partition(":")[2]),
                "verifyingContract": self.asset,
            },
            "message": {**authorization, **numbers},
        }


def _why_not_well_formed(offer: Mapping[str, Any]) -> str | None:
    """Fields that go into the signature, as x402 has them."""
    extra = offer.get("extra")
    if not (
        isinstance(extra, Mapping)
        and isinstance(extra.get("name"), str)
        and isinstance(extra.get("version"), str)
    ):
        return "extra lacks the token's name and version"
    if not _is_address(str(offer.get("payTo"))):
        return f"payTo {offer.get('payTo')!r} is not an address, or its checksum is wrong"
    seconds = offer.get("maxTimeoutSeconds")
    if not isinstance(seconds, int) or seconds < 1:
        return f"maxTimeoutSeconds {seconds!r} is not a number of seconds"
    return None


def _is_address(text: str) -> bool:
    """0x and 40 digits; in mixed case with its checksum (EIP-55), since a mistyped one is somebody
    else.
    """
    from eth_utils.address import to_checksum_address

    if not _ADDRESS.fullmatch(text):
        return False
    digits = text[2:]
    return digits in (digits.lower(), digits.upper()) or text == to_checksum_address(text.lower())


def decoded(header: str | None) -> dict[str, Any]:
    """The JSON object of a base64 header; {} when there is none or it is no such thing."""
    try:
        found = json.loads(base64.b64decode(header or "", validate=True))
    except (binascii.Error, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
