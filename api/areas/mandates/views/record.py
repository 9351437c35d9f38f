"""The public record of one mandate as a stream of canonical JSON lines: what
core.mandate.rules.record names and api/client checks.

Laws
- The opening is read once, in one snapshot: terms, head, and how far the chain was read. Rows are
  never changed and only added at the end, so that those up to the head's seq are the same rows
  whenever they are read: each batch is a short read of its own, and a slow reader holds no
  transaction open.
- Memory is that of one batch, however long the ledger.
- Anchors follow the rows, one line an epoch: from the one before the first that can hold a row to
  the newest that was posted by the block up to which the chain was read; on paper, at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.anchors import queries as anchors
from core.anchors.rules import epoch_of
from core.blocks import queries as chain
from core.canonical import canonical_json
from core.db.engine import Database
from core.errors import OutsideError
from core.hexes import checksum_address
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rows import row_of
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.record import (
    FORMAT,
    HELD_KEY,
    VERSION,
    AnchorLine,
    genesis_hash,
    record_line,
    totals_of,
)
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.terms import rules_from_json, rules_to_json, terms_from_json, terms_to_json
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from core.mandate.views import first_unexplained
from core.quarantine.queries import MANDATE
from core.quarantine.views.held import shorts_of

BATCH_ROWS = 1_000
BATCH_EPOCHS = 200


@dataclass(frozen=True, slots=True)
class Opening:
    """First and last line of a record, and up to which row it goes."""

    mandate_id: int
    public_id: str
    first: dict[str, Any]
    last: dict[str, Any]
    seq: int
    epochs: range  # those whose anchors belong to it


def opening(session: Session, mandate: Mandate, factory: str) -> Opening:
    """What frames the rows, all of one snapshot.

    `factory`: the address whose domain the terms are signed under.
    """
    seq, row_hash = head_of(session, mandate)
    totals = totals_of(mandate_ledger.load_head(session, mandate.id))
    as_of = _as_of(session, mandate)
    head = {"seq": seq, "row_hash": row_hash, "totals": totals, "as_of": as_of}
    short = shorts_of(session, MANDATE, [mandate.id]).get(mandate.id)
    last = {"head": head | ({} if short is None else {HELD_KEY: short.to_json()})}
    return Opening(
        mandate.id,
        mandate.public_id,
        _first_line(mandate, factory),
        last,
        seq,
        _epochs(session, mandate, None if as_of is None else as_of["block_number"]),
    )


def _epochs(session: Session, mandate: Mandate, until_block: int | None) -> range:
    """From the newest posted one before that of the oldest row, by whichever of its times is
    earlier, to the newest one that is posted.
    """
    oldest = session.scalar(
        select(func.min(func.least(MandateEvent.occurred_at, MandateEvent.created_at))).where(
            MandateEvent.mandate_id == mandate.id
        )
    )
    newest = anchors.newest_posted_epoch(session, until_block)
    if oldest is None or newest is None:
        return range(0)
    before = epoch_of(oldest) - 1
    first = anchors.newest_posted_until(session, before)
    return range(before if first is None else first, newest + 1)


def head_of(session: Session, mandate: Mandate) -> tuple[int, str]:
    """(seq, row hash) of the ledger's last row; of a ledger without rows (0, the hash that its chain
    begins with).
    """
    head = session.get(MandateHead, mandate.id)
    return (
        (0, genesis_hash(mandate.public_id))
        if head is None
        else (head.seq, "0x" + head.row_hash.hex())
    )


def chunks(database: Database, record: Opening) -> Iterator[str]:
    """The record's text, whole lines at a time.

    Errors: those of the database, and OutsideError of a replica that is behind, in the middle of the
    text: it then lacks its head.
    """
    yield _text([canonical_json(record.first)])
    after = 0
    while after < record.seq:
        with database.read() as session:
            rows = _rows(session, record, after)
        if not rows:
            raise OutsideError("the database that was asked now is behind the one asked before")
        yield _text([record_line(row) for row in rows])
        after = rows[-1].seq
    yield from _anchors(database, record)
    yield _text([canonical_json(record.last)])


def _anchors(database: Database, record: Opening) -> Iterator[str]:
    """The lines of the anchors; those of a record's short ledger too, since they are what was
    anchored.
    """
    genesis, at = str(record.first["genesis_hash"]), record.epochs.start
    while at < record.epochs.stop:
        with database.read() as session:
            posts = anchors.posted_between(session, at, record.epochs.stop - 1, BATCH_EPOCHS)
            heads = list(anchors.anchored_heads(session, record.public_id, posts))
        if not posts:
            return
        lines = (
            AnchorLine(head.post, head.seq, head.row_hash or genesis, head.proof.text())
            for head in heads
        )
        yield _text([canonical_json(line.to_json()) for line in lines])
        at = posts[-1].epoch + 1


def _text(lines: list[bytes]) -> str:
    return "".join(line.decode() + "\n" for line in lines)


def _rows(session: Session, record: Opening, after: int) -> list[LedgerRow]:
    until = min(record.seq, after + BATCH_ROWS)
    query = select(MandateEvent.__table__).where(
        MandateEvent.mandate_id == record.mandate_id,
        MandateEvent.seq > after,
        MandateEvent.seq <= until,
    )
    return [row_of(row) for row in session.execute(query.order_by(MandateEvent.seq))]


def _first_line(mandate: Mandate, factory: str) -> dict[str, Any]:
    vault, signature = mandate.vault_address, mandate.signature
    return {
        "format": FORMAT,
        "version": VERSION,
        "mandate_id": mandate.public_id,
        "market_mode": mandate.market_mode,
        "chain_id": mandate.chain_id,
        "factory": factory,
        "vault": None if vault is None else checksum_address("0x" + vault.hex()),
        "terms": terms_to_json(terms_from_json(mandate.terms)),
        "rules": rules_to_json(rules_from_json(mandate.rules)),
        "guard_targets": mandate.guard_targets,
        "terms_digest": "0x" + mandate.terms_digest.hex(),
        "terms_version": mandate.terms_version,
        "signature": None if signature is None else "0x" + signature.hex(),
        "genesis_hash": genesis_hash(mandate.public_id),
    }


def _as_of(session: Session, mandate: Mandate) -> dict[str, Any] | None:
    """How far the chain was read.

    Reverted calls come later than logs: their reasons are looked up one by one. None: nothing was
    read.
    """
    cursor = chain.cursor(session, chain.TIP)
    if cursor is None or mandate.market_mode == MarketMode.PAPER.value:
        return None
    owed, waiting = (
        chain.cursor(session, chain.REVERTS),
        first_unexplained(session, mandate.chain_id, mandate.id),
    )
    known = [
        cursor.number,
        *([] if owed is None else [owed.number]),
        *([] if waiting is None else [waiting - 1]),
    ]
    return {
        "block_number": cursor.number,
        "block_hash": cursor.hash,
        "reverts_block_number": min(known),
    }
