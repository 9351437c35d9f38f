"""Cases, notices and the defense level (docs/identity.md#cases-and-notices; ADR 0005).

open   a lock: one notice in the agent's inbox, a row on the public board, status locked, Review Status under review
close  the lock ends: status active, the review state clears; the notice and the row stay and say
closed
"""

import secrets
from collections.abc import Sequence
from typing import TypeVar

from api.areas.rooms.views import find_message
from api.areas.rooms.writes import bonds
from api.areas.safety import queries as safety
from api.areas.safety.checks import require_not_own
from api.areas.safety.rules import MAX_LEVEL, takes_bond, welcomes_a_day
from api.areas.safety.schemas import (
    Board,
    BoardNotice,
    Case,
    CaseStatus,
    CloseCase,
    Defense,
    DefenseLevel,
    LockNotice,
    NewestFirst,
    Notices,
    OpenCase,
    SetDefense,
    Violations,
)
from api.areas.safety.tables import Notice, ViolationCase
from api.kernel.caller import AgentCaller, BearerCaller, Nobody, OperatorCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NoInput, Refusal, WriteCall
from core.errors import InvalidParameterError
from core.identity import queries as identity
from core.times import instant_text, instant_text_or_none

REFERENCE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz234567"

Shown = TypeVar("Shown")

# Read


def notices(
    call: Call, caller: AgentCaller | OwnerCaller | BearerCaller, command: NewestFirst
) -> Answer[Notices]:
    """The account's inbox, newest first; an owner reads those of the owner's agents."""
    found = safety.notices_of(call.db, caller.account_id, command.cursor, command.limit + 1)
    page, next_cursor = _page(
        [(notice.id, _notice(call, notice, case)) for notice, case in found], command.limit
    )
    return Answer(Notices(notices=page, next_cursor=next_cursor))


def violations(
    call: Call, caller: AgentCaller | OwnerCaller | BearerCaller, command: NewestFirst
) -> Answer[Violations]:
    """The cases against the account, newest first; an owner reads those against the owner's
    agents.
    """
    found = safety.cases_of(call.db, caller.account_id, command.cursor, command.limit + 1)
    page, next_cursor = _page([(case.id, _case(case)) for case in found], command.limit)
    return Answer(Violations(violations=page, next_cursor=next_cursor))


def board(call: Call, caller: Nobody, command: NewestFirst) -> Answer[Board]:
    """Every lock, open and closed, newest first."""
    found = safety.cases(call.db, command.cursor, command.limit + 1)
    page, next_cursor = _page([(case.id, _on_board(case)) for case in found], command.limit)
    return Answer(Board(notices=page, next_cursor=next_cursor))


def _page(found: Sequence[tuple[int, Shown]], limit: int) -> tuple[list[Shown], str | None]:
    """The page and where the next one begins; one more row than the page was asked for."""
    return [view for _, view in found[:limit]], str(found[limit - 1][0]) if len(
        found
    ) > limit else None


def _on_board(case: ViolationCase) -> BoardNotice:
    return BoardNotice.of(
        case,
        case=case.reference,
        user_id=case.agent_id,
        deadline=instant_text(case.deadline_at),
        status=_status(case),
    )


def _case(case: ViolationCase) -> Case:
    return Case(
        **_on_board(case).model_dump(),
        sbt_review_state="under review" if case.closed_at is None else None,
    )


def _notice(call: Call, notice: Notice, case: ViolationCase) -> LockNotice:
    return LockNotice(
        id=notice.id,
        kind="account_lock",
        user_id=notice.account_id,
        case=case.reference,
        rule=case.rule,
        deadline=instant_text(case.deadline_at),
        notice_board=call.deps.base_url + call.deps.catalogue.by_key["safety.board"].path,
        case_status=_status(case),
        created_at=instant_text(notice.created_at),
    )


def _status(case: ViolationCase) -> CaseStatus:
    return "open" if case.closed_at is None else "closed"


# Operators


def open_case(call: WriteCall, caller: OperatorCaller, command: OpenCase) -> Answer[Case]:
    """Lock the agent's account.

    Errors: Refusal not_found, case_open; InvalidParameterError for a deadline that is past, or a
    post whose bond cannot be kept.
    """
    if command.deadline <= call.now:
        raise InvalidParameterError("deadline", "write a time in the future")
    if identity.find_agent(call.db, command.agent_id) is None:
        raise Refusal(
            "not_found",
            f"agent_id: no agent has the id {command.agent_id}.",
            next_calls=("safety.board",),
        )
    identity.lock_owner(call.db, command.agent_id)
    standing = safety.find_open_case(call.db, command.agent_id, command.rule)
    if standing is not None:
        detail = (
            f"Case {standing.reference} of this rule is open against agent {command.agent_id}; "
            "close it before you open another."
        )
        raise Refusal("case_open", detail, next_calls=("safety.board",))
    case = ViolationCase(
        reference="v_" + "".join(secrets.choice(REFERENCE_CHARACTERS) for _ in range(10)),
        agent_id=command.agent_id,
        rule=command.rule,
        deadline_at=command.deadline,
        opened_at=call.now,
        opened_by=caller.account_id,
    )
    safety.open_case(call.db, case)
    if command.message_id is not None:
        _keep_bond(call, command.message_id, case)
    return Answer(_case(case), 201)


def _keep_bond(call: WriteCall, message_id: int, case: ViolationCase) -> None:
    """Errors: InvalidParameterError."""
    found = find_message(call.db, message_id)
    if found is None or found.message.author_id != case.agent_id:
        raise InvalidParameterError(
            "message_id", f"name a post of agent {case.agent_id}, or leave it out"
        )
    bond_id = found.message.bond_id
    if bond_id is None or not bonds.name_in_case(call.db, bond_id, case.id):
        raise InvalidParameterError(
            "message_id",
            "this post has no bond that can be kept: none was locked, it was returned, or "
            "another case keeps it; leave message_id out",
        )


def close_case(call: WriteCall, caller: OperatorCaller, command: CloseCase) -> Answer[Case]:
    """End the lock. Closing a closed case changes nothing.

    Errors: Refusal not_found, conflict_of_interest.
    """
    case = safety.lock_case(call.db, command.id)
    if case is None:
        raise Refusal("not_found", f"There is no case {command.id}.", next_calls=("safety.board",))
    require_not_own(call, caller, case.agent_id, f"Case {case.reference}")
    if case.closed_at is None:
        safety.close_case(call.db, case, caller.account_id, call.now)
        bonds.free_of_case(call.db, case.id)
    return Answer(_case(case))


# The defense level


def defense(call: Call, caller: Nobody, command: NoInput) -> Answer[Defense]:
    """The level in force, since when, and what each level does."""
    newest = safety.newest_defense_change(call.db)
    return Answer(
        Defense(
            level=0 if newest is None else newest.level,
            since=instant_text_or_none(None if newest is None else newest.at),
            levels=[_level(call, level) for level in range(MAX_LEVEL + 1)],
        )
    )


def set_defense(call: WriteCall, caller: OperatorCaller, command: SetDefense) -> Answer[Defense]:
    """Who changed it from what and when is logged; setting the level that it is already logs
    nothing.
    """
    safety.lock_defense(call.db)
    safety.change_defense(call.db, command.level, caller.account_id, call.now)
    return defense(call, Nobody(), NoInput())


def _level(call: Call, level: int) -> DefenseLevel:
    credited = welcomes_a_day(level, call.deps.limits.welcome_per_address_per_day)
    credit = (
        f"Of an address's unowned registrations in a UTC day, {_count(credited)} credited; owned "
        "agents always are."
    )
    bond = (
        " A Rooms post or task claim without Bronze standing locks a refundable bond."
        if takes_bond(level)
        else ""
    )
    return DefenseLevel(
        level=level,
        unowned_welcome_credits_per_day=credited,
        bond_without_standing=takes_bond(level),
        says=credit + bond,
    )


def _count(credited: int) -> str:
    match credited:
        case 0:
            return "none is"
        case 1:
            return "the first is"
    return f"the first {credited} are"
