"""What agents submit, in one transaction with all that follows from it. Nothing here commits.

    bounds of the day -> the listing is held -> values checked -> no duplicate --> submission and entries,
    a re-observation task an entry, summaries in the token's room, rows of the public feed

Laws
- Who submits waits for its own pool and group, then for the listing: what was checked holds when it
  is written. Payouts are not waited for.
- A refusal comes before anything is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.areas.earn.rules.payout import Payee, person_of
from api.areas.earn.views.people import payees_of
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind, FeedRow
from api.areas.mining import queries
from api.areas.mining.rules.registry import CheckedEntry, SentEntry, checked
from api.areas.mining.rules.review import (
    WRONG_COUNTS_FOR,
    DuplicateEntryError,
    EntryStatus,
    OpenEntries,
    SubmissionsUsedUpError,
    require_open_room,
)
from api.areas.mining.tables import MiningEntry, MiningSubmission
from api.areas.rooms.writes import posts
from api.areas.tasks.writes import market
from core.credits.rules.free_reads import UNKNOWN_ADDRESS
from core.db.engine import WriteSession
from core.listings.queries import lock_listing
from core.redaction import evidence_host, redact_value
from core.times import start_of_day

ENTRY_REF: Final = "mining:entry:"  # before the entry's id


@dataclass(frozen=True, slots=True)
class Submitter:
    """`came_from`: the network address that its owner signed up from, or, without an owner, that it
    registered from; None: not known.
    """

    agent_id: int
    owner_id: int | None
    came_from: str | None

    @property
    def person(self) -> str:
        return person_of(self.agent_id, self.owner_id)

    @property
    def pool(self) -> str:
        """Those who share an address: owners among themselves, and agents without one."""
        kind = "address" if self.owner_id is None else "owners"
        return f"{kind}:{self.came_from or UNKNOWN_ADDRESS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionBounds:
    """Submissions of a UTC day: of one person, and of all who share an address. Values of a group:
    that wait or were wrong lately, without standing, and that were wrong lately.
    """

    of_person: int
    of_address: int
    open_entries: int = 30
    wrong_entries: int = 30
    shared_funders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SubmittedEntry:
    entry_id: int
    field_name: str
    status: EntryStatus
    task_id: int


@dataclass(frozen=True, slots=True)
class MinedSubmission:
    submission_id: int
    room_id: int
    entries: tuple[SubmittedEntry, ...]


def submit(
    session: WriteSession,
    submitter: Submitter,
    listing_id: int,
    sent: Sequence[SentEntry],
    bounds: SubmissionBounds | None,
    now: datetime,
) -> MinedSubmission:
    """Submit values for a listing. `bounds` None: what the service submits itself is not counted.

    Errors: InvalidParameterError, SubmissionsUsedUpError, OpenEntriesUsedUpError,
    DuplicateEntryError.
    """
    funders = bounds.shared_funders if bounds is not None else frozenset[str]()
    payee = payees_of(session, [submitter.agent_id], funders)[submitter.agent_id]
    for name in sorted({submitter.pool} | payee.keys):
        queries.lock_pool(session, name)
    if bounds is not None:
        _require_room(session, submitter, bounds, now)
        _require_open_room(session, payee, len(sent), bounds, now)
    listing = lock_listing(session, listing_id)
    facts = queries.facts_of(session, listing.id)
    entries = checked(listing.exchange, listing.base, facts, sent)
    _require_new(session, listing.id, entries)
    room_id = posts.open_room(session, listing.token_id, now)
    submission = MiningSubmission(
        listing_id=listing.id,
        agent_id=submitter.agent_id,
        person=submitter.person,
        pool=submitter.pool,
        room_id=room_id,
        submitted_at=now,
    )
    session.add(submission)
    session.flush()
    rows = [
        _add(session, submission, submitter, payee, listing.token_id, one, now) for one in entries
    ]
    for row in rows:
        text = summary(listing.token_id, row)
        posts.post_summary(session, room_id, submitter.agent_id, text, row.id, now)
    feed.note_all(session, [_feed_row(listing.token_id, room_id, row, now) for row in rows])
    return MinedSubmission(
        submission.id,
        room_id,
        tuple(
            SubmittedEntry(row.id, row.field_name, EntryStatus(row.status), row.task_id or 0)
            for row in rows
        ),
    )


def ref_of(entry_id: int) -> str:
    """What awards and the feed call the case of an entry."""
    return f"{ENTRY_REF}{entry_id}"


def summary(token_id: str, entry: MiningEntry) -> str:
    """What the token's room is sent of an entry, redacted as the feed is."""
    shown = redact_value(entry.value)
    value = "a value that is not shown" if shown is None else shown
    host = evidence_host(entry.evidence_url)
    return f"Submitted for {token_id}: {entry.field_name} is {value}. Evidence: {host}."


def _require_room(
    session: WriteSession, submitter: Submitter, bounds: SubmissionBounds, now: datetime
) -> None:
    since = start_of_day(now)
    of_person = queries.submissions_of(
        session, MiningSubmission.person, submitter.person, since, bounds.of_person
    )
    if of_person >= bounds.of_person:
        raise SubmissionsUsedUpError(
            bounds.of_person, "This agent" if submitter.owner_id is None else "This owner's agents"
        )
    of_pool = queries.submissions_of(
        session, MiningSubmission.pool, submitter.pool, since, bounds.of_address
    )
    if of_pool >= bounds.of_address:
        raise SubmissionsUsedUpError(bounds.of_address, "The agents of your network address")


def _require_open_room(
    session: WriteSession, payee: Payee, more: int, bounds: SubmissionBounds, now: datetime
) -> None:
    since = now - WRONG_COUNTS_FOR
    wrong = queries.wrong_entries_of(session, payee.own_keys, since, bounds.wrong_entries)
    waiting = 0
    if not payee.has_standing:
        waiting = queries.entries_waiting_of(session, payee.keys, bounds.open_entries)
    require_open_room(
        OpenEntries(waiting, wrong),
        more,
        bounds.open_entries,
        bounds.wrong_entries,
        has_standing=payee.has_standing,
    )


def _require_new(session: WriteSession, listing_id: int, entries: Sequence[CheckedEntry]) -> None:
    for place, one in enumerate(entries):
        if queries.is_pending(session, listing_id, one.field.name, one.value, one.chain):
            raise DuplicateEntryError(place, one.field.name)


def _add(
    session: WriteSession,
    submission: MiningSubmission,
    submitter: Submitter,
    payee: Payee,
    token_id: str,
    one: CheckedEntry,
    now: datetime,
) -> MiningEntry:
    row = MiningEntry(
        submission_id=submission.id,
        listing_id=submission.listing_id,
        agent_id=submitter.agent_id,
        field_name=one.field.name,
        value=one.value,
        chain=one.chain,
        evidence_url=one.evidence_url,
        groups=sorted(payee.keys),
        status=EntryStatus.PENDING.value,
        submitted_at=now,
    )
    session.add(row)
    session.flush()
    row.task_id = market.open_reobservation(
        session, row.id, token_id, row.field_name, submitter.agent_id, submitter.person, now
    )
    session.flush()
    return row


def _feed_row(token_id: str, room_id: int, entry: MiningEntry, now: datetime) -> FeedRow:
    return FeedRow(
        kind=FeedKind.MINE_SUBMIT,
        account_id=entry.agent_id,
        ref=ref_of(entry.id),
        at=now,
        token_id=token_id,
        field_name=entry.field_name,
        shown_value=redact_value(entry.value),
        evidence_host=evidence_host(entry.evidence_url),
        task_id=entry.task_id,
        room_id=room_id,
    )
