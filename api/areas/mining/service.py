"""Mining: what is empty, what agents submit, and what operators decide of it (docs/mining.md)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from api.areas.earn.rules.points import credits_of, points_text
from api.areas.earn.views.limits import payout_limits
from api.areas.mining import queries
from api.areas.mining.rules.landscape import percent_text
from api.areas.mining.rules.registry import FIELDS, FieldGroup, MinableField, SentEntry, fields_of
from api.areas.mining.rules.review import (
    DuplicateEntryError,
    EndReason,
    EntryStatus,
    EntryStatusError,
    MiningReviewer,
    OpenEntriesUsedUpError,
    OwnWorkError,
    ReviewMethod,
    ReviewRecord,
    SubmissionsUsedUpError,
    require_record,
    submission_status,
)
from api.areas.mining.schemas import (
    AcceptedDiscovery,
    AcceptedEntry,
    ApprovedEntry,
    ApproveEntry,
    EntryReview,
    FieldsOfListing,
    Landscape,
    LandscapeGroup,
    ListedField,
    ListedGroup,
    MinableFields,
    MiningBalance,
    MiningRewardLine,
    OwnEntry,
    OwnSubmission,
    OwnSubmissions,
    RejectEntry,
    ReversedEntry,
    ReverseEntry,
    ReviewedEntry,
    SubmissionsQuery,
    SubmitDiscovery,
)
from api.areas.mining.tables import MiningEntry, MiningReview, MiningSubmission
from api.areas.mining.views import entries as views
from api.areas.mining.writes import reviews, submissions
from api.areas.mining.writes.submissions import SubmissionBounds, Submitter
from api.areas.safety.checks import require_unlocked
from api.kernel.caller import AgentCaller, Nobody, OperatorCaller
from api.kernel.operation import Answer, Call, NextCall, NoInput, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from api.kernel.refusals import used_up_today
from api.shared.board_row import simulated
from core.credits.ledger import writer as credit_ledger
from core.errors import InvalidParameterError
from core.identity.operators import operator_name
from core.listings import queries as listings
from core.listings.rules import Symbol, exchange_of, symbol_in_body, symbol_in_path, token_id
from core.listings.tables import ExchangeListing
from core.times import instant_text

REWARDS_SHOWN: Final = 50

# Listings


def fields(call: ReadCall, caller: Nobody, command: FieldsOfListing) -> Answer[MinableFields]:
    """Every field that applies, in the registry's order. Errors: InvalidParameterError, Refusal
    not_found.
    """
    exchange = exchange_of("exchange", command.exchange).id
    listing = _listing(call, exchange, symbol_in_path("symbol", command.symbol))
    facts = queries.facts_of(call.db, listing.id)
    pending = queries.pending_fields(call.db, listing.id)
    applicable = fields_of(exchange)
    empty = [one for one in applicable if one.name not in facts]
    tenths = sum(one.tenths for one in empty)
    return Answer(
        MinableFields(
            token_id=listing.token_id,
            total_empty=len(empty),
            total_points=points_text(tenths),
            total_credit_on_approval=credits_of(tenths),
            total_credit=credits_of(tenths),
            groups=[
                ListedGroup(
                    key=group,
                    fields=[
                        _field(one, facts.get(one.name), one.name in pending)
                        for one in applicable
                        if one.group is group
                    ],
                )
                for group in FieldGroup
            ],
            **simulated(listing.is_simulated),
        )
    )


def _field(field: MinableField, value: str | None, pending: bool) -> ListedField:
    return ListedField(
        field=field.name,
        points=points_text(field.tenths),
        credit_on_approval=credits_of(field.tenths),
        credit=credits_of(field.tenths),
        current_value=value,
        pending=pending,
    )


def landscape(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Landscape]:
    figures = views.landscape(call.db, call.now)
    return Answer(
        Landscape.of(
            figures,
            percent_filled=percent_text(figures.filled, figures.slots),
            groups=[
                LandscapeGroup.of(
                    one, key=one.group, percent_filled=percent_text(one.filled, one.slots)
                )
                for one in figures.groups
            ],
            computed_at=instant_text(call.now),
        )
    )


# Agents


def submit(
    call: WriteCall, caller: AgentCaller, command: SubmitDiscovery
) -> Answer[AcceptedDiscovery]:
    """Errors: InvalidParameterError; Refusal not_found, duplicate, account_locked, rate_limited,
    too_many_open.
    """
    exchange = exchange_of("exchange", command.exchange).id
    listing = _listing(call, exchange, symbol_in_body("symbol", command.symbol))
    require_unlocked(call, caller.account_id)
    limits = call.deps.limits
    bounds = SubmissionBounds(
        of_person=limits.mining_submissions_per_person_per_day,
        of_address=limits.mining_submissions_per_address_per_day,
        open_entries=limits.open_entries_without_standing,
        wrong_entries=limits.wrong_entries_in_7_days,
        shared_funders=payout_limits(limits).shared_funders,
    )
    sent = [SentEntry(one.field_name, one.field_value, one.evidence_url) for one in command.entries]
    submitter = Submitter(caller.account_id, caller.owner_id, caller.came_from)
    try:
        made = submissions.submit(call.db, submitter, listing.id, sent, bounds, call.now)
    except DuplicateEntryError as error:
        symbol = Symbol(listing.base, listing.quote)
        ids = {"exchange": exchange, "symbol": symbol.in_path}
        next_calls = (NextCall("mining.fields", ids),)
        raise Refusal("duplicate", str(error), next_calls=next_calls) from error
    except SubmissionsUsedUpError as error:
        raise used_up_today(
            error, "submit again", "submissions", call.now, "mining.submissions"
        ) from error
    except OpenEntriesUsedUpError as error:
        when = (
            "when one is reviewed"
            if error.until is None
            else f"from {instant_text(error.until)} on"
        )
        raise Refusal(
            "too_many_open",
            f"{error}; submit again {when}, or re-observe what others submitted.",
            extra={"error": "too_many_open"},
            retry_at=error.until,
        ) from error
    return Answer(
        AcceptedDiscovery(
            submission_id=made.submission_id,
            room_id=made.room_id,
            entries=[AcceptedEntry.of(one) for one in made.entries],
            **simulated(listing.is_simulated),
        )
    )


def balance(call: ReadCall, caller: AgentCaller, command: NoInput) -> Answer[MiningBalance]:
    held = credit_ledger.load_balance(call.db, caller.account_id)
    rewards = views.recent_rewards(call.db, caller.account_id, REWARDS_SHOWN)
    return Answer(
        MiningBalance(
            credit_balance=held.available,
            earned=held.earned,
            owed=held.owed,
            recent_rewards=[
                MiningRewardLine.of(one, points=points_text(one.tenths)) for one in rewards
            ],
        )
    )


def own_submissions(
    call: ReadCall, caller: AgentCaller, command: SubmissionsQuery
) -> Answer[OwnSubmissions]:
    page = page_of(call, "mining.submissions", command)
    found = queries.submissions_before(call.db, caller.account_id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.id)
    return Answer(OwnSubmissions(submissions=_own(call, shown), next_cursor=next_cursor))


def _own(call: Call, shown: Sequence[MiningSubmission]) -> list[OwnSubmission]:
    entries = queries.entries_of(call.db, [one.id for one in shown])
    ids = [entry.id for some in entries.values() for entry in some]
    latest = queries.newest_reviews(call.db, ids)
    of = listings.listings_of(call.db, {one.listing_id for one in shown})
    return [
        OwnSubmission(
            submission_id=one.id,
            token_id=of[one.listing_id].token_id,
            exchange=of[one.listing_id].exchange,
            symbol=Symbol(of[one.listing_id].base, of[one.listing_id].quote).in_body,
            room_id=one.room_id,
            status=submission_status([EntryStatus(entry.status) for entry in entries[one.id]]),
            submitted_at=instant_text(one.submitted_at),
            entries=[_entry(entry, latest.get(entry.id)) for entry in entries[one.id]],
            **simulated(of[one.listing_id].is_simulated),
        )
        for one in shown
    ]


def _entry(entry: MiningEntry, review: MiningReview | None) -> OwnEntry:
    tenths = FIELDS[entry.field_name].tenths
    return OwnEntry.of(
        entry,
        entry_id=entry.id,
        field_value=entry.value,
        points=points_text(tenths),
        credit_on_approval=credits_of(tenths),
        review=None if review is None else EntryReview.of(review, reviewed_by=review.operator),
    )


# Operators


def approve(
    call: WriteCall, caller: OperatorCaller, command: ApproveEntry
) -> Answer[ApprovedEntry]:
    """Errors: InvalidParameterError; Refusal not_found, wrong_status, conflict_of_interest."""
    method = ReviewMethod(command.method)
    record = ReviewRecord(method, command.source, command.observed_at, command.observed_result)
    require_record(record, call.now)
    entry = _named_entry(call, command.id, command.entry_id)
    reviewer = _reviewer(call, caller)
    limits = payout_limits(call.deps.limits)
    with _decided():
        made = reviews.approve(call.db, entry.id, record, reviewer, limits, call.now)
    return Answer(
        ApprovedEntry.of(
            made.awarded,
            **_reviewed(command.id, entry, reviewer),
            points=points_text(made.tenths),
            superseded=list(made.superseded),
        )
    )


def reject(call: WriteCall, caller: OperatorCaller, command: RejectEntry) -> Answer[ReviewedEntry]:
    """Errors: InvalidParameterError; Refusal not_found, wrong_status, conflict_of_interest."""
    entry = _named_entry(call, command.id, command.entry_id)
    reviewer = _reviewer(call, caller)
    reason, limits = EndReason(command.reason_code), payout_limits(call.deps.limits)
    with _decided():
        reviews.reject(call.db, entry.id, reason, command.note, reviewer, limits, call.now)
    return Answer(ReviewedEntry(**_reviewed(command.id, entry, reviewer)))


def reverse(
    call: WriteCall, caller: OperatorCaller, command: ReverseEntry
) -> Answer[ReversedEntry]:
    """Errors: InvalidParameterError; Refusal not_found, wrong_status, conflict_of_interest."""
    entry = _named_entry(call, command.id, command.entry_id)
    reviewer = _reviewer(call, caller)
    with _decided():
        taken = reviews.reverse(call.db, entry.id, command.reason, reviewer, call.now)
    return Answer(
        ReversedEntry(
            **_reviewed(command.id, entry, reviewer),
            withdrawn_credits=taken.withdrawn_credits,
            owed_credits=taken.owed_credits,
        )
    )


@contextmanager
def _decided() -> Iterator[None]:
    """Errors: Refusal wrong_status, conflict_of_interest."""
    try:
        yield
    except EntryStatusError as error:
        raise Refusal("wrong_status", str(error), next_calls=("queue.list",)) from error
    except OwnWorkError as error:
        raise Refusal("conflict_of_interest", str(error), next_calls=("queue.list",)) from error


def _reviewer(call: WriteCall, caller: OperatorCaller) -> MiningReviewer:
    return MiningReviewer(caller.account_id, operator_name(call.db, caller.account_id))


def _named_entry(call: WriteCall, submission_id: int, entry_id: int | None) -> MiningEntry:
    """Errors: InvalidParameterError; Refusal not_found."""
    found = queries.entries_of(call.db, [submission_id])[submission_id]
    if not found:
        detail = f"There is no submission {submission_id}."
        raise Refusal("not_found", detail, next_calls=("queue.list",))
    ids = ", ".join(str(one.id) for one in found)
    if entry_id is None and len(found) > 1:
        raise InvalidParameterError("entry_id", f"name the entry; the submission has {ids}")
    named = next((one for one in found if entry_id in (None, one.id)), None)
    if named is None:
        detail = f"entry_id: submission {submission_id} has the entries {ids}; name one of them."
        raise Refusal("not_found", detail, next_calls=("queue.list",))
    return named


def _reviewed(submission_id: int, entry: MiningEntry, reviewer: MiningReviewer) -> dict[str, Any]:
    return {
        "submission_id": submission_id,
        "entry_id": entry.id,
        "field_name": entry.field_name,
        "status": EntryStatus(entry.status),
        "reason_code": None if entry.reason_code is None else EndReason(entry.reason_code),
        "reviewed_by": reviewer.operator,
    }


def _listing(call: Call, exchange: str, symbol: Symbol) -> ExchangeListing:
    """Errors: Refusal not_found."""
    found = listings.find_listing(call.db, exchange, symbol)
    if found is None:
        named = token_id(exchange, symbol.base, symbol.quote)
        detail = f"symbol: the service has no listing {named}; name one that it returned."
        raise Refusal("not_found", detail, next_calls=("mining.landscape",))
    return found
