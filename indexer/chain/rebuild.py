"""The chain scanned a second time into a shadow, compared with the record, and put in its place
only when told so.

    refuse while an indexer leads  ->  scan, from the deployment to the record's cursor  ->  compare  ->  equal: discard
                                            (killed: the next start goes on)                  |-> differs: leave it, or accept

Laws
- The lead is held the whole time, so that no indexer moves the record meanwhile; a rescan writes
  nothing but the shadow.
- The shadow keeps its own cursor: a process that dies loses no block that was committed.
- Ledgers are not rebuilt. A row that the chain proves and a ledger lacks is a difference; accepting
  appends it at the ledger's end.
- Accepting is one transaction: the canonical view becomes the rescan's, the ledgers get what they
  lack, findings are closed.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.audit import queries as audit
from core.blocks import queries as repository
from core.blocks.queries import REVERTS, REVERTS_SINCE, TIP, Cursor
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcError
from core.chain.reader import LATEST, At
from core.db.engine import Database
from core.errors import OutsideError
from core.health import views as health
from core.mandate import owed_notes
from core.mandate.chain.reader import VaultReader
from core.reserve.events import adopt_conversions
from core.shadow import queries as shadow
from core.shadow.queries import MissingRow
from core.shadow.views import Difference
from indexer.chain.context import ChainContext
from indexer.chain.fetch import BlockContradictionError, BlockUnavailableError
from indexer.chain.ledgers import MissingRows, write_missing
from indexer.chain.tip import Clock, TipLoop, TipRound

PATIENCE_ROUNDS, RETRY_S = 10, 1.0  # rounds in a row that may fail, and the wait after each
# between two looks for the reasons of reverted calls, which a node may not have at once
IDLE_S = 0.1


class RebuildRefusedError(OutsideError):
    """Something stands in the way; the sentence says what to do. Nothing was changed."""


class CappedReader(VaultReader):
    """A chain that ends at a height: nothing above it is shown as latest, safe or finalized."""

    def __init__(self, reader: VaultReader, last: int) -> None:
        super().__init__(reader.rpc, reader.contracts)
        self._last = last

    def header(self, at: At = LATEST) -> BlockHeader | None:
        if at == LATEST:
            return super().header(self._last)
        found = super().header(at)
        is_tag = isinstance(at, str) and not at.startswith("0x")
        return (
            super().header(self._last)
            if is_tag and found is not None and found.number > self._last
            else found
        )


class _ShadowLoop(TipLoop):
    """A tip loop that never takes anything back: what an unwind would reverse stands in the
    record.
    """

    def _write_owed_notes(self) -> bool:
        """What is owed is the record's own; a rescan's notes are compared at once (MissingRows)."""
        return False

    def _unwind(self, head: BlockHeader) -> TipRound:
        raise RebuildRefusedError("the chain changed below the rescan; begin again with --fresh")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Where record and rescan differ, and what the ledgers lack."""

    differences: Sequence[Difference]
    missing: Sequence[MissingRow]

    @property
    def is_equal(self) -> bool:
        return not self.differences and not self.missing


class Rebuild:
    """One rescan.

    `record` is fenced by a lead that the caller holds; `beside` is a database that sees the shadow
    first.
    """

    def __init__(self, record: ChainContext, beside: Database, clock: Clock) -> None:
        self._record = record
        self._beside = beside
        self._clock = clock
        self._end = self._checked_end()

    @property
    def end(self) -> Cursor:
        """The record's cursor, where the rescan ends."""
        return self._end

    def begin(self, *, is_fresh: bool) -> int:
        """Make the shadow, or go on with the one that stands; the height that it is at.

        Errors: RebuildRefusedError.
        """
        with self._record.database.write() as session:
            self._record.fence(session)
            if is_fresh:
                shadow.discard(session)
            if not shadow.is_there(session):
                shadow.create(session)
        with self._beside.read() as session:
            at = repository.cursor(session, TIP)
        if at is None:
            return max(self._record.start_block - 1, 0)
        if at.number > self._end.number or not self._is_on_chain(at):
            raise RebuildRefusedError(
                "the rescan that was begun does not fit the chain any more; begin again with "
                "--fresh"
            )
        return at.number

    def scan(self) -> Iterator[int]:
        """The height after each round, until the shadow is as far as the record and owes
        nothing.
        """
        loop, failures = _ShadowLoop(self._context(), self._clock), 0
        try:
            while True:
                try:
                    done = loop.round()
                except (RpcError, BlockUnavailableError, BlockContradictionError):
                    failures += 1
                    if failures == PATIENCE_ROUNDS:
                        raise
                    self._wait(RETRY_S)
                    continue
                failures = 0
                yield done.cursor
                if done.cursor == self._end.number and self._owes_nothing():
                    return
                if not done.is_behind:
                    self._wait(IDLE_S)
        finally:
            loop.close()

    def compare(self) -> Comparison:
        with self._record.database.read() as session:
            return Comparison(
                shadow.found_differences(session, self._record.chain_id),
                shadow.missing_rows(session),
            )

    def accept(self) -> int:
        """Put the rescan in the record's place and bring the ledgers up; how many rows they got.

        The shadow goes.
        """
        now = self._clock()
        with self._record.database.write() as session:
            self._record.fence(session)
            shadow.put_in_place(session, self._record.chain_id)
            rows = write_missing(session, now)
            adopt_conversions(session, self._record.chain_id, 0, self._end.number, now)
            audit.resolve_rebuilt(session, self._record.chain_id, now)
            shadow.discard(session)
        return rows

    def discard(self) -> None:
        """Let the shadow go; the record was not touched."""
        with self._record.database.write() as session:
            self._record.fence(session)
            shadow.discard(session)

    def _context(self) -> ChainContext:
        with self._record.database.read() as session:
            since = repository.cursor(session, REVERTS_SINCE)
        return replace(
            self._record,
            reader=CappedReader(self._record.reader, self._end.number),
            database=self._beside,
            ledgers=MissingRows(),
            reverts_from=0 if since is None else since.number,
        )

    def _checked_end(self) -> Cursor:
        with self._record.database.read() as session:
            at, owed = repository.cursor(session, TIP), repository.cursor(session, REVERTS)
            pending = health.open_reverts(session, self._record.chain_id)
            is_note_owed = owed_notes.is_owed(session, self._record.chain_id)
        if at is None:
            raise RebuildRefusedError("there is no record yet; start `python -m indexer.main`")
        if owed is not None or pending:
            raise RebuildRefusedError(
                "the indexer still looks up reverted calls; start it and let it finish first"
            )
        if is_note_owed:
            raise RebuildRefusedError(
                "the indexer still writes the factory's notes; start it and let it finish first"
            )
        if not self._is_on_chain(at):
            raise RebuildRefusedError(
                f"the node has another block {at.number} than the record; start the indexer, "
                "which unwinds it"
            )
        return at

    def _is_on_chain(self, at: Cursor) -> bool:
        header = self._record.reader.header(at.number)
        return header is not None and header.hash == at.hash

    def _owes_nothing(self) -> bool:
        with self._beside.read() as session:
            owed, pending = (
                repository.cursor(session, REVERTS),
                health.open_reverts(session, self._record.chain_id),
            )
        return owed is None and not pending

    def _wait(self, seconds: float) -> None:
        """The node is behind or away, or does not tell a reason yet; the lead is kept meanwhile."""
        with self._record.database.write() as session:
            self._record.fence(session)
        time.sleep(seconds)
