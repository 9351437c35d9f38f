"""What the venue answers about positions, markets and orders, parsed: hostile until it has passed
here (core.perps.rules.answers).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.perps.rules.answers import DECIMALS, VenueAnswerError, decimal_e18, object_of
from core.perps.rules.orders import (
    OrderAnswer,
    OrderOutcome,
    VenueMarket,
    VenuePosition,
)

MOST_POSITIONS = 1_000
MOST_ASSETS = 10_000
MOST_DEXS = 10_000  # an asset number is an int4
MOST_SIZE_DECIMALS = 8
MOST_WORDS = 200  # characters of what the venue says of a refusal
BUILDER_OFFSET, BUILDER_STEP = 110_000, 10_000  # of asset numbers of markets that builders deployed
_COIN = re.compile(r"[A-Za-z0-9]{1,16}(?::[A-Za-z0-9]{1,16})?", re.ASCII)
_E8_IN_E18: int = 10 ** (DECIMALS - 8)


def positions_of(state: Any) -> tuple[VenuePosition, ...]:
    """assetPositions of clearinghouseState, those of size 0 left out. Errors: VenueAnswerError."""
    rows = _list(object_of(state, "clearinghouseState").get("assetPositions"), "assetPositions")
    if len(rows) > MOST_POSITIONS:
        raise VenueAnswerError("assetPositions is too long")
    found = [object_of(object_of(row, "a row").get("position"), "position") for row in rows]
    sized = [(_coin(row.get("coin")), _e8(row.get("szi"), "szi")) for row in found]
    return tuple(VenuePosition(coin=coin, size_e8=size) for coin, size in sized if size)


def asset_offset(dexs: Any, dex: str) -> int:
    """Of the asset numbers of a market that builders deployed. Errors: VenueAnswerError."""
    rows = _list(dexs, "perpDexs")[1:MOST_DEXS]
    names = [row.get("name") for row in rows if isinstance(row, Mapping)]
    if dex not in names:
        raise VenueAnswerError("perpDexs does not have the leg's dex")
    return BUILDER_OFFSET + BUILDER_STEP * names.index(dex)


def market_of(meta: Any, mids: Any, coin: str, offset: int) -> VenueMarket:
    """One coin's market of meta and allMids. Errors: VenueAnswerError."""
    universe = _list(object_of(meta, "meta").get("universe"), "universe")[:MOST_ASSETS]
    for number, row in enumerate(universe):
        one = object_of(row, "an asset")
        if one.get("name") == coin:
            decimals = one.get("szDecimals")
            if type(decimals) is not int or not 0 <= decimals <= MOST_SIZE_DECIMALS:
                raise VenueAnswerError("szDecimals is not a number of decimals")
            mid = decimal_e18(object_of(mids, "allMids").get(coin), "mid") // _E8_IN_E18
            if mid <= 0:
                raise VenueAnswerError("the mid is not above 0")
            return VenueMarket(asset=offset + number, size_decimals=decimals, mid_e8=mid)
    raise VenueAnswerError("meta does not have a coin that a position is of")


def answer_of_send(answer: Any) -> OrderAnswer:
    """Of an action with one order. Errors: VenueAnswerError."""
    whole = object_of(answer, "the answer")
    if whole.get("status") == "err":
        return _rejected(whole.get("response"))
    response = object_of(whole.get("response"), "response")
    statuses = _list(object_of(response.get("data"), "data").get("statuses"), "statuses")
    if len(statuses) != 1:
        raise VenueAnswerError("statuses is not of one order")
    status = object_of(statuses[0], "a status")
    if "filled" in status:
        filled = object_of(status["filled"], "filled")
        return OrderAnswer(
            outcome=OrderOutcome.ACCEPTED,
            avg_px_e8=_above_0(_e8(filled.get("avgPx"), "avgPx", is_exact=False), "avgPx"),
            total_sz_e8=_above_0(_e8(filled.get("totalSz"), "totalSz"), "totalSz"),
            oid=_oid(filled.get("oid")),
        )
    if "resting" in status:
        resting = object_of(status["resting"], "resting")
        return OrderAnswer(
            outcome=OrderOutcome.ACCEPTED, total_sz_e8=0, oid=_oid(resting.get("oid"))
        )
    if "error" in status:
        return _rejected(status["error"])
    raise VenueAnswerError("a status is none that is documented")


def answer_by_cloid(answer: Any) -> OrderAnswer | None:
    """Of orderStatus; None: the venue does not know the order. Errors: VenueAnswerError."""
    whole = object_of(answer, "orderStatus")
    if whole.get("status") == "unknownOid":
        return None
    if whole.get("status") != "order":
        raise VenueAnswerError("orderStatus is none that is documented")
    found = object_of(whole.get("order"), "order")
    order, status = object_of(found.get("order"), "order.order"), found.get("status")
    if not isinstance(status, str):
        raise VenueAnswerError("order.status is not a word")
    if status.lower().endswith("rejected"):
        return _rejected(status, _oid(order.get("oid")))
    filled = _e8(order.get("origSz"), "origSz") - _e8(order.get("sz"), "sz")
    return OrderAnswer(
        outcome=OrderOutcome.ACCEPTED, total_sz_e8=max(0, filled), oid=_oid(order.get("oid"))
    )


def _rejected(words: Any, oid: int | None = None) -> OrderAnswer:
    """What the venue says of it is shown, so that it is printable and short; no text: nothing."""
    text = ascii(words)[1:-1][:MOST_WORDS] if isinstance(words, str) else ""
    return OrderAnswer(outcome=OrderOutcome.REJECTED, oid=oid, venue_words=text or None)


def _e8(value: Any, name: str, *, is_exact: bool = True) -> int:
    """Rounded down, where it need not be exact."""
    whole, rest = divmod(decimal_e18(value, name), _E8_IN_E18)
    if rest and is_exact:
        raise VenueAnswerError(f"{name} has more than 8 decimals")
    return whole


def _above_0(value: int, name: str) -> int:
    if value <= 0:
        raise VenueAnswerError(f"{name} is not above 0")
    return value


def _coin(value: Any) -> str:
    if not isinstance(value, str) or not _COIN.fullmatch(value):
        raise VenueAnswerError("coin is not a name")
    return value


def _oid(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise VenueAnswerError("oid is not a number")
    return value


def _list(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise VenueAnswerError(f"{name} is not a list")
    return value
