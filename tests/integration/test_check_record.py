"""indexer.check_record beside a database and a chain of the test's own: what is said of a record that
is ahead, of another chain, tampered with.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from sqlalchemy import text

from core.anchors.rules import START
from core.anchors.tables import AnchorEpoch
from core.blocks.queries import TIP, Cursor, start_cursor
from core.chain.blocks import BlockHeader
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.chain.reader import VaultReader
from core.market.ledger import writer as warnings
from core.market.ledger.writer import NewWarning
from indexer.check_record import RecordPlace, lines

CHAIN_ID = 84532
NOW = datetime(2026, 11, 26, 22, tzinfo=UTC)
OURS, OTHER = "0x" + "aa" * 32, "0x" + "bb" * 32
HEIGHT = 100


def block(number: int, hash_: str = OURS) -> BlockHeader:
    return BlockHeader(
        number=number,
        hash=hash_,
        parent_hash=OURS,
        timestamp=0,
        logs_bloom=0,
        transaction_hashes=(),
    )


def warning() -> NewWarning:
    return NewWarning(
        exchange="kucoin",
        asset_id=1,
        token="BTC",
        listing_id=None,
        type="depth_collapse",
        severity="critical",
        is_predictive=True,
        evidence={"depth_highest_1h_usd": "1000"},
        rule_version="warnings_v1",
    )


@dataclass
class Node:
    """A chain of so many blocks, each with that hash."""

    newest: int | None
    hash_: str = OURS
    served: int = CHAIN_ID
    contracts: dict[str, str] = field(default_factory=dict)
    posted: tuple[int, bytes] = (1, START)

    @property
    def rpc(self) -> "Node":
        return self

    def batch(self, *_: Any) -> list[bytes]:
        epoch, root = self.posted
        return [epoch.to_bytes(32), root]

    def chain_id(self) -> int:
        return self.served

    def header(self, at: Any = "latest") -> BlockHeader | None:
        number = self.newest if at == "latest" else at
        return None if number is None or number > (self.newest or 0) else block(number, self.hash_)


def told(database: Database, node: Node) -> dict[str, tuple[bool, str]]:
    place = RecordPlace(database, cast("VaultReader", node), CHAIN_ID)
    return {line.what: (line.is_right, line.says) for line in lines(place)}


@pytest.fixture
def record(database: Database) -> Database:
    with database.write() as session:
        start_cursor(session, TIP, CHAIN_ID, Cursor(HEIGHT, OURS), 1, NOW)
        session.execute(
            text("insert into market_asset (id, ticker) overriding system value values (1, 'BTC')")
        )
    return database


@pytest.mark.parametrize("newest", [HEIGHT, HEIGHT + 7])
def test_a_record_that_the_chain_has__is_right(record: Database, newest: int) -> None:
    found = told(record, Node(newest))
    assert all(is_right for is_right, _ in found.values()), found
    assert f"{newest - HEIGHT} newer ones" in found["place"][1]


@pytest.mark.parametrize("newest", [None, 0, HEIGHT - 1])
def test_a_chain_behind_the_record__is_said_in_one_sentence(
    record: Database, newest: int | None
) -> None:
    is_right, says = told(record, Node(newest))["place"]
    assert not is_right
    assert "the record ends at block 100" in says
    assert "the record is ahead of this chain" in says


def test_a_chain_with_another_block_there__is_said(record: Database) -> None:
    is_right, says = told(record, Node(HEIGHT + 1, OTHER))["place"]
    assert not is_right
    assert "the record is of another chain" in says


def test_a_node_of_another_chain_id__is_said(record: Database) -> None:
    is_right, says = told(record, Node(HEIGHT, served=1))["place"]
    assert not is_right
    assert "the nodes serve chain 1, CHAIN_ID is 84532" in says


def test_a_database_that_read_no_block__is_said(database: Database) -> None:
    assert told(database, Node(HEIGHT))["place"] == (
        False,
        "no block has been read yet: start the indexer",
    )


@pytest.mark.parametrize(
    ("table", "change", "ledgers"),
    [
        ("credit_entry", "welcome_delta = 9, counter_delta = -9", "credits"),
        ("warning_event", "severity = 'low'", "warnings"),
    ],
)
def test_a_row_that_was_changed_past_the_triggers__is_named(
    record: Database, table: str, change: str, ledgers: str
) -> None:
    with record.write() as session:
        account = Account(kind="agent", name="a", created_at=NOW)
        session.add(account)
        session.flush()
        credit_ledger.grant_welcome(session, account.id, 10, NOW)
        warnings.write(session, [warning()], [])
    before = told(record, Node(HEIGHT))
    assert all(is_right for is_right, _ in before.values()), before
    with record.write() as session:
        session.execute(text(f"alter table {table} disable trigger user"))
        session.execute(text(f"update {table} set {change}"))
        session.execute(text(f"alter table {table} enable trigger user"))
    after = told(record, Node(HEIGHT))
    is_right, says = after.pop(f"ledgers of {ledgers}")
    assert not is_right
    assert "seq 1: its content does not give its row_hash" in says
    assert all(is_right for is_right, _ in after.values()), after


def test_a_head_of_warnings_that_is_behind_its_rows__is_said(record: Database) -> None:
    with record.write() as session:
        warnings.write(session, [warning()], [])
    with record.write() as session:
        session.execute(text("update warning_head set seq = 0"))
    is_right, says = told(record, Node(HEIGHT))["ledgers of warnings"]
    assert not is_right
    assert "head: at seq 0, and the ledger is not" in says


@pytest.mark.parametrize(
    ("epoch", "root", "says"),
    [
        (498_000, START, "no root has been posted yet"),
        (498_000, b"\1" * 32, "the root of epoch 498000 on chain matches this record"),
        (498_000, b"\2" * 32, "anchored rows are missing"),
        (498_001, b"\1" * 32, "anchored rows are missing"),
    ],
)
def test_the_newest_root_on_chain__is_the_records_own(
    record: Database, epoch: int, root: bytes, says: str
) -> None:
    with record.write() as session:
        session.add(
            AnchorEpoch(
                epoch=498_000, root=b"\1" * 32, root_before=START, seen_block=1, created_at=NOW
            )
        )
    node = Node(HEIGHT, contracts={"record_anchor": "0x" + "11" * 20}, posted=(epoch, root))
    is_right, said = told(record, node)["anchors"]
    assert is_right is ("missing" not in says)
    assert says in said
