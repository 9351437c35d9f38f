"""Claims about tokens are made, listed and decided on (docs/claims.md)."""

from api.areas.claims import queries as claims
from api.areas.claims.queries import SentClaim, TokenClaimant
from api.areas.claims.rules.claims import (
    ClaimKind,
    ClaimState,
    ClaimStateError,
    ClaimsUsedUpError,
    OpenClaimsUsedUpError,
    SameClaimError,
    claim_source,
    claimed_ticker,
)
from api.areas.claims.schemas import (
    ClaimsQuery,
    ClaimVerdict,
    CommunityClaim,
    CommunityClaims,
    DecidedClaim,
    MakeClaim,
)
from api.areas.claims.tables import KgClaim
from api.areas.earn.views.limits import payout_limits
from api.areas.earn.views.people import payees_of
from api.areas.safety.checks import require_not_own, require_unlocked
from api.kernel.caller import AgentCaller, Nobody, OperatorCaller
from api.kernel.operation import Answer, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from api.kernel.refusals import used_up_today
from core.times import instant_text


def make(call: WriteCall, caller: AgentCaller, command: MakeClaim) -> Answer[CommunityClaim]:
    """Errors: InvalidParameterError; Refusal same_claim, account_locked, rate_limited,
    too_many_open.
    """
    sent = SentClaim(
        claimed_ticker("base", command.base),
        ClaimKind(command.kind),
        command.claim,
        claim_source(command.source_url),
    )
    require_unlocked(call, caller.account_id)
    funders = payout_limits(call.deps.limits).shared_funders
    payee = payees_of(call.db, [caller.account_id], funders)[caller.account_id]
    by = TokenClaimant(caller.account_id, payee.person, payee.keys, caller.owner_id is not None)
    limits = call.deps.limits
    most_waiting = None if payee.has_standing else limits.open_entries_without_standing
    try:
        made = claims.add(
            call.db, by, sent, limits.claims_per_person_per_day, call.now, most_waiting
        )
    except ClaimsUsedUpError as error:
        raise used_up_today(error, "claim again", "claims", call.now, "claims.list") from error
    except OpenClaimsUsedUpError as error:
        raise Refusal(
            "too_many_open",
            f"{error}; claim again once one of them is decided.",
            extra={"error": "too_many_open"},
            next_calls=("claims.list",),
        ) from error
    except SameClaimError as error:
        raise _same(error) from error
    return Answer(_shown(made), status=201)


def page(call: ReadCall, caller: Nobody, command: ClaimsQuery) -> Answer[CommunityClaims]:
    """Errors: InvalidParameterError."""
    token = None if command.base is None else claimed_ticker("base", command.base)
    asked = page_of(call, "claims.list", command)
    found = claims.page(call.db, token, asked.before, asked.limit + 1)
    shown, next_cursor = asked.cut(found, lambda one: one.id)
    return Answer(CommunityClaims(claims=[_shown(one) for one in shown], next_cursor=next_cursor))


def decide(call: WriteCall, caller: OperatorCaller, command: ClaimVerdict) -> Answer[DecidedClaim]:
    """Errors: InvalidParameterError; Refusal not_found, conflict_of_interest, wrong_status,
    same_claim.
    """
    claim = claims.held(call.db, command.id)
    if claim is None:
        raise Refusal("not_found", f"There is no claim {command.id}.", next_calls=("queue.list",))
    require_not_own(call, caller, claim.agent_id, f"Claim {claim.id}")
    verdict = ClaimState(command.verdict)
    try:
        claims.decide(call.db, claim, verdict, caller.account_id, command.note, call.now)
    except ClaimStateError as error:
        raise Refusal("wrong_status", f"{error}.", next_calls=("queue.list",)) from error
    except SameClaimError as error:
        raise _same(error) from error
    return Answer(
        DecidedClaim(claim_id=claim.id, state=command.verdict, decided_at=instant_text(call.now))
    )


def _same(error: SameClaimError) -> Refusal:
    return Refusal("same_claim", f"{error}.", next_calls=(NextCall("claims.list"),))


def _shown(one: KgClaim) -> CommunityClaim:
    return CommunityClaim.of(one, claim_id=one.id, base=one.token, is_fact=False)
