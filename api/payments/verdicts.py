"""What a facilitator says no with, as a sentence that names the field, its rule and what to do.
x402's codes are for programs.
"""

from collections.abc import Mapping
from typing import Final

from x402.mechanisms.evm import constants as x402

from api.payments.payment_config import LEAST_LEFT_S, MAX_TIMEOUT_S

NO_REASON: Final = "no reason given"

_OFFERED: Final = "take it from accepts"
_WALLET: Final = (
    "a contract wallet must be deployed before it pays; deploy it, or pay from another account"
)

SENTENCES: Final[Mapping[str, str]] = {
    x402.ERR_INVALID_SIGNATURE: (
        "payload.signature: it is not the signature of authorization.from over this "
        "authorization; sign the typed data TransferWithAuthorization in the domain that "
        "accepts names (extra.name, extra.version, the chain of network, asset)"
    ),
    x402.ERR_VALID_BEFORE_EXPIRED: (
        f"authorization.validBefore: at least {LEAST_LEFT_S} s must be left; sign one that "
        f"holds {MAX_TIMEOUT_S} s from now"
    ),
    x402.ERR_VALID_AFTER_FUTURE: (
        "authorization.validAfter: it must be in the past; sign one with validAfter 0, or check "
        "your clock"
    ),
    x402.ERR_NONCE_ALREADY_USED: "authorization.nonce: the token has seen it already; sign with 32 new random bytes",
    x402.ERR_INSUFFICIENT_BALANCE: (
        "authorization.from: it holds less than authorization.value; fund it, or pay from "
        "another account"
    ),
    x402.ERR_RECIPIENT_MISMATCH: f"authorization.to: it is not the payee; {_OFFERED} (payTo)",
    x402.ERR_AUTHORIZATION_VALUE_MISMATCH: f"authorization.value: it is not the amount; {_OFFERED} (amount)",
    x402.ERR_NETWORK_MISMATCH: f"accepted.network: the facilitator settles on another chain; {_OFFERED}",
    x402.ERR_UNSUPPORTED_SCHEME: f"accepted.scheme: the facilitator does not settle it; {_OFFERED}",
    x402.ERR_MISSING_EIP712_DOMAIN: f"accepted.extra: name and version of the token's domain are missing; {_OFFERED}",
    x402.ERR_TOKEN_NAME_MISMATCH: f"accepted.extra.name: it is not the token's; {_OFFERED}",
    x402.ERR_TOKEN_VERSION_MISMATCH: f"accepted.extra.version: it is not the token's; {_OFFERED}",
    x402.ERR_UNDEPLOYED_SMART_WALLET: f"authorization.from: {_WALLET}",
    x402.ERR_SMART_WALLET_DEPLOYMENT_FAILED: f"authorization.from: {_WALLET}",
    x402.ERR_FACTORY_NOT_ALLOWED: f"payload.signature: {_WALLET}",
    x402.ERR_TRANSACTION_SIMULATION_FAILED: (
        "payload.authorization: the token rejected it in a simulation; check its fields and "
        "the balance of authorization.from"
    ),
    x402.ERR_TRANSACTION_FAILED: (
        "payload.authorization: the transaction that settles it reverted; check that its nonce "
        "is unused"
    ),
    x402.ERR_TRANSFER_EVENT_MISMATCH: (
        "payload.authorization: the transaction moved something other than it states; check "
        "its fields"
    ),
    x402.ERR_ASSET_NOT_DEPLOYED_CONTRACT: f"accepted.asset: there is no such token on this chain; {_OFFERED}",
    x402.ERR_EIP3009_NOT_SUPPORTED: f"accepted.asset: the token does not support transfers by authorization; {_OFFERED}",
}


def sentence_of(code: str | None) -> str:
    """The sentence without its full stop, the code behind it.

    A code that nobody knows is said as it came, shortened.
    """
    if not code:
        return NO_REASON
    known = SENTENCES.get(code)
    return f"the facilitator says {code[:80]}" if known is None else f"{known} ({code})"
