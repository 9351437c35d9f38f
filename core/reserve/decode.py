"""A log of the reserve token -> what it moved, by the ABI alone. Who emitted it is not looked at
here.

An amount that no contract can have is a node's lie: sums of such would fit no column, and a block with
one would never be written.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from core.chain.abi import AbiDecodeError, events_of
from core.chain.blocks import RawLog
from core.reserve.rules import ReserveEventKind, ReserveFact

CONTRACT: Final = "ReserveToken"
MOST_AMOUNT: Final = 2**128  # base units of USDC or of the token, exclusive
_MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], ReserveFact]]] = {
    "Bought": lambda args: ReserveFact(
        ReserveEventKind.BOUGHT,
        party=args["buyer"],
        recipient=args["recipient"],
        tokens=args["out"],
        usdc_e6=args["amountUsdc"],
    ),
    "Redeemed": lambda args: ReserveFact(
        ReserveEventKind.REDEEMED,
        party=args["holder"],
        tokens=args["amount"],
        usdc_e6=args["out"],
    ),
    "ConvertedToCredit": lambda args: ReserveFact(
        ReserveEventKind.CONVERTED,
        party=args["holder"],
        account_ref=args["accountRef"],
        tokens=args["amount"],
        usdc_e6=args["usdcPaid"],
    ),
    "TreasuryPaid": lambda args: ReserveFact(
        ReserveEventKind.TREASURY_PAID, party=args["treasury"], usdc_e6=args["amount"]
    ),
    "TreasuryChanged": lambda args: ReserveFact(
        ReserveEventKind.TREASURY_CHANGED, party=args["newTreasury"]
    ),
    "Paused": lambda args: ReserveFact(ReserveEventKind.PAUSED),
    "Unpaused": lambda args: ReserveFact(ReserveEventKind.UNPAUSED),
}
_EVENTS: Final = {
    topic: event for topic, event in events_of(CONTRACT).items() if event.name in _MAKERS
}
TOPICS: Final = tuple(sorted(_EVENTS))
CONVERTED_TOPIC: Final = next(
    topic for topic, event in _EVENTS.items() if event.name == "ConvertedToCredit"
)


def is_event_of_reserve(log: RawLog) -> bool:
    """Whether its topic is one that is kept: transfers of tokens and handovers are not."""
    return bool(log.topics) and log.topics[0] in _EVENTS


def decode_reserve_log(log: RawLog) -> ReserveFact:
    """Errors: AbiDecodeError when the body is not what the ABI says, an amount is out of range, or no
    event is kept by that topic.
    """
    if not is_event_of_reserve(log):
        raise AbiDecodeError("not an event of the reserve token that the record keeps")
    event = _EVENTS[log.topics[0]]
    fact = _MAKERS[event.name](event.decode(log.topics, log.data))
    if max(fact.tokens, fact.usdc_e6) >= MOST_AMOUNT:
        raise AbiDecodeError("an amount that the reserve token cannot have")
    return fact
