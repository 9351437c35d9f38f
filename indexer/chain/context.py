"""What every part of the chain's indexer is given: the reader, the database, the deployment, the
right to write.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from core.db.engine import Database
from core.mandate.chain.reader import VaultReader
from indexer.metrics import IndexerMetrics


@dataclass(frozen=True, slots=True)
class ChainContext:
    """One chain and one deployment.

    `fence` is called first in each writing transaction and raises when another leads.
    """

    reader: VaultReader
    database: Database
    chain_id: int
    factory: str
    usdc: str
    x402_adapter: str | None
    start_block: int  # height of the first contract
    epoch: int
    fence: Callable[[Session], None]
    # the loop gets on: called in long work between two fences
    sign: Callable[[], None] = lambda: None
    reserve_token: str | None = None
    metrics: IndexerMetrics = field(default_factory=lambda: IndexerMetrics(time.time))
    # set in the transaction that wrote, late, of whom logs are kept: the tip reads it again
    watch_changed: threading.Event = field(default_factory=threading.Event)
    # rounds in which all nodes refused to run an adapter
    refusals: Counter[str] = field(default_factory=Counter)
