"""Reads of listings and of the assets that they trade (docs/board.md#a-token)."""

from collections.abc import Sequence
from datetime import timedelta
from math import sqrt
from statistics import fmean, median
from typing import Any, Final

from api.areas.tokens.schemas import (
    FoundTokens,
    GradeParts,
    GradeWeights,
    IdentityEdge,
    IdentityNode,
    PriceStatsQuery,
    SearchQuery,
    SeriesPoint,
    ShownContract,
    TokenAsset,
    TokenBook,
    TokenDetail,
    TokenGap,
    TokenGrade,
    TokenNetwork,
    TokenPath,
    TokenPrice,
    TokenPriceStats,
)
from api.kernel.built import BuiltBody
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, ReadCall, Refusal
from api.shared.board_row import (
    BoardRow,
    OpenWarning,
    exchange_code,
    is_stale,
    rows_of,
    simulated,
    symbol_prefix,
    transfer_word,
)
from core.market import board_views, gaps, research_views
from core.market.rules.grade import WEIGHTS
from core.market.rules.identity import shown_address
from core.market.rules.research import middle_slip
from core.market.rules.series import HOURS, hours_of, series_of
from core.market.scan_tables import MarketGap
from core.market.tables import MarketAssetState, MarketListingState, MarketNetwork
from core.times import instant_text

MOST_VENUES: Final = 50
MOST_NETWORKS: Final = 300
MOST_GAPS: Final = 20
BUCKET: Final = timedelta(hours=2)
BUCKETS_A_DAY: Final = 12
BPS: Final = 10_000
COARSER: Final = (
    "Each point of the series covers {hours} hours, because points of two hours would be too many for a "
    "model to read; ask for fewer days to get finer points."
)


def search(call: ReadCall, caller: Nobody, command: SearchQuery) -> Answer[FoundTokens]:
    prefix = symbol_prefix(command.q)
    found = (
        board_views.found_tokens(call.db, prefix, command.offset, command.limit + 1)
        if prefix
        else ()
    )
    shown = found[: command.limit]
    page = rows_of(call, shown)
    fields = {
        "rows": page,
        "next_offset": command.offset + command.limit if len(found) > command.limit else None,
        **simulated(any("simulated" in row for row in page)),
    }
    return Answer(BuiltBody[FoundTokens](fields))


def read(call: ReadCall, caller: Nobody, command: TokenPath) -> Answer[TokenDetail]:
    """Errors: Refusal not_found."""
    state = _state(call, command.token_id)
    standing = board_views.standing_of(call.db, [state.asset_id]).get(state.asset_id, ())
    asset = board_views.asset_state(call.db, state.asset_id)
    own = board_views.placed_row(call.db, state.listing_id)
    venues = board_views.venues_of(call.db, state.asset_id, MOST_VENUES)
    listing, *beside = (BoardRow(**row) for row in rows_of(call, [own, *venues]))
    networks = board_views.networks_of(call.db, state.asset_id, MOST_NETWORKS)
    found_gaps = gaps.current(call.db, asset_id=state.asset_id, limit=MOST_GAPS)
    return Answer(
        TokenDetail(
            listing=listing,
            grade=_grade(state),
            book=TokenBook.of(state),
            asset=None if asset is None else _asset(asset),
            venues=beside,
            networks=[_network(one) for one in networks],
            warnings=[OpenWarning.of(one) for one in standing],
            gaps=[_gap(one) for one in found_gaps],
            listed_since=state.first_seen_at,
            **simulated(state.is_simulated),
        )
    )


def price(call: ReadCall, caller: Nobody, command: TokenPath) -> Answer[TokenPrice]:
    """Errors: Refusal not_found."""
    state = _state(call, command.token_id)
    age_s = None
    if state.sampled_at is not None:
        age_s = max(int((call.now - state.sampled_at).total_seconds()), 0)
    return Answer(
        TokenPrice.of(
            state,
            price=state.mid,
            age_s=age_s,
            stale=is_stale(state.sampled_at, state.every_s, call.now),
            **simulated(state.is_simulated),
        )
    )


def price_stats(
    call: ReadCall, caller: Nobody, command: PriceStatsQuery
) -> Answer[TokenPriceStats]:
    """Errors: Refusal not_found."""
    state = _state(call, command.token_id)
    since = call.now - timedelta(days=command.days)
    rows = research_views.rollups(call.db, state.listing_id, since)
    priced = [row for row in rows if row.close is not None and row.open is not None]
    first, last = (priced[0].open, priced[-1].close) if priced else (None, None)
    expected = sum(row.expected for row in rows)
    hours = hours_of(len(rows))
    coarser = {"note": COARSER.format(hours=hours)} if command.series and hours > HOURS[0] else {}
    return Answer(
        TokenPriceStats(
            token_id=state.token_id,
            days=command.days,
            since=instant_text(since),
            buckets=len(priced),
            expected=command.days * BUCKETS_A_DAY,
            coverage=min(sum(row.n for row in rows) / expected, 1.0) if expected else None,
            open=first,
            high=max((row.high for row in priced if row.high is not None), default=None),
            low=min((row.low for row in priced if row.low is not None), default=None),
            close=last,
            change_bps=(last / first - 1) * BPS if first and last is not None else None,
            volatility_bps=_volatility_bps(priced),
            spread_bps=_median(priced, "spread_p50_bps"),
            depth_2_usd=_median(priced, "depth_2_usd"),
            slip_10k_bps=middle_slip(
                [one.n for one in priced], [one.slip_10k_bps for one in priced]
            ),
            volume_24h_usd=_mean(priced, "volume_24h_usd"),
            quote=state.symbol.partition("/")[2],
            series=_series(rows, hours) if command.series else None,
            source=state.source,
            **coarser,
            **simulated(state.is_simulated),
        )
    )


def _state(call: ReadCall, token_id: str) -> MarketListingState:
    """Errors: Refusal not_found, which names the right form where the listing is meant."""
    state = board_views.find_state(call.db, token_id)
    if state is not None:
        return state
    lower = token_id.strip().lower()
    detail = f"There is no listing {lower[:80]}; search for it by the beginning of its symbol."
    if lower != token_id and board_views.find_state(call.db, lower) is not None:
        detail = f"A token_id is lower case; write {lower}."
    raise Refusal("not_found", detail, next_calls=("board.rows",))


def _volatility_bps(rows: Sequence[Any]) -> float | None:
    """Per day: a bucket's rv squared is the variance of its two hours."""
    known = [row.rv**2 for row in rows if row.rv is not None]
    return sqrt(fmean(known) * BUCKETS_A_DAY) * BPS if known else None


def _median(rows: Sequence[Any], name: str) -> float | None:
    known = [value for row in rows if (value := getattr(row, name)) is not None]
    return median(known) if known else None


def _mean(rows: Sequence[Any], name: str) -> float | None:
    known = [value for row in rows if (value := getattr(row, name)) is not None]
    return fmean(known) if known else None


def _series(rows: Sequence[Any], hours: int) -> list[SeriesPoint]:
    return [SeriesPoint.of(one, spread_bps=one.spread_p50_bps) for one in series_of(rows, hours)]


def _grade(state: MarketListingState) -> TokenGrade:
    names = tuple(GradeParts.model_fields)
    parts = {name: getattr(state, f"part_{name}") for name in names}
    return TokenGrade.of(
        state,
        letter=state.grade,
        provisional=state.is_provisional,
        parts=GradeParts(**parts),
        weights=GradeWeights(**dict(zip(names, WEIGHTS, strict=True))),
        version=state.grade_version,
    )


def _asset(asset: MarketAssetState) -> TokenAsset:
    return TokenAsset.of(
        asset,
        contracts=[
            ShownContract(**one | {"address": shown_address(one["chain"], one["address"])})
            for one in asset.contracts
        ],
        groups=[IdentityNode(**one) for one in asset.groups],
        links=[
            IdentityEdge(
                one=link["one"],
                other=link["other"],
                exchanges=link["exchanges"],
                weak=link["is_weak"],
                refused=link["is_refused"],
            )
            for link in asset.links
        ],
    )


def _network(one: MarketNetwork) -> TokenNetwork:
    return TokenNetwork.of(
        one,
        exchange_code=exchange_code(one.exchange),
        ticker=one.native_base,
        deposit=transfer_word(one.can_deposit),
        withdraw=transfer_word(one.can_withdraw),
        contract=None if one.contract is None else shown_address(one.chain, one.contract),
        native=one.is_native,
    )


def _gap(one: MarketGap) -> TokenGap:
    return TokenGap.of(one, transfer=one.transferable, actionable=one.is_actionable)
