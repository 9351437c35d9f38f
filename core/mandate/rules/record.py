"""The record's hash chain: how a row becomes bytes, and how anyone can check that no row was
changed.

    hash(0) = SHA-256("mandate-ledger:v1:" + public_id)                         genesis, one a mandate
    hash(n) = SHA-256(hash(n - 1) || RFC 8785 JSON of body(n))                  n = 1, 2, 3 ... without a gap

`body` is what `row_body` returns: every public fact of the row. Ids of the database stay out,
because they are not facts of the record; a reversal names the reversed row by its seq. Hashes are
written as 0x and 64 lower-case hex digits. docs/record.md shows the check step by step.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from core.canonical import canonical_json, chain_hash
from core.errors import InvalidParameterError
from core.mandate.rules.rows import LedgerRow
from core.money import usdc_text, usdc_text_or_none
from core.times import exact_instant_text

GENESIS_PREFIX = "mandate-ledger:v1:"


def genesis_hash(public_id: str) -> str:
    """What the first row of a mandate is chained to. 0x lower-case hex."""
    return "0x" + hashlib.sha256((GENESIS_PREFIX + public_id).encode()).hexdigest()


def row_hash(prev_hash: str, canonical: bytes) -> str:
    """The hash of a row: `prev_hash` is the row's before it (0x hex), `canonical` its own
    `canonical_row`.
    """
    return "0x" + chain_hash(bytes.fromhex(prev_hash.removeprefix("0x")), canonical).hex()


def canonical_row(row: LedgerRow) -> bytes:
    """The bytes of a row that are hashed.

    Reads neither ids nor hashes of the row, so they may still be unset.

    Errors: InvalidParameterError for a payload with a float; ValueError for a reversal that names
    no `reverses_seq`.
    """
    return canonical_json(row_body(row))


def row_body(row: LedgerRow) -> dict[str, Any]:
    """Every public fact of a row: money as text with six decimals, times as UTC text with six
    decimals, no ids. `author` only where somebody signed the row.
    """
    return {
        "seq": row.seq,
        "kind": row.kind.value,
        "reported_by": row.reported_by.value,
        "base_key": row.base_key,
        "incarnation": row.incarnation,
        "reverses_seq": _reverses_seq(row),
        "amount_usdc": usdc_text_or_none(row.amount_usdc_e6),
        "cash_delta_usdc": usdc_text(row.cash_delta_usdc_e6),
        "chain_id": row.chain_id,
        "tx_hash": row.tx_hash,
        "log_index": row.log_index,
        "block_number": row.block_number,
        "block_hash": row.block_hash,
        "payload": row.payload,
        "occurred_at": exact_instant_text(row.occurred_at),
        "created_at": exact_instant_text(row.created_at),
    } | ({} if row.author is None else {"author": asdict(row.author)})


def record_line(row: LedgerRow) -> bytes:
    """One line of the public record: canonical JSON of {body, prev_hash, row_hash}, without a line
    end.
    """
    return canonical_json(
        {"body": row_body(row), "prev_hash": row.prev_hash, "row_hash": row.row_hash}
    )


def chain_faults(rows: Iterable[LedgerRow], public_id: str) -> list[str]:
    """What is wrong with a ledger read from its first row on; empty means sound.

    Finds: a gap or a doubled seq, a row that is not chained to the one before, a row whose content
    does not give its hash or can't be hashed (a float), a reversal that points at another row than
    its payload says, or at a later one.
    """
    faults: list[str] = []
    expected_prev, seq_by_id = genesis_hash(public_id), dict[int, int]()
    for expected_seq, row in enumerate(rows, start=1):
        faults += _row_faults(row, expected_seq, expected_prev, seq_by_id)
        expected_prev, seq_by_id[row.id] = row.row_hash, row.seq
    return faults


def _row_faults(
    row: LedgerRow, expected_seq: int, expected_prev: str, seq_by_id: dict[int, int]
) -> list[str]:
    faults = []
    if row.seq != expected_seq:
        faults.append(f"seq {row.seq}: expected seq {expected_seq}")
    if row.prev_hash != expected_prev:
        faults.append(
            f"seq {row.seq}: prev_hash is {row.prev_hash}, the row before has {expected_prev}"
        )
    if row.reverses_id is not None and seq_by_id.get(row.reverses_id) != row.payload.get(
        "reverses_seq"
    ):
        faults.append(
            f"seq {row.seq}: reverses seq {seq_by_id.get(row.reverses_id)}, its payload says "
            f"{row.payload.get('reverses_seq')}"
        )
        return faults
    try:
        computed = row_hash(row.prev_hash, canonical_row(row))
    except (InvalidParameterError, ValueError) as error:
        return [*faults, f"seq {row.seq}: its content can't be hashed: {error}"]
    if row.row_hash != computed:
        faults.append(f"seq {row.seq}: row_hash is {row.row_hash}, its content gives {computed}")
    return faults


def _reverses_seq(row: LedgerRow) -> int | None:
    if row.reverses_id is None:
        return None
    seq = row.payload.get("reverses_seq")
    if not isinstance(seq, int):
        raise ValueError(
            f"a reversal names the reversed row in payload.reverses_seq (seq {row.seq})"
        )
    return seq
