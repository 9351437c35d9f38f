"""The rows of the mandate ledger: what a writer hands in, and what the ledger holds.

Refused attempts: the reasons that the record knows, and what an agent may report.

Laws
- Nothing in the ledger is changed. A correction is a row with `reverses_id`; a reversed row and its
  reversal count for nothing in the fold.
- `cash_delta_usdc_e6` alone moves cash. On testnet only chain rows carry one (docs/rules.md#rows).
- The ledger passes each new row through `priced` under the head's lock: the delta of a paper report
  and of a withdrawal depends on the cash that is there.
- Every fold gives the same state whether rows come one by one or all at once.
- Facts of the chain are believed only from rows that the agent did not write, whatever keys its
  payload carries.
- The record knows six reasons. What else a vault reverts with reads `unknown`; the decoded name is
  not passed off as one.
- An agent's report says source agent; only a receipt of a reverted call makes it chain
  (core/mandate/rules/reports.py).
- One row per transaction and mandate: the hash, lower case, names the attempt.

Source: docs/rules.md#refused-attempts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from core.errors import InvalidNumberError, InvalidParameterError
from core.money import UsdcE6, usdc_text

REFUSAL_REPORTS_PER_DAY: Final = 60  # per mandate and UTC day; docs/rules.md#refused-attempts

# What a count of reverted calls leaves out; said beside the count of a mandate. See
# docs/reverts.md#what-is-not-seen.
NOT_SEEN: Final = (
    "The block scan finds plain transactions from the agent's wallet, present or past, to the "
    "vault. Not seen: calls that a smart account or another contract makes, calls to an adapter "
    "or venue past the vault, and attempts more than 2,000 blocks before the scan first saw the "
    "vault. The count may be lower than the attempts."
)

_TX_HASH = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)


class RefusalReason(StrEnum):
    TARGET_NOT_ALLOWED = "TargetNotAllowed"
    OVER_PER_TX_CAP = "OverPerTxCap"
    OVER_DAILY_CAP = "OverDailyCap"
    MANDATE_STOPPED = "MandateStopped"
    MANDATE_ENDED = "MandateEnded"
    SERVER_GUARD = "server_guard"


UNKNOWN: Final = "unknown"

MEANINGS: Final[Mapping[RefusalReason, str]] = {
    RefusalReason.TARGET_NOT_ALLOWED: "the target is not on the mandate's allowed list",
    RefusalReason.OVER_PER_TX_CAP: "what one call may take, or all calls of a batch together, is above the per-action cap",
    RefusalReason.OVER_DAILY_CAP: "the rolling 24-hour spend would pass the daily cap",
    RefusalReason.MANDATE_STOPPED: "the owner or the stop line stopped the mandate; the agent is revoked",
    RefusalReason.MANDATE_ENDED: "the end date has passed",
    RefusalReason.SERVER_GUARD: "a relay guard refused the attempt before any chain call",
}

# Clause (docs/rules.md#clauses) that a reason touches, by key: a refusal cites it.
CLAUSE_KEYS: Final[Mapping[RefusalReason, str]] = {
    RefusalReason.TARGET_NOT_ALLOWED: "markets",
    RefusalReason.OVER_PER_TX_CAP: "per_action",
    RefusalReason.OVER_DAILY_CAP: "per_day",
    RefusalReason.MANDATE_STOPPED: "stop_line",
    RefusalReason.MANDATE_ENDED: "period",
    RefusalReason.SERVER_GUARD: "markets",
}


@dataclass(frozen=True, slots=True)
class RefusalReport:
    """What an agent reports.

    `tx_hash` is lower case, None when nothing was sent; amount in USDC base units, None unknown.
    """

    reason: RefusalReason
    tx_hash: str | None
    amount_usdc_e6: UsdcE6 | None


def refusal_report(
    reason: str, tx_hash: str | None, amount_usdc_e6: UsdcE6 | None
) -> RefusalReport:
    """Check a report.

    Reason: one of the six; the guard refuses before any chain call, so it comes without a tx_hash.

    Errors: InvalidParameterError, InvalidNumberError naming the field.
    """
    known = next((one for one in RefusalReason if one.value == reason), None)
    if known is None:
        raise InvalidParameterError("reason", f"one of {', '.join(RefusalReason)}")
    if known is RefusalReason.SERVER_GUARD and tx_hash is not None:
        raise InvalidParameterError(
            "tx_hash", "leave it out: the guard refuses before anything is sent"
        )
    if amount_usdc_e6 is not None and amount_usdc_e6 < 0:
        raise InvalidNumberError("amount_usdc", usdc_text(amount_usdc_e6), "write 0 or more")
    return RefusalReport(
        known, None if tx_hash is None else tx_hash_from_text(tx_hash), amount_usdc_e6
    )


def tx_hash_from_text(text: str, field: str = "tx_hash") -> str:
    """Read a transaction hash in any case; returns lower case. Errors: InvalidParameterError."""
    if not _TX_HASH.fullmatch(text):
        raise InvalidParameterError(field, "write a transaction hash: 0x and 64 hex digits")
    return text.lower()


def reason_as_recorded(error_name: str | None) -> str:
    """The name of a decoded revert as the record writes it: one of the six, or `unknown`."""
    return error_name if error_name in set(RefusalReason) else UNKNOWN


def reason_code(reason: str) -> str:
    """The snake_case code of a recorded reason: `OverPerTxCap` is `over_per_tx_cap`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", reason).lower()


def refused_text(reason: str) -> str:
    """The line that a screen shows: `Refused: OverPerTxCap`."""
    return f"Refused: {reason}"


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
