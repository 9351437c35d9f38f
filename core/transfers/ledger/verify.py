"""Whether an account's transfer ledger is sound: its chain, its reversals, its head and its
balances.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from core.ledger.chain import Link, chain_faults, genesis
from core.transfers.ledger.rows import STATES, body_of
from core.transfers.ledger.writer import LEDGER
from core.transfers.tables import TransferBalance, TransferEntry, TransferHead


def transfer_ledger_faults(session: Session, account_id: int) -> list[str]:
    """What is wrong with an account's ledger, its head or its balances; empty means sound."""
    entries = session.execute(
        select(*TransferEntry.__table__.c)
        .where(TransferEntry.account_id == account_id)
        .order_by(TransferEntry.seq)
    ).all()
    links = [
        Link(entry.seq, entry.prev_hash, entry.row_hash, body_of(entry._asdict()))
        for entry in entries
    ]
    faults = chain_faults(links, genesis(LEDGER, account_id)) + _reversal_faults(entries)
    head = session.get(TransferHead, account_id, populate_existing=True)
    last = (entries[-1].seq, entries[-1].row_hash) if entries else (0, genesis(LEDGER, account_id))
    if (head is not None or entries) and (head is None or (head.seq, head.row_hash) != last):
        faults.append(f"head: it does not stand at the ledger's last row, seq {last[0]}")
    return faults + _balance_faults(session, account_id)


def _reversal_faults(entries: Sequence[Row[Any]]) -> list[str]:
    """A reversal points at the entry that its payload names."""
    seq_by_id = {entry.id: entry.seq for entry in entries}
    return [
        (
            f"seq {entry.seq}: reverses seq {seq_by_id.get(entry.reverses_id)}, its payload says "
            f"{entry.payload.get('reverses_seq')}"
        )
        for entry in entries
        if entry.reverses_id is not None
        and seq_by_id.get(entry.reverses_id) != entry.payload.get("reverses_seq")
    ]


def _balance_faults(session: Session, account_id: int) -> list[str]:
    place = (TransferEntry.chain_id, TransferEntry.asset)
    sums = [func.sum(getattr(TransferEntry, f"{state}_delta_e6")) for state in STATES]
    entries = session.execute(
        select(*place, *sums).where(TransferEntry.account_id == account_id).group_by(*place)
    ).all()
    query = (
        select(TransferBalance)
        .where(TransferBalance.account_id == account_id)
        .execution_options(populate_existing=True)
    )
    balances = session.scalars(query).all()
    summed = {(chain_id, asset): tuple(map(int, amounts)) for chain_id, asset, *amounts in entries}
    stored = {
        (row.chain_id, row.asset): tuple(getattr(row, f"{state}_e6") for state in STATES)
        for row in balances
    }
    differing = {
        place for place in summed.keys() | stored.keys() if summed.get(place) != stored.get(place)
    }
    return [
        f"balance: {asset} on chain {chain_id} is not the sum of its entries"
        for chain_id, asset in sorted(differing)
    ]
