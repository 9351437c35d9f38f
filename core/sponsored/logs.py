"""What the logs of a block say of EIP-3009 authorizations. Pure.

USDC logs a transfer right after the use of its authorization, and the reserve token logs a purchase
right before it; neighbours in one transaction belong together, and nothing else does:

    Transfer (mint)  Bought  AuthorizationUsed  Transfer          a purchase by authorization
                             AuthorizationUsed  Transfer          any other

Of USDC no other contract is believed, and of a purchase the quoted token alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from core.chain.abi import AbiDecodeError, EventAbi, events_of, topic_of
from core.chain.blocks import RawLog
from core.hexes import checksum_address

USED, CANCELED = "AuthorizationUsed", "AuthorizationCanceled"
WORD_CHARACTERS = len("0x") + 64


@dataclass(frozen=True, slots=True)
class TokenPurchase:
    """`token`: who says so; whoever reads it believes one contract alone."""

    token: str
    buyer: str
    recipient: str
    amount_usdc_e6: int
    tokens: int


@dataclass(frozen=True, slots=True)
class AuthorizationLog:
    """`paid`: (payee, base units) of what moved; None: it was cancelled.

    `purchase`: what a token says right before it.
    """

    authorizer: str
    nonce: str
    paid: tuple[str, int] | None
    purchase: TokenPurchase | None
    log: RawLog


def authorization_topics() -> tuple[str, str]:
    """Topic 0 of the two."""
    return topic_of(USED), topic_of(CANCELED)


@cache
def bought_event() -> EventAbi:
    """ReserveToken's Bought."""
    return next(one for one in events_of("ReserveToken").values() if one.name == "Bought")


def authorizations_in(logs: Iterable[RawLog], usdc: str) -> tuple[AuthorizationLog, ...]:
    """Every use and cancellation, in order. A log that is not of the form is none."""
    by_place = {(log.tx_hash, log.log_index): log for log in logs}
    found = []
    used, canceled = authorization_topics()
    for log in by_place.values():
        if log.address != usdc or len(log.topics) != 3 or log.topics[0] not in (used, canceled):
            continue
        authorizer = _address(log.topics[1])
        if log.topics[0] == canceled:
            found.append(AuthorizationLog(authorizer, log.topics[2], None, None, log))
            continue
        after = by_place.get((log.tx_hash, log.log_index + 1))
        before = by_place.get((log.tx_hash, log.log_index - 1))
        paid = _transfer(after, usdc, log.topics[1])
        found.append(
            AuthorizationLog(
                authorizer,
                log.topics[2],
                paid or ("", 0),
                _purchase(before),
                log,
            )
        )
    return tuple(found)


def _transfer(log: RawLog | None, usdc: str, payer_word: str) -> tuple[str, int] | None:
    if log is None or log.address != usdc or len(log.topics) != 3:
        return None
    is_transfer = log.topics[0] == topic_of("Transfer") and log.topics[1] == payer_word
    if not is_transfer or len(log.data) != WORD_CHARACTERS:
        return None
    return _address(log.topics[2]), int(log.data, 16)


def _purchase(log: RawLog | None) -> TokenPurchase | None:
    bought = bought_event()
    if log is None or log.topics[:1] != (bought.topic,):
        return None
    try:
        args = bought.decode(log.topics, log.data)
    except AbiDecodeError:
        return None
    return TokenPurchase(
        log.address, args["buyer"], args["recipient"], args["amountUsdc"], args["out"]
    )


def _address(word: str) -> str:
    return checksum_address("0x" + word[26:])
