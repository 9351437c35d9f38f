"""Research of a pair (docs/board.md#research)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final

import numpy as np

from api.areas.research.schemas import (
    BurstSecond,
    KpiBucket,
    Microburst,
    Microbursts,
    OnchainChain,
    OnchainReport,
    PercentileOf,
    Percentiles,
    ResearchHealth,
    ResearchMeta,
    ResearchPair,
    ResearchPath,
    ResearchQuery,
)
from api.kernel.built import BuiltBody
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, NextCall, ReadCall, Refusal
from api.shared.board_row import simulated
from api.shared.figures import shorts
from api.shared.pairs import listing_of
from core.listings.rules import Symbol, symbol_in_body, symbol_in_path
from core.listings.tables import ExchangeListing
from core.market import board_views, research_views
from core.market.research_views import RollupColumns
from core.market.rules.research import BurstSample, feed_status, rank, slips_of
from core.market.tables import MarketListingState
from core.targets import views as targets
from core.targets.limits import target_limits
from core.targets.views import ShownTarget
from core.times import exact_instant_text, instant_text

BUCKET: Final = timedelta(hours=2)
BUCKET_S: Final = 7_200
MOST_BURSTS: Final = 50
BURSTS_WITH_SECONDS: Final = 3
MOST_CHAINS: Final = 20
NO_ONCHAIN: Final = "no_source"

_RENAMED: Final = {"deposit_open_share": "deposit_share", "withdraw_open_share": "withdraw_share"}
FIGURES: Final = tuple(name for name in KpiBucket.model_fields if name not in ("at", "n"))


@dataclass(frozen=True, slots=True)
class _Pair:
    state: MarketListingState
    target: ShownTarget
    since: datetime
    days: int


def read(call: ReadCall, caller: AgentCaller, command: ResearchPath) -> Answer[ResearchPair]:
    """Errors: InvalidParameterError; Refusal not_found, target_required."""
    symbol = symbol_in_path("symbol", command.symbol)
    return _research(call, caller, command.exchange, symbol, command.days)


def read_pair(call: ReadCall, caller: AgentCaller, command: ResearchQuery) -> Answer[ResearchPair]:
    """Errors: InvalidParameterError; Refusal not_found, target_required."""
    symbol = symbol_in_body("symbol", command.symbol)
    return _research(call, caller, command.exchange, symbol, command.days)


def _research(
    call: ReadCall, caller: AgentCaller, exchange: str, symbol: Symbol, days: int
) -> Answer[ResearchPair]:
    pair = _pair(call, caller, listing_of(call, exchange, symbol), days)
    rows = research_views.rollup_columns(call.db, pair.state.listing_id, pair.since)
    fields = {
        "meta": _meta(call, pair).model_dump(mode="json"),
        "kpi_2h": _buckets(rows),
        "percentiles": _percentiles(call, pair.state.exchange, rows).model_dump(mode="json"),
        "microburst": _bursts(call, pair).model_dump(mode="json"),
        "onchain": _onchain(call, pair.state.asset_id).model_dump(mode="json"),
        "data_health": _health(rows, pair.state, call.now).model_dump(mode="json"),
        **simulated(pair.state.is_simulated),
    }
    return Answer(BuiltBody[ResearchPair](fields))


def _pair(call: ReadCall, caller: AgentCaller, listing: ExchangeListing, days: int) -> _Pair:
    """Errors: Refusal not_found, target_required."""
    exchange, symbol = listing.exchange, Symbol(listing.base, listing.quote)
    limits = target_limits(call.deps.limits)
    own = targets.targets_of(call.db, caller.account_id, call.now, limits)
    target = next((one for one in own if one.listing_id == listing.id), None)
    if target is None:
        raise Refusal(
            "target_required",
            f"{exchange} {symbol.in_body} is not a priority target of yours; add it first.",
            next_calls=(
                NextCall("targets.add", body={"exchange": exchange, "symbol": symbol.in_body}),
                "targets.list",
            ),
        )
    state = board_views.find_state(call.db, listing.token_id)
    if state is None:
        raise Refusal(
            "not_found",
            f"There is no data for {exchange} {symbol.in_body} yet; read again in a few minutes.",
            next_calls=("board.rows",),
        )
    return _Pair(state, target, call.now - timedelta(days=days), days)


def _meta(call: ReadCall, pair: _Pair) -> ResearchMeta:
    state = pair.state
    return ResearchMeta.of(
        state,
        version="research_v1",
        days=pair.days,
        since=instant_text(pair.since),
        until=instant_text(call.now),
        bucket_s=BUCKET_S,
        target_state=pair.target.state.value,
    )


def _buckets(rows: RollupColumns) -> list[dict[str, Any]]:
    """KpiBuckets as JSON objects."""
    times = np.datetime_as_string(np.array(rows.at, dtype="datetime64[s]")).tolist()
    columns = (shorts(rows.figures[_RENAMED.get(name, name)]) for name in FIGURES)
    return [
        {"at": f"{at}Z", "n": n, **dict(zip(FIGURES, figures, strict=True))}
        for at, n, figures in zip(times, rows.counts["n"], zip(*columns, strict=True), strict=True)
    ]


def _percentiles(call: ReadCall, exchange: str, rows: RollupColumns) -> Percentiles:
    """Of the newest value of each figure."""
    figures = rows.figures
    known: dict[str, Sequence[float | None]] = {
        "spread_bps": figures["spread_p50_bps"],
        "depth_usd": figures["depth_2_usd"],
        "slip_10k_bps": slips_of(rows.counts["n"], figures["slip_10k_bps"]),
        "volume_24h_usd": figures["volume_24h_usd"],
    }
    histories = {name: [one for one in some if one is not None] for name, some in known.items()}
    newest = {name: some[-1] if some else None for name, some in histories.items()}
    peers = research_views.peer_ranks(call.db, exchange, newest)
    found = {
        name: PercentileOf(
            value=None if value is None or not isfinite(value) else value,
            own=None if value is None else rank(value, histories[name]),
            peers=peers[name].rank,
            peers_n=peers[name].n,
        )
        for name, value in newest.items()
    }
    return Percentiles(depth_2_usd=found.pop("depth_usd"), **found)


def _bursts(call: ReadCall, pair: _Pair) -> Microbursts:
    found = research_views.bursts(call.db, pair.state.listing_id, pair.since, MOST_BURSTS)
    newest = [one.id for one in found[:BURSTS_WITH_SECONDS]]
    seconds = research_views.burst_seconds(call.db, newest)
    return Microbursts(
        captures=[
            Microburst.of(
                one,
                samples=one.count,
                seconds=_seconds(seconds.get(one.id)),
            )
            for one in found
        ],
        quota_per_day=pair.target.microburst_hf_captures,
        used_today=pair.target.captures_used,
    )


def _seconds(samples: Sequence[BurstSample] | None) -> list[BurstSecond] | None:
    if samples is None:
        return None
    return [BurstSecond.of(one, at=exact_instant_text(one.at)) for one in samples]


def _onchain(call: ReadCall, asset_id: int) -> OnchainReport:
    chains = [
        OnchainChain.of(one, day=one.day.isoformat())
        for one in research_views.onchain(call.db, asset_id, MOST_CHAINS)
    ]
    return OnchainReport(chains=chains, reason=None if chains else NO_ONCHAIN)


def _health(rows: RollupColumns, state: MarketListingState, now: datetime) -> ResearchHealth:
    """Of the two-hour rows; a window that began before the pair was listed expects none of it."""
    expected, received, rejected, gaps = (
        sum(filter(None, rows.counts[name])) for name in ("expected", "n", "rejected", "gaps")
    )
    coverage = min(received / expected, 1.0) if expected else None
    skews = [one for one in rows.counts["skew_ms"] if one is not None]
    skew_ms = skews[-1] if skews else None
    staleness = None if state.sampled_at is None else now - state.sampled_at
    looks = timedelta(seconds=state.every_s or 0)
    status = feed_status(received, rejected, coverage, staleness, looks, skew_ms)
    return ResearchHealth(
        status=status.value,
        expected=expected,
        received=received,
        rejected=rejected,
        coverage=coverage,
        gaps=gaps,
        staleness_s=None if staleness is None else max(int(staleness.total_seconds()), 0),
        clock_skew_ms=skew_ms,
    )
