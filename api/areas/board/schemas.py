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
        default=None, description="how symbols begin, such as BTC or BTC/US; any case"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS), WHOLE] = DEFAULT_ROWS
    offset: Annotated[
        int,
        Field(
            ge=0,
            le=MOST_OFFSET,
            description="at most 10,000; further on, cursor",
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
    """Listings by volume, the largest first."""

    rows: list[BoardRow]
    limit: int
    offset: int
    next_offset: int | None = Field(
        description="of the page after; null: there is none, or it is beyond 10,000"
    )
    next_cursor: str | None = Field(description="of the page after; null: there is none")
    total: int | None = Field(
        description="rows of all pages, of delisted pairs too; null with exchange or q"
    )
    simulated: Literal[True] | None = None


class WarningsQuery(Paged):
    exchange: ExchangeId | None = None
    token: TickerWord | None = Field(default=None, description="an asset's ticker; any case")
    type: WarningType | None = Field(default=None, strict=False)
    severity: WarningSeverity | None = Field(default=None, strict=False)
    all: Flag = Field(default=False, description="those that are over too")
    stats_day: UtcDay | None = Field(
        default=None, description="of UTC: 2026-11-21; the day of `stats`, without it the newest"
    )
    stats_version: VersionNumber | None = Field(
        default=None, description="of that day; without it the newest"
    )


class CrisisWarning(AnswerBody):
    seq: int = Field(description="its row in the ledger of warnings")
    type: str
    severity: str
    predictive: bool = Field(description="whether it can foresee an outcome; others are outcomes")
    token: str
    exchange: str
    exchange_code: str
    token_id: str | None = Field(description="the listing; null: it is about all of them")
    issued_at: InstantText = Field(description="when its row was committed")
    cleared_at: InstantText | None
    evidence: dict[str, str] = Field(
        description="what it was issued for, by type; of a cross_exchange_flag exchange, kind and at"
    )


class OutcomeFigure(AnswerBody):
    type: str
    units: int
    hits: int


class WciWindow(AnswerBody):
    """A unit is a spot token at one exchange with an outcome in the window."""

    days: int
    rate: Figure = Field(description="hits / units; null without units")
    units: int
    hits: int
    by_type: list[OutcomeFigure]
    warnings_issued: int
    precision: Figure = Field(
        description="of the pairs warned of in the window, the share with an outcome; null: none"
    )
    xflag_credit: int = Field(description="units that cross_exchange_flag alone foresaw")
    xflag_any: int = Field(description="units that it foresaw too")


class WciReport(AnswerBody):
    """By one definition. A later day never restates it."""

    version: str
    wci_definition: str
    day: date
    headline: WciWindow = Field(description="90 days")
    second: WciWindow = Field(description="60 days")
    xflag_credit: int = Field(description="of the headline")


class WarningStatistics(AnswerBody):
    """Null where nothing was counted yet."""

    published: Publication | None = Field(description="which day, and which version of it, this is")
    wci_rate: Figure
    wci_definition_version: str
    wci_definition_since: date
    precision_90d: Figure
    wci_b3: WciReport | None
    wci_b31: WciReport | None
    unsure_notices_90d: int | None = Field(
        description="notices of 90 days whose title contradicts itself; none of them counts"
    )


class BoardWarnings(AnswerBody):
    warnings: list[CrisisWarning]
    next_cursor: str | None
    stats: WarningStatistics
    simulated: Literal[True] | None = None


class TimelineQuery(Paged):
    token: TickerWord = Field(description="an asset's ticker; any case")
    exchange: ExchangeId | None = None


class TimelineEntry(AnswerBody):
    """What is not of its kind is null."""

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
    type: str | None = Field(description="of a warning or an outcome")
    severity: str | None = Field(description="of a warning")
    evidence: dict[str, str] | None = Field(description="of a warning, as in its list")
    direction: Literal["deposit", "withdraw"] | None = Field(description="of a transfer")
    chain: str | None = Field(description="of a transfer, as CAIP-2 writes it")
    state: Literal["open", "closed", "unknown"] | None = Field(description="of a transfer")
    symbol: str | None = Field(description="of a listing")
    title: str | None = Field(description="of the notice that declared an outcome")
    url: str | None = Field(description="of that notice")


class TokenTimeline(AnswerBody):
    token: str
    rows: list[TimelineEntry] = Field(description="the newest first")
    next_cursor: str | None
    simulated: Literal[True] | None = None
