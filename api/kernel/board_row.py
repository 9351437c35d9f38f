"""A listing as the board, search and token pages show it (docs/board.md#a-row).

Laws
- Unknown is null: never open, closed, F or 0.
- Figures are of markets, not money: JSON numbers with eight significant digits.
- `simulated` is there, and true, where the data is of a simulated world.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from api.kernel.operation import AnswerBody, ReadCall
from core.errors import InvalidParameterError
from core.listings.rules import EXCHANGES, TICKER_PATTERN, exchange_of
from core.market import board_views
from core.market.rules.grade import Letter
from core.market.tables import MarketListingState, MarketWarningStanding
from core.times import instant_text, instant_text_or_none

STALE_AFTER_LOOKS: Final = 3  # a listing that was not measured for so long is stale
LEAST_STALE_S: Final = 180
DIGITS: Final = 8

TransferWord = Literal["open", "closed", "unknown"]
LetterWord = Literal["A", "B", "C", "D", "F"]


def _short(value: Any) -> float | None:
    """Eight significant digits; what is not finite is not known."""
    if value is None or not isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


Figure = Annotated[
    float | None,
    BeforeValidator(_short),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]}),
]
"""A figure of a market; null: unknown."""


class ShownGradeInputs(AnswerBody):
    """Medians over the trailing 24 hours."""

    depth_usd: Figure = Field(description="the smaller of bid and ask depth within 2 % of the mid")
    spread_bps: Figure
    slip_10k_bps: Figure = Field(
        description="of 10,000 dollars on the worse side; null: the book ends before"
    )
    volume_24h_usd: Figure
    volume_30d_usd: Figure = Field(description="the mean of 30 days")
    uptime: Figure = Field(description="looks with a valid book, of those expected; 0 to 1")
    hours: Figure = Field(description="of history")
    coverage: Figure = Field(description="0 to 1")


class OpenWarning(AnswerBody):
    type: str
    severity: str
    issued_at: str
    exchange: str


class BoardRow(AnswerBody):
    token_id: str
    token: str = Field(description="the asset's ticker; several coins may share one")
    exchange: str
    exchange_code: str = Field(description="two letters, as screens show it")
    symbol: str
    status: str | None = Field(description="trading, halted or delisted")
    asset_class: str | None
    price: Figure = Field(description="the mid, in the quote currency")
    price_usd: Figure
    spread_bps: Figure
    bid_2_usd: Figure = Field(description="what bids within 2 % of the mid would pay")
    ask_2_usd: Figure
    slip_10k_bps: Figure = Field(description="of 10,000 dollars, on the worse side")
    volume_24h_usd: Figure
    is_truncated: bool | None = Field(
        description="true: the venue gives no deeper book, and depth is at least this"
    )
    grade: LetterWord | None = Field(description="of liquidity; null: not enough was seen")
    score: Figure = Field(description="0 to 100")
    provisional: bool | None
    grade_inputs: ShownGradeInputs
    graded_at: str | None
    deposit: TransferWord
    withdraw: TransferWord
    has_st_tag: bool | None
    has_caution: bool | None
    warnings: list[OpenWarning]
    sampled_at: str | None = Field(description="the minute of the book that is shown")
    stale: bool = Field(description="no book was measured for three looks, at least three minutes")
    fault: str | None = Field(description="why the last look measured nothing")
    source: str
    simulated: Literal[True] | None = None


def rows_of(call: ReadCall, states: Sequence[MarketListingState]) -> list[BoardRow]:
    """Rows as they stand at the call's time, each with its open warnings."""
    standing = board_views.standing_of(call.db, {state.asset_id for state in states})
    return [row_of(state, standing.get(state.asset_id, ()), call.now) for state in states]


def row_of(
    state: MarketListingState, standing: Sequence[MarketWarningStanding], now: datetime
) -> BoardRow:
    """`standing`: the asset's open warnings; those of the row's exchange are shown."""
    return BoardRow(
        token_id=state.token_id,
        token=state.token,
        exchange=state.exchange,
        exchange_code=exchange_code(state.exchange),
        symbol=state.symbol,
        status=state.status,
        asset_class=state.asset_class,
        price=state.mid,
        price_usd=state.price_usd,
        spread_bps=state.spread_bps,
        bid_2_usd=state.bid_2_usd,
        ask_2_usd=state.ask_2_usd,
        slip_10k_bps=worse_of(state.slip_buy_10k_bps, state.slip_sell_10k_bps),
        volume_24h_usd=state.volume_24h_usd,
        is_truncated=state.is_truncated,
        grade=as_letter(state.grade),
        score=state.score,
        provisional=state.is_provisional,
        grade_inputs=ShownGradeInputs(
            depth_usd=state.in_depth_usd,
            spread_bps=state.in_spread_bps,
            slip_10k_bps=state.in_slip_10k_bps,
            volume_24h_usd=state.in_volume_24h_usd,
            volume_30d_usd=state.in_volume_30d_usd,
            uptime=state.in_uptime,
            hours=state.in_hours,
            coverage=state.in_coverage,
        ),
        graded_at=instant_text_or_none(state.graded_at),
        deposit=transfer_word(state.can_deposit),
        withdraw=transfer_word(state.can_withdraw),
        has_st_tag=state.has_st_tag,
        has_caution=state.has_caution,
        warnings=[open_warning(one) for one in standing if one.exchange == state.exchange],
        sampled_at=instant_text_or_none(state.sampled_at),
        stale=is_stale(state.sampled_at, state.every_s, now),
        fault=state.fault,
        source=state.source,
        **simulated(state.is_simulated),
    )


def open_warning(one: MarketWarningStanding) -> OpenWarning:
    return OpenWarning(
        type=one.type,
        severity=one.severity,
        issued_at=instant_text(one.issued_at),
        exchange=one.exchange,
    )


def simulated(is_simulated: bool) -> dict[str, Any]:
    """The field `simulated` of an answer, which is there only where it is true."""
    return {"simulated": True} if is_simulated else {}


def as_letter(letter: str | None) -> LetterWord | None:
    return None if letter is None else Letter(letter).value


def is_stale(sampled_at: datetime | None, every_s: int | None, now: datetime) -> bool:
    """True too when no book was ever measured."""
    if sampled_at is None:
        return True
    most_s = max(STALE_AFTER_LOOKS * (every_s or 0), LEAST_STALE_S)
    return now - sampled_at > timedelta(seconds=most_s)


def transfer_word(is_open: bool | None) -> TransferWord:
    if is_open is None:
        return "unknown"
    return "open" if is_open else "closed"


def exchange_code(exchange: str) -> str:
    known = EXCHANGES.get(exchange)
    return exchange[:2].upper() if known is None else known.code


def worse_of(one: float | None, other: float | None) -> float | None:
    """None where one is: a book that ends before tells no worse side."""
    return None if one is None or other is None else max(one, other)


def exchange_or_none(sent: str | None) -> str | None:
    """The exchange that a filter names. Errors: InvalidParameterError."""
    return None if sent is None else exchange_of("exchange", sent).id


def symbol_prefix(sent: str) -> str:
    """What symbols begin with, as somebody types it: any case, a path's `_` for `/`. What no symbol
    has stays, and finds none.
    """
    return sent.strip().upper().replace("_", "/")


def ticker_of(sent: str) -> str:
    """Errors: InvalidParameterError."""
    ticker = sent.strip().upper()
    if not re.fullmatch(TICKER_PATTERN, ticker):
        raise InvalidParameterError("token", "write a ticker: letters and digits, at most 20")
    return ticker
