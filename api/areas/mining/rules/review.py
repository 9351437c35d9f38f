"""The life of an entry of a submission (docs/mining.md#review).

    (new) --submit--> pending --approve--> approved --reverse--> rejected
                         '-----reject------------------------------^

Laws
- One value of a field is approved; the conflicting ones that are pending are rejected with it, as
  `superseded`.
- An approval has a record of what its reviewer saw; a rejection has a reason.
- What a rejection says of the value is known for `value_wrong` alone: re-observers of any other one
  are neither right nor wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.errors import InvalidParameterError, MandateError
from core.urls import require_https

TEXT_CHARACTERS_MOST: Final = 500
WRONG_COUNTS_FOR: Final = timedelta(days=7)


class EntryStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class EndReason(StrEnum):
    """Why an entry is rejected: a reviewer's reason, or a consequence of something else."""

    VALUE_WRONG = "value_wrong"
    EVIDENCE_INSUFFICIENT = "evidence_insufficient"
    OUT_OF_DATE = "out_of_date"
    NOT_ALLOWED = "not_allowed"
    SUPERSEDED = "superseded"  # another value of the field was approved
    REVERSED = "reversed"  # it was approved, and the approval was taken back


OF_REVIEWERS: Final = set(EndReason) - {EndReason.SUPERSEDED, EndReason.REVERSED}


class ReviewMethod(StrEnum):
    """How a reviewer verified the value."""

    REPRODUCED = "reproduced"
    RE_OBSERVED = "re_observed"


class ReviewVerdict(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """What the reviewer of an approved value saw, and where."""

    method: ReviewMethod
    source: str
    observed_at: datetime
    observed_result: str


@dataclass(frozen=True, slots=True)
class MiningReviewer:
    """`operator`: the public name of who decides, operator:<n>."""

    account_id: int
    operator: str


class EntryStatusError(MandateError):
    """What the entry is does not allow the move; `rule` says what does."""

    def __init__(self, entry_id: int, status: str, rule: str) -> None:
        super().__init__(f"Entry {entry_id} is {status}; {rule}.")
        self.entry_id = entry_id
        self.status = status


class DuplicateEntryError(MandateError):
    """The same value of the field is pending already."""

    def __init__(self, place: int, field_name: str) -> None:
        super().__init__(
            f"entries.{place}.field_value: this value of {field_name} is submitted already and "
            "waits for its review; leave the entry out, or re-observe it."
        )
        self.place = place
        self.field_name = field_name


class OwnWorkError(MandateError):
    """The reviewer's wallet owns or funded an agent that submitted or re-observed."""


class OwnSubmissionError(OwnWorkError):
    def __init__(self, entry_id: int, agent_id: int) -> None:
        super().__init__(
            f"Entry {entry_id} was submitted by agent {agent_id}, which your wallet owns or "
            "funded; another operator decides it."
        )


class OwnObservationError(OwnWorkError):
    def __init__(self, entry_id: int) -> None:
        super().__init__(
            f"An agent that your wallet owns or funded re-observed entry {entry_id}; another "
            "operator decides it."
        )


class SubmissionsUsedUpError(MandateError):
    """Who submits had as many submissions as a UTC day allows. `whose` says of whom they count."""

    def __init__(self, most: int, whose: str) -> None:
        super().__init__(f"{whose} had {most} submissions today, the most in a UTC day")
        self.most = most
        self.whose = whose


@dataclass(frozen=True, slots=True)
class OpenEntries:
    """Of one group: how many values wait for a review, and when others were rejected as wrong in the
    last WRONG_COUNTS_FOR, the newest first.
    """

    waiting: int
    wrong: Sequence[datetime]


class OpenEntriesUsedUpError(MandateError):
    """Who submits has as many values that wait, or were wrong lately, as it may. `until`: from then
    on one of the wrong ones counts no more; None: as soon as one is reviewed.
    """

    def __init__(self, says: str, until: datetime | None) -> None:
        super().__init__(says)
        self.until = until


def require_open_room(
    found: OpenEntries, more: int, most: int, most_wrong: int, *, has_standing: bool
) -> None:
    """`more`: values that are submitted now. `most`: that may wait or be wrong, without standing;
    `most_wrong`: that may be wrong. Errors: OpenEntriesUsedUpError.
    """
    whose = "your group (your owner, network address or wallets)"
    if len(found.wrong) >= most_wrong:
        raise OpenEntriesUsedUpError(
            f"{len(found.wrong)} values of {whose} were rejected as wrong within "
            f"{WRONG_COUNTS_FOR.days} days; at most {most_wrong} may be",
            found.wrong[most_wrong - 1] + WRONG_COUNTS_FOR,
        )
    if not has_standing and found.waiting + len(found.wrong) + more > most:
        raise OpenEntriesUsedUpError(
            f"Without standing, {whose} may have at most {most} open values: {found.waiting} wait "
            f"for a review, {len(found.wrong)} were rejected as wrong within "
            f"{WRONG_COUNTS_FOR.days} days, and this call adds {more}",
            None,
        )


def require_record(record: ReviewRecord, now: datetime) -> None:
    """Errors: InvalidParameterError."""
    require_https("source", record.source)
    if record.observed_at > now:
        raise InvalidParameterError("observed_at", "write when you looked, a time that is past")


def submission_status(entries: list[EntryStatus]) -> EntryStatus:
    """Pending while an entry is, else approved if one is."""
    for status in (EntryStatus.PENDING, EntryStatus.APPROVED):
        if status in entries:
            return status
    return EntryStatus.REJECTED
