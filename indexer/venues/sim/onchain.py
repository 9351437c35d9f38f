"""What the simulator's chains say of a token: supply, holders, concentration, transfers.

One coin's supply grows by an eighth eleven days before the origin (SUPLQ).
"""

from datetime import datetime
from typing import Final

import numpy as np

from core.market.facts import OnchainFigures
from core.market.onchain import CoinFigures
from indexer.venues.sim.noise import key_of, keys_of, mixed, noise
from indexer.venues.sim.script import DAY_S
from indexer.venues.sim.world import SimWorld

JUMPS: Final = {"SUPLQ": (-11, 1.125)}  # ticker: (day of the origin, factor)


def figures_at(world: SimWorld, at: datetime) -> list[CoinFigures]:
    """Of each coin that has a contract, once; of two with one ticker, the older first."""
    coins = {one.coin: one.exchange for one in reversed(world.listings) if not one.coin.is_native}
    return [
        CoinFigures(coin.ticker, figures)
        for coin, exchange in sorted(coins.items(), key=lambda one: (one[0].twin, one[0].ticker))
        if (figures := onchain_of(world, exchange, coin.ticker, at)) is not None
    ]


def onchain_of(world: SimWorld, exchange: str, ticker: str, at: datetime) -> OnchainFigures | None:
    """Of the coin that the exchange lists by this ticker; None: it lists none."""
    rows = world.rows_of(exchange, ticker)
    if not rows:
        return None
    coin = world.listings[rows[0]].coin
    at_s = int(at.timestamp())
    names = (world.seed, "chain", coin.ticker, int(coin.twin))
    key = key_of(*names)
    supply = float(10 ** (6 + key % 6)) * (1 + key % 9)
    if coin.ticker in JUMPS:
        day, factor = JUMPS[coin.ticker]
        supply *= factor if at_s >= world.origin_s + day * DAY_S else 1.0
    moves = noise(mixed(keys_of([names]), np.array([[1]])), np.array([at_s]), 5 * DAY_S)[0, 0]
    holders = int(4e6 / coin.rank**1.4 * (1 + 0.05 * moves)) + 40
    return OnchainFigures(
        chain=coin.chains[0],
        supply=supply,
        holders=holders,
        top10_share=round(min(0.95, 0.1 + 0.012 * coin.rank + 0.02 * moves), 6),
        transfers_24h=int(holders * (0.05 + 0.02 * moves)),
        at=at,
    )
