"""What an agent wrote into a payload, read with care: nothing it may contain breaks the fold.

A target (docs/rules.md#report-payloads) is {kind contract, chain_id, address}, {address}, or a bare
address; it is in payload.target, or in payload.detail.target (the tool form). Anything else is
a TargetFault.

Shapes: position = {id, name, qty, cost_usdc, target}; mark = {position_id, worth_usdc, at}; marks =
a list of those; next_at = text. A number that cannot be read counts as 0, and the reader is
notified (data_issue).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from core.hexes import read_account
from core.mandate.rules.terms import address_from_text
from core.money import usdc_e6_or_none

# more are kept in the ledger and not tracked: one agent cannot make every read slow
MAX_OPEN_POSITIONS = 200
MAX_WORD = 200  # characters of a name, an id or a quantity that the state keeps


@dataclass(frozen=True, slots=True)
class ReportedMark:
    """`worth_usdc_e6` None: the number could not be read.

    `at` is never later than the row that brought it.
    """

    position_id: str
    worth_usdc_e6: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedTarget:
    """`chain_id` None: the report did not say; the mandate's own is meant."""

    chain_id: int | None
    address: str  # checksum

    def as_json(self, chain_id: int | None = None) -> dict[str, Any]:
        """The canonical form; `chain_id` is used when the report has none."""
        return {
            "kind": "contract",
            "chain_id": self.chain_id if self.chain_id is not None else chain_id,
            "address": self.address,
        }


class TargetFault(StrEnum):
    """Why a target could not be read: the value of detail.target_detail."""

    ABSENT = "absent"
    WRONG_SHAPE = "not_an_address_or_object"
    UNKNOWN_KIND = "unknown_kind"
    BAD_ADDRESS = "bad_address"
    BAD_CHAIN_ID = "bad_chain_id"


def target_of(payload: Mapping[str, Any]) -> ReportedTarget | TargetFault:
    """The target of a report, or why there is none that can be read."""
    target, detail = payload.get("target"), payload.get("detail")
    if target is None and isinstance(detail, Mapping):
        target = detail.get("target")
    return target_from(target)


def target_from(target: Any) -> ReportedTarget | TargetFault:
    """Read one target in any accepted shape.

    Keys beside kind, chain_id and address are left alone, and so is the case of the letters: a row
    that was stored keeps its meaning (`require_checksums` is the door's).
    """
    if target is None:
        return TargetFault.ABSENT
    if isinstance(target, str):
        target = {"address": target}
    if not isinstance(target, Mapping):
        return TargetFault.WRONG_SHAPE
    chain_id = target.get("chain_id")
    if target.get("kind", "contract") != "contract":
        return TargetFault.UNKNOWN_KIND
    if chain_id is not None and (isinstance(chain_id, bool) or not isinstance(chain_id, int)):
        return TargetFault.BAD_CHAIN_ID
    address = _account_or_none(target.get("address"))
    return TargetFault.BAD_ADDRESS if address is None else ReportedTarget(chain_id, address)


def require_checksums(payload: Mapping[str, Any]) -> None:
    """Of a new report: what would be read as another account than its author wrote is not stored.

    Errors: InvalidParameterError.
    """
    for part in ("", "detail", "position"):
        holder = payload.get(part) if part else payload
        target = holder.get("target") if isinstance(holder, Mapping) else None
        address = target.get("address") if isinstance(target, Mapping) else target
        if _account_or_none(address) is not None:
            address_from_text(address, ".".join(filter(None, ("payload", part, "target"))))


def _account_or_none(address: Any) -> str | None:
    """In whatever case its letters are."""
    try:
        return read_account(address.lower() if isinstance(address, str) else address)
    except ValueError:
        return None


def position_of(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """payload.position when it is an object with an id, else None."""
    position = payload.get("position")
    return position if isinstance(position, Mapping) and word(position.get("id")) else None


def position_id(payload: Mapping[str, Any]) -> str | None:
    position = position_of(payload)
    return None if position is None else word(position["id"])


def marks_of(payload: Mapping[str, Any], row_at: datetime) -> list[ReportedMark]:
    """payload.mark and payload.marks, in their order; entries without a position are left out."""
    listed = payload.get("marks")
    entries = [payload.get("mark"), *(listed if isinstance(listed, list | tuple) else ())]
    return [mark for entry in entries if (mark := _mark(entry, row_at)) is not None]


def usable_usdc_e6(value: Any) -> int | None:
    """An amount as text or a whole number of USDC; None when it cannot be read."""
    if type(value) is str:
        return usdc_e6_or_none(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return usdc_e6_or_none(str(value))


def word(value: Any) -> str | None:
    """Short text, or a whole number as text; None for anything else or for nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)[:MAX_WORD] or None


def _mark(entry: Any, row_at: datetime) -> ReportedMark | None:
    if not isinstance(entry, Mapping):
        return None
    named = word(entry.get("position_id"))
    return (
        None
        if named is None
        else ReportedMark(
            named, usable_usdc_e6(entry.get("worth_usdc")), _at(entry.get("at"), row_at)
        )
    )


def _at(value: Any, row_at: datetime) -> datetime:
    """The agent's time, if it can be read and is not in the row's future; a mark from the future
    would never be replaced.
    """
    if not isinstance(value, str):
        return row_at
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return row_at
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(at, row_at)
