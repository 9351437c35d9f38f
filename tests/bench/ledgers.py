"""What one block costs that concerns many ledgers: its rollback, and a factory event that every
owner is to read.

    4,000 working mandates of an owner each, their ledgers with ROWS rows; a block that moves each of them; its rollback by the
    indexer's own unwind. Then a block with KeeperProposed: from its transaction to the last note, slice by slice.

The last line is one JSON object.
"""

import gc
import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import cast

from sqlalchemy import insert, text

from core.blocks import queries as repository
from core.blocks.queries import TIP, Cursor
from core.blocks.registry import NewVault, add_vaults
from core.chain.abi import topic_of
from core.chain.blocks import BlockHeader, RawLog
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.events import KeeperProposed, LogRef
from core.mandate.rules.rows import NewRow, RowKind
from core.mandate.tables import Mandate
from indexer.chain.context import ChainContext
from indexer.chain.factory_notes import write_slice
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.unwind import Fork, unwind
from indexer.chain.watch import WatchList
from indexer.chain.write import BlockWriter
from indexer.main import COLLECT_AFTER
from tests.bench.mandates import (
    AGENT,
    BUDGET,
    OWNER,
    executed,
    mandate_row,
    of_chain,
    public_id,
    word,
)
from tests.bench.place import CHAIN_ID, USDC, a_database

LEDGERS, ROWS = 4_000, 50
BEGAN = datetime(2026, 11, 3, 9, tzinfo=UTC)


def address(number: int) -> str:
    return f"0x{number:040x}"


def header(number: int) -> BlockHeader:
    return BlockHeader(
        number=number,
        hash=word(number, "b"),
        parent_hash=word(number - 1, "b"),
        timestamp=int(header_time(number).timestamp()),
        logs_bloom=0,
        transaction_hashes=(),
    )


def moved(block: int, ledger: int) -> NewRow:
    return executed(block, header_time(block), USDC, ledger)


def header_time(block: int) -> datetime:
    return BEGAN + timedelta(seconds=2 * block)


class Crowd:
    """Mandates, their vaults and ledgers, and an indexer's context that stands on them; nothing is
    asked of a node.
    """

    def __init__(self, database: Database, ledgers: int, rows: int) -> None:
        self.database = database
        self.now = BEGAN + timedelta(days=1)
        self.chain = ChainContext(
            reader=cast("VaultReader", None),
            database=database,
            chain_id=CHAIN_ID,
            factory=address(1),
            usdc=address(2),
            x402_adapter=None,
            start_block=1,
            epoch=1,
            fence=lambda session: None,
        )
        self.ids = self._mandates(ledgers)
        self.watch = WatchList(address(1), address(2), set())
        self._fill(rows)
        self.at = Cursor(rows, word(rows, "b"))

    def _mandates(self, count: int) -> list[int]:
        owner = {"kind": "owner", "name": "o", "created_at": BEGAN}
        with self.database.write() as session:
            owners = session.scalars(insert(Account).returning(Account.id), [owner] * count).all()
            rows = [mandate_row(public_id(n), owner, BEGAN) for n, owner in enumerate(owners)]
            return sorted(session.scalars(insert(Mandate).returning(Mandate.id), rows))

    def _fill(self, rows: int) -> None:
        with self.database.write() as session:
            first = header(1)
            vaults = [(first, self._vault(n, id_)) for n, id_ in enumerate(self.ids)]
            repository.add_blocks(
                session, CHAIN_ID, [header(number) for number in range(1, rows + 1)], self.now
            )
            add_vaults(session, CHAIN_ID, vaults, ())
            repository.start_cursor(
                session, TIP, CHAIN_ID, Cursor(rows, word(rows, "b")), 1, self.now
            )
        for begin in range(0, len(self.ids), 500):
            with self.database.write() as session:
                lives = {id_: self._life(id_, rows) for id_ in self.ids[begin : begin + 500]}
                mandate_ledger.append_ledgers(session, lives, self.now)
        with self.database.write() as session:
            session.execute(text("analyze"))

    def _life(self, ledger: int, rows: int) -> list[NewRow]:
        vault = {"vault": address(ledger + 100), "agent": AGENT, "owner": OWNER}
        created = of_chain(RowKind.NOTE, 1, header_time(1), {"vault_created": vault}, 0, ledger)
        paid = of_chain(RowKind.DEPOSIT, 2, header_time(2), {"from": OWNER}, BUDGET, ledger)
        return [created, paid, *(moved(block, ledger) for block in range(3, rows + 1))]

    def _vault(self, number: int, mandate_id: int) -> NewVault:
        name = public_id(number)
        return NewVault(
            address=address(mandate_id + 100),
            factory=address(1),
            terms_digest="0x" + name.encode().ljust(32, b"\0").hex(),
            public_id=name,
            owner=OWNER,
            mandate_id=mandate_id,
        )

    def take(self, facts: BlockFacts) -> None:
        with self.database.write() as session:
            BlockWriter(session, self.chain, self.watch, self.now).blocks([facts], {}, self.at)
        self.at = Cursor(facts.header.number, facts.header.hash)


def facts_of(number: int, *found: Found) -> BlockFacts:
    return BlockFacts(header(number), tuple(one.log for one in found), found, (), (), ())


def rollback_s(crowd: Crowd) -> float:
    """Seconds to take back a block that moved every ledger; afterwards ledgers are checked by their
    own fold.
    """
    before, number = crowd.at, crowd.at.number + 1
    crowd.take(facts_of(number))
    with crowd.database.write() as session:
        mandate_ledger.append_ledgers(
            session, {id_: [moved(number, id_)] for id_ in crowd.ids}, crowd.now
        )
    begun = time.monotonic()
    with crowd.database.write() as session:
        count = unwind(session, crowd.chain, Fork(before, (crowd.at,)), crowd.at, crowd.now)
    seconds = time.monotonic() - begun
    crowd.at = before
    assert count == len(crowd.ids)
    _check(crowd)
    return seconds


def factory_event_s(crowd: Crowd) -> tuple[float, float]:
    """(seconds from the block's transaction to the last note, the longest transaction)."""
    number = crowd.at.number + 2  # the one between was taken back
    block = header(number)
    ref = LogRef(CHAIN_ID, number, block.hash, block.timestamp, word(1, "fac7"), 0, address(1))
    log = RawLog(
        address(1),
        (topic_of("KeeperProposed"),),
        "0x",
        number,
        block.hash,
        ref.tx_hash,
        0,
        ref.log_index,
    )
    found = Found(ref, KeeperProposed(address(4), block.timestamp + 172_800), log)
    begun, taken = time.monotonic(), list[float]()
    crowd.take(facts_of(number, found))
    is_left = True
    while is_left:
        taken.append(time.monotonic())
        is_left = write_slice(crowd.chain, crowd.now)
    ended = time.monotonic()
    _check(crowd)
    moments = [begun, *taken, ended]
    with crowd.database.read() as session:
        noted = session.scalar(
            text("select count(*) from mandate_event where block_number = :number"),
            {"number": number},
        )
        told = session.scalar(text("select count(*) from owner_alert"))
    assert (noted, told) == (len(crowd.ids), len(crowd.ids)), (noted, told)
    return ended - begun, max(later - earlier for earlier, later in itertools.pairwise(moments))


def _check(crowd: Crowd) -> None:
    with crowd.database.read() as session:
        assert [
            fault for id_ in crowd.ids[::500] for fault in mandate_ledger.verify(session, id_)
        ] == []


@contextmanager
def crowd_of(ledgers: int, rows: int) -> Iterator[Crowd]:
    with a_database() as database:
        yield Crowd(database, ledgers, rows)


def measure(ledgers: int = LEDGERS, rows: int = ROWS) -> dict[str, float]:
    gc.set_threshold(COLLECT_AFTER)  # as the indexer's process does
    print(f"writing {ledgers} ledgers of {rows} rows", flush=True)
    with crowd_of(ledgers, rows) as crowd:
        rolled_back = rollback_s(crowd)
        noted, slice_s = factory_event_s(crowd)
    return {
        "rollback_4000_ledgers_s": round(rolled_back, 2),
        "factory_event_4000_s": round(noted, 2),
        "factory_event_longest_slice_s": round(slice_s, 2),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
