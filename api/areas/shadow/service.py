"""The shadow fund and insights, as callers read them (docs/shadow-fund.md)."""

from datetime import timedelta
from typing import Any

from api.areas.shadow.schemas import (
    DIMENSIONS,
    MOST_CARDS,
    MOST_DIMENSIONS,
    MOST_SLICES,
    AttributedSlice,
    Attribution,
    AttributionQuery,
    Insight,
    Insights,
    InsightsQuery,
    PaperBand,
    PaperFund,
    PaperHedge,
    PaperLogistics,
    PaperRate,
    PaperVenueResult,
    PlannedMove,
    Quartermaster,
)
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, NoInput, ReadCall
from api.shared.board_row import simulated
from core.errors import InvalidParameterError
from core.market import shadow_views as views
from core.market.rules import quartermaster, shadow
from core.market.rules.insights import DETECTOR_OF, InsightKind
from core.market.rules.shadow import STAKE_USD_E6, Dimension
from core.market.shadow_tables import MarketInsight, ShadowBook, ShadowVenue
from core.money import UsdcE6, usdc_text
from core.times import instant_text

LOGISTICS_DAYS = 30


def fund(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[PaperFund]:
    venues = views.venues(call.db)
    pnl, hits = sum(one.pnl_usd_e6 for one in venues), sum(one.hits for one in venues)
    found = shadow.spread_of(views.bins(call.db), pnl)
    worst = [one.worst_usd_e6 for one in venues if one.worst_usd_e6 is not None]
    quantiles: Any = {f"p{q}_bps": bps for q, bps in found.quantiles_bps.items()}
    return Answer(
        PaperFund(
            paper=True,
            stake_usd=_usd(STAKE_USD_E6),
            n=found.n,
            settled=sum(one.settled for one in venues),
            returned=sum(one.returned for one in venues),
            void=sum(one.voided for one in venues),
            skipped=sum(one.skipped for one in venues),
            pnl_usd=_usd(pnl) if found.n else None,
            mean_bps=found.mean_bps,
            **quantiles,
            hit_rate=_share(hits, found.n),
            worst_usd=_usd(min(worst)) if worst else None,
            by_venue=[_result(one) for one in venues],
            **_stamp(views.book(call.db)),
        )
    )


def bands(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Quartermaster]:
    rows, book = views.venues(call.db), views.book(call.db)
    held = views.paper_venues(rows, call.now)
    found = quartermaster.bands(held)
    exposures = views.open_exposures(call.db)
    reserved, unknown = quartermaster.hedge_usd_e6(exposures)
    moved = views.logistics(call.db, call.now - timedelta(days=LOGISTICS_DAYS))
    return Answer(
        Quartermaster(
            paper=True,
            capital_usd=_usd(sum(one.usd_e6 for one in rows)),
            unplaced_usd=None if book is None else _usd(book.unplaced_usd_e6),
            venues=[
                PaperBand.of(one, usd=_usd(one.usd_e6), concentrated=one.is_concentrated)
                for one in found
            ],
            concentrated=[one.exchange for one in found if one.is_concentrated],
            planned=[
                PlannedMove.of(
                    one,
                    from_exchange=one.from_at,
                    to_exchange=one.to_at,
                    usd=_usd(one.usd_e6),
                    fee_usd=_usd(one.fee_usd_e6),
                )
                for one in quartermaster.moves(held)
            ],
            hedge=PaperHedge(
                reserved_usd=None if reserved is None else _usd(reserved),
                in_transit_usd=_usd(sum(usd_e6 for usd_e6, _ in exposures)),
                positions=len(exposures),
                unknown=unknown,
            ),
            fx=[
                PaperRate.of(one, at=instant_text(one.rate_at))
                for one in rows
                if one.rate_at is not None
            ],
            logistics=PaperLogistics.of(
                moved, moved_usd=_usd(moved.usd_e6), fees_usd=_usd(moved.fees_usd_e6)
            ),
            **_stamp(book),
        )
    )


def attribution(call: ReadCall, caller: Nobody, command: AttributionQuery) -> Answer[Attribution]:
    """Errors: InvalidParameterError."""
    dims = _dimensions(command.dims)
    every = views.slices(call.db, dims)
    n, pnl = sum(one.n for one in every), sum(one.pnl_usd_e6 for one in every)
    return Answer(
        Attribution(
            paper=True,
            dims=[one.value for one in dims],
            slices=[
                AttributedSlice(
                    key=dict(one.key),
                    n=one.n,
                    hit_rate=_share(one.hits, one.n),
                    pnl_usd=_usd(one.pnl_usd_e6),
                )
                for one in shadow.folded(every, command.min_n, MOST_SLICES)
            ],
            n=n,
            pnl_usd=_usd(pnl) if n else None,
            fingerprint_coverage=_share(views.covered(call.db), n),
            **_stamp(views.book(call.db)),
        )
    )


def insights(call: ReadCall, caller: Nobody, command: InsightsQuery) -> Answer[Insights]:
    since = views.first_day(call.now, command.days)
    cards = views.insights(call.db, since, MOST_CARDS)
    return Answer(Insights(days=command.days, cards=[_card(one) for one in cards]))


def _dimensions(sent: str) -> list[Dimension]:
    """Errors: InvalidParameterError."""
    names = [one.strip() for one in sent.split(",")]
    if (
        not 1 <= len(names) <= MOST_DIMENSIONS
        or len(set(names)) < len(names)
        or not set(names) <= set(Dimension)
    ):
        raise InvalidParameterError(
            "dims",
            f"write one to {MOST_DIMENSIONS} of {DIMENSIONS}, each once, separated by commas",
        )
    return [Dimension(one) for one in names]


def _result(one: ShadowVenue) -> PaperVenueResult:
    n = one.settled + one.returned
    return PaperVenueResult.of(
        one,
        void=one.voided,
        hit_rate=_share(one.hits, n),
        pnl_usd=_usd(one.pnl_usd_e6) if n else None,
        worst_usd=None if one.worst_usd_e6 is None else _usd(one.worst_usd_e6),
    )


def _card(one: MarketInsight) -> Insight:
    return Insight.of(
        one,
        detector=DETECTOR_OF[InsightKind(one.kind)],
        day=one.day.isoformat(),
        **simulated(one.is_simulated),
    )


def _stamp(book: ShadowBook | None) -> dict[str, Any]:
    if book is None:
        return {"computed_at": None}
    return {"computed_at": instant_text(book.computed_at)} | simulated(book.is_simulated)


def _share(part: int, of: int) -> float | None:
    return part / of if of else None


def _usd(usd_e6: int) -> str:
    return usdc_text(UsdcE6(usd_e6))
