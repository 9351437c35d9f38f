"""What happens in the simulator's world: effects on numbers, and what exchanges declare.

Days are counted from the world's origin: -90 is the beginning of the history, 0 its end. After it a
smaller wave repeats every 20 days for ten years, so that a service that runs for long keeps seeing
each kind of event.

| what | where |
|---|---|
| a decline, notice, suspension, delisting; a healthy peer flagged by it and tagged six days later | VELTQ: gate; mexc |
| Korean exchanges that declare at the same moment | MORUQ |
| outcomes after a decline | QORNQ, DUSTQ (price), DRYSQ (volume), SUPLQ (supply), TAVIQ (halt) |
| outcomes without a sign before | LUMAQ, TAGSQ, SUSPQ |
| a decline that came to nothing | ELVAQ |
| what is no outcome: equity, stablecoin, margin, maintenance, a removed quote, an old tag | ACMEQ, USDQ, OP, ARB, OLDTQ |
| one ticker of two coins | XOLTQ |
| twelve coins of a chain halted at once | HAL.Q at bitget |
| listed two hours before the origin | NUVAQ at kucoin |
| gaps between two and three exchanges | ARQNQ; TRIOQ |
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.facts import NoticeKind, NoticeScope
from indexer.venues.sim.cast import EXCHANGES, HALTED
from indexer.venues.sim.noise import key_of
from indexer.venues.sim.world import SimListing, SimWorld

DAY_S: Final = 86_400
FOREVER_S: Final = 100 * 365 * DAY_S
WAVE_DAYS: Final = 20
WAVES: Final = 180


class SimKnob(StrEnum):
    """What an effect turns. The first four are factors; the others hold while the effect lasts."""

    PRICE = "price"
    DEPTH = "depth"
    SPREAD = "spread"
    VOLUME = "volume"
    DEPOSITS_CLOSED = "deposits_closed"
    WITHDRAWALS_CLOSED = "withdrawals_closed"
    ABSENT = "absent"  # not listed: there is no book
    ST_TAG = "st_tag"
    CAUTION = "caution"


FACTORS: Final = (SimKnob.PRICE, SimKnob.DEPTH, SimKnob.SPREAD, SimKnob.VOLUME)
CLOSED: Final = {SimKnob.DEPOSITS_CLOSED: "deposit", SimKnob.WITHDRAWALS_CLOSED: "withdraw"}


@dataclass(frozen=True, slots=True)
class SimEffect:
    """From `start_s` (inclusive) to `end_s` (exclusive), unix seconds. A factor is reached over
    `ramp_s`, evenly in its logarithm, and left at once.
    """

    knob: SimKnob
    rows: tuple[int, ...]
    start_s: int
    end_s: int
    factor: float = 1.0
    ramp_s: int = 0


@dataclass(frozen=True, slots=True)
class SimDeclaration:
    """A notice, before it is written in an exchange's words."""

    exchange: str
    ticker: str
    kind: NoticeKind
    at: datetime
    effective_at: datetime | None = None
    scope: NoticeScope = NoticeScope.SPOT
    language: str = "en"

    @property
    def id(self) -> str:
        text = key_of(self.exchange, self.ticker, self.kind, self.at.isoformat(), self.language)
        return f"{text & 0xFFFFFFFF:08x}"

    @property
    def title(self) -> str:
        if self.language == "ko":
            return f"{self.ticker} {_KOREAN[self.kind]}"
        return _ENGLISH[self.kind].format(base=self.ticker)


_ENGLISH: Final = {
    NoticeKind.ST_TAG: "Special Treatment tag added to {base}",
    NoticeKind.CAUTION: "{base} designated as a caution asset",
    NoticeKind.DELIST: "Notice of removal of {base}",
    NoticeKind.SUSPEND: "{base} deposits and trading will be suspended",
    NoticeKind.DELISTED: "{base} has been delisted",
    NoticeKind.RESUME: "{base} deposits and withdrawals resumed",
    NoticeKind.MAINTENANCE: "Wallet maintenance for {base}",
    NoticeKind.QUOTE_PAIR_REMOVAL: "Removal of the {base}/USDC trading pair",
    NoticeKind.OTHER: "An event with {base}",
}
_KOREAN: Final = {
    **dict.fromkeys(NoticeKind, "안내"),
    NoticeKind.CAUTION: "거래유의종목 지정 안내",
    NoticeKind.DELIST: "거래지원 종료 안내",
}


@dataclass(frozen=True, eq=False)
class SimScript:
    effects: tuple[SimEffect, ...]
    declarations: tuple[SimDeclaration, ...]
    starts_s: NDArray[np.int64]  # of the effects
    ends_s: NDArray[np.int64]

    def between(self, first_s: int, last_s: int) -> Iterator[SimEffect]:
        """The effects that hold at a moment of it, both ends included."""
        places = np.flatnonzero((self.starts_s <= last_s) & (self.ends_s > first_s))
        return (self.effects[place] for place in places.tolist())


@lru_cache(maxsize=8)
def script_of(world: SimWorld) -> SimScript:
    made = _Writer(world)
    for part in (
        _outcomes,
        _misses_and_alarms,
        _no_outcomes,
        _coins_of_a_chain,
        _gaps_and_a_listing,
    ):
        part(made)
    for number in range(WAVES):
        _wave(made, number)
    return SimScript(
        tuple(made.effects),
        tuple(sorted(made.declarations, key=lambda one: (one.at, one.id))),
        np.array([one.start_s for one in made.effects], dtype=np.int64),
        np.array([one.end_s for one in made.effects], dtype=np.int64),
    )


class _Writer:
    def __init__(self, world: SimWorld) -> None:
        self.world = world
        self.effects: list[SimEffect] = []
        self.declarations: list[SimDeclaration] = []

    def at(self, day: float) -> datetime:
        return self.world.origin + timedelta(days=day)

    def effect(  # what happens, where, when: read by name
        self,
        knob: SimKnob,
        exchange: str,
        ticker: str,
        *,
        day: float,
        until: float | None = None,
        factor: float = 1.0,
        ramp_days: float = 0.0,
    ) -> None:
        """`until`: a day; None: it lasts."""
        rows = self.world.rows_of(exchange, ticker)
        start_s = self.world.origin_s + int(day * DAY_S)
        end_s = start_s + FOREVER_S if until is None else self.world.origin_s + int(until * DAY_S)
        self.effects.append(SimEffect(knob, rows, start_s, end_s, factor, int(ramp_days * DAY_S)))

    def declare(
        self,
        kind: NoticeKind,
        exchange: str,
        ticker: str,
        day: float,
        effective: float | None = None,
    ) -> None:
        if not self.world.rows_of(exchange, ticker):
            return  # a world so small that nobody lists it
        later = None if effective is None else self.at(effective)
        self.declarations.append(SimDeclaration(exchange, ticker, kind, self.at(day), later))
        if kind is NoticeKind.ST_TAG:
            self.effect(SimKnob.ST_TAG, exchange, ticker, day=day)
        elif kind is NoticeKind.CAUTION:
            self.effect(SimKnob.CAUTION, exchange, ticker, day=day)
        elif kind is NoticeKind.DELISTED:
            self.effect(SimKnob.ABSENT, exchange, ticker, day=day)

    def decline(self, exchange: str, ticker: str, day: float, until: float | None = None) -> None:
        """Depth, volume and spread worsen over three days."""
        for knob, factor in ((SimKnob.DEPTH, 0.1), (SimKnob.VOLUME, 0.04), (SimKnob.SPREAD, 9.0)):
            self.effect(knob, exchange, ticker, day=day, until=until, factor=factor, ramp_days=3)

    def halt(self, exchange: str, ticker: str, day: float, until: float | None = None) -> None:
        for knob in CLOSED:
            self.effect(knob, exchange, ticker, day=day, until=until)


def _outcomes(made: _Writer) -> None:
    made.decline("gate", "VELTQ", -62)
    made.declare(NoticeKind.DELIST, "gate", "VELTQ", -50, -40)
    made.declare(NoticeKind.SUSPEND, "gate", "VELTQ", -48, -47)
    made.halt("gate", "VELTQ", -47)
    made.declare(NoticeKind.DELISTED, "gate", "VELTQ", -40, -40)
    made.declare(NoticeKind.ST_TAG, "mexc", "VELTQ", -44)
    made.decline("upbit", "MORUQ", -36)
    made.decline("bithumb", "MORUQ", -35)
    for exchange in ("upbit", "bithumb", "coinone", "korbit"):
        made.declare(NoticeKind.CAUTION, exchange, "MORUQ", -30)
        made.declare(NoticeKind.DELIST, exchange, "MORUQ", -20, -8)
        made.declare(NoticeKind.DELISTED, exchange, "MORUQ", -8, -8)
    again = next(one for one in made.declarations if one.exchange == "upbit")
    made.declarations.append(replace(again, language="ko", at=again.at + timedelta(minutes=9)))
    made.decline("mexc", "QORNQ", -33)
    made.declare(NoticeKind.ST_TAG, "mexc", "QORNQ", -25)
    made.declare(NoticeKind.ST_TAG, "kucoin", "QORNQ", -24.9)
    made.halt("bitget", "TAVIQ", -20, -6)
    made.declare(NoticeKind.SUSPEND, "bitget", "TAVIQ", -18, -18)
    made.declare(NoticeKind.RESUME, "bitget", "TAVIQ", -6)
    made.effect(SimKnob.PRICE, "mexc", "DUSTQ", day=-80, factor=0.05, ramp_days=70)
    made.effect(SimKnob.PRICE, "bitget", "DUSTQ", day=-80, factor=0.05, ramp_days=70)
    made.declare(NoticeKind.ST_TAG, "mexc", "DUSTQ", -3)
    made.effect(SimKnob.VOLUME, "gate", "DRYSQ", day=-88, factor=0.01, ramp_days=10)
    made.declare(NoticeKind.DELIST, "gate", "DRYSQ", -5, 9)
    made.declare(NoticeKind.SUSPEND, "mexc", "SUPLQ", -4, -3)
    made.decline("mexc", "SUPLQ", -10.5)
    made.halt("mexc", "SUPLQ", -3)


def _misses_and_alarms(made: _Writer) -> None:
    made.declare(NoticeKind.DELIST, "binance", "LUMAQ", -10, 4)
    made.declare(NoticeKind.ST_TAG, "kucoin", "TAGSQ", -15)
    made.declare(NoticeKind.CAUTION, "bithumb", "SUSPQ", -7)
    made.declare(NoticeKind.SUSPEND, "bithumb", "SUSPQ", -6.5, -6)
    made.halt("bithumb", "SUSPQ", -6)
    made.decline("okx", "ELVAQ", -14, -9)
    made.decline("gate", "TAGSQ", -70, -66)
    made.decline("kucoin", "SUPLQ", -55, -50)


def _no_outcomes(made: _Writer) -> None:
    made.effect(SimKnob.ST_TAG, "mexc", "OLDTQ", day=-400)
    made.declare(NoticeKind.ST_TAG, "bybit", "ACMEQ", -22)
    made.declare(NoticeKind.DELIST, "gate", "USDQ", -28, -14)
    for day, exchange, ticker in ((-16, "binance", "ARB"), (-5, "upbit", "ETH"), (-2, "okx", "OP")):
        made.declare(NoticeKind.MAINTENANCE, exchange, ticker, day, day + 0.2)
        made.halt(exchange, ticker, day + 0.2, day + 0.4)
    if made.world.rows_of("bybit", "OP"):
        made.declarations.append(
            SimDeclaration(
                "bybit", "OP", NoticeKind.DELIST, made.at(-9), made.at(-7), NoticeScope.MARGIN
            )
        )
    made.declare(NoticeKind.QUOTE_PAIR_REMOVAL, "binance", "ARB", -7, -6)
    row = made.world.row_of.get(("binance", "ARB", "USDC"))
    if row is not None:
        start_s = made.world.origin_s - 6 * DAY_S
        made.effects.append(SimEffect(SimKnob.ABSENT, (row,), start_s, start_s + FOREVER_S))


def _coins_of_a_chain(made: _Writer) -> None:
    for place, ticker in enumerate(HALTED):
        made.halt("bitget", ticker, -0.125 + place / 1_440, 0.375)
    made.decline("bitget", HALTED[0], -0.3, 0.4)


def _gaps_and_a_listing(made: _Writer) -> None:
    made.effect(SimKnob.ABSENT, "kucoin", "NUVAQ", day=-91, until=-2 / 24)
    made.effect(SimKnob.PRICE, "kucoin", "ARQNQ", day=-91, factor=1.018)
    made.effect(SimKnob.PRICE, "gate", "TRIOQ", day=-91, factor=1.024)
    made.effect(SimKnob.PRICE, "bybit", "TRIOQ", day=-91, factor=1.011)
    for day in (-60, -31, -17):
        made.effect(SimKnob.PRICE, "bitget", "SOL", day=day, until=day + 0.1, factor=1.009)
        made.effect(SimKnob.PRICE, "upbit", "XRP", day=day, until=day + 0.3, factor=1.031)


def _wave(made: _Writer, number: int) -> None:
    """After the origin: a listing declines, is tagged and recovers; a chain halts for six hours."""
    day = number * WAVE_DAYS
    ordinary = _ordinary(made.world)
    if ordinary:
        victim = ordinary[key_of(made.world.seed, "wave", number) % len(ordinary)]
        exchange, ticker = victim.exchange, victim.coin.ticker
        made.decline(exchange, ticker, day + 4, day + 18)
        made.declarations += [
            SimDeclaration(exchange, ticker, NoticeKind.ST_TAG, made.at(day + 9)),
            SimDeclaration(exchange, ticker, NoticeKind.RESUME, made.at(day + 18)),
        ]
        made.effect(SimKnob.ST_TAG, exchange, ticker, day=day + 9, until=day + 18)
    for ticker in HALTED:
        made.halt("bitget", ticker, day + 12, day + 12.25)


@lru_cache(maxsize=8)
def _ordinary(world: SimWorld) -> tuple[SimListing, ...]:
    tagging = {one.id for one in EXCHANGES.values() if one.capabilities.st_tag}
    return tuple(
        one
        for one in world.listings
        if one.coin.ticker.startswith("SIM") and one.exchange in tagging
    )
