"""Commands and answers of the board (docs/board.md)."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, Flag, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.shared.board_row import BoardRow, Figure
from api.shared.pairs import ExchangeId
from api.shared.published import Publication, UtcDay, VersionNumber
from core.market.rules.warnings import WarningSeverity, WarningType

DEFAULT_ROWS, MOST_ROWS, MOST_OFFSET = 200, 1_000, 100_000
MOST_PASSED_BY = 10_000  # rows before a page that are read for nothing
MOST_QUERY = 41  # <BASE>/<QUOTE>, 20 each
MOST_TICKER = 20

QueryWords = Annotated[str, Field(min_length=1, max_length=MOST_QUERY)]
TickerWord = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MOST_TICKER,
        json_schema_extra={"pattern": "^ *[0-9A-Za-z]+ *$"},  # api.shared.board_row.ticker_of
    ),
]


class BoardRowsQuery(Command):
    exchange: ExchangeId | None = None
    q: QueryWords | None = Field(
        default=None, description="prefix of the symbol, such as BTC or BTC/US; case-insensitive"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS), WHOLE] = DEFAULT_ROWS
    offset: Annotated[
        int,
        Field(
            ge=0,
            le=MOST_OFFSET,
            description="rows to skip, at most 10,000; use cursor to go further",
            json_schema_extra={
                "maximum": MOST_PASSED_BY
            },  # the service refuses the rest, and says what to send
        ),
        WHOLE,
    ] = 0
    cursor: (
        Annotated[str, Field(max_length=64, description="the next_cursor of the previous page")]
        | None
    ) = None


class BoardPlace(Paged):
    """What a cursor of the board is bound to."""

    exchange: str | None
    q: str | None


class BoardPage(AnswerBody):
    """Listings by volume, largest first."""

    rows: list[BoardRow]
    limit: int
    offset: int
    next_offset: int | None = Field(
        description="offset of the next page; null: no more pages, or it exceeds 10,000"
    )
    next_cursor: str | None = Field(description="cursor of the next page; null: no more pages")
    total: int | None = Field(
        description="rows on all pages, delisted pairs included; null with exchange or q"
    )
    simulated: Literal[True] | None = None


class WarningsQuery(Paged):
    exchange: ExchangeId | None = None
    token: TickerWord | None = Field(default=None, description="an asset's ticker, in any case")
    type: WarningType | None = Field(default=None, strict=False)
    severity: WarningSeverity | None = Field(default=None, strict=False)
    all: Flag = Field(default=False, description="true: include warnings that have ended")
    stats_day: UtcDay | None = Field(
        default=None, description="UTC day of `stats`, such as 2026-11-21; left out: the newest"
    )
    stats_version: VersionNumber | None = Field(
        default=None, description="version of that day's `stats`; left out: the newest"
    )


class CrisisWarning(AnswerBody):
    seq: int = Field(description="number of its row in the ledger of warnings")
    type: str
    severity: str
    predictive: bool = Field(description="true: can predict an outcome; false: itself an outcome")
    token: str
    exchange: str
    exchange_code: str
    token_id: str | None = Field(description="the listing; null: it applies to all listings")
    issued_at: InstantText = Field(description="when its row was written")
    cleared_at: InstantText | None
    evidence: dict[str, str] = Field(
        description="the evidence, by warning type; for a cross_exchange_flag: exchange, kind and "
        "at"
    )


class OutcomeFigure(AnswerBody):
    type: str
    units: int
    hits: int


class WciWindow(AnswerBody):
    """A unit is a spot token at one exchange with an outcome in the window."""

    days: int
    rate: Figure = Field(description="hits / units; null: no units")
    units: int
    hits: int
    by_type: list[OutcomeFigure]
    warnings_issued: int
    precision: Figure = Field(
        description="share of the pairs warned of in the window that had an outcome; null: no "
        "warnings"
    )
    xflag_credit: int = Field(description="units that cross_exchange_flag alone predicted")
    xflag_any: int = Field(description="units that cross_exchange_flag predicted, alone or not")


class WciReport(AnswerBody):
    """Computed by one fixed definition; later days never change it."""

    version: str
    wci_definition: str
    day: date
    headline: WciWindow = Field(description="figures for 90 days")
    second: WciWindow = Field(description="figures for 60 days")
    xflag_credit: int = Field(description="xflag_credit of the headline window")


class WarningStatistics(AnswerBody):
    """Figures that were not counted yet are null."""

    published: Publication | None = Field(description="the UTC day and version of these statistics")
    wci_rate: Figure
    wci_definition_version: str
    wci_definition_since: date
    precision_90d: Figure
    wci_b3: WciReport | None
    wci_b31: WciReport | None
    unsure_notices_90d: int | None = Field(
        description="notices of the last 90 days with contradictory titles; none is counted"
    )


class BoardWarnings(AnswerBody):
    warnings: list[CrisisWarning]
    next_cursor: str | None
    stats: WarningStatistics
    simulated: Literal[True] | None = None


class TimelineQuery(Paged):
    token: TickerWord = Field(description="an asset's ticker, in any case")
    exchange: ExchangeId | None = None


class TimelineEntry(AnswerBody):
    """An event of a token; fields that do not apply to its kind are null."""

    at: InstantText
    kind: Literal[
        "warning_issued",
        "warning_cleared",
        "warning_reopened",
        "outcome",
        "transfer",
        "listed",
        "delisted",
    ]
    exchange: str
    exchange_code: str
    type: str | None = Field(description="type of a warning or an outcome")
    severity: str | None = Field(description="severity of a warning")
    evidence: dict[str, str] | None = Field(description="of a warning, as in the list of warnings")
    direction: Literal["deposit", "withdraw"] | None = Field(description="for a transfer only")
    chain: str | None = Field(description="for a transfer: chain as a CAIP-2 id")
    state: Literal["open", "closed", "unknown"] | None = Field(description="for a transfer only")
    symbol: str | None = Field(description="symbol of a listing")
    title: str | None = Field(description="for an outcome: title of the exchange's notice")
    url: str | None = Field(description="for an outcome: URL of the exchange's notice")


class TokenTimeline(AnswerBody):
    token: str
    rows: list[TimelineEntry] = Field(description="events, newest first")
    next_cursor: str | None
    simulated: Literal[True] | None = None
