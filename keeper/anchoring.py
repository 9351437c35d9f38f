"""Looks whether an epoch's root is due, beside the vaults and after them."""

import structlog

from core.anchors.chain import CONTRACT, newest_posted
from core.anchors.queries import epoch_after, unposted
from core.chain.abi import AbiDecodeError
from core.chain.rpc import RpcError
from core.db.engine import Database
from core.keeper.intents import NewIntent
from core.mandate.chain.reader import VaultReader
from keeper.jobs import anchor
from keeper.state import KeeperState

log = structlog.get_logger("keeper")


class Anchoring:
    """A tick without a root that waits costs one query; with one, one request more.

    What a node refuses is tried again at the next tick.
    """

    def __init__(self, database: Database, reader: VaultReader) -> None:
        self._database = database
        self._rpc = reader.rpc
        self._anchor = reader.contracts.get(CONTRACT)
        self._told: int | None = None  # the epoch whose root before is not the contract's

    def due(self, state: KeeperState, *, is_under_way: bool) -> list[NewIntent]:
        if self._anchor is None or is_under_way or state.is_stood_down:
            return []
        with self._database.read() as session:
            if not unposted(session, 1):
                return []
        try:
            posted, root = newest_posted(self._rpc, self._anchor, state.head.hash)
        except (RpcError, AbiDecodeError) as error:
            log.warning("an anchor waits", error=str(error))
            return []
        with self._database.read() as session:
            found = epoch_after(session, posted)
        if found is None:
            return []
        self._tell(found.root_before != root, posted)
        if found.root_before != root:
            return []
        return [anchor.intent_of_anchor(self._anchor, state.chain_id, found, state.head)]

    def _tell(self, is_other_past: bool, posted: int) -> None:
        """Once for each root of the contract that is none of ours."""
        if is_other_past and self._told != posted:
            log.error("the anchors' contract has another past, nothing is posted", epoch=posted)
            self._told = posted
