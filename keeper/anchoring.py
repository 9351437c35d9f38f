"""The anchor: the root of the oldest epoch that the contract does not have yet, looked for beside
the vaults and after them.

The roots are made by the worker (api/areas/anchors/jobs.py). One is under way at a time, in order, so
that no epoch is passed over; the contract takes each once, and only on top of the root before it,
so that what is sent twice is refused the second time.

A root in the contract that is none of ours ends the anchoring until the factory names another
account than the one that posted it: then the key was handed over, and the next of ours goes on top
of it (docs/decisions/0056-anchors-after-a-handover.md).
"""

from dataclasses import replace

import structlog
from eth_utils.address import to_checksum_address

from core.anchors.chain import CONTRACT, newest_posted, post_data
from core.anchors.queries import epoch_after, foreign_post, unposted
from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcError
from core.db.engine import Database
from core.hexes import bytes_of, hex_of
from core.keeper.intents import NewIntent
from core.mandate.chain.reader import VaultReader
from keeper.state import IntentKind, KeeperState, Role

log = structlog.get_logger("keeper")


class Anchoring:
    """A tick without a root that waits costs one query; with one, one request more.

    What a node refuses is tried again at the next tick.
    """

    def __init__(self, database: Database, reader: VaultReader) -> None:
        self._database = database
        self._reader = reader
        self._anchor = reader.contracts.get(CONTRACT)
        self._logged: int | None = None  # the epoch whose root before is not the contract's

    def due(self, state: KeeperState) -> list[NewIntent]:
        if self._anchor is None or state.is_stood_down:
            return []
        with self._database.read() as session:
            if not unposted(session, 1):
                return []
        try:
            posted, root = newest_posted(self._reader.rpc, self._anchor, state.head.hash)
        except (RpcError, AbiDecodeError) as error:
            log.warning("an anchor waits", error=str(error))
            return []
        with self._database.read() as session:
            found = epoch_after(session, posted)
            foreign = foreign_post(session, posted, root)
        if found is None:
            return []
        is_other_past = foreign is not None or found.root_before != root
        if foreign is not None and self._is_handed_over(foreign, state):
            found, is_other_past = replace(found, root_before=root), False
            log.warning("anchoring continued after a root of another key", epoch=posted)
        self._log_other_past(is_other_past, posted)
        if is_other_past:
            return []
        return [
            NewIntent(
                chain_id=state.chain_id,
                subject=f"anchor:{found.epoch}",
                vault=None,
                kind=IntentKind.ANCHOR,
                role=Role.KEEPER,
                to=self._anchor,
                data=bytes_of(post_data(found.epoch, found.root, found.root_before)),
                trigger_block_number=state.head.number,
                trigger_block_hash=state.head.hash,
                reason={"why": "epoch", "epoch": found.epoch, "root": hex_of(found.root)},
            )
        ]

    def _is_handed_over(self, tx_hash: str, state: KeeperState) -> bool:
        """Whether the factory names another account than the one that sent this. What is not known
        is not handed over.
        """
        if state.keepers is None:
            return False
        try:
            sent = self._reader.transaction(tx_hash)
        except RpcError as error:
            log.warning("an anchor waits", error=str(error))
            return False
        return sent is not None and to_checksum_address(sent["from"]) != state.keepers.named

    def _log_other_past(self, is_other_past: bool, posted: int) -> None:
        """Once for each root of the contract that is none of ours."""
        if is_other_past and self._logged != posted:
            log.error("anchoring stopped: the contract has an unknown root", epoch=posted)
            self._logged = posted
