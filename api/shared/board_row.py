"""A listing as the board, search and token pages show it (docs/board.md#a-row).

Laws
- Unknown is null: never open, closed, F or 0.
- Figures are of markets, not money: JSON numbers with eight significant digits.
- `simulated` is there, and true, where the data is of a simulated world.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from api.kernel.fields import InstantText
from api.kernel.operation import AnswerBody, ReadCall
from api.shared.figures import short
from core.errors import InvalidParameterError
from core.kept import KeptNewest
from core.listings.rules import EXCHANGES, TICKER_PATTERN, exchange_of
from core.market import board_views
from core.market.board_views import BoardValues, PlacedRow
from core.market.rollups import CLOSE_EVERY, WEEK
from core.market.rules.grade import Letter
from core.times import instant_text_or_none, utc_text

STALE_AFTER_LOOKS: Final = 3  # a listing that was not measured for so long is stale
LEAST_STALE_S: Final = 180
DAY: Final = timedelta(days=1)

MOST_ROWS: Final = 8_192  # that a process keeps, three kilobytes each

TransferWord = Literal["open", "closed", "unknown"]
LetterWord = Literal["A", "B", "C", "D", "F"]


Figure = Annotated[
    float | None,
    BeforeValidator(short),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]}),
]
"""A figure of a market; null: unknown."""


class ShownGradeInputs(AnswerBody):
    """Medians of the last 24 hours."""

    depth_usd: Figure = Field(description="the smaller of bid and ask depth within 2 % of the mid")
    spread_bps: Figure
    slip_10k_bps: Figure = Field(
        description="of 10,000 dollars on the worse side; null: the book is too thin"
    )
    volume_24h_usd: Figure
    volume_30d_usd: Figure = Field(description="mean daily volume over 30 days, USD")
    uptime: Figure = Field(description="share of expected scans with a valid book, 0 to 1")
    hours: Figure = Field(description="hours of history")
    coverage: Figure = Field(description="0 to 1")


class OpenWarning(AnswerBody):
    type: str
    severity: str
    issued_at: InstantText
    exchange: str


class BoardRow(AnswerBody):
    token_id: str
    token: str = Field(description="the asset's ticker; several coins may share it")
    exchange: str
    exchange_code: str = Field(description="two-letter code of the exchange")
    symbol: str
    status: str | None = Field(description="trading, halted or delisted")
    asset_class: str | None
    price: Figure = Field(description="mid price, in the quote currency")
    price_usd: Figure
    spread_bps: Figure
    bid_2_usd: Figure = Field(description="bid depth within 2 % of the mid, USD")
    ask_2_usd: Figure
    slip_10k_bps: Figure = Field(description="slippage of a 10,000 dollar order on the worse side")
    volume_24h_usd: Figure
    change_24h_bps: Figure = Field(description="change of the mid over about 24 hours")
    change_7d_bps: Figure = Field(description="change of the mid over about seven days")
    week_closes: list[Figure] = Field(
        description="mid prices every 12 hours of the week before the grade, oldest first, with "
        "five significant digits; empty before the first grade"
    )
    is_truncated: bool | None = Field(
        description="true: the venue returns no deeper book, so the real depth is at least this"
    )
    grade: LetterWord | None = Field(description="liquidity grade; null: not enough data")
    score: Figure = Field(description="liquidity score, 0 to 100")
    provisional: bool | None
    grade_inputs: ShownGradeInputs
    graded_at: str | None
    deposit: TransferWord
    withdraw: TransferWord
    has_st_tag: bool | None
    has_caution: bool | None
    warnings: list[OpenWarning]
    sampled_at: str | None = Field(description="minute in which the book was read")
    stale: bool = Field(description="true: no book for the last three scans, at least 3 minutes")
    fault: str | None = Field(description="why the last scan measured nothing; null: it did")
    source: str
    simulated: Literal[True] | None = None


@dataclass(frozen=True, slots=True)
class KeptRow:
    """`fields`: shared by all who find it, and never changed. What depends on the time or on other
    tables is not among them.
    """

    fields: dict[str, Any]
    sampled_at: datetime | None
    every_s: int | None


class KeptRows(KeptNewest[int, KeptRow]):
    """By listing. A page asks the database which versions it has now, so that a row that anybody
    wrote since is read again.
    """

    def __init__(self) -> None:
        super().__init__(MOST_ROWS)


def rows_of(call: ReadCall, placed: Sequence[PlacedRow]) -> list[dict[str, Any]]:
    """BoardRows as they stand at the call's time, each with its open warnings, as JSON objects."""
    return [
        row.fields
        | {
            "warnings": _warnings(one.warnings, row.fields["exchange"]),
            "stale": is_stale(row.sampled_at, row.every_s, call.now),
        }
        for one, row in zip(placed, _kept_rows(call, placed), strict=True)
    ]


def _warnings(standing: Sequence[tuple[str, str, int]], exchange: str) -> Sequence[dict[str, Any]]:
    """OpenWarnings as JSON objects."""
    return [
        {"type": kind, "severity": severity, "issued_at": utc_text(at), "exchange": exchange}
        for kind, severity, at in standing
    ]


def _kept_rows(call: ReadCall, placed: Sequence[PlacedRow]) -> list[KeptRow]:
    """The rows in that order; those that are not kept are read, all at once."""
    kept = call.deps.parts.of(KeptRows)
    found = [kept.find_at(one.version.listing_id, one.version) for one in placed]
    unread = [one.version for one, row in zip(placed, found, strict=True) if row is None]
    if not unread:
        return [row for row in found if row is not None]
    read = {
        row["listing_id"]: _shown(row)
        for row in board_views.values_of(call.db, [one.listing_id for one in unread])
    }
    for one in unread:
        kept.keep(one.listing_id, (one, read[one.listing_id]))
    return [row or read[one.version.listing_id] for one, row in zip(placed, found, strict=True)]


def _shown(row: BoardValues) -> KeptRow:
    """A BoardRow as a JSON object, but for what its columns alone do not say."""
    closes = row["week_closes"] or []
    fields = {
        "token_id": row["token_id"],
        "token": row["token"],
        "exchange": row["exchange"],
        "exchange_code": exchange_code(row["exchange"]),
        "symbol": row["symbol"],
        "status": row["status"],
        "asset_class": row["asset_class"],
        "price": short(row["mid"]),
        "price_usd": short(row["price_usd"]),
        "spread_bps": short(row["spread_bps"]),
        "bid_2_usd": short(row["bid_2_usd"]),
        "ask_2_usd": short(row["ask_2_usd"]),
        "slip_10k_bps": short(worse_of(row["slip_buy_10k_bps"], row["slip_sell_10k_bps"])),
        "volume_24h_usd": short(row["volume_24h_usd"]),
        "change_24h_bps": _change_bps(row["mid"], closes, DAY),
        "change_7d_bps": _change_bps(row["mid"], closes, WEEK),
        "week_closes": [None if one is None else float(f"{one:.5g}") for one in closes],
        "is_truncated": row["is_truncated"],
        "grade": row["grade"],
        "score": short(row["score"]),
        "provisional": row["is_provisional"],
        "grade_inputs": {
            "depth_usd": short(row["in_depth_usd"]),
            "spread_bps": short(row["in_spread_bps"]),
            "slip_10k_bps": short(row["in_slip_10k_bps"]),
            "volume_24h_usd": short(row["in_volume_24h_usd"]),
            "volume_30d_usd": short(row["in_volume_30d_usd"]),
            "uptime": short(row["in_uptime"]),
            "hours": short(row["in_hours"]),
            "coverage": short(row["in_coverage"]),
        },
        "graded_at": instant_text_or_none(row["graded_at"]),
        "deposit": transfer_word(row["can_deposit"]),
        "withdraw": transfer_word(row["can_withdraw"]),
        "has_st_tag": row["has_st_tag"],
        "has_caution": row["has_caution"],
        "sampled_at": instant_text_or_none(row["sampled_at"]),
        "fault": row["fault"],
        "source": row["source"],
        **simulated(row["is_simulated"]),
    }
    return KeptRow(fields, row["sampled_at"], row["every_s"])


def _change_bps(
    price: float | None, closes: Sequence[float | None], since: timedelta
) -> float | None:
    """Of the price, against the close so long before the last one. None: one of them is unknown."""
    back = since // CLOSE_EVERY
    first = closes[-1 - back] if len(closes) > back else None
    return short((price / first - 1) * 10_000) if price is not None and first else None


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
