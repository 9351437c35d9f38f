"""Vaults for a local stack, marked as simulated: one of each kind of case that a follower meets.

majors      spot, on the index of large coins; signals of three days, of 30 hours, of two hours and of one
paused      spot, with a live signal, and mirroring paused
leveraged   perp, up to 3
sessions    spot, of a market that trades in New York's sessions
illiquid    spot, with a live signal for a coin in decline, which the simulated exchange's books give an F
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import exists, select

from core.db.engine import WriteSession
from core.fund import indices
from core.fund import queries as fund
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.signals import NewSignal
from core.fund.tables import FundVault
from core.money import UsdcE6

LEAST_ORDER: Final = UsdcE6(10_000_000)
BTC, ETH, SOL = "binance_btc_usdt", "binance_eth_usdt", "binance_sol_usdt"
QORN = "mexc_qornq_usdt"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedVault:
    """`signals`: hours ago, market, weight in ten-thousandths, leverage in hundredths."""

    name: str
    kind: FundKind = FundKind.SPOT
    session: str = "always"
    index: str | None = None
    most_leverage_e2: int = 100
    is_paused: bool = False
    universe: tuple[str, ...] = (BTC, ETH, SOL)
    signals: tuple[tuple[int, str, int, int], ...]


VAULTS: Final = (
    SimulatedVault(
        name="Simulated majors",
        index="majors",
        signals=(
            (72, ETH, 3_000, 100),
            (30, BTC, 2_000, 100),
            (2, BTC, 2_500, 100),
            (1, ETH, 2_000, 100),
        ),
    ),
    SimulatedVault(name="Simulated, paused", is_paused=True, signals=((3, BTC, 1_000, 100),)),
    SimulatedVault(
        name="Simulated, leveraged",
        kind=FundKind.PERP,
        most_leverage_e2=300,
        signals=((4, SOL, -2_000, 200), (1, BTC, 2_500, 300)),
    ),
    SimulatedVault(name="Simulated, in sessions", session="XNYS", signals=((26, SOL, 1_000, 100),)),
    SimulatedVault(
        name="Simulated, illiquid", universe=(BTC, QORN), signals=((2, QORN, 1_000, 100),)
    ),
)


def add_simulated(session: WriteSession, now: datetime) -> int:
    """Once, into a database without vaults; how many were added."""
    if session.scalar(select(exists().where(FundVault.id > 0))):
        return 0
    index_ids = indices.register(session, now)
    published = list[tuple[int, int, str, int, int]]()
    for one in VAULTS:
        vault_id = _add(session, one, index_ids, now)
        published += [
            (hours, vault_id, market, weight, leverage)
            for hours, market, weight, leverage in one.signals
        ]
    for hours, vault_id, market, weight, leverage in sorted(published, reverse=True):
        signal = NewSignal(
            vault_id=vault_id,
            rules_version=1,
            market=market,
            weight_e4=weight,
            leverage_e2=leverage,
            mid=None,
        )
        signal_ledger.publish(session, signal, None, now - timedelta(hours=hours))
    return len(VAULTS)


def _add(
    session: WriteSession, one: SimulatedVault, index_ids: Mapping[str, int], now: datetime
) -> int:
    vault_id = fund.add_vault(
        session,
        one.name,
        one.kind,
        is_simulated=True,
        maker_id=None,
        now=now,
        index_id=None if one.index is None else index_ids[one.index],
    )
    rules = FrozenRules(
        vault_id=vault_id,
        version=1,
        kind=one.kind,
        mandate=f"{one.name}: coins of the simulated exchanges.",
        universe=tuple(UniverseMarket(market, one.session, LEAST_ORDER) for market in one.universe),
        most_leverage_e2=one.most_leverage_e2,
    )
    fund.freeze(session, rules, None, now)
    if one.is_paused:
        vault = fund.hold_vault(session, vault_id)
        assert vault is not None, "it was added just now"
        fund.set_paused(session, vault, True, None, now)
    return vault_id
