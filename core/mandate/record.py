"""The public record of one mandate as a stream of canonical JSON lines: what
core.mandate.rules.record_file names and api/client checks.

Laws
- The opening is read once, in one snapshot: terms, head, and how far the chain was read. Rows are
  never changed and only added at the end, so that those up to the head's seq are the same rows
  whenever they are read: each batch is a short read of its own, and a slow reader holds no
  transaction open.
- Memory is that of one batch, however long the ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blocks import queries as chain
from core.canonical import canonical_json
from core.db.engine import Database
from core.hexes import checksum_address
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rows import ledger_row
from core.mandate.rules.ledger import LedgerRow
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.record import genesis_hash, record_line
from core.mandate.rules.record_file import FORMAT, HELD_KEY, VERSION, totals_of
from core.mandate.rules.terms import rules_from_json, rules_to_json, terms_from_json, terms_to_json
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from core.mandate.views import first_unexplained
from core.quarantine.queries import MANDATE
from core.quarantine.views.held import shorts_of

BATCH_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Opening:
    """First and last line of a record, and up to which row it goes."""

    mandate_id: int
    first: dict[str, Any]
    last: dict[str, Any]
    seq: int


def opening(session: Session, mandate: Mandate, factory: str) -> Opening:
    """What frames the rows, all of one snapshot.

    `factory`: the address whose domain the terms are signed under.
    """
    seq, row_hash = head_of(session, mandate)
    totals = totals_of(mandate_ledger.load_head(session, mandate.id))
    head = {"seq": seq, "row_hash": row_hash, "totals": totals, "as_of": _as_of(session, mandate)}
    short = shorts_of(session, MANDATE, [mandate.id]).get(mandate.id)
    last = {"head": head | ({} if short is None else {HELD_KEY: short.to_json()})}
    return Opening(mandate.id, _first_line(mandate, factory), last, seq)


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

    Errors: those of the database, in the middle of the text: it then lacks its head.
    """
    yield _text([canonical_json(record.first)])
    after = 0
    while after < record.seq:
        with database.read() as session:
            rows = _rows(session, record, after)
        yield _text([record_line(row) for row in rows])
        after = rows[-1].seq
    yield _text([canonical_json(record.last)])


def _text(lines: list[bytes]) -> str:
    return "".join(line.decode() + "\n" for line in lines)


def _rows(session: Session, record: Opening, after: int) -> list[LedgerRow]:
    until = min(record.seq, after + BATCH_ROWS)
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == record.mandate_id,
        MandateEvent.seq > after,
        MandateEvent.seq <= until,
    )
    return [ledger_row(event) for event in session.scalars(query.order_by(MandateEvent.seq))]


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
