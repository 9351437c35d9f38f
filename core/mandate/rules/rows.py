"""The rows of the mandate ledger: what a writer hands in, and what the ledger holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from core.money import UsdcE6


class RowKind(StrEnum):
    SIGNED = "signed"
    DEPOSIT = "deposit"
    MOVE = "move"
    BUY = "buy"
    SELL = "sell"
    FEE = "fee"
    RESOLVE = "resolve"
    STOP = "stop"
    WITHDRAW = "withdraw"
    PAYOUT = "payout"
    NOTE = "note"


TRADES: Final = (RowKind.MOVE, RowKind.BUY, RowKind.SELL)


class ReportedBy(StrEnum):
    OWNER = "owner"
    AGENT = "agent"
    CHAIN = "chain"
    KEEPER = "keeper"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAuthor:
    """Its author's signature of a row (docs/record.md#signed-rows).

    `sequence` counts the author's signed rows of this mandate from 1; `prev` is the hash of the one
    before, 32 zero bytes for the first. `signer` checksum, the rest 0x lower-case hex.
    """

    signer: str
    sequence: int
    prev: str
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRow:
    """What a writer hands to the ledger.

    `base_key` names the fact within the mandate: `log:{tx_hash}:{log_index}` for a vault log,
    `revert:{tx_hash}` for a reverted call, `refusal:{tx_hash}` for an agent's refusal report,
    `report:{uuid}` for an agent's event, and so on. A fact whose row was reversed may come back:
    the ledger then raises `incarnation`. `occurred_at` is the block's time for chain rows, the
    server's for others. `payload` holds strings, ints, booleans, None, lists and objects; no float.
    """

    kind: RowKind
    reported_by: ReportedBy
    occurred_at: datetime
    base_key: str
    amount_usdc_e6: UsdcE6 | None = None  # magnitude; a resolve may be negative
    cash_delta_usdc_e6: int = 0
    chain_id: int | None = None
    tx_hash: str | None = None  # lower case
    log_index: int | None = None
    block_number: int | None = None
    block_hash: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    author: RowAuthor | None = None  # None: nobody signed the row


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow(NewRow):
    """A row as the ledger holds it.

    `seq` counts from 1 within the mandate; hashes are 0x lower-case hex.

    A reversal has `reverses_id`, and its payload names the same row by `reverses_seq` (ids are not
    public, seqs are).
    """

    id: int
    mandate_id: int
    seq: int
    incarnation: int
    reverses_id: int | None
    created_at: datetime
    prev_hash: str
    row_hash: str


def reversal_row(row: LedgerRow, now: datetime) -> NewRow:
    """The row that takes `row` back: same kind and place on the chain, by the chain, now."""
    return NewRow(
        kind=row.kind,
        reported_by=ReportedBy.CHAIN,
        occurred_at=now,
        base_key=f"reversal:{row.base_key}",
        amount_usdc_e6=row.amount_usdc_e6,
        cash_delta_usdc_e6=-row.cash_delta_usdc_e6,
        chain_id=row.chain_id,
        tx_hash=row.tx_hash,
        log_index=row.log_index,
        block_number=row.block_number,
        block_hash=row.block_hash,
        payload={"reversal": True, "reverses_seq": row.seq, "cause": "reorg"},
    )


def is_agent_report(row: NewRow) -> bool:
    """Whether the agent's word is all there is of it; its stop on the chain is the chain's word."""
    return row.reported_by is ReportedBy.AGENT and row.block_hash is None
