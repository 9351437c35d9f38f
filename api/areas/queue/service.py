"""What operators decide on, whole and the oldest first (docs/mining.md#the-queue)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from api.areas.claims import queries as claims
from api.areas.earn.rules.points import points_text
from api.areas.mining.views import entries as mining
from api.areas.mining.views.entries import WaitingEntry
from api.areas.queue.schemas import (
    OperatorQueue,
    QueuedApplication,
    QueuedBond,
    QueuedClaim,
    QueuedSubmission,
    QueuedTokenClaim,
    QueuedVaultRequest,
    QueueItem,
    QueueQuery,
)
from api.areas.tasks import views as tasks
from api.areas.tasks.rules import ClaimStage, tenths_on_approval
from api.areas.tasks.views import ShownClaim
from api.kernel.caller import OperatorCaller
from api.kernel.operation import Answer, Call, ReadCall
from api.kernel.pagination import page_of
from core.fund import applications, creation
from core.fund.rules.frozen import leverage_text
from core.listings.rules import Symbol
from core.money import usdc_text, usdc_text_or_none
from core.times import instant_text, instant_text_or_none

Waiting = Callable[[Call, int, int], list[QueueItem]]


def waiting(call: ReadCall, caller: OperatorCaller, command: QueueQuery) -> Answer[OperatorQueue]:
    """A page goes on above the last id of the one before."""
    page = page_of(call, "queue.list", command)
    found = OF_KIND[command.kind](call, page.before or 0, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda item: item.id)
    return Answer(OperatorQueue(kind=command.kind, items=shown, next_cursor=next_cursor))


def _submissions(call: Call, after: int, limit: int) -> list[QueueItem]:
    found = mining.waiting(call.db, after, limit)
    proofs = tasks.proofs_of(call.db, [one.entry.id for one in found])
    return [
        QueueItem(
            id=one.entry.id,
            at=instant_text(one.entry.submitted_at),
            submission=_submission(one, proofs[one.entry.id]),
        )
        for one in found
    ]


def _submission(one: WaitingEntry, proofs: int) -> QueuedSubmission:
    return QueuedSubmission.of(
        one.entry,
        entry_id=one.entry.id,
        token_id=one.listing.token_id,
        exchange=one.listing.exchange,
        symbol=Symbol(one.listing.base, one.listing.quote).in_body,
        field_value=one.entry.value,
        submitter_id=one.entry.agent_id,
        submitter=one.submitter,
        proofs=proofs,
        gold=one.is_gold,
    )


def _proofs(call: Call, after: int, limit: int) -> list[QueueItem]:
    return _claims(tasks.held_claims(call.db, ClaimStage.SUBMITTED, after, limit))


def _open_claims(call: Call, after: int, limit: int) -> list[QueueItem]:
    return _claims(tasks.held_claims(call.db, ClaimStage.CLAIMED, after, limit))


def _claims(found: Sequence[ShownClaim]) -> list[QueueItem]:
    return [
        QueueItem(
            id=one.claim.id,
            at=instant_text(one.claim.claimed_at if one.proof is None else one.proof.received_at),
            claim=_claim(one),
        )
        for one in found
    ]


def _claim(one: ShownClaim) -> QueuedClaim:
    claim, task, proof = one.claim, one.task, one.proof
    return QueuedClaim.of(
        task,
        claim_id=claim.id,
        task_id=task.id,
        agent_id=claim.agent_id,
        points=points_text(tenths_on_approval(task.category, task.tenths)),
        claimed_at=instant_text(claim.claimed_at),
        expires_at=instant_text_or_none(claim.expires_at),
        observed_at=None if proof is None else instant_text(proof.observed_at),
        observed_result=None if proof is None else proof.observed_result,
        source_url=None if proof is None else proof.source_url,
    )


def _token_claims(call: Call, after: int, limit: int) -> list[QueueItem]:
    return [
        QueueItem(
            id=one.id,
            at=instant_text(one.made_at),
            kg_claim=QueuedTokenClaim.of(one, claim_id=one.id, base=one.token),
        )
        for one in claims.waiting(call.db, after, limit)
    ]


def _vault_requests(call: Call, after: int, limit: int) -> list[QueueItem]:
    return [
        QueueItem(
            id=one.id,
            at=instant_text(one.requested_at),
            vault_request=QueuedVaultRequest(
                request_id=one.id, vault_id=one.vault_id, state=one.state
            ),
        )
        for one in creation.waiting(call.db, after, limit)
    ]


def _applications(call: Call, after: int, limit: int) -> list[QueueItem]:
    return [
        QueueItem(
            id=one.id,
            at=instant_text(one.submitted_at),
            application=QueuedApplication.of(
                one,
                application_id=one.id,
                filter_categories=one.categories,
                rebalance_cadence=one.cadence,
                leverage=leverage_text(one.leverage_e2),
                tvl_cap_usd=usdc_text(one.tvl_cap_usdc_e6),
                bond_usd=usdc_text_or_none(one.bond_usdc_e6),
            ),
        )
        for one in applications.waiting(call.db, after, limit)
    ]


def _bonds(call: Call, after: int, limit: int) -> list[QueueItem]:
    return [
        QueueItem(
            id=one.application_id,
            at=instant_text(one.due_at),
            bond=QueuedBond.model_validate(
                {
                    "application_id": one.application_id,
                    "state": one.state,
                    "usd": usdc_text(one.usdc_e6),
                    "from": one.sender,
                    "to": one.to,
                    "paid_by": one.paid_by,
                }
            ),
        )
        for one in applications.bonds_owed(call.db, call.now, after, limit)
    ]


OF_KIND: Final[Mapping[str, Waiting]] = {
    "submission": _submissions,
    "proof": _proofs,
    "claim": _open_claims,
    "kg_claim": _token_claims,
    "application": _applications,
    "vault_request": _vault_requests,
    "bond": _bonds,
}
