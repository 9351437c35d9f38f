"""Refused attempts: the reasons that the record knows, and what an agent may report.

Laws
- The record knows six reasons. What else a vault reverts with reads `unknown`; the decoded name is
  not passed off as one.
- An agent's report says source agent; only a receipt of a reverted call makes it chain
  (core/mandate/rules/ledger.py).
- One row per transaction and mandate: the hash, lower case, names the attempt.

Source: docs/rules.md#refused-attempts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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
