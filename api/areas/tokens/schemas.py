"""Commands and answers of tokens (docs/board.md#a-token)."""

from typing import Annotated, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, Flag, InstantText
from api.kernel.operation import AnswerBody, Command
from api.shared.board_row import BoardRow, Figure, LetterWord, OpenWarning, TransferWord

DEFAULT_FOUND, MOST_FOUND, MOST_OFFSET = 20, 100, 10_000
DEFAULT_DAYS, MOST_DAYS = 7, 90
MOST_QUERY = 41

TokenIdText = Annotated[
    str,
    Field(
        min_length=5,
        max_length=80,
        description="<exchange>_<base>_<quote> in lower case, such as binance_btc_usdt",
    ),
]


class SearchQuery(Command):
    q: Annotated[str, Field(min_length=1, max_length=MOST_QUERY)] = Field(
        description="prefix of the symbol, such as BTC or BTC/US; case-insensitive"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_FOUND), WHOLE] = DEFAULT_FOUND
    offset: Annotated[int, Field(ge=0, le=MOST_OFFSET), WHOLE] = 0


class FoundTokens(AnswerBody):
    """Rows as on the board: exact matches of the ticker first, then by volume."""

    rows: list[BoardRow]
    next_offset: int | None
    simulated: Literal[True] | None = None


class TokenPath(Command):
    token_id: TokenIdText


class PriceStatsQuery(Command):
    token_id: TokenIdText
    days: Annotated[int, Field(ge=1, le=MOST_DAYS), WHOLE] = DEFAULT_DAYS
    series: Flag = Field(default=False, description="with the two-hour figures, for charts")


class TokenPrice(AnswerBody):
    token_id: str
    token: str
    exchange: str
    symbol: str
    price: Figure = Field(description="mid price of the book, in the quote currency")
    price_usd: Figure
    usd_per_quote: Figure
    fx_source: str | None = Field(description="how the quote currency was converted to dollars")
    spread_bps: Figure
    sampled_at: InstantText | None
    age_s: int | None
    stale: bool
    source: str
    simulated: Literal[True] | None = None


class SeriesPoint(AnswerBody):
    """Two hours from `at` on, or longer where `note` says so."""

    at: InstantText
    open: Figure
    high: Figure
    low: Figure
    close: Figure
    spread_bps: Figure = Field(description="median spread, basis points")
    depth_1_usd: Figure
    depth_2_usd: Figure
    volume_24h_usd: Figure
    coverage: Figure


class TokenPriceStats(AnswerBody):
    """Statistics of the two-hour figures of the last `days` days."""

    token_id: str
    days: int
    since: InstantText
    buckets: int = Field(description="number of two-hour figures with a price")
    expected: int
    coverage: Figure = Field(description="share of the expected samples, 0 to 1")
    open: Figure
    high: Figure
    low: Figure
    close: Figure
    change_bps: Figure
    volatility_bps: Figure = Field(
        description="root of the summed squared returns per day, basis points"
    )
    spread_bps: Figure = Field(description="median of the medians, like depth and slippage")
    depth_2_usd: Figure
    slip_10k_bps: Figure
    volume_24h_usd: Figure = Field(description="mean 24-hour volume, USD")
    quote: str
    series: list[SeriesPoint] | None = Field(description="two-hour figures, with series=1")
    source: str
    note: str | None = Field(
        default=None, description="present if a point of the series covers more than two hours"
    )
    simulated: Literal[True] | None = None


class GradeParts(AnswerBody):
    """Parts from 0 to 1; the score is 100 times their weighted sum. null: unknown, left out."""

    depth: Figure
    spread: Figure
    slippage: Figure
    volume: Figure
    uptime: Figure


class GradeWeights(AnswerBody):
    depth: float
    spread: float
    slippage: float
    volume: float
    uptime: float


class TokenGrade(AnswerBody):
    letter: LetterWord | None
    score: Figure
    provisional: bool | None
    parts: GradeParts
    weights: GradeWeights
    gates: list[str] = Field(description="reasons that limit the grade to D")
    gpa_7d: Figure = Field(description="mean grade over seven days, 0 to 4")
    graded_at: InstantText | None
    version: str | None


class TokenBook(AnswerBody):
    """The newest measured order book."""

    bid_05_usd: Figure = Field(description="bid depth within 0.5 % of the mid; bid_1: within 1 %")
    ask_05_usd: Figure
    bid_1_usd: Figure
    ask_1_usd: Figure
    bid_2_usd: Figure
    ask_2_usd: Figure
    slip_buy_1k_bps: Figure
    slip_sell_1k_bps: Figure
    slip_buy_10k_bps: Figure
    slip_sell_10k_bps: Figure
    imbalance: Figure = Field(description="(bids - asks) / (bids + asks) within 2 %, -1 to 1")
    is_truncated: bool | None


class ShownContract(AnswerBody):
    chain: str = Field(description="chain as a CAIP-2 id")
    address: str = Field(
        description="contract address, on EVM chains with checksum; native: the chain's own coin"
    )
    exchanges: list[str]


class IdentityNode(AnswerBody):
    """Contracts that belong to one asset."""

    id: str = Field(description="the first of its contracts in sort order, as chain:address")
    coins: list[str] = Field(description="coins on exchanges, as exchange:ticker")


class IdentityEdge(AnswerBody):
    one: str
    other: str
    exchanges: list[str] = Field(description="exchanges that list both")
    weak: bool = Field(description="true: only one exchange reports this link")
    refused: bool = Field(description="true: weak, and would join groups that other exchanges back")


class TokenAsset(AnswerBody):
    """The asset with this ticker, over all exchanges."""

    token: str
    grade: LetterWord | None = Field(description="grade at the best venue")
    grade_worst: LetterWord | None
    gpa_7d: Figure
    graded_venues: int
    identity: str | None
    transfer: str | None
    exchanges: list[str]
    contracts: list[ShownContract]
    groups: list[IdentityNode]
    links: list[IdentityEdge]


class TokenNetwork(AnswerBody):
    exchange: str
    exchange_code: str
    ticker: str = Field(description="ticker as the exchange writes it")
    chain: str
    deposit: TransferWord
    deposit_since: InstantText
    withdraw: TransferWord
    withdraw_since: InstantText
    contract: str | None
    native: bool
    withdraw_fee: Figure
    seen_at: InstantText


class TokenGap(AnswerBody):
    buy_exchange: str
    sell_exchange: str
    gross_bps: Figure
    net_1k_bps: Figure
    transfer: str
    actionable: bool
    suspect: str | None
    observed_at: InstantText


class TokenDetail(AnswerBody):
    """Everything that a token's page shows."""

    listing: BoardRow
    grade: TokenGrade
    book: TokenBook
    asset: TokenAsset | None
    venues: list[BoardRow] = Field(description="all listings of the asset, this one too, by volume")
    networks: list[TokenNetwork]
    warnings: list[OpenWarning] = Field(description="open warnings of the asset, on all exchanges")
    gaps: list[TokenGap] = Field(description="price gaps between its venues, the best first")
    listed_since: InstantText
    simulated: Literal[True] | None = None
