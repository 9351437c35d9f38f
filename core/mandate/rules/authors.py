"""What an author signs of a row, and where the next signed row of an author goes.

    agent's rows      1 (unsigned)   2 signed   3 signed            5 signed
    author.sequence                  1          2                   3
    author.prev                      0x00..     row_hash of 2       row_hash of 3

Laws
- Owner, agent and keeper each have one sequence in a mandate's ledger, whoever signs for them.
- `prev` is the hash of a ledger row, and that hashes all rows before it: a signature vouches for the
  whole ledger up to the author's row before.
- Who has signed a row signs every later row of their own. The service's own words in an agent's name
  (`is_own_word` is false) are never signed.
- The service's flags on a report are no part of what its author signed.
Source: docs/record.md#signed-rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy

AUTHORS: Final = frozenset({ReportedBy.OWNER, ReportedBy.AGENT, ReportedBy.KEEPER})
FIRST_SEQUENCE: Final = 1
NO_ROW_BEFORE: Final = "0x" + "00" * 32
# what the service writes beside an agent's report: a rule that it broke; no such transaction
SERVICE_KEYS: Final = frozenset({"unseen", "violation"})
# rows that the owner's signature of the terms covers
OF_SIGNED_TERMS: Final = frozenset({"paper_deposit", "signed"})


@dataclass(frozen=True, slots=True)
class NextSignature:
    """Where the next signed row of an author goes."""

    sequence: int
    prev: str


def next_signature(newest: LedgerRow | None) -> NextSignature:
    """`newest`: the author's last signed row; None when there is none yet."""
    if newest is None or newest.author is None:
        return NextSignature(FIRST_SEQUENCE, NO_ROW_BEFORE)
    return NextSignature(newest.author.sequence + 1, newest.row_hash)


def authored_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What its author said of a row's payload: all but the service's flags."""
    return {key: value for key, value in payload.items() if key not in SERVICE_KEYS}


def is_own_word(row: NewRow) -> bool:
    """Whether only its author can have said this: no log shows it, nor do the signed terms, and it
    is no refusal that the service itself gave.
    """
    if row.reported_by not in AUTHORS or row.block_hash is not None:
        return False
    refusal = row.payload.get("refusal")
    is_of_service = isinstance(refusal, Mapping) and refusal.get("reason_source") == "server"
    return row.base_key not in OF_SIGNED_TERMS and not is_of_service
